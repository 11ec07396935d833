//! Devices that fault, against the reference model: every register of every unit, what is left, and who sees it.

use tests::comparison::{Comparison, all_units, board};
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine, Unit, World};

/// A guest with the grant on the first strand of every node, a neighbour without rights, and contents everywhere.
fn world(machine: Machine, nodes: usize, grant: Grant, compat: bool) -> World {
    let strands = (0..nodes as u16).map(|node| 64 * node);
    let guests = vec![
        Guest {
            compat,
            ..Guest::new(strands, grant)
        },
        Guest::new([5], Grant::NONE),
    ];
    World::new(machine, nodes, &[], guests).unwrap()
}

fn fill(comparison: &mut Comparison) {
    let cells = all_units()
        .filter(|unit| comparison.world.has_unit(*unit))
        .flat_map(Unit::cells);
    for (number, cell) in cells.collect::<Vec<_>>().into_iter().enumerate() {
        comparison.put(cell, 0x1f_e123_0000 + number as u64);
    }
}

fn start(comparison: &mut Comparison, minor: u64) {
    for guest in 0..2 {
        comparison.reset_guest(guest);
        comparison.negotiate(comparison.world.guests[guest].strands[0], 1, minor);
    }
}

/// Every register once, from every strand of both guests.
fn look(comparison: &mut Comparison) {
    let strands: Vec<u16> = (comparison.world.guests.iter())
        .flat_map(|guest| guest.strands.clone())
        .collect();
    for strand in strands {
        for id in 0..91 {
            comparison.get(strand, id);
        }
    }
    comparison.check_state();
}

const WORLDS: [(Machine, usize); 4] = [
    (Machine::Maramba, 1),
    (Machine::Maramba, 2),
    (Machine::Batoka, 1),
    (Machine::Batoka, 4),
];

#[test]
fn every_register_on_a_broken_unit() {
    let mut cases = 0;
    for (machine, nodes) in WORLDS {
        for grant in [Grant::NONE, Grant::HTSTRAND, Grant::GLOBAL] {
            for minor in [0, 1] {
                let world = world(machine, nodes, grant, minor == 0);
                let board = board(&world);
                let mut comparison = Comparison::new(world, &board);
                start(&mut comparison, minor);
                let strands = comparison.world.guests[0].strands.clone();
                for id in 1..90 {
                    for (write, strand) in [(false, 0), (true, strands[strands.len() - 1])] {
                        fill(&mut comparison);
                        let broken = match id {
                            1 => Unit::L2 {
                                node: World::node_of(strand),
                            },
                            _ => Unit::of(Cell::Register(id)),
                        };
                        if let Unit::Hub(hub) = broken {
                            comparison.set_hub(hub, HubCondition::Faulted);
                        } else {
                            for cell in broken.cells() {
                                comparison.break_cell(cell, Fault::Always);
                            }
                        }
                        if write {
                            comparison.set(strand, id, 0x1);
                        } else {
                            comparison.get(strand, id);
                        }
                        // The hardware is well again, but the unit stays out of service; the others work on.
                        comparison.world.faults.clear();
                        comparison.world.hubs = Default::default();
                        comparison.machine.board().mend();
                        for other in [1, 2, 3, 6, 8, id, 18, 35, 36, 89] {
                            comparison.get(strands[0], other);
                            comparison.set(strand, other, 2);
                            comparison.get(5, other);
                        }
                        comparison.check_state();
                        comparison.mend();
                    }
                }
                cases += comparison.cases;
            }
        }
    }
    tests::tell(format_args!(
        "every_register_on_a_broken_unit: {cases} cases"
    ));
    assert!(cases >= 100_000);
}

/// A guest that is reset while a hub is out of service sees none of the hubs until it is reset again.
#[test]
fn hubs_are_all_or_nothing_from_reset_to_reset() {
    for (minor, compat) in [(0, true), (1, false)] {
        for broken in 0..4 {
            let world = world(Machine::Batoka, 2, Grant::GLOBAL, compat);
            let board = board(&world);
            let mut comparison = Comparison::new(world, &board);
            start(&mut comparison, minor);
            comparison.set_hub(broken, HubCondition::Faulted);
            comparison.set(0, 20 + 18 * broken as u64, 7);
            look(&mut comparison);
            start(&mut comparison, minor);
            look(&mut comparison);
            comparison.negotiate(64, 1, 1);
            look(&mut comparison);
            comparison.mend();
            look(&mut comparison);
            start(&mut comparison, minor);
            look(&mut comparison);
            assert_eq!(comparison.get(0, 89).regs[0], 0);
        }
    }
}

/// A unit returns to service while another is out: that one stays out.
#[test]
fn units_return_one_by_one() {
    let world = world(Machine::Batoka, 4, Grant::GLOBAL_HTSTRAND, false);
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    start(&mut comparison, 1);
    for unit in all_units() {
        for cell in unit.cells() {
            comparison.break_cell(cell, Fault::Always);
        }
    }
    look(&mut comparison);
    comparison.world.faults.clear();
    comparison.machine.board().mend();
    for unit in all_units() {
        comparison.world.out_of_service.remove(&unit);
        let mended = tests::comparison::unit(unit);
        comparison.machine.service().return_to_service(mended);
        look(&mut comparison);
    }
    assert!(comparison.world.out_of_service.is_empty());
}

/// Contents of the eight L2 control registers of node 1: PERF_CONFIG 2, and other bits that differ from bank to bank.
const BANKS: [u64; 8] = [
    0x20_0000_0000,
    0x20_0000_0001,
    0x21_fe00_0002,
    0x20_001f_8003,
    0xffff_ffef_ffff_ffff,
    0x20_0000_7ff8,
    0x8000_0020_0000_0006,
    0x20_0000_0007,
];

/// A set of PERF_CONFIG that fails at bank k leaves every bank as it was, whichever bank it is.
#[test]
fn an_l2_set_that_faults_at_any_bank_restores_the_others() {
    for fault in [Fault::Always, Fault::WritesAfter(0)] {
        for broken in 0..8 {
            for value in 0..4 {
                let world = world(Machine::Batoka, 2, Grant::GLOBAL, false);
                let board = board(&world);
                let mut comparison = Comparison::new(world, &board);
                start(&mut comparison, 1);
                for (bank, value) in BANKS.into_iter().enumerate() {
                    comparison.put(Cell::L2 { node: 1, bank }, value);
                }
                let cell = Cell::L2 {
                    node: 1,
                    bank: broken,
                };
                comparison.break_cell(cell, fault);
                let out = comparison.set(64, 1, value);
                assert_eq!(out.regs[..2], [13, value]);
                for (bank, value) in BANKS.into_iter().enumerate() {
                    assert_eq!(
                        board.holds(Cell::L2 { node: 1, bank }),
                        value,
                        "bank {bank}"
                    );
                }
                assert_eq!(comparison.get(64, 1).regs[..2], [13, 0x1111_0bad]);
                assert_eq!(comparison.get(0, 1).regs[..2], [0, 0]);
                comparison.mend();
                assert_eq!(comparison.get(64, 1).regs[..2], [0, 2]);
            }
        }
    }
}

/// A bank that can be written once but not put back keeps the new value; all others are put back.
#[test]
fn a_bank_that_cannot_be_put_back_does_not_stop_the_others() {
    for stuck in 0..7 {
        for broken in stuck + 1..8 {
            let world = world(Machine::Maramba, 2, Grant::GLOBAL, false);
            let board = board(&world);
            let mut comparison = Comparison::new(world, &board);
            start(&mut comparison, 1);
            for (bank, value) in BANKS.into_iter().enumerate() {
                comparison.put(Cell::L2 { node: 1, bank }, value);
            }
            let bank = |bank| Cell::L2 { node: 1, bank };
            comparison.break_cell(bank(stuck), Fault::WritesAfter(1));
            comparison.break_cell(bank(broken), Fault::WritesAfter(0));
            assert_eq!(comparison.set(64, 1, 1).regs[..2], [13, 1]);
            for (number, value) in BANKS.into_iter().enumerate() {
                let expected = if number == stuck {
                    value & !(0b11 << 36) | 1 << 36
                } else {
                    value
                };
                assert_eq!(board.holds(bank(number)), expected, "bank {number}");
            }
        }
    }
}
