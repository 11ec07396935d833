//! Disassembles instructions. The tables for SPARC V9 are in this crate; another crate disassembles
//! x86-64.

pub(crate) mod sparc;
pub(crate) mod x86;
