//! Places threads on strands.

use std::fmt;
use std::str::FromStr;

use guest_abi::StrandId;
use perfctr_service::StrandSet;
use platform::Machine;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::machine::strands::{self, StrandListError};
use crate::recording::Recording;

/// The order in which threads are placed on strands: the first thread on the first strand, and so on. If there are more threads
/// than strands, the order starts again, and threads share strands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// Successive threads are on different nodes, then on different cores of those nodes, then on different strands of those cores.
    /// A core's strands come alternately from its two pipelines.
    #[default]
    Spread,
    /// Successive threads are on successive strands.
    Pack,
    /// Successive threads are on successive cores, node by node. After the last core, the order continues with the next strand of
    /// the first core. A core's strands come alternately from its two pipelines.
    OnePerCore,
    /// Each thread is on the strand that the recording names. Threads without a named strand are [spread](Self::Spread).
    Recorded,
    /// Threads are on the strands of a list, in list order.
    List(Vec<StrandId>),
    /// One thread's references are dealt to the strands of a list, [`DEAL_LENGTH`](Self::DEAL_LENGTH) at a time. This workload is artificial: the
    /// strands share data only because of the dealing.
    Deal(Vec<StrandId>),
}

/// Why a string cannot be parsed as a placement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum ParsePlacementError {
    #[error(
        "found '{0}', expected spread, pack, one-per-core, strands such as 0,8,64-71, or deal:STRANDS"
    )]
    Unknown(String),
    #[error(transparent)]
    List(#[from] StrandListError),
}

/// Why threads cannot be placed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum PlacementError {
    #[error("there is no strand {strand}; this machine has strands 0 to {last}")]
    NoSuchStrand { strand: StrandId, last: usize },
    #[error("deal deals the references of one thread, found {0} threads")]
    SeveralThreadsDealt(usize),
    #[error("the program has no strand")]
    NoStrand,
}

const NAMED: [(&str, Placement); 3] = [
    ("spread", Placement::Spread),
    ("pack", Placement::Pack),
    ("one-per-core", Placement::OnePerCore),
];

impl Placement {
    /// The number of references that [`Deal`](Self::Deal) gives a strand at a time.
    pub const DEAL_LENGTH: usize = 1024;

    /// Returns, for each thread of the programs, the strand that its recording names, if any.
    pub(crate) fn named(programs: &[Recording]) -> Vec<Option<StrandId>> {
        let mut named = Vec::new();
        for program in programs {
            named.extend((0..program.threads()).map(|thread| program.strand_of(thread)));
        }
        named
    }

    /// Returns the default placement. `named` holds, for each thread, the strand that its recording names, if any.
    #[must_use]
    pub fn default_for(named: &[Option<StrandId>]) -> Self {
        match named.iter().any(Option::is_some) {
            true => Self::Recorded,
            false => Self::Spread,
        }
    }

    /// Returns each thread's strand, or the strands to which references are [dealt](Self::Deal). `named` holds, for each thread,
    /// the strand that its recording names, if any. `allowed` holds the strands of the program's guest. Lists and recordings may
    /// also name other strands.
    ///
    /// # Errors
    /// Returns an error if the machine lacks a named strand, if there is no strand to place threads on, or if references are to be
    /// dealt but the number of threads is not 1.
    pub fn strands(
        &self,
        machine: Machine,
        allowed: StrandSet,
        named: &[Option<StrandId>],
    ) -> Result<Vec<StrandId>, PlacementError> {
        if matches!(self, Self::Deal(_)) && named.len() != 1 {
            return Err(PlacementError::SeveralThreadsDealt(named.len()));
        }
        let order = self.order(allowed);
        let last = machine.strands() - 1;
        let mut all = order.iter().chain(named.iter().flatten());
        if let Some(&strand) = all.find(|strand| strand.index() > last) {
            return Err(PlacementError::NoSuchStrand { strand, last });
        }
        let mut next = order.iter().copied().cycle();
        let placed: Option<Vec<StrandId>> = match self {
            Self::Deal(_) => return Ok(order),
            Self::Recorded => (named.iter().map(|named| named.or_else(|| next.next()))).collect(),
            _ => named.iter().map(|_| next.next()).collect(),
        };
        placed.ok_or(PlacementError::NoStrand)
    }

    /// Returns the strands in the order in which threads are placed on them.
    fn order(&self, allowed: StrandSet) -> Vec<StrandId> {
        let mut order: Vec<StrandId> = allowed.iter().collect();
        match self {
            Self::Spread | Self::Recorded => {
                order.sort_by_key(|strand| (in_core(*strand), core_in_node(*strand)));
            }
            Self::OnePerCore => order.sort_by_key(|strand| in_core(*strand)),
            Self::Pack => {}
            Self::List(list) | Self::Deal(list) => order.clone_from(list),
        }
        order
    }
}

/// Returns a strand's position in its core if strands are taken from the two pipelines alternately. Strands 0 to 3 use one
/// pipeline, and strands 4 to 7 use the other.
const fn in_core(strand: StrandId) -> usize {
    let number = strand.index() % StrandId::PER_CORE;
    number % (StrandId::PER_CORE / 2) * 2 + number / (StrandId::PER_CORE / 2)
}

/// Returns the number of a strand's core within the node.
const fn core_in_node(strand: StrandId) -> usize {
    strand.index() % StrandId::PER_NODE / StrandId::PER_CORE
}

/// The first words of a placement's description if the workload is artificial.
const ARTIFICIAL: &str = "artificial, ";

impl FromStr for Placement {
    type Err = ParsePlacementError;

    /// Parses `spread`, `pack`, `one-per-core`, a list of strands, or `deal:` followed by a list of strands.
    fn from_str(text: &str) -> Result<Self, ParsePlacementError> {
        if let Some((_, placement)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(placement.clone());
        }
        if let Some(list) = text.strip_prefix("deal:") {
            return Ok(Self::Deal(strands::parse(list)?));
        }
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(Self::List(strands::parse(text)?));
        }
        Err(ParsePlacementError::Unknown(text.escape_debug().to_string()))
    }
}

/// Writes the placement for reports, which call dealt references artificial.
impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spread => f.write_str("spread"),
            Self::Pack => f.write_str("pack"),
            Self::OnePerCore => f.write_str("one-per-core"),
            Self::Recorded => f.write_str("as the recording says"),
            Self::List(list) => f.write_str(&strands::list(list.iter().copied())),
            Self::Deal(list) => {
                let list = strands::list(list.iter().copied());
                write!(f, "{ARTIFICIAL}deal:{list}")
            }
        }
    }
}

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// Parses the text that [`Display`](fmt::Display) writes.
impl<'de> Deserialize<'de> for Placement {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        if text == Self::Recorded.to_string() {
            return Ok(Self::Recorded);
        }
        let text = text.strip_prefix(ARTIFICIAL).unwrap_or(&text);
        text.parse().map_err(Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use platform::Model;

    use super::*;

    fn set(strands: impl IntoIterator<Item = usize>) -> StrandSet {
        strands.into_iter().filter_map(StrandId::new).collect()
    }

    fn on(nodes: usize, text: &str, allowed: StrandSet, threads: usize) -> Vec<usize> {
        let machine = Machine::new(Model::Batoka, nodes).unwrap();
        let placement: Placement = text.parse().unwrap();
        let placed = placement.strands(machine, allowed, &vec![None; threads]);
        placed.unwrap().into_iter().map(StrandId::index).collect()
    }

    #[test]
    fn a_placement_is_read_back() {
        let texts = ["spread", "pack", "one-per-core", "0,8,64-71", "deal:0-7"];
        let parsed = texts.map(|text| text.parse().unwrap());
        for placement in parsed.into_iter().chain([Placement::Recorded]) {
            let json = serde_json::to_string(&placement).unwrap();
            assert_eq!(serde_json::from_str::<Placement>(&json).unwrap(), placement);
        }
    }

    #[test]
    fn spread_goes_by_node_then_core_then_pipeline() {
        assert_eq!(on(4, "spread", set(0..256), 1), [0]);
        assert_eq!(on(4, "spread", set(0..256), 9), [0, 64, 128, 192, 8, 72, 136, 200, 16]);
        let all = on(4, "spread", set(0..256), 256);
        // 32 cores get one thread each. Then the second pipelines follow, and then the second strands of the first pipelines.
        assert_eq!(all[28..36], [56, 120, 184, 248, 4, 68, 132, 196]);
        assert_eq!(all[64..66], [1, 65]);
        assert_eq!(all[252..], [63, 127, 191, 255]);
        // If the guest lacks the last core of the last node, the threads go to other cores.
        assert_eq!(on(4, "spread", set(0..248), 34)[28..], [56, 120, 184, 4, 68, 132]);
        assert_eq!(on(2, "spread", set(0..128), 3), [0, 64, 8]);
    }

    #[test]
    fn threads_are_placed_in_order_and_share_strands_if_there_are_more() {
        assert_eq!(on(1, "pack", set(3..64), 4), [3, 4, 5, 6]);
        assert_eq!(
            on(2, "one-per-core", set(0..128), 18),
            [0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 4, 12]
        );
        assert_eq!(on(1, "7,0,9-10", set(0..64), 6), [7, 0, 9, 10, 7, 0]);
        assert_eq!(on(1, "7,0,9-10", set(0..64), 2), [7, 0]);
        assert_eq!(on(1, "spread", set([5, 17]), 3), [17, 5, 17]);
    }

    #[test]
    fn recordings_may_name_strands() {
        let machine = Machine::new(Model::Maramba, 1).unwrap();
        let named = [StrandId::new(9), None, StrandId::new(9), None];
        assert_eq!(Placement::default_for(&named), Placement::Recorded);
        assert_eq!(Placement::default_for(&[None, None]), Placement::Spread);
        let place = |placement: Placement| -> Vec<usize> {
            let placed = placement.strands(machine, set(0..64), &named).unwrap();
            placed.into_iter().map(StrandId::index).collect()
        };
        assert_eq!(place(Placement::Recorded), [9, 0, 9, 8]);
        // A placement that the caller chooses takes precedence over the recording.
        assert_eq!(place(Placement::Pack), [0, 1, 2, 3]);
        let far = [StrandId::new(64)];
        let placed = Placement::Recorded.strands(machine, set(0..64), &far);
        assert_eq!(
            placed.unwrap_err().to_string(),
            "there is no strand 64; this machine has strands 0 to 63"
        );
    }

    #[test]
    fn threads_that_cannot_be_placed() {
        assert_eq!(on(1, "deal:0,8,1", set(0..64), 1), [0, 8, 1]);
        let machine = Machine::new(Model::Batoka, 2).unwrap();
        for (text, allowed, threads, error) in [
            ("deal:0-3", 0..128, 2, "deal deals the references of one thread, found 2 threads"),
            // A strand that the machine lacks is an error in a list, even if no thread would execute on it.
            ("0,128", 0..128, 1, "there is no strand 128; this machine has strands 0 to 127"),
            ("spread", 0..0, 1, "the program has no strand"),
        ] {
            let placement: Placement = text.parse().unwrap();
            let placed = placement.strands(machine, set(allowed), &vec![None; threads]);
            assert_eq!(placed.unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn names() {
        for (text, shown) in [
            ("spread", "spread"),
            ("pack", "pack"),
            ("one-per-core", "one-per-core"),
            ("64, 0-2,3,9", "64,0-3,9"),
            ("deal:8,0", "artificial, deal:8,0"),
        ] {
            assert_eq!(text.parse::<Placement>().unwrap().to_string(), shown);
        }
        for (text, says) in [
            (
                "sprad",
                "found 'sprad', expected spread, pack, one-per-core, strands such as 0,8,64-71, or deal:STRANDS",
            ),
            ("0,256", "found '256', expected strands 0 to 255, such as 0-127 or 0,8,64-71"),
            ("0,0", "strand 0 is named twice in '0,0'"),
            ("deal:", "found '', expected strands 0 to 255, such as 0-127 or 0,8,64-71"),
        ] {
            let error = text.parse::<Placement>().unwrap_err();
            assert_eq!(error.to_string(), says, "{text}");
        }
    }
}
