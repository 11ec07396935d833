//! Orders: actions with which threads wait for other threads, or let other threads continue.

use super::bytes::{Rest, put_signed, put_varint};

/// An action of a thread that makes the thread wait for other threads, or lets other threads continue.
///
/// A signal has a number. It is sent once, by one thread. Any number of threads may wait for it. In the recorded execution, each wait ended
/// after its signal was sent, so waits never form a cycle.
///
/// Locks, semaphores and barriers are objects of the recorded program. An order identifies an object by its address. The recording does not
/// say which thread gets a lock first: the replay decides. There is one exception. A thread executes a *section* between taking a lock and
/// releasing it. If a section has used the results of another thread's section of the same lock, a wait with the cause
/// [section](Cause::Section) keeps the two sections in their recorded order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// A thread that wakes another thread or ends sends the signal with this number. The thread's earlier references come before all
    /// references that follow a wait for this signal.
    Signal(u64),
    /// A thread starts another thread, and sends the signal with this number.
    Start(u64),
    /// A thread waits for the signal with this number. Its further references come after the signal.
    Wait(Cause, u64),
    /// A thread takes a lock. It first waits until the lock is free. Threads that share a lock can hold it at the same time.
    Acquire(Acquire),
    /// A thread releases a lock, and sends a signal.
    Release {
        /// The lock's address in the recorded program.
        lock: u64,
        /// The number of the signal that this release sends. A thread that must not continue before this release waits for the signal.
        signal: u64,
    },
    /// A thread decrements a semaphore. It first waits until the semaphore is above 0.
    Take(Semaphore),
    /// A thread increments a semaphore.
    Post(Semaphore),
    /// A thread arrives at a barrier, and waits until `threads` threads have arrived.
    Arrive {
        /// The barrier's address in the recorded program.
        barrier: u64,
        /// The number of threads in a round of the barrier, at least 1.
        threads: u32,
    },
    /// A thread sleeps. The number is the time that the thread asked for, in nanoseconds.
    Sleep(u64),
    /// A thread makes a system call that may block. The number is the call's index in [`BLOCKING_CALLS`]. The duration of the call depends
    /// on the recording host, so the call takes no time in a replay.
    Call(u8),
    /// The recording omits this number of references, which the thread performed while it waited inside a lock function.
    LeftOut(u64),
}

/// How a thread takes a lock, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Acquire {
    /// The lock's address in the recorded program.
    pub lock: u64,
    /// Whether the thread shares the lock with other threads that also take it shared, as the readers of a read-write lock do.
    pub shared: bool,
    /// The return address of the call that takes the lock.
    pub site: u64,
}

/// A semaphore of the recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semaphore {
    /// The semaphore's address in the recorded program.
    pub address: u64,
    /// The semaphore's value before the recording's first action on it.
    pub first: u32,
}

/// The bit that marks signals about processes. All processes in a file share these signals.
const OF_PROCESS: u64 = 1 << 59;

/// Returns the signal with which another process starts this process.
#[must_use]
pub const fn process_begins(process: u32) -> u64 {
    OF_PROCESS | (process as u64) << 1
}

/// Returns the signal that a process sends when it ends. No thread logs this signal: a replay sends it after the process's last reference.
#[must_use]
pub const fn process_ends(process: u32) -> u64 {
    process_begins(process) | 1
}

/// Returns `true` if this signal is the [start](process_begins) or the [end](process_ends) of a process.
#[must_use]
pub const fn is_of_process(signal: u64) -> bool {
    signal & OF_PROCESS != 0
}

/// The reason for which a thread waits for a signal. A *section* is what a thread executes between taking a lock and releasing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Cause {
    /// Another thread wakes this thread, as in the recorded execution. The recorder does not know the object that this thread waited for.
    Wake = 0,
    /// Another thread starts this thread. The other thread may be in another process.
    Start = 1,
    /// Another thread or another process ends. For example, this thread joins the other thread.
    Thread = 2,
    /// Another thread signals a condition variable, which wakes the waiting thread. This cause also covers a second case: another thread
    /// leaves a section in which it has signalled a condition variable, and a later section of the waiting thread has used the results of
    /// that section.
    Condition = 3,
    /// Another thread leaves a section of the same lock, and a later section of the waiting thread has used the results of that section.
    /// The wait is not for a condition variable.
    Section = 4,
}

/// The names of the Linux system calls that may block, except calls that sleep for a stated time or wait for another thread.
pub const BLOCKING_CALLS: [&str; 24] = [
    "read",
    "poll",
    "select",
    "pause",
    "accept",
    "recvfrom",
    "recvmsg",
    "wait4",
    "waitid",
    "epoll_wait",
    "epoll_pwait",
    "ppoll",
    "pselect6",
    "accept4",
    "connect",
    "flock",
    "sigsuspend",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "msgrcv",
    "semop",
    "mq_timedreceive",
    "clock_nanosleep",
    "futex",
];

impl Cause {
    const ALL: [Self; 5] = [Self::Wake, Self::Start, Self::Thread, Self::Condition, Self::Section];
}

/// The kinds of orders in a file: bits 3:0 of an order's first varint. Bits 63:4 are a number whose meaning depends on the kind. Kinds 1 to
/// 5 are waits.
const SIGNAL: u8 = 0;
const WAIT: u8 = 1;
const ACQUIRE: u8 = 6;
const SHARE: u8 = 7;
const RELEASE: u8 = 8;
const TAKE: u8 = 9;
const POST: u8 = 10;
const ARRIVE: u8 = 11;
const SLEEP: u8 = 12;
const CALL: u8 = 13;
const LEFT_OUT: u8 = 14;
const START: u8 = 15;

/// Encodes and decodes a frame's orders. Addresses are stored as differences from the latest address of the same kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderCode {
    object: u64,
    site: u64,
}

impl OrderCode {
    /// Encodes an order, and appends it to a frame's bytes.
    pub(crate) fn put(&mut self, order: Order, bytes: &mut Vec<u8>) {
        let mut first = |kind: u8, number: u64| put_varint(bytes, number << 4 | u64::from(kind));
        match order {
            Order::Signal(number) => first(SIGNAL, number),
            Order::Start(number) => first(START, number),
            Order::Wait(cause, number) => first(WAIT + cause as u8, number),
            Order::Acquire(Acquire { lock, shared, site }) => {
                first(if shared { SHARE } else { ACQUIRE }, 0);
                put_signed(bytes, change(&mut self.object, lock));
                put_signed(bytes, change(&mut self.site, site));
            }
            Order::Release { lock, signal } => {
                first(RELEASE, signal);
                put_signed(bytes, change(&mut self.object, lock));
            }
            Order::Take(Semaphore { address, first: value }) => {
                first(TAKE, value.into());
                put_signed(bytes, change(&mut self.object, address));
            }
            Order::Post(Semaphore { address, first: value }) => {
                first(POST, value.into());
                put_signed(bytes, change(&mut self.object, address));
            }
            Order::Arrive { barrier, threads } => {
                first(ARRIVE, threads.into());
                put_signed(bytes, change(&mut self.object, barrier));
            }
            Order::Sleep(time) => first(SLEEP, time),
            Order::Call(call) => first(CALL, call.into()),
            Order::LeftOut(references) => first(LEFT_OUT, references),
        }
    }

    /// Decodes a frame's next order; `None` if the bytes are malformed.
    pub fn take(&mut self, bytes: &mut Rest<'_>) -> Option<Order> {
        let word = bytes.varint()?;
        let number = word >> 4;
        let kind = (word & 0xf) as u8;
        if let Some(cause) = kind.checked_sub(WAIT).and_then(|at| Cause::ALL.get(usize::from(at))) {
            return Some(Order::Wait(*cause, number));
        }
        let has_object = matches!(kind, ACQUIRE..=ARRIVE);
        let object = if has_object { changed(&mut self.object, bytes.signed()?) } else { 0 };
        let value = || u32::try_from(number).ok();
        Some(match kind {
            SIGNAL => Order::Signal(number),
            ACQUIRE | SHARE => {
                let site = changed(&mut self.site, bytes.signed()?);
                Order::Acquire(Acquire { lock: object, shared: kind == SHARE, site })
            }
            RELEASE => Order::Release { lock: object, signal: number },
            TAKE => Order::Take(Semaphore { address: object, first: value()? }),
            POST => Order::Post(Semaphore { address: object, first: value()? }),
            ARRIVE => Order::Arrive { barrier: object, threads: value().filter(|of| *of > 0)? },
            SLEEP => Order::Sleep(number),
            CALL => {
                let is_known = |call: &u8| usize::from(*call) < BLOCKING_CALLS.len();
                Order::Call(u8::try_from(number).ok().filter(is_known)?)
            }
            LEFT_OUT => Order::LeftOut(number),
            START => Order::Start(number),
            _ => return None,
        })
    }
}

fn change(latest: &mut u64, address: u64) -> i64 {
    let change = address.wrapping_sub(*latest).cast_signed();
    *latest = address;
    change
}

fn changed(latest: &mut u64, change: i64) -> u64 {
    *latest = latest.wrapping_add_signed(change);
    *latest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written() {
        let semaphore = Semaphore { address: 0x7000, first: 3 };
        let orders = [
            Order::Signal(5),
            Order::Start(4),
            Order::Wait(Cause::Wake, 5),
            Order::Wait(Cause::Start, 6),
            Order::Wait(Cause::Thread, 1 << 59),
            Order::Wait(Cause::Condition, 7),
            Order::Wait(Cause::Section, 8),
            Order::Acquire(Acquire { lock: 0x7fff_0000, shared: false, site: 0x40_1000 }),
            Order::Acquire(Acquire { lock: 0x7fff_0000, shared: true, site: 0x40_0000 }),
            Order::Release { lock: 0x7fff_0000, signal: 9 },
            Order::Take(semaphore),
            Order::Post(semaphore),
            Order::Arrive { barrier: 0xffff_ffff_ffff_f000, threads: 8 },
            Order::Sleep(1_000_000_000),
            Order::Call(23),
            Order::LeftOut(12),
        ];
        let mut bytes = Vec::new();
        let mut code = OrderCode::default();
        orders.iter().for_each(|order| code.put(*order, &mut bytes));
        let (mut rest, mut code) = (Rest(&bytes), OrderCode::default());
        let read: Vec<_> = orders.iter().map(|_| code.take(&mut rest)).collect();
        assert_eq!(read, orders.map(Some));
        assert!(rest.0.is_empty());
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let bytes_of = |order| {
            let mut bytes = Vec::new();
            OrderCode::default().put(order, &mut bytes);
            bytes
        };
        assert_eq!(bytes_of(Order::Signal(3)), [0x30]);
        assert_eq!(bytes_of(Order::Wait(Cause::Section, 2)), [0x25]);
        let lock = Order::Acquire(Acquire { lock: 0x10, shared: true, site: 1 });
        assert_eq!(bytes_of(lock), [0x07, 0x20, 0x02]);
        assert_eq!(bytes_of(Order::Release { lock: 0x10, signal: 1 }), [0x18, 0x20]);
        for malformed in [&[0x06, 0x20][..], &[0x0b, 0x20], &[0x80], &[0x8d, 0x03]] {
            assert_eq!(OrderCode::default().take(&mut Rest(malformed)), None, "{malformed:x?}");
        }
    }
}
