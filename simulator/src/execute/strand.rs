//! A strand's state, except the registers that instructions name.

use std::collections::{BTreeMap, VecDeque};

use super::buffers::StoreBuffer;
use super::niagara::Niagara;
use super::physical::{PAGE_SHIFT, PageNumber};
use super::stores::{Entries, PendingStore};
use super::ticks::TickRegister;
use crate::interpreter::{Level, Timer};

/// A strand's state: whether the strand executes instructions, or why it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The strand waits until another strand starts it.
    #[default]
    Parked,
    /// The strand executes instructions.
    Running,
    /// The strand waits until an interrupt is pending for it.
    Halted,
    /// The strand has trapped at its highest trap level, and executes nothing more.
    Error,
}

/// How many instructions and traps a strand has executed, and how many cycles they took. Instructions and cycles are counted separately for
/// each [`Level`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of completed instructions, including those that take a software trap.
    pub instructions: [u64; 3],
    /// The number of cycles that the counted instructions and all traps took.
    pub cycles: [u64; 3],
    /// The number of traps, including interrupts.
    pub traps: u64,
}

impl Counts {
    /// Returns the number of instructions at all levels together.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.instructions.iter().sum()
    }
}

/// A page that the strand has used and remembers, so that it need not translate the page's addresses again.
#[derive(Clone, Copy, Debug)]
struct CachedPage {
    /// Twice the page's number in the address space, plus 1 if addresses are physical.
    key: u64,
    page: PageNumber,
    /// The difference between physical addresses in the page and the strand's addresses, modulo 2^64.
    offset: u64,
    writable: bool,
}

impl CachedPage {
    #[inline(always)]
    fn at(&self, address: u64) -> (PageNumber, u64) {
        (self.page, address.wrapping_add(self.offset))
    }
}

/// The maximum number of data pages that a strand remembers.
const MAX_CACHED_PAGES: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) state: State,
    pub(super) counts: Counts,
    data: Box<[Option<CachedPage>; MAX_CACHED_PAGES]>,
    code: Option<CachedPage>,
    pub(super) tick: TickRegister,
    pub(super) stick: TickRegister,
    /// Interrupts that the strand has received but not served: a bit for each vector.
    pub(super) vectors: u64,
    /// Interrupts on their way, each with its arrival time and vector.
    inbox: Vec<(u64, u8)>,
    timers: [ArmedTimer; Timer::ALL.len()],
    pub(super) stores: VecDeque<PendingStore>,
    pub(super) entries: Entries,
    /// The stores that wait in a machine with store buffers.
    pub(super) waiting: StoreBuffer,
    /// A store that failed. It stays here until DFESR is read.
    pub(super) failed: Option<PendingStore>,
    /// The failed store that the latest read of DFESR reported.
    pub(super) reported: Option<PendingStore>,
    /// Whether the trap for a failed store is pending.
    pub(super) failing: bool,
    /// The earliest time at which an interrupt arrives, a timer matches or a store completes.
    pub(super) due: u64,
    /// The partition whose real addresses the strand uses.
    pub(super) partition: u8,
    /// The values of registers in alternate spaces: the scratchpads, the tag and fault address registers, and the registers that have no
    /// effect in this machine. The key is the ASI and the address.
    pub(super) registers: BTreeMap<(u8, u64), u64>,
    /// The state about which the strand's counters were last told: the strand's level, and whether the strand can take overflow traps.
    pub(super) seen: (Level, bool),
    /// The number of instructions during which no counter can overflow, so that the counters need not be updated.
    pub(super) quiet: u64,
    /// Whether at least one of the %pcr bits that let the counters count is set.
    pub(super) counting: bool,
}

/// A timer that matches at the time `at`. When it was set, its compare register was `compare`, and its clock had changed `changes` times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ArmedTimer {
    compare: Option<u64>,
    changes: u64,
    at: u64,
}

/// The time of an event that never happens.
pub(super) const NEVER: u64 = u64::MAX;

impl Local {
    pub(super) fn new() -> Self {
        Self {
            state: State::Parked,
            counts: Counts::default(),
            data: Box::new([None; MAX_CACHED_PAGES]),
            code: None,
            tick: TickRegister::default(),
            stick: TickRegister::default(),
            vectors: 0,
            inbox: Vec::new(),
            timers: [ArmedTimer { compare: None, changes: 0, at: NEVER }; Timer::ALL.len()],
            stores: VecDeque::new(),
            entries: Entries::default(),
            waiting: StoreBuffer::default(),
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

    /// Returns the page and the physical address of an instruction, if the latest instruction was on the same page.
    #[inline(always)]
    pub(super) fn code(&self, address: u64, bypass: bool) -> Option<(PageNumber, u64)> {
        let known = self.code.as_ref()?;
        (known.key == key(address, bypass)).then(|| known.at(address))
    }

    /// Returns the page and the physical address of data, if the strand remembers the page and the access is allowed.
    #[inline(always)]
    pub(super) fn data(
        &self,
        address: u64,
        bypass: bool,
        write: bool,
    ) -> Option<(PageNumber, u64)> {
        let known = self.data[slot(address)].as_ref()?;
        (known.key == key(address, bypass) && (known.writable || !write)).then(|| known.at(address))
    }

    pub(super) fn know_code(
        &mut self,
        address: u64,
        bypass: bool,
        page: PageNumber,
        physical: u64,
    ) {
        let (key, offset) = (key(address, bypass), physical.wrapping_sub(address));
        self.code = Some(CachedPage { key, page, offset, writable: false });
    }

    pub(super) fn know_data(
        &mut self,
        address: u64,
        bypass: bool,
        page: PageNumber,
        physical: u64,
        writable: bool,
    ) {
        let (key, offset) = (key(address, bypass), physical.wrapping_sub(address));
        self.data[slot(address)] = Some(CachedPage { key, page, offset, writable });
    }

    pub(super) fn forget_pages(&mut self) {
        self.code = None;
        *self.data = [None; MAX_CACHED_PAGES];
    }

    pub(super) fn send(&mut self, arrives: u64, vector: u8) {
        self.inbox.push((arrives, vector));
        self.due = self.due.min(arrives);
    }

    /// Withdraws an interrupt that has not arrived.
    pub(super) fn withdraw(&mut self, arrives: u64, vector: u8) {
        if let Some(at) = self.inbox.iter().position(|sent| *sent == (arrives, vector)) {
            self.inbox.remove(at);
        }
        self.renew_due();
    }

    pub(super) fn receive(&mut self, now: u64) {
        let vectors = &mut self.vectors;
        self.inbox.retain(|(arrives, vector)| {
            let arrived = *arrives <= now;
            *vectors |= u64::from(arrived) << vector;
            !arrived
        });
    }

    /// Sets a timer again if its compare register or its clock has changed. The timer matches when the clock reaches the compare value, but
    /// not if the clock has passed it or jumps over it. If the clock is set back, the timer matches when the clock next reaches the value.
    pub(super) fn arm(&mut self, timer: Timer, compare: Option<u64>, niagara: Niagara, now: u64) {
        let clock = match timer {
            Timer::Tick => &self.tick,
            Timer::Stick | Timer::HyperStick => &self.stick,
        };
        let armed = &mut self.timers[timer as usize];
        if (armed.compare, armed.changes) != (compare, clock.changes) {
            let at = match compare.and_then(|compare| clock.time_of(compare, niagara)) {
                // The strand has not noticed the latest match yet, so the match remains.
                _ if armed.at <= now => armed.at,
                Some(at) if at > now => at,
                _ => NEVER,
            };
            *armed = ArmedTimer { compare, changes: clock.changes, at };
            self.due = self.due.min(at);
        }
    }

    /// Returns whether a timer matches now. A timer matches only once until it is set again.
    pub(super) fn matches(&mut self, timer: Timer, now: u64) -> bool {
        let armed = &mut self.timers[timer as usize];
        let matches = armed.at <= now;
        if matches {
            armed.at = NEVER;
        }
        matches
    }

    /// Notes at the time `now` that a store to this physical address has failed.
    pub(super) fn fail_store(&mut self, physical: u64, now: u64) {
        let entry = self.entries.take(physical);
        self.note_failed(PendingStore::failed(physical, entry), now);
    }

    /// Notes at the time `now` that a store has failed. The strand then takes the trap, even if it is halted.
    pub(super) fn note_failed(&mut self, store: PendingStore, now: u64) {
        self.failing |= self.failed.replace(store).is_none();
        self.due = self.due.min(now);
    }

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
const fn slot(address: u64) -> usize {
    (address >> PAGE_SHIFT) as usize % MAX_CACHED_PAGES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::clocks::Change;

    /// A strand notices a match only after the current instruction ends. The clock may change before that.
    #[test]
    fn a_match_stays_when_the_clock_changes() {
        let clock = Niagara(false);
        let mut local = Local::new();
        local.arm(Timer::Stick, Some(100), clock, 0);
        assert_eq!(local.due, 100);
        for change in [Change::Stop, Change::Jump(-1000)] {
            local.stick.change(change, 110);
            local.arm(Timer::Stick, Some(100), clock, 110);
            assert_eq!(local.due, 100);
        }
        assert!(local.matches(Timer::Stick, 120));
        assert!(!local.matches(Timer::Stick, 130));
    }
}
