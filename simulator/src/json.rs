//! The JSON forms of addresses and of numbered things such as strands. Also writes JSON with one value per line.

use std::io;

use guest_abi::{Counter, Hub, Node, PerfReg, StrandId};
use hv_core::GuestId;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::Formatter;

/// A type that JSON shows in a special form: an address, a numbered thing such as a strand, or a list or an `Option` of these.
pub(crate) trait Form: Sized {
    type Json: Serialize + DeserializeOwned;

    fn to_json(&self) -> Self::Json;

    /// Reads a value. The error is a sentence without a full stop.
    fn from_json(form: Self::Json) -> Result<Self, String>;
}

/// An address is text such as `0x1000`, because many JSON readers keep only 53 bits of a number.
impl Form for u64 {
    type Json = String;

    fn to_json(&self) -> String {
        format!("{self:#x}")
    }

    fn from_json(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix("0x");
        let address = digits.and_then(|digits| Self::from_str_radix(digits, 16).ok());
        address.ok_or_else(|| format!("found '{text}', expected an address such as 0x1000"))
    }
}

macro_rules! numbers {
    ($($type:ident $what:literal),*) => {$(
        impl Form for $type {
            type Json = u64;

            fn to_json(&self) -> u64 {
                self.index() as u64
            }

            fn from_json(number: u64) -> Result<Self, String> {
                let found = number.try_into().ok().and_then(Self::new);
                found.ok_or_else(|| format!("there is no {} {number}", $what))
            }
        }
    )*};
}

numbers!(Node "node", Hub "hub", Counter "counter", StrandId "strand", GuestId "guest", PerfReg "register");

impl<T: Form> Form for Option<T> {
    type Json = Option<T::Json>;

    fn to_json(&self) -> Self::Json {
        self.as_ref().map(T::to_json)
    }

    fn from_json(form: Self::Json) -> Result<Self, String> {
        form.map(T::from_json).transpose()
    }
}

impl<T: Form> Form for Vec<T> {
    type Json = Vec<T::Json>;

    fn to_json(&self) -> Self::Json {
        self.iter().map(T::to_json).collect()
    }

    fn from_json(form: Self::Json) -> Result<Self, String> {
        form.into_iter().map(T::from_json).collect()
    }
}

pub(crate) fn serialize<S: Serializer>(form: &impl Form, to: S) -> Result<S::Ok, S::Error> {
    form.to_json().serialize(to)
}

pub(crate) fn deserialize<'de, T: Form, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::from_json(T::Json::deserialize(from)?).map_err(Error::custom)
}

/// Writes a value as JSON, with the same lines and spaces as [`serde_json::to_string_pretty`]. This is faster than `serde_json`,
/// because each line begins with a single write, and details have tens of thousands of lines.
pub(crate) fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let mut json = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut json, Lines::default()))?;
    String::from_utf8(json).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// A JSON formatter that puts each list element and each object field on its own line.
#[derive(Default)]
struct Lines {
    /// The number of lists and objects that enclose the current position.
    depth: usize,
    /// Whether the innermost list or object has a value so far.
    has_value: bool,
}

/// A comma, a line feed, and enough spaces for the deepest lists and objects.
const BETWEEN: &[u8] = b",\n                                                                ";

impl Lines {
    fn open<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        to.write_all(bracket)
    }

    fn close<W: ?Sized + io::Write>(&mut self, to: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.begin_line(to, true)?;
        }
        to.write_all(bracket)
    }

    /// Begins a line. First writes a comma, unless the line holds the first value.
    fn begin_line<W: ?Sized + io::Write>(&self, to: &mut W, is_first: bool) -> io::Result<()> {
        let spaces = 2 * self.depth;
        let most = BETWEEN.len() - 2;
        to.write_all(&BETWEEN[usize::from(is_first)..2 + spaces.min(most)])?;
        (most..spaces).try_for_each(|_| to.write_all(b" "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"[")
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"]")
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin_line(to, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, b"}")
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.begin_line(to, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn lines_are_those_of_serde_json() {
        let deep = (0..40).fold(json!([1, "a"]), |inner, depth| match depth % 2 {
            0 => json!([inner, {}, []]),
            _ => json!({ "inner": inner, "none": null }),
        });
        for value in [json!({}), json!([[], [{}], -1, 0.5, "\u{e4}\"\n"]), Value::Null, deep] {
            assert_eq!(pretty(&value).unwrap(), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
