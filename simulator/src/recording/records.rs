//! Reads files that consist of records of one size.

use std::io::{self, Read};

use super::error::RecordingError;
use super::source::{BytesRead, Source};

/// Reads records of `SIZE` bytes, in constant memory.
pub(super) struct Records<const SIZE: usize> {
    source: Source,
    buffer: Box<[u8]>,
    /// `buffer[start..end]` holds the bytes that have been read but not returned yet.
    start: usize,
    end: usize,
    /// The number of the latest record, from 1.
    number: u64,
}

/// The number of records in a buffer.
const BUFFERED: usize = 1 << 12;

impl<const SIZE: usize> Records<SIZE> {
    pub(super) fn new(source: Source) -> Self {
        let buffer = vec![0; SIZE * BUFFERED].into_boxed_slice();
        Self { source, buffer, start: 0, end: 0, number: 0 }
    }

    /// Returns the next record; `None` at the end of the file.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<[u8; SIZE]>, RecordingError> {
        if self.end - self.start < SIZE && !self.read_more()? {
            return Ok(None);
        }
        let record = self.buffer[self.start..self.end].first_chunk().copied();
        self.start += SIZE;
        self.number += 1;
        Ok(record)
    }

    /// Reads until the buffer holds a whole record. Returns `false` at the end of the file.
    #[cold]
    fn read_more(&mut self) -> Result<bool, RecordingError> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < SIZE {
            match self.source.text.read(&mut self.buffer[self.end..]) {
                Ok(0) if self.end == 0 => return Ok(false),
                Ok(0) => {
                    let found = format!("{} bytes after record {}", self.end, self.number);
                    return Err(self.error(found, "whole records"));
                }
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let found = self.source.failure(&error);
                    let found = format!("{found} after record {}", self.number);
                    return Err(self.error(found, "the rest of the recording"));
                }
            }
        }
        Ok(true)
    }

    /// Returns the number of the latest record, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn name(&self) -> &str {
        &self.source.name
    }

    pub(super) fn progress(&self) -> BytesRead {
        self.source.progress()
    }

    /// Returns an error about the latest record, with what was found and what was expected.
    pub(super) fn wrong(&self, found: &str, expected: &'static str) -> RecordingError {
        self.error(format!("{found} in record {}", self.number), expected)
    }

    pub(super) fn error(&self, found: String, expected: &'static str) -> RecordingError {
        RecordingError::in_file(self.name(), found, expected)
    }
}
