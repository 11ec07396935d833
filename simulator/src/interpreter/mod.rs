//! An interpreter of SPARC V9: strands that execute instructions (UltraSPARC Architecture 2007).
//!
//! A word of memory becomes an [`Instruction`] once, and is executed from that form. A [`Strand`] is a strand's registers; what it
//! fetches, loads and stores is an [`Environment`]. The strand has no floating-point unit: its instructions trap as if that
//! were disabled, and so do all visual instructions (VIS). POPC is executed, as by every sun4v processor since the UltraSPARC T2.
//!
//! A trap at the highest trap level ends the strand ([`ErrorState`]); there is no RED state but after a reset.
//! So SIR, with which hyperprivileged software resets its strand, is an illegal instruction at every level: no image needs it, and a log
//! names it.

mod access;
mod ancillary;
mod compute;
mod control;
mod decode;
mod environment;
pub mod instruction;
pub mod registers;
mod signals;
mod strand;
#[cfg(test)]
mod tests;
mod trap;
mod windows;

pub use access::PRIMARY;
pub use control::{Control, Frame, Level, MAX_TL};
pub use environment::{At, Counting, Environment};
pub use instruction::Instruction;
pub use signals::Timer;
pub use strand::{ErrorState, Strand};
pub use trap::Trap;
pub use windows::{Exception, WindowState};
