//! The views of the code that waits for memory, and of the cache lines that move between nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ratatui::text::Line;
use simulator::analysis::details::Missed;
use simulator::analysis::sharing::{SharedLine, Sharing, Use};
use simulator::run::Replayed;

use super::{ViewContext, ViewPage};
use crate::cmd::top::grid::{Grid, percent};
use crate::cmd::top::names::Name;
use crate::numbers::count;
use crate::table::cut;

/// The number of columns. The rows can be sorted by each of them.
pub(super) const COLUMNS: usize = 7;

/// Adds up the misses by function or source line. `name` returns the function or source line of an
/// instruction.
fn by_name(
    of: &Replayed,
    look: ViewContext<'_>,
    name: impl Fn(&Name) -> String,
) -> BTreeMap<String, Missed> {
    let mut sums = BTreeMap::<String, Missed>::new();
    for one in of.code() {
        let name = name(&look.names.name(one.program, one.address));
        let sum = sums.entry(name).or_default();
        sum.cycles += one.missed.cycles;
        sum.misses += one.missed.misses;
    }
    sums
}

pub(super) fn functions(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    page(by_name(of, look, |name| name.function.clone()), "function", look)
}

/// Returns a page with a row for each source line. Instructions whose source line is unknown are
/// counted in a row for their function.
pub(super) fn source(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let lines = by_name(of, look, |name| match &*name.source {
        "" => name.function.clone(),
        source => format!("{source}  {}", name.function),
    });
    page(lines, "line of source, function", look)
}

fn page(code: BTreeMap<String, Missed>, what: &str, look: ViewContext<'_>) -> ViewPage {
    let all: u64 = code.values().map(|missed| missed.cycles).sum();
    let mut rows: Vec<_> = code.into_iter().collect();
    rows.sort_by_key(|(_, Missed { misses, cycles })| {
        Reverse(match look.sort {
            0 | 1 => *cycles,
            2 => misses.l2,
            3 => misses.local,
            4 => misses.remote,
            5 => misses.c2c,
            _ => 0,
        })
    });
    let header = format!(">cycles waited|>share|>L2 hits|>local|>remote|>cache|{what}");
    let mut grid = Grid::new(&header).sorted(look.sort);
    for (name, Missed { misses, cycles }) in rows {
        let numbers = [misses.l2, misses.local, misses.remote, misses.c2c].map(count);
        let cells = [count(cycles), percent(cycles, all)].into_iter();
        grid.row(cells.chain(numbers).chain([name]).map(Line::from));
    }
    ViewPage::table(grid.lines())
}

/// Returns a line that names the functions whose memory accesses take longest.
pub(super) fn hottest(of: &Replayed, look: ViewContext<'_>) -> Line<'static> {
    let code = by_name(of, look, |name| name.function.clone());
    let all: u64 = code.values().map(|missed| missed.cycles).sum();
    let mut code: Vec<_> = code.into_iter().collect();
    code.sort_by_key(|(_, missed)| Reverse(missed.cycles));
    let shown = code.iter().take(3).filter(|(_, missed)| missed.cycles > 0);
    let shown: Vec<_> =
        shown.map(|(name, missed)| format!("{name} {}", percent(missed.cycles, all))).collect();
    let text = if shown.is_empty() { "-".to_owned() } else { shown.join(", ") };
    Line::from(cut(&format!("waits for memory: {text}"), look.width.saturating_sub(3)))
}

/// Returns a page with a row for each of the cache lines that move most between nodes.
pub(super) fn sharing(of: &Replayed, look: ViewContext<'_>) -> ViewPage {
    let mut grid = Grid::new(">line|>home|>transfers|>dropped|sharing|writers|functions");
    for line in of.lines() {
        let writing = line.users.iter().filter(|user| user.writes());
        let writers: BTreeSet<_> = writing.map(|user| user.strand.node().index()).collect();
        let writers: Vec<_> = writers.iter().map(usize::to_string).collect();
        let sharing = match line.sharing {
            _ if writers.is_empty() => "read",
            Sharing::False => "false",
            Sharing::True => "true",
        };
        let cells = [
            format!("{:#x}", line.address),
            line.home.index().to_string(),
            count(line.moves.transfers),
            count(line.moves.invalidations),
            sharing.to_owned(),
            writers.join(","),
            users(line, look).join(", "),
        ];
        grid.row(cells.map(Line::from));
    }
    let mut page = ViewPage::table(grid.lines());
    let note = "Moved most between nodes since the start. false: nodes use different bytes";
    page.head.insert(0, Line::from(note));
    page
}

/// Returns the functions that use a cache line, the one with the most uses first.
fn users(line: &SharedLine, look: ViewContext<'_>) -> Vec<String> {
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    for user in line.users.iter().filter(|user| user.what != Use::Fetch) {
        let program = look.names.program_of(user.thread);
        let name = &look.names.name(program, user.instruction).function;
        *functions.entry(name.clone()).or_default() += user.times;
    }
    let mut functions: Vec<_> = functions.into_iter().collect();
    functions.sort_by_key(|(_, times)| Reverse(*times));
    functions.into_iter().map(|(name, _)| name).collect()
}
