//! The views of a replay, and the parts that several views use.

mod calls;
mod code;
mod memory;
mod overview;
mod threads;

use std::fmt;

use platform::Machine;
use ratatui::style::Color;
use ratatui::text::Line;
use simulator::memory::Served;
use simulator::run::{Replayed, ThreadRun};

use crate::cmd::top::grid::{percent, ratio, shares};
use crate::cmd::top::names::Names;
use crate::numbers::count;

pub(crate) use overview::summary;

/// The lines that a view shows.
#[derive(Default)]
pub(crate) struct ViewPage {
    /// The lines at the top, which do not scroll.
    pub(crate) head: Vec<Line<'static>>,
    /// The lines below, which scroll.
    pub(crate) rows: Vec<Line<'static>>,
}

impl ViewPage {
    /// Returns a page with a table. The table's header does not scroll.
    fn table(mut lines: Vec<Line<'static>>) -> Self {
        Self { rows: lines.split_off(1), head: lines }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A summary of all other views.
    Overview,
    Threads,
    Memory,
    /// The functions that wait for memory.
    Functions,
    /// The source lines that wait for memory.
    Source,
    /// The lines of memory that move between nodes.
    Sharing,
    Calls,
    /// The counts that the guest measured, next to the true counts.
    Counters,
}

/// What a view shows, and how the user wants to see it.
#[derive(Clone, Copy)]
pub(crate) struct ViewContext<'a> {
    pub(crate) machine: Machine,
    /// The size of an L2 cache line, in bytes.
    pub(crate) line: u64,
    pub(crate) names: &'a Names,
    /// The index of the sort column.
    pub(crate) sort: usize,
    pub(crate) width: usize,
}

impl View {
    /// All views, in the order of the keys 1 to 8.
    pub(crate) const ALL: [Self; 8] = [
        Self::Overview,
        Self::Threads,
        Self::Memory,
        Self::Functions,
        Self::Source,
        Self::Sharing,
        Self::Calls,
        Self::Counters,
    ];

    /// Returns how many columns the rows can be sorted by.
    pub(crate) const fn columns(self) -> usize {
        match self {
            Self::Threads => threads::COLUMNS,
            Self::Functions | Self::Source => code::COLUMNS,
            _ => 0,
        }
    }

    pub(crate) fn page(self, of: &Replayed, look: ViewContext<'_>) -> ViewPage {
        match self {
            Self::Overview => overview::page(of, look),
            Self::Threads => threads::page(of, look),
            Self::Memory => memory::page(of, look),
            Self::Functions => code::functions(of, look),
            Self::Source => code::source(of, look),
            Self::Sharing => code::sharing(of, look),
            Self::Calls => calls::page(of),
            Self::Counters => calls::counters(of, look),
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Returns a bar with three parts: the misses served by local memory, by remote memory, and by another cache.
fn served(served: &Served, width: usize) -> Line<'static> {
    let parts = [
        ('l', Color::Green, served.local),
        ('r', Color::Yellow, served.remote),
        ('c', Color::Red, served.c2c),
    ];
    shares(&parts, width)
}

fn misses(served: &Served) -> u64 {
    served.local + served.remote + served.c2c
}

const WORK: &str = ">instructions|>CPI|>MPKI|>local|>remote|>cache";

/// Returns what a thread did, as cells for the columns [`WORK`].
fn work(of: &ThreadRun) -> [String; 6] {
    let (instructions, misses) = (of.instructions, misses(&of.served));
    let [local, remote, cache] =
        [of.served.local, of.served.remote, of.served.c2c].map(|part| percent(part, misses));
    let cpi = ratio(of.cycles as f64, instructions);
    let mpki = ratio(misses as f64 * 1000.0, instructions);
    [count(instructions), cpi, mpki, local, remote, cache]
}
