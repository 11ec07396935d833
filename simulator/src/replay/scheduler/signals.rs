//! Signals between a program's threads.

use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// The numbers of the signals that have been sent, as ranges that do not touch. A range's first number is the key, and its last
    /// number is the value.
    sent: BTreeMap<u64, u64>,
    /// The waiting threads, by the number of the signal that they wait for.
    waiting: BTreeMap<u64, Vec<usize>>,
    /// The times of the signals that started threads.
    starts: HashMap<u64, u64>,
}

impl Signals {
    /// Sends a signal. Returns the threads that waited for it.
    pub(super) fn send(&mut self, number: u64) -> Vec<usize> {
        if !self.is_sent(number) {
            let below = self.sent.range(..number).next_back();
            let first = match below {
                Some((first, last)) if *last + 1 == number => *first,
                _ => number,
            };
            let above = number.checked_add(1);
            let last = above.and_then(|above| self.sent.remove(&above));
            self.sent.insert(first, last.unwrap_or(number));
        }
        self.waiting.remove(&number).unwrap_or_default()
    }

    /// Notes that a signal starts a thread at the time `now`.
    pub(super) fn start(&mut self, number: u64, now: u64) {
        self.starts.insert(number, now);
    }

    /// Returns the time at which a signal started a thread; `None` if it has not started any.
    pub(super) fn started(&self, number: u64) -> Option<u64> {
        self.starts.get(&number).copied()
    }

    pub(super) fn is_sent(&self, number: u64) -> bool {
        let below = self.sent.range(..=number).next_back();
        below.is_some_and(|(_, last)| *last >= number)
    }

    /// Adds a thread that waits for a signal, which must not have been sent.
    pub(super) fn wait(&mut self, number: u64, thread: usize) {
        self.waiting.entry(number).or_default().push(thread);
    }

    /// Removes a thread that waits for a signal, which must not have been sent.
    pub(super) fn cancel_wait(&mut self, number: u64, thread: usize) {
        if let Some(waiting) = self.waiting.get_mut(&number) {
            waiting.retain(|other| *other != thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sent_signal_stays_sent() {
        let mut signals = Signals::default();
        assert!(!signals.is_sent(7));
        for number in [7, 3, 5, u64::MAX, 4, 0, 3] {
            assert!(signals.send(number).is_empty());
        }
        let sent: Vec<u64> = (0..10).filter(|number| signals.is_sent(*number)).collect();
        assert_eq!(sent, [0, 3, 4, 5, 7]);
        assert!(signals.is_sent(u64::MAX) && !signals.is_sent(u64::MAX - 1));
        // Adjacent signals form one range, so memory does not grow with the length of the recording.
        assert!(signals.send(6).is_empty());
        assert_eq!(signals.sent.len(), 3);
    }

    #[test]
    fn sending_returns_the_waiting_threads() {
        let mut signals = Signals::default();
        for thread in [2, 9, 4] {
            signals.wait(1, thread);
        }
        signals.wait(2, 3);
        signals.cancel_wait(1, 9);
        assert_eq!(signals.send(1), [2, 4]);
        assert!(signals.send(1).is_empty());
    }
}
