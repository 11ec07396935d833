//! Disassembly of SPARC V9, by tables of this crate, and of x86-64.

pub(crate) mod sparc;
pub(crate) mod x86;
