//! Lines that the nodes take from each other.

use std::collections::BTreeMap;

use crate::draw::{Bar, Span, Use, bars, bytes};
use crate::figure::{Figure, Legend, Table};
use crate::names::{Names, program_of};
use crate::numbers::{count, counted, percent};
use crate::report::{Line, Lines, Report, User};

/// The users of so many lines are drawn, and so many of each.
const MOST_LINES: usize = 3;
const MOST_USERS: usize = 32;

/// The colours of what users do.
const USES: [(&str, &str, &str); 4] = [
    ("fetch", "c0", "fetches"),
    ("load", "c1", "loads"),
    ("modify", "c5", "loads and stores at once"),
    ("store", "c4", "stores"),
];

/// Returns the charts of lines.
pub(super) fn figures(report: &Report, lines: &Lines, names: &Names) -> Vec<Figure> {
    if lines.hottest.is_empty() {
        return Vec::new();
    }
    let users = lines.hottest.iter().take(MOST_LINES).enumerate();
    let users = users.map(|(number, line)| users_of(report, number + 1, line, names));
    std::iter::once(hottest(lines)).chain(users).collect()
}

fn hottest(lines: &Lines) -> Figure {
    let all = (lines.transfers + lines.invalidations) as f64;
    let mut table = Table::new("#|line|home node|transfers|invalidations|share of all, %|sharing");
    let mut drawn = Vec::new();
    for (number, line) in lines.hottest.iter().enumerate() {
        let moves = (line.transfers + line.invalidations) as f64;
        table.row([
            (number + 1).to_string(),
            line.address.clone(),
            line.home.to_string(),
            line.transfers.to_string(),
            line.invalidations.to_string(),
            format!("{:.1}", moves / all.max(1.0) * 100.0),
            line.sharing.clone(),
        ]);
        let part = |class, what: &str, times: u64| (class, times as f64, counted(times, what));
        drawn.push(Bar {
            label: format!("{} on node {}: {}", line.address, line.home, line.sharing),
            parts: vec![
                part("c4", "transfer", line.transfers),
                part("c3", "invalidation", line.invalidations),
            ],
            value: percent(moves, all),
        });
    }
    drawn.truncate(10);
    let longest = lines
        .hottest
        .iter()
        .map(|line| line.transfers + line.invalidations)
        .max();
    Figure {
        id: "lines".to_owned(),
        title: "Lines that move most between nodes".to_owned(),
        text: format!(
            "{} between the L2 caches of nodes: {} and {} in all. False sharing is of different bytes in one line: it ends if these are apart.",
            match lines.moved {
                1 => "1 line moves".to_owned(),
                moved => format!("{} lines move", count(moved)),
            },
            counted(lines.transfers, "transfer"),
            counted(lines.invalidations, "invalidation"),
        ),
        drawing: Some(bars(
            &drawn,
            longest.unwrap_or(0) as f64,
            "transfers and invalidations",
        )),
        legend: vec![
            (
                "c4".to_owned(),
                "transfers: a cache gives the line to another".to_owned(),
            ),
            (
                "c3".to_owned(),
                "invalidations: a store takes it from another".to_owned(),
            ),
        ],
        table,
    }
}

fn users_of(report: &Report, number: usize, line: &Line, names: &Names) -> Figure {
    let mut table = Table::new("bytes|thread|node|what|times|function|source");
    let mut threads: BTreeMap<usize, Vec<&User>> = BTreeMap::new();
    for user in &line.users {
        let program = program_of(report, user.thread);
        table.row([
            user.bytes.clone(),
            user.thread.to_string(),
            (user.strand / 64).to_string(),
            user.what.clone(),
            user.times.to_string(),
            names.function(program, user.instruction),
            names.source(program, user.instruction),
        ]);
        threads.entry(user.thread).or_default().push(user);
    }
    let drawn = threads.iter().take(MOST_USERS).map(|(thread, users)| {
        let spans = USES.iter().flat_map(|(what, class, words)| {
            let users = users.iter().filter(move |user| user.what == *what);
            users.flat_map(move |user| spans(user, class, words))
        });
        Use {
            label: format!("{thread} on node {}", users[0].strand / 64),
            spans: spans.collect(),
        }
    });
    let drawn: Vec<_> = drawn.collect();
    let mut functions: Vec<_> = (line.users.iter())
        .map(|user| names.function(program_of(report, user.thread), user.instruction))
        .collect();
    functions.sort();
    functions.dedup();
    functions.truncate(3);
    let present = USES
        .iter()
        .filter(|(what, ..)| line.users.iter().any(|user| user.what == *what));
    let legend: Legend = present
        .map(|(_, class, words)| ((*class).to_owned(), (*words).to_owned()))
        .collect();
    Figure {
        id: format!("line-{number}"),
        title: format!("Who uses line {}", line.address),
        text: format!(
            "{}, by {}. Each row is a thread, each column a byte: threads whose marks are in different columns share no data.",
            match &*line.sharing {
                "false sharing" => "False sharing",
                _ => "True sharing",
            },
            functions.join(", "),
        ),
        drawing: Some(bytes(&drawn)),
        legend,
        table,
    }
}

/// Returns the bytes that a user uses, which are text such as `0-7,16`.
fn spans(user: &User, class: &'static str, words: &'static str) -> impl Iterator<Item = Span> {
    let reads = user.what != "store";
    let writes = matches!(&*user.what, "store" | "modify");
    user.bytes.split(',').filter_map(move |range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < 64).then(|| Span {
            bytes: first..last + 1,
            use_: [reads, writes],
            class,
            words: format!("{} {words} of bytes {range}", count(user.times)),
        })
    })
}
