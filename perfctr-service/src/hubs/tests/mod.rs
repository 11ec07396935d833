//! The gate: in written and random schedules, one ask at a time, and in every order of strands that meet.

#[cfg(loom)]
mod loom_gate;
mod schedules;
