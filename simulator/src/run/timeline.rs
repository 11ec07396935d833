//! The states of threads over time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::State;

/// What threads did over time. The run is divided into equal intervals, which are the columns of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeLine {
    /// The end of each column, in cycles. The first column starts at 0. There are at most [`TimeLine::COLUMNS`]
    /// columns.
    pub cycles: Vec<u64>,
    /// The threads with the lowest numbers, at most [`TimeLine::THREADS`].
    pub threads: Vec<ThreadLine>,
}

/// What a thread did in each column of a [`TimeLine`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLine {
    /// The thread's number in the replay, from 0.
    pub thread: usize,
    /// For each state that occurs, how many cycles of each column the thread spent in it.
    pub states: BTreeMap<State, Vec<u64>>,
}

impl TimeLine {
    /// The maximum number of columns. A longer run has wider columns.
    pub const COLUMNS: usize = 256;

    /// The maximum number of threads in a time line, which shows threads 0 to 255.
    pub const THREADS: usize = 256;
}
