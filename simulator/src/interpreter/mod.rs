//! A SPARC V9 interpreter (UltraSPARC Architecture 2007).
//!
//! A memory word is decoded once into an [`Instruction`], which is then executed. A [`Strand`] holds the registers. An
//! [`Environment`] supplies instructions and memory. A strand has no floating-point unit: floating-point and visual instructions
//! (VIS) trap as if the unit were disabled. POPC is executed, as on every sun4v processor since the UltraSPARC T2.
//!
//! A trap at the highest trap level ends the strand ([`ErrorState`]). RED state exists only after a reset. On the processor,
//! hyperprivileged software can reset its strand with SIR. Here SIR is an illegal instruction at every level, because no image
//! needs it.

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
mod word;

pub use access::PRIMARY;
pub use control::{Control, TrapFrame};
pub use environment::{At, CounterRegister, Environment};
pub use instruction::Instruction;
pub use signals::Timer;
pub use strand::{ErrorState, Strand};
pub use trap::{Level, Trap};
pub use windows::{Exception, WindowState};
pub use word::Word;
