//! Tests the headers of each layout, bit by bit. Line numbers refer to the seed document, compact_trace_events.txt.

use std::any::type_name;
use std::sync::atomic::AtomicU32;

use hv_core::trace::Stamp::{Full, Low};
use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Header, Layout, Stamp,
};

const TIME: u64 = 0x1234_5678_9abc_def0;

/// The full header in most layouts: type bit 0, number 0x7abc in 15 bits, a payload size of 16 bytes, and then the time.
const LARGE: &[u32] = &[0x7abc_0010, 0x1234_5678, 0x9abc_def0];

fn written(words: usize, write: impl Fn(&[AtomicU32])) -> Vec<u32> {
    // The cells start with a value other than 0, so that the test notices unwritten bits.
    let cells: Vec<_> = (0..words).map(|_| AtomicU32::new(0xa5a5_a5a5)).collect();
    write(&cells);
    cells.into_iter().map(AtomicU32::into_inner).collect()
}

fn full<L: Layout>(id: u16, payload: usize) -> Vec<u32> {
    written(L::FULL_WORDS, |into| L::full(into, id, payload, TIME))
}

/// Asserts the headers that a layout writes and reads.
///
/// `bits` lists the widths of the fields in a short header: type, number, size, clock. `limits` lists the number of omitted low bits, the
/// longest time that a short header can express, and the lowest kind number that has no short header. `shorts` lists events with 4 payload
/// words: their kind numbers and times, their short headers, and the times in these headers. `words` is the full header of an event of kind
/// 0x7abc at `TIME`.
fn check<L: Layout>(
    bits: [u32; 4],
    limits: (u32, u64, u16),
    shorts: &[(u16, u64, &[u32], Stamp)],
    words: &[u32],
) {
    assert_eq!([L::TYPE_BITS, L::ID_BITS, L::SIZE_BITS, L::CLOCK_BITS], bits);
    assert_eq!((L::DROPPED_BITS, L::MAX_DELTA, L::SHORT_ID_LIMIT), limits);
    let reads = |words: &[u32], id, has_size: bool, stamp| {
        let header = Header { id, words: words.len(), payload: has_size.then_some(4), stamp };
        assert_eq!(L::read(words), Some(header));
    };
    for &(id, units, words, stamp) in shorts {
        assert_eq!(written(L::SHORT_WORDS, |into| L::short(into, id, 4, units)), words);
        reads(words, id, bits[2] > 0, stamp);
    }
    assert_eq!(full::<L>(0x7abc, 4), words);
    reads(words, 0x7abc, bits[0] > 0, Full(TIME));
    if bits[0] > 0 {
        // Bits of the kind number above bit 14 do not reach the type bit.
        assert_eq!(full::<L>(0xfabc, 4), words);
    }
}

/// Each layout has "1 bit to select event type" and "payload size known by facility". Lines 12 to 21: 4 bits for the number, 27 bits
/// for the clock without its upper bits, "granularity : 2^0 = 1 cycle". Lines 25 to 32: the same widths, but "granularity : 2^5 = 32
/// cycles". Lines 36 to 43: 5 bits and 26 bits, "granularity : 2^6 = 64 cycles". Lines 47 to 54: 6 bits and 25 bits, "granularity :
/// 2^7 = 128 cycles".
#[test]
fn one_word_with_a_type_bit() {
    let short = |id, word: &'static [u32], low| [(id, TIME, word, Low(low))];
    let shorts = short(0xa, &[0xd2bc_def0], 0x2bc_def0);
    check::<Clock27Typed>([1, 4, 0, 27], (0, 0x7ff_ffff, 16), &shorts, LARGE);
    let shorts = short(0x5, &[0xaabc_def0], 0x2bc_def0);
    check::<Clock27Cut5>([1, 4, 0, 27], (5, 0x7ff_ffff, 16), &shorts, LARGE);
    let shorts = short(0x15, &[0xd6bc_def0], 0x2bc_def0);
    check::<Clock26Cut6>([1, 5, 0, 26], (6, 0x3ff_ffff, 32), &shorts, LARGE);
    let shorts = short(0x2a, &[0xd4bc_def0], 0xbc_def0);
    check::<Clock25Cut7>([1, 6, 0, 25], (7, 0x1ff_ffff, 64), &shorts, LARGE);
}

/// Lines 121 to 131 say "remove 9 LSB"; "9LSB + 4MSB = 13 bits total. 12 bits for event IDs : 4096 events."
#[test]
fn clock19() {
    // The header consists of the type bit 1, the number 0xabc, and the lower 19 bits of the time in units of 512 ticks.
    let shorts = [
        (0xabc, 0x7_ffff, &[0xd5e7_ffff][..], Low(0x7_ffff)),
        (0xabc, 0xfff8_0001, &[0xd5e0_0001], Low(1)),
    ];
    check::<Clock19>([1, 12, 0, 19], (9, 0x7_ffff, 4096), &shorts, LARGE);
}

#[test]
fn clock27() {
    let shorts = [
        (30, 0x7ff_ffff, &[0xf7ff_ffff][..], Low(0x7ff_ffff)),
        (1, 0xf800_0002, &[0x0800_0002], Low(2)),
    ];
    let words = [0xf800_0000, 0x7abc, 0x1234_5678, 0x9abc_def0];
    check::<Clock27>([0, 5, 0, 27], (0, 0x7ff_ffff, 31), &shorts, &words);
}

/// Lines 58 to 61 list "1 bit to select event type", "15 bits event id", "16 bits event size", and 32 bits of
/// clock. Line 81 says "Must put the event ID fields first in the large (64, 96-128 bits) event headers".
#[test]
fn clock32() {
    let words = [0xfabc_0010, 0x9abc_def0];
    let short = (0x7abc, TIME, &words[..], Low(0x9abc_def0));
    check::<Clock32>([1, 15, 16, 32], (0, 0xffff_ffff, 0x8000), &[short], LARGE);
}

/// Lines 66 to 72 list "96 or 128 bits header (full 64 bits TSC, useful when no heartbeat available", "1 bit to select
/// event type", "15 bits event id", "16 bits event size". Line 67 says "size depends on internal alignment".
#[test]
fn clock64() {
    let short = (0x7abc, TIME, LARGE, Full(TIME));
    check::<Clock64>([1, 15, 16, 64], (0, u64::MAX, 0x8000), &[short], LARGE);
    let words = [0x7abc_0010, 0, 0x1234_5678, 0x9abc_def0];
    let short = (0x7abc, TIME, &words[..], Full(TIME));
    check::<Clock64Aligned>([1, 15, 16, 64], (0, u64::MAX, 0x8000), &[short], &words);
}

/// Line 119 says "Must align _all_ headers on 32 bits, not 64". Only the 128-bit header is aligned differently.
#[test]
fn headers_are_aligned_to_32_bits() {
    fn check<L: Layout>(_: u64) {
        let is_aligned = type_name::<L>() == type_name::<Clock64Aligned>();
        assert_eq!(L::ALIGNMENT, 1 + usize::from(is_aligned), "{}", type_name::<L>());
    }
    for_each_layout!(check());
}

#[test]
fn words_without_a_header() {
    fn check<L: Layout>(_: u64) {
        let name = type_name::<L>();
        assert_eq!(L::read(&[]), None, "{name}");
        assert_eq!(L::read(&[0, 1, 2, 3]), None, "{name}: number 0");
        for words in 0..L::FULL_WORDS {
            assert_eq!(L::read(&full::<L>(0x123, 0)[..words]), None, "{name}: {words} words");
        }
    }
    for_each_layout!(check());
}
