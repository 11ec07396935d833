//! The system calls of Linux that matter to a recording, by their numbers on each machine.

use crate::decode::Target;

/// A system call. Addresses are those of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Starts a thread. The kernel clears the word at the address when the thread has ended.
    Thread { tid: Option<u64> },
    /// Starts a process.
    Process,
    /// Turns the process into the program with this name.
    Exec { path: u64 },
    /// Ends the thread.
    Exit,
    /// Sends a signal, perhaps to itself.
    Kill,
    /// Waits for a wake at the address.
    Wait { futex: u64 },
    /// Wakes the threads that wait at the addresses.
    Wake { futex: u64, other: Option<u64> },
    /// Maps a file with code.
    MapCode,
    /// Anything else.
    Other,
}

/// Flags of clone.
const VM: u64 = 0x100;
const VFORK: u64 = 0x4000;
const CHILD_CLEARTID: u64 = 0x20_0000;

/// PROT_EXEC of mmap.
const EXECUTE: u64 = 4;

impl Call {
    /// Returns the call with this number and these arguments.
    pub(crate) fn new(target: Target, number: i64, arguments: [u64; 5]) -> Self {
        let [first, second, third, fourth, fifth] = arguments;
        let (kind, tid) = match target {
            Target::X86 => (x86(number), fourth),
            Target::Sparc => (sparc(number), fifth),
        };
        match kind {
            Kind::Clone if first & (VM | VFORK) == VM => {
                Self::Thread { tid: (first & CHILD_CLEARTID != 0).then_some(tid) }
            }
            Kind::Clone | Kind::Fork => Self::Process,
            Kind::Exec => Self::Exec { path: first },
            Kind::ExecAt => Self::Exec { path: second },
            Kind::Exit => Self::Exit,
            Kind::Kill => Self::Kill,
            Kind::Futex => Self::futex(second, first, fifth),
            Kind::Map if third & EXECUTE != 0 && fifth as i32 >= 0 => Self::MapCode,
            Kind::Map | Kind::Other => Self::Other,
        }
    }

    fn futex(operation: u64, futex: u64, second: u64) -> Self {
        // Without the flags "private" and "realtime".
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

enum Kind {
    Clone,
    Fork,
    Exec,
    ExecAt,
    Exit,
    Kill,
    Futex,
    Map,
    Other,
}

fn x86(number: i64) -> Kind {
    match number {
        9 => Kind::Map,
        56 => Kind::Clone,
        57 | 58 => Kind::Fork,
        59 => Kind::Exec,
        60 => Kind::Exit,
        62 | 200 | 234 => Kind::Kill,
        202 => Kind::Futex,
        322 => Kind::ExecAt,
        _ => Kind::Other,
    }
}

fn sparc(number: i64) -> Kind {
    match number {
        1 => Kind::Exit,
        2 | 66 => Kind::Fork,
        37 | 187 | 211 => Kind::Kill,
        59 => Kind::Exec,
        71 => Kind::Map,
        142 => Kind::Futex,
        217 => Kind::Clone,
        350 => Kind::ExecAt,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_and_processes() {
        // As the C library starts a thread: the address comes last but one on x86-64, last on SPARC.
        let thread = [0x3d_0f00, 1, 2, 0x1000, 0x2000];
        let call = |target, number, arguments| Call::new(target, number, arguments);
        assert_eq!(call(Target::X86, 56, thread), Call::Thread { tid: Some(0x1000) });
        assert_eq!(call(Target::Sparc, 217, thread), Call::Thread { tid: Some(0x2000) });
        let untold = [0x1_0f00, 1, 2, 0x1000, 0x2000];
        assert_eq!(call(Target::X86, 56, untold), Call::Thread { tid: None });
        for (target, number, flags) in [
            (Target::X86, 57, 0),
            (Target::X86, 58, 0),
            (Target::X86, 56, 0x1200011),
            (Target::X86, 56, 0x4111),
            (Target::Sparc, 2, 0),
            (Target::Sparc, 66, 0),
        ] {
            assert_eq!(call(target, number, [flags, 0, 0, 0, 0]), Call::Process);
        }
    }

    #[test]
    fn waits_and_wakes() {
        let futex = |operation| Call::new(Target::X86, 202, [0x10, operation, 0, 0, 0x20]);
        for wait in [0, 0x80, 0x189, 0x109] {
            assert_eq!(futex(wait), Call::Wait { futex: 0x10 });
        }
        for wake in [1, 0x81, 0x8a, 0x87] {
            assert_eq!(futex(wake), Call::Wake { futex: 0x10, other: None });
        }
        for two in [0x83, 0x84, 0x85] {
            assert_eq!(futex(two), Call::Wake { futex: 0x10, other: Some(0x20) });
        }
        assert_eq!(futex(8), Call::Other);
        let sparc = Call::new(Target::Sparc, 142, [0x10, 0x81, 1, 0, 0]);
        assert_eq!(sparc, Call::Wake { futex: 0x10, other: None });
    }

    #[test]
    fn ends_and_new_programs() {
        let call = |target, number| Call::new(target, number, [0x1103, 0x20, 0, 0, 0]);
        for (target, numbers) in [(Target::X86, [60, 59, 322]), (Target::Sparc, [1, 59, 350])] {
            assert_eq!(call(target, numbers[0]), Call::Exit);
            assert_eq!(call(target, numbers[1]), Call::Exec { path: 0x1103 });
            assert_eq!(call(target, numbers[2]), Call::Exec { path: 0x20 });
        }
        assert_eq!(call(Target::X86, 234), Call::Kill);
        assert_eq!(call(Target::Sparc, 211), Call::Kill);
        assert_eq!(call(Target::X86, 0), Call::Other);
    }

    #[test]
    fn code_is_mapped() {
        let file = [0, 0x1000, 5, 2, 3];
        for (target, number) in [(Target::X86, 9), (Target::Sparc, 71)] {
            assert_eq!(Call::new(target, number, file), Call::MapCode);
            let data = [0, 0x1000, 3, 2, 3];
            assert_eq!(Call::new(target, number, data), Call::Other);
            let memory = [0, 0x1000, 7, 0x22, u64::from(u32::MAX)];
            assert_eq!(Call::new(target, number, memory), Call::Other);
        }
    }
}
