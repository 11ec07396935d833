//! Tests of the numbers and layouts, against copies of the contract's tables.

mod encoding;
mod events;
mod registers;
mod statuses;
mod strands;
