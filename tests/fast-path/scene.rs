//! Executes trap handlers. An execution pauses when the handler calls Rust code, waits for a device, or is interrupted. The test then does
//! what the Rust code or the device would do, and continues the execution.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;

use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Instruction, Level, Strand, WindowState, Word};

use super::call::{self, Guest};
use super::image::Image;
use super::state::{State, Symbolic, block};
use super::strands::{
    self, FAST, HINTP, STORE_ERROR, compare_in_hypervisor, copy_g7, level, set_g7, take,
};
use super::term::Term;
use super::world::{Effect, World, register, register_at};

/// Chooses the initial words of an execution, and the words that Rust code leaves in registers and memory.
pub(crate) trait Source<W> {
    /// Returns the word with this name. Bits that are set in `zeros` are 0 in the word.
    fn named(&self, name: &'static str, zeros: u64) -> W;
}

/// A source of terms, which stand for all numbers.
pub(crate) struct Terms;

impl Source<Term> for Terms {
    fn named(&self, name: &'static str, zeros: u64) -> Term {
        Term::named(name, zeros)
    }
}

/// A source of random numbers, except for the words that a model gives.
#[derive(Debug)]
pub(crate) struct Numbers {
    pub(crate) seed: u64,
    pub(crate) names: HashMap<&'static str, u64>,
    /// Whether all random numbers are 1 or 2.
    pub(crate) small: bool,
}

impl Source<u64> for Numbers {
    fn named(&self, name: &'static str, zeros: u64) -> u64 {
        let random = || {
            let mut hasher = DefaultHasher::new();
            (self.seed, name).hash(&mut hasher);
            let any = hasher.finish();
            if self.small { 1 + any % 2 } else { any }
        };
        self.names.get(name).copied().unwrap_or_else(random) & !zeros
    }
}

/// Returns the name made of a kind and a number.
fn interned(kind: &'static str, number: usize) -> &'static str {
    type Names = HashMap<(&'static str, usize), &'static str>;
    thread_local! {
        static NAMES: RefCell<Names> = RefCell::default();
    }
    NAMES.with_borrow_mut(|names| {
        *names.entry((kind, number)).or_insert_with(|| format!("{kind}{number}").leak())
    })
}

/// The maximum length of one part of an execution, in instructions.
const MAX_INSTRUCTIONS: usize = 2_000;

/// A report that interrupted a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported<W> {
    /// Whether the interrupted handler had already read another report's status.
    pub(crate) was_read: bool,
    /// The number of reports noted before this one.
    pub(crate) noted: u64,
    /// The note of the report: the failed address, the interrupted instruction, %o0 and %o1.
    pub(crate) note: [W; 4],
}

/// A strand that executes handlers.
pub(crate) struct Machine<'a, W: Word> {
    pub(crate) image: &'a Image,
    pub(crate) strand: Strand<W>,
    pub(crate) world: World<'a, W>,
    source: &'a dyn Source<W>,
    /// The addresses of the executed instructions.
    pub(crate) executed: Vec<u64>,
    /// The number of executed instructions after which a failed store's report interrupts the handler.
    pub(crate) report: Option<usize>,
    pub(crate) reported: Option<Reported<W>>,
    /// An address, and the words to try there. Only words that have had the same effect there as the image's instruction remain.
    pub(crate) probes: (u64, Vec<u32>),
    /// The number of effects that were already compared.
    seen: usize,
}

impl<'a, W: Symbolic> Machine<'a, W> {
    pub(crate) fn new(image: &'a Image, state: &Rc<State<W>>, source: &'a dyn Source<W>) -> Self {
        Self {
            image,
            strand: Strand::reset(0).lifted(),
            world: World::new(image, state),
            source,
            executed: Vec::new(),
            report: None,
            reported: None,
            probes: (0, Vec::new()),
            seen: 0,
        }
    }

    pub(crate) fn state(&self) -> Rc<State<W>> {
        Rc::clone(&self.world.state)
    }

    /// Returns the address of a word in the strand's block.
    pub(crate) fn at(&self, offset: u64) -> W {
        self.world.state.block.plus(W::from(offset))
    }

    /// Returns a word of the strand's block.
    pub(crate) fn block_word(&self, offset: u64) -> W {
        self.world.word(self.at(offset))
    }

    /// Returns an arbitrary word. Bits that are set in `zeros` are 0 in the word.
    pub(crate) fn any(&self, name: &'static str, zeros: u64) -> W {
        self.source.named(name, zeros)
    }

    /// Returns an arbitrary word, one of several that share a name.
    pub(crate) fn any_of(&self, kind: &'static str, number: usize) -> W {
        self.source.named(interned(kind, number), 0)
    }

    /// Returns a strand that executes a guest, with arbitrary registers.
    pub(crate) fn guest(&self, guest: Guest, windows: WindowState) -> Strand<W> {
        let any = |name, zeros| self.source.named(name, zeros);
        let mut strand = call::filled(&call::guest(self.image, guest), &self.world.state, any);
        strand.windows = windows;
        strand
    }

    /// Returns a strand that executes the hypervisor at an address after a call by this guest, with arbitrary registers.
    pub(crate) fn hypervisor(&self, guest: Guest, windows: WindowState, at: u64) -> Strand<W> {
        let mut strand = self.guest(guest, windows);
        take(&mut strand, FAST);
        call::enter_hypervisor(&mut strand);
        for (register, word) in (1..8).zip(self.eight("h")) {
            strand.registers.set(Register::new(register), word);
        }
        strand.registers.set(call::G6, self.world.state.block);
        (strand.ccr, strand.y) =
            (self.any("h_ccr", !0xff).byte(), self.any("h_y", !0xffff_ffff).half());
        (strand.pc, strand.npc) = (at, at + 4);
        strand
    }

    /// Returns eight words that share a name.
    pub(crate) fn eight(&self, kind: &'static str) -> [W; 8] {
        std::array::from_fn(|number| self.any_of(kind, number))
    }

    /// Executes until `ends` returns `true`.
    pub(crate) fn run_until(&mut self, ends: impl Fn(&Strand<W>) -> bool) -> Result<(), String> {
        for _ in 0..MAX_INSTRUCTIONS {
            if ends(&self.strand) {
                return Ok(());
            }
            self.step()?;
        }
        Err(format!("no end at {:#x}", self.strand.pc))
    }

    /// Executes until the strand is at an address.
    pub(crate) fn run_until_address(&mut self, address: u64) -> Result<(), String> {
        self.run_until(|strand| strand.pc == address)?;
        let is_within = self.strand.level() == Level::Hyperprivileged;
        if is_within { Ok(()) } else { Err(format!("{address:#x} in the guest")) }
    }

    /// Executes until the strand is in its guest.
    pub(crate) fn run_until_guest(&mut self) -> Result<(), String> {
        self.run_until(|strand| strand.level() != Level::Hyperprivileged)
    }

    fn step(&mut self) -> Result<(), String> {
        let pc = self.strand.pc;
        if !self.image.is_in_handler(pc) || self.strand.level() != Level::Hyperprivileged {
            return Err(format!("continues at {pc:#x}"));
        }
        if self.report == Some(self.executed.len()) {
            self.report = None;
            return self.report();
        }
        self.executed.push(pc);
        if pc == self.probes.0 && !self.probes.1.is_empty() {
            self.probe();
        }
        let done = self.strand.execute_next(&mut self.world);
        done.map_err(|exception| format!("{:?} at {pc:#x}", exception.trap))
    }

    /// Keeps only the probes that have the same effect as the next instruction.
    fn probe(&mut self) {
        let mut next = (self.strand.clone(), self.world.clone());
        if next.0.execute_next(&mut next.1).is_err() {
            self.probes.1.clear();
        }
        let at = self.probes.0;
        let (strand, world) = (&self.strand, &self.world);
        self.probes.1.retain(|word| {
            let mut changed = (strand.clone(), world.clone());
            changed.1.change = Some((at, *word));
            changed.0.execute_next(&mut changed.1).is_ok()
                && changed.0 == next.0
                && changed.1.has_same_effects(&next.1)
        });
    }

    /// Interrupts the handler with the report of a failed store. Afterwards the strand continues at the interrupted instruction or at
    /// another one. Everything else is as before, except %g7, which belongs to the report handlers. A test's expectations do not mention
    /// the report, so its effects are removed, and so is the interrupt that it makes pending.
    fn report(&mut self) -> Result<(), String> {
        let number = |number: u64| W::from(number);
        let before = self.strand.clone();
        let (effects, level) = (self.world.effects.len(), level(&before));
        // A function that waits for a store has not sent another one, so this report has no address.
        let kind = if before.pc == self.image.handlers.store_wait { 2 } else { 1 };
        let noted = self.block_word(block::REPORTS).known().unwrap_or_default();
        self.world.put(self.at(block::REPORTS), number(noted));
        let (space, dfesr, _) = register::DFESR;
        let dfesr = register_at(space, number(dfesr));
        let (space, buffer, _) = register::STORE_BUFFER;
        let failed = if kind == 1 {
            self.world.word(register_at(space, number(buffer))) & number((1 << 40) - 1)
        } else {
            number(u64::MAX)
        };
        self.world.put(dfesr, number(kind << 60));
        let was_read = self.world.effects[self.seen..].iter().any(|effect| {
            matches!(effect, Effect::Register { space, .. } if *space == register::DFESR.0)
        });
        take(&mut self.strand, STORE_ERROR);
        self.run_until(|strand| strands::level(strand) == level)?;
        let mut expected = before.clone();
        take(&mut expected, STORE_ERROR);
        call::write(&mut expected, HINTP, 1);
        call::execute(&mut expected, Instruction::Retry);
        let goes_on = self.strand.pc == before.pc && self.strand.npc == before.npc;
        if !goes_on && self.strand.npc != self.strand.pc + 4 {
            return Err(format!("continues at {:#x}, {:#x}", self.strand.pc, self.strand.npc));
        }
        (expected.pc, expected.npc) = (self.strand.pc, self.strand.npc);
        copy_g7(&mut expected, &self.strand);
        let mut pairs = compare_in_hypervisor(&self.strand, &expected)?;
        let [o0, o1] = [Register::O0, call::O1].map(|register| before.registers.get(register));
        let note = [failed, number(before.pc), o0, o1];
        pairs.extend(self.block_pairs(block::REPORTS, &[number(noted + 1)]));
        pairs.extend(self.block_pairs(block::NOTED + 32 * noted, &note));
        if pairs.iter().any(|(a, b)| a != b) {
            return Err(format!("a report changes {pairs:?}"));
        }
        for effect in self.world.effects.drain(effects..) {
            let place = [block::REPORTS, block::SIZE];
            if !matches!(effect, Effect::Register { .. })
                && !is_store_to(&effect, self.world.state.block, &[place])
            {
                return Err(format!("a report has the effect {effect:?}"));
            }
        }
        self.strand.control = before.control;
        // The handler may leave any value in %g7, unless the report interrupted another report handler.
        if !self.image.handlers.report_range().contains(&before.pc) {
            let left = self.any("after_report", 0);
            set_g7(&mut self.strand, left);
        }
        self.reported = Some(Reported { was_read, noted, note });
        Ok(())
    }

    /// Takes the effects since the last comparison. They must consist of `syncs` `membar #Sync` instructions, and of stores of words to
    /// these ranges of the strand's block (first offset, end offset).
    pub(crate) fn only_stores(&mut self, to: &[[u64; 2]], syncs: usize) -> Result<(), String> {
        let effects = &self.world.effects[self.seen..];
        self.seen = self.world.effects.len();
        let is_sync = |effect: &&Effect<W>| **effect == Effect::Membar(0x40);
        let found = effects.iter().filter(is_sync).count();
        let base = self.world.state.block;
        let others = effects.iter().filter(|effect| !is_sync(effect));
        if let Some(other) = others.into_iter().find(|effect| !is_store_to(effect, base, to)) {
            return Err(format!("effect: {other:?}"));
        }
        if found == syncs { Ok(()) } else { Err(format!("{found} membar #Sync")) }
    }

    /// Takes the effects since the last comparison, for a comparison by the caller.
    pub(crate) fn effects(&mut self) -> Vec<Effect<W>> {
        let effects = self.world.effects[self.seen..].to_vec();
        self.seen = self.world.effects.len();
        effects
    }

    /// Returns pairs of words that must be equal: the words of the block from an offset on, and `words`.
    pub(crate) fn block_pairs(&self, from: u64, words: &[W]) -> Vec<(W, W)> {
        (from..).step_by(8).zip(words).map(|(at, word)| (self.block_word(at), *word)).collect()
    }

    /// Changes all registers that Rust code may clobber: the globals except %g6 (the strand's block), %ccr and %y.
    pub(crate) fn clobber_registers(&mut self, kind: &'static str) {
        for (register, word) in (1..8).zip(self.eight(kind)) {
            if register != 6 {
                self.strand.registers.set(Register::new(register), word);
            }
        }
        self.strand.ccr = self.any("rust_ccr", !0xff).byte();
        self.strand.y = self.any("rust_y", !0xffff_ffff).half();
    }

    /// Sets eight registers of the current window.
    pub(crate) fn set_eight(&mut self, first: u32, words: [W; 8]) {
        strands::set_eight(&mut self.strand, first, words);
    }
}

fn is_store_to<W: Word>(effect: &Effect<W>, base: W, to: &[[u64; 2]]) -> bool {
    let Effect::Store { address, shift: 3, .. } = *effect else {
        return false;
    };
    let offset = address.minus(base).known();
    offset.is_ok_and(|offset| to.iter().any(|[first, end]| (*first..*end).contains(&offset)))
}
