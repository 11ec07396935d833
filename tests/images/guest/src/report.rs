//! Prints each check's result as a line on the console.

use core::fmt::{Arguments, Debug};

use guest_abi::Trap;
use guest_abi::guest::{Core, Sun4v};

use crate::calls::call;

/// The console, and the number of failed checks.
pub struct Report {
    console: Core<Sun4v>,
    failed: u64,
    cases: u64,
}

/// A check, which consists of any number of comparisons. Dropping it reports its result.
pub struct Check<'a> {
    report: &'a mut Report,
    name: &'static str,
    failed: bool,
}

impl Report {
    pub fn new(sun4v: Sun4v) -> Self {
        Self { console: Core::new(sun4v), failed: 0, cases: 0 }
    }

    pub fn check(&mut self, name: &'static str) -> Check<'_> {
        Check { report: self, name, failed: false }
    }

    pub fn count(&mut self, name: &str, number: u64) {
        // If the console fails, there is nowhere else to report to.
        let _ = writeln!(self.console, "count {name}: {number}");
    }

    pub fn line(&mut self, line: Arguments<'_>) {
        let _ = writeln!(self.console, "{line}");
    }

    pub fn end(self) -> ! {
        if self.cases != 0 {
            let _ = writeln!(self.console, "cases: {}", self.cases);
        }
        let _ = writeln!(self.console, "checked");
        loop {
            // This call does not return.
            let _ = self.console.exit(u64::from(self.failed != 0));
        }
    }
}

impl Check<'_> {
    /// Compares two values. If they differ, the check fails. Each check prints only its first
    /// difference.
    pub fn same<T: PartialEq + Debug>(&mut self, what: impl Debug, found: T, expected: T) {
        if found != expected && !self.failed {
            self.failed = true;
            let _ = writeln!(
                self.report.console,
                "check {}: FAILED, {what:x?}: {found:x?}, expected {expected:x?}",
                self.name
            );
        }
    }

    /// Makes a call, and compares the registers after it with the values that the contract
    /// requires.
    pub fn case(&mut self, trap: Trap, before: [u64; 6], expected: [u64; 6]) {
        self.report.cases += 1;
        self.same(before, call(trap, before), expected);
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        if self.failed {
            self.report.failed += 1;
        } else {
            let _ = writeln!(self.report.console, "check {}: passed", self.name);
        }
    }
}
