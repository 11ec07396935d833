//! Tests of the numbers and layouts, against copies of the contract's tables.

mod clocks;
mod encoding;
mod events;
mod names;
mod pmus;
mod statuses;
mod strands;
