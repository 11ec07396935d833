//! The reference model and the machine under test side by side: what is done to one is done to the other, and after
//! every call everything that a guest or the hardware can see must be equal.

use std::collections::BTreeMap;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::UnitState;

use crate::board::Board;
use crate::machine::{MachineUnderTest, grant, guest_id};
use crate::oracle::{
    Access, Answer, Cell, Fault, Grant, HubCondition, Outcome, Target, Trap, Unit, World,
};

/// Both sides, and how many calls have been compared.
pub struct Comparison<'a> {
    /// The reference model.
    pub world: World,
    /// The machine under test.
    pub machine: MachineUnderTest<'a>,
    /// Calls compared so far.
    pub cases: u64,
}

/// A unit as the service knows it.
pub fn unit(unit: Unit) -> perfctr_service::Unit {
    match unit {
        Unit::L2 { node } => perfctr_service::Unit::L2(Node::ALL[node]),
        Unit::Mcu { node, mcu } => perfctr_service::Unit::Mcu(Node::ALL[node], Mcu::ALL[mcu]),
        Unit::Hub(hub) => perfctr_service::Unit::Hub(Hub::ALL[hub]),
    }
}

/// Every unit that the largest machine has.
pub fn all_units() -> impl Iterator<Item = Unit> {
    let nodes = (0..4).map(|node| Unit::L2 { node });
    let channels = (0..8).map(|number| Unit::Mcu {
        node: number / 2,
        mcu: number % 2,
    });
    nodes.chain(channels).chain((0..4).map(Unit::Hub))
}

/// A board for a world. They must start alike.
pub fn board(world: &World) -> Board {
    Board::new(world.machine, world.nodes, &channels(world))
}

fn channels(world: &World) -> Vec<(usize, usize)> {
    world.disabled_channels.iter().copied().collect()
}

impl<'a> Comparison<'a> {
    /// A world and a board that have just been switched on.
    pub fn new(world: World, board: &'a Board) -> Self {
        let machine = MachineUnderTest::new(board, &channels(&world), &world.guests);
        Self {
            world,
            machine,
            cases: 0,
        }
    }

    /// Makes a call on both sides and compares what came of it; returns the model's outcome.
    ///
    /// # Panics
    /// At any difference in registers, exit, console or accesses.
    pub fn call(&mut self, strand: u16, trap: Trap, registers: [u64; 6]) -> Outcome {
        let expected = self.world.call(strand, trap, registers);
        let (regs, exited) = self.machine.trap(strand, trap, registers);
        let log = self.machine.board().take_log();
        let told = || {
            format!(
                "call {:#x?} of {trap:?} by strand {strand} of {:?}, {} nodes, guests {:?}",
                registers, self.world.machine, self.world.nodes, self.world.guests
            )
        };
        assert_eq!(
            (regs, exited),
            (expected.regs, expected.exited),
            "{}",
            told()
        );
        assert!(
            log.iter()
                .all(|(who, _)| who.index() == usize::from(strand)),
            "an access by another strand: {log:?}, {}",
            told()
        );
        let accesses: Vec<Access> = log.into_iter().map(|(_, access)| access).collect();
        if is_l2(&expected.accesses) {
            if expected.accesses.iter().any(|a| a.answer == Answer::Fault) {
                // How far an interrupted set gets before it is undone is not fixed, only what it leaves.
                self.check_state();
            } else {
                let observed = Outcome {
                    accesses,
                    ..expected.clone()
                };
                assert_eq!(observed.by_target(), expected.by_target(), "{}", told());
            }
        } else {
            assert_eq!(accesses, expected.accesses, "{}", told());
        }
        if trap == Trap::Core {
            let console: Vec<u8> = (self.machine.take_console().iter())
                .map(|(_, byte)| *byte)
                .collect();
            let expected: Vec<u8> = expected.console.into_iter().collect();
            assert_eq!(console, expected, "{}", told());
        }
        self.cases += 1;
        expected
    }

    /// Reads a register, with distinct values in all registers that have no business here.
    pub fn get(&mut self, strand: u16, id: u64) -> Outcome {
        let registers = [
            id,
            0x1111_0bad,
            0x2222_0bad,
            0x3333_0bad,
            0x4444_0bad,
            0x106,
        ];
        self.call(strand, Trap::Fast, registers)
    }

    /// Writes a register.
    pub fn set(&mut self, strand: u16, id: u64, value: u64) -> Outcome {
        let registers = [id, value, 0x2222_0bad, 0x3333_0bad, 0x4444_0bad, 0x107];
        self.call(strand, Trap::Fast, registers)
    }

    /// Negotiates version `major.minor` of group 0x205.
    pub fn negotiate(&mut self, strand: u16, major: u64, minor: u64) {
        let registers = [0x205, major, minor, 0x3333_0bad, 0x4444_0bad, 0];
        self.call(strand, Trap::Core, registers);
    }

    /// Resets a guest, and lets every strand answer.
    pub fn reset_guest(&mut self, guest: usize) {
        self.begin_reset(guest);
        self.all_answer();
    }

    /// Resets a guest. Its strands have still to answer.
    pub fn begin_reset(&mut self, guest: usize) {
        self.world.reset_guest(guest);
        self.machine.begin_reset(guest);
        self.catch_up();
    }

    /// Grants the guests this. Strands have still to answer.
    ///
    /// # Panics
    /// If only one side rejects it.
    pub fn reconfigure(&mut self, grants: &[Grant]) {
        let expected = self.world.reconfigure(grants);
        let observed = self.machine.reconfigure(grants);
        assert_eq!(
            observed.is_ok(),
            expected.is_ok(),
            "{expected:?}, {observed:?}"
        );
        self.catch_up();
    }

    /// A strand is between two calls, and takes its cross-call if there is one.
    pub fn answer(&mut self, strand: u16) {
        self.world.cross_called(strand);
        self.machine.answer(strand);
        self.catch_up();
    }

    /// Every strand that can answers.
    pub fn all_answer(&mut self) {
        while let Some((&strand, _)) = self.world.changes.awaited.first_key_value() {
            self.answer(strand);
        }
    }

    /// A strand dies between two calls.
    pub fn strand_died(&mut self, strand: u16) {
        self.world.strand_died(strand);
        self.machine
            .service()
            .strand_died(crate::machine::strand(0), crate::machine::strand(strand));
        self.catch_up();
    }

    /// A strand of `node` returns a unit to service.
    ///
    /// # Panics
    /// If it succeeds on one side only.
    pub fn return_to_service(&mut self, node: usize, one: Unit) {
        let expected = self.world.return_to_service(node, one);
        let on = crate::machine::strand(64 * node as u16);
        let observed = self.machine.service().return_to_service(on, unit(one));
        assert_eq!(observed.is_ok(), expected, "{one:?}: {observed:?}");
        self.catch_up();
    }

    /// The service may need more cross-calls than the model knows of: strands that are not awaited there take theirs.
    fn catch_up(&mut self) {
        let changes = &self.world.changes;
        for _ in 0..10_000 {
            let more = self.machine.board().cross_calls();
            let mut more = more.iter().filter(|strand| {
                !changes.awaited.contains_key(strand) && !changes.dead.contains_key(strand)
            });
            let Some(next) = more.next() else {
                // What strands do in cross-calls is seen in what it leaves.
                self.machine.board().take_log();
                return;
            };
            self.machine.answer(*next);
        }
        panic!("cross-calls without end");
    }

    /// Sets how a hub answers.
    pub fn set_hub(&mut self, hub: usize, condition: HubCondition) {
        self.world.hubs[hub] = condition;
        self.machine.board().set_hub(hub, condition);
    }

    /// Breaks a cell.
    pub fn break_cell(&mut self, cell: Cell, fault: Fault) {
        self.world.faults.insert(cell, fault);
        self.machine.board().break_cell(cell, fault);
    }

    /// Mends all hardware.
    pub fn mend_hardware(&mut self) {
        self.world.faults.clear();
        self.world.hubs = Default::default();
        self.machine.board().mend();
    }

    /// Mends all hardware, and returns to service what was out of it.
    pub fn mend(&mut self) {
        self.mend_hardware();
        for out in self.world.out_of_service.clone() {
            self.return_to_service(node_of(out), out);
        }
    }

    /// Puts a value into a cell on both sides, as hardware does.
    pub fn put(&mut self, cell: Cell, value: u64) {
        self.world.devices.insert(cell, value);
        self.machine.board().put(cell, value);
    }

    /// Compares what all registers hold, what is known of all units, and who holds what.
    ///
    /// # Panics
    /// At any difference.
    pub fn check_state(&self) {
        let Self { world, machine, .. } = self;
        let clean = |cells: &BTreeMap<Cell, u64>| {
            let mut cells = cells.clone();
            // How far the clearing of a unit gets that fails is not fixed.
            cells.retain(|cell, _| !world.changes.unclean.contains(&Unit::of(*cell)));
            not_zero(&cells)
        };
        assert_eq!(clean(&machine.board().cells()), clean(&world.devices));
        assert_eq!(not_zero(&machine.board().pcrs()), not_zero(&world.pcr));
        assert_eq!(not_zero(&machine.board().pics()), not_zero(&world.pic));
        for one in all_units() {
            let state = machine.service().unit(unit(one));
            let expected = UnitState {
                in_service: !world.out_of_service.contains(&one),
                clean: !world.changes.unclean.contains(&one),
                faults: world.fault_counts.get(&one).copied().unwrap_or(0),
                stuck: 0,
            };
            assert_eq!(state, expected, "{one:?}");
        }
        for (number, guest) in world.guests.iter().enumerate() {
            let held = machine.service().held(guest_id(number));
            assert_eq!(held, grant(guest.grant), "guest {number}");
        }
        let awaited = (world.is_pending()).then(|| world.changes.awaited.keys().copied().collect());
        assert_eq!(machine.awaited(), awaited);
    }
}

/// What a register holds that was never written is 0.
fn not_zero<K: Copy + Ord>(map: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let entries = map.iter().filter(|(_, value)| **value != 0);
    entries.map(|(key, value)| (*key, *value)).collect()
}

fn is_l2(accesses: &[Access]) -> bool {
    accesses.first().is_some_and(
        |access| matches!(access.target, Target::Address(address) if address >> 32 == 0xa9),
    )
}

/// The node of a strand that can return a unit to service.
pub fn node_of(unit: Unit) -> usize {
    match unit {
        Unit::L2 { node } => node,
        Unit::Mcu { .. } | Unit::Hub(_) => 0,
    }
}
