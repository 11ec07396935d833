//! The commands, one module each: an `Args` for clap and a `run`.

pub mod record;
