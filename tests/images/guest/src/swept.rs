//! The sweep, by real traps.

use guest_abi::guest::Sun4v;
use guest_abi::{Hypercall, Registers, Trap};
use sweep::System;
use sweep::control::Control;

use crate::report::Report;
use crate::sun4v;

struct Real;

impl System for Real {
    fn trap(&mut self, trap: Trap, registers: &mut Registers) {
        Sun4v::trap(&sun4v(), trap, registers);
    }

    fn control(&mut self, control: Control) {
        self.trap(Trap::Fast, &mut control.registers());
    }
}

pub fn run(report: &mut Report, scenario: u64) {
    sweep::run(scenario, &mut Real, |block, digest| {
        report.digest(scenario, block, digest);
    });
}
