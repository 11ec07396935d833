//! The guest's calls and traps.

use guest_abi::kernel::MACH_DESC;
use guest_abi::{Hub, Mcu, Node};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right};
use platform::models::FaultyUnit;
use simulator::conform::caller::{Request, resume_at, scramble};
use simulator::conform::guest::ANSWERED;
use simulator::execute::Execution;
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, WindowState};
use tests::assembler::{BA_ANNULLED, ILLEGAL, L2, L4, LDX, accesses, branch, trap};
use tests::random::Random;

use super::super::lists::{GET, SET};
use super::super::neighbour::{GUEST, MEMORIES, NEIGHBOUR};
use super::super::{REAL, strand};
use super::Machine;

/// The window counts at a call: %cansave, %canrestore and %otherwin.
const WINDOWS: [[u8; 3]; 6] = [[0, 6, 0], [6, 0, 0], [0, 0, 6], [1, 5, 0], [2, 2, 2], [3, 3, 0]];

/// The offset of the cases' programs in the guest's memory.
const PROGRAM_OFFSET: u64 = 0x10_0000;

/// The longest transfer, in instructions.
const MAX_TRANSFER_STEPS: u32 = 1_000_000;

/// The vector that this image uses for a cross-call.
pub(super) const CROSS_CALL: u8 = 1;

#[derive(Clone, Copy)]
pub(super) enum CaseKind {
    Call(Request),
    /// A guest instruction that traps or that makes the hypervisor translate an address.
    Instruction(u32),
    /// An interrupt for the guest.
    Interrupt(u8),
    /// The operator asks for the hypervisor's state.
    Look,
    /// The guest's rights move to its neighbour. The hypervisor asks the guest's strand to clear its registers and to acknowledge.
    Transfer,
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) what: CaseKind,
    /// The unit that the call accesses.
    pub(super) unit: Option<FaultyUnit>,
}

const fn fast(name: &'static str, function: u64, o0: u64, o1: u64) -> Case {
    let registers = [o0, o1, 2, 3, 4, function];
    Case { name, what: CaseKind::Call(Request { trap: 0x80, registers }), unit: None }
}

const fn core(name: &'static str, function: u64, o0: u64, o1: u64, o2: u64) -> Case {
    let registers = [o0, o1, o2, 3, 4, function];
    Case { name, what: CaseKind::Call(Request { trap: 0xff, registers }), unit: None }
}

const fn on(unit: FaultyUnit, case: Case) -> Case {
    Case { unit: Some(unit), ..case }
}

const fn other(name: &'static str, what: CaseKind) -> Case {
    Case { name, what, unit: None }
}

const CHANNEL: FaultyUnit = FaultyUnit::Mcu(Node::Node0, Mcu::ALL[0]);
const HUB: FaultyUnit = FaultyUnit::Hub(Hub::ALL[0]);

const L2_CONTROL: FaultyUnit = FaultyUnit::L2(Node::Node0);

/// The value of %pcr that a case sets. With this value, the counters count nothing.
const PCR: u64 = 2 << 14 | 0xfd << 6;

pub(super) static CASES: [Case; 28] = [
    fast("get of the PCR", GET, 0, 7),
    fast("set of the PCR", SET, 0, PCR),
    on(CHANNEL, fast("get of a channel", GET, 2, 7)),
    on(CHANNEL, fast("set of a channel", SET, 3, 0x55)),
    on(HUB, fast("get of a hub", GET, 18, 7)),
    on(HUB, fast("set of a hub", SET, 18, 0x202)),
    on(L2_CONTROL, fast("get of L2", GET, 1, 7)),
    on(L2_CONTROL, fast("set of L2", SET, 1, 2)),
    fast("EINVAL", GET, 90, 7),
    fast("ENOTSUPPORTED", GET, 6, 7),
    fast("an unknown function", 5, 1, 7),
    fast("cpu_myid", 0x16, 0, 7),
    fast("cpu_state", 0x17, 0, 7),
    fast("mach_desc", MACH_DESC, REAL + 0x20_0000, 64),
    fast("tod_get", 0x50, 0, 7),
    fast("cons_write", 0x63, REAL, 2),
    fast("soft state", 0x70, 1, REAL + 0x20_0000),
    core("a version", 3, 0x205, 7, 0),
    core("the same version", 0, 0x205, 1, 1),
    core("another version", 0, 0x205, 1, 0),
    core("no version", 0, 0x205, 0, 0),
    core("cons_putchar", 1, 0x78, 0, 0),
    other("a software trap", CaseKind::Instruction(trap(0x83))),
    other("a trap that the guest takes", CaseKind::Instruction(ILLEGAL[0])),
    // The address is in a page without a TLB entry, or in none of the guest's pages.
    other("a miss of the TLB", CaseKind::Instruction(accesses(LDX, L4, L2, 0))),
    other("an interrupt", CaseKind::Interrupt(CROSS_CALL)),
    other("the operator looks", CaseKind::Look),
    other("an acknowledgement", CaseKind::Transfer),
];

/// Returns the grants that give the guest's rights to its neighbour.
pub(super) fn all_to_the_neighbour() -> Grants {
    let mut grants = Grants::none(2).unwrap();
    for right in [Right::Global, Right::Strand] {
        grants.grant(GuestId::new(1).unwrap(), right).unwrap();
    }
    grants
}

impl Case {
    /// Returns the machine just before the guest's call or trap.
    pub(super) fn begin(
        &self,
        machine: &Machine,
        [can_save, can_restore, other]: [u8; 3],
    ) -> Execution {
        let mut execution = machine.ready.execution.clone();
        let id = strand(GUEST);
        let registers = execution.strand_mut(id);
        match self.what {
            CaseKind::Call(request) => request.put(registers, &mut Random(1)),
            CaseKind::Instruction(word) => {
                scramble(registers, &mut Random(1));
                registers.registers.set(Register::new(L2), REAL + 0x60_0000);
                resume_at(registers, REAL + PROGRAM_OFFSET);
                let back = branch(BA_ANNULLED, REAL + PROGRAM_OFFSET + 4, ANSWERED);
                let words = [word, back].map(u32::to_be_bytes);
                execution.load(MEMORIES[0] + PROGRAM_OFFSET, words.as_flattened()).unwrap();
            }
            CaseKind::Interrupt(vector) => {
                resume_at(registers, ANSWERED);
                execution.interrupt(id, vector);
            }
            CaseKind::Look => {
                resume_at(registers, ANSWERED);
                execution.operate(id, &Step::ReadState(2)).unwrap();
            }
            CaseKind::Transfer => {
                resume_at(registers, ANSWERED);
                let on = strand(NEIGHBOUR[0]);
                execution.operate(on, &Step::Reconfigure(all_to_the_neighbour())).unwrap();
                execution.step(on);
                let mut steps = 0;
                while execution.strand(on).level() == Level::Hyperprivileged {
                    assert!(steps < MAX_TRANSFER_STEPS, "the transfer does not end");
                    execution.step(on);
                    steps += 1;
                }
            }
        }
        execution.strand_mut(id).windows =
            WindowState { can_save, can_restore, other, clean: 7, state: 0 };
        execution
    }

    /// Returns the window counts with which the case is tried: only two if the case is long.
    pub(super) fn windows(&self) -> &'static [[u8; 3]] {
        match self.what {
            CaseKind::Look | CaseKind::Transfer | CaseKind::Interrupt(_) => &WINDOWS[..2],
            CaseKind::Call(Request { registers: [.., function], .. }) if function == MACH_DESC => {
                &WINDOWS[..2]
            }
            CaseKind::Call(_) | CaseKind::Instruction(_) => &WINDOWS,
        }
    }

    /// Returns `true` if the operator is at work in this case.
    pub(super) const fn is_operated(&self) -> bool {
        matches!(self.what, CaseKind::Look | CaseKind::Transfer)
    }
}
