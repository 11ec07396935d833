//! Orders between threads.

/// An order between threads: one thread waits until another has signalled.
///
/// Each number is signalled once, by one thread, and any number of threads wait for it. In the recorded execution each wait came
/// after its signal, so waits never form a circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The references before it precede those of threads that wait for this number. (The thread starts or wakes another, or ends.)
    Signal(u64),
    /// The references after it follow the signal with this number.
    Wait(u64),
}
