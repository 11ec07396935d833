//! Charts of the memory lines that move between nodes.

use std::collections::BTreeMap;

use crate::numbers::{count, counted, percent};
use crate::page::cut::{NAME, cut};
use crate::page::draw::{Bar, ByteUser, Span, bars, bytes};
use crate::page::figure::{Figure, legend};
use crate::page::names::{Names, program_of};
use crate::table;
use simulator::analysis::details::Lines;
use simulator::analysis::sharing::{SharedLine, Sharing, Use, User, byte_list};
use simulator::machine::strands::ranges;
use simulator::run::Replayed;

/// The maximum number of lines whose users are shown.
const MAX_LINES: usize = 3;
/// The maximum number of users that are shown for a line.
const MAX_USERS: usize = 32;

/// How bytes of a line can be used: the use, its CSS colour class, and its name.
const USES: [(Use, &str, &str); 4] = [
    (Use::Fetch, "c0", "fetches"),
    (Use::Load, "c1", "loads"),
    (Use::Modify, "c5", "loads and stores at once"),
    (Use::Store, "c4", "stores"),
];

pub(super) fn figures(run: &Replayed, lines: &Lines, names: &Names) -> Vec<Figure> {
    if lines.hottest.is_empty() {
        return Vec::new();
    }
    let users = lines.hottest.iter().take(MAX_LINES).enumerate();
    let users = users.map(|(number, line)| users_of(run, number + 1, line, names));
    std::iter::once(hottest(lines)).chain(users).collect()
}

fn hottest(lines: &Lines) -> Figure {
    let all = (lines.transfers + lines.invalidations) as f64;
    let mut table =
        table::with_header("#|line|home node|transfers|invalidations|share of all, %|sharing");
    let mut drawn = Vec::new();
    for (number, line) in lines.hottest.iter().enumerate() {
        let moves = line.moves.all() as f64;
        let (address, home) = (format!("{:#x}", line.address), line.home.index());
        table.add_row([
            (number + 1).to_string(),
            address.clone(),
            home.to_string(),
            line.moves.transfers.to_string(),
            line.moves.invalidations.to_string(),
            format!("{:.1}", moves / all.max(1.0) * 100.0),
            line.sharing.name().to_owned(),
        ]);
        let part = |class, what: &str, times: u64| (class, times as f64, counted(times, what));
        drawn.push(Bar {
            label: format!("{address} on node {home}: {}", line.sharing.name()),
            parts: vec![
                part("c4", "transfer", line.moves.transfers),
                part("c3", "invalidation", line.moves.invalidations),
            ],
            value: percent(moves, all),
        });
    }
    drawn.truncate(10);
    let longest = lines.hottest.iter().map(|line| line.moves.all()).max();
    Figure {
        id: "lines".to_owned(),
        title: "Lines that move most between nodes".to_owned(),
        text: format!(
            "{} between the L2 caches of nodes: {} and {} in all. False sharing means that nodes use different bytes of one line; it ends if these bytes are in separate lines.",
            match lines.moved {
                1 => "1 line moves".to_owned(),
                moved => format!("{} lines move", count(moved as u64)),
            },
            counted(lines.transfers, "transfer"),
            counted(lines.invalidations, "invalidation"),
        ),
        drawing: Some(bars(&drawn, longest.unwrap_or(0) as f64, "transfers and invalidations")),
        legend: legend([
            ("c4", "transfers: a cache gives the line to another cache"),
            ("c3", "invalidations: a store takes the line from another cache"),
        ]),
        table,
    }
}

fn users_of(run: &Replayed, number: usize, line: &SharedLine, names: &Names) -> Figure {
    let mut table = table::with_header("bytes|thread|node|what|times|function|source");
    let mut threads: BTreeMap<usize, Vec<&User>> = BTreeMap::new();
    for user in &line.users {
        let program = program_of(run, user.thread);
        table.add_row([
            byte_list(user.bytes),
            user.thread.to_string(),
            user.strand.node().index().to_string(),
            user.what.name().to_owned(),
            user.times.to_string(),
            names.function(program, user.instruction),
            names.source(program, user.instruction),
        ]);
        threads.entry(user.thread).or_default().push(user);
    }
    let drawn = threads.iter().take(MAX_USERS).map(|(thread, users)| {
        let spans = USES.iter().flat_map(|(what, class, words)| {
            let users = users.iter().filter(move |user| user.what == *what);
            users.flat_map(move |user| spans(user, class, words))
        });
        ByteUser {
            label: format!("{thread} on node {}", users[0].strand.node().index()),
            spans: spans.collect(),
        }
    });
    let drawn: Vec<_> = drawn.collect();
    let mut functions: Vec<_> = (line.users.iter())
        .map(|user| names.function(program_of(run, user.thread), user.instruction))
        .collect();
    functions.sort();
    functions.dedup();
    functions.truncate(3);
    let present = USES.iter().filter(|(what, ..)| line.users.iter().any(|user| user.what == *what));
    let legend = legend(present.map(|(_, class, words)| (*class, *words)));
    Figure {
        id: format!("line-{number}"),
        title: format!("Who uses line {:#x}", line.address),
        text: format!(
            "{}, by {}. Each row is a thread, each column a byte: threads whose marks are in different columns share no data.",
            match line.sharing {
                Sharing::False => "False sharing",
                Sharing::True => "True sharing",
            },
            functions.iter().map(|name| cut(name, NAME)).collect::<Vec<_>>().join(", "),
        ),
        drawing: Some(bytes(&drawn)),
        legend,
        table,
    }
}

/// Returns a span for each range of neighbouring bytes that `user` uses.
fn spans(user: &User, class: &'static str, words: &'static str) -> impl Iterator<Item = Span> {
    let uses = [user.what != Use::Store, user.writes()];
    let bits = user.bytes;
    let used = move |byte: &usize| bits >> byte & 1 != 0;
    let firsts = (0..64).filter(move |byte| used(byte) && (*byte == 0 || !used(&(byte - 1))));
    firsts.map(move |first| {
        let end = (first..64).find(|byte| !used(byte)).unwrap_or(64);
        let range = ranges(first..end);
        Span {
            bytes: first..end,
            use_: uses,
            class,
            words: format!("{} {words} of bytes {range}", count(user.times)),
        }
    })
}
