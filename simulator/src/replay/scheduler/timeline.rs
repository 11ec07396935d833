//! Collects what threads do over time. Memory is bounded: when the run becomes too long, each column of time becomes twice as wide.

use crate::run::{State, ThreadLine, TimeLine};

/// The number of cycles in a column at the start.
const WIDTH: u64 = 256;

/// One column of a thread: the number of cycles that the thread spends in each state, in the order of [`State::ALL`].
type Column = [u64; State::ALL.len()];

#[derive(Clone, Debug)]
pub(super) struct Columns {
    width: u64,
    /// Each thread's columns, without the empty ones at the end.
    threads: Vec<Vec<Column>>,
}

impl Columns {
    /// Returns empty columns for `threads` threads, or for the first [`TimeLine::THREADS`] if there are more.
    pub(super) fn new(threads: usize) -> Self {
        Self { width: WIDTH, threads: vec![Vec::new(); threads.min(TimeLine::THREADS)] }
    }

    /// Adds a thread's state during the cycles `from..to`.
    pub(super) fn add(&mut self, thread: usize, state: State, from: u64, to: u64) {
        if from >= to || thread >= self.threads.len() {
            return;
        }
        while (to - 1) / self.width >= TimeLine::COLUMNS as u64 {
            self.widen();
        }
        let columns = &mut self.threads[thread];
        let last = ((to - 1) / self.width) as usize;
        if columns.len() <= last {
            columns.resize(last + 1, Column::default());
        }
        for (number, column) in columns.iter_mut().enumerate().skip((from / self.width) as usize) {
            let begins = number as u64 * self.width;
            let cycles = to.min(begins + self.width).saturating_sub(from.max(begins));
            column[state as usize] += cycles;
        }
    }

    /// Merges pairs of neighbouring columns, so that a column spans twice as many cycles.
    fn widen(&mut self) {
        self.width *= 2;
        for columns in &mut self.threads {
            let merged = columns.chunks(2).map(|pair| {
                let sum = |state| pair.iter().map(|column| column[state]).sum();
                std::array::from_fn(sum)
            });
            *columns = merged.collect();
        }
    }

    /// Returns the time line up to the time `now`.
    pub(super) fn line(&self, now: u64) -> TimeLine {
        let columns = now.div_ceil(self.width);
        let thread = |(thread, columns): (usize, &Vec<Column>)| {
            let of = |state: State| -> Vec<u64> {
                columns.iter().map(|column| column[state as usize]).collect()
            };
            let states = State::ALL.into_iter().map(|state| (state, of(state)));
            let states = states.filter(|(_, cycles)| cycles.iter().any(|cycles| *cycles > 0));
            ThreadLine { thread, states: states.collect() }
        };
        TimeLine {
            cycles: (1..=columns).map(|column| (column * self.width).min(now)).collect(),
            threads: self.threads.iter().enumerate().map(thread).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &TimeLine, thread: usize, state: State) -> &[u64] {
        line.threads[thread].states.get(&state).map_or(&[], |cycles| cycles)
    }

    #[test]
    fn a_state_is_in_the_columns_that_it_spans() {
        let mut columns = Columns::new(2);
        columns.add(0, State::Running, 0, 100);
        columns.add(0, State::Lock, 100, 700);
        columns.add(1, State::Running, 0, 256);
        columns.add(1, State::Ended, 256, 700);
        columns.add(0, State::Sleep, 700, 700);
        let line = columns.line(700);
        assert_eq!(line.cycles, [256, 512, 700]);
        assert_eq!(of(&line, 0, State::Running), [100, 0, 0]);
        assert_eq!(of(&line, 0, State::Lock), [156, 256, 188]);
        assert_eq!(of(&line, 1, State::Running), [256, 0, 0]);
        assert_eq!(of(&line, 1, State::Ended), [0, 256, 188]);
        assert_eq!(line.threads[0].states.len(), 2);
    }

    #[test]
    fn a_long_run_has_wide_columns() {
        let mut columns = Columns::new(1);
        columns.add(0, State::Running, 0, 300);
        columns.add(0, State::Sleep, 300, 256 * 256);
        assert_eq!(columns.line(256 * 256).cycles.len(), 256);
        columns.add(0, State::Running, 256 * 256, 256 * 256 + 1);
        let line = columns.line(256 * 256 + 1);
        assert_eq!((line.cycles.len(), line.cycles[0], line.cycles[128]), (129, 512, 65_537));
        assert_eq!(of(&line, 0, State::Running)[..2], [300, 0]);
        assert_eq!(of(&line, 0, State::Running)[128], 1);
        assert_eq!(of(&line, 0, State::Sleep)[..2], [212, 512]);
        columns.add(0, State::Sleep, 65_537, 1 << 60);
        let line = columns.line(1 << 60);
        assert!(line.cycles.len() <= TimeLine::COLUMNS);
        let all: u64 = line.threads[0].states.values().flatten().sum();
        assert_eq!(all, 1 << 60);
    }

    #[test]
    fn only_the_first_threads_have_columns() {
        let mut columns = Columns::new(300);
        columns.add(299, State::Running, 0, 1);
        assert_eq!(columns.line(1).threads.len(), 256);
    }
}
