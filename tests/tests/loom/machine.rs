//! Hypervisor and service as in an image, on a machine small enough for the model checker. The devices are `loom` cells, so the model
//! checker sees each unordered access.

use std::array;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guest_abi::{Registers, StrandId};
use hv_core::{Caller, Context, Frame, GuestId, Hypervisor, NoConsole};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool as ModelledBool;
use perfctr_service::{ChangeError, Grant, Grants, GuestConfig, PerfCounterService, Right, Unit};
use platform::{AccessError, Bus, Machine, Model, PhysicalAddress, StrandRegisters};

use hv_core::sync::model::{StrandCode, explore, run_concurrently};

pub(crate) const PCR: u64 = 0;
pub(crate) const L2: u64 = 1;
/// The number of NODE0_MCU0_PCR, a DRAM register.
pub(crate) const DRAM: u64 = 2;
/// The number of ZAM0_LPU_A_PCR, a hub register.
pub(crate) const HUB: u64 = 18;

/// The addresses of L2 control (bank 0), NODE0_MCU0_PCR and ZAM0_LPU_A_PCR.
const ADDRESSES: [PhysicalAddress; 3] = [
    PhysicalAddress(0xa9_0000_0000),
    PhysicalAddress(0x84_0000_0400),
    PhysicalAddress(0xe1_3000_4000),
];

pub(crate) use tests::oracle::status::{EBADTRAP, ENOACCESS, ENOTSUPPORTED, EOK, EWOULDBLOCK};

const STRANDS: usize = 4;

/// A device register whose accesses do not order any other accesses. Loom reports an error if two strands access the register, at least one
/// of them writes, and neither access happens before the other.
struct Register {
    value: AtomicU64,
    accesses: UnsafeCell<()>,
}

impl Default for Register {
    fn default() -> Self {
        Self { value: AtomicU64::new(0), accesses: UnsafeCell::new(()) }
    }
}

impl Register {
    fn read(&self) -> u64 {
        self.accesses.with(|_| ());
        self.value.load(Ordering::SeqCst)
    }

    fn write(&self, value: u64) {
        self.accesses.with_mut(|_| ());
        self.value.store(value, Ordering::SeqCst);
    }
}

/// Devices that store each written value unless they are broken.
pub(crate) struct Devices {
    broken: AtomicBool,
    accesses: AtomicU64,
    registers: [Register; ADDRESSES.len()],
    /// Stands for all hub registers. Even two reads must not happen at the same time.
    hubs: UnsafeCell<()>,
    /// The number of the strand that last accessed `registers`, plus 1. A write of 0 does not change this number.
    last: AtomicU64,
    pcr: [Register; STRANDS],
    cross_calls: [ModelledBool; STRANDS],
}

impl Default for Devices {
    fn default() -> Self {
        Self {
            broken: AtomicBool::new(false),
            accesses: AtomicU64::new(0),
            registers: Default::default(),
            hubs: UnsafeCell::new(()),
            last: AtomicU64::new(0),
            pcr: Default::default(),
            cross_calls: array::from_fn(|_| ModelledBool::new(false)),
        }
    }
}

impl Devices {
    /// Returns the strand that last accessed one of the registers, ignoring writes of 0.
    pub(crate) fn last(&self) -> Option<usize> {
        let last = self.last.load(Ordering::SeqCst).checked_sub(1);
        last.map(|last| last as usize)
    }

    pub(crate) fn pcr(&self, strand: usize) -> u64 {
        self.pcr[strand].read()
    }

    fn note(&self, strand: StrandId) {
        self.last.store(strand.index() as u64 + 1, Ordering::SeqCst);
    }

    /// Makes all later accesses fault (`true`) or succeed (`false`).
    pub(crate) fn set_broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    pub(crate) fn accesses(&self) -> u64 {
        self.accesses.load(Ordering::SeqCst)
    }

    /// Begins an access. If the address is in [`ADDRESSES`], returns the register.
    fn access(&self, address: PhysicalAddress) -> Result<Option<&Register>, AccessError> {
        const HUBS: u64 = 0xe0_0000_0000;
        if address.0 >= HUBS {
            self.hubs.with_mut(|_| ());
        }
        self.accesses.fetch_add(1, Ordering::SeqCst);
        if self.broken.load(Ordering::SeqCst) {
            return Err(AccessError::Fault);
        }
        let known = ADDRESSES.iter().position(|known| *known == address);
        Ok(known.map(|known| &self.registers[known]))
    }
}

#[derive(Clone)]
pub(crate) struct Board(Rc<Devices>);

impl Bus for Board {
    fn read(&self, strand: StrandId, at: PhysicalAddress) -> Result<u64, AccessError> {
        let Some(register) = self.0.access(at)? else {
            return Ok(0);
        };
        self.0.note(strand);
        Ok(register.read())
    }

    fn write(&self, strand: StrandId, at: PhysicalAddress, value: u64) -> Result<(), AccessError> {
        if let Some(register) = self.0.access(at)? {
            register.write(value);
            if value != 0 {
                self.0.note(strand);
            }
        }
        Ok(())
    }
}

impl StrandRegisters for Board {
    fn pcr(&self, strand: StrandId) -> u64 {
        self.0.pcr(strand.index())
    }

    fn set_pcr(&self, strand: StrandId, value: u64) {
        self.0.pcr[strand.index()].write(value);
    }

    fn set_pic(&self, _: StrandId, _: u64) {}

    fn ticks(&self, _: StrandId) -> u64 {
        0
    }

    fn cross_call(&self, strand: StrandId) {
        self.0.cross_calls[strand.index()].swap(true, Ordering::SeqCst);
    }
}

type Service = PerfCounterService<(Board, Board)>;

/// A machine with hubs, and a guest that has all rights and has not negotiated. In most models, the guest is alone, on strands 0 to 3. With
/// [two guests](Modelled::two_guests), it is on strand 0, and a guest without rights is on strand 2.
pub(crate) struct Modelled {
    hypervisor: Hypervisor<(Service,), NoConsole>,
    devices: Rc<Devices>,
}

const GUEST: GuestId = GuestId::new(0).unwrap();

/// The second of two guests.
pub(crate) const OTHER: GuestId = GuestId::new(1).unwrap();

fn guest_on(strands: impl IntoIterator<Item = usize>, grant: Grant) -> GuestConfig {
    GuestConfig::new(strands.into_iter().filter_map(StrandId::new).collect(), grant)
}

fn strand_id(strand: usize) -> StrandId {
    StrandId::new(strand).unwrap()
}

/// Creates the service on the heap. Neither this function nor [`Modelled::from_parts`] is inlined, because loom's stacks have 32
/// KiB.
#[inline(never)]
fn service(board: Board, guests: &[GuestConfig]) -> Box<Service> {
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let service = Box::new(PerfCounterService::new((board.clone(), board)));
    service.configure(machine, guests).unwrap();
    service
}

impl Modelled {
    pub(crate) fn new() -> Rc<Self> {
        Self::with(&[guest_on(0..STRANDS, Grant::ALL)])
    }

    /// Returns a machine with two guests: guest 0 on strand 0 with all rights, and guest 1 on strand 2 without rights.
    pub(crate) fn two_guests() -> Rc<Self> {
        Self::with(&[guest_on([0], Grant::ALL), guest_on([2], Grant::NONE)])
    }

    fn with(guests: &[GuestConfig]) -> Rc<Self> {
        let devices = Rc::new(Devices::default());
        let board = Board(Rc::clone(&devices));
        let service = service(board, guests);
        Self::from_parts(service, devices)
    }

    #[inline(never)]
    fn from_parts(service: Box<Service>, devices: Rc<Devices>) -> Rc<Self> {
        Rc::new(Self { hypervisor: Hypervisor::new((*service,), NoConsole), devices })
    }

    pub(crate) fn devices(&self) -> &Devices {
        &self.devices
    }

    pub(crate) fn service(&self) -> &Service {
        &self.hypervisor.services().0
    }

    pub(crate) fn guest(&self) -> GuestId {
        GUEST
    }

    pub(crate) fn reset_guest(&self) {
        self.hypervisor.reset_guest(GUEST, strand_id(1));
    }

    pub(crate) fn acknowledge(&self, strand: usize) {
        if self.devices.cross_calls[strand].swap(false, Ordering::SeqCst) {
            self.service().cross_called(strand_id(strand));
        }
    }

    /// Grants everything to guest `to`, and nothing to the other guest.
    pub(crate) fn give_global(&self, to: GuestId) {
        let mut grants = Grants::none(2).unwrap();
        grants.set(to, Grant::ALL).unwrap();
        self.reconfigure(&grants);
    }

    /// Grants the right to register 0 to the second guest. The first guest keeps its grant.
    pub(crate) fn give_strand_to_other(&self) {
        let mut grants = self.service().grants();
        grants.grant(OTHER, Right::Strand).unwrap();
        self.reconfigure(&grants);
    }

    fn reconfigure(&self, grants: &Grants) {
        // Strand 0 may still be working on an earlier change.
        while let Err(error) = self.service().reconfigure(strand_id(3), grants) {
            assert_eq!(error, ChangeError::Busy);
            loom::thread::yield_now();
        }
    }

    pub(crate) fn return_to_service(&self, unit: Unit) {
        let returned = self.service().return_to_service(strand_id(3), unit);
        assert_eq!(returned, Ok(()));
    }

    /// Makes all strands take their cross-calls. Afterwards, no change is pending.
    pub(crate) fn all_acknowledge(&self) {
        for _ in 0..3 {
            (0..STRANDS).for_each(|strand| self.acknowledge(strand));
        }
        assert_eq!(self.service().pending(), None);
    }

    fn guest_of(&self, strand: usize) -> GuestId {
        let alone = self.service().grants().guests() == 1;
        if alone || strand < 2 { GUEST } else { OTHER }
    }

    fn trap(&self, strand: usize, core: bool, function: u64, arguments: [u64; 5]) -> [u64; 3] {
        let caller = Caller { guest: self.guest_of(strand), strand: strand_id(strand) };
        let mut registers = Registers::call(function, arguments);
        let strand = self.hypervisor.strand(caller).unwrap();
        if core {
            let _ = strand.core_trap(&mut registers);
        } else {
            strand.fast_trap(&mut registers);
        }
        [registers.o0, registers.o1, registers.o2]
    }

    /// Negotiates version 1.`minor` of group 0x205. Returns the status and the minor number.
    pub(crate) fn negotiate(&self, strand: usize, minor: u64) -> (u64, u64) {
        let [status, minor, _] = self.trap(strand, true, 0, [0x205, 1, minor, 0, 0]);
        (status, minor)
    }

    /// Returns the negotiated version's major and minor numbers.
    pub(crate) fn version(&self, strand: usize) -> (u64, u64) {
        let [status, major, minor] = self.trap(strand, true, 3, [0x205, 0, 0, 0, 0]);
        assert_eq!(status, 0);
        (major, minor)
    }

    pub(crate) fn get(&self, strand: usize, id: u64) -> u64 {
        self.trap(strand, false, 0x106, [id, 0, 0, 0, 0])[0]
    }

    /// Reads a register. Returns the value if the call succeeds.
    pub(crate) fn value(&self, strand: usize, id: u64) -> Option<u64> {
        let [status, value, _] = self.trap(strand, false, 0x106, [id, 0, 0, 0, 0]);
        (status == EOK).then_some(value)
    }

    pub(crate) fn set(&self, strand: usize, id: u64, value: u64) -> u64 {
        self.trap(strand, false, 0x107, [id, value, 0, 0, 0])[0]
    }

    /// Returns `true` if a read of a register succeeds on the fast path.
    pub(crate) fn is_fast(&self, strand: usize, id: u64) -> bool {
        let caller = Caller { guest: self.guest_of(strand), strand: strand_id(strand) };
        let strand = self.hypervisor.strand(caller).unwrap();
        let (context,) = strand.contexts();
        let mut registers = Registers::call(0x106, [id, 0, 0, 0, 0]);
        context.fast_path(0x106, &mut Frame::new(&mut registers)) && registers.o0 == EOK
    }

    /// Checks, once all strands are done, that the guest has all registers of the version. After at most one call on the slow path, the
    /// fast path is open, no matter what happened during the negotiation.
    pub(crate) fn check_complete(&self, minor: u64) {
        assert_eq!(self.version(0), (1, minor));
        assert_eq!(self.get(0, DRAM), EOK);
        for strand in 0..2 {
            assert!(self.is_fast(strand, DRAM));
            if minor == 0 {
                assert_eq!(self.get(strand, HUB), ENOTSUPPORTED);
            } else {
                assert!(self.is_fast(strand, HUB));
            }
        }
    }
}

/// Negotiates 1.0 on strand 1.
pub(crate) fn negotiate_1_0(machine: &Modelled) {
    assert_eq!(machine.negotiate(1, 0), (EOK, 0));
}

/// Negotiates 1.1 on strand 1.
pub(crate) fn negotiate_1_1(machine: &Modelled) {
    assert_eq!(machine.negotiate(1, 1), (EOK, 1));
}

/// Explores two concurrent parts, starting them in both orders. The model checker remembers only the last access to each word, so there are
/// orders of steps that it finds from only one of the two starts.
pub(crate) fn explore_two(
    preemptions: usize,
    parts: [StrandCode<Modelled>; 2],
    before: fn(&Modelled),
    after: fn(&Modelled),
) {
    let [first, second] = parts;
    for parts in [[first, second], [second, first]] {
        explore(preemptions, 20, move || {
            let machine = Modelled::new();
            before(&machine);
            run_concurrently(&machine, parts);
            after(&machine);
        });
    }
}
