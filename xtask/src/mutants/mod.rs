//! Mutation testing: cargo-mutants changes the code in one place, and a test should fail.

pub mod explained;
pub mod mutant;
pub mod outcome;
pub mod suite;
pub mod tree;
pub mod workshop;
