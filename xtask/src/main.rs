//! What a person runs.
fn main() {}
