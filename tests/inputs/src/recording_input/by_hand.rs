//! Checks recordings in handwritten text.

use std::collections::BTreeSet;
use std::io::Cursor;

use simulator::recording::{Chunk, Class, Kind, Order, Recording, RecordingError, Reference};

use super::{fetching, number, same, size};

/// A text recording's references in execution order, each with its strand.
type Lines = Vec<(usize, Reference)>;

/// Asserts that the reader and a second reader find the same references in a text recording.
pub(super) fn check(bytes: &[u8]) {
    same(&read(bytes), &plain(bytes), usize::MAX);
}

/// Returns the references of all threads, in an order that the threads' signals and waits permit. Each thread continues until it has to
/// wait.
fn read(bytes: &[u8]) -> Result<Lines, RecordingError> {
    let mut recording = Recording::from_reader("recording", Cursor::new(bytes.to_vec()), None)?;
    let (mut threads, mut chunk) = (Vec::new(), Chunk::default());
    for thread in 0..recording.threads() {
        let strand = recording.strand_of(thread).expect("a line names its strand").index();
        let (mut references, mut orders) = (Vec::new(), Vec::new());
        while recording.next_chunk(thread, &mut chunk)? {
            let before = references.len();
            orders.extend(chunk.order.iter().map(|(at, order)| (before + at, *order)));
            references.extend(chunk.references().iter());
        }
        threads.push((strand, references, orders, 0, 0));
    }
    let (mut lines, mut signals) = (Vec::new(), BTreeSet::new());
    loop {
        let mut waits = true;
        for (strand, references, orders, next, ordered) in &mut threads {
            loop {
                match orders.get(*ordered) {
                    Some((at, Order::Wait(_, number)))
                        if at == next && !signals.contains(number) =>
                    {
                        break;
                    }
                    Some((at, order)) if at == next => {
                        if let Order::Signal(number) = order {
                            assert!(signals.insert(*number), "signal {number} is made twice");
                        }
                        *ordered += 1;
                    }
                    _ if *next == references.len() => break,
                    _ => {
                        lines.push((*strand, references[*next]));
                        *next += 1;
                    }
                }
                waits = false;
            }
        }
        if waits {
            let ended = threads.iter().all(|thread| thread.3 == thread.1.len());
            assert!(ended, "a thread waits for ever");
            return Ok(lines);
        }
    }
}

/// Returns the references of a text recording, or the number of the first wrong line.
fn plain(bytes: &[u8]) -> Result<Lines, u64> {
    let mut lines: Lines = Vec::new();
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1_u64..) {
        let text = String::from_utf8_lossy(line);
        let text = text.split('#').next().unwrap_or_default();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        if line.len() > 1024 {
            return Err(number);
        }
        if !words.is_empty() {
            let (strand, reference) = reference(&words).ok_or(number)?;
            lines.push((strand, reference));
            if words[1] == "m" {
                lines.push((strand, Reference { kind: Kind::Store, ..reference }));
            }
        }
    }
    // The kind of a fetch depends on the strand's data references between this fetch and the strand's next fetch.
    for at in 0..lines.len() {
        let (strand, fetch) = lines[at];
        if fetch.kind != Kind::FetchOther {
            continue;
        }
        let data: Vec<Kind> = lines[at + 1..]
            .iter()
            .filter(|line| line.0 == strand)
            .map(|line| line.1.kind)
            .take_while(|kind| !kind.is_fetch())
            .collect();
        let any = |kind| data.contains(&kind) || data.contains(&Kind::Modify);
        lines[at].1.kind = fetching(any(Kind::Load), any(Kind::Store));
        if data.contains(&Kind::Modify) {
            lines[at].1.class = Class::Atomic;
        }
    }
    Ok(lines)
}

fn reference(words: &[&str]) -> Option<(usize, Reference)> {
    let (strand, kind, address, bytes) = match *words {
        [strand, kind, address] => (strand, kind, address, if kind == "i" { "4" } else { "8" }),
        [strand, kind, address, bytes] => (strand, kind, address, bytes),
        _ => return None,
    };
    let strand = strand.strip_prefix(['P', 'p']).unwrap_or(strand);
    let strand = number(strand, 3, 10).filter(|strand| *strand < 256)?;
    let kind = match kind {
        "r" => Kind::Load,
        "w" => Kind::Store,
        "m" => Kind::Load,
        "a" => Kind::Modify,
        "i" => Kind::FetchOther,
        _ => return None,
    };
    let address = number(address.strip_prefix("0x").unwrap_or(address), 16, 16)?;
    Some((strand as usize, Reference::new(address, size(bytes)?, kind)))
}
