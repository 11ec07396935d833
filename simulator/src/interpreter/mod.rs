//! An interpreter of SPARC V9: strands that execute instructions (UltraSPARC Architecture 2007).
//!
//! A word of memory becomes an [`Instruction`] once, and is executed from that form. A [`Strand`] is the state that
//! nonprivileged software sees; what it fetches, loads and stores is some [`Memory`]. The strand has no floating-point unit:
//! its instructions trap as if that were disabled.

mod compute;
mod decode;
pub mod instruction;
pub mod registers;
mod strand;
mod trap;
mod windows;

pub use instruction::Instruction;
pub use strand::{Memory, PRIMARY, Strand};
pub use trap::Trap;
pub use windows::WindowState;
