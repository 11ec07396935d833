//! Decides which of several sources is wrong.

use core::array;

use super::finding::Fault;

/// The relation of a source to another source over a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Both sources show the same duration, within their bounds.
    Agrees,
    /// The source shows more time than the other source.
    Ahead,
    /// The source shows less time than the other source.
    Behind,
}

impl Relation {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Agrees => Self::Agrees,
            Self::Ahead => Self::Behind,
            Self::Behind => Self::Ahead,
        }
    }

    const fn fault(self) -> Fault {
        match self {
            Self::Ahead => Fault::Fast,
            Self::Agrees | Self::Behind => Fault::Slow,
        }
    }
}

/// The evidence about the sources over a span of time: the relations between the sources, and the faults that are proven.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<const N: usize> {
    /// `true` for each source that is trusted. Only trusted sources are judged.
    pub(super) trusted: [bool; N],
    /// `relations[i][j]` is the relation of source i to source j.
    pub(super) relations: [[Relation; N]; N],
    /// For each source, the fault that its own counts prove, whichever sources are right; `None` if they prove no fault.
    pub(super) proven: [Option<Fault>; N],
    /// `true` for each source that can gain time.
    pub(super) can_gain: [bool; N],
    /// `true` for each source that can lose time.
    pub(super) can_lose: [bool; N],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Agree,
    Wrong(usize, Fault),
    Undecided { ahead: usize, behind: usize },
}

impl<const N: usize> Evidence<N> {
    /// Decides which source is wrong. If several sources are wrong, returns one of them. The rules, in this order:
    ///
    /// 1. A source with a proven fault is wrong.
    /// 2. Sources that agree form a group. A source that agrees with one member of a group belongs to the group. Only the largest groups
    ///    can be right, because independent sources do not go wrong in the same way.
    /// 3. If a group is right, the sources outside of the group have made errors. An error is a surprise if its source is not known to make
    ///    such errors. Group A is ruled out if another of the largest groups, B, implies fewer surprises, and every surprise of B is also a
    ///    surprise of A.
    /// 4. A source is wrong if it is in no group that can be right. If several groups can be right, the result is undecided.
    pub(super) fn decide(&self) -> Decision {
        let trusted = || (0..N).filter(|source| self.trusted[*source]);
        let proven = trusted().find_map(|source| Some((source, self.proven[source]?)));
        if let Some((source, fault)) = proven {
            return Decision::Wrong(source, fault);
        }
        let groups = self.groups();
        // Each group is identified by its first member.
        let names = || trusted().filter(|source| groups[*source] == *source);
        let size = |name| trusted().filter(|source| groups[*source] == name).count();
        let max_size = names().map(size).max().unwrap_or(0);
        let surprises: [[bool; N]; N] = array::from_fn(|name| self.surprises(&groups, name));
        let largest = || names().filter(|name| size(*name) == max_size);
        let is_part = |of: usize, part: usize| {
            let (part, of) = (surprises.get(part), surprises.get(of));
            let pairs = || part.into_iter().flatten().zip(of.into_iter().flatten());
            pairs().all(|(part, of)| *of || !*part) && pairs().any(|(part, of)| *of && !*part)
        };
        let possible =
            |name: usize| size(name) == max_size && !largest().any(|other| is_part(name, other));
        let Some(right) = names().find(|name| possible(*name)) else {
            return Decision::Agree;
        };
        for ((source, group), trusted) in groups.iter().enumerate().zip(&self.trusted) {
            if *trusted && !possible(*group) {
                return Decision::Wrong(source, self.relation(source, right).fault());
            }
        }
        match names().find(|name| possible(*name) && *name != right) {
            None => Decision::Agree,
            Some(other) if self.relation(right, other) == Relation::Behind => {
                Decision::Undecided { ahead: other, behind: right }
            }
            Some(other) => Decision::Undecided { ahead: right, behind: other },
        }
    }

    /// Returns the relation of a source to another. (All indices are below `N`, but the compiler does not know this, so the function avoids
    /// indexing.)
    fn relation(&self, source: usize, other: usize) -> Relation {
        let relation = self.relations.get(source).and_then(|relations| relations.get(other));
        relation.copied().unwrap_or(Relation::Agrees)
    }

    /// Returns for each source the first member of its group.
    fn groups(&self) -> [usize; N] {
        let mut groups: [usize; N] = array::from_fn(|source| source);
        // Each round passes the first member's number on to at least one more source of the group, so `N` rounds are enough.
        for _ in 0..N {
            for source in 0..N {
                for other in 0..N {
                    let both = self.trusted[source] && self.trusted[other];
                    if both && self.relations[source][other] == Relation::Agrees {
                        groups[source] = groups[source].min(groups[other]);
                    }
                }
            }
        }
        groups
    }

    /// Returns the sources that must have made a surprising error if the group `name` is right.
    fn surprises(&self, groups: &[usize; N], name: usize) -> [bool; N] {
        array::from_fn(|source| {
            let is_member = |other: &usize| self.trusted[*other] && groups[*other] == name;
            let is_surprise = |other| match self.relation(source, other) {
                Relation::Ahead => !self.can_gain[source],
                Relation::Behind => !self.can_lose[source],
                Relation::Agrees => false,
            };
            self.trusted[source] && !is_member(&source) && (0..N).filter(is_member).any(is_surprise)
        })
    }
}
