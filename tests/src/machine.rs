//! The machine under test: a hypervisor with the service on a [`Board`], put together as an image does it.

use std::collections::BTreeSet;
use std::sync::Mutex;

pub use conform::translated::grant;
use guest_abi::{HvError, Registers, StrandId};
use hv_core::trace::{NoTrace, Trace};
use hv_core::{Caller, ConsoleOutput, Embedder, GuestId, Hypervisor, TrapOutcome};
use perfctr_service::{ChangeError, Grants, GuestConfig, PerfCounterService, Unit, UnitState};

use crate::board::Board;
use crate::oracle::{self, Trap};

/// A console that records what the guests send. Each item comes with the guest's number.
#[derive(Debug, Default)]
pub struct Console(Mutex<Vec<(usize, oracle::Console)>>);

impl Embedder for Console {
    fn console(&self, caller: Caller, output: ConsoleOutput) -> Result<(), HvError> {
        let sent = match output {
            ConsoleOutput::Byte(byte) => oracle::Console::Byte(byte),
            ConsoleOutput::Break => oracle::Console::Break,
        };
        self.0.lock().unwrap().push((caller.guest.index(), sent));
        Ok(())
    }
}

pub type Service<'a, T = NoTrace> = PerfCounterService<(&'a Board, &'a Board, T)>;

pub struct MachineUnderTest<'a, T: Trace = NoTrace> {
    hypervisor: Box<Hypervisor<(Service<'a, T>,), Console, T>>,
    board: &'a Board,
    guest_of: Vec<Option<GuestId>>,
    operator: StrandId,
}

pub fn guest(guest: &oracle::Guest) -> GuestConfig {
    let oracle::Guest { strands, grant: held, granted: _, compat, versions: _ } = guest;
    GuestConfig {
        strands: strands.iter().map(|number| strand(*number)).collect(),
        grant: grant(*held),
        compatible: *compat,
    }
}

pub fn guest_id(number: usize) -> GuestId {
    GuestId::new(number).expect("a guest number up to 255")
}

pub fn strand(number: impl TryInto<usize>) -> StrandId {
    number.try_into().ok().and_then(StrandId::new).expect("a strand number up to 255")
}

impl<'a> MachineUnderTest<'a> {
    /// Returns a machine whose guests have not negotiated anything.
    pub fn new(board: &'a Board, guests: &[oracle::Guest]) -> Self {
        Self::with_trace(board, guests, NoTrace)
    }

    /// Returns a machine whose guests have all negotiated version 1.1.
    pub fn ready(board: &'a Board, guests: &[oracle::Guest]) -> Self {
        let machine = Self::new(board, guests);
        machine.all_negotiate(guests);
        machine
    }
}

impl<'a, T: Trace + Copy> MachineUnderTest<'a, T> {
    /// Returns a machine that records its events in `trace`. Its guests have not negotiated anything.
    pub fn with_trace(board: &'a Board, guests: &[oracle::Guest], trace: T) -> Self {
        let configs: Vec<GuestConfig> = guests.iter().map(guest).collect();
        let machine = board.machine();
        let services = (PerfCounterService::new((board, board, trace)),);
        let hypervisor = Box::new(Hypervisor::with_trace(services, Console::default(), trace));
        hypervisor.services().0.configure(machine, &configs).expect("guests that fit");
        let mut guest_of = vec![None; StrandId::COUNT];
        for (number, guest) in guests.iter().enumerate() {
            for strand in &guest.strands {
                guest_of[usize::from(*strand)] = GuestId::new(number);
            }
        }
        Self { hypervisor, board, guest_of, operator: strand(0) }
    }

    /// Takes the operator's steps on this strand instead of strand 0.
    #[must_use]
    pub fn with_operator(mut self, number: u16) -> Self {
        self.operator = strand(number);
        self
    }

    pub fn board(&self) -> &'a Board {
        self.board
    }

    pub fn service(&self) -> &Service<'a, T> {
        &self.hypervisor.services().0
    }

    /// Makes a call with %o0 to %o5 from `registers`. Returns %o0 to %o5 after the call, and whether the guest has exited.
    pub fn trap(&self, number: u16, trap: Trap, registers: [u64; 6]) -> ([u64; 6], bool) {
        let caller = Caller {
            guest: self.guest_of[usize::from(number)].expect("a strand of a guest"),
            strand: strand(number),
        };
        let mut registers = Registers::from(registers);
        let strand = self.hypervisor.strand(caller).expect("a strand of the guest");
        let exited = match trap {
            Trap::Fast => {
                strand.fast_trap(&mut registers);
                false
            }
            Trap::Other(number) => {
                strand.software_trap(number, &mut registers);
                false
            }
            Trap::Core => strand.core_trap(&mut registers) != TrapOutcome::Resume,
        };
        (registers.to_array(), exited)
    }

    /// Reads a register. Returns the status and %o1. Before the call, %o1 is 0x0bad.
    pub fn get(&self, strand: u16, id: u64) -> (u64, u64) {
        let (registers, _) = self.trap(strand, Trap::Fast, [id, 0x0bad, 2, 3, 4, 0x106]);
        (registers[0], registers[1])
    }

    /// Writes a register. Returns the status.
    pub fn set(&self, strand: u16, id: u64, value: u64) -> u64 {
        self.trap(strand, Trap::Fast, [id, value, 2, 3, 4, 0x107]).0[0]
    }

    /// Negotiates version `major.minor` of group 0x205. Returns the status.
    pub fn negotiate(&self, strand: u16, major: u64, minor: u64) -> u64 {
        let call = [0x205, major, minor, 3, 4, 0];
        self.trap(strand, Trap::Core, call).0[0]
    }

    /// Negotiates version 1.1 on the first strand of each guest.
    pub fn all_negotiate(&self, guests: &[oracle::Guest]) {
        for guest in guests {
            assert_eq!(self.negotiate(guest.strands[0], 1, 1), 0);
        }
    }

    /// Resets a guest, and makes every strand acknowledge.
    pub fn reset_guest(&self, number: usize) {
        self.begin_reset(number);
        self.all_acknowledge();
    }

    /// Resets a guest. Its strands do not acknowledge yet.
    pub fn begin_reset(&self, number: usize) {
        self.begin_reset_on(self.operator, number);
    }

    /// Resets a guest from the operator's strand `on`. The guest's strands do not acknowledge yet.
    pub fn begin_reset_on(&self, on: StrandId, number: usize) {
        self.hypervisor.reset_guest(guest_id(number), on);
    }

    /// Gives each guest its grant if the configuration is valid. No strand acknowledges yet.
    pub fn reconfigure(&self, grants: &[oracle::Grant]) -> Result<(), ChangeError> {
        self.reconfigure_on(self.operator, grants)
    }

    pub fn reconfigure_on(
        &self,
        on: StrandId,
        grants: &[oracle::Grant],
    ) -> Result<(), ChangeError> {
        let mut all = Grants::none(grants.len()).expect("guests of a machine");
        for (number, given) in grants.iter().enumerate() {
            let set = all.set(guest_id(number), grant(*given));
            set.expect("a guest of the list");
        }
        self.service().reconfigure(on, &all).map(|_| ())
    }

    /// Returns a unit to service, on strand `on`.
    pub fn return_to_service(&self, on: u16, unit: Unit) -> Result<(), ChangeError> {
        self.service().return_to_service(strand(on), unit)
    }

    /// Reports, on strand `on`, that another strand has died.
    pub fn strand_died(&self, on: u16, dead: u16) {
        self.service().strand_died(strand(on), strand(dead));
    }

    pub fn unit(&self, unit: Unit) -> UnitState {
        self.service().unit(unit)
    }

    /// Makes a strand take its pending cross-call. Returns `false` if there is none.
    pub fn acknowledge(&self, number: u16) -> bool {
        let waits = self.board.take_cross_call(number);
        if waits {
            self.service().cross_called(strand(number));
        }
        waits
    }

    /// Makes strands take their cross-calls until none is pending.
    pub fn all_acknowledge(&self) {
        for _ in 0..10_000 {
            let Some(&next) = self.board.cross_calls().first() else {
                return;
            };
            self.acknowledge(next);
        }
        panic!("no end of cross-calls");
    }

    /// Makes all strands take their cross-calls. Asserts that no transfer is pending afterwards.
    pub fn complete_transfer(&self) {
        self.all_acknowledge();
        assert_eq!(self.awaited(), None);
    }

    /// Returns the strands that a pending transfer waits for, or `None` if no transfer is pending.
    pub fn awaited(&self) -> Option<BTreeSet<u16>> {
        let strands = self.service().pending()?;
        Some(strands.iter().map(|one| one.number().into()).collect())
    }

    /// Takes the console output since this function was last called. Each item comes with the guest's number.
    pub fn take_console(&self) -> Vec<(usize, oracle::Console)> {
        std::mem::take(&mut self.hypervisor.embedder().0.lock().unwrap())
    }
}
