//! Prints what threads did with their time, and what they waited for.

use std::io::{self, Write};

use simulator::run::{LockRun, LockSite, Replayed, State, ThreadRun, WaitPlace};

use crate::numbers::counted_plainly;
use crate::page::names::Names;
use crate::table::{self, WIDTH, wrap};
use crate::text::summary::{ThreadRows, shown};

/// The maximum number of thread pairs in the text. The same maximum applies to locks, and to the places in each sentence.
const MAX_ROWS: usize = 5;

/// Prints how long threads were in each state, which threads waited for which others, and the locks with the longest waits. Prints nothing
/// about a single thread that ran all the time.
pub(crate) fn print(
    output: &mut impl Write,
    run: &Replayed,
    names: &Names,
    rows: ThreadRows,
) -> io::Result<()> {
    let waited = |thread: &ThreadRun| thread.states.sum() > thread.states.running;
    if run.threads.len() > 1 || run.threads.iter().any(waited) {
        let length = counted_plainly(run.cycles, "cycle");
        writeln!(output, "\nThe time of each thread, in percent of the run of {length}:\n")?;
        write!(output, "{}", states(run, rows))?;
    }
    let pairs = pairs(run, MAX_ROWS);
    if !pairs.is_empty() {
        writeln!(output, "\nWho waits for whom, longest waits first:\n")?;
        write!(output, "{}", table::text(&pairs))?;
    }
    let locks = locks(run, names, MAX_ROWS);
    if !locks.is_empty() {
        writeln!(output, "\nThe locks with the longest waits:\n")?;
        write!(output, "{}", table::text(&locks))?;
    }
    let sentences = sentences(run, names);
    if !sentences.is_empty() {
        writeln!(output)?;
    }
    for sentence in sentences {
        writeln!(output, "{}", wrap(&format!("{sentence}."), WIDTH).join("\n"))?;
    }
    Ok(())
}

/// Returns the states in which at least one thread spent time.
pub(crate) fn occurring(run: &Replayed) -> Vec<State> {
    let occurs = |state: &State| run.threads.iter().any(|thread| thread.states.of(*state) > 0);
    State::ALL.into_iter().filter(occurs).collect()
}

/// Returns a table of the time in each state. The table has a row for each thread that has a row in the summary, for each node with several
/// threads, and for all threads together.
fn states(run: &Replayed, rows: ThreadRows) -> String {
    let states = occurring(run);
    let columns: String = states.iter().map(|state| format!("|>{}", state.name())).collect();
    let mut table = table::with_header(&columns);
    let mut row = |name: String, threads: &[&ThreadRun]| {
        let sum = ThreadRun::sum(threads).states;
        let cells = states.iter().map(|state| percent(sum.of(*state), sum.sum()));
        table.add_row(std::iter::once(name).chain(cells));
    };
    let (shown, others) = shown(run, rows);
    for thread in shown {
        row(format!("thread {}", thread.thread), &[thread]);
    }
    if !others.is_empty() {
        row(format!("{} more", others.len()), &others);
    }
    let all: Vec<&ThreadRun> = run.threads.iter().collect();
    for node in 0..run.nodes {
        let on: Vec<_> = all.iter().copied().filter(|thread| thread.node() == node).collect();
        if on.len() > 1 && on.len() < all.len() {
            row(format!("node {node}"), &on);
        }
    }
    if all.len() > 1 {
        row("all threads".to_owned(), &all);
    }
    table::text(&table)
}

/// Formats `part` as a percentage of `whole`, with one decimal. Returns a hyphen if `part` is 0.
fn percent(part: u64, whole: u64) -> String {
    match part as f64 * 100.0 / whole.max(1) as f64 {
        _ if part == 0 => "-".to_owned(),
        share if share < 0.05 => "<0.1".to_owned(),
        share => format!("{share:.1}"),
    }
}

/// Returns a table of the longest waits of one thread for another. The table has at most `most` rows.
pub(crate) fn pairs(run: &Replayed, most: usize) -> table::Table {
    let mut table = table::with_header(">thread|waits for|>ended by thread|>times|>cycles");
    // If one thread's references are distributed (dealt) over several strands, these strands execute one thread, which does not wait for
    // itself.
    let is_thread = |number: usize| run.threads.get(number).is_some_and(|one| one.thread == number);
    let real = run.waits.pairs.iter().filter(|pair| is_thread(pair.thread) && pair.cycles > 0);
    for pair in real.take(most) {
        table.add_row([
            pair.thread.to_string(),
            pair.state.name().to_owned(),
            pair.ended_by.to_string(),
            pair.times.to_string(),
            pair.cycles.to_string(),
        ]);
    }
    table
}

/// Returns a table of locks for which threads waited. The table has at most `most` rows.
pub(crate) fn locks(run: &Replayed, names: &Names, most: usize) -> table::Table {
    let mut table = table::with_header("lock|>taken|>waits|>cycles waited|taken at");
    for lock in run.waits.locks.iter().filter(|lock| lock.waits > 0).take(most) {
        let numbers = [lock.taken, lock.waits, lock.cycles].map(|number| number.to_string());
        let name = names.variable(lock.program, lock.address);
        table.add_row(std::iter::once(name).chain(numbers).chain([site(lock, names)]));
    }
    table
}

/// Returns the place where a single thread takes the lock most often, and the number of other places. Returns an empty string if no place
/// is known.
fn site(lock: &LockRun, names: &Names) -> String {
    let Some(most) = lock.sites.iter().max_by_key(|site| (site.most, site.address)) else {
        return String::new();
    };
    let place = names.call(lock.program, most.address);
    match lock.sites.len() - 1 {
        0 => place,
        more => format!("{place} and {}", counted_plainly(more as u64, "more place")),
    }
}

/// Returns sentences, without their full stops, about the waits that are not simulated. The sentences say what the recording host
/// determined, which system calls take no time, and which references are left out.
pub(crate) fn sentences(run: &Replayed, names: &Names) -> Vec<String> {
    let waits = &run.waits;
    let mut sentences = Vec::new();
    let locks = waits.locks.iter();
    let dividing: Vec<_> =
        locks.flat_map(|lock| dividing(lock).map(move |site| (lock, site))).collect();
    for (lock, site) in dividing.iter().take(MAX_ROWS) {
        sentences.push(format!(
            "The order of the lock at {} decides which thread does which work: the recording host decided it",
            names.call(lock.program, site.address)
        ));
    }
    if dividing.len() > MAX_ROWS {
        let more = counted_plainly((dividing.len() - MAX_ROWS) as u64, "more place");
        sentences.push(format!("So does the order of locks at {more}"));
    }
    if waits.as_recorded > 0 {
        let wait = if waits.as_recorded == 1 { "wait is" } else { "waits are" };
        sentences.push(format!(
            "{} {wait} as recorded: the lock is not known{}",
            waits.as_recorded,
            places(&waits.recorded_at, names)
        ));
    }
    if !waits.calls.is_empty() {
        let calls: Vec<_> =
            waits.calls.iter().map(|(call, times)| format!("{times} {call}")).collect();
        sentences.push(format!("System calls that may block take no time: {}", calls.join(", ")));
    }
    if waits.left_out > 0 {
        sentences.push(format!(
            "{} of threads that waited for locks are left out: the machine's waits replace them",
            counted_plainly(waits.left_out, "recorded reference")
        ));
    }
    sentences
}

fn dividing(lock: &LockRun) -> impl Iterator<Item = &LockSite> {
    lock.sites.iter().filter(|site| site.divides_work())
}

/// Lists the functions that contain these places, each with its number of waits, in the form ` (in f: 3, in g: 1)`.
fn places(places: &[WaitPlace], names: &Names) -> String {
    let mut functions: Vec<(String, u64)> = Vec::new();
    for place in places.iter().filter(|place| place.address.is_some()) {
        let name = names.function(place.program, place.address);
        match functions.iter_mut().find(|(function, _)| *function == name) {
            Some((_, waits)) => *waits += place.waits,
            None => functions.push((name, place.waits)),
        }
    }
    functions.sort_by_key(|(_, waits)| std::cmp::Reverse(*waits));
    match &functions[..] {
        [] => String::new(),
        [(function, _)] => format!(" (in {function})"),
        several => {
            let first = several.iter().take(MAX_ROWS);
            let first: Vec<_> = first.map(|(name, waits)| format!("in {name}: {waits}")).collect();
            format!(" ({})", first.join(", "))
        }
    }
}
