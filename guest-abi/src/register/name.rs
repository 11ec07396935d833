//! The names of the registers, put together at compile time.

use core::fmt;

use super::{Kind, PerfReg};

/// A text that is not the name of a performance register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownName;

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a performance register")
    }
}

impl core::error::Error for UnknownName {}

const LONGEST: usize = "ZAM0_LPU_A_PIC0".len();

#[derive(Clone, Copy)]
struct Name {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Name {
    const EMPTY: Self = Self {
        bytes: [0; LONGEST],
        length: 0,
    };

    const fn and(mut self, part: &str) -> Self {
        let mut i = 0;
        while i < part.len() {
            self.bytes[self.length] = part.as_bytes()[i];
            self.length += 1;
            i += 1;
        }
        self
    }

    const fn build(register: PerfReg) -> Self {
        match register.kind() {
            Kind::Strand => Self::EMPTY.and("SPARC_PCR"),
            Kind::L2 => Self::EMPTY.and("L2_PERF_CONFIG"),
            Kind::Dram { node, mcu, role } => Self::EMPTY
                .and(node.text())
                .and("_")
                .and(mcu.text())
                .and("_")
                .and(role.text()),
            Kind::Hub { hub, unit, role } => Self::EMPTY
                .and(hub.text())
                .and("_")
                .and(unit.text())
                .and("_")
                .and(role.text()),
        }
    }
}

static NAMES: [Name; PerfReg::COUNT] = BUILT;

const BUILT: [Name; PerfReg::COUNT] = {
    let mut names = [Name::EMPTY; PerfReg::COUNT];
    let mut id = 0;
    while id < PerfReg::COUNT {
        names[id] = Name::build(PerfReg(id as u8));
        id += 1;
    }
    names
};

pub(super) const fn of(register: PerfReg) -> &'static str {
    let name = &NAMES[register.index()];
    match core::str::from_utf8(name.bytes.split_at(name.length).0) {
        Ok(text) => text,
        Err(_) => "",
    }
}

pub(super) const fn find(text: &str) -> Option<PerfReg> {
    let mut id = 0;
    while id < PerfReg::COUNT {
        let register = PerfReg(id as u8);
        if of(register).eq_ignore_ascii_case(text) {
            return Some(register);
        }
        id += 1;
    }
    None
}
