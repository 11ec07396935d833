//! Decides which of several sources is wrong.

use super::finding::Fault;

/// How a source compares with another source over a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Both show the same duration, within their bounds.
    Agrees,
    /// The source shows more time than the other.
    Ahead,
    /// The source shows less time than the other.
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

/// What is known of the sources over a span of time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<const N: usize> {
    /// Which sources are trusted. Only these are judged.
    pub(super) trusted: [bool; N],
    /// `relations[i][j]` is that of source i to source j.
    pub(super) relations: [[Relation; N]; N],
    /// A fault that a source shows without regard to the others.
    pub(super) proven: [Option<Fault>; N],
    /// Whether each source can gain time.
    pub(super) can_gain: [bool; N],
    /// Whether each source can lose time.
    pub(super) can_lose: [bool; N],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Agree,
    Wrong(usize, Fault),
    Undecided { ahead: usize, behind: usize },
}

impl<const N: usize> Evidence<N> {
    /// Decides which source is wrong. If several are, returns one of them.
    ///
    /// 1. A source that has a fault of its own is wrong.
    /// 2. Sources that agree form a group; what they agree with belongs to it too. If there is one group, nothing is wrong.
    /// 3. A group can be right if each of the others can be wrong in the way in which it differs. If just one group can be right, it is.
    /// 4. Otherwise the largest group is right, if it is larger than each other group.
    /// 5. Otherwise nothing decides.
    ///
    /// Rule 3 comes before the majority because sources that lose time lose it together: they wait for the same interrupt.
    pub(super) fn decide(&self) -> Decision {
        let trusted = || (0..N).filter(|source| self.trusted[*source]);
        for source in trusted() {
            if let Some(fault) = self.proven[source] {
                return Decision::Wrong(source, fault);
            }
        }
        let groups = self.groups();
        let Some(first) = trusted().next() else {
            return Decision::Agree;
        };
        if trusted().all(|source| groups[source] == groups[first]) {
            return Decision::Agree;
        }
        // The name of a group is its first member.
        let names = || trusted().filter(|source| groups[*source] == *source);
        let size = |name| trusted().filter(|source| groups[*source] == name).count();
        let mut possible = names().filter(|name| self.can_be_right(&groups, *name));
        let right = match (possible.next(), possible.next()) {
            (Some(only), None) => Some(only),
            _ => names()
                .find(|name| names().all(|other| other == *name || size(other) < size(*name))),
        };
        match right {
            Some(right) => {
                trusted().find(|source| groups[*source] != right).map_or(Decision::Agree, |wrong| {
                    Decision::Wrong(wrong, self.relations[wrong][right].fault())
                })
            }
            None => self.undecided(first, &groups),
        }
    }

    /// Returns for each source the first member of its group.
    fn groups(&self) -> [usize; N] {
        let mut groups: [usize; N] = core::array::from_fn(|source| source);
        // Each round joins at least two groups, or is the last.
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

    /// Returns `true` if each source outside of a group can be wrong in the way in which it differs from the group's members.
    fn can_be_right(&self, groups: &[usize; N], name: usize) -> bool {
        let trusted = || (0..N).filter(|source| self.trusted[*source]);
        trusted().filter(|source| groups[*source] != name).all(|outside| {
            trusted().filter(|member| groups[*member] == name).all(|member| {
                match self.relations[outside][member] {
                    Relation::Ahead => self.can_gain[outside],
                    Relation::Behind => self.can_lose[outside],
                    Relation::Agrees => false,
                }
            })
        })
    }

    fn undecided(&self, first: usize, groups: &[usize; N]) -> Decision {
        let other = (0..N).find(|source| self.trusted[*source] && groups[*source] != groups[first]);
        match other {
            Some(other) if self.relations[first][other] == Relation::Behind => {
                Decision::Undecided { ahead: other, behind: first }
            }
            Some(other) => Decision::Undecided { ahead: first, behind: other },
            None => Decision::Agree,
        }
    }
}
