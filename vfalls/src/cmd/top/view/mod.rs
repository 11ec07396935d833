//! The views: what each shows of a snapshot.

mod calls;
mod code;
mod memory;
mod overview;
mod threads;

use simulator::memory::Served;
use simulator::run::Replayed;
use simulator::run::ThreadRun;
use std::fmt;

use platform::Machine;
use ratatui::style::Color;
use ratatui::text::Line;

use crate::cmd::top::grid::{number, percent, ratio, shares};
use crate::cmd::top::names::Names;

pub(crate) use overview::summary;

/// What a view shows: lines that stay, and lines that can be scrolled.
#[derive(Default)]
pub(crate) struct Page {
    /// The lines that stay.
    pub(crate) head: Vec<Line<'static>>,
    /// The lines that can be scrolled.
    pub(crate) rows: Vec<Line<'static>>,
}

impl Page {
    /// Returns a table whose header stays.
    fn table(mut lines: Vec<Line<'static>>) -> Self {
        Self { rows: lines.split_off(1), head: lines }
    }
}

/// A view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// Nodes, what they share, and calls, on one screen.
    Overview,
    /// A row for each thread.
    Threads,
    /// Channels, hubs, links, and traffic from node to node.
    Memory,
    /// Where functions wait for memory.
    Functions,
    /// Where lines of the source wait for memory.
    Source,
    /// The lines of memory that nodes take from each other.
    Sharing,
    /// Hypercalls by guest, status and class of register.
    Calls,
    /// What the guest measures beside what happened.
    Counters,
}

/// What is shown, and how.
#[derive(Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The machine.
    pub(crate) machine: Machine,
    /// The bytes of a line of the L2 caches.
    pub(crate) line: u64,
    /// What the code is called.
    pub(crate) names: &'a Names,
    /// The number of the column by which rows are sorted.
    pub(crate) sort: usize,
    /// The width of the screen.
    pub(crate) width: usize,
}

impl View {
    /// All views. The number of each is its place here, from 1.
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

    /// Returns by how many columns the rows can be sorted.
    #[must_use]
    pub(crate) const fn columns(self) -> usize {
        match self {
            Self::Threads => threads::COLUMNS,
            Self::Functions | Self::Source => code::COLUMNS,
            _ => 0,
        }
    }

    /// Returns what the view shows of a snapshot.
    #[must_use]
    pub(crate) fn page(self, of: &Replayed, look: Look<'_>) -> Page {
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

/// Returns where misses are served as a bar.
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

/// The columns of [`work`].
const WORK: &str = ">instructions|>CPI|>MPKI|>local|>remote|>cache";

/// Returns instructions, cycles for each, misses for a thousand, and where these are served.
fn work(of: &ThreadRun) -> Vec<String> {
    let (instructions, misses) = (of.instructions, misses(&of.served));
    let Served { local, remote, c2c, .. } = of.served;
    let mut cells = vec![
        number(instructions),
        ratio(of.cycles as f64, instructions),
        ratio(misses as f64 * 1000.0, instructions),
    ];
    cells.extend([local, remote, c2c].map(|part| percent(part, misses)));
    cells
}
