//! The machine under test: the hypervisor and the service as a hypervisor engineer puts them together, on a [`Board`].

use std::collections::BTreeSet;
use std::sync::Mutex;

use guest_abi::{HvError, Mcu, Node, Registers, StrandId};
use hv_core::{After, Caller, Embedder, GuestId, Hypervisor};
use perfctr_service::{ChangeError, Grants, GuestConfig, PerfCounterService, StrandRight};
use platform::Model;

use crate::board::Board;
use crate::oracle::{self, Trap};

/// A console that keeps what the guests write: the number of the guest, and the byte.
#[derive(Debug, Default)]
pub struct Console(Mutex<Vec<(usize, u8)>>);

impl Embedder for Console {
    fn console(&self, caller: Caller, byte: u8) -> Result<(), HvError> {
        self.0.lock().unwrap().push((caller.guest.index(), byte));
        Ok(())
    }
}

/// The service on a board.
pub type Service<'a> = PerfCounterService<&'a Board, &'a Board>;

/// Hypervisor, service and guests.
pub struct MachineUnderTest<'a> {
    hypervisor: Box<Hypervisor<(Service<'a>,), Console>>,
    board: &'a Board,
    guest_of: Vec<Option<GuestId>>,
    operator: StrandId,
}

/// A machine as the service is told of it.
pub fn machine(
    machine: oracle::Machine,
    nodes: usize,
    disabled_channels: impl IntoIterator<Item = (usize, usize)>,
) -> platform::Machine {
    let model = match machine {
        oracle::Machine::Maramba => Model::Maramba,
        oracle::Machine::Batoka => Model::Batoka,
    };
    let all = platform::Machine::new(model, nodes).expect("a number of nodes that the model has");
    disabled_channels
        .into_iter()
        .fold(all, |machine, (node, mcu)| {
            machine.without_channel(Node::ALL[node], Mcu::ALL[mcu])
        })
}

/// A grant as the service is told of it.
pub fn grant(grant: oracle::Grant) -> perfctr_service::Grant {
    perfctr_service::Grant {
        strand: match grant.strand {
            oracle::StrandGrant::None => StrandRight::None,
            oracle::StrandGrant::Strand => StrandRight::Strand,
            oracle::StrandGrant::HtStrand => StrandRight::HtStrand,
        },
        global: grant.global,
    }
}

/// A guest as the service is told of it.
pub fn guest(guest: &oracle::Guest) -> GuestConfig {
    GuestConfig {
        strands: guest.strands.iter().map(|number| strand(*number)).collect(),
        grant: grant(guest.grant),
        compatible: guest.compat,
    }
}

/// The guest of that number.
pub fn guest_id(number: usize) -> GuestId {
    GuestId::new(number).expect("a guest number up to 255")
}

/// The strand of that number.
pub fn strand(number: u16) -> StrandId {
    StrandId::new(number.into()).expect("a strand number up to 255")
}

impl<'a> MachineUnderTest<'a> {
    /// The machine with these guests, which have negotiated nothing.
    pub fn new(
        board: &'a Board,
        disabled_channels: &[(usize, usize)],
        guests: &[oracle::Guest],
    ) -> Self {
        let (model, nodes) = board.machine();
        let machine = machine(model, nodes, disabled_channels.iter().copied());
        let configs: Vec<GuestConfig> = guests.iter().map(guest).collect();
        let service =
            PerfCounterService::new(machine, board, board, &configs).expect("guests that fit");
        let mut guest_of = vec![None; StrandId::COUNT];
        for (number, guest) in guests.iter().enumerate() {
            for strand in &guest.strands {
                guest_of[usize::from(*strand)] = GuestId::new(number);
            }
        }
        Self {
            hypervisor: Box::new(Hypervisor::new((service,), Console::default())),
            board,
            guest_of,
            operator: strand(0),
        }
    }

    /// The machine whose operator's steps are executed on this strand, not on strand 0.
    #[must_use]
    pub fn with_operator(mut self, number: u16) -> Self {
        self.operator = strand(number);
        self
    }

    /// The board.
    pub fn board(&self) -> &'a Board {
        self.board
    }

    /// The service.
    pub fn service(&self) -> &Service<'a> {
        &self.hypervisor.services().0
    }

    /// Makes a call with %o0 to %o5 in `registers`; %o0 to %o5 afterwards, and whether the guest has ended itself.
    pub fn trap(&self, number: u16, trap: Trap, registers: [u64; 6]) -> ([u64; 6], bool) {
        let caller = Caller {
            guest: self.guest_of[usize::from(number)].expect("a strand of a guest"),
            strand: strand(number),
        };
        let mut registers = Registers::from(registers);
        let exited = match trap {
            Trap::Fast => {
                self.hypervisor.strand(caller).fast_trap(&mut registers);
                false
            }
            Trap::Core => self.hypervisor.strand(caller).core_trap(&mut registers) != After::Resume,
        };
        (registers.to_array(), exited)
    }

    /// Reads a register: the status, and %o1, which held 0x0bad.
    pub fn get(&self, strand: u16, id: u64) -> (u64, u64) {
        let (registers, _) = self.trap(strand, Trap::Fast, [id, 0x0bad, 2, 3, 4, 0x106]);
        (registers[0], registers[1])
    }

    /// Writes a register: the status.
    pub fn set(&self, strand: u16, id: u64, value: u64) -> u64 {
        self.trap(strand, Trap::Fast, [id, value, 2, 3, 4, 0x107]).0[0]
    }

    /// Negotiates version `major.minor` of group 0x205: the status.
    pub fn negotiate(&self, strand: u16, major: u64, minor: u64) -> u64 {
        self.trap(strand, Trap::Core, [0x205, major, minor, 3, 4, 0])
            .0[0]
    }

    /// Resets a guest, and lets every strand answer.
    pub fn reset_guest(&self, number: usize) {
        self.begin_reset(number);
        self.all_answer();
    }

    /// Resets a guest. Its strands have still to answer.
    pub fn begin_reset(&self, number: usize) {
        self.hypervisor.reset_guest(guest_id(number), self.operator);
    }

    /// Grants the guests this, if it is a valid configuration. Strands have still to answer.
    pub fn reconfigure(&self, grants: &[oracle::Grant]) -> Result<(), ChangeError> {
        let mut all = Grants::none(grants.len());
        for (number, given) in grants.iter().enumerate() {
            all.set(guest_id(number), grant(*given))
                .expect("so many guests");
        }
        self.service().reconfigure(self.operator, &all).map(|_| ())
    }

    /// A strand takes the cross-call that waits for it, if there is one; whether there was.
    pub fn answer(&self, number: u16) -> bool {
        let waits = self.board.take_cross_call(number);
        if waits {
            self.service().cross_called(strand(number));
        }
        waits
    }

    /// Every strand takes its cross-calls, until there are none.
    ///
    /// # Panics
    /// If they do not end.
    pub fn all_answer(&self) {
        for _ in 0..10_000 {
            let Some(&next) = self.board.cross_calls().first() else {
                return;
            };
            self.answer(next);
        }
        panic!("cross-calls without end");
    }

    /// The strands that a change waits for; none if it is complete.
    pub fn awaited(&self) -> Option<BTreeSet<u16>> {
        let strands = self.service().pending()?;
        Some(strands.iter().map(|one| one.index() as u16).collect())
    }

    /// What the guests have written since this was last asked: the number of the guest, and the byte.
    pub fn take_console(&self) -> Vec<(usize, u8)> {
        std::mem::take(&mut self.hypervisor.embedder().0.lock().unwrap())
    }
}
