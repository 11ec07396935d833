//! Headers of each layout, bit by bit. Line numbers are those of the seed document, compact_trace_events.txt.

use std::any::type_name;
use std::sync::atomic::{AtomicU32, Ordering};

use hv_core::trace::{
    Clock19, Clock25Cut7, Clock26Cut6, Clock27, Clock27Cut5, Clock27Typed, Clock32, Clock64,
    Clock64Aligned, Header, Layout, Stamp,
};

const TIME: u64 = 0x1234_5678_9abc_def0;

fn short<L: Layout>(id: u16, payload: usize, units: u64) -> Vec<u32> {
    written(L::SHORT_WORDS, |into| L::short(into, id, payload, units))
}

fn full<L: Layout>(id: u16, payload: usize, units: u64) -> Vec<u32> {
    written(L::FULL_WORDS, |into| L::full(into, id, payload, units))
}

fn written(words: usize, write: impl Fn(&[AtomicU32])) -> Vec<u32> {
    // Not 0, so that a bit that is not written shows.
    let cells: Vec<_> = (0..words).map(|_| AtomicU32::new(0xa5a5_a5a5)).collect();
    write(&cells);
    cells
        .iter()
        .map(|cell| cell.load(Ordering::Relaxed))
        .collect()
}

/// Asserts that a layout decodes these words to this header.
fn reads<L: Layout>(from: &[u32], id: u16, words: usize, payload: Option<usize>, stamp: Stamp) {
    let header = Header {
        id,
        words,
        payload,
        stamp,
    };
    assert_eq!(L::read(from), Some(header));
}

fn limits<L: Layout>() -> (u32, u64, u16) {
    (L::DROPPED, L::REACH, L::SHORT_IDS)
}

/// Returns the bits of a short header: of the type, of the number, of the size, and of the clock.
fn bits<L: Layout>() -> [u32; 4] {
    [L::TYPE_BITS, L::ID_BITS, L::SIZE_BITS, L::CLOCK_BITS]
}

/// Asserts what holds of every layout of one word with a type bit: the full header, which begins with the type bit 0.
fn has_large_header<L: Layout>() {
    // The type bit 0, 15 bits of the number, the size in bytes; then the time in units.
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<L>(0x7abc, 4, TIME), words);
    reads::<L>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    // What is no number of a kind does not reach the type bit.
    assert_eq!(full::<L>(0xfabc, 4, TIME), words);
}

/// Lines 12 to 21: "1 bit to select event type", 4 bits of the number, 27 bits of the clock with the upper ones cut;
/// "granularity : 2^0 = 1 cycle"; "payload size known by facility".
#[test]
fn clock27_with_a_type_bit() {
    assert_eq!(bits::<Clock27Typed>(), [1, 4, 0, 27]);
    assert_eq!(limits::<Clock27Typed>(), (0, 0x7ff_ffff, 16));
    assert_eq!(short::<Clock27Typed>(0xa, 4, TIME), [0xd2bc_def0]);
    reads::<Clock27Typed>(&[0xd2bc_def0], 0xa, 1, None, Stamp::Low(0x2bc_def0));
    has_large_header::<Clock27Typed>();
}

/// Lines 25 to 32: as before, but "granularity : 2^5 = 32 cycles".
#[test]
fn clock27_without_the_lowest_5_bits() {
    assert_eq!(bits::<Clock27Cut5>(), [1, 4, 0, 27]);
    assert_eq!(limits::<Clock27Cut5>(), (5, 0x7ff_ffff, 16));
    assert_eq!(short::<Clock27Cut5>(0x5, 4, TIME), [0xaabc_def0]);
    reads::<Clock27Cut5>(&[0xaabc_def0], 5, 1, None, Stamp::Low(0x2bc_def0));
    has_large_header::<Clock27Cut5>();
}

/// Lines 36 to 43: "1 bit to select event type", 5 bits of the number, 26 bits of the clock; "granularity : 2^6 = 64
/// cycles".
#[test]
fn clock26_without_the_lowest_6_bits() {
    assert_eq!(bits::<Clock26Cut6>(), [1, 5, 0, 26]);
    assert_eq!(limits::<Clock26Cut6>(), (6, 0x3ff_ffff, 32));
    assert_eq!(short::<Clock26Cut6>(0x15, 4, TIME), [0xd6bc_def0]);
    reads::<Clock26Cut6>(&[0xd6bc_def0], 0x15, 1, None, Stamp::Low(0x2bc_def0));
    has_large_header::<Clock26Cut6>();
}

/// Lines 47 to 54: "1 bit to select event type", 6 bits of the number, 25 bits of the clock; "granularity : 2^7 = 128
/// cycles".
#[test]
fn clock25_without_the_lowest_7_bits() {
    assert_eq!(bits::<Clock25Cut7>(), [1, 6, 0, 25]);
    assert_eq!(limits::<Clock25Cut7>(), (7, 0x1ff_ffff, 64));
    assert_eq!(short::<Clock25Cut7>(0x2a, 4, TIME), [0xd4bc_def0]);
    reads::<Clock25Cut7>(&[0xd4bc_def0], 0x2a, 1, None, Stamp::Low(0xbc_def0));
    has_large_header::<Clock25Cut7>();
}

/// Lines 121 to 131: "remove 9 LSB"; "9LSB + 4MSB = 13 bits total. 12 bits for event IDs : 4096 events."
#[test]
fn clock19() {
    assert_eq!(bits::<Clock19>(), [1, 12, 0, 19]);
    // The type bit 1, the number 0xabc, then the lower 19 bits of the time in units.
    assert_eq!(short::<Clock19>(0xabc, 4, 0x7_ffff), [0xd5e7_ffff]);
    assert_eq!(short::<Clock19>(0xabc, 4, 0xfff8_0001), [0xd5e0_0001]);
    reads::<Clock19>(&[0xd5e0_0001], 0xabc, 1, None, Stamp::Low(1));
    has_large_header::<Clock19>();
    assert_eq!(limits::<Clock19>(), (9, 0x7_ffff, 4096));
}

#[test]
fn clock27() {
    assert_eq!(bits::<Clock27>(), [0, 5, 0, 27]);
    assert_eq!(short::<Clock27>(30, 4, 0x7ff_ffff), [0xf7ff_ffff]);
    assert_eq!(short::<Clock27>(1, 4, 0xf800_0002), [0x0800_0002]);
    reads::<Clock27>(&[0xf7ff_ffff], 30, 1, None, Stamp::Low(0x7ff_ffff));
    let words = [0xf800_0000, 0x1234, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<Clock27>(0x1234, 4, TIME), words);
    reads::<Clock27>(&words, 0x1234, 4, None, Stamp::Full(TIME));
    assert_eq!(limits::<Clock27>(), (0, 0x7ff_ffff, 31));
}

/// Lines 58 to 61: "1 bit to select event type", "15 bits event id", "16 bits event size", 32 bits of the clock. Line 81:
/// "Must put the event ID fields first in the large (64, 96-128 bits) event headers".
#[test]
fn clock32() {
    assert_eq!(bits::<Clock32>(), [1, 15, 16, 32]);
    let words = [0xfabc_0010, 0x9abc_def0];
    assert_eq!(short::<Clock32>(0x7abc, 4, TIME), words);
    reads::<Clock32>(&words, 0x7abc, 2, Some(4), Stamp::Low(0x9abc_def0));
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<Clock32>(0x7abc, 4, TIME), words);
    reads::<Clock32>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    assert_eq!(limits::<Clock32>(), (0, 0xffff_ffff, 0x8000));
}

/// Lines 66 to 72: "96 or 128 bits header (full 64 bits TSC, useful when no heartbeat available", "1 bit to select event
/// type", "15 bits event id", "16 bits event size".
#[test]
fn clock64() {
    assert_eq!(bits::<Clock64>(), [1, 15, 16, 64]);
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(short::<Clock64>(0x7abc, 4, TIME), words);
    assert_eq!(full::<Clock64>(0x7abc, 4, TIME), words);
    reads::<Clock64>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    assert_eq!(limits::<Clock64>(), (0, u64::MAX, 0x8000));
}

/// Line 67: "size depends on internal alignment".
#[test]
fn clock64_aligned() {
    assert_eq!(bits::<Clock64Aligned>(), [1, 15, 16, 64]);
    let words = [0x7abc_0010, 0, 0x1234_5678, 0x9abc_def0];
    assert_eq!(short::<Clock64Aligned>(0x7abc, 4, TIME), words);
    assert_eq!(full::<Clock64Aligned>(0x7abc, 4, TIME), words);
    reads::<Clock64Aligned>(&words, 0x7abc, 4, Some(4), Stamp::Full(TIME));
    assert_eq!((Clock64Aligned::DROPPED, Clock64Aligned::ALIGNMENT), (0, 2));
    assert_eq!(Clock64Aligned::SHORT_IDS, 0x8000);
}

/// Line 119: "Must align _all_ headers on 32 bits, not 64". Only the header of 128 bits asks for more.
#[test]
fn headers_are_aligned_to_32_bits() {
    let others = [
        Clock19::ALIGNMENT,
        Clock25Cut7::ALIGNMENT,
        Clock26Cut6::ALIGNMENT,
        Clock27::ALIGNMENT,
        Clock27Cut5::ALIGNMENT,
        Clock27Typed::ALIGNMENT,
        Clock32::ALIGNMENT,
        Clock64::ALIGNMENT,
    ];
    assert_eq!(others, [1; 8]);
    assert_eq!(Clock64Aligned::ALIGNMENT, 2);
}

#[test]
fn words_without_a_header() {
    fn of<L: Layout>() {
        assert_eq!(L::read(&[]), None, "{}", type_name::<L>());
        assert_eq!(
            L::read(&[0, 1, 2, 3]),
            None,
            "{}: number 0",
            type_name::<L>()
        );
        for words in 0..L::FULL_WORDS {
            let cut = &full::<L>(0x123, 0, TIME)[..words];
            assert_eq!(L::read(cut), None, "{}: {words} words", type_name::<L>());
        }
    }
    of::<Clock19>();
    of::<Clock25Cut7>();
    of::<Clock26Cut6>();
    of::<Clock27Cut5>();
    of::<Clock27Typed>();
    of::<Clock27>();
    of::<Clock32>();
    of::<Clock64>();
    of::<Clock64Aligned>();
}
