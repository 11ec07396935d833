//! Headers of each layout, bit by bit.

use std::sync::atomic::{AtomicU32, Ordering};

use hv_core::trace::{Clock19, Clock27, Clock32, Clock64, Clock64Aligned, Header, Layout, Stamp};

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

#[test]
fn clock19() {
    // The type bit 1, the number 0xabc, then the lower 19 bits of the time in units.
    assert_eq!(short::<Clock19>(0xabc, 4, 0x7_ffff), [0xd5e7_ffff]);
    assert_eq!(short::<Clock19>(0xabc, 4, 0xfff8_0001), [0xd5e0_0001]);
    reads::<Clock19>(&[0xd5e0_0001], 0xabc, 1, None, Stamp::Low(1));
    // The type bit 0, 15 bits of the number, the size in bytes; then the time in units.
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<Clock19>(0x7abc, 4, TIME), words);
    reads::<Clock19>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    assert_eq!(limits::<Clock19>(), (9, 0x7_ffff, 4096));
}

#[test]
fn clock27() {
    assert_eq!(short::<Clock27>(30, 4, 0x7ff_ffff), [0xf7ff_ffff]);
    assert_eq!(short::<Clock27>(1, 4, 0xf800_0002), [0x0800_0002]);
    reads::<Clock27>(&[0xf7ff_ffff], 30, 1, None, Stamp::Low(0x7ff_ffff));
    let words = [0xf800_0000, 0x1234, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<Clock27>(0x1234, 4, TIME), words);
    reads::<Clock27>(&words, 0x1234, 4, None, Stamp::Full(TIME));
    assert_eq!(limits::<Clock27>(), (0, 0x7ff_ffff, 31));
}

#[test]
fn clock32() {
    let words = [0xfabc_0010, 0x9abc_def0];
    assert_eq!(short::<Clock32>(0x7abc, 4, TIME), words);
    reads::<Clock32>(&words, 0x7abc, 2, Some(4), Stamp::Low(0x9abc_def0));
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(full::<Clock32>(0x7abc, 4, TIME), words);
    reads::<Clock32>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    assert_eq!(limits::<Clock32>(), (0, 0xffff_ffff, 0x8000));
}

#[test]
fn clock64() {
    let words = [0x7abc_0010, 0x1234_5678, 0x9abc_def0];
    assert_eq!(short::<Clock64>(0x7abc, 4, TIME), words);
    assert_eq!(full::<Clock64>(0x7abc, 4, TIME), words);
    reads::<Clock64>(&words, 0x7abc, 3, Some(4), Stamp::Full(TIME));
    assert_eq!(limits::<Clock64>(), (0, u64::MAX, 0x8000));
}

#[test]
fn clock64_aligned() {
    let words = [0x7abc_0010, 0, 0x1234_5678, 0x9abc_def0];
    assert_eq!(short::<Clock64Aligned>(0x7abc, 4, TIME), words);
    assert_eq!(full::<Clock64Aligned>(0x7abc, 4, TIME), words);
    reads::<Clock64Aligned>(&words, 0x7abc, 4, Some(4), Stamp::Full(TIME));
    assert_eq!((Clock64Aligned::DROPPED, Clock64Aligned::ALIGNMENT), (0, 2));
    assert_eq!(Clock64Aligned::SHORT_IDS, 0x8000);
}

#[test]
fn words_without_a_header() {
    fn of<L: Layout>() {
        assert_eq!(L::read(&[]), None, "{}", L::NAME);
        assert_eq!(L::read(&[0, 1, 2, 3]), None, "{}: number 0", L::NAME);
        for words in 0..L::FULL_WORDS {
            let cut = &full::<L>(0x123, 0, TIME)[..words];
            assert_eq!(L::read(cut), None, "{}: {words} words", L::NAME);
        }
    }
    of::<Clock19>();
    of::<Clock27>();
    of::<Clock32>();
    of::<Clock64>();
    of::<Clock64Aligned>();
}
