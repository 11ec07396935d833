//! Event kinds, with their names and fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use hv_core::trace::{Class, DisplayFormat, HypervisorEvent};
use perfctr_service::trace::ServiceEvent;
use serde::{Deserialize, Serialize};

/// How tools show a field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in `DisplayFormat`")]
pub enum ShownAs {
    Number,
    Hex,
    Names(Vec<(u64, Cow<'static, str>)>),
}

/// The value of a field, as tools show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ShownValue {
    Number(u64),
    Text(Cow<'static, str>),
}

/// A field in the payload of an event kind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in `hv_core::trace::Field`")]
pub struct KindField {
    pub name: Cow<'static, str>,
    pub bits: u32,
    pub shown: ShownAs,
}

impl KindField {
    pub(crate) fn show(&self, value: u64) -> ShownValue {
        match &self.shown {
            ShownAs::Number => ShownValue::Number(value),
            ShownAs::Hex => ShownValue::Text(format!("{value:#x}").into()),
            ShownAs::Names(names) => match names.iter().find(|(number, _)| *number == value) {
                Some((_, name)) => ShownValue::Text(name.clone()),
                None => ShownValue::Number(value),
            },
        }
    }
}

/// An event kind: its name, and the fields of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in `Class`")]
pub struct EventKind {
    pub name: Cow<'static, str>,
    pub fields: Vec<KindField>,
}

impl EventKind {
    /// Returns the size of the payload in 32-bit words.
    #[must_use]
    pub fn words(&self) -> usize {
        self.fields.iter().map(|field| field.bits as usize).sum::<usize>() / 32
    }

    /// Returns whether the fields fill whole words, as [`hv_core::trace::fits`] requires.
    pub(super) fn fits(&self) -> bool {
        let mut bit = 0;
        let fits = self.fields.iter().all(|field| {
            let room = if field.bits == 64 { 64 } else { 32 };
            let fits = bit % 32 + field.bits <= room;
            bit += field.bits;
            fits
        });
        fits && bit % 32 == 0
    }
}

impl From<&Class> for EventKind {
    fn from(class: &Class) -> Self {
        let fields = class.fields.iter().map(|field| KindField {
            name: field.name.into(),
            bits: field.bits,
            shown: match field.format {
                DisplayFormat::Number => ShownAs::Number,
                DisplayFormat::Hex => ShownAs::Hex,
                DisplayFormat::Names(names) => ShownAs::Names(
                    names.iter().map(|(value, name)| (*value, (*name).into())).collect(),
                ),
            },
        });
        Self { name: class.name.into(), fields: fields.collect() }
    }
}

/// The event kinds that a hypervisor records, by number. The default is the kinds of `hv-core` and of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventKinds(pub(super) BTreeMap<u16, EventKind>);

impl Default for EventKinds {
    fn default() -> Self {
        let classes = HypervisorEvent::CLASSES.iter().chain(ServiceEvent::CLASSES);
        Self(classes.map(|class| (class.id, class.into())).collect())
    }
}

/// The error for a malformed description of event kinds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the description of its events is malformed at byte {at}: {problem}")]
pub struct BrokenKinds {
    #[allow(missing_docs, reason = "the message says it")]
    pub at: usize,
    problem: &'static str,
}

impl EventKinds {
    /// Parses an image's [section](hv_core::trace::description) that describes the event kinds.
    ///
    /// # Errors
    /// The section is malformed.
    pub fn parse(section: &[u8]) -> Result<Self, BrokenKinds> {
        let mut rest = section;
        let mut kinds = BTreeMap::new();
        while !rest.is_empty() {
            let at = section.len() - rest.len();
            let broken = |problem| BrokenKinds { at, problem };
            let (id, kind) =
                kind(&mut rest).ok_or(broken("a kind is cut off, or has a wrong name or field"))?;
            if id == 0 || id >= 1 << 15 || !kind.fits() {
                return Err(broken("the number is out of range, or the fields do not fill words"));
            }
            if kinds
                .iter()
                .any(|(other, one): (_, &EventKind)| *other == id || one.name == kind.name)
            {
                return Err(broken("two kinds have the same number or name"));
            }
            kinds.insert(id, kind);
        }
        Ok(Self(kinds))
    }

    /// Returns the kind with the number `id`; `None` if there is no such kind.
    #[must_use]
    pub fn get(&self, id: u16) -> Option<&EventKind> {
        self.0.get(&id)
    }

    /// Returns the payload's length in 32-bit words; `None` if there is no such kind.
    #[must_use]
    pub fn words(&self, id: u16) -> Option<usize> {
        self.get(id).map(EventKind::words)
    }

    /// Returns each kind with its number, in ascending order of the numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &EventKind)> {
        self.0.iter().map(|(id, kind)| (*id, kind))
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*first)
}

/// Returns whether an event kind or a field's value may have this name.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_:".contains(&byte);
    name.bytes().all(is_part) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// Takes a name from the start of `rest`. The first byte is the name's length.
fn name(rest: &mut &[u8]) -> Option<String> {
    let [length] = take(rest)?;
    let (name, behind) = rest.split_at_checked(length.into())?;
    *rest = behind;
    str::from_utf8(name).ok().filter(|name| is_name(name)).map(str::to_owned)
}

fn kind(rest: &mut &[u8]) -> Option<(u16, EventKind)> {
    let id = u16::from_be_bytes(take(rest)?);
    let name = name(rest)?;
    let [fields] = take(rest)?;
    let fields: Vec<KindField> = (0..fields).map(|_| field(rest)).collect::<Option<_>>()?;
    let names: BTreeSet<&str> = fields.iter().map(|field| &*field.name).collect();
    (names.len() == fields.len()).then_some((id, EventKind { name: name.into(), fields }))
}

fn field(rest: &mut &[u8]) -> Option<KindField> {
    // The CTF metadata need identifiers as names, so a field's name must not contain a colon.
    let name = name(rest).filter(|name| !name.contains(':'))?;
    let [bits, shown] = take(rest)?;
    let shown = match shown {
        0 => ShownAs::Number,
        1 => ShownAs::Hex,
        2 => {
            let names = u16::from_be_bytes(take(rest)?);
            let named = (0..names)
                .map(|_| Some((u64::from_be_bytes(take(rest)?), self::name(rest)?.into())));
            ShownAs::Names(named.collect::<Option<_>>()?)
        }
        _ => return None,
    };
    matches!(bits, 8 | 16 | 32 | 64).then_some(KindField {
        name: name.into(),
        bits: bits.into(),
        shown,
    })
}

#[cfg(test)]
mod tests {
    use hv_core::trace::description;

    use super::*;

    /// The event kind `lamp`, number 40. Its fields are `on` (8 bits; 0 is `off`, 1 is `on`), `by` (8 bits) and `code` (16 bits, shown as a
    /// hexadecimal number).
    const LAMP: &[u8] = b"\0\x28\x04lamp\x03\
        \x02on\x08\x02\0\x02\0\0\0\0\0\0\0\0\x03off\0\0\0\0\0\0\0\x01\x02on\
        \x02by\x08\0\
        \x04code\x10\x01";

    #[test]
    fn a_section_describes_kinds() {
        let field =
            |name: &str, bits, shown| KindField { name: name.to_owned().into(), bits, shown };
        let names = vec![(0, "off".into()), (1, "on".into())];
        let lamp = EventKind {
            name: "lamp".into(),
            fields: vec![
                field("on", 8, ShownAs::Names(names)),
                field("by", 8, ShownAs::Number),
                field("code", 16, ShownAs::Hex),
            ],
        };
        let kinds = EventKinds::parse(LAMP).unwrap();
        assert_eq!(kinds.iter().collect::<Vec<_>>(), [(40, &lamp)]);
        assert_eq!((kinds.words(40), kinds.words(41)), (Some(1), None));
    }

    #[test]
    fn what_is_written_is_read() {
        const HYPERVISOR: [u8; description::length(HypervisorEvent::CLASSES)] =
            description::bytes(HypervisorEvent::CLASSES);
        const SERVICE: [u8; description::length(ServiceEvent::CLASSES)] =
            description::bytes(ServiceEvent::CLASSES);
        let section = [&HYPERVISOR[..], &SERVICE].concat();
        assert_eq!(EventKinds::parse(&section), Ok(EventKinds::default()));
        assert_eq!(EventKinds::parse(&[]), Ok(EventKinds(BTreeMap::new())));
    }

    #[test]
    fn broken_sections() {
        for length in 1..LAMP.len() {
            assert!(EventKinds::parse(&LAMP[..length]).is_err(), "{length}");
        }
        let with = |at: usize, byte| {
            let mut section = LAMP.to_vec();
            section[at] = byte;
            EventKinds::parse(&section).unwrap_err().to_string()
        };
        // In these four cases, the kind's name has an escape, a field has 9 bits, the fields do not fill a word, and the kind's number is
        // 0.
        assert!(with(3, 0x1b).ends_with("has a wrong name or field"));
        assert!(with(11, 9).ends_with("has a wrong name or field"));
        assert!(with(11, 16).ends_with("do not fill words"));
        assert!(
            with(1, 0).ends_with("the number is out of range, or the fields do not fill words")
        );
        // First, a field's name has a colon. Then two fields have the same name.
        assert!(with(10, b':').ends_with("has a wrong name or field"));
        let two = b"\0\x01\x01k\x02\x01f\x10\0\x01f\x10\0";
        assert!(EventKinds::parse(two).is_err());
        for other in [b"\0\x28\x04Lamp\0", b"\0\x29\x04lamp\0"] {
            let twice = EventKinds::parse(&[LAMP, other].concat()).unwrap_err().to_string();
            assert!(twice.ends_with("two kinds have the same number or name"), "{twice}");
        }
    }
}
