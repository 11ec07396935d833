//! The sweep, by real traps.

use guest_abi::guest::Sun4v;
use guest_abi::{Hypercall, Registers, StrandId, Trap};
use sweep::control::Control;
use sweep::tell::{Detail, Machines, tell};
use sweep::{Change, Configuration, System};

use crate::report::Report;
use crate::sun4v;

pub fn control(control: Control) -> u64 {
    let mut registers = control.registers();
    Sun4v::trap(&sun4v(), Trap::Fast, &mut registers);
    registers.o1
}

/// The machine that this guest is on. The hypervisor lets it switch on another.
struct Here;

impl Machines for Here {
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System)) {
        control(Control::PowerOn(*configuration));
        work(&mut Real { strand: None });
    }
}

/// Calls from a strand that the hypervisor takes this one for.
struct Real {
    strand: Option<StrandId>,
}

impl System for Real {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        if self.strand != Some(strand) {
            control(Control::Caller(strand));
            self.strand = Some(strand);
        }
        let mut registers = Registers::from(registers);
        Sun4v::trap(&sun4v(), trap, &mut registers);
        registers.to_array()
    }

    fn change(&mut self, change: Change) {
        control(Control::Change(change));
    }

    fn state(&mut self) -> u64 {
        control(Control::State)
    }
}

pub fn run(report: &mut Report, detail: Detail) {
    tell(detail, &mut Here, &mut |line| report.line(line));
}

/// Lets the hypervisor nest as many calls as it has windows for, and then more.
pub fn exhaust(report: &mut Report) {
    let mut check = report.check("two nested calls in the hypervisor");
    check.same("result", control(Control::Recurse(2)), 2);
    drop(check);
    report.line(format_args!("the hypervisor nests 20 calls now"));
    control(Control::Recurse(20));
}
