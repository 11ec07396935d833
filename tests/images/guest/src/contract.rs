//! The answers that the contract requires for a guest with all rights whose only strand is strand 0. They are written from the
//! specification, not from the crates under test.

pub const EOK: u64 = 0;
pub const EINVAL: u64 = 6;
pub const EBADTRAP: u64 = 7;
pub const EWOULDBLOCK: u64 = 9;
pub const ENOACCESS: u64 = 10;
pub const ENOTSUPPORTED: u64 = 13;

pub const GET: u64 = 0x106;
pub const SET: u64 = 0x107;
pub const GROUP: u64 = 0x205;

/// The machine, decoded from the task word that xtask writes to memory.
#[derive(Clone, Copy)]
pub struct Machine {
    pub nodes: u64,
    pub hubs: bool,
}

impl Machine {
    /// Returns the status that the contract defines for a read or a write of register `id`.
    pub fn status(self, minor: Option<u64>, id: u64) -> u64 {
        let Some(minor) = minor else { return EBADTRAP };
        match id {
            0..=5 => EOK,
            6..=17 if (id - 2) / 4 < self.nodes => ENOACCESS,
            6..=17 => ENOTSUPPORTED,
            18..=89 if self.hubs && minor == 1 => EOK,
            18..=89 => ENOTSUPPORTED,
            _ => EINVAL,
        }
    }
}

/// Returns the bits that the register stores on a write.
pub fn mask(id: u64) -> u64 {
    match id {
        0 => 0xffff_ffff,
        1 => 3,
        2..=17 if id % 2 == 0 => 0xff,
        2..=17 => u64::MAX,
        // A hub has six units: four LPUs, the GPD and the ASU. Each unit has three registers: the select, and then two counters.
        _ => match ((id - 18) % 18 / 3, id % 3) {
            (0..=3, 0) => 0xffff,
            (_, 0) => 0xf0f,
            _ => u64::MAX,
        },
    }
}
