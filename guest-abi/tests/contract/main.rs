//! Compares numbers and layouts with copies of the contract's tables.

mod encoding;
mod events;
mod registers;
mod statuses;
mod strands;
