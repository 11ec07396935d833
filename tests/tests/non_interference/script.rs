//! Generates random scripts for the runs.

use tests::oracle::negotiation::Versions;
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine, Trap, World};
use tests::random::Random;

use super::{A, B};

/// A machine, and the steps that all runs share.
pub(crate) struct Script {
    pub(crate) world: World,
    pub(crate) steps: Vec<Step>,
}

pub(crate) enum Step {
    /// A strand of A makes a call.
    Call(u16, Trap, [u64; 6]),
    /// A strand of A writes its own PCR or PIC.
    Pcr(u16, u64),
    Pic(u16, u64),
    Reset,
    /// The operator gives A and B these grants.
    Grants([Grant; 2]),
    /// This strand takes its cross-call.
    Acknowledge(u16),
    AllAcknowledge,
    /// The clocks of all strands advance by this number of ticks.
    Time(u64),
    Break(Cell, Fault),
    Hub(usize, HubCondition),
    /// All devices are repaired and return to service.
    Mend,
}

pub(crate) fn is_valid([a, b]: [Grant; 2]) -> bool {
    !(a.global && b.global)
}

pub(crate) fn random_script(random: &mut Random, grants: [Grant; 2], length: usize) -> Script {
    let world = random_world(random, grants);
    let mut steps = Vec::new();
    let own = world.guests[A].strands.clone();
    let all: Vec<u16> = [&own[..], &world.guests[B].strands].concat();
    let negotiate = |minor| Step::Call(own[0], Trap::Core, [0x205, 1, minor, 0, 0, 0]);
    steps.push(negotiate(1));
    for _ in 0..length {
        let strand = random.one_of(&own);
        let step = match random.below(64) {
            0 => negotiate(random.one_of(&[0, 1, 1, 1])),
            1 => Step::Pcr(strand, random.next_u64()),
            2 => Step::Pic(strand, random.next_u64()),
            3 => {
                steps.push(Step::Reset);
                if random.below(4) != 0 {
                    steps.push(Step::AllAcknowledge);
                }
                negotiate(1)
            }
            4 | 5 => {
                let two = [A, B].map(|_| random.one_of(&Grant::ALL));
                if !is_valid(two) {
                    continue;
                }
                Step::Grants(two)
            }
            6..=11 => Step::Acknowledge(random.one_of(&all)),
            12 | 13 => Step::AllAcknowledge,
            14 => Step::Time(1 << (24 + random.below(8))),
            15 => {
                let cell = Cell::Register(2 + random.below(88) as u64);
                if !world.has_unit(cell.unit()) {
                    continue;
                }
                Step::Break(cell, Fault::Always)
            }
            16 => {
                let (node, bank) = (random.below(world.nodes), random.below(8));
                let fault = random.one_of(&[Fault::Always, Fault::WritesAfter(0)]);
                Step::Break(Cell::L2 { node, bank }, fault)
            }
            17..=20 if !world.machine.hubs().is_empty() => {
                let (busy, faulted) = (HubCondition::Busy, HubCondition::Faulted);
                Step::Hub(
                    random.one_of(world.machine.hubs()),
                    random.one_of(&[busy, busy, faulted]),
                )
            }
            // A's strands delay each other: they are refused while the hub is busy, and later while another strand has the turn.
            26 if !world.machine.hubs().is_empty() => {
                let hub = random.one_of(world.machine.hubs());
                for condition in [HubCondition::Busy, HubCondition::Free] {
                    steps.push(Step::Hub(hub, condition));
                    for _ in 0..8 {
                        let id = (18 + 18 * hub + random.below(18)) as u64;
                        let get = [id, 0x0bad, 2, 3, 4, 0x106];
                        steps.push(Step::Call(random.one_of(&own), Trap::Fast, get));
                    }
                }
                continue;
            }
            21..=25 => Step::Mend,
            _ => {
                let (trap, registers) = random_call(random);
                Step::Call(strand, trap, registers)
            }
        };
        steps.push(step);
    }
    Script { world, steps }
}

pub(crate) fn random_call(random: &mut Random) -> (Trap, [u64; 6]) {
    let mut registers = [0; 6].map(|_| random.next_u64());
    let any = random.below(256) as u64;
    let (dram, hub) = (2 + any % 16, 18 + any % 72);
    registers[0] = random.one_of(&[0, 1, dram, dram, hub, hub]);
    registers[1] = random.one_of(&[registers[1], any, any % 16, 0, u64::MAX]);
    registers[5] = random.one_of(&[0x106, 0x107, 0x107]);
    let trap = match random.below(16) {
        0 => {
            registers[0] = 0x205;
            registers[1] = random.one_of(&[0, 1, 1, 1, 1, 1, 2]);
            registers[5] = random.one_of(&[0, 3, 3]);
            Trap::Core
        }
        1 => {
            (registers[0], registers[5]) = (any, random.one_of(&[1, 2, any]));
            random.one_of(&[Trap::Core, Trap::Fast])
        }
        2 => {
            registers[0] = random.one_of(&[any, registers[2]]);
            Trap::Fast
        }
        _ => Trap::Fast,
    };
    (trap, registers)
}

/// Returns a machine on whose nodes both guests have strands.
fn random_world(random: &mut Random, grants: [Grant; 2]) -> World {
    let machine = random.one_of(&[Machine::Maramba, Machine::Batoka, Machine::Batoka]);
    let nodes = 1 + random.below(machine.most_nodes());
    let mut free: Vec<u16> = (0..64 * nodes as u16).collect();
    let guests = grants.map(|grant| {
        let strands: Vec<u16> =
            (0..1 + random.below(5)).map(|_| free.swap_remove(random.below(free.len()))).collect();
        let (compat, versions) = (random.below(3) == 0, Versions::default());
        Guest { strands, grant, granted: grant, compat, versions }
    });
    let disabled: Vec<(usize, usize)> =
        (0..random.below(2)).map(|_| (random.below(nodes), random.below(2))).collect();
    World::new(machine, nodes, &disabled, guests.to_vec()).unwrap()
}
