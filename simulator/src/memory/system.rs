//! A machine's caches, channels and links, as one memory system.

use guest_abi::{Hub, Mcu, Node, StrandId};
use platform::Machine;
use platform::address::L2_BANKS;
use platform::models::Devices;

use super::ahead::log::{AheadLog, CoresAhead};
use super::broken::{Map, mapped};
use super::channel::Channel;
use super::config::{Config, InvalidConfig};
use super::figures::{Figures, T2Plus, Variant};
use super::geometry::{Interleave, L2Line, NoMemory};
use super::hub::HubEvents;
use super::l1::L1;
use super::l2::L2Caches;
use super::moves::{MovedLines, Moves, OtherMoves};
use super::pages::{NoMemoryOnNode, Pages};
use super::plane::Plane;
use super::queue::Queue;
use super::stores::Stores;
use super::strand_events::{Idle, StrandEvents};
use super::traffic::{Answers, SnoopAnswer};
use super::truth::{Stray, Truth, Usage};

#[derive(Clone, Debug)]
pub(super) struct CoreState<V: Variant> {
    pub(super) idle: Idle,
    pub(super) instructions: L1<V::Instructions>,
    pub(super) data: L1<V::Data>,
    pub(super) ahead: AheadLog,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StrandState {
    pub(super) stores: Stores,
    pub(super) events: StrandEvents,
}

/// The memory channels, and the map from lines to channels. They are in one struct so that a strand can borrow both together.
#[derive(Clone, Debug)]
pub(super) struct Dram {
    pub(super) interleave: Interleave,
    pub(super) channels: [[Channel; Mcu::ALL.len()]; Node::ALL.len()],
}

/// The part of a memory system that references do not change.
#[derive(Clone, Debug)]
pub(super) struct Plan<V> {
    pub(super) machine: Machine,
    pub(super) variant: V,
    /// Whether each hub counts events. On a machine without hubs, all values are `false`.
    pub(super) counting_hubs: [bool; Hub::ALL.len()],
    /// For each requesting node, the answers it gets if no other node has the line.
    pub(super) misses: [Answers; Node::ALL.len()],
}

/// A machine's caches, memory channels and links, with the record of their events. All caches are empty at first.
///
/// A T2 Plus node takes 1.1 MB of the host's memory. The same references in the same order have the same effects.
#[derive(Clone, Debug)]
pub struct MemorySystem<V: Variant = T2Plus> {
    pub(super) plan: Plan<V>,
    pub(super) strands: Vec<StrandState>,
    pub(super) cores: Vec<CoreState<V>>,
    pub(super) l2: Box<L2Caches<V>>,
    /// Each node's queues in front of its L2 banks.
    pub(super) banks: [[Queue; L2_BANKS]; Node::ALL.len()],
    /// For each hub, the connections between nodes for the hub's lines. Machines without hubs have these connections, too.
    pub(super) planes: [Plane; Hub::ALL.len()],
    pub(super) dram: Dram,
    pub(super) hub_events: [HubEvents; Hub::ALL.len()],
    pub(super) truth: Truth,
    pub(super) ahead: CoresAhead,
    /// The lines that have moved between nodes; `None` unless [`track_moves`](Self::track_moves) was called.
    pub(super) moves: Option<MovedLines>,
}

impl MemorySystem {
    /// Returns the memory system of a machine with T2 Plus processors.
    ///
    /// # Errors
    /// Returns an error if the machine has no enabled memory channel.
    pub fn new(machine: &Machine) -> Result<Self, NoMemory> {
        Self::with_variant(machine, T2Plus, Pages::Hardware)
    }
}

impl<V: Variant> MemorySystem<V> {
    pub(super) fn with_variant(
        machine: &Machine,
        variant: V,
        pages: Pages,
    ) -> Result<Self, NoMemory> {
        let line_shift = variant.figures().l2.line_shift;
        let core = CoreState {
            idle: Idle::default(),
            instructions: L1::new(&variant.figures().l1i),
            data: L1::new(&variant.figures().l1d),
            ahead: AheadLog::default(),
        };
        let channel = Channel::new();
        let counting_hubs = std::array::from_fn(|hub| {
            mapped(Map::CountingHubs, machine.model().has_hub(Hub::ALL[hub]).into()) != 0
        });
        let misses = std::array::from_fn(|requester| {
            std::array::from_fn(|node| {
                (node < machine.nodes() && node != requester).then_some(SnoopAnswer::Miss)
            })
        });
        Ok(Self {
            plan: Plan { machine: *machine, variant, counting_hubs, misses },
            strands: vec![StrandState::default(); machine.strands()],
            cores: vec![core; machine.strands() / StrandId::PER_CORE],
            l2: Box::new(L2Caches::new(variant, machine.nodes())),
            banks: Default::default(),
            planes: Default::default(),
            dram: Dram {
                interleave: Interleave::new(machine, line_shift, pages)?,
                channels: std::array::from_fn(|_| [channel.clone(), channel.clone()]),
            },
            hub_events: [const { HubEvents::new() }; Hub::ALL.len()],
            truth: Truth::new(machine, 1 << line_shift, pages),
            moves: None,
            ahead: CoresAhead::default(),
        })
    }

    /// Adds a strand's recorded events to its counters.
    pub(super) fn flush_to_counters(&mut self, strand: StrandId, devices: &Devices) {
        let now = self.truth.cycles;
        let idle = self.cores[strand.core()].idle.until(now);
        let mut unit = devices.strand_unit(registers_of(strand));
        self.strands[strand.index()].events.flush_to_counters(idle, &mut unit);
    }

    /// Starts to record which lines move between nodes.
    pub(crate) fn track_moves(&mut self) {
        self.moves = Some(MovedLines::default());
    }

    /// Returns the lines that have moved since [`track_moves`](Self::track_moves), in any order. A line's number is its physical
    /// address without the low [`LINE_SHIFT`](super::geometry::LINE_SHIFT) bits.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (u64, Moves)> {
        self.moves.iter().flat_map(MovedLines::iter)
    }

    /// Returns the sum of the moves of the lines that [`moves`](Self::moves) omits.
    pub(crate) fn other_moves(&self) -> OtherMoves {
        self.moves.as_ref().map(MovedLines::others).unwrap_or_default()
    }

    /// Returns the home nodes of lines. If the first touch places pages, a page that no strand has touched yet has a provisional
    /// home.
    pub(crate) fn line_homes(&self) -> LineHomes {
        LineHomes(self.dram.interleave.clone())
    }

    /// Returns the first event that happened at the wrong unit or strand; `None` if there was none.
    pub fn stray(&mut self) -> Option<Stray> {
        let Self { truth, planes, .. } = self;
        truth.units.check_links(|hub, node| planes[hub.index()].passed(node));
        truth.units.stray()
    }

    /// Returns how much channels, hubs and links have been used since the start.
    pub fn usage(&self) -> Usage {
        Usage::new(&self.truth, self.plan.variant.figures())
    }

    /// Returns the record of all events since the start.
    pub fn truth(&self) -> &Truth {
        &self.truth
    }
}

/// Maps each line to its home node. A line's number is its physical address without the low bits.
#[derive(Clone, Debug)]
pub(crate) struct LineHomes(Interleave);

impl LineHomes {
    pub(crate) fn home(&self, line: u64) -> Node {
        self.0.home(L2Line(line)).0
    }

    /// Returns the number of nodes that have memory.
    pub(crate) fn nodes(&self) -> u64 {
        self.0.nodes()
    }
}

/// Returns the strand whose registers count the events of `strand`.
fn registers_of(strand: StrandId) -> StrandId {
    StrandId::new(mapped(Map::StrandRegisters, strand.index())).unwrap_or(strand)
}

/// The memory system of a machine with any configuration. Callers match once, and then run code that is compiled for that variant.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "a replay has one, and never moves it")]
pub enum AnyMemory {
    /// A memory system with the caches and times of a T2 Plus, which are compile-time constants.
    T2Plus(MemorySystem),
    /// A memory system with other caches or times, which are known only at run time.
    Other(MemorySystem<Figures>),
}

/// Why a memory system cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum MemoryError {
    /// The machine has no enabled memory channel.
    NoMemory(#[from] NoMemory),
    /// The configuration puts all pages on a node that has no memory.
    NoMemoryOnNode(#[from] NoMemoryOnNode),
    /// A setting is out of range, or some settings do not fit together.
    InvalidConfig(#[from] InvalidConfig),
}

/// Evaluates an expression for either variant of the memory system.
macro_rules! either {
    ($any:expr, $memory:ident => $does:expr) => {
        match $any {
            AnyMemory::T2Plus($memory) => $does,
            AnyMemory::Other($memory) => $does,
        }
    };
}

impl AnyMemory {
    /// Returns the memory system of a machine with this configuration.
    ///
    /// # Errors
    /// Returns an error if the machine has no enabled memory channel, or if the configuration is impossible.
    pub fn new(machine: &Machine, config: &Config) -> Result<Self, MemoryError> {
        let pages = config.pages;
        config.check()?;
        pages.check(machine)?;
        Ok(match *config == (Config { pages, ..Config::T2_PLUS }) {
            true => Self::T2Plus(MemorySystem::with_variant(machine, T2Plus, pages)?),
            false => Self::Other(MemorySystem::with_variant(machine, Figures::new(config), pages)?),
        })
    }

    pub(crate) fn track_moves(&mut self) {
        either!(self, memory => memory.track_moves());
    }

    pub(crate) fn moves<M: FromIterator<(u64, Moves)>>(&self) -> M {
        either!(self, memory => memory.moves().collect())
    }

    pub(crate) fn other_moves(&self) -> OtherMoves {
        either!(self, memory => memory.other_moves())
    }

    pub(crate) fn line_homes(&self) -> LineHomes {
        either!(self, memory => memory.line_homes())
    }

    /// Returns the first event that happened at the wrong unit or strand; `None` if there was none.
    pub fn stray(&mut self) -> Option<Stray> {
        either!(self, memory => memory.stray())
    }

    /// Returns how much channels, hubs and links have been used since the start.
    pub fn usage(&self) -> Usage {
        either!(self, memory => memory.usage())
    }

    /// Returns the record of all events since the start.
    pub fn truth(&self) -> &Truth {
        either!(self, memory => memory.truth())
    }
}
