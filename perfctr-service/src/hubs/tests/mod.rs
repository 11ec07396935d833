//! The gate: in written and random schedules, one ask at a time; in every state; if a strand dies or stops at any step; and in every
//! order of strands that meet.

#[cfg(not(loom))]
mod deaths;
mod every_state;
#[cfg(loom)]
mod loom_gate;
mod schedules;
