//! Who may use what: grants with the semantics of LDoms' `perf-counters` property, deny by default.
//!
//! # What guests learn of each other
//! By calls alone, nothing: no status and no value depends on what another guest has called or written, not when a right
//! passes from the one to the other either. What a guest notices is what concerns the whole machine: a unit out of service,
//! and the operator's steps.
//!
//! By what the counters count, the holder of `global` learns of everyone, since these units count for everyone alike:
//!
//! - a memory channel: the reads and writes of all strands, of devices and of the hypervisor, in the memory behind it;
//! - a hub: the coherence traffic between all nodes, packet by packet, for whatever guest.
//!
//! So it sees how much memory and how many remote lines the others use, and when. It sees no address and no content, and
//! not who it was; but where only one other guest is at work, that is no secret. Who has to hide it cannot share a machine
//! with a holder of `global`.
//!
//! In the other direction, PERF_CONFIG says which misses the L2 of a node reports. A guest on the same node that counts its
//! own L2 misses in %pic gets other counts when the holder of `global` changes it.
//!
//! The holder of `htstrand` counts what the hypervisor executes on its strand: mostly on its own behalf, but an interrupt
//! for someone else counts as well. The holder of `strand` counts its own strand's events, whose number says how the others
//! share caches and cores with it, as time does.

use core::fmt;
use core::str::FromStr;

use guest_abi::{Kind, Node, PerfReg, StrandId};
use platform::Machine;

/// The right to the calling strand's own PCR, register 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StrandRight {
    /// None.
    #[default]
    None,
    /// Register 0, but for HT.
    Strand,
    /// Register 0 with HT: counting of what the hypervisor does on the strand's behalf.
    HtStrand,
}

/// One of the rights that the operator gives and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Register 0, but for HT. Not together with `htstrand`.
    Strand,
    /// Register 0 with HT. Not together with `strand`.
    HtStrand,
    /// Registers from 1 on.
    Global,
}

impl Right {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Strand, Self::HtStrand, Self::Global];

    /// The word of LDoms' `perf-counters` property.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strand => "strand",
            Self::HtStrand => "htstrand",
            Self::Global => "global",
        }
    }

    /// Returns the right with this word; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|right| right.name() == name)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a guest may use. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Register 0.
    pub strand: StrandRight,
    /// Register 1, the DRAM registers of the nodes that the guest has strands on, and the hubs. One guest of a machine
    /// has it at most.
    pub global: bool,
}

impl Grant {
    /// Nothing.
    pub const NONE: Self = Self {
        strand: StrandRight::None,
        global: false,
    };

    /// Everything.
    pub const ALL: Self = Self {
        strand: StrandRight::HtStrand,
        global: true,
    };

    /// Returns the grant with one more right.
    ///
    /// # Errors
    /// It has the right, or the other of `strand` and `htstrand`, which is returned.
    pub const fn with(self, right: Right) -> Result<Self, Right> {
        let strand = match (right, self.strand) {
            (Right::Global, _) if self.global => return Err(Right::Global),
            (Right::Global, strand) => strand,
            (_, StrandRight::Strand) => return Err(Right::Strand),
            (_, StrandRight::HtStrand) => return Err(Right::HtStrand),
            (Right::Strand, StrandRight::None) => StrandRight::Strand,
            (Right::HtStrand, StrandRight::None) => StrandRight::HtStrand,
        };
        let global = self.global || matches!(right, Right::Global);
        Ok(Self { strand, global })
    }

    /// Returns the grant without a right that it has; `None` if it does not have the right.
    pub const fn without(self, right: Right) -> Option<Self> {
        let Self { strand, global } = self;
        match (right, strand) {
            (Right::Global, _) if global => Some(Self {
                strand,
                global: false,
            }),
            (Right::Strand, StrandRight::Strand) | (Right::HtStrand, StrandRight::HtStrand) => {
                Some(Self {
                    strand: StrandRight::None,
                    global,
                })
            }
            _ => None,
        }
    }

    /// Returns `true` if it covers a register, for a guest with strands on these nodes.
    pub fn covers(self, register: PerfReg, nodes: NodeSet) -> bool {
        match register.kind() {
            Kind::Strand => self.strand != StrandRight::None,
            Kind::L2 | Kind::Hub { .. } => self.global,
            Kind::Dram { node, .. } => self.global && nodes.has(node),
        }
    }

    /// Bit 0: `global`. Bit 1: register 0. Bit 2: with HT. More rights are more bits.
    pub(crate) const fn bits(self) -> u8 {
        let strand = match self.strand {
            StrandRight::None => 0,
            StrandRight::Strand => 0b010,
            StrandRight::HtStrand => 0b110,
        };
        self.global as u8 | strand
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self {
            global: bits & 1 != 0,
            strand: match bits >> 1 & 3 {
                0 => StrandRight::None,
                1 => StrandRight::Strand,
                _ => StrandRight::HtStrand,
            },
        }
    }

    /// The rights that are in both.
    pub(crate) const fn both(self, other: Self) -> Self {
        Self::from_bits(self.bits() & other.bits())
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match (self.global, self.strand) {
            (false, StrandRight::None) => "none",
            (false, StrandRight::Strand) => "strand",
            (false, StrandRight::HtStrand) => "htstrand",
            (true, StrandRight::None) => "global",
            (true, StrandRight::Strand) => "global+strand",
            (true, StrandRight::HtStrand) => "global+htstrand",
        })
    }
}

/// A text that is not a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownGrant;

impl fmt::Display for UnknownGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected none, strand, htstrand, global, global+strand or global+htstrand")
    }
}

impl core::error::Error for UnknownGrant {}

impl FromStr for Grant {
    type Err = UnknownGrant;

    fn from_str(text: &str) -> Result<Self, UnknownGrant> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let with = |grant: Self, word| grant.with(Right::from_name(word)?).ok();
        let grant = text.split('+').try_fold(Self::NONE, with);
        grant.ok_or(UnknownGrant)
    }
}

/// A set of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(u8);

impl NodeSet {
    /// Returns `true` if the node is in it.
    pub const fn has(self, node: Node) -> bool {
        self.0 >> node.index() & 1 != 0
    }
}

/// A set of strands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StrandSet([u64; Node::ALL.len()]);

impl StrandSet {
    /// No strand.
    pub const EMPTY: Self = Self([0; Node::ALL.len()]);

    /// Adds a strand.
    pub fn insert(&mut self, strand: StrandId) {
        let (word, bit) = Self::place(strand);
        self.0[word] |= bit;
    }

    /// Removes a strand.
    pub(crate) fn remove(&mut self, strand: StrandId) {
        let (word, bit) = Self::place(strand);
        self.0[word] &= !bit;
    }

    /// Returns `true` if the strand is in it.
    pub fn has(self, strand: StrandId) -> bool {
        let (word, bit) = Self::place(strand);
        self.0[word] & bit != 0
    }

    /// Returns `true` if it has no strand.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns how many strands are in it.
    pub(crate) fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the first strand after the one of this number, cyclically.
    pub(crate) fn next_after(self, number: u32) -> Option<StrandId> {
        const WORDS: u32 = Node::ALL.len() as u32;
        let first = number + 1;
        // The word that the search begins in comes again at the end, for its lower bits.
        (0..=WORDS).find_map(|step| {
            let index = (first / 64 + step) % WORDS;
            let window = match step {
                0 => u64::MAX << (first % 64),
                _ => u64::MAX,
            };
            let candidates = self.0[index as usize] & window;
            let number = index * 64 + candidates.trailing_zeros();
            StrandId::new(number as usize).filter(|_| candidates != 0)
        })
    }

    /// Returns the number of the [word](Self::words) that has a strand's bit, and the bit.
    const fn place(strand: StrandId) -> (usize, u64) {
        let bit = 1 << (strand.index() % StrandId::PER_NODE);
        (strand.node().index(), bit)
    }

    /// Returns a word of bits for each node: one bit for each of its strands.
    pub(crate) const fn words(self) -> [u64; Node::ALL.len()] {
        self.0
    }

    /// Returns the set with these [words](Self::words).
    pub(crate) const fn from_words(words: [u64; Node::ALL.len()]) -> Self {
        Self(words)
    }

    /// Returns `true` if a strand is in both.
    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// The nodes that its strands are on.
    pub fn nodes(self) -> NodeSet {
        let mut nodes = 0;
        for node in Node::ALL {
            nodes |= u8::from(self.0[node.index()] != 0) << node.index();
        }
        NodeSet(nodes)
    }

    /// Its strands, in order.
    pub fn iter(self) -> impl Iterator<Item = StrandId> {
        (0..StrandId::COUNT)
            .filter_map(StrandId::new)
            .filter(move |strand| self.has(*strand))
    }
}

impl FromIterator<StrandId> for StrandSet {
    fn from_iter<I: IntoIterator<Item = StrandId>>(strands: I) -> Self {
        let mut set = Self::EMPTY;
        for strand in strands {
            set.insert(strand);
        }
        set
    }
}

/// One guest, as the operator wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuestConfig {
    /// The strands that it runs on.
    pub strands: StrandSet,
    /// What it may use.
    pub grant: Grant,
    /// If `true`, version 1.0 gives it the registers of 1.1, as Solaris and illumos, which negotiate 1.0, expect.
    pub compatible: bool,
}

/// Why a configuration is rejected. Guests are numbered in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// More guests than strands.
    TooManyGuests,
    /// Two guests with `global`.
    TwoGlobals(usize, usize),
    /// Two guests with the same strand.
    SharedStrand(usize, usize),
    /// A guest with a strand that the machine does not have.
    NoSuchStrand(usize, StrandId),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyGuests => write!(f, "more than {} guests", StrandId::COUNT),
            Self::TwoGlobals(a, b) => {
                write!(
                    f,
                    "guests {a} and {b} both have global; one guest of a machine can"
                )
            }
            Self::SharedStrand(a, b) => write!(f, "guests {a} and {b} have a strand in common"),
            Self::NoSuchStrand(guest, strand) => {
                write!(
                    f,
                    "guest {guest} has strand {strand}, which this machine does not have"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}

/// The one check that at most one guest of a machine has `global`: every source of configurations admits its guests here.
#[derive(Debug)]
pub(crate) struct OneGlobal<T>(Option<T>);

impl<T: Copy> OneGlobal<T> {
    /// No guest is admitted yet.
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Admits a guest with this grant.
    ///
    /// # Errors
    /// It has `global`, and so has the guest that is returned.
    pub(crate) fn admit(&mut self, grant: Grant, guest: T) -> Result<(), T> {
        match self.0 {
            Some(holder) if grant.global => Err(holder),
            None if grant.global => {
                self.0 = Some(guest);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Checks all guests of a machine together.
///
/// # Errors
/// The first problem found.
pub fn check(machine: Machine, guests: &[GuestConfig]) -> Result<(), ConfigError> {
    if guests.len() > StrandId::COUNT {
        return Err(ConfigError::TooManyGuests);
    }
    let mut global = OneGlobal::new();
    for (number, guest) in guests.iter().enumerate() {
        if let Some(strand) = guest
            .strands
            .iter()
            .find(|strand| strand.index() >= machine.strands())
        {
            return Err(ConfigError::NoSuchStrand(number, strand));
        }
        for (earlier, other) in guests.iter().take(number).enumerate() {
            if other.strands.meets(guest.strands) {
                return Err(ConfigError::SharedStrand(earlier, number));
            }
        }
        global
            .admit(guest.grant, number)
            .map_err(|holder| ConfigError::TwoGlobals(holder, number))?;
    }
    Ok(())
}
