//! Disassembles SPARC V9, with tables of this crate, and x86-64.

pub(crate) mod sparc;
pub(crate) mod x86;
