//! Tests of the numbers and layouts, against the tables of the contract, which are written out here.

mod clocks;
mod encoding;
mod events;
mod names;
mod pmus;
mod statuses;
mod strands;
