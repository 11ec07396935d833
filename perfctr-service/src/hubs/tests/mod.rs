//! The gate: in written and random schedules, one ask at a time; in every state; if a strand dies at any step; and in every order of
//! strands that meet. The arbiter: a hub that works stays in service, and one that never works again goes out of it.

#[cfg(not(loom))]
mod deaths;
mod every_state;
#[cfg(not(loom))]
mod judged;
#[cfg(loom)]
mod loom_gate;
mod schedules;
