//! The forms of event headers: the rings' form, whose field widths depend on the layout, and LTTng's two forms.

use super::Endian;
use crate::events::layouts::LayoutName;

/// The form of a trace's event headers. A short header has the event kind's number and the lower bits of the time. A long header begins
/// with a number that marks it as long, followed by the kind's number and the whole time. Headers include the lowest clock bits that the
/// rings omit, because a tick of the CTF clock must be a tick of the machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Short(Short),
    /// The header has 16 bits for the kind, followed by the whole time.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    /// The width of the header's first field, in bits.
    id_bits: u32,
    /// In a short header, the first field is `first` plus the kind's number, which is less than `kinds`.
    first: u64,
    kinds: u64,
    /// The lowest and the highest value of the first field in a long header.
    long: [u64; 2],
    /// The width of the time in a short header, in bits.
    time_bits: u32,
}

impl Short {
    /// Returns LTTng's form, where the highest number in the first field marks a long header.
    const fn lttng(id_bits: u32, time_bits: u32) -> Self {
        let long = (1 << id_bits) - 1;
        Self { id_bits, first: 0, kinds: long, long: [long; 2], time_bits }
    }

    /// Returns the rings' form, where the first bit says whether the header is short.
    const fn typed(id_bits: u32, time_bits: u32) -> Self {
        let kinds = 1 << id_bits;
        Self { id_bits: 1 + id_bits, first: kinds, kinds, long: [0, kinds - 1], time_bits }
    }
}

impl Form {
    /// Returns the form of the event headers in rings of this layout.
    pub(super) const fn for_layout(layout: LayoutName) -> Self {
        let bits = layout.bits();
        match (bits.type_, bits.wrap()) {
            (_, 64) => Self::Full,
            (0, wrap) => Self::Short(Short::lttng(bits.id, wrap)),
            (_, wrap) if bits.size > 0 => Self::Short(Short::lttng(bits.id + 1, wrap)),
            (_, wrap) => Self::Short(Short::typed(bits.id, wrap)),
        }
    }

    /// Returns the number with which the metadata declare kind 0.
    pub(super) const fn first(self) -> u64 {
        match self {
            Self::Short(short) => short.first,
            Self::Full => 0,
        }
    }

    /// Returns the header's declaration, for the metadata.
    pub(super) fn declaration(self) -> String {
        let Self::Short(Short { id_bits, first, kinds, long, time_bits }) = self else {
            return "struct { uint16_t id; time_t timestamp; } align(8)".to_owned();
        };
        let [lowest, highest] = long;
        let extended =
            if lowest == highest { lowest.to_string() } else { format!("{lowest} ... {highest}") };
        format!(
            "struct {{
\t\tenum : integer {{ size = {id_bits}; align = 1; signed = false; }} {{ compact = {first} ... {last}, extended = {extended} }} id;
\t\tvariant <id> {{
\t\t\tstruct {{ integer {{ size = {time_bits}; align = 1; signed = false; map = clock.stick.value; }} timestamp; }} compact;
\t\t\tstruct {{ uint32_t id; time_t timestamp; }} extended;
\t\t}} v;
\t}} align(8)",
            last = first + kinds - 1
        )
    }

    /// Appends an event's header. `before` is the time of the previous event or, for a packet's first event, of the packet's start.
    pub(super) fn put(self, bytes: &mut Vec<u8>, endian: Endian, id: u16, before: u64, time: u64) {
        let id = u64::from(id);
        let Self::Short(Short { id_bits, first, kinds, long, time_bits }) = self else {
            endian.put(bytes, 16, id);
            return endian.put(bytes, 64, time);
        };
        let is_short = id < kinds && time.wrapping_sub(before) >> time_bits == 0;
        if is_short {
            let low = time & u64::MAX >> (64 - time_bits);
            put_bits(bytes, endian, [(id_bits, first + id), (time_bits, low)]);
        } else {
            put_bits(bytes, endian, [(id_bits, long[0]), (0, 0)]);
            endian.put(bytes, 32, first + id);
            endian.put(bytes, 64, time);
        }
    }
}

/// Appends two fields without a gap, and then zeros up to the next whole byte. In big-endian traces, the first bit of a byte is its highest
/// bit.
fn put_bits(bytes: &mut Vec<u8>, endian: Endian, [first, second]: [(u32, u64); 2]) {
    let all = (first.0 + second.0).next_multiple_of(8);
    let value = match endian {
        Endian::Big => {
            u128::from(first.1) << (all - first.0)
                | u128::from(second.1) << (all - first.0 - second.0)
        }
        Endian::Little => u128::from(first.1) | u128::from(second.1) << first.0,
    };
    for byte in 0..all / 8 {
        let place = match endian {
            Endian::Big => all / 8 - 1 - byte,
            Endian::Little => byte,
        };
        bytes.push((value >> (8 * place)) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields are as wide as in the layout's short header, except the time. The time also has the bits that the layout drops.
    #[test]
    fn widths() {
        for (layout, id, time) in [
            (LayoutName::Clock27Typed, 1 + 4, 27),
            (LayoutName::Clock27Cut5, 1 + 4, 27 + 5),
            (LayoutName::Clock26Cut6, 1 + 5, 26 + 6),
            (LayoutName::Clock25Cut7, 1 + 6, 25 + 7),
            (LayoutName::Clock19, 1 + 12, 19 + 9),
            (LayoutName::Clock27, 5, 27),
            (LayoutName::Clock32, 1 + 15, 32),
        ] {
            let Form::Short(short) = Form::for_layout(layout) else { panic!("{layout:?}") };
            assert_eq!((short.id_bits, short.time_bits), (id, time), "{layout:?}");
        }
        assert_eq!(Form::for_layout(LayoutName::Clock64), Form::Full);
        assert_eq!(Form::for_layout(LayoutName::Clock64Aligned), Form::Full);
    }

    #[test]
    fn headers() {
        let put = |layout, endian, id, before, time| {
            let mut bytes = Vec::new();
            Form::for_layout(layout).put(&mut bytes, endian, id, before, time);
            bytes
        };
        // The header has a 1 bit, the kind 0xabc in 12 bits, the time 0x8765432 in 28 bits, and 7 zeros.
        let (layout, time) = (LayoutName::Clock19, 0x1876_5432);
        let bits = (1 << 40 | 0xabc << 28 | 0x876_5432) << 7;
        let expected = u64::to_be_bytes(bits)[2..].to_vec();
        assert_eq!(put(layout, Endian::Big, 0xabc, time, time), expected);
        let bits = 0x1abc_u64 | 0x876_5432 << 13;
        assert_eq!(put(layout, Endian::Little, 0xabc, time, time), bits.to_le_bytes()[..6]);
        // An event needs a long header if its kind's number has more than 4 bits, or if the time has wrapped.
        let long = |id: u32, time: u64| [&[0][..], &id.to_be_bytes(), &time.to_be_bytes()].concat();
        let layout = LayoutName::Clock27Cut5;
        assert_eq!(put(layout, Endian::Big, 16, 0, 7), long(32, 7));
        assert_eq!(put(layout, Endian::Big, 15, 0, 1 << 32), long(31, 1 << 32));
        assert_eq!(put(layout, Endian::Big, 15, 1, 1 << 32), [0b1111_1000, 0, 0, 0, 0]);
    }
}
