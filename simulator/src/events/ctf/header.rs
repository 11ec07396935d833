//! Event headers: the two forms of LTTng, which every viewer knows, and a form with the whole time.

use super::Endian;
use crate::events::layouts::LayoutName;

/// The form of a trace's event headers. The headers are about as compact as in the rings, but include the lowest clock bits, because a
/// tick of the CTF clock must be a tick of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 5 bits for the event's kind and 27 bits for the time. Kind 31 means that a header with the whole time follows.
    Compact,
    /// 16 bits for the kind and 32 bits for the time. Kind 65535 means that a header with the whole time follows.
    Large,
    /// 16 bits for the kind, then the whole time.
    Full,
}

impl Form {
    /// Returns the most compact form whose times have at least as many bits as in the rings.
    pub(super) const fn for_layout(layout: LayoutName) -> Self {
        match layout.bits().wrap() {
            ..=27 => Self::Compact,
            28..=32 => Self::Large,
            _ => Self::Full,
        }
    }

    /// Returns the header's declaration, for the metadata.
    pub(super) fn declaration(self) -> String {
        let (id, last, time) = match self {
            Self::Compact => ("uint5_t", 30, "time27_t"),
            Self::Large => ("uint16_t", 65534, "time32_t"),
            Self::Full => return "struct { uint16_t id; time_t timestamp; } align(8)".to_owned(),
        };
        format!(
            "struct {{
\t\tenum : {id} {{ compact = 0 ... {last}, extended = {extended} }} id;
\t\tvariant <id> {{
\t\t\tstruct {{ {time} timestamp; }} compact;
\t\t\tstruct {{ uint32_t id; time_t timestamp; }} extended;
\t\t}} v;
\t}} align(8)",
            extended = last + 1
        )
    }

    /// Appends an event's header. `before` is the time of the previous event, or of the start of the packet.
    pub(super) fn put(self, bytes: &mut Vec<u8>, endian: Endian, id: u16, before: u64, time: u64) {
        let past = time - before;
        let (id, whole) = (u64::from(id), [(32, u64::from(id)), (64, time)]);
        let low = time & 0x7ff_ffff;
        let compact = |id: u64| match endian {
            Endian::Big => id << 27 | low,
            Endian::Little => id | low << 5,
        };
        let fields = match self {
            Self::Compact if id < 31 && past < 1 << 27 => &[(32, compact(id))][..],
            Self::Compact => match endian {
                Endian::Big => &[(8, 31 << 3), whole[0], whole[1]],
                Endian::Little => &[(8, 31), whole[0], whole[1]],
            },
            Self::Large if id < 0xffff && past < 1 << 32 => &[(16, id), (32, time)],
            Self::Large => &[(16, 0xffff), whole[0], whole[1]],
            Self::Full => &[(16, id), (64, time)],
        };
        for (bits, value) in fields {
            endian.put(bytes, *bits, *value);
        }
    }
}
