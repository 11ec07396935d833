//! Compares a call's answer with the model's answer.

use conform::oracle::{self, Answer};
use conform::translated::grant;

use super::super::caller::Request;
use super::super::differences::{Subject, status};
use super::super::image::Omission;
use super::super::machine::CallResult;
use super::{Comparison, EOK, GET, PERF, SET};

const EINVAL: u64 = 6;
const EBADTRAP: u64 = 7;
const ENOTSUPPORTED: u64 = 13;

/// The part of a difference that describes the call and its caller.
#[derive(Clone)]
pub(super) struct CallDescription {
    pub(super) call: &'static str,
    pub(super) subject: Subject,
    pub(super) right: String,
    pub(super) version: &'static str,
}

impl Comparison {
    /// Makes a call in the model. Returns the registers after the call, and whether the call performs a store that fails. Such a store may
    /// still be in progress when the call ends, and fail later.
    pub(super) fn expected(&mut self, number: u16, request: Request) -> ([u64; 6], bool) {
        let registers = request.registers;
        let trap = match request.trap {
            0x80 => oracle::Trap::Fast,
            0xff => oracle::Trap::Core,
            other => oracle::Trap::Other(other),
        };
        let mut asked = registers;
        match (request.trap, registers) {
            (0xff, [PERF, 1, 1..=u64::MAX, .., 0]) if self.omissions.has(Omission::Minor1) => {
                asked[2] = 0
            }
            (0x80, [id, .., GET | SET]) if self.omissions.omits_register(id) => {
                let guest = self.world.guest_of(number);
                let is_ready = self.world.guests[guest].versions.perf_minor().is_some();
                asked[0] = if is_ready { ENOTSUPPORTED } else { EBADTRAP };
                return (asked, false);
            }
            _ => {}
        }
        let outcome = self.world.call(number, trap, asked);
        let mut after = outcome.regs;
        for ((after, asked), before) in after.iter_mut().zip(asked).zip(registers) {
            if *after == asked {
                *after = before;
            }
        }
        let posted = outcome.accesses.iter().any(|access| {
            access.answer == Answer::Fault && matches!(access.action, oracle::Action::Write(_))
        });
        (after, posted && matches!(registers[0], 2..=17))
    }

    pub(super) fn compare(
        &mut self,
        about: &CallDescription,
        request: Request,
        (expected, late): ([u64; 6], bool),
        answered: &CallResult,
    ) {
        let [id, .., function] = request.registers;
        let after = answered.after;
        let describe_call = || describe_call(request, Some(after));
        if expected[0] != after[0] {
            if late && after[0] == EOK {
                return;
            }
            if let Some(served) = addition(request.trap, id, function, expected[0]) {
                self.found.served.insert(served);
                return;
            }
            self.note_difference(about, &status(expected[0]), &status(after[0]), describe_call);
            return;
        }
        let results = match (about.call, after[0]) {
            ("get" | "set_version", EOK) => 1,
            ("get_version", EOK) => 2,
            _ => 0,
        };
        for number in 1..6 {
            if expected[number] == after[number] {
                continue;
            }
            let value = expected[number];
            if number <= results {
                let (right, wrong) = match about.call {
                    "get" if self.counting(id).iter().any(|cell| cell.id() == id) => continue,
                    "get" => ("the value", "another value"),
                    _ => ("the version", "another version"),
                };
                self.note_difference(about, right, wrong, || {
                    format!("{}, not {value:#x}", describe_call())
                });
            } else {
                let status = status(after[0]);
                let kept = format!("{status}, %o{number} kept");
                self.note_difference(about, &kept, "changed", describe_call);
            }
        }
        if let Err(what) = &answered.preserved {
            let subject = what.split(" is ").next().unwrap_or_default();
            let kept = format!("{subject} kept");
            self.note_difference(about, &kept, "changed", || {
                format!("{}: {what}", describe_call())
            });
        }
    }

    pub(super) fn about(&self, number: u16, request: Request) -> CallDescription {
        let guest = &self.world.guests[self.world.guest_of(number)];
        let [first, .., function] = request.registers;
        let (call, subject) = match (request.trap, function) {
            (0x80, GET) => ("get", Subject::Register(first)),
            (0x80, SET) => ("set", Subject::Register(first)),
            (0x80, _) => ("FAST", Subject::Function(function)),
            (0xff, 0) => ("set_version", Subject::Group(first)),
            (0xff, 1) => ("cons_putchar", Subject::Function(1)),
            (0xff, 3) => ("get_version", Subject::Group(first)),
            (0xff, _) => ("CORE", Subject::Function(function)),
            (trap, _) => ("trap", Subject::Function(trap.into())),
        };
        let switch = if guest.compat { ", compatible" } else { "" };
        let right = format!("{}{switch}", grant(guest.grant));
        let version = match guest.versions.perf_minor() {
            None => "none",
            Some(0) => "1.0",
            Some(_) => "1.1",
        };
        CallDescription { call, subject, right, version }
    }
}

/// Returns what an image has served in addition to the contract; `None` if it may not serve this call. `required` is the status that the
/// contract requires, and `id` the call's first argument.
fn addition(trap: u8, id: u64, function: u64, required: u64) -> Option<String> {
    if !matches!(required, EBADTRAP | EINVAL) {
        return None;
    }
    match (trap, function) {
        (0x80, GET | SET) => None,
        (0x80, function) => (!is_like_ours(function)).then(|| format!("FAST {function:#x}")),
        (0xff, 0 | 3) => {
            (required == EINVAL && !is_like_group(id)).then(|| format!("group {id:#x}"))
        }
        (0xff, 0..4) => None,
        (0xff, function) => (function >> 32 == 0).then(|| format!("CORE {function:#x}")),
        (trap, _) => Some(format!("trap {trap:#x}")),
    }
}

/// Returns `true` for a function number that no image may serve in addition to the contract: a number of more than 32 bits, or one whose
/// low 16 bits are a contract function's number.
fn is_like_ours(function: u64) -> bool {
    function > u64::from(u32::MAX) || matches!(function & 0xffff, GET | SET)
}

fn is_like_group(group: u64) -> bool {
    group > u64::from(u32::MAX) || matches!(group & 0xffff, 0 | 1 | PERF)
}

/// Describes a call in words: its trap, and its registers before and after the call.
pub(super) fn describe_call(request: Request, after: Option<[u64; 6]>) -> String {
    let [o0, o1, o2, .., function] = request.registers;
    let call = match (request.trap, function) {
        (0x80, GET) => format!("get of {o0:#x}"),
        (0x80, SET) => format!("set of {o0:#x} to {o1:#x}"),
        (0xff, 0) => format!("set_version of {o0:#x} to {o1:#x}.{o2:#x}"),
        (trap, _) => {
            format!("trap {trap:#x} with {o0:#x}, {o1:#x}, {o2:#x}, function {function:#x}")
        }
    };
    match after {
        Some([status, o1, ..]) => format!("{call}: {status}, %o1 {o1:#x}"),
        None => call,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_may_have_more_functions_groups_and_traps() {
        let served = |trap, id, function| addition(trap, id, function, EINVAL);
        for (trap, id, function, name) in [
            (0x80, 0, 0x11, Some("FAST 0x11")),
            (0x80, 0, 0x108, Some("FAST 0x108")),
            (0x80, 0, 0x106, None),
            (0x80, 0, 0x1_0107, None),
            (0x80, 0, 1 << 32, None),
            (0xff, 0x10, 0, Some("group 0x10")),
            (0xff, 0x10, 3, Some("group 0x10")),
            (0xff, 0x205, 3, None),
            (0xff, 0x1_0001, 0, None),
            (0xff, 1 << 32, 0, None),
            (0xff, 0x41, 1, None),
            (0xff, 0, 2, None),
            (0xff, 0, 4, Some("CORE 0x4")),
            (0xff, 0, 0xffff_ffff, Some("CORE 0xffffffff")),
            (0xff, 0, 1 << 32, None),
            (0x81, 0, 0x106, Some("trap 0x81")),
            (0xfe, 0, 0, Some("trap 0xfe")),
        ] {
            let found = served(trap, id, function);
            assert_eq!(found.as_deref(), name, "{trap:#x}, {id:#x}, {function:#x}");
        }
        // A call that the contract serves is no addition, whatever the image answers.
        assert_eq!(addition(0x81, 0, 0, EOK), None);
        assert_eq!(addition(0x80, 0, 0x11, ENOTSUPPORTED), None);
        assert_eq!(addition(0x80, 0, 0x11, EBADTRAP).as_deref(), Some("FAST 0x11"));
        // A call for a group's version is never a bad trap, so this difference is not about a group.
        assert_eq!(addition(0xff, 0x10, 3, EBADTRAP), None);
    }
}
