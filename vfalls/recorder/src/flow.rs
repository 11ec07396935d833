//! Follows the data flow between sections that use the same lock.
//!
//! A *section* is what a thread does while it holds a lock. The replay can often execute a lock's sections in an order that differs from
//! the recorded order. But a section that has seen the effect of another thread's section must stay after that other section. The following
//! rules find the latest *earlier section* whose effect *this section* has seen:
//!
//! 1. The earlier section wrote a word that this section only reads.
//! 2. The earlier section wrote a word without reading it first, and this section reads it.
//! 3. The earlier section read a word that this section writes without reading the word first. For example, the word is a queue slot that
//!    is reused.
//! 4. The earlier section signalled a condition, and both sections read and then write the same word. For example, the word is the number
//!    of items in a queue, and the program has no other word that shows the effect. This rule applies only if rules 1 to 3 have found no
//!    new effect of a section that signals. The effect on a word is new if this thread has not read the word since the effect.
//!
//! In all other cases, words that all sections read and then write, such as sums and counts, do not order sections.

use std::collections::{HashMap, HashSet};

/// A section, identified by its thread and by the signal that marks its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) thread: u32,
    pub(crate) signal: u64,
}

/// How a section has accessed a word.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// Whether the section read the word before writing it.
    read: bool,
    written: bool,
}

/// What a section has done so far.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    words: HashMap<u64, Use>,
    /// Whether rules 1 to 3 have found a new effect of another thread's section that signals a condition.
    has_found: bool,
}

/// Which finished sections used a word last.
#[derive(Debug, Default)]
struct WordHistory {
    writer: Option<Section>,
    /// Whether the writer read the word before writing it.
    changed: bool,
    /// The latest section of each thread that read the word after the latest write.
    readers: Vec<Section>,
}

/// The maximum number of words that are remembered for a lock.
const MAX_WORDS: usize = 1 << 20;

/// What the finished sections of a lock have read and written.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    words: HashMap<u64, WordHistory>,
    /// The sections that have signalled a condition, each represented by the signal that marks its end.
    signalling: HashSet<u64>,
    /// For each thread, its latest section whose accesses are not known. Every later section must stay after these sections.
    unknown: Vec<Section>,
}

/// Adds a section to a list that has at most one section of each thread. An earlier section of the same thread is replaced.
fn set(sections: &mut Vec<Section>, section: Section) {
    match sections.iter_mut().find(|other| other.thread == section.thread) {
        Some(other) => *other = section,
        None => sections.push(section),
    }
}

/// The sections that must stay before a section of the thread `own`: at most one, the latest, for every other thread.
struct Predecessors {
    own: u32,
    sections: Vec<Section>,
}

impl Predecessors {
    fn add(&mut self, section: Section) {
        if section.thread == self.own {
            return;
        }
        match self.sections.iter_mut().find(|other| other.thread == section.thread) {
            Some(other) => other.signal = other.signal.max(section.signal),
            None => self.sections.push(section),
        }
    }
}

impl Flow {
    /// Notes that a section's thread has signalled a condition, during the section or after it.
    pub(crate) fn mark_signalling(&mut self, section: Section) {
        self.signalling.insert(section.signal);
    }

    /// Returns `true` if a section is known to have signalled a condition.
    pub(crate) fn has_signalled(&self, section: Section) -> bool {
        self.signalling.contains(&section.signal)
    }

    /// Notes a finished section whose accesses are not known.
    pub(crate) fn unknown_section(&mut self, section: Section) {
        self.words.clear();
        set(&mut self.unknown, section);
    }

    /// Notes some accesses of a section. Each access has an address, a size in bytes, and `true` if it is a store. `uses` holds what the
    /// section did before these accesses, and is updated. Returns the sections that this section must stay after, at most one for every
    /// other thread.
    pub(crate) fn section(
        &mut self,
        section: Section,
        uses: &mut Uses,
        accesses: impl IntoIterator<Item = (u64, u64, bool)>,
    ) -> Vec<Section> {
        let mut words = HashSet::new();
        for (address, size, is_store) in accesses {
            for word in address >> 3..=address.wrapping_add(size.max(1) - 1) >> 3 {
                let used = uses.words.entry(word).or_default();
                used.read |= !is_store && !used.written;
                used.written |= is_store;
                words.insert(word);
            }
        }
        let mut earlier = Predecessors { own: section.thread, sections: Vec::new() };
        self.unknown.iter().for_each(|unknown| earlier.add(*unknown));
        let mut counted = Vec::new();
        for word in &words {
            let Some(history) = self.words.get(word) else { continue };
            match (uses.words[word], history.writer) {
                (Use { read: true, written }, Some(writer)) => {
                    if !written || !history.changed {
                        earlier.add(writer);
                        // The effect is not new if an earlier section of this thread has read the word since the write.
                        let is_new = !history.readers.iter().any(|reader| {
                            reader.thread == section.thread && reader.signal != section.signal
                        });
                        uses.has_found |=
                            is_new && writer.thread != section.thread && self.has_signalled(writer);
                    } else if self.has_signalled(writer) {
                        counted.push(writer);
                    }
                }
                (Use { read: false, .. }, writer) => {
                    // A writer that changed the word has also read it, so such a writer counts as a reader, too.
                    let changer = writer.filter(|_| history.changed);
                    for seen in history.readers.iter().copied().chain(changer) {
                        earlier.add(seen);
                        uses.has_found |= seen.thread != section.thread && self.has_signalled(seen);
                    }
                }
                _ => {}
            }
        }
        if !uses.has_found {
            counted.into_iter().for_each(|section| earlier.add(section));
        }
        for word in words {
            let used = uses.words[&word];
            let history = self.words.entry(word).or_default();
            if used.written {
                *history =
                    WordHistory { writer: Some(section), changed: used.read, readers: Vec::new() };
            } else {
                set(&mut history.readers, section);
            }
        }
        if self.words.len() > MAX_WORDS {
            self.unknown_section(section);
        }
        earlier.sections.sort_unstable_by_key(|section| section.signal);
        earlier.sections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: bool = false;
    const STORE: bool = true;

    /// Returns the signals that the section must stay after. Section n ends with signal n.
    fn after(flow: &mut Flow, thread: u32, signal: u64, accesses: &[(u64, bool)]) -> Vec<u64> {
        let accesses = accesses.iter().map(|(address, is_store)| (*address, 8, *is_store));
        signals(flow.section(Section { thread, signal }, &mut Uses::default(), accesses))
    }

    fn signals(sections: Vec<Section>) -> Vec<u64> {
        sections.iter().map(|section| section.signal).collect()
    }

    const SUM: u64 = 0x1000;
    const HEAD: u64 = 0x1008;
    const TAIL: u64 = 0x1010;
    const SLOT: u64 = 0x2000;

    #[test]
    fn sums_do_not_order_sections() {
        let mut flow = Flow::default();
        for (thread, signal) in [(0, 0), (1, 1), (0, 2), (2, 3)] {
            assert!(after(&mut flow, thread, signal, &[(SUM, LOAD), (SUM, STORE)]).is_empty());
        }
        // A section that only reads the sum sees the latest write.
        assert_eq!(after(&mut flow, 3, 4, &[(SUM, LOAD)]), [3]);
    }

    #[test]
    fn what_is_taken_was_put_before() {
        let mut flow = Flow::default();
        let put = |slot| [(TAIL, LOAD), (slot, STORE), (TAIL, STORE), (SUM, LOAD), (SUM, STORE)];
        let take = |slot| [(HEAD, LOAD), (slot, LOAD), (HEAD, STORE), (SUM, LOAD), (SUM, STORE)];
        for signal in 0..3 {
            assert!(after(&mut flow, 0, signal, &put(SLOT + 8 * signal)).is_empty());
            flow.mark_signalling(Section { thread: 0, signal });
        }
        // The second take needs the second put, not the third, although every put changes the sum and signals a condition.
        assert_eq!(after(&mut flow, 1, 3, &take(SLOT)), [0]);
        assert_eq!(after(&mut flow, 1, 4, &take(SLOT + 8)), [1]);
        // The slot is reused after the first take.
        assert_eq!(after(&mut flow, 0, 5, &put(SLOT)), [3]);
    }

    #[test]
    fn a_flag_is_seen_and_cleared() {
        let mut flow = Flow::default();
        assert!(after(&mut flow, 0, 0, &[(SUM, STORE)]).is_empty());
        assert_eq!(after(&mut flow, 1, 1, &[(SUM, LOAD), (SUM, STORE)]), [0]);
        assert_eq!(after(&mut flow, 0, 2, &[(SUM, STORE)]), [1]);
    }

    #[test]
    fn a_count_with_signals_keeps_its_order() {
        let change = [(SUM, LOAD), (SUM, STORE)];
        let mut flow = Flow::default();
        assert!(after(&mut flow, 0, 0, &change).is_empty());
        flow.mark_signalling(Section { thread: 0, signal: 0 });
        assert_eq!(after(&mut flow, 1, 1, &change), [0]);
        assert!(after(&mut flow, 0, 2, &change).is_empty());
        assert!(after(&mut flow, 1, 3, &change).is_empty());
    }

    /// The first section writes what all later sections read, such as a function's address.
    #[test]
    fn a_count_keeps_its_order_beside_what_is_always_read() {
        let change = [(SLOT, LOAD), (SUM, LOAD), (SUM, STORE)];
        let mut flow = Flow::default();
        assert!(after(&mut flow, 0, 0, &[(SLOT, STORE), (SUM, LOAD), (SUM, STORE)]).is_empty());
        flow.mark_signalling(Section { thread: 0, signal: 0 });
        assert_eq!(after(&mut flow, 1, 1, &change), [0]);
        assert!(after(&mut flow, 0, 2, &change).is_empty());
        flow.mark_signalling(Section { thread: 0, signal: 2 });
        assert_eq!(after(&mut flow, 1, 3, &change), [2]);
    }

    #[test]
    fn an_own_section_needs_no_order_and_a_thread_has_one_latest() {
        let mut flow = Flow::default();
        after(&mut flow, 0, 0, &[(SLOT, STORE)]);
        after(&mut flow, 0, 1, &[(SLOT + 8, STORE)]);
        assert!(after(&mut flow, 0, 2, &[(SLOT, LOAD)]).is_empty());
        after(&mut flow, 2, 3, &[(SLOT + 16, STORE)]);
        let all = [(SLOT, LOAD), (SLOT + 8, LOAD), (SLOT + 16, LOAD)];
        assert_eq!(after(&mut flow, 1, 4, &all), [1, 3]);
        // An access to half of a word is a use of the whole word.
        let section = Section { thread: 1, signal: 5 };
        let uses = &mut Uses::default();
        assert_eq!(signals(flow.section(section, uses, [(SLOT + 12, 8, LOAD)])), [1, 3]);
    }

    #[test]
    fn a_section_may_be_noted_in_parts() {
        let mut flow = Flow::default();
        assert!(after(&mut flow, 0, 0, &[(SUM, LOAD), (SUM, STORE)]).is_empty());
        // In the first call, the section reads the sum. In the second call, the same section writes the sum. Together, the two calls change
        // the sum.
        let (section, uses) = (Section { thread: 1, signal: 1 }, &mut Uses::default());
        flow.section(section, uses, [(SUM, 8, LOAD), (SLOT, 8, STORE)]);
        assert!(flow.section(section, uses, [(SUM, 8, STORE)]).is_empty());
        assert!(after(&mut flow, 2, 2, &[(SUM, LOAD), (SUM, STORE)]).is_empty());
        assert_eq!(after(&mut flow, 2, 3, &[(SLOT, LOAD)]), [1]);
    }

    #[test]
    fn all_stay_after_a_section_that_is_not_known() {
        let mut flow = Flow::default();
        flow.unknown_section(Section { thread: 0, signal: 0 });
        assert_eq!(after(&mut flow, 1, 1, &[(SLOT, LOAD)]), [0]);
        assert_eq!(after(&mut flow, 2, 2, &[]), [0]);
        assert!(after(&mut flow, 0, 3, &[]).is_empty());
    }
}
