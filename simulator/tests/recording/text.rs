//! Tests the reading of handwritten recordings.

use guest_abi::StrandId;
use proptest::prelude::*;
use simulator::recording::{BLOCK, Cause, Chunk, Class, Kind, Order, Recording, Reference};

use crate::{gzip, open, reference, threads, zstd};

#[test]
fn lines_take_place_one_after_the_other() {
    let text = "# Two strands share a line.\n\
                \n\
                9 w 0x1000          # 8 bytes by default\n\
                \t9  i 40000\n\
                9 r 1000 4\r\n\
                255 a FFFFffffabcdABCD 4096\n\
                9 w 0x8 1\n\
                0 i 0 3#\n\
                0 m 10\n\
                0 i 4\n\
                0 a 10 1";
    let expected = [
        (
            vec![
                reference(Kind::Store, 0x1000, 8),
                reference(Kind::FetchModify, 0x4_0000, 4),
                reference(Kind::Load, 0x1000, 4),
                reference(Kind::Store, 8, 1),
            ],
            vec![(3, Order::Signal(0)), (3, Order::Wait(Cause::Wake, 1)), (4, Order::Signal(2))],
        ),
        (
            vec![reference(Kind::Modify, 0xffff_ffff_abcd_abcd, 4096)],
            vec![(0, Order::Wait(Cause::Wake, 0)), (1, Order::Signal(1))],
        ),
        (
            vec![
                reference(Kind::FetchModify, 0, 3),
                reference(Kind::Load, 0x10, 8),
                reference(Kind::Store, 0x10, 8),
                Reference { class: Class::Atomic, ..reference(Kind::FetchModify, 4, 4) },
                reference(Kind::Modify, 0x10, 1),
            ],
            vec![(0, Order::Wait(Cause::Wake, 2))],
        ),
    ];
    let mut recording = open(text).unwrap();
    assert!(!recording.has_flow());
    let strands = [0, 1, 2, 3].map(|thread| Some(recording.strand_of(thread)?.index()));
    assert_eq!(strands, [Some(9), Some(255), Some(0), None]);
    assert_eq!((recording.command(), recording.notes().len()), (None, 0));
    assert_eq!(threads(&mut recording).unwrap(), expected);
    for compressed in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        let mut recording = open(compressed).unwrap();
        assert_eq!(recording.strand_of(1).map(StrandId::index), Some(255));
        assert_eq!(threads(&mut recording).unwrap(), expected);
    }
}

#[test]
fn a_strand_may_be_named_as_a_processor() {
    let expected = threads(&mut open("0 r 0x1000\n17 w 0x1000 4\n").unwrap()).unwrap();
    assert_eq!(expected.len(), 2);
    for text in [
        "P0 r 0x1000\nP17 w 0x1000 4\n",
        "p0 r 0x1000\n17 w 0x1000 4\n",
        "\n P0 r 1000\np17 w 1000 4",
    ] {
        let mut recording = open(text).unwrap();
        let strands = [0, 1].map(|thread| recording.strand_of(thread).unwrap().index());
        assert_eq!(strands, [0, 17]);
        assert_eq!(threads(&mut recording).unwrap(), expected);
    }
}

#[test]
fn malformed_lines_are_named() {
    let a_strand = "a strand, 0 to 255 or P0 to P255";
    let an_operation = "r, w, m, a or i (read, write, modify, modify atomically, instruction)";
    let an_address = "an address of 1 to 16 hexadecimal digits";
    let a_size = "a size from 1 to 4096 bytes";
    for (line, expected) in [
        ("256 w 0", a_strand),
        ("x w 0", a_strand),
        ("P w 0", a_strand),
        ("PP1 w 0", a_strand),
        ("P256 w 0", a_strand),
        ("-1 w 0", a_strand),
        ("I  04001090,3", a_strand),
        ("3", an_operation),
        ("3 W 0", an_operation),
        ("3 read 0", an_operation),
        ("3 w", an_address),
        ("3 w 0x", an_address),
        ("3 w 1g", an_address),
        ("3 w 12345678901234567", an_address),
        ("3 w 0 0", a_size),
        ("3 w 0 4097", a_size),
        ("3 w 0 0x8", a_size),
        ("3 w 0 8 8", "nothing after the size but a comment"),
    ] {
        for after in ["", "\n", "\n3 w 0\n"] {
            let error = open(format!("#\n\n0 w 0\n{line}{after}")).unwrap_err();
            let text = format!("refs:4: found \"{line}\", expected {expected}");
            assert_eq!((error.to_string(), error.line()), (text, Some(4)));
        }
    }
    let long = format!("1 w 0 {}", " ".repeat(1024));
    let error = open(long).unwrap_err().to_string();
    assert!(error.ends_with("expected a line of at most 1024 bytes"), "{error}");
    let error = open("# nothing\n").unwrap_err().to_string();
    let nothing =
        "refs: found no memory reference, expected at least one, such as \"0 w 0x1000 8\"";
    assert_eq!(error, nothing);
}

#[test]
fn damage_of_compressed_text_is_named() {
    let text = "3 w 0x1000 8\n4 r 0x1000 8\n".repeat(500);
    for (whole, form) in [(gzip(text.as_bytes()), "gzip"), (zstd(text.as_bytes()), "zstd")] {
        let read = |mut recording: Recording| recording.next_chunk(0, &mut Chunk::default());
        let error = open(&whole[..whole.len() - 1]).and_then(read).expect_err(form).to_string();
        let found = format!(
            "found {form} data that is damaged or cut off, expected the rest of the recording"
        );
        assert!(error.starts_with("refs:") && error.ends_with(&found), "{error}");
    }
}

#[test]
fn an_instruction_and_its_data_share_a_chunk() {
    let mut text = "1 i 0\n".repeat(BLOCK);
    text += &"1 r 8\n".repeat(10);
    text += "1 i 4\n";
    let mut recording = open(text).unwrap();
    let mut chunk = Chunk::default();
    assert_eq!(recording.next_chunk(0, &mut chunk), Ok(true));
    assert_eq!(chunk.len(), BLOCK + 10);
    let last_fetch = chunk.references().iter().nth(BLOCK - 1);
    assert_eq!(last_fetch.unwrap().kind, Kind::FetchLoad);
    assert_eq!(recording.next_chunk(0, &mut chunk), Ok(true));
    let references: Vec<_> = chunk.references().iter().collect();
    assert_eq!(references, [reference(Kind::FetchOther, 4, 4)]);
    assert_eq!(recording.next_chunk(0, &mut chunk), Ok(false));
}

proptest! {
    #[test]
    fn no_lines_panic(lines in prop::collection::vec("[Pp]?[0-9]{0,3} [rwmaix] (0x)?[0-9a-fA-F]{0,17} ?[0-9]{0,4}#?\r?\n?", 0..60)) {
        let text = format!("#\n{}", lines.concat());
        let count = text.lines().count() as u64;
        if let Err(error) = open(text) {
            prop_assert!(error.line().is_none_or(|line| (1..=count).contains(&line)), "{}", error);
        }
    }
}
