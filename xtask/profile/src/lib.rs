//! What the programs of this package share: the names of the code of recorded programs.

pub mod symbols;
