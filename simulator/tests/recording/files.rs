//! Tests the reading of plain and compressed files that are complete, cut off or damaged.

use std::fs;
use std::io::{self, Cursor, Read};

use simulator::recording::{BytesRead, Chunk, Recording};

use crate::{file, gzip, read, read_bytes, zstd};

#[test]
fn files_say_how_far_they_are_read() {
    let text = "I  04001090,3\n".repeat(100_000);
    for bytes in [text.clone().into_bytes(), gzip(text.as_bytes()), zstd(text.as_bytes())] {
        // The reader detects the format from the content, not from the file name.
        let path = file("progress.xz", &bytes);
        let total = Some(bytes.len() as u64);
        let mut reader = Recording::open(&path).unwrap();
        let before = reader.progress();
        assert!(before.read >= 6 && before.total == total, "{before:?}");
        let (mut block, mut count) = (Chunk::default(), 0);
        while reader.next_chunk(0, &mut block).unwrap() {
            count += block.len();
        }
        assert_eq!(count, 100_000);
        assert_eq!(reader.progress(), BytesRead { read: bytes.len() as u64, total });
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let a_recording = "a recording of \"vfalls record\", \"valgrind --tool=lackey --trace-mem=yes\", drmemtrace or ChampSim, or text such as \"0 w 0x1000 8\", plain, gzip, zstd or zip";
    let refused = |path: &str, found: &str| {
        let error = Recording::open(path).expect_err(path).to_string();
        assert_eq!(error, format!("{path}: found {found}, expected {a_recording}"));
    };
    refused("/nonexistent/refs.txt", "no such file");
    let no_threads = "a directory without files such as *.trace.zip, here or in its folder trace";
    refused(env!("CARGO_TARGET_TMPDIR"), no_threads);
    for (name, bytes, found) in [
        (
            "a.gz",
            &b"\xfd7zXZ\0\0\0"[..],
            "a file compressed with xz (\"xz -dk FILE\" decompresses it, \"xz -dc FILE\" into a pipe)",
        ),
        ("b.gz", b"BZh91AY&SY", "a file compressed with bzip2"),
        ("c.gz", b"\x04\x22\x4d\x18\x64\x40", "a file compressed with lz4"),
        ("d.gz", b"\xff\x06\0\0sNaPpY", "a file compressed with snappy"),
        ("program", b"\x7fELF\x02\x01\x01\0", "a program"),
    ] {
        let path = file(name, bytes);
        refused(path.to_str().unwrap(), found);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn several_members_and_frames_are_one_recording() {
    let (first, second) = (&b"I  04001090,3\n L 1ffe"[..], &b"ffe7c8,8\nI  04001093,1\n"[..]);
    let expected = read_bytes("I  04001090,3\n L 1ffeffe7c8,8\nI  04001093,1\n").unwrap();
    assert_eq!(expected.len(), 3);
    assert_eq!(read_bytes([gzip(first), gzip(second)].concat()).unwrap(), expected);
    // A skippable frame: magic number, length 3, 3 bytes.
    let skippable = b"\x53\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let frames =
        [skippable.clone(), zstd(first), skippable.clone(), zstd(second), skippable].concat();
    assert_eq!(read_bytes(frames.clone()).unwrap(), expected);
    let error = read_bytes(&frames[..frames.len() - 1]).unwrap_err().to_string();
    let found = "refs:4: found zstd data that is damaged or cut off";
    assert_eq!(error, format!("{found}, expected the rest of the recording"));
}

#[test]
fn compressed_files_that_are_cut_off_are_errors() {
    let text = "I  04001090,3\n L 1ffeffe7c8,8\nI  04001093,1\n".repeat(20);
    for (whole, format) in [(gzip(text.as_bytes()), "gzip"), (zstd(text.as_bytes()), "zstd")] {
        assert_eq!(read_bytes(whole.clone()).unwrap().len(), 60);
        for length in 0..whole.len() {
            let error = read_bytes(&whole[..length]).expect_err("cut off").to_string();
            // Fewer than four bytes are not enough to detect the format.
            let found = format!(
                "found {format} data that is damaged or cut off, expected the rest of the recording"
            );
            assert!(length < 4 || error.ends_with(&found), "{length} bytes: {error}");
        }
    }
}

/// A stream on which every read fails with an operating system error.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(5))
    }
}

#[test]
fn errors_of_the_system_are_named() {
    let error = read(Cursor::new("I  04001090,3\n").chain(Broken)).unwrap_err().to_string();
    assert!(error.starts_with("refs:2: found unreadable data (Input/output error"), "{error}");
    let error = read(Broken).unwrap_err().to_string();
    assert!(error.starts_with("refs: found unreadable data (Input/output error"), "{error}");
}

#[test]
fn compressed_files_that_are_damaged_are_errors_or_the_same() {
    let text: String =
        (0..100u64).map(|at| format!("I  {:08x},{}\n", at * at * 977, at % 15 + 1)).collect();
    let expected = read_bytes(&*text).unwrap();
    for whole in [gzip(text.as_bytes()), zstd(text.as_bytes())] {
        for at in 0..whole.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= flip;
                if let Ok(references) = read_bytes(damaged) {
                    assert!(references == expected, "byte {at} flipped by {flip:#x}");
                }
            }
        }
    }
}
