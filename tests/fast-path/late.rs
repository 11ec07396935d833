//! The trap store_error, which reports that a store to a device has failed.
//!
//! The expected behaviour comes from the documentation of `platform::sparc64` (*Late faults*). The handler notes the failed address, the
//! interrupted instruction, %o0 and %o1, and makes hstick_match pending. The strand continues at the interrupted instruction with every
//! register as it was. If the instruction is in a sequence of the hypervisor that uses %g7, the sequence begins again. If the hypervisor is
//! waiting for this very store, its function fails, and nothing is noted.

use simulator::interpreter::Instruction;
use simulator::interpreter::instruction::Register;

use super::call::{self, Guest, O1};
use super::scene::Machine;
use super::slow_path::windows;
use super::state::{Symbolic, block};
use super::strands::{
    HINTP, STORE_ERROR, WordPairs, compare_effects, compare_in_guest, compare_in_hypervisor,
    copy_g7, level, take,
};
use super::world::{Effect, register, register_at};

/// The error type for which the store buffer holds the address (SBDIOU). DFESR has the type in bits 61:60, and the index of the buffer
/// entry in bits 57:55.
const KNOWN: u64 = 1;
const TYPE: u64 = 60;
const ENTRY: u64 = 55;
/// The mask of a device address, which has 40 bits. `UNKNOWN` is noted if the address is unknown.
const ADDRESS: u64 = (1 << 40) - 1;
const UNKNOWN: u64 = u64::MAX;
/// The number of reports that are kept, and the sizes of a report and a frame in bytes.
const REPORTS: u64 = 8;
const REPORT: u64 = 32;
const FRAME: u64 = 32;

/// What a report interrupts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interrupted {
    Guest(Guest),
    /// The hypervisor, at the instruction with this address. %npc holds the second address or, if it is `None`, the address of the
    /// following instruction.
    Hypervisor(u64, Option<u64>),
}

/// The report of a failed store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(crate) interrupted: Interrupted,
    /// The type of the error, 0 to 3.
    pub(crate) kind: u64,
    /// The number of reports that are already noted.
    pub(crate) noted: u64,
    /// The number of other reports' handlers that this report interrupts.
    pub(crate) nested: u64,
}

impl Late {
    pub(crate) fn play<W: Symbolic>(&self, machine: &mut Machine<'_, W>) -> WordPairs<W> {
        let Self { kind, noted, nested, .. } = *self;
        let number = |number: u64| W::from(number);
        let windows = windows().nth(noted as usize * 20).unwrap();
        let before = match self.interrupted {
            Interrupted::Guest(guest) => machine.guest(guest, windows),
            Interrupted::Hypervisor(at, next) => {
                let guest = Guest { level: nested % 2, ..Guest::KERNEL };
                let mut strand = machine.hypervisor(guest, windows, at);
                strand.npc = next.unwrap_or(strand.npc);
                strand
            }
        };
        let frame = machine.at(block::FRAMES + FRAME * nested);
        let dfesr = machine.any("dfesr", 3 << TYPE) | number(kind << TYPE);
        let in_register = |(space, address, _): (u8, u64, u64)| register_at(space, number(address));
        machine.world.put(machine.at(block::REPORTS), number(noted));
        machine.world.put(in_register(register::FRAME), frame);
        machine.world.put(in_register(register::DFESR), dfesr);

        machine.strand = before.clone();
        take(&mut machine.strand, STORE_ERROR);
        let trapped = level(&machine.strand);
        machine.run_until(|strand| level(strand) < trapped)?;
        let other = machine.reported;

        // If another report arrives before the handler reads the status, that report's handler clears the status.
        let kind = if other.is_some_and(|other| !other.was_read) { 0 } else { kind };
        let (buffer, address, _) = register::STORE_BUFFER;
        let entry = dfesr >> number(ENTRY) & number(7);
        let address = number(address) | entry << number(3);
        let failed = match kind {
            KNOWN => machine.world.word(register_at(buffer, address)) & number(ADDRESS),
            _ => number(UNKNOWN),
        };
        let interrupted = match self.interrupted {
            Interrupted::Guest(_) => 0,
            Interrupted::Hypervisor(at, _) => at,
        };
        let [o0, o1] = [Register::O0, O1].map(|register| before.registers.get(register));
        let waits = interrupted == machine.image.handlers.store_wait && (failed ^ o0).is_zero();
        // Each new report is noted after the earlier ones.
        let mut notes = vec![[failed, number(interrupted), o0, o1]];
        if waits {
            notes.clear();
        }
        if let Some(other) = other {
            let behind = if other.noted > noted { notes.len() } else { 0 };
            notes.insert(behind, other.note);
        }
        notes.truncate((REPORTS - noted) as usize);

        let mut expected = before.clone();
        take(&mut expected, STORE_ERROR);
        if !waits {
            call::write(&mut expected, HINTP, 1);
        }
        call::execute(&mut expected, Instruction::Retry);
        copy_g7(&mut expected, &machine.strand);
        let mut sequences = machine.image.handlers.restarts.iter();
        let again = sequences.find(|[first, end, _]| (*first..*end).contains(&interrupted));
        let elsewhere = if waits {
            Some(machine.image.handlers.access_failed)
        } else {
            again.map(|[.., again]| *again)
        };
        if let Some(at) = elsewhere {
            (expected.pc, expected.npc) = (at, at + 4);
        }
        let mut pairs = match self.interrupted {
            Interrupted::Guest(_) => {
                call::copy_hidden(&mut expected, &machine.strand);
                compare_in_guest(&machine.strand, &expected)?
            }
            Interrupted::Hypervisor(..) => compare_in_hypervisor(&machine.strand, &expected)?,
        };
        pairs.extend(machine.block_pairs(block::REPORTS, &[number(noted + notes.len() as u64)]));
        pairs.extend(machine.block_pairs(block::NOTED + REPORT * noted, &notes.concat()));
        // The next report finds the frame's address as this report found it, and a cleared error status.
        pairs.push((machine.world.word(in_register(register::FRAME)), frame));
        pairs.push((machine.world.word(in_register(register::DFESR)), number(0)));
        let is_noted = !waits && noted < REPORTS;
        pairs.extend(self.effects(machine, (kind == KNOWN).then_some(address), is_noted)?);
        Ok(pairs)
    }

    /// Compares the handler's effects. The handler reads the processor's registers once, and stores only to its frame and its report.
    fn effects<W: Symbolic>(
        &self,
        machine: &mut Machine<'_, W>,
        buffer: Option<W>,
        is_noted: bool,
    ) -> WordPairs<W> {
        let mut reads = Vec::new();
        let base = machine.state().block;
        let frame = block::FRAMES + FRAME * self.nested;
        // Another report may have been noted before this one.
        let reports = block::NOTED + REPORT * self.noted..block::NOTED + REPORT * (self.noted + 2);
        for effect in machine.effects() {
            match effect {
                Effect::Register { space, .. } if space == register::FRAME.0 => {}
                Effect::Register { value: None, .. } => reads.push(effect),
                Effect::Store { address, shift: 3, .. } => {
                    let at = address.minus(base).known().map_err(|_| format!("{effect:?}"))?;
                    let noted = is_noted && (at == block::REPORTS || reports.contains(&at));
                    if !noted && !(frame..frame + FRAME).contains(&at) {
                        return Err(format!("{effect:?}"));
                    }
                }
                _ => return Err(format!("{effect:?}")),
            }
        }
        let read = |space, address| Effect::Register { space, address, value: None };
        let (space, address, _) = register::DFESR;
        let mut expected = vec![read(space, W::from(address))];
        expected.extend(buffer.map(|address| read(register::STORE_BUFFER.0, address)));
        compare_effects(&reads, &expected)
    }
}

/// Returns reports that interrupt guests of all kinds, the hypervisor at these addresses, and other reports' handlers. They cover all error
/// types, and every possible number of earlier reports.
pub(crate) fn all(addresses: impl Iterator<Item = u64>, store_wait: u64) -> Vec<Late> {
    let guest = |interrupted| Late { interrupted, kind: KNOWN, noted: 0, nested: 0 };
    let mut all: Vec<Late> = Guest::all().map(Interrupted::Guest).map(guest).collect();
    for at in addresses {
        for next in [None, Some(0x8000)] {
            all.push(guest(Interrupted::Hypervisor(at, next)));
        }
    }
    for kind in 0..4 {
        for noted in 0..=REPORTS {
            let places = [
                Interrupted::Guest(Guest::KERNEL),
                Interrupted::Hypervisor(store_wait, None),
                Interrupted::Hypervisor(store_wait + 4, None),
            ];
            let nested = noted % 6;
            let late = |interrupted| Late { interrupted, kind, noted, nested };
            all.extend(places.map(late));
        }
    }
    all
}
