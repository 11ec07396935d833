//! Finds what is unusual in a replay, and describes it in sentences with numbers.

use std::collections::BTreeMap;

use crate::numbers::{count, percent};
use crate::page::cut::{NAME, cut};
use crate::page::names::{Names, program_of};
use crate::page::sections::parts;
use simulator::memory::{Traffic, TrafficKind};
use simulator::run::{GuestCalls, Replayed};

/// A weight from 0 to 1, and a sentence. The weight is roughly the share of the run that the
/// sentence describes.
type Finding = (f64, String);

/// Sentences with a smaller weight are not shown.
const MIN_WEIGHT: f64 = 0.05;

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns at most `most` sentences, with the largest weight first. The result is empty if nothing
/// is unusual.
pub(super) fn sentences(run: &Replayed, names: &Names, most: usize) -> Vec<String> {
    let topics = [
        most_waited_for(run),
        waiting_function(run, names),
        most_moved_line(run, names),
        served_by_another_node(run),
        busiest_part(run),
        uneven_memory(run),
        refused_calls(run),
        slowest_thread(run),
    ];
    let mut found: Vec<_> = topics.into_iter().flatten().collect();
    found.retain(|(weight, _)| *weight >= MIN_WEIGHT);
    found.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    found.into_iter().take(most).map(|(_, sentence)| sentence).collect()
}

fn most_waited_for(run: &Replayed) -> Option<Finding> {
    let cycles: u64 = run.threads.iter().map(|thread| thread.cycles).sum();
    let mut sums = parts(&run.threads.first()?.stack).map(|(name, _)| (name, 0));
    for thread in &run.threads {
        for (sum, (_, cycles)) in sums.iter_mut().zip(parts(&thread.stack)) {
            sum.1 += cycles;
        }
    }
    let (name, most) = sums.into_iter().skip(1).max_by_key(|(_, sum)| *sum)?;
    let about = match name {
        "a line on its way" => " to the L2 cache already, for another strand or for a store",
        _ => "",
    };
    let share = percent(most as f64, cycles as f64);
    let sentence = format!("Threads spend {share} of their cycles waiting for {name}{about}.");
    Some((ratio(most, cycles), sentence))
}

fn waiting_function(run: &Replayed, names: &Names) -> Option<Finding> {
    let details = run.details.as_ref()?;
    let mut functions: BTreeMap<String, u64> = BTreeMap::new();
    for one in &details.code {
        let function = names.function(one.program, one.address);
        *functions.entry(function).or_default() += one.missed.cycles;
    }
    let all = functions.values().sum::<u64>() + details.code_others.cycles;
    let (function, most) = functions.into_iter().max_by_key(|(_, cycles)| *cycles)?;
    let cycles: u64 = run.threads.iter().map(|thread| thread.cycles).sum();
    let share = percent(most as f64, all as f64);
    let function = cut(&function, NAME);
    Some((ratio(most, cycles), format!("{share} of all waiting is in the function {function}.")))
}

fn most_moved_line(run: &Replayed, names: &Names) -> Option<Finding> {
    let lines = &run.details.as_ref()?.lines;
    let line = lines.hottest.first()?;
    let moves = line.moves.all();
    let all = lines.transfers + lines.invalidations;
    let user = line.users.iter().max_by_key(|user| user.times)?;
    let function = names.function(program_of(run, user.thread), user.instruction);
    let function = cut(&function, NAME);
    // The weight is the line's share of all misses. Requests served by the node's cache are not
    // misses.
    let served = run.threads.iter().map(|thread| thread.served);
    let misses: u64 = served.map(|by| by.local + by.remote + by.c2c).sum();
    let sentence = format!(
        "{} of all moves of lines between nodes are of one line, {:#x}: {}, in the function {function}.",
        percent(moves as f64, all as f64),
        line.address,
        line.sharing.name(),
    );
    Some((ratio(line.moves.transfers, misses), sentence))
}

/// Finds a node that served most of another node's misses.
fn served_by_another_node(run: &Replayed) -> Option<Finding> {
    let gives = |one: &&Traffic| matches!(one.kind, TrafficKind::Memory | TrafficKind::C2c);
    let all: u64 = run.usage.traffic.iter().filter(gives).map(|one| one.lines).sum();
    let most = (run.usage.traffic.iter().filter(gives))
        .filter(|one| one.from != one.to)
        .max_by_key(|one| one.lines)?;
    let Traffic { from, to, kind, lines } = most;
    let to_it = run.usage.traffic.iter().filter(gives).filter(|one| one.to == *to);
    let to_it: u64 = to_it.map(|one| one.lines).sum();
    let by = match kind {
        TrafficKind::Memory => "memory",
        _ => "L2 cache",
    };
    let sentence = format!(
        "{} of node {to}'s misses are served by node {from}'s {by} ({} of {} lines).",
        percent(*lines as f64, to_it as f64),
        count(*lines),
        count(to_it),
    );
    Some((ratio(*lines, all), sentence))
}

fn busiest_part(run: &Replayed) -> Option<Finding> {
    let usage = &run.usage;
    let channels = (usage.channels.iter())
        .map(|one| (format!("Memory channel MCU {} of node {}", one.mcu, one.node), one.busy));
    let hubs = usage.hubs.iter().map(|one| (format!("Hub {}", one.hub), one.busy));
    let links = (usage.links.iter())
        .map(|one| (format!("The link of node {} and hub {}", one.node, one.hub), one.busy));
    let (name, busy) = channels.chain(hubs).chain(links).max_by_key(|(_, busy)| *busy)?;
    let share = percent(busy as f64, run.cycles as f64);
    let sentence = format!("{name} is busy for {share} of the time, more than any other part.");
    Some((ratio(busy, run.cycles), sentence))
}

fn uneven_memory(run: &Replayed) -> Option<Finding> {
    let mut nodes = vec![0; run.nodes];
    for channel in &run.usage.channels {
        *nodes.get_mut(channel.node)? += channel.lines();
    }
    let all: u64 = nodes.iter().sum();
    let (node, most) = nodes.into_iter().enumerate().max_by_key(|(_, lines)| *lines)?;
    let even = 1.0 / run.nodes as f64;
    let share = percent(most as f64, all as f64);
    let sentence = format!(
        "Node {node}'s memory has {share} of all reads and writes of memory; an even share is {}.",
        percent(even, 1.0),
    );
    Some((ratio(most, all) - even, sentence))
}

fn refused_calls(run: &Replayed) -> Option<Finding> {
    let refused = |guest: &&GuestCalls| {
        let refused = guest.hypercalls.by_status.get("EWOULDBLOCK");
        refused.copied().unwrap_or(0)
    };
    let guest = run.guests.iter().max_by_key(refused)?;
    let (times, all) = (refused(&guest), guest.hypercalls.total);
    let sentence = format!(
        "{} of guest {}'s {} hypercalls end with EWOULDBLOCK, because the hub is taken.",
        percent(times as f64, all as f64),
        guest.name,
        count(all),
    );
    // Calls take only a small part of a run, so the weight is only a quarter of the refused calls'
    // share.
    Some((ratio(times, all) / 4.0, sentence))
}

fn slowest_thread(run: &Replayed) -> Option<Finding> {
    let mut cycles: Vec<_> = run.threads.iter().map(|one| one.cycles).collect();
    cycles.sort_unstable();
    let median = cycles[cycles.len() / 2];
    let slowest = run.threads.iter().max_by_key(|one| one.cycles)?;
    let more = ratio(slowest.cycles, median);
    let thread = slowest.thread;
    let sentence =
        format!("Thread {thread} takes {more:.1} times the cycles of the median thread.");
    Some((1.0 - 1.0 / more, sentence))
}
