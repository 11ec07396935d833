//! Runs the commands as a person or a script does.

mod alone;
mod bad_input;
mod boot;
mod c2c;
mod call;
mod clocks;
mod consoles;
mod diff;
mod events;
mod help;
mod interrupts;
mod md;
mod page;
mod program;
mod record;
mod regs;
mod report;
mod runs;
mod stat;
mod stat_bad_input;
mod stat_program;
mod stat_scenario;
mod stat_threads;
mod streams;
mod theory;
mod top;
