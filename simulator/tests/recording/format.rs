//! Tests the reading of lackey's lines, and the messages about lines that are wrong.

use std::io::{self, Read};

use simulator::recording::{Chunk, Kind, Recording};

use crate::{gzip, open, read, read_bytes, reference, zstd};

#[test]
fn a_fetch_knows_its_data() {
    let text = "==7== Lackey, an example Valgrind tool\n\
                I  04001090,3\n\
                I  04001093,5\n S 1ffeffe7c8,8\n\
                \n--7-- a warning\n\
                I  04001098,7\n L 1ffeffe7c0,8\n L 0421c000,32\n\
                I  0400109f,2\n M 0421c7cc,4\n\
                **7** a word of the program\r\n\
                I  040010a1,4\n L 0421c7d0,16\n S 1ffeffe7b8,8\n\
                I  040010a5,1\n\
                ==7== Exit code: 0\n";
    let expected = [
        reference(Kind::FetchOther, 0x0400_1090, 3),
        reference(Kind::FetchStore, 0x0400_1093, 5),
        reference(Kind::Store, 0x1f_feff_e7c8, 8),
        reference(Kind::FetchLoad, 0x0400_1098, 7),
        reference(Kind::Load, 0x1f_feff_e7c0, 8),
        reference(Kind::Load, 0x0421_c000, 32),
        reference(Kind::FetchModify, 0x0400_109f, 2),
        reference(Kind::Load, 0x0421_c7cc, 4),
        reference(Kind::Store, 0x0421_c7cc, 4),
        reference(Kind::FetchModify, 0x0400_10a1, 4),
        reference(Kind::Load, 0x0421_c7d0, 16),
        reference(Kind::Store, 0x1f_feff_e7b8, 8),
        reference(Kind::FetchOther, 0x0400_10a5, 1),
    ];
    assert_eq!(read_bytes(text).unwrap(), expected);
    assert_eq!(read_bytes(text.replace('\n', "\r\n")).unwrap(), expected);
    assert_eq!(expected.iter().filter(|reference| reference.kind.is_fetch()).count(), 6);
}

#[test]
fn the_edges_of_addresses_and_sizes() {
    let text = " L 0,1\n S ffffffffffffffff,4096\nI  FFFFffffabcdABCD,15\n M 1234567,4095";
    let expected = [
        reference(Kind::Load, 0, 1),
        reference(Kind::Store, u64::MAX, 4096),
        reference(Kind::FetchModify, 0xffff_ffff_abcd_abcd, 15),
        reference(Kind::Load, 0x0123_4567, 4095),
        reference(Kind::Store, 0x0123_4567, 4095),
    ];
    assert_eq!(read_bytes(text).unwrap(), expected);
}

#[test]
fn malformed_lines_are_named() {
    let a_line = "a line such as \"I  04001090,3\" or \" L 1ffeffe7c8,8\"";
    let a_format = "a recording of \"vfalls record\", lines of lackey such as \"I  04001090,3\" or \
                    \" L 1ffeffe7c8,8\", or lines by hand such as \"0 w 0x1000 8\"";
    let an_address = "an address of 1 to 16 hexadecimal digits and a comma";
    let a_size = "a size from 1 to 4096 bytes";
    let cases = [
        ("I 04001090,3", a_line),
        ("hello", a_line),
        ("I", a_line),
        ("=", a_line),
        (" X 04001090,3", a_line),
        ("i  04001090,3", a_line),
        ("I  04001090", an_address),
        ("I  ,3", an_address),
        ("I  0400109g,3", an_address),
        ("I  0x401090,3", an_address),
        ("I   4001090,3", an_address),
        (" L 12345678901234567,3", an_address),
        (" L 1ffeffe7c8,", a_size),
        (" L 1ffeffe7c8,0", a_size),
        (" L 1ffeffe7c8,4097", a_size),
        (" L 1ffeffe7c8,99999", a_size),
        (" L 1ffeffe7c8,-8", a_size),
        (" L 1ffeffe7c8,8 ", a_size),
        (" L 1ffeffe7c8,8a", a_size),
    ];
    for (line, expected) in cases {
        for (before, number) in [("", 1), ("I  04001090,3\n==7==\n\n", 4)] {
            for after in ["", "\n", "\nI  04001090,3\nI  04001090,3\nI  04001090,3\n"] {
                // If the first line is wrong, the text's format is unknown.
                let expected = match (number, expected) {
                    (1, expected) if expected == a_line => a_format,
                    _ => expected,
                };
                let error = read_bytes(format!("{before}{line}{after}")).unwrap_err();
                let text = format!("refs:{number}: found \"{line}\", expected {expected}");
                assert_eq!((error.to_string(), error.line()), (text, Some(number)));
            }
        }
    }
}

#[test]
fn rubbish_is_shortened_and_printable() {
    let rubbish = read(io::repeat(0x1b).take(1 << 20));
    let long = read_bytes(format!("I  04001090,3\nI  {}", "0".repeat(10_000_000)));
    for (read, begins, expected) in [
        (rubbish, "refs:1: found \"\\x1b", "...\", expected a recording"),
        (long, "refs:2: found \"I  000000", "expected an address"),
    ] {
        let error = read.unwrap_err().to_string();
        assert!(error.starts_with(begins) && error.contains(expected), "{error}");
        assert!(error.len() < 300, "{error}");
    }
    let name = Recording::from_reader("a\nb", io::empty(), None).unwrap().name().to_owned();
    assert_eq!(name, "a\\nb");
}

#[test]
fn nothing_but_messages_is_an_error() {
    let expected =
        "refs: found no memory reference, expected at least one, such as \"I  04001090,3\"";
    for text in ["", "\n", "==7== Lackey\n==7== no newline", "==", "\r\n\r\n"] {
        assert_eq!(read_bytes(text).unwrap_err().to_string(), expected, "{text:?}");
    }
    assert_eq!(read(io::repeat(b'=').take(20 << 20)).unwrap_err().to_string(), expected);
    assert_eq!(read_bytes(gzip(b"")).unwrap_err().to_string(), expected);
    assert_eq!(read_bytes(zstd(b"")).unwrap_err().to_string(), expected);
}

#[test]
fn an_error_ends_the_recording() {
    let mut reader = open("I  04001090,3\nx\n L 1000,8\n").unwrap();
    let mut block = Chunk::default();
    assert!(reader.next_chunk(0, &mut block).is_err());
    assert!(block.is_empty());
    assert_eq!(reader.next_chunk(0, &mut block), Ok(false));
}
