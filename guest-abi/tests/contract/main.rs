//! The numbers and layouts of the contract, against its tables written out here.

mod clocks;
mod encoding;
mod events;
mod names;
mod pmus;
mod statuses;
mod strands;
