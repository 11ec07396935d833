//! Orders threads by their time stamps.
//!
//! A *part* of a thread consists of the records from a time stamp up to the next later one. Parts begin in the order of their time
//! stamps: each waits until the part with the preceding time stamp has begun. Apart from that, threads execute concurrently.

use super::super::reference::Reference;
use refs::{Cause, Order};

/// The maximum number of parts of all threads. While they are put in order, their times take 256 MB.
pub(super) const MAX_PARTS: usize = 1 << 25;

/// A run: parts of one thread that directly follow each other in the order of all threads' parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// The index of the run's first part among the thread's parts.
    first: u32,
    /// The index of the run's last part.
    last: u32,
    /// The run's index among all runs.
    number: u32,
}

/// Returns each thread's runs. `times` holds the times of each thread's parts, in ascending order. Parts with the same time begin
/// in thread order.
pub(super) fn runs(times: &[Vec<u64>]) -> Vec<Vec<Run>> {
    let mut runs = vec![Vec::new(); times.len()];
    let mut next: std::collections::BinaryHeap<_> = (times.iter().enumerate())
        .filter_map(|(thread, times)| Some(std::cmp::Reverse((*times.first()?, thread, 0_u32))))
        .collect();
    let (mut latest, mut number) = (None, 0);
    while let Some(std::cmp::Reverse((_, thread, part))) = next.pop() {
        let own: &mut Vec<Run> = &mut runs[thread];
        match own.last_mut().filter(|_| latest == Some(thread)) {
            Some(run) => run.last = part,
            None => {
                own.push(Run { first: part, last: part, number });
                number += 1;
            }
        }
        latest = Some(thread);
        if let Some(time) = times[thread].get(part as usize + 1) {
            next.push(std::cmp::Reverse((*time, thread, part + 1)));
        }
    }
    runs
}

/// A thread's position among its parts.
#[derive(Default)]
pub(super) struct Clock {
    /// The time of the latest part.
    time: Option<u64>,
    /// The number of parts that have begun.
    parts: u32,
    runs: std::vec::IntoIter<Run>,
}

impl Clock {
    pub(super) fn new(runs: Vec<Run>) -> Self {
        Self { runs: runs.into_iter(), ..Self::default() }
    }

    /// Notes a time stamp. Returns `true` if it begins a part. A file can repeat its latest time stamp, which does not begin
    /// another part.
    pub(super) fn advance(&mut self, time: u64) -> bool {
        let later = self.time.is_none_or(|latest| time > latest);
        if later {
            self.time = Some(time);
        }
        later
    }

    /// Begins the next part. If the part has to wait for another thread, or another thread waits for it, appends the orders for
    /// that.
    pub(super) fn begin(&mut self, block: &[Reference], order: &mut Vec<(usize, Order)>) {
        let part = self.parts;
        self.parts += 1;
        let Some(run) = self.runs.as_slice().first().copied() else {
            return;
        };
        if let Some(before) = run.number.checked_sub(1).filter(|_| run.first == part) {
            order.push((block.len(), Order::Wait(Cause::Wake, before.into())));
        }
        if run.last == part {
            order.push((block.len(), Order::Signal(run.number.into())));
            self.runs.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u32, last: u32, number: u32) -> Run {
        Run { first, last, number }
    }

    #[test]
    fn parts_begin_in_the_order_of_their_times() {
        // The order of the parts: 1 and 2 of thread 0; 3 and 4 of thread 1; 5 of thread 0; 5 of thread 1; 7 and 8 of thread 0.
        let times = [vec![1, 2, 5, 7, 8], vec![3, 4, 5], vec![]];
        let expected = [
            vec![run(0, 1, 0), run(2, 2, 2), run(3, 4, 4)],
            vec![run(0, 1, 1), run(2, 2, 3)],
            vec![],
        ];
        assert_eq!(runs(&times), expected);
    }

    #[test]
    fn a_run_waits_at_its_first_part_and_signals_at_its_last() {
        let times = [vec![1, 2, 5], vec![3, 4]];
        let [mut first, mut second] = [0, 1].map(|thread| Clock::new(runs(&times)[thread].clone()));
        let orders = |clock: &mut Clock| {
            let mut order = Vec::new();
            clock.begin(&[], &mut order);
            order.into_iter().map(|(_, order)| order).collect::<Vec<_>>()
        };
        let wait = |number| Order::Wait(Cause::Wake, number);
        assert_eq!(orders(&mut first), []);
        assert_eq!(orders(&mut first), [Order::Signal(0)]);
        assert_eq!(orders(&mut first), [wait(1), Order::Signal(2)]);
        assert_eq!(orders(&mut second), [wait(0)]);
        assert_eq!(orders(&mut second), [Order::Signal(1)]);
        assert_eq!(orders(&mut second), []);
    }

    #[test]
    fn a_time_that_is_not_later_begins_no_part() {
        let mut clock = Clock::default();
        assert_eq!(
            [0, 5, 5, 4, 6].map(|time| clock.advance(time)),
            [true, true, false, false, true]
        );
    }
}
