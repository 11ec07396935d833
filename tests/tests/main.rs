//! Tests of the whole service on simulated hardware. They are one program, because each program takes a second or two to compile and
//! to link.

mod busy_limit;
mod busy_working;
mod clocks;
mod contract_core;
mod contract_faults;
mod contract_random;
mod contract_sweep;
mod counter_units;
mod fast_path;
mod grants;
mod hub_threads;
mod l2_threads;
mod late_writes;
mod mailbox;
mod negotiation_threads;
mod non_interference;
mod operator_threads;
mod real_guests;
mod registers;
mod rights_death;
mod rights_death_steps;
mod rights_in_flight;
mod rights_stopped;
mod rights_threads;
mod rights_transfer;
mod rights_unclean;
mod statistics;
mod texts;
mod trace;
