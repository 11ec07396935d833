//! The part of the programs that a replay covers.

use serde::{Deserialize, Serialize};

use crate::counts::{Counts, counts};

/// A replay's region, and what the replay did before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RegionRun {
    /// The point at which the region begins; `None` if it begins where the programs start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The point at which the region ends; `None` if it ends where the programs end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The point at which the warm-up begins; `None` if there is no warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<String>,
    /// What was skipped before the warm-up and the region.
    pub skipped: Covered,
    /// What went through the caches before the region.
    pub warmed: Covered,
    /// The region itself.
    pub counted: Covered,
}

/// A part of a replay's programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub struct Covered {
    pub references: u64,
    pub instructions: u64,
}

counts! {
    Covered { references, instructions }
}

impl Covered {
    /// Returns what remains of this part after `earlier`, which has the same start.
    pub(crate) fn since(mut self, earlier: &Self) -> Self {
        self.subtract(earlier);
        self
    }
}

impl RegionRun {
    /// Returns the points that selected the region, such as
    /// `work to work#2, warm-up from the start`.
    pub(crate) fn selection(&self) -> String {
        let from = self.from.as_deref().unwrap_or("the start");
        let to = self.to.as_deref().unwrap_or("the end");
        let warm_up = self.warm_up.iter().map(|from| format!(", warm-up from {from}"));
        warm_up.fold(format!("{from} to {to}"), |asked, warm_up| asked + &warm_up)
    }

    /// Returns a note on what the result covers: a sentence without a full stop.
    #[must_use]
    pub fn note(&self) -> String {
        let Self { from, to, warm_up, skipped, warmed, counted } = self;
        let from = from.as_deref().unwrap_or("the start");
        let to = to.as_deref().unwrap_or("the end");
        let part = |part: &Covered| {
            format!("{} references ({} instructions)", part.references, part.instructions)
        };
        let mut note = format!("the result covers {from} to {to}: {}", part(counted));
        if let Some(warm_up) = warm_up {
            note += &format!("; the warm-up from {warm_up} has {}", part(warmed));
        }
        if skipped.references > 0 {
            note += &format!("; skipped before: {}", part(skipped));
        }
        note
    }
}
