//! The JSON forms of addresses, and of things that have a number, such as strands.

use guest_abi::{Counter, Hub, Node, PerfReg, StrandId};
use hv_core::GuestId;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
