//! Tests the payloads and descriptions of events.

use hv_core::trace::{
    Class, DisplayFormat, Field, GuestReset, HypervisorEvent, STATUSES, SetVersion, TraceEvent,
    events, fits,
};

events! {
    /// Events with fields of all widths.
    pub enum WidthEvent {
        /// Four fields that fill three words.
        100 Widths "widths" {
            a: u8 = Number,
            b: u16 = Hex,
            c: u8 = Names(&[(3, "three")]),
            d: u64 = Hex,
        }
    }
}

const WIDTHS: Widths = Widths { a: 0x12, b: 0x3456, c: 0x78, d: 0x9abc_def0_0123_4567 };

#[test]
fn fields_fill_words_from_the_lowest_bit() {
    let words = [0x7834_5612, 0x9abc_def0, 0x0123_4567];
    assert_eq!((WIDTHS.payload(), Widths::WORDS), (words, 3));
    assert_eq!(WidthEvent::decode(100, &words), Some(WidthEvent::Widths(WIDTHS)));
}

#[test]
fn unknown_kinds_and_wrong_lengths_are_not_decoded() {
    for (id, words) in [(101, 3), (100, 2), (100, 4)] {
        assert_eq!(WidthEvent::decode(id, &vec![0; words]), None);
    }
    assert_eq!(WidthEvent::words(101), None);
}

#[test]
fn fields_fill_whole_words() {
    let fits = |widths: &[u32]| {
        let field = |&bits| Field { name: "", bits, format: DisplayFormat::Hex };
        fits(&widths.iter().map(field).collect::<Vec<_>>())
    };
    let whole: [&[u32]; 5] = [&[], &[32], &[64], &[16, 8, 8, 64, 32], &[8, 8, 16, 16, 16]];
    let partial: [&[u32]; 4] = [&[8], &[16, 8], &[32, 16], &[64, 8]];
    let crossing: [&[u32]; 3] = [&[16, 32, 16], &[16, 64, 16], &[8, 16, 16, 8, 16]];
    assert_eq!(whole.map(fits), [true; 5]);
    assert_eq!(partial.map(fits), [false; 4]);
    assert_eq!(crossing.map(fits), [false; 3]);
}

#[test]
fn descriptions_for_viewers() {
    let [Class { id: 100, name: "widths", fields }] = WidthEvent::CLASSES else {
        panic!("{:?}", WidthEvent::CLASSES);
    };
    let fields = fields.iter().map(|field| (field.name, field.bits, field.format));
    assert!(fields.eq([
        ("a", 8, DisplayFormat::Number),
        ("b", 16, DisplayFormat::Hex),
        ("c", 8, DisplayFormat::Names(&[(3, "three")])),
        ("d", 64, DisplayFormat::Hex),
    ]));
}

#[test]
fn events_of_the_hypervisor() {
    let classes =
        HypervisorEvent::CLASSES.iter().map(|class| (class.id, class.name, class.words()));
    let expected =
        [(1, "set_version", 10), (2, "fast_call", 4), (3, "guest_reset", 1), (4, "heartbeat", 1)];
    assert!(classes.eq(expected));
    let event = SetVersion {
        status: 13,
        guest: 2,
        strand: 70,
        duration: 99,
        group: 0x205,
        major: 3,
        minor: 1 << 40,
        granted: 0,
    };
    assert_eq!(event.payload(), [0x4602_000d, 99, 0, 0x205, 0, 3, 0x100, 0, 0, 0]);
    assert_eq!(GuestReset { guest: 5, strand: 255 }.payload(), [0x00ff_0005]);
    let DisplayFormat::Names(statuses) = STATUSES else { panic!("a list of names") };
    let names = ["EOK", "EINVAL", "EBADTRAP", "EWOULDBLOCK", "ENOACCESS", "ENOTSUPPORTED"];
    assert!([0, 6, 7, 9, 10, 13].into_iter().zip(names).eq(statuses.iter().copied()));
}
