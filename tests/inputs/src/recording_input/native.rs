//! Checks recordings in the native format.

use std::io::Cursor;

use simulator::recording::{BLOCK, Chunk, Recording, RecordingError};

use super::{MAX_REFERENCES, is_one_line};

/// Reads a file as it is, and then with corrected checksums, so that the reader also parses the content of malformed frames.
pub(super) fn check(bytes: &[u8]) {
    for bytes in [bytes, &summed(bytes)] {
        let result = read(bytes);
        assert_eq!(result, read(bytes));
        let _ = result.inspect_err(is_one_line);
    }
}

/// Reads all threads. Returns each thread's number of references, which is at most [`MAX_REFERENCES`] plus one chunk.
fn read(bytes: &[u8]) -> Result<Vec<usize>, RecordingError> {
    let mut recording = Recording::from_reader("recording", Cursor::new(bytes.to_vec()), None)?;
    let mut chunk = Chunk::default();
    let threads = 0..recording.threads().min(16);
    threads
        .map(|thread| {
            let mut count = 0;
            while count < MAX_REFERENCES && recording.next_chunk(thread, &mut chunk)? {
                assert!(chunk.len() <= BLOCK);
                assert!(chunk.order.iter().all(|(at, _)| *at <= chunk.len()));
                count += chunk.len() + 1;
            }
            Ok(count)
        })
        .collect()
}

/// Returns the file with the correct checksum in each frame. Each frame's length determines where the next frame begins.
fn summed(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes.to_vec();
    let mut at = 16;
    while let Some(frame) = file.get_mut(at..)
        && let Some((header, rest)) = frame.split_at_mut_checked(32)
    {
        let stored = u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize;
        let Some(data) = rest.get(..stored) else {
            break;
        };
        let sums = [checksum(&header[..24]), checksum(data)];
        header[24..].copy_from_slice(&sums.map(u32::to_le_bytes).concat());
        at += 32 + stored;
    }
    file
}

fn checksum(bytes: &[u8]) -> u32 {
    let sum = bytes.chunks(8).fold(bytes.len() as u64, |sum, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (sum ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    (sum >> 32) as u32 ^ sum as u32
}
