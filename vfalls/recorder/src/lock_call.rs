//! Follows a thread's calls of lock functions, and the locks that the thread holds.
//!
//! A *section* is what a thread does while it holds a lock. An *order* is a log entry that says, for example, that the thread takes a lock,
//! or waits for a signal.
//!
//! Of a lock function, the recording contains only the blocks that a thread executes if it does not have to wait. It contains each of these
//! blocks once. Repetitions of a block, and functions that the lock function calls, depend on the host, so their blocks are left out. In
//! their place, the replay puts the wait on the simulated machine.
//!
//! Simplifications: A signal handler that interrupts a lock function can end the call. The blocks of such a handler may be missing from the
//! recording. If a thread leaves a lock function without returning from it, the recorder notices this only after the thread has executed
//! many blocks. The recorder does not know spin locks that `pthread_spin_trylock` takes, timed waits for semaphores and read-write locks,
//! or locks of other libraries.

mod call;

use std::collections::HashMap;
use std::sync::Mutex;

use refs::{Acquire, Cause, Definitions, Log, Order, Placeholder, Semaphore};

use crate::decode::Architecture;
use crate::flow::{Section, Uses};
use crate::functions::Function;
use crate::lock;
use crate::objects::Objects;
use crate::order::Orders;

pub(crate) use call::BlockFacts;
use call::LockCall;

/// The state that all threads of the process share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) objects: &'a Objects,
    pub(crate) orders: &'a Orders,
    pub(crate) definitions: &'a Mutex<Definitions>,
    pub(crate) target: Architecture,
    /// Returns the kernel's id of the calling thread.
    pub(crate) tid: fn() -> u32,
}

/// A lock that the thread holds, and the open section of this lock.
#[derive(Debug)]
struct HeldLock {
    lock: u64,
    /// The log position of the order that takes the lock. If a wait must come before this order, the wait is inserted here.
    place: Placeholder,
    /// How far the section has been examined: a length of the log, in words.
    from: usize,
    /// The signal that marks the section's end; `None` until the section's accesses are examined.
    end: Option<u64>,
    signals: bool,
    /// Whether the thread took the lock at the end of a wait for a condition, and a signal ended this wait.
    is_woken: bool,
    /// What the section's examined accesses did.
    uses: Uses,
    /// Whether the log has been encoded since the section began.
    is_closed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct LockCalls {
    call: Option<LockCall>,
    held: Vec<HeldLock>,
    /// The lock that the thread released last, with the section that ended at the release.
    latest: Option<(u64, Section)>,
    /// For every other thread and each lock, the latest section that this thread must stay after. The key is the other thread's number and
    /// the lock's address. The value is the number of the section's signal plus 1.
    seen: HashMap<(u32, u64), u64>,
}

impl LockCalls {
    /// Returns `true` while the thread executes a lock function.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        self.call.is_some()
    }

    /// Returns `true` if the log must not be encoded yet, because some of its orders are not known yet.
    pub(crate) fn is_open(&self) -> bool {
        self.call.is_some() || !self.held.is_empty()
    }

    /// Closes the open calls and sections, because the log is about to be encoded. An unfinished call of a lock function gets no order in
    /// the log, unless the call waits for a condition: such a call gets the order that releases the mutex. The rest of an open section is
    /// not known, so all later sections of the same lock stay after this section.
    pub(crate) fn close(&mut self, thread: u32, log: &mut Log, shared: Shared<'_>) {
        if let Some(call) = self.call.take() {
            call.give_up(log);
        }
        for at in 0..self.held.len() {
            if let Some(section) = self.examine(at, thread, log, shared) {
                let held = &mut self.held[at];
                held.is_closed = true;
                lock(&shared.objects.flow(held.lock)).unknown_section(section);
            }
        }
    }

    /// Ends the open calls and sections, and releases all locks, because the thread's recording pauses.
    pub(crate) fn pause(&mut self, thread: u32, log: &mut Log, shared: Shared<'_>) {
        self.close(thread, log, shared);
        while let Some(last) = self.held.len().checked_sub(1) {
            let place = log.placeholder();
            self.release(last, thread, log, place, shared);
        }
    }

    /// Notes that a block begins. Must be called before the block is logged, for each block that a thread executes inside a lock function,
    /// and for the first block of a lock function.
    pub(crate) fn block(
        &mut self,
        block: BlockFacts,
        thread: u32,
        log: &mut Log,
        shared: Shared<'_>,
    ) {
        if let Some(mut call) = self.call.take() {
            self.find_object(&mut call, thread, log, shared);
            call.end_block(log);
            if call.returns() {
                let site = lock(shared.definitions).address(block.number());
                self.end(call, thread, log, shared, site);
            } else if call.begin_block(block, log.len()) {
                self.call = Some(call);
                return;
            } else {
                call.give_up(log);
            }
        }
        if let Some(function) = block.entered() {
            self.begin(function, block, thread, log, shared);
        }
    }

    fn begin(
        &mut self,
        function: Function,
        block: BlockFacts,
        thread: u32,
        log: &mut Log,
        shared: Shared<'_>,
    ) {
        let place = log.placeholder();
        let mut call = LockCall::new(function, block, place, log.len());
        match function {
            // The function releases a lock, whose section must be examined first. The lock is not known yet, so the sections of all locks
            // are examined.
            Function::Unlock | Function::Wait | Function::TimedWait => {
                for at in 0..self.held.len() {
                    self.examine(at, thread, log, shared);
                }
            }
            Function::Signal | Function::Broadcast => {
                call.signal = Some(shared.orders.signal());
                match (self.held.last_mut(), self.latest) {
                    (Some(held), _) => held.signals = true,
                    (None, Some((lock, section))) => shared.objects.mark_signalling(lock, section),
                    (None, None) => {}
                }
            }
            _ => {}
        }
        call.from = log.len();
        self.call = Some(call);
    }

    /// Looks for the call's object in the accesses of the latest block, if the object is not known yet.
    fn find_object(&mut self, call: &mut LockCall, thread: u32, log: &mut Log, shared: Shared<'_>) {
        self.find_mutex(call, thread, log, shared);
        if call.object.is_some() || call.depth > 0 {
            return;
        }
        let block = call.block.number();
        let mut stores = log.accesses(call.from).filter(|access| access.place.is_store());
        let object = stores.find(|access| match call.function {
            // An inner unlock of a recursive mutex does not store to the mutex's first word.
            Function::Unlock => self.held.iter().any(|held| held.lock == access.address),
            _ => lock(shared.definitions).is_atomic(block, access.place.instruction()),
        });
        call.object = object.map(|access| access.address);
        let Some(object) = call.object else { return };
        match call.function {
            Function::Wait | Function::TimedWait => shared.objects.wait(object, thread),
            Function::Signal | Function::Broadcast => {
                let all = call.function == Function::Broadcast;
                if let Some(signal) = call.signal {
                    shared.objects.wake(object, signal, all);
                }
            }
            _ => {}
        }
    }

    /// Ends a call that has returned to the address `site`.
    fn end(&mut self, call: LockCall, thread: u32, log: &mut Log, shared: Shared<'_>, site: u64) {
        let place = call.place;
        call.log_omitted(log);
        match (call.function, call.object) {
            (Function::Unlock, Some(lock)) => {
                if let Some(at) = self.held_at(lock) {
                    let place = log.placeholder();
                    self.release(at, thread, log, place, shared);
                }
            }
            (Function::Wait | Function::TimedWait, object) => {
                let woken = object.and_then(|condition| shared.objects.end_wait(condition, thread));
                if let Some(signal) = woken {
                    log.order(Order::Wait(Cause::Condition, signal));
                }
                let place = log.placeholder();
                if let Some(lock) = call.mutex {
                    self.acquire(Acquire { lock, shared: false, site }, place, log);
                    if let Some(held) = self.held.last_mut() {
                        held.is_woken = woken.is_some();
                    }
                }
            }
            (Function::Signal | Function::Broadcast, Some(_)) => {
                if let Some(signal) = call.signal {
                    log.put_first(place, Order::Signal(signal));
                }
            }
            (Function::Lock | Function::WriteLock | Function::TryWriteLock, Some(lock)) => {
                self.acquire(Acquire { lock, shared: false, site }, place, log);
            }
            (Function::ReadLock | Function::TryReadLock, Some(lock)) => {
                self.acquire(Acquire { lock, shared: true, site }, place, log);
            }
            (Function::TryLock, Some(lock)) => {
                /// The offset of the owner's thread id in a GNU C library mutex, in bytes.
                const OWNER: u64 = 8;
                if shared.target.word(lock + OWNER) == Some((shared.tid)()) {
                    self.acquire(Acquire { lock, shared: false, site }, place, log);
                }
            }
            (Function::Barrier, Some(barrier)) => {
                /// The offset of the thread count in a GNU C library barrier, in bytes.
                const COUNT: u64 = 8;
                let threads = shared.target.word(barrier + COUNT).unwrap_or(0);
                if threads > 0 {
                    log.put_first(place, Order::Arrive { barrier, threads });
                }
            }
            (Function::Take | Function::TryTake, Some(address)) => {
                let first = shared
                    .objects
                    .semaphore(address, || shared.target.low_word(address).wrapping_add(1));
                log.put_first(place, Order::Take(Semaphore { address, first }));
            }
            (Function::Post, Some(address)) => {
                let first = shared
                    .objects
                    .semaphore(address, || shared.target.low_word(address).saturating_sub(1));
                log.put_first(place, Order::Post(Semaphore { address, first }));
            }
            _ => {}
        }
    }

    fn acquire(&mut self, acquire: Acquire, place: Placeholder, log: &mut Log) {
        log.put_first(place, Order::Acquire(acquire));
        let (lock, from) = (acquire.lock, log.len());
        self.held.push(HeldLock {
            lock,
            place,
            from,
            end: None,
            signals: false,
            is_woken: false,
            uses: Uses::default(),
            is_closed: false,
        });
    }

    /// Returns the index in `held` of the lock at this address; `None` if the thread does not hold this lock.
    fn held_at(&self, lock: u64) -> Option<usize> {
        self.held.iter().rposition(|held| held.lock == lock)
    }

    /// If the call is a wait for a condition, looks in the latest block of the call for the mutex that the wait releases. The mutex is a
    /// lock that the thread holds and to which the block stores. Ends the mutex's section.
    fn find_mutex(&mut self, call: &mut LockCall, thread: u32, log: &mut Log, shared: Shared<'_>) {
        let is_wait = matches!(call.function, Function::Wait | Function::TimedWait);
        if !is_wait || call.mutex.is_some() {
            return;
        }
        let mut stores = log.accesses(call.from).filter(|access| access.place.is_store());
        let mutex = stores.find_map(|access| self.held_at(access.address));
        drop(stores);
        call.mutex = mutex.map(|at| self.release(at, thread, log, call.place, shared));
    }

    /// Examines what the thread has done since it took a lock, or since the latest examination. Finds the sections that must come before
    /// the thread's section of this lock. For each of them, inserts a wait into the log, before the order that took the lock. Returns the
    /// thread's section. Returns `None` if the start of this section has been encoded already, because the log then no longer contains the
    /// order that took the lock.
    fn examine(
        &mut self,
        at: usize,
        thread: u32,
        log: &mut Log,
        shared: Shared<'_>,
    ) -> Option<Section> {
        let held = self.held.get_mut(at).filter(|held| !held.is_closed)?;
        let signal = *held.end.get_or_insert_with(|| shared.orders.signal());
        let section = Section { thread, signal };
        let flow = shared.objects.flow(held.lock);
        let mut flow = lock(&flow);
        if held.signals {
            flow.mark_signalling(section);
        }
        let accesses = log.accesses(held.from);
        let accesses = accesses
            .map(|access| (access.address, access.place.size().into(), access.place.is_store()));
        for earlier in flow.section(section, &mut held.uses, accesses) {
            // The sections of one thread for one lock end in the order of their signals, so it is enough to wait for the latest one.
            let seen = self.seen.entry((earlier.thread, held.lock)).or_insert(earlier.signal);
            if earlier.signal >= *seen {
                *seen = earlier.signal + 1;
                // The recording host determined whether the thread found the condition already true, or waited for it. In the replay, a
                // thread that arrives before the signal waits for the condition.
                let cause = match flow.has_signalled(earlier) && !held.is_woken {
                    true => Cause::Condition,
                    false => Cause::Section,
                };
                log.put_first(held.place, Order::Wait(cause, earlier.signal));
            }
        }
        held.from = log.len();
        Some(section)
    }

    /// Ends a section, and inserts the order that releases the lock into the log at `place`. Returns the address of the lock.
    fn release(
        &mut self,
        at: usize,
        thread: u32,
        log: &mut Log,
        place: Placeholder,
        shared: Shared<'_>,
    ) -> u64 {
        let HeldLock { lock, end, .. } = self.held.remove(at);
        let signal = end.unwrap_or_else(|| shared.orders.signal());
        log.put_first(place, Order::Release { lock, signal });
        self.latest = Some((lock, Section { thread, signal }));
        lock
    }
}

#[cfg(test)]
mod tests;
