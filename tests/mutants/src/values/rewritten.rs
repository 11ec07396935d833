//! A file that contains many mutants, one of which an environment variable chooses.

use std::cmp::Reverse;
use std::ops::Range;

use super::choices::Choice;

/// A file with choices, and the places of the mutants in it.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    /// The places that only a mutant executes, each with the mutant's number.
    mutants: Vec<(Range<usize>, usize)>,
}

impl Rewritten {
    /// Puts choices, each given with its mutant's number, into a file.
    pub(crate) fn new(text: &str, choices: &[(usize, Choice)]) -> Self {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut sorted: Vec<_> = choices.iter().collect();
        // An outer expression comes before the expressions that it contains. A statement comes before the expression at its place.
        sorted.sort_by_key(|(number, choice)| {
            let whole = whole(choice);
            (whole.start, !whole.is_empty(), Reverse(whole.end), *number)
        });
        for (number, choice) in sorted {
            let whole = whole(choice);
            match groups.last_mut() {
                Some(last) if last.whole == whole && !whole.is_empty() => {
                    last.mutants.push((*number, choice));
                }
                _ => groups.push(Group { whole, mutants: vec![(*number, choice)] }),
            }
        }
        let mut rewritten = Self::default();
        rewritten.add(text, 0..text.len(), &groups, None);
        rewritten
    }

    /// Returns the mutants that an error at this place is about: the innermost mutant around the place, or else those inside it, or else
    /// the nearest. An error can lie outside its mutant: after a mutant that returns early, the type of a value is wrong, and a match that
    /// lacks an arm begins before that arm.
    pub(crate) fn at(&self, place: &Range<usize>) -> Vec<usize> {
        let mutants = self.mutants.iter();
        let is_in = |inner: &Range<usize>, outer: &Range<usize>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        let around = mutants.clone().filter(|(range, _)| is_in(place, range));
        if let Some((_, number)) = around.min_by_key(|(range, _)| range.len()) {
            return vec![*number];
        }
        let inside = mutants.clone().filter(|(range, _)| is_in(range, place));
        let inside: Vec<usize> = inside.map(|(_, number)| *number).collect();
        if !inside.is_empty() {
            return inside;
        }
        let distance = |range: &Range<usize>| {
            place.start.saturating_sub(range.end) + range.start.saturating_sub(place.end)
        };
        let nearest = mutants.min_by_key(|(range, _)| distance(range));
        nearest.map(|(_, number)| *number).into_iter().collect()
    }

    /// Adds a part of the file. `groups` are the choices in that part, and `edit` replaces some of its text.
    fn add(
        &mut self,
        text: &str,
        range: Range<usize>,
        groups: &[Group<'_>],
        edit: Option<(&Range<usize>, &str)>,
    ) {
        let (mut at, mut next) = (range.start, 0);
        let mut edit = edit;
        loop {
            let group = groups.get(next);
            let start = group.map_or(range.end, |group| group.whole.start);
            if let Some((part, with)) = edit.filter(|(part, _)| part.start <= start) {
                self.text += &text[at..part.start];
                self.text += with;
                at = part.end;
                next += groups[next..].iter().take_while(|group| group.whole.start < at).count();
                edit = None;
                continue;
            }
            self.text += &text[at..start];
            at = start;
            let Some(group) = group else { return };
            let inner = &groups[next + 1..];
            let inside =
                inner.iter().take_while(|inner| inner.whole.start < group.whole.end).count();
            self.add_group(text, group, &inner[..inside]);
            at = at.max(group.whole.end);
            next += 1 + inside;
        }
    }

    fn add_group(&mut self, text: &str, group: &Group<'_>, inside: &[Group<'_>]) {
        let mut before = "(";
        for (number, choice) in &group.mutants {
            let start = self.text.len();
            match choice {
                Choice::Return { value, .. } => {
                    self.text += &format!("if {} {{ return {value}; }} ", chosen(*number));
                }
                Choice::Guard { .. } => self.text += &format!(" if !{}", chosen(*number)),
                Choice::Expression { whole, part, with } => {
                    self.text += &format!("{before}if {} {{ ", chosen(*number));
                    self.add(text, whole.clone(), inside, Some((part, with)));
                    self.text += " }";
                    before = " else ";
                }
            }
            self.mutants.push((start..self.text.len(), *number));
        }
        if !group.whole.is_empty() {
            self.text += " else { ";
            self.add(text, group.whole.clone(), inside, None);
            self.text += " })";
        }
    }
}

/// The choices at one place.
struct Group<'a> {
    whole: Range<usize>,
    mutants: Vec<(usize, &'a Choice)>,
}

fn whole(choice: &Choice) -> Range<usize> {
    match choice {
        Choice::Return { at, .. } | Choice::Guard { at } => *at..*at,
        Choice::Expression { whole, .. } => whole.clone(),
    }
}

fn chosen(number: usize) -> String {
    format!("crate::chosen::is({number})")
}

#[cfg(test)]
#[path = "tests/rewritten.rs"]
mod tests;
