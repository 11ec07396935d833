//! Makes the reference model and the machine under test take the same steps. After every call, everything that a guest or the hardware can
//! see must be equal.

use std::collections::{BTreeMap, HashMap};

use conform::translated::{all_units, grant, node_of, unit};
use guest_abi::trap::PerfFunction;
use perfctr_service::UnitState;
use perfctr_service::statistics::{self, Class, Operation, Refusal};

use crate::board::Board;
use crate::machine::{MachineUnderTest, guest_id};
use crate::oracle::status::{EBADTRAP, EINVAL, ENOACCESS, ENOTSUPPORTED, EOK, EWOULDBLOCK};
use crate::oracle::{
    Access, Answer, Cell, Console, Fault, Grant, HubCondition, Outcome, Target, Trap, Unit, World,
};

/// The reference model, the machine under test, and counts of the compared calls.
pub struct Comparison<'a> {
    pub world: World,
    pub machine: MachineUnderTest<'a>,
    pub cases: u64,
    /// The number of calls to group 0x205, by guest, function, register class and the model's answer.
    pub answered: HashMap<(usize, Operation, Class, statistics::Outcome), u64>,
}

/// Returns a board with a new world's nodes and channels. Every register is 0.
pub fn board(world: &World) -> Board {
    let channels: Vec<_> = world.disabled_channels.iter().copied().collect();
    Board::new(world.machine, world.nodes, &channels)
}

impl<'a> Comparison<'a> {
    /// Compares a new reference model with a new machine under test.
    pub fn new(world: World, board: &'a Board) -> Self {
        let machine = MachineUnderTest::new(board, &world.guests);
        Self { world, machine, cases: 0, answered: HashMap::new() }
    }

    /// Makes a call on the model and on the machine under test, and compares the results. Returns the model's outcome.
    pub fn call(&mut self, strand: u16, trap: Trap, registers: [u64; 6]) -> Outcome {
        let expected = self.world.call(strand, trap, registers);
        let (regs, exited) = self.machine.trap(strand, trap, registers);
        let log = self.machine.board().take_log();
        let World { machine, nodes, guests, .. } = &self.world;
        let told = format_args!(
            "{trap:?} {registers:#x?} by {strand} on {machine:?}, {nodes}, {guests:?}"
        );
        let own = log.iter().all(|(who, _)| who.index() == usize::from(strand));
        assert!(own, "an access by another strand: {log:?}, {told}");
        assert_eq!((regs, exited), (expected.regs, expected.exited), "{told}");
        let accesses: Vec<Access> = log.into_iter().map(|(_, access)| access).collect();
        if is_l2(&expected.accesses) {
            if expected.accesses.iter().any(|a| a.answer == Answer::Fault) {
                // The contract defines the registers after the call, but not how many banks were written before a failed call was undone.
                self.check_state();
            } else {
                let observed = Outcome { accesses, ..expected.clone() };
                assert_eq!(observed.by_target(), expected.by_target(), "{told}");
            }
        } else {
            assert_eq!(accesses, expected.accesses, "{told}");
        }
        if trap == Trap::Core {
            let sent = self.machine.take_console().into_iter();
            let console: Vec<Console> = sent.map(|(_, sent)| sent).collect();
            assert_eq!(console, Vec::from_iter(expected.console), "{told}");
        }
        self.cases += 1;
        self.count(strand, trap, registers, expected.regs[0]);
        expected
    }

    /// Counts a call to group 0x205 by the status that the reference model returned.
    fn count(&mut self, strand: u16, trap: Trap, [id, .., function]: [u64; 6], status: u64) {
        let operation = match PerfFunction::from_number(function) {
            _ if trap != Trap::Fast => return,
            Some(PerfFunction::VfallsGet) => Operation::Get,
            Some(PerfFunction::VfallsSet) => Operation::Set,
            None => return,
        };
        let class = match id {
            0 => Class::Strand,
            1 => Class::L2,
            2..=17 => Class::Dram,
            18..=89 => Class::Hub,
            _ => Class::Invalid,
        };
        use statistics::Outcome::{Ok, Refused};
        let outcome = match status {
            EOK => Ok,
            EBADTRAP => Refused(Refusal::BadTrap),
            EINVAL => Refused(Refusal::Invalid),
            ENOTSUPPORTED => Refused(Refusal::NotSupported),
            ENOACCESS => Refused(Refusal::NoAccess),
            EWOULDBLOCK => Refused(Refusal::WouldBlock),
            other => panic!("the contract has no status {other}"),
        };
        let key = (self.world.guest_of(strand), operation, class, outcome);
        *self.answered.entry(key).or_default() += 1;
    }

    /// Reads a register. The registers that are not arguments hold different values.
    pub fn get(&mut self, strand: u16, id: u64) -> Outcome {
        let [o1, o2, o3, o4] = [0x1111_0bad, 0x2222_0bad, 0x3333_0bad, 0x4444_0bad];
        self.call(strand, Trap::Fast, [id, o1, o2, o3, o4, 0x106])
    }

    pub fn set(&mut self, strand: u16, id: u64, value: u64) -> Outcome {
        let registers = [id, value, 0x2222_0bad, 0x3333_0bad, 0x4444_0bad, 0x107];
        self.call(strand, Trap::Fast, registers)
    }

    /// Negotiates version `major.minor` of group 0x205.
    pub fn negotiate(&mut self, strand: u16, major: u64, minor: u64) {
        let registers = [0x205, major, minor, 0x3333_0bad, 0x4444_0bad, 0];
        self.call(strand, Trap::Core, registers);
    }

    /// Resets a guest, and makes every strand acknowledge.
    pub fn reset_guest(&mut self, guest: usize) {
        self.begin_reset(guest);
        self.all_acknowledge();
    }

    /// Resets a guest. Its strands do not acknowledge yet.
    pub fn begin_reset(&mut self, guest: usize) {
        self.world.reset_guest(guest);
        self.machine.begin_reset(guest);
        self.catch_up();
    }

    /// Gives each guest its grant, or asserts that both the model and the machine reject the list. No strand acknowledges yet.
    pub fn reconfigure(&mut self, grants: &[Grant]) {
        let expected = self.world.reconfigure(grants);
        let observed = self.machine.reconfigure(grants);
        let both = (expected.is_ok(), observed.is_ok());
        assert_eq!(both.0, both.1, "{expected:?}, {observed:?}");
        self.catch_up();
    }

    /// Makes a strand take its pending cross-call, if any, between two of its calls.
    pub fn acknowledge(&mut self, strand: u16) {
        self.world.cross_called(strand);
        self.machine.acknowledge(strand);
        self.catch_up();
    }

    /// Makes every awaited strand acknowledge.
    pub fn all_acknowledge(&mut self) {
        while let Some((&strand, _)) = self.world.transfer.awaited.first_key_value() {
            self.acknowledge(strand);
        }
    }

    /// Reports a strand that has died between two of its calls.
    pub fn strand_died(&mut self, strand: u16) {
        self.world.strand_died(strand);
        self.machine
            .service()
            .strand_died(crate::machine::strand(0), crate::machine::strand(strand));
        self.catch_up();
    }

    /// Returns a unit to service, on a strand of node `node`.
    pub fn return_to_service(&mut self, node: usize, one: Unit) {
        let expected = self.world.return_to_service(node, one);
        let observed = self.machine.return_to_service(64 * node as u16, unit(one));
        assert_eq!(observed.is_ok(), expected, "{one:?}: {observed:?}");
        self.catch_up();
    }

    /// Makes strands take the cross-calls that the model does not wait for, because the service may wait for more strands than the model.
    fn catch_up(&mut self) {
        let transfer = &self.world.transfer;
        for _ in 0..10_000 {
            let more = self.machine.board().cross_calls();
            let mut more = more.iter().filter(|strand| {
                !transfer.awaited.contains_key(strand) && !transfer.dead.contains_key(strand)
            });
            let Some(next) = more.next() else {
                // Accesses during cross-calls are not compared, but the state after the cross-calls is.
                self.machine.board().take_log();
                return;
            };
            self.machine.acknowledge(*next);
        }
        panic!("cross-calls without end");
    }

    pub fn set_hub(&mut self, hub: usize, condition: HubCondition) {
        self.world.hubs[hub] = condition;
        self.machine.board().set_hub(hub, condition);
    }

    pub fn break_cell(&mut self, cell: Cell, fault: Fault) {
        self.world.faults.insert(cell, fault);
        self.machine.board().break_cell(cell, fault);
    }

    /// Returns whether a cell can break now. Only one bank of an L2 breaks at a time: with two broken banks, a write could fail at one and
    /// be impossible to undo at the other. The result would then depend on the order of accesses, which the contract leaves open.
    pub fn can_break(&self, cell: Cell) -> bool {
        let unit = cell.unit();
        let is_broken = || self.world.faults.keys().any(|cell| cell.unit() == unit);
        self.world.has_unit(unit) && !(matches!(unit, Unit::L2 { .. }) && is_broken())
    }

    /// Writes a strand's PIC in the model and on the machine, as the strand itself could.
    pub fn put_pic(&mut self, strand: u16, value: u64) {
        self.world.pic.insert(strand, value);
        self.machine.board().put_pic(strand, value);
    }

    pub fn repair(&mut self) {
        self.world.faults.clear();
        self.world.hubs = Default::default();
        self.machine.board().repair();
    }

    /// Repairs all hardware, and returns every unit to service.
    pub fn repair_all(&mut self) {
        self.repair();
        for out in self.world.out_of_service.clone() {
            self.return_to_service(node_of(out), out);
        }
    }

    /// Stores a value in a cell of both the model and the machine, as hardware does when it changes a register.
    pub fn put(&mut self, cell: Cell, value: u64) {
        self.world.devices.insert(cell, value);
        self.machine.board().put(cell, value);
    }

    /// Compares the contents of all registers, the state of all units, and the rights that the guests hold.
    pub fn check_state(&self) {
        let Self { world, machine, .. } = self;
        let clean = |cells: &BTreeMap<Cell, u64>| {
            let mut cells = cells.clone();
            // If a unit fails, the contract does not say how far its scrub gets.
            cells.retain(|cell, _| !world.transfer.unclean.contains(&cell.unit()));
            not_zero(&cells)
        };
        assert_eq!(clean(&machine.board().cells()), clean(&world.devices));
        assert_eq!(not_zero(&machine.board().pcrs()), not_zero(&world.pcr));
        assert_eq!(not_zero(&machine.board().pics()), not_zero(&world.pic));
        for one in all_units() {
            let state = machine.service().unit(unit(one));
            let expected = UnitState {
                in_service: !world.out_of_service.contains(&one),
                clean: !world.transfer.unclean.contains(&one),
                faults: world.fault_counts.get(&one).copied().unwrap_or(0),
                stuck: 0,
            };
            assert_eq!(state, expected, "{one:?}");
        }
        for (number, guest) in world.guests.iter().enumerate() {
            let held = machine.service().held(guest_id(number));
            assert_eq!(held, grant(guest.grant), "guest {number}");
        }
        let awaited =
            (world.is_pending()).then(|| world.transfer.awaited.keys().copied().collect());
        assert_eq!(machine.awaited(), awaited);
    }
}

/// Removes zeros, because a register that was never written has no entry.
fn not_zero<K: Copy + Ord>(map: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let entries = map.iter().filter(|(_, value)| **value != 0);
    entries.map(|(key, value)| (*key, *value)).collect()
}

fn is_l2(accesses: &[Access]) -> bool {
    accesses.first().is_some_and(
        |access| matches!(access.target, Target::Address(address) if address >> 32 == 0xa9),
    )
}
