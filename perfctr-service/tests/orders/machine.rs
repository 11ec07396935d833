//! The hypervisor and the service as in an image, on a machine with few devices. Each device access is one of a strand's steps.

use std::rc::Rc;

use guest_abi::{Registers, StrandId};
use hv_core::sync::steps::orders::wait_until_nonzero;
use hv_core::sync::{AtomicU64, Ordering};
use hv_core::{Caller, GuestId, Hypervisor, NoConsole};
use perfctr_service::{Grant, Grants, GuestConfig, PerfCounterService};
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress, StrandRegisters};

pub(crate) const EOK: u64 = 0;
pub(crate) const EWOULDBLOCK: u64 = 9;
pub(crate) const ENOACCESS: u64 = 10;

pub(crate) const PCR: u64 = 0;
pub(crate) const L2: u64 = 1;
/// The register number of NODE0_MCU0_PCR.
pub(crate) const DRAM: u64 = 2;
/// The register number of ZAM0_LPU_A_PCR.
pub(crate) const HUB: u64 = 18;

/// The strands: two of guest 0, one of guest 1, and two of the operator.
pub(crate) const LOSER: usize = 0;
pub(crate) const SECOND: usize = 1;
pub(crate) const NEXT: usize = 2;
pub(crate) const OPERATOR: usize = 8;
pub(crate) const REPORTER: usize = 9;

fn word() -> AtomicU64 {
    AtomicU64::new(0)
}

pub(crate) fn read(word: &AtomicU64) -> u64 {
    word.load(Ordering::SeqCst)
}

pub(crate) fn write(word: &AtomicU64, value: u64) {
    word.store(value, Ordering::SeqCst);
}

/// Devices that have only these registers. All other registers read as 0.
pub(crate) struct Devices {
    dram: AtomicU64,
    hub: AtomicU64,
    /// Bank 0 of the L2 control, which is written last.
    l2: AtomicU64,
    pcr: [AtomicU64; 10],
    cross_calls: [AtomicU64; 10],
    /// The strand that is writing the L2 control banks, as its number plus 1; 0 if no strand is. During the write, the banks differ.
    pub(crate) differ: AtomicU64,
    /// If this word is 1, the next access to the hub, or the next write of the last L2 control bank, fails and sets the word to 2.
    pub(crate) fails: AtomicU64,
    /// How often a strand has begun to write the L2 control banks.
    pub(crate) begun: AtomicU64,
    /// The time that every clock shows. The following word is the value of `begun` when a strand last read its clock.
    pub(crate) time: AtomicU64,
    pub(crate) begun_then: AtomicU64,
    /// If this word is not 0, the chip of hub 0 accepts only each third write, and answers "busy" to the other writes. The word is the
    /// number of writes to the chip, plus 1.
    pub(crate) busy: AtomicU64,
    /// If the first word is 1, a strand that begins to write the L2 control banks sets this word to 2, and waits until the second word is
    /// set.
    pub(crate) halts: [AtomicU64; 2],
}

#[derive(Clone)]
pub(crate) struct Board(Rc<Devices>);

impl Board {
    fn register(&self, at: PhysicalAddress) -> Option<&AtomicU64> {
        match at.0 {
            0x84_0000_0400 => Some(&self.0.dram),
            0xe1_3000_4000 => Some(&self.0.hub),
            0xa9_0000_0000 => Some(&self.0.l2),
            _ => None,
        }
    }

    /// Fails an access if `fails` is 1. Panics at any later access, because a failed unit must go out of service before another strand
    /// accesses it.
    fn fails(&self, at: PhysicalAddress) -> Result<(), AccessError> {
        if read(&self.0.fails) == 0 {
            return Ok(());
        }
        let first = self.0.fails.swap(2, Ordering::SeqCst) == 1;
        assert!(first, "an access at {:x} although the unit has failed", at.0);
        Err(AccessError::Fault)
    }
}

impl Bus for Board {
    fn read(&self, _: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        let Some(register) = self.register(at) else {
            return Ok(0);
        };
        if at.0 == 0xe1_3000_4000 {
            self.fails(at)?;
        }
        Ok(read(register))
    }

    fn write(&self, on: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        // The first bank that is written.
        if at.0 == 0xa9_0000_0040 {
            let own = on.index() as u64 + 1;
            let before = self.0.differ.swap(own, Ordering::SeqCst);
            assert!(before == 0 || before == own, "the banks already differ");
            self.0.begun.fetch_add(1, Ordering::SeqCst);
            if read(&self.0.halts[0]) == 1 {
                write(&self.0.halts[0], 2);
                wait_until_nonzero(&self.0.halts[1]);
            }
        }
        if at.0 >> 32 == 0xe1
            && read(&self.0.busy) != 0
            && !self.0.busy.fetch_add(1, Ordering::SeqCst).is_multiple_of(3)
        {
            return Err(AccessError::Busy);
        }
        if let Some(register) = self.register(at) {
            if at.0 != 0x84_0000_0400 {
                self.fails(at)?;
            }
            write(register, value);
        }
        if at.0 == 0xa9_0000_0000 {
            write(&self.0.differ, 0);
        }
        Ok(())
    }
}

impl StrandRegisters for Board {
    fn pcr(&self, strand: StrandId) -> u64 {
        read(&self.0.pcr[strand.index()])
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        write(&self.0.pcr[strand.index()], value);
    }

    fn set_pic(&self, _: StrandId, _: u64) {}

    fn ticks(&self, _: StrandId) -> u64 {
        write(&self.0.begun_then, read(&self.0.begun));
        read(&self.0.time)
    }

    fn cross_call(&self, strand: StrandId) {
        write(&self.0.cross_calls[strand.index()], 1);
    }
}

pub(crate) type Service = PerfCounterService<(Board, Board)>;

pub(crate) struct Modelled {
    hypervisor: Hypervisor<(Service,), NoConsole>,
    pub(crate) devices: Rc<Devices>,
    /// Words for the notes of a test, such as a note that an access has ended.
    pub(crate) noted: [AtomicU64; 4],
}

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

pub(crate) fn guest(number: usize) -> GuestId {
    GuestId::new(number).unwrap()
}

impl Modelled {
    /// Returns a machine with one node and two guests that have negotiated. Guest 0 has the given strands and grant. Guest 1 has strand
    /// [`NEXT`] and no right.
    pub(crate) fn new(model: Model, strands: &[usize], grant: Grant) -> Box<Self> {
        let machine = Machine::new(model, 1).unwrap();
        let devices = Rc::new(Devices {
            dram: word(),
            hub: word(),
            l2: word(),
            pcr: Default::default(),
            cross_calls: Default::default(),
            differ: word(),
            fails: word(),
            begun: word(),
            time: word(),
            begun_then: word(),
            busy: word(),
            halts: Default::default(),
        });
        let board = Board(Rc::clone(&devices));
        let service = PerfCounterService::new((board.clone(), board));
        let of = |strands: &[usize], grant| {
            GuestConfig::new(strands.iter().map(|number| strand(*number)).collect(), grant)
        };
        service.configure(machine, &[of(strands, grant), of(&[NEXT], Grant::NONE)]).unwrap();
        let hypervisor = Hypervisor::new((service,), NoConsole);
        let modelled = Box::new(Self { hypervisor, devices, noted: Default::default() });
        for number in [LOSER, NEXT] {
            assert_eq!(modelled.trap(number, true, 0, [0x205, 1, 1, 0, 0])[0], EOK);
        }
        modelled
    }

    pub(crate) fn service(&self) -> &Service {
        &self.hypervisor.services().0
    }

    fn trap(&self, number: usize, core: bool, function: u64, arguments: [u64; 5]) -> [u64; 2] {
        let of = guest(usize::from(number == NEXT));
        let strand = self.hypervisor.strand(Caller { guest: of, strand: strand(number) }).unwrap();
        let mut registers = Registers::call(function, arguments);
        if core {
            let _ = strand.core_trap(&mut registers);
        } else {
            strand.fast_trap(&mut registers);
        }
        [registers.o0, registers.o1]
    }

    pub(crate) fn set(&self, number: usize, id: u64, value: u64) -> u64 {
        self.trap(number, false, 0x107, [id, value, 0, 0, 0])[0]
    }

    pub(crate) fn get(&self, number: usize, id: u64) -> u64 {
        self.trap(number, false, 0x106, [id, 0, 0, 0, 0])[0]
    }

    /// Reads a register. Returns the value if the call is served.
    pub(crate) fn value(&self, number: usize, id: u64) -> Option<u64> {
        let [status, value] = self.trap(number, false, 0x106, [id, 0, 0, 0, 0]);
        (status == EOK).then_some(value)
    }

    /// Negotiates this version of the group. If `major` is 0, the guest gives up the group.
    pub(crate) fn negotiate(&self, number: usize, major: u64, minor: u64) {
        assert_eq!(self.trap(number, true, 0, [0x205, major, minor, 0, 0])[0], EOK);
    }

    pub(crate) fn reset(&self, on: usize) {
        self.hypervisor.reset_guest(guest(0), strand(on));
    }

    /// Grants the guests these rights. If another strand has the lock, does nothing.
    pub(crate) fn grant(&self, on: usize, grants: [Grant; 2]) {
        let mut all = Grants::none(2).unwrap();
        for (number, grant) in grants.into_iter().enumerate() {
            all.set(guest(number), grant).unwrap();
        }
        let _ = self.service().reconfigure(strand(on), &all);
    }

    pub(crate) fn acknowledge(&self, number: usize) {
        if self.devices.cross_calls[number].swap(0, Ordering::SeqCst) != 0 {
            self.service().cross_called(strand(number));
        }
    }

    /// Serves a cross-call on the strand, even though no strand has sent one.
    pub(crate) fn cross_called(&self, number: usize) {
        self.service().cross_called(strand(number));
    }

    pub(crate) fn died(&self, on: usize, dead: usize) {
        self.service().strand_died(strand(on), strand(dead));
    }

    /// Makes the strands take their cross-calls until no change is pending.
    pub(crate) fn all_acknowledge(&self, strands: &[usize]) {
        for _ in 0..4 {
            strands.iter().for_each(|number| self.acknowledge(*number));
        }
        assert_eq!(self.service().pending(), None, "a change does not end");
    }
}
