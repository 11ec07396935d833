//! Strands of guests make the calls that a test requests: see `requests.s`. Records the registers before and after each call.

use std::collections::BTreeMap;
use std::ops::Range;

use guest_abi::StrandId;
use simulator::execute::{Execution, Limits, Stop};
use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{
    At, Counting, Environment, Instruction, Level, Strand, Trap, WindowState,
};
use tests::random::Random;

use super::watch::Watch;

/// Addresses in a strand's program: where it makes a call, where the call has returned, and where the strand is idle.
const REQUEST: u64 = 0x8000_1000;
pub(crate) const ANSWERED: u64 = 0x8000_1004;
pub(crate) const IDLE: u64 = 0x8000_1008;

/// The maximum number of instructions until one more strand has booted.
const BOOT: u64 = 10_000_000;

/// The register %l0, which has the number of the trap.
const TRAP: Register = Register::new(16);

/// A call to make: the number of the software trap, and %o0 to %o5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) trap: u8,
    pub(crate) registers: [u64; 6],
}

/// A finished call.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) strand: StrandId,
    pub(crate) request: Request,
    /// The registers %o0 to %o5 after the call.
    pub(crate) after: [u64; 6],
    /// The turns from the start of the call to the turn after its return.
    pub(crate) turns: Range<usize>,
    /// The accesses of all strands to devices during the call.
    pub(crate) accesses: Range<usize>,
    /// When the call returned, in cycles.
    pub(crate) returned: u64,
}

pub(crate) struct Callers {
    /// The finished calls, in the order of their returns.
    pub(crate) made: Vec<Made>,
    /// The calls in progress. Each has the strand before the call, the request, and the numbers of
    /// turns and of accesses before the call.
    calling: BTreeMap<StrandId, (Strand, Request, [usize; 2])>,
    turns: usize,
    random: Random,
}

impl Callers {
    /// Runs a machine from power-on until each of these strands asks for its first call.
    pub(crate) fn new(execution: &mut Execution, strands: &[StrandId], seed: u64) -> Self {
        execution.breakpoints().insert(ANSWERED);
        for _ in strands {
            let stop = execution.run(Limits::instructions(BOOT));
            let strand = Self::asks(execution, stop).unwrap_or_else(|| panic!("{stop:?}"));
            go_on_at(execution.strand_mut(strand), IDLE);
            execution.step(strand);
        }
        for strand in strands {
            go_on_at(execution.strand_mut(*strand), ANSWERED);
        }
        Self { made: Vec::new(), calling: BTreeMap::new(), turns: 0, random: Random(seed) }
    }

    /// Returns the strand that asks for a call; `None` if the machine stopped for another reason.
    pub(crate) fn asks(execution: &Execution, stop: Stop) -> Option<StrandId> {
        match stop {
            Stop::Breakpoint(strand) => (execution.strand(strand).pc == ANSWERED).then_some(strand),
            _ => None,
        }
    }

    /// Records the return of the strand's latest call, and starts the call `next`, or leaves the strand idle if `next` is `None`.
    /// Fails if the latest call changed more than its results.
    pub(crate) fn turn(
        &mut self,
        execution: &mut Execution,
        watch: &Watch,
        id: StrandId,
        next: Option<Request>,
    ) -> Result<(), String> {
        self.turns += 1;
        let now = [self.turns, watch.seen().devices.len()];
        let returned = execution.now();
        let strand = execution.strand_mut(id);
        if let Some((before, request, began)) = self.calling.remove(&id) {
            unchanged(&before, strand).map_err(|what| format!("{id}, {request:x?}: {what}"))?;
            self.made.push(Made {
                strand: id,
                request,
                after: outs(strand),
                turns: began[0]..now[0],
                accesses: began[1]..now[1],
                returned,
            });
        }
        match next {
            Some(request) => {
                scramble(strand, &mut self.random);
                for (number, value) in (8..).zip(request.registers) {
                    strand.registers.set(Register::new(number), value);
                }
                strand.registers.set(TRAP, request.trap.into());
                go_on_at(strand, REQUEST);
                self.calling.insert(id, (strand.clone(), request, now));
            }
            None => go_on_at(strand, IDLE),
        }
        Ok(())
    }

    /// Lets an idle strand ask for a call again.
    pub(crate) fn wake(execution: &mut Execution, id: StrandId) {
        let strand = execution.strand_mut(id);
        if strand.pc == IDLE && strand.level() < Level::Hyperprivileged {
            go_on_at(strand, ANSWERED);
        }
    }

    pub(crate) fn is_calling(&self, strand: StrandId) -> bool {
        self.calling.contains_key(&strand)
    }
}

/// Continues a strand at an address.
pub(crate) fn go_on_at(strand: &mut Strand, address: u64) {
    (strand.pc, strand.npc) = (address, address + 4);
}

/// Randomises a guest's registers at its trap level, except those that control execution.
pub(crate) fn scramble(strand: &mut Strand, random: &mut Random) {
    let global = random.below(3);
    for level in [0, 1, 2] {
        strand.registers.set_global((global + 1 + level) % 3);
        (1..8).for_each(|number| strand.registers.set(Register::new(number), random.next_u64()));
    }
    let window = random.below(8);
    for distance in 1..9 {
        strand.registers.set_window((window + distance) % 8);
        (8..32).for_each(|number| strand.registers.set(Register::new(number), random.next_u64()));
    }
    let any = random.next_u64();
    (strand.ccr, strand.asi, strand.y) = (any as u8, (any >> 8) as u8, (any >> 32) as u32);
    let mut count = || random.below(8) as u8;
    let [mut can_save, mut can_restore] = [count(), count()];
    let [mut other, mut clean] = [count(), count()];
    // Every second strand has window counts that software can set.
    if any >> 16 & 1 == 0 {
        can_save %= 7;
        can_restore %= 7 - can_save;
        other = 6 - can_save - can_restore;
        clean = clean.max(can_restore);
    }
    let state = (any >> 24) as u8 & 0x3f;
    strand.windows = WindowState { can_save, can_restore, other, clean, state };
}

fn outs(strand: &Strand) -> [u64; 6] {
    [8, 9, 10, 11, 12, 13].map(|number| strand.registers.get(Register::new(number)))
}

/// Compares a strand before and after a call, except %o0 to %o5. In two windows that were free,
/// values on which the guest cannot rely may become 0.
fn unchanged(before: &Strand, after: &Strand) -> Result<(), String> {
    let differ = |what: &str, before: u64, after: u64| match before == after {
        true => Ok(()),
        false => Err(format!("{what} is {after:#x} and was {before:#x}")),
    };
    let [mut before, mut after] = [before.clone(), after.clone()];
    differ("the state", before.state(), after.state())?;
    differ("%y", before.y.into(), after.y.into())?;
    if before.windows != after.windows {
        return Err(format!("{:?}, and was {:?}", after.windows, before.windows));
    }
    // The registers are %tba, %pstate, %tl and %pil.
    for number in [5, 6, 7, 8] {
        let [before, after] = [&mut before, &mut after].map(|strand| privileged(strand, number));
        differ(&format!("privileged register {number}"), before, after)?;
    }
    for global in 0..3 {
        for strand in [&mut before, &mut after] {
            strand.registers.set_global(global);
        }
        for number in (0..8).map(Register::new) {
            let [before, after] = [&before, &after].map(|strand| strand.registers.get(number));
            differ(&format!("%g of level {global}, {number:?}"), before, after)?;
        }
    }
    let (current, free) = (before.registers.window(), before.windows.can_save >= 2);
    for distance in 0..8 {
        for strand in [&mut before, &mut after] {
            strand.registers.set_window((current + distance) % 8);
        }
        for number in 16..32 {
            let is_in = number >= 24;
            // The %i registers of the next window are the %o registers of the current window.
            if distance == 1 && (24..30).contains(&number) {
                continue;
            }
            let may_be_clear = free && matches!((is_in, distance), (false, 1 | 2) | (true, 2 | 3));
            let register = Register::new(number);
            let [before, after] = [&before, &after].map(|strand| strand.registers.get(register));
            if !may_be_clear || after != 0 {
                differ(&format!("window +{distance}, {register:?}"), before, after)?;
            }
        }
    }
    Ok(())
}

/// Returns the value of a privileged register; 0 for a trap register at trap level 0.
pub(crate) fn privileged(strand: &mut Strand, number: u8) -> u64 {
    strand.control_register(ControlRegister::Privileged(number), &mut Nothing).unwrap_or_default()
}

/// A bus that refuses all accesses. Only the strand's registers are used.
struct Nothing;

impl Environment for Nothing {
    fn fetch(&mut self, _: u64, _: Level) -> Result<Instruction, Trap> {
        Err(Trap::INSTRUCTION_ACCESS_ERROR)
    }

    fn load(&mut self, _: At, _: u8) -> Result<u64, Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn store(&mut self, _: At, _: u8, _: u64) -> Result<(), Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn read(&mut self, _: Counting, _: Level) -> Result<u64, Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }

    fn write(&mut self, _: Counting, _: u64, _: Level) -> Result<(), Trap> {
        Err(Trap::DATA_ACCESS_ERROR)
    }
}
