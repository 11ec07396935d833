//! Compares sequences of hypercalls with the reference model. Many guests, strands and versions take part, and there are faults and
//! transfers of rights between the calls.
//!
//! An input describes a machine with its guests, and then the steps. Each byte is a choice, so every input is a valid sequence.

use guest_abi::ApiGroup;
use guest_abi::trap::PerfFunction;

use crate::comparison::{Comparison, board};
use crate::oracle::negotiation::Versions;
use crate::oracle::{Answer, Cell, Fault, Grant, Guest, HubCondition, Machine, Trap, Unit, World};

/// Counts what happened in a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// The number of calls that returned each status, by status number.
    pub statuses: [u32; 14],
    /// The number of calls made while a transfer was pending.
    pub pending: u32,
    /// The number of accepted transfers and of resets.
    pub changes: u32,
    pub broken: u32,
}

/// Takes the steps on the model and on the machine under test. Returns counts of what happened.
pub fn check(bytes: &[u8]) -> Coverage {
    let mut reached = Coverage::default();
    // `None` only means that the input has ended, so it is ignored.
    let _ = sequence(&mut Input(bytes), &mut reached);
    reached
}

/// The rest of the input: the bytes that no choice has used so far.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*first))
    }

    /// Takes a byte, and maps it to a number below `end`, which is 1 to 256.
    fn below(&mut self, end: usize) -> Option<usize> {
        Some(usize::from(self.byte()?) % end)
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> Option<T> {
        choices.get(self.below(choices.len())?).copied()
    }

    fn grant(&mut self) -> Option<Grant> {
        self.one_of(&Grant::ALL)
    }

    /// Returns a register value with a random lowest byte, a random highest byte, or eight random bytes.
    fn value(&mut self) -> Option<u64> {
        Some(match self.below(4)? {
            0 | 1 => self.byte()?.into(),
            2 => u64::from(self.byte()?).rotate_right(8),
            _ => self.number()?,
        })
    }
}

/// All machines that a world can have, each with its number of nodes.
pub const MACHINES: [(Machine, usize); 6] = [
    (Machine::Maramba, 1),
    (Machine::Maramba, 2),
    (Machine::Batoka, 1),
    (Machine::Batoka, 2),
    (Machine::Batoka, 3),
    (Machine::Batoka, 4),
];

fn world(input: &mut Input<'_>) -> Option<World> {
    let (machine, nodes) = input.one_of(&MACHINES)?;
    let bits = input.byte()?;
    let disabled: Vec<(usize, usize)> = (0..2 * nodes)
        .filter(|channel| bits >> channel & 1 != 0)
        .map(|channel| (channel / 2, channel % 2))
        .collect();
    let mut free: Vec<u16> = (0..64 * nodes as u16).collect();
    let mut guests: Vec<Guest> = Vec::new();
    for _ in 0..=input.below(4)? {
        let mut grant = input.grant()?;
        grant.global &= guests.iter().all(|guest| !guest.grant.global);
        let compat = input.below(2)? == 1;
        let mut strands = Vec::new();
        for _ in 0..=input.below(6)? {
            strands.push(free.swap_remove(input.below(free.len())?));
        }
        // This literal names all fields, so a new field does not compile until it gets a value here.
        let (granted, versions) = (grant, Versions::default());
        guests.push(Guest { strands, grant, granted, compat, versions });
    }
    Some(World::new(machine, nodes, &disabled, guests).expect("a valid configuration"))
}

fn sequence(input: &mut Input<'_>, reached: &mut Coverage) -> Option<()> {
    let world = world(input)?;
    let board = board(&world);
    let mut comparison = Comparison::new(world, &board);
    let strands = comparison.world.strands();
    while let Some(kind) = input.byte() {
        if let 0..=191 = kind {
            let strand = input.one_of(&strands)?;
            // Dead strands make no calls.
            if !comparison.world.transfer.dead.contains_key(&strand) {
                call(kind, strand, input, &mut comparison, reached)?;
            }
        } else {
            step(kind, &strands, input, &mut comparison, reached)?;
            comparison.check_state();
        }
    }
    comparison.check_state();
    // Once every strand has acknowledged, no transfer is pending, whatever the steps were.
    comparison.repair();
    comparison.all_acknowledge();
    comparison.check_state();
    assert_eq!(comparison.machine.awaited(), None);
    Some(())
}

fn call(
    kind: u8,
    strand: u16,
    input: &mut Input<'_>,
    comparison: &mut Comparison<'_>,
    reached: &mut Coverage,
) -> Option<()> {
    const FILL: u64 = 0x0bad;
    let (trap, registers) = match kind {
        0..=63 => {
            let id = input.byte()?.into();
            (Trap::Fast, [id, FILL, FILL, FILL, FILL, 0x106])
        }
        64..=127 => {
            let (id, value) = (input.byte()?.into(), input.value()?);
            (Trap::Fast, [id, value, FILL, FILL, FILL, 0x107])
        }
        128..=159 => {
            let named = ApiGroup::NAMED.iter().rev().map(|(_, group, _)| group.0);
            let groups: Vec<u64> =
                [0x205, 0x205].into_iter().chain(named).chain([2, 0x202]).collect();
            let group = input.one_of(&groups)?;
            let (major, minor) = (input.value()?, input.value()?);
            let function = input.one_of(&[0, 0, 0, 3])?;
            (Trap::Core, [group, major, minor, FILL, FILL, function])
        }
        _ => {
            let trap = match input.byte()? {
                number @ 0x81..=0xfe => Trap::Other(number),
                number if number % 2 == 0 => Trap::Fast,
                _ => Trap::Core,
            };
            let function = match input.below(2 + PerfFunction::ALL.len())? {
                0 => input.byte()?.into(),
                number => match PerfFunction::ALL.get(number - 1) {
                    Some(function) => function.number(),
                    None => input.number()?,
                },
            };
            let [o0, o1] = [input.value()?, input.value()?];
            (trap, [o0, o1, FILL, FILL, FILL, function])
        }
    };
    let out = comparison.call(strand, trap, registers);
    if !out.exited {
        reached.statuses[out.regs[0] as usize] += 1;
        reached.pending += u32::from(comparison.world.is_pending());
    }
    Some(())
}

/// Takes a step other than a call.
fn step(
    kind: u8,
    strands: &[u16],
    input: &mut Input<'_>,
    comparison: &mut Comparison<'_>,
    reached: &mut Coverage,
) -> Option<()> {
    let guests = comparison.world.guests.len();
    match kind {
        192..=203 => {
            let grants: Option<Vec<Grant>> = (0..guests).map(|_| input.grant()).collect();
            let grants = grants?;
            comparison.reconfigure(&grants);
            let accepted = grants.iter().filter(|grant| grant.global).count() <= 1;
            reached.changes += u32::from(accepted);
        }
        204..=209 => {
            comparison.begin_reset(input.below(guests)?);
            reached.changes += 1;
        }
        210..=221 => comparison.acknowledge(input.one_of(strands)?),
        222..=225 => comparison.all_acknowledge(),
        226..=228 => comparison.strand_died(input.one_of(strands)?),
        229..=231 => {
            let node = input.below(comparison.world.nodes)?;
            let out: Vec<Unit> = comparison.world.out_of_service.iter().copied().collect();
            if !out.is_empty() {
                comparison.return_to_service(node, input.one_of(&out)?);
            }
        }
        232..=235 => comparison.repair_all(),
        236..=241 => inject_fault(input, comparison, reached)?,
        242..=247 => busy_hub(input, comparison, strands, reached)?,
        // A strand writes its own PIC or PCR without a call.
        248..=251 => {
            let (strand, value) = (input.one_of(strands)?, input.value()?);
            comparison.put_pic(strand, value);
        }
        _ => {
            // The value has only bits that a PCR stores.
            let (strand, value) = (input.one_of(strands)?, input.value()? & 0xffff_ffff);
            comparison.world.pcr.insert(strand, value);
            comparison.machine.board().put_pcr(strand, value);
        }
    }
    Some(())
}

fn inject_fault(
    input: &mut Input<'_>,
    comparison: &mut Comparison<'_>,
    reached: &mut Coverage,
) -> Option<()> {
    let fault = match input.below(4)? {
        0 => Fault::Always,
        writes => Fault::WritesAfter(writes as u32 - 1),
    };
    let cell = match input.below(98)? {
        bank @ 90.. => Cell::L2 { node: input.below(comparison.world.nodes)?, bank: bank - 90 },
        id @ 2.. => Cell::Register(id as u64),
        hub => {
            if comparison.world.has_unit(Unit::Hub(hub)) {
                comparison.set_hub(hub, HubCondition::Faulted);
            }
            return Some(());
        }
    };
    if comparison.can_break(cell) {
        comparison.break_cell(cell, fault);
        reached.broken += 1;
    }
    Some(())
}

/// A hub is busy while a strand makes two calls. Then the hub becomes free or breaks, and the strand makes one more call, which ends its
/// turn at the hub. Without this call, the service would refuse other strands until the strand is served, but the model would serve them.
fn busy_hub(
    input: &mut Input<'_>,
    comparison: &mut Comparison<'_>,
    strands: &[u16],
    reached: &mut Coverage,
) -> Option<()> {
    let strand = input.one_of(strands)?;
    let hub = input.below(4)?;
    let byte = usize::from(input.byte()?);
    let id = (18 + 18 * hub + byte % 18) as u64;
    let after = input.one_of(&[HubCondition::Free, HubCondition::Faulted])?;
    if comparison.world.hubs[hub] != HubCondition::Free
        || comparison.world.transfer.dead.contains_key(&strand)
    {
        return Some(());
    }
    comparison.set_hub(hub, HubCondition::Busy);
    for turn in 0..3 {
        if turn == 2 {
            comparison.set_hub(hub, after);
        }
        let out = match (byte / 18) >> turn & 1 {
            0 => comparison.get(strand, id),
            _ => comparison.set(strand, id, byte as u64),
        };
        reached.statuses[out.regs[0] as usize] += 1;
        let busy = out.accesses.iter().any(|access| access.answer == Answer::Busy);
        assert!(!busy || turn < 2);
        // The other hubs are not busy.
        comparison.get(strand, (18 + 18 * ((hub + 1) % 4)) as u64);
    }
    Some(())
}
