//! Long random sequences of calls, resets, faults and transfers against the reference model. Each run is the same, because
//! the seeds are.

use tests::comparison::{Comparison, board};
use tests::oracle::{
    Answer, Cell, Fault, Grant, Guest, HubCondition, Machine, StrandGrant, Trap, Unit, World,
};
use tests::random::Random;

const STRAND_GRANTS: [StrandGrant; 3] =
    [StrandGrant::None, StrandGrant::Strand, StrandGrant::HtStrand];

/// Returns a machine with up to four guests, whose strands are on any nodes.
fn random_world(random: &mut Random) -> World {
    let machine = random.one_of(&[Machine::Maramba, Machine::Batoka, Machine::Batoka]);
    let nodes = 1 + random.below(machine.most_nodes());
    let mut strands: Vec<u16> = (0..64 * nodes as u16).collect();
    let mut guests = Vec::new();
    let holder_of_global = random.below(5);
    for number in 0..1 + random.below(4) {
        let own = (0..1 + random.below(6))
            .map(|_| strands.swap_remove(random.below(strands.len())))
            .collect::<Vec<_>>();
        let (strand, global) = (random.one_of(&STRAND_GRANTS), number == holder_of_global);
        let grant = Grant { strand, global };
        let compat = random.below(3) == 0;
        guests.push(Guest { compat, ..Guest::new(own, grant) });
    }
    let disabled: Vec<(usize, usize)> =
        (0..random.below(3)).map(|_| (random.below(nodes), random.below(2))).collect();
    World::new(machine, nodes, &disabled, guests).unwrap()
}

fn random_id(random: &mut Random) -> u64 {
    match random.below(12) {
        0 => 0,
        1 | 2 => 1,
        3..=5 => 2 + random.below(16) as u64,
        6..=10 => 18 + random.below(72) as u64,
        _ => match random.below(3) {
            0 => 90 + random.below(166) as u64,
            1 => 1 << (7 + random.below(57)) | random.below(90) as u64,
            _ => random.next_u64(),
        },
    }
}

fn random_value(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => 1 << random.below(64),
        1 => random.below(16) as u64,
        2 => random.one_of(&[0, u64::MAX, 0xc000_0000_0000_0009]),
        _ => random.next_u64(),
    }
}

fn random_call(random: &mut Random) -> (Trap, [u64; 6]) {
    let mut registers = [0; 6].map(|_| random.next_u64());
    let trap = match random.below(24) {
        0..=9 => {
            (registers[0], registers[5]) = (random_id(random), 0x106);
            Trap::Fast
        }
        10..=19 => {
            (registers[0], registers[1]) = (random_id(random), random_value(random));
            registers[5] = 0x107;
            Trap::Fast
        }
        20 => {
            registers[0] = random.one_of(&[0x205, 0x205, 0x205, 0, 1, 0x202]);
            registers[1] = random.one_of(&[1, 1, 1, 1, 0, 2]);
            registers[2] = random.one_of(&[0, 1, 1, 1, 2, u64::MAX]);
            registers[5] = 0;
            Trap::Core
        }
        21 => {
            registers[0] = random.one_of(&[0x205, 0, 1, 2]);
            registers[5] = 3;
            Trap::Core
        }
        22 => {
            // Bytes, a break, and invalid values.
            registers[0] = (random.below(300) as u64).checked_sub(1).unwrap_or(u64::MAX);
            registers[5] = 1 + random.below(2) as u64;
            Trap::Core
        }
        _ => {
            let function = random.below(0x110) as u64;
            registers[5] = random.one_of(&[function, 1 << 32 | function, random.0]);
            let other = Trap::Other(0x81 + random.below(0x7e) as u8);
            random.one_of(&[Trap::Fast, Trap::Core, other])
        }
    };
    (trap, registers)
}

/// Returns grants at random, sometimes with `global` for two guests, which is not valid.
fn random_grants(random: &mut Random, world: &World) -> Vec<Grant> {
    let holder = random.below(world.guests.len() + 1);
    let mut grants: Vec<Grant> = (0..world.guests.len())
        .map(|number| Grant { strand: random.one_of(&STRAND_GRANTS), global: number == holder })
        .collect();
    if random.below(10) == 0 {
        let number = random.below(grants.len());
        grants[number].global = true;
    }
    grants
}

/// Makes a step of a transfer: the operator's, or a strand acknowledges or dies.
fn random_step(random: &mut Random, comparison: &mut Comparison) {
    let strands = |comparison: &Comparison| -> Vec<u16> {
        let transfer = &comparison.world.transfer;
        (transfer.awaited.keys().chain(transfer.dead.keys()).copied()).collect()
    };
    match random.below(16) {
        0..=3 => {
            let grants = random_grants(random, &comparison.world);
            comparison.reconfigure(&grants);
        }
        4 => {
            let guest = random.below(comparison.world.guests.len());
            comparison.begin_reset(guest);
        }
        5 => {
            let strand = random.one_of(&comparison.world.strands());
            comparison.strand_died(strand);
        }
        6 => comparison.all_acknowledge(),
        7 => {
            let out: Vec<Unit> = comparison.world.out_of_service.iter().copied().collect();
            if !out.is_empty() {
                let node = random.below(comparison.world.nodes);
                comparison.return_to_service(node, random.one_of(&out));
            }
        }
        8 => {
            // A strand writes its own PIC directly.
            let strand = comparison.world.guests[0].strands[0];
            let value = random.next_u64();
            comparison.put_pic(strand, value);
        }
        _ => {
            let waiting = strands(comparison);
            if !waiting.is_empty() {
                comparison.acknowledge(random.one_of(&waiting));
            }
        }
    }
    comparison.check_state();
}

/// Breaks or repairs something, or resets a guest.
fn random_event(random: &mut Random, comparison: &mut Comparison) {
    match random.below(16) {
        0..=7 => {
            let guest = random.below(comparison.world.guests.len());
            comparison.reset_guest(guest);
            if random.below(4) != 0 {
                let strand = comparison.world.guests[guest].strands[0];
                comparison.negotiate(strand, 1, random.below(2) as u64);
            }
        }
        8 => {
            let hubs_are_there = comparison.world.machine == Machine::Batoka;
            if hubs_are_there {
                comparison.set_hub(random.below(4), HubCondition::Faulted);
            }
        }
        9 | 10 => {
            let node = random.below(comparison.world.nodes);
            if comparison.can_break(Cell::L2 { node, bank: 0 }) {
                let bank = random.below(8);
                let fault = random.one_of(&[Fault::Always, Fault::WritesAfter(0)]);
                comparison.break_cell(Cell::L2 { node, bank }, fault);
            }
        }
        11 | 12 => {
            let cell = Cell::Register(2 + random.below(88) as u64);
            if comparison.can_break(cell) {
                let writes = Fault::WritesAfter(random.below(3) as u32);
                comparison.break_cell(cell, random.one_of(&[Fault::Always, writes]));
            }
        }
        _ => comparison.mend(),
    }
    comparison.check_state();
}

/// A hub is busy while a strand makes one to four calls. Then it is free or broken, and the strand makes one more call, so
/// that no other strand is refused on its behalf, which the model does not do.
fn busy_hub(random: &mut Random, comparison: &mut Comparison, strand: u16) {
    let hub = random.below(4);
    if comparison.world.hubs[hub] != HubCondition::Free {
        return;
    }
    let id = |random: &mut Random| (18 + 18 * hub + random.below(18)) as u64;
    comparison.set_hub(hub, HubCondition::Busy);
    for _ in 0..1 + random.below(4) {
        if random.below(2) == 0 {
            comparison.get(strand, id(random));
        } else {
            comparison.set(strand, id(random), random.next_u64());
        }
        // The other hubs are not busy.
        let other = (18 + 18 * ((hub + 1) % 4)) as u64;
        comparison.get(strand, other);
    }
    let after = random.one_of(&[HubCondition::Free, HubCondition::Free, HubCondition::Faulted]);
    comparison.set_hub(hub, after);
    let out = comparison.get(strand, id(random));
    let mut accesses = out.accesses.iter();
    assert!(accesses.all(|access| access.answer != Answer::Busy));
}

#[test]
fn random_sequences() {
    const WORLDS: usize = 250;
    const STEPS: usize = 1500;
    let mut cases = 0;
    let mut statuses = [0_u64; 14];
    let mut pending = 0_u64;
    for seed in 0..WORLDS as u64 {
        let mut random = Random(seed);
        let world = random_world(&mut random);
        let board = board(&world);
        let mut comparison = Comparison::new(world, &board);
        let strands = comparison.world.strands();
        for guest in comparison.world.guests.clone() {
            comparison.negotiate(guest.strands[0], 1, 1);
        }
        for _ in 0..STEPS {
            let strand = random.one_of(&strands);
            match random.below(100) {
                0 | 1 => random_event(&mut random, &mut comparison),
                4..=7 => random_step(&mut random, &mut comparison),
                // Dead strands make no calls.
                _ if comparison.world.transfer.dead.contains_key(&strand) => {}
                2 | 3 if comparison.world.machine == Machine::Batoka => {
                    busy_hub(&mut random, &mut comparison, strand);
                }
                _ => {
                    let (trap, registers) = random_call(&mut random);
                    let out = comparison.call(strand, trap, registers);
                    if !out.exited {
                        statuses[out.regs[0] as usize] += 1;
                        pending += u64::from(comparison.world.is_pending());
                    }
                }
            }
        }
        comparison.check_state();
        cases += comparison.cases;
    }
    tests::tell(format_args!(
        "random_sequences: {cases} cases, {pending} during a transfer; by status {statuses:?}"
    ));
    assert!(cases >= 300_000 && pending >= 50_000);
    // Each status is compared often.
    for status in [0, 6, 7, 10, 13] {
        assert!(statuses[status] >= 10_000, "status {status}: {statuses:?}");
    }
}
