//! Describes calls and statuses by name.

use std::borrow::Cow;

use guest_abi::trap::{API_GET_VERSION, API_SET_VERSION, CONS_PUTCHAR, EXIT, PerfFunction};
use guest_abi::{HvError, PerfReg, Registers};

use super::line::{Call, SoftwareTrap};

/// Describes a call and its status by name. `after` holds the registers after the call.
pub(super) fn describe(call: &Call, after: &Registers) -> String {
    let Registers { o0, o5, .. } = call.registers;
    let name: Cow<'_, str> = match (call.trap, o5) {
        (SoftwareTrap::Core, API_SET_VERSION) => "API_SET_VERSION".into(),
        (SoftwareTrap::Core, CONS_PUTCHAR) => "CONS_PUTCHAR".into(),
        (SoftwareTrap::Core, EXIT) => return "EXIT: the guest has stopped".into(),
        (SoftwareTrap::Core, API_GET_VERSION) => "API_GET_VERSION".into(),
        (SoftwareTrap::Core, other) => format!("CORE {other:#x}").into(),
        (SoftwareTrap::Fast, number) => match PerfFunction::from_number(number) {
            Some(function) => with_register(function, o0).into(),
            None => format!("FAST {number:#x}").into(),
        },
        (SoftwareTrap::Other(number), _) => format!("TRAP {number:#x}").into(),
    };
    match HvError::check(after.o0) {
        Ok(()) => format!("{name}: EOK"),
        Err(error) => format!("{name}: {error}"),
    }
}

fn with_register(function: PerfFunction, id: u64) -> String {
    let register = match function {
        PerfFunction::VfallsGet | PerfFunction::VfallsSet => PerfReg::new(id),
    };
    match register {
        Some(register) => format!("{} {register}", function.name()),
        None => function.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SoftwareTrap::{Core, Fast, Other};

    #[test]
    fn calls_and_statuses_have_names() {
        let text = |trap, function, o0, status| {
            let call = Call { trap, registers: Registers::call(function, [o0, 0, 0, 0, 0]) };
            describe(&call, &Registers::call(function, [status, 0, 0, 0, 0]))
        };
        for (trap, function, o0, status, expected) in [
            (Core, 0, 0x205, 0, "API_SET_VERSION: EOK"),
            (Core, 1, 300, 6, "CONS_PUTCHAR: EINVAL"),
            (Core, 2, 5, 5, "EXIT: the guest has stopped"),
            (Core, 3, 0, 0, "API_GET_VERSION: EOK"),
            (Core, 4, 0, 7, "CORE 0x4: EBADTRAP"),
            (Fast, 0x106, 62, 13, "VFALLS_GET_PERFREG ZAM2_LPU_C_PIC1: ENOTSUPPORTED"),
            (Fast, 0x107, 0, 10, "VFALLS_SET_PERFREG SPARC_PCR: ENOACCESS"),
            (Fast, 0x107, 90, 6, "VFALLS_SET_PERFREG: EINVAL"),
            (Fast, 0x1_0000_0106, 2, 7, "FAST 0x100000106: EBADTRAP"),
            (Fast, 0, 2, 99, "FAST 0x0: status 99"),
            (Other(0x83), 0x106, 2, 7, "TRAP 0x83: EBADTRAP"),
        ] {
            assert_eq!(text(trap, function, o0, status), expected);
        }
    }
}
