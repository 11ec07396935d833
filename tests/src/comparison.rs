//! The reference model and the machine under test side by side: what is done to one is done to the other, and after
//! every call everything that a guest or the hardware can see must be equal.

use std::collections::BTreeMap;

use guest_abi::{Hub, Mcu, Node};

use crate::board::Board;
use crate::machine::MachineUnderTest;
use crate::oracle::{
    Access, Answer, Cell, Fault, HubCondition, Outcome, Target, Trap, Unit, World,
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

    /// Resets a guest.
    pub fn reset_guest(&mut self, guest: usize) {
        self.world.reset_guest(guest);
        self.machine.reset_guest(guest);
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

    /// Mends all hardware, and returns to service what was out of it.
    pub fn mend(&mut self) {
        self.world.faults.clear();
        self.world.hubs = Default::default();
        self.machine.board().mend();
        for out in std::mem::take(&mut self.world.out_of_service) {
            self.machine.service().return_to_service(unit(out));
        }
    }

    /// Puts a value into a cell on both sides, as hardware does.
    pub fn put(&mut self, cell: Cell, value: u64) {
        self.world.devices.insert(cell, value);
        self.machine.board().put(cell, value);
    }

    /// Compares what all registers hold, and which units are out of service.
    ///
    /// # Panics
    /// At any difference.
    pub fn check_state(&self) {
        let observed = self.machine.board().cells();
        assert_eq!(not_zero(&observed), not_zero(&self.world.devices));
        let observed = self.machine.board().pcrs();
        assert_eq!(not_zero(&observed), not_zero(&self.world.pcr));
        for one in all_units() {
            assert_eq!(
                self.machine.service().is_out_of_service(unit(one)),
                self.world.out_of_service.contains(&one),
                "{one:?}"
            );
        }
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
