//! Accounts for what each thread does. A thread's state lasts from the event that begins it until the event that ends it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use refs::{Acquire, BLOCKING_CALLS};

use super::timeline::Columns;
use crate::run::{LockRun, LockSite, State, States, TimeLine, WaitFor, WaitPlace, Waits};

/// The maximum number of locks that are counted. Any further locks are ignored.
const MAX_LOCKS: usize = 1 << 16;

/// The maximum number of instructions for which waits in the state `Recorded` are counted separately. Waits after any further
/// instruction are counted as waits without an instruction.
const MAX_WAIT_PLACES: usize = 1 << 16;

/// The states of all threads, and what the threads waited for.
#[derive(Debug)]
pub(super) struct Accounts {
    threads: Vec<ThreadAccount>,
    /// How often and how long one thread waited for another. The key is the waiting thread, the thread that ended the wait, and the
    /// waiting thread's state.
    pairs: HashMap<(usize, usize, State), Count>,
    /// The waits for each lock, by program and address.
    locks: HashMap<(usize, u64), LockCount>,
    calls: [u64; BLOCKING_CALLS.len()],
    /// How often threads waited in the state `Recorded`, by program and by the instruction before the wait.
    recorded: HashMap<(usize, Option<u64>), u64>,
    pub(super) kept_orders: u64,
    pub(super) left_out: u64,
    /// What threads do over time; `None` if no time line is collected.
    columns: Option<Box<Columns>>,
    /// The time from which states and waits are counted.
    began: u64,
}

#[derive(Clone, Copy, Debug)]
struct ThreadAccount {
    state: State,
    since: u64,
    spent: States,
    /// The lock that the thread waits for.
    lock: Option<(usize, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    times: u64,
    cycles: u64,
}

#[derive(Debug, Default)]
struct LockCount {
    waits: Count,
    /// How often each thread took the lock at each site.
    taken: BTreeMap<(u64, usize), u64>,
}

impl Accounts {
    /// Returns the accounts of threads that have not begun.
    pub(super) fn new(threads: usize) -> Self {
        let account = ThreadAccount {
            state: State::NotBegun,
            since: 0,
            spent: States::default(),
            lock: None,
        };
        Self {
            threads: vec![account; threads],
            pairs: HashMap::new(),
            locks: HashMap::new(),
            calls: [0; BLOCKING_CALLS.len()],
            recorded: HashMap::new(),
            kept_orders: 0,
            left_out: 0,
            columns: None,
            began: 0,
        }
    }

    /// Starts to collect a time line.
    pub(super) fn collect_time_line(&mut self) {
        self.columns = Some(Box::new(Columns::new(self.threads.len())));
    }

    /// Counts states and waits from the time `began` on, and forgets earlier counts.
    pub(super) fn count_from(&mut self, began: u64) {
        self.began = began;
        for account in &mut self.threads {
            account.spent = States::default();
            // If a thread starts after `began`, the time until its start counts as not begun.
            account.spent.not_begun = account.since.saturating_sub(began);
            account.since = account.since.max(began);
        }
        self.pairs.clear();
        for lock in self.locks.values_mut() {
            *lock = LockCount::default();
        }
        (self.calls, self.kept_orders, self.left_out) = ([0; BLOCKING_CALLS.len()], 0, 0);
        self.recorded.clear();
        if self.columns.is_some() {
            self.collect_time_line();
        }
    }

    /// Returns the time line up to the time `now`; empty if none is collected.
    pub(super) fn time_line(&self, now: u64) -> TimeLine {
        let Some(mut columns) = self.columns.clone() else {
            return TimeLine::default();
        };
        for (thread, account) in self.threads.iter().enumerate() {
            columns.add(thread, account.state, account.since - self.began, now - self.began);
        }
        columns.line(now - self.began)
    }

    pub(super) fn state(&self, thread: usize) -> State {
        self.threads[thread].state
    }

    /// Returns the time at which a thread's state began, and the number of cycles that the thread had spent in each state before
    /// that time.
    pub(super) fn before_state(&self, thread: usize) -> (u64, &States) {
        let account = &self.threads[thread];
        (account.since, &account.spent)
    }

    /// Notes that a thread has been ready since the time `at`. Does nothing if it has already begun.
    pub(super) fn begin(&mut self, thread: usize, at: u64) {
        if self.state(thread) == State::NotBegun {
            self.enter(thread, State::Ready, at);
        }
    }

    /// Ends a thread's state and begins another one at the time `at`.
    pub(super) fn enter(&mut self, thread: usize, state: State, at: u64) {
        let account = &mut self.threads[thread];
        if let Some(columns) = &mut self.columns {
            let [from, to] = [account.since, at].map(|time| time.saturating_sub(self.began));
            columns.add(thread, account.state, from, to);
        }
        account.spent.add(account.state, at.saturating_sub(account.since));
        (account.state, account.since) = (state, at.max(account.since));
    }

    /// Begins a thread's wait for a lock, which is identified by program and address.
    pub(super) fn wait_for_lock(&mut self, thread: usize, lock: (usize, u64), at: u64) {
        self.enter(thread, State::Lock, at);
        self.threads[thread].lock = Some(lock);
    }

    /// Ends a thread's wait at the time `at`. `by` is the thread that ends it.
    pub(super) fn woken(&mut self, thread: usize, by: usize, at: u64) {
        let account = &mut self.threads[thread];
        let cycles = at.saturating_sub(account.since);
        let count = |count: &mut Count| {
            count.times += 1;
            count.cycles += cycles;
        };
        if account.state.waits_for_a_thread() {
            count(self.pairs.entry((thread, by, account.state)).or_default());
        }
        if let Some(lock) = account.lock.take().and_then(|lock| self.locks.get_mut(&lock)) {
            count(&mut lock.waits);
        }
    }

    /// Notes that a thread takes a lock. Does nothing if the lock is new and `MAX_LOCKS` locks are already counted.
    pub(super) fn taken(&mut self, program: usize, acquire: &Acquire, thread: usize) {
        let is_full = self.locks.len() >= MAX_LOCKS;
        let key = (program, acquire.lock);
        if is_full && !self.locks.contains_key(&key) {
            return;
        }
        let lock = self.locks.entry(key).or_default();
        *lock.taken.entry((acquire.site, thread)).or_default() += 1;
    }

    /// Notes that a thread waits after this instruction because it waited there when it was recorded.
    pub(super) fn waits_as_recorded(&mut self, program: usize, instruction: Option<u64>) {
        let is_full = self.recorded.len() >= MAX_WAIT_PLACES;
        let is_known = self.recorded.contains_key(&(program, instruction));
        let instruction = instruction.filter(|_| is_known || !is_full);
        *self.recorded.entry((program, instruction)).or_default() += 1;
    }

    pub(super) fn called(&mut self, call: u8) {
        if let Some(count) = self.calls.get_mut(usize::from(call)) {
            *count += 1;
        }
    }

    /// Returns the number of cycles that each thread has spent in each state up to the time `now`.
    pub(super) fn states(&self, now: u64) -> Vec<States> {
        let states = self.threads.iter().map(|account| {
            let mut spent = account.spent;
            spent.add(account.state, now.saturating_sub(account.since));
            // If the thread starts after `now`, its account already includes the time until its start. The part after `now` does
            // not count yet.
            spent.not_begun -= account.since.saturating_sub(now).min(spent.not_begun);
            spent
        });
        states.collect()
    }

    pub(super) fn waits(&self) -> Waits {
        let mut pairs: Vec<_> = (self.pairs.iter())
            .map(|(&(thread, ended_by, state), &Count { times, cycles })| WaitFor {
                thread,
                state,
                ended_by,
                times,
                cycles,
            })
            .collect();
        pairs.sort_unstable_by_key(|wait| {
            (Reverse(wait.cycles), wait.thread, wait.ended_by, wait.state)
        });
        pairs.truncate(Waits::MAX_ENTRIES);
        let used = self.locks.iter().filter(|(_, lock)| !lock.is_unused());
        let mut locks: Vec<_> = used
            .map(|(&(program, address), lock)| LockRun {
                program,
                address,
                taken: lock.taken.values().sum(),
                waits: lock.waits.times,
                cycles: lock.waits.cycles,
                sites: lock.sites(),
            })
            .collect();
        locks.sort_unstable_by_key(|lock| {
            (Reverse((lock.cycles, lock.taken)), lock.program, lock.address)
        });
        locks.truncate(Waits::MAX_ENTRIES);
        let mut places: Vec<_> = (self.recorded.iter())
            .map(|(&(program, address), &waits)| WaitPlace { program, address, waits })
            .collect();
        places.sort_unstable_by_key(|place| (Reverse(place.waits), place.program, place.address));
        let as_recorded = places.iter().map(|place| place.waits).sum();
        places.truncate(Waits::MAX_ENTRIES);
        let calls = BLOCKING_CALLS.iter().zip(self.calls);
        let calls = calls.filter(|(_, count)| *count > 0);
        Waits {
            pairs,
            locks,
            calls: calls.map(|(name, count)| ((*name).to_owned(), count)).collect(),
            as_recorded,
            recorded_at: places,
            kept_orders: self.kept_orders,
            left_out: self.left_out,
        }
    }
}

impl LockCount {
    fn is_unused(&self) -> bool {
        self.taken.is_empty() && self.waits.times == 0
    }

    fn sites(&self) -> Vec<LockSite> {
        let mut sites: Vec<LockSite> = Vec::new();
        for (&(address, _), &taken) in &self.taken {
            match sites.last_mut().filter(|site| site.address == address) {
                Some(site) => {
                    site.threads += 1;
                    site.least = site.least.min(taken);
                    site.most = site.most.max(taken);
                }
                None => sites.push(LockSite { address, threads: 1, least: taken, most: taken }),
            }
        }
        sites
    }
}
