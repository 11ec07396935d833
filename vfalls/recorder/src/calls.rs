//! The Linux system calls that matter to a recording, and their numbers on each machine.

use refs::BLOCKING_CALLS;

use crate::decode::Architecture;

/// A system call of the recorded program. Its addresses point into the program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SystemCall {
    /// Starts a thread. The kernel clears the word at `tid` when the thread ends.
    Thread {
        tid: Option<u64>,
    },
    /// Starts a process that is a copy of this one.
    Process,
    /// Replaces the process's program. The fields are the addresses of the new program's path, its argument list and its list of
    /// environment variables.
    Exec {
        path: u64,
        arguments: u64,
        environment: u64,
    },
    /// Waits for a child process. The kernel writes the child's status at the address `status`, unless this address is 0.
    Child {
        status: u64,
    },
    /// Ends the thread.
    Exit,
    /// Sends a signal, perhaps to the process itself.
    Kill,
    /// Waits until another thread wakes the waiters of the word at `futex`.
    Wait {
        futex: u64,
    },
    /// Wakes threads that wait for the word at `futex`, and for the word at `other` if there is one.
    Wake {
        futex: u64,
        other: Option<u64>,
    },
    /// Sleeps. The duration is in the program's memory, at the address `time`.
    Sleep {
        time: u64,
    },
    /// May block for a time that depends on the host. `call` is the index of the call in [`BLOCKING_CALLS`].
    Blocking {
        call: u8,
    },
    /// Maps a file into memory as executable code.
    MapCode,
    /// Maps memory that the process shares with others: `length` bytes of a file, starting at the position `offset`. If `file` is negative,
    /// the process shares the memory only with processes that it forks.
    Share {
        length: u64,
        file: i32,
        offset: u64,
    },
    /// Maps at least [`LARGE`] bytes of memory.
    MapLarge {
        bytes: u64,
    },
    Other,
}

/// Flags of the `clone` system call.
const VM: u64 = 0x100;
const VFORK: u64 = 0x4000;
const CHILD_CLEARTID: u64 = 0x20_0000;

/// The flag `TIMER_ABSTIME` of the system call `clock_nanosleep`.
const ABSOLUTE: u64 = 1;

/// The flag `PROT_EXEC` of the system call `mmap`.
const EXECUTE: u64 = 4;

/// The flags `MAP_SHARED` and `MAP_SHARED_VALIDATE` of the system call `mmap` have this bit.
const SHARED: u64 = 1;
/// A mapping of at least this size, in bytes, counts as large. Some emulators keep a record of every page. For such a mapping, they need
/// more than a second, and gigabytes of memory.
pub(crate) const LARGE: u64 = 1 << 38;

impl SystemCall {
    pub(crate) fn new(target: Architecture, number: i64, arguments: [u64; 6]) -> Self {
        let [first, second, third, fourth, fifth, sixth] = arguments;
        let (kind, tid) = match target {
            Architecture::X86 => (x86(number), fourth),
            Architecture::Sparc => (sparc(number), fifth),
        };
        match kind {
            CallKind::Clone if first & (VM | VFORK) == VM => {
                Self::Thread { tid: (first & CHILD_CLEARTID != 0).then_some(tid) }
            }
            CallKind::Clone | CallKind::Fork => Self::Process,
            CallKind::Exec => Self::Exec { path: first, arguments: second, environment: third },
            CallKind::ExecAt => Self::Exec { path: second, arguments: third, environment: fourth },
            CallKind::Child => Self::Child { status: second },
            CallKind::Exit => Self::Exit,
            CallKind::Kill => Self::Kill,
            CallKind::Futex => Self::futex(second, first, fifth),
            CallKind::Sleep => Self::Sleep { time: first },
            CallKind::ClockSleep if second & ABSOLUTE == 0 => Self::Sleep { time: third },
            CallKind::ClockSleep => Self::blocking("clock_nanosleep"),
            CallKind::Blocking(name) => Self::blocking(name),
            CallKind::Map if third & EXECUTE != 0 && fifth as i32 >= 0 => Self::MapCode,
            CallKind::Map if fourth & SHARED != 0 => {
                Self::Share { length: second, file: fifth as i32, offset: sixth }
            }
            CallKind::Map if second >= LARGE => Self::MapLarge { bytes: second },
            CallKind::Map | CallKind::Other => Self::Other,
        }
    }

    fn blocking(name: &str) -> Self {
        let call = BLOCKING_CALLS.iter().position(|call| *call == name);
        call.map_or(Self::Other, |call| Self::Blocking { call: call as u8 })
    }

    fn futex(operation: u64, futex: u64, second: u64) -> Self {
        // The mask removes the flags FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
        match operation & 0x7f {
            // WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2
            0 | 6 | 9 | 11 | 13 => Self::Wait { futex },
            // WAKE, UNLOCK_PI, WAKE_BITSET
            1 | 7 | 10 => Self::Wake { futex, other: None },
            // REQUEUE, CMP_REQUEUE, WAKE_OP, CMP_REQUEUE_PI
            3 | 4 | 5 | 12 => Self::Wake { futex, other: Some(second) },
            _ => Self::Other,
        }
    }
}

enum CallKind {
    Clone,
    Fork,
    Exec,
    ExecAt,
    Child,
    Exit,
    Kill,
    Futex,
    Sleep,
    ClockSleep,
    Blocking(&'static str),
    Map,
    Other,
}

fn x86(number: i64) -> CallKind {
    match number {
        9 => CallKind::Map,
        56 => CallKind::Clone,
        57 | 58 => CallKind::Fork,
        59 => CallKind::Exec,
        60 => CallKind::Exit,
        62 | 200 | 234 => CallKind::Kill,
        202 => CallKind::Futex,
        322 => CallKind::ExecAt,
        35 => CallKind::Sleep,
        230 => CallKind::ClockSleep,
        0 => CallKind::Blocking("read"),
        7 => CallKind::Blocking("poll"),
        23 => CallKind::Blocking("select"),
        34 => CallKind::Blocking("pause"),
        42 => CallKind::Blocking("connect"),
        43 => CallKind::Blocking("accept"),
        45 => CallKind::Blocking("recvfrom"),
        47 => CallKind::Blocking("recvmsg"),
        61 => CallKind::Child,
        65 => CallKind::Blocking("semop"),
        70 => CallKind::Blocking("msgrcv"),
        73 => CallKind::Blocking("flock"),
        128 => CallKind::Blocking("rt_sigtimedwait"),
        130 => CallKind::Blocking("rt_sigsuspend"),
        232 => CallKind::Blocking("epoll_wait"),
        243 => CallKind::Blocking("mq_timedreceive"),
        247 => CallKind::Blocking("waitid"),
        270 => CallKind::Blocking("pselect6"),
        271 => CallKind::Blocking("ppoll"),
        281 => CallKind::Blocking("epoll_pwait"),
        288 => CallKind::Blocking("accept4"),
        _ => CallKind::Other,
    }
}

fn sparc(number: i64) -> CallKind {
    match number {
        1 => CallKind::Exit,
        2 | 66 => CallKind::Fork,
        37 | 187 | 211 => CallKind::Kill,
        59 => CallKind::Exec,
        71 => CallKind::Map,
        142 => CallKind::Futex,
        217 => CallKind::Clone,
        350 => CallKind::ExecAt,
        249 => CallKind::Sleep,
        259 => CallKind::ClockSleep,
        3 => CallKind::Blocking("read"),
        7 => CallKind::Child,
        29 => CallKind::Blocking("pause"),
        93 => CallKind::Blocking("select"),
        98 => CallKind::Blocking("connect"),
        99 => CallKind::Blocking("accept"),
        105 => CallKind::Blocking("rt_sigtimedwait"),
        107 => CallKind::Blocking("rt_sigsuspend"),
        113 => CallKind::Blocking("recvmsg"),
        125 => CallKind::Blocking("recvfrom"),
        131 => CallKind::Blocking("flock"),
        153 => CallKind::Blocking("poll"),
        195 => CallKind::Blocking("epoll_wait"),
        201 => CallKind::Blocking("sigsuspend"),
        276 => CallKind::Blocking("mq_timedreceive"),
        279 => CallKind::Blocking("waitid"),
        297 => CallKind::Blocking("pselect6"),
        298 => CallKind::Blocking("ppoll"),
        309 => CallKind::Blocking("epoll_pwait"),
        323 => CallKind::Blocking("accept4"),
        401 => CallKind::Blocking("msgrcv"),
        _ => CallKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_processes() {
        // The C library starts a thread with these flags of `clone`. The address `tid` is the fourth argument on x86-64, and the
        // fifth on SPARC.
        let thread = [0x3d_0f00, 1, 2, 0x1000, 0x2000, 0];
        let call = |target, number, arguments| SystemCall::new(target, number, arguments);
        assert_eq!(call(Architecture::X86, 56, thread), SystemCall::Thread { tid: Some(0x1000) });
        assert_eq!(
            call(Architecture::Sparc, 217, thread),
            SystemCall::Thread { tid: Some(0x2000) }
        );
        let untold = [0x1_0f00, 1, 2, 0x1000, 0x2000, 0];
        assert_eq!(call(Architecture::X86, 56, untold), SystemCall::Thread { tid: None });
        for (target, number, flags) in [
            (Architecture::X86, 57, 0),
            (Architecture::X86, 58, 0),
            (Architecture::X86, 56, 0x1200011),
            (Architecture::X86, 56, 0x4111),
            (Architecture::Sparc, 2, 0),
            (Architecture::Sparc, 66, 0),
        ] {
            assert_eq!(call(target, number, [flags, 0, 0, 0, 0, 0]), SystemCall::Process);
        }
    }

    #[test]
    fn waits_and_wakes() {
        let futex =
            |operation| SystemCall::new(Architecture::X86, 202, [0x10, operation, 0, 0, 0x20, 0]);
        for wait in [0, 0x80, 0x189, 0x109] {
            assert_eq!(futex(wait), SystemCall::Wait { futex: 0x10 });
        }
        for wake in [1, 0x81, 0x8a, 0x87] {
            assert_eq!(futex(wake), SystemCall::Wake { futex: 0x10, other: None });
        }
        for two in [0x83, 0x84, 0x85] {
            assert_eq!(futex(two), SystemCall::Wake { futex: 0x10, other: Some(0x20) });
        }
        assert_eq!(futex(8), SystemCall::Other);
        let sparc = SystemCall::new(Architecture::Sparc, 142, [0x10, 0x81, 1, 0, 0, 0]);
        assert_eq!(sparc, SystemCall::Wake { futex: 0x10, other: None });
    }

    #[test]
    fn ends_and_new_programs() {
        let call =
            |target, number| SystemCall::new(target, number, [0x1103, 0x20, 0x30, 0x40, 0, 0]);
        for (target, numbers) in
            [(Architecture::X86, [60, 59, 322]), (Architecture::Sparc, [1, 59, 350])]
        {
            let calls = numbers.map(|number| call(target, number));
            let named = SystemCall::Exec { path: 0x1103, arguments: 0x20, environment: 0x30 };
            let at = SystemCall::Exec { path: 0x20, arguments: 0x30, environment: 0x40 };
            assert_eq!(calls, [SystemCall::Exit, named, at]);
        }
        assert_eq!(call(Architecture::X86, 234), SystemCall::Kill);
        assert_eq!(call(Architecture::Sparc, 211), SystemCall::Kill);
        assert_eq!(call(Architecture::X86, 1), SystemCall::Other);
    }

    #[test]
    fn sleeps_and_calls_that_block() {
        let call =
            |target, number, flags| SystemCall::new(target, number, [1, flags, 0x30, 0, 0, 0]);
        for (target, sleep, clock_sleep, read) in
            [(Architecture::X86, 35, 230, 0), (Architecture::Sparc, 249, 259, 3)]
        {
            assert_eq!(call(target, sleep, 0), SystemCall::Sleep { time: 1 });
            assert_eq!(call(target, clock_sleep, 0), SystemCall::Sleep { time: 0x30 });
            // If a thread sleeps until an absolute time, the duration of the sleep is not known. Such a sleep is recorded as a call that
            // blocks.
            let named = |name| SystemCall::Blocking {
                call: BLOCKING_CALLS.iter().position(|call| *call == name).unwrap() as u8,
            };
            assert_eq!(call(target, clock_sleep, 1), named("clock_nanosleep"));
            assert_eq!(call(target, read, 0), named("read"));
        }
    }

    #[test]
    fn code_is_mapped() {
        let file = [0, 0x1000, 5, 2, 3, 0];
        for (target, number) in [(Architecture::X86, 9), (Architecture::Sparc, 71)] {
            assert_eq!(SystemCall::new(target, number, file), SystemCall::MapCode);
            let data = [0, 0x1000, 3, 2, 3, 0];
            assert_eq!(SystemCall::new(target, number, data), SystemCall::Other);
            let memory = [0, 0x1000, 7, 0x22, u64::from(u32::MAX), 0];
            assert_eq!(SystemCall::new(target, number, memory), SystemCall::Other);
        }
    }

    #[test]
    fn children_and_memory_that_they_share() {
        for (target, wait, map) in [(Architecture::X86, 61, 9), (Architecture::Sparc, 7, 71)] {
            let call = SystemCall::new(target, wait, [u64::MAX, 0x30, 0, 0, 0, 0]);
            assert_eq!(call, SystemCall::Child { status: 0x30 });
            let call = SystemCall::new(target, map, [0, 0x2000, 3, 0x21, u64::MAX, 0]);
            assert_eq!(call, SystemCall::Share { length: 0x2000, file: -1, offset: 0 });
            let call = SystemCall::new(target, map, [0, 0x2000, 3, 1, 5, 0x4000]);
            assert_eq!(call, SystemCall::Share { length: 0x2000, file: 5, offset: 0x4000 });
        }
    }

    #[test]
    fn large_mappings_are_told_apart() {
        // The first size is 16 TiB: a sanitizer reserves this amount of memory, but does not access it. The second size is one page less
        // than 256 GiB.
        let map = |number, bytes| [0, bytes, 0, 0x4022, number, 0];
        for (target, number) in [(Architecture::X86, 9), (Architecture::Sparc, 71)] {
            let call = |bytes| SystemCall::new(target, number, map(u64::MAX, bytes));
            assert_eq!(call(16 << 40), SystemCall::MapLarge { bytes: 16 << 40 });
            assert_eq!(call((256 << 30) - 0x2000), SystemCall::Other);
        }
    }
}
