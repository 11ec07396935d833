//! What a strand has beside the registers that its instructions name.

use std::collections::{BTreeMap, VecDeque};

use super::physical::{PAGE_SHIFT, PageNumber};
use super::stores::LateStore;
use crate::interpreter::{Level, Timer};

/// Whether a strand executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It executes nothing until another strand lets it run.
    #[default]
    Parked,
    /// It executes.
    Running,
    /// It executes nothing until an interrupt waits for it.
    Halted,
    /// It has trapped at its highest trap level, and executes nothing any more.
    Error,
}

/// What a strand has executed, by [`Level`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that completed, and software traps.
    pub instructions: [u64; 3],
    /// The cycles of these, and of traps.
    pub cycles: [u64; 3],
    /// Traps that were taken, interrupts among them.
    pub traps: u64,
}

impl Counts {
    /// Returns the instructions of all levels.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.instructions.iter().sum()
    }
}

/// A page that the strand has used, by the addresses that its software uses.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The number of the page in the address space, times 2; plus 1 if addresses are physical.
    key: u64,
    page: PageNumber,
    /// What to add to an address for the physical one.
    offset: u64,
    writable: bool,
}

/// Pages that the strand has used.
const KNOWN: usize = 128;

/// State of a strand beside its registers.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) state: State,
    pub(super) counts: Counts,
    data: Box<[Option<Known>; KNOWN]>,
    code: Option<Known>,
    /// What %tick and %stick have more than the time.
    pub(super) tick_offset: u64,
    /// Interrupts that were received and are not served, by vector.
    pub(super) vectors: u64,
    /// Interrupts on their way: when they arrive, and their vectors.
    inbox: Vec<(u64, u8)>,
    /// When the timers match, and for which counts.
    timers: [Armed; Timer::ALL.len()],
    pub(super) stores: VecDeque<LateStore>,
    /// A store that failed, until DFESR is read; what the store buffer has of the last one; and whether the trap is still to come.
    pub(super) failed: Option<LateStore>,
    pub(super) reported: Option<LateStore>,
    pub(super) failing: bool,
    /// When something happens to the strand that its software does not do.
    pub(super) due: u64,
    /// The partition whose real addresses it uses.
    pub(super) partition: u8,
    /// Registers in alternate spaces that have no other place here.
    pub(super) registers: BTreeMap<(u8, u64), u64>,
    /// How the counters see the strand: its level, and whether it takes overflow traps.
    pub(super) seen: (Level, bool),
    /// Instructions that can be executed before the counters have to be told of them.
    pub(super) quiet: u64,
    /// Whether a counter counts in some mode.
    pub(super) counting: bool,
}

/// A timer: the count and the offset of the time that it was set with, and when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Armed {
    compare: Option<u64>,
    offset: u64,
    at: u64,
}

/// Never comes.
pub(super) const NEVER: u64 = u64::MAX;

impl Local {
    pub(super) fn new() -> Self {
        Self {
            state: State::Parked,
            counts: Counts::default(),
            data: Box::new([None; KNOWN]),
            code: None,
            tick_offset: 0,
            vectors: 0,
            inbox: Vec::new(),
            timers: [Armed { compare: None, offset: 0, at: NEVER }; Timer::ALL.len()],
            stores: VecDeque::new(),
            failed: None,
            reported: None,
            failing: false,
            due: NEVER,
            partition: 0,
            registers: BTreeMap::new(),
            seen: (Level::User, true),
            quiet: NEVER,
            counting: false,
        }
    }

    /// Returns the page of an instruction, and its physical address, if the strand has just used it.
    #[inline(always)]
    pub(super) fn code(&self, address: u64, physical: bool) -> Option<(PageNumber, u64)> {
        let known = self.code.as_ref()?;
        (known.key == key(address, physical))
            .then(|| (known.page, address.wrapping_add(known.offset)))
    }

    /// Returns the page of data, and its physical address, if the strand has used it and may do so.
    #[inline(always)]
    pub(super) fn data(
        &self,
        address: u64,
        physical: bool,
        write: bool,
    ) -> Option<(PageNumber, u64)> {
        let known = self.data[place(address)].as_ref()?;
        (known.key == key(address, physical) && (known.writable || !write))
            .then(|| (known.page, address.wrapping_add(known.offset)))
    }

    /// Remembers the page of an instruction.
    pub(super) fn know_code(
        &mut self,
        address: u64,
        bypass: bool,
        page: PageNumber,
        physical: u64,
    ) {
        self.code = Some(Known {
            key: key(address, bypass),
            page,
            offset: physical.wrapping_sub(address),
            writable: false,
        });
    }

    /// Remembers a page of data.
    pub(super) fn know_data(
        &mut self,
        address: u64,
        bypass: bool,
        page: PageNumber,
        physical: u64,
        writable: bool,
    ) {
        self.data[place(address)] = Some(Known {
            key: key(address, bypass),
            page,
            offset: physical.wrapping_sub(address),
            writable,
        });
    }

    /// Translation has changed.
    pub(super) fn forget_pages(&mut self) {
        self.code = None;
        *self.data = [None; KNOWN];
    }

    /// An interrupt is on its way.
    pub(super) fn send(&mut self, arrives: u64, vector: u8) {
        self.inbox.push((arrives, vector));
        self.due = self.due.min(arrives);
    }

    /// Takes the interrupts that have arrived.
    pub(super) fn receive(&mut self, now: u64) {
        let vectors = &mut self.vectors;
        self.inbox.retain(|(arrives, vector)| {
            let arrived = *arrives <= now;
            *vectors |= u64::from(arrived) << vector;
            !arrived
        });
    }

    /// Sets a timer, if its compare register or the offset of the time has changed: `at` returns when it matches.
    pub(super) fn arm(
        &mut self,
        timer: Timer,
        compare: Option<u64>,
        at: impl FnOnce(u64, u64) -> u64,
    ) {
        let offset = self.tick_offset;
        let armed = &mut self.timers[timer as usize];
        if (armed.compare, armed.offset) != (compare, offset) {
            let at = compare.map_or(NEVER, |compare| at(compare, offset));
            *armed = Armed { compare, offset, at };
            self.due = self.due.min(at);
        }
    }

    /// Returns whether a timer matches, which it does once.
    pub(super) fn matches(&mut self, timer: Timer, now: u64) -> bool {
        let armed = &mut self.timers[timer as usize];
        let matches = armed.at <= now;
        if matches {
            armed.at = NEVER;
        }
        matches
    }

    /// Finds out when something happens next.
    pub(super) fn renew_due(&mut self) {
        let inbox = self.inbox.iter().map(|(arrives, _)| *arrives);
        let timers = self.timers.iter().map(|armed| armed.at);
        let stores = self.stores.front().map(|store| store.completes);
        self.due = inbox.chain(timers).chain(stores).min().unwrap_or(NEVER);
    }
}

#[inline(always)]
const fn key(address: u64, physical: bool) -> u64 {
    (address >> PAGE_SHIFT) * 2 + physical as u64
}

#[inline(always)]
const fn place(address: u64) -> usize {
    (address >> PAGE_SHIFT) as usize % KNOWN
}
