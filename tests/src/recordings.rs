//! Writes recordings in other tools' formats. The numbers are those in the tools' documentation.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A drmemtrace file of one thread. Its records have 12 bytes, as `trace_entry_t` in DynamoRIO's `clients/drcachesim/common/trace_entry.h`.
#[derive(Clone)]
pub struct Drmemtrace(Vec<u8>);

/// Record types: `trace_type_t`.
pub mod kind {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const PREFETCH: u16 = 2;
    pub const PREFETCH_INSTR: u16 = 9;
    pub const INSTR: u16 = 10;
    pub const DIRECT_JUMP: u16 = 11;
    pub const INDIRECT_JUMP: u16 = 12;
    pub const CONDITIONAL_JUMP: u16 = 13;
    pub const DIRECT_CALL: u16 = 14;
    pub const INDIRECT_CALL: u16 = 15;
    pub const RETURN: u16 = 16;
    pub const BUNDLE: u16 = 17;
    pub const DATA_FLUSH: u16 = 20;
    pub const THREAD: u16 = 22;
    pub const THREAD_EXIT: u16 = 23;
    pub const PID: u16 = 24;
    pub const HEADER: u16 = 25;
    pub const FOOTER: u16 = 26;
    pub const MARKER: u16 = 28;
    pub const NO_FETCH: u16 = 29;
    pub const SYSENTER: u16 = 31;
    pub const PREFETCH_WRITE_L3_NT: u16 = 46;
    pub const ENCODING: u16 = 47;
    pub const TAKEN_JUMP: u16 = 48;
    pub const UNTAKEN_JUMP: u16 = 49;
}

/// Marker kinds: `trace_marker_type_t`.
pub mod marker {
    pub const TIMESTAMP: u16 = 2;
    pub const CPU_ID: u16 = 3;
    pub const FILETYPE: u16 = 9;
    pub const CACHE_LINE_SIZE: u16 = 10;
    pub const VERSION: u16 = 12;
    pub const PAGE_SIZE: u16 = 18;
    pub const CHUNK_INSTR_COUNT: u16 = 20;
    pub const CHUNK_FOOTER: u16 = 21;
    pub const RECORD_ORDINAL: u16 = 22;
    pub const SYSCALL: u16 = 25;
}

/// File type bits: `offline_file_type_t`.
pub mod filetype {
    pub const INSTRUCTION_ONLY: u64 = 0x4;
    pub const X86_64: u64 = 0x40;
    pub const IFILTERED: u64 = 0x80;
    pub const ENCODINGS: u64 = 0x200;
}

impl Drmemtrace {
    /// Returns the beginning of a file.
    pub fn new(version: u64, filetype: u64, thread: u64) -> Self {
        Self(Vec::new())
            .record(kind::HEADER, 0, version)
            .record(kind::MARKER, marker::VERSION, version)
            .record(kind::MARKER, marker::FILETYPE, filetype)
            .record(kind::THREAD, 4, thread)
            .record(kind::PID, 4, 1000)
            .record(kind::MARKER, marker::CACHE_LINE_SIZE, 64)
            .record(kind::MARKER, marker::PAGE_SIZE, 4096)
            .record(kind::MARKER, marker::CHUNK_INSTR_COUNT, 10_000_000)
    }

    #[must_use]
    pub fn record(mut self, kind: u16, size: u16, address: u64) -> Self {
        self.0.extend(kind.to_le_bytes());
        self.0.extend(size.to_le_bytes());
        self.0.extend(address.to_le_bytes());
        self
    }

    #[must_use]
    pub fn time(self, time: u64) -> Self {
        self.record(kind::MARKER, marker::TIMESTAMP, time).record(kind::MARKER, marker::CPU_ID, 3)
    }

    /// Appends an instruction that is not a branch, with its encoding.
    #[must_use]
    pub fn instruction(self, address: u64, size: u16) -> Self {
        self.record(kind::ENCODING, size, 0x9090_9090).record(kind::INSTR, size, address)
    }

    #[must_use]
    pub fn read(self, address: u64, size: u16) -> Self {
        self.record(kind::READ, size, address)
    }

    #[must_use]
    pub fn write(self, address: u64, size: u16) -> Self {
        self.record(kind::WRITE, size, address)
    }

    /// Returns the bytes written so far.
    pub fn unfinished(self) -> Vec<u8> {
        self.0
    }

    pub fn end(self) -> Vec<u8> {
        self.record(kind::THREAD_EXIT, 0, 0).record(kind::FOOTER, 0, 0).0
    }
}

/// An instruction in ChampSim's format: `input_instr` in ChampSim's `inc/trace_instruction.h`.
#[derive(Clone, Copy, Default)]
pub struct ChampSim {
    pub address: u64,
    pub is_branch: u8,
    pub is_taken: u8,
    pub written: [u8; 2],
    pub read: [u8; 4],
    pub stores: [u64; 2],
    pub loads: [u64; 4],
}

impl ChampSim {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.address.to_le_bytes().to_vec();
        bytes.extend([self.is_branch, self.is_taken]);
        bytes.extend(self.written);
        bytes.extend(self.read);
        bytes.extend(self.stores.iter().chain(&self.loads).flat_map(|word| word.to_le_bytes()));
        bytes
    }
}

/// Returns a zip archive of deflated members, in the form that the format's specification (APPNOTE) describes.
pub fn zip(members: &[&[u8]]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (number, member) in members.iter().enumerate() {
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(member).expect("there is memory enough");
        let stored = deflate.finish().expect("there is memory enough");
        let mut sum = Crc::new();
        sum.update(member);
        let name = format!("chunk.{number:04}");
        // The fields that both headers share: version 2.0, no flags, the method "deflated", no time, the checksum, both sizes, the length
        // of the name, and the length of an extra field, which is 0.
        let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
        common.extend(sum.sum().to_le_bytes());
        common.extend((stored.len() as u32).to_le_bytes());
        common.extend((member.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&common);
        // These ten bytes mean: no comment, the first disk, and no attributes.
        directory.extend([0; 10]);
        directory.extend((archive.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(common);
        archive.extend(name.as_bytes());
        archive.extend(stored);
    }
    let count = (members.len() as u16).to_le_bytes();
    let start = archive.len() as u32;
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count, count].as_flattened());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend([0, 0]);
    archive
}
