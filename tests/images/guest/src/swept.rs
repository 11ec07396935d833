//! Makes the sweep's calls with real traps.

use core::arch::asm;
use core::hint::black_box;

use conform::control::{Control, TRAP};
use conform::plain::WithPlain;
use conform::tell::{Detail, Machines, tell};
use conform::{Cell, Change, Configuration, System, parts};
use guest_abi::{Registers, StrandId, Trap};

use crate::calls;
use crate::contract::{EINVAL, EOK};
use crate::probes::{self, Residue};
use crate::report::{Check, Report};

/// Makes a control call, and returns its value.
pub fn control(control: Control) -> u64 {
    called(control).o1
}

fn called(control: Control) -> Registers {
    let mut registers = control.registers();
    // SAFETY: the hypervisor does not change this guest's memory. It changes only registers %o0 to %o5.
    unsafe {
        asm!(
            "ta {TRAP}",
            TRAP = const TRAP,
            inout("o0") registers.o0,
            inout("o1") registers.o1,
            inout("o2") registers.o2,
            inout("o3") registers.o3,
            inout("o4") registers.o4,
            inout("o5") registers.o5,
            options(nostack),
        );
    }
    registers
}

/// The guest's machine. A control call replaces it with another.
struct ThisMachine;

impl Machines for ThisMachine {
    fn power_on(&mut self, configuration: &Configuration, work: &mut dyn FnMut(&mut dyn System)) {
        control(Control::PowerOn(*configuration));
        work(&mut Real { strand: None });
    }
}

/// Makes the sweep's calls, each from the strand that the sweep names.
struct Real {
    strand: Option<StrandId>,
}

impl System for Real {
    fn call(&mut self, strand: StrandId, trap: Trap, registers: [u64; 6]) -> [u64; 6] {
        if self.strand != Some(strand) {
            control(Control::Caller(strand));
            self.strand = Some(strand);
        }
        calls::call(trap, registers)
    }

    fn change(&mut self, change: Change) {
        control(Control::Change(change));
    }

    fn state(&mut self) -> u64 {
        control(Control::State)
    }

    fn counts(&mut self) -> u64 {
        control(Control::Counts)
    }
}

pub fn run(report: &mut Report, detail: Detail) {
    tell(detail, &mut ThisMachine, &mut |line| report.line(line));
}

/// Makes the sweep's calls on a board whose register 0 is a word of memory.
pub fn plain(report: &mut Report, detail: Detail) {
    tell(detail, &mut WithPlain(ThisMachine), &mut |line| report.line(line));
    let slow = control(Control::SlowCalls);
    report.line(format_args!("calls on the slow path: {slow}"));
}

/// Tries to switch on a machine on which two guests share a strand. The hypervisor refuses, and the current machine continues.
pub fn impossible(report: &mut Report) {
    let mut check = report.check("an impossible machine is refused");
    let Some((_, possible)) = parts::READ_BACK.configurations().next() else {
        check.same("configuration", "none", "one");
        return;
    };
    check.same("on", called(Control::PowerOn(possible)).o0, EOK);
    let new = control(Control::State);
    for cell in Cell::all().take(1) {
        control(Control::Change(Change::Put(cell, 1 << 36)));
    }
    let changed = control(Control::State);
    check.same("changed", changed != new, true);
    let mut impossible = possible;
    impossible.guests = [possible.guests[0]; 3];
    check.same("refused", called(Control::PowerOn(impossible)).o0, EINVAL);
    check.same("state", control(Control::State), changed);
}

/// Nests as many calls as fit in the hypervisor's windows, and then more.
pub fn exhaust(report: &mut Report) {
    let mut check = report.check("nested calls in the hypervisor, 12 calls deep in the guest");
    let sum = nested(&mut check, 12, [1, 2, 3, 4, 5, 6]);
    check.same("sum", sum, 13 * 21 + 6 * (12 * 13 / 2));
    drop(check);
    let mut check = report.check("nothing left of nested calls");
    for depth in 0..=NESTED {
        let recurse = Control::Recurse(depth);
        let registers = recurse.registers();
        // SAFETY: the probe may change all free windows.
        let found = unsafe { probes::left_0xfe(registers.o0, registers.o1, registers.o5) };
        check.same(depth, found, Residue::NONE);
    }
    drop(check);
    report.line(format_args!("the hypervisor nests 20 calls now"));
    control(Control::Recurse(20));
}

/// The number of nested calls that fit in all the hypervisor's windows.
const NESTED: u64 = 2;

/// Nests calls in the hypervisor, with every number of free windows. Meanwhile, this function's windows hold `numbers`, whose sum shows
/// that the windows are preserved.
#[inline(never)]
fn nested(check: &mut Check<'_>, depth: u64, numbers: [u64; 6]) -> u64 {
    let [a, b, c, d, e, f] = numbers.map(|number| black_box(number + depth));
    for calls in 0..=NESTED {
        check.same((depth, calls), control(Control::Recurse(calls)), calls);
    }
    let deeper = match depth {
        0 => 0,
        _ => nested(check, depth - 1, numbers),
    };
    deeper + a + b + c + d + e + f
}
