//! The numbers and layouts of the contract, against its tables written out here.

mod encoding;
mod events;
mod names;
mod statuses;
mod units;
