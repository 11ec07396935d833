//! Grants, which work like LDoms' `perf-counters` property. By default everything is denied.
//!
//! # What guests learn of each other
//! Calls tell a guest nothing about another guest. No status and no value depends on what another guest has called or written, even when a
//! right passes between the two guests. A guest notices only what concerns the whole machine: units that are out of service, and the
//! operator's steps.
//!
//! Counters tell the holder of `global` about all guests, because the units that `global` covers count the events of all guests:
//!
//! - a memory channel counts the reads and writes of all strands, of devices and of the hypervisor in the channel's memory;
//! - a hub counts the coherence traffic between all nodes, packet by packet.
//!
//! The holder therefore sees how much memory and how many remote cache lines the other guests use, and when, but no address and no content.
//! The holder can tell which guest used the memory and the lines only if no third guest executes. A guest that must hide its use cannot
//! share a machine with a holder of `global`.
//!
//! Conversely, a guest that counts its own L2 misses sees when the holder of `global` on its node sets PERF_CONFIG.
//!
//! The holder of `htstrand` counts the events of the hypervisor on its strand. Most of these events belong to the guest's own calls, others
//! to interrupts for other guests. A holder of `strand` gets counts that depend on how other strands share caches and cores with its
//! strand, as does any time that it measures.

use core::fmt;
use core::str::FromStr;

use guest_abi::{Node, PerfReg, RegisterKind, StrandId};
use platform::Machine;

/// The right to the calling strand's own PCR, register 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StrandRight {
    /// No access to register 0.
    #[default]
    None,
    /// Register 0 without HT.
    Strand,
    /// Register 0 with HT, which counts what the hypervisor executes for the strand.
    HtStrand,
}

/// A right that the operator grants and revokes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    /// Register 0 without HT. Excludes `htstrand`.
    Strand,
    /// Register 0 with HT. Excludes `strand`.
    HtStrand,
    /// Register 1, the DRAM registers and the hubs.
    Global,
}

impl Right {
    /// All rights, in the order of this enum.
    pub const ALL: &'static [Self] = &[Self::Strand, Self::HtStrand, Self::Global];

    /// Returns the name of the right in LDoms' `perf-counters` property.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Strand => "strand",
            Self::HtStrand => "htstrand",
            Self::Global => "global",
        }
    }

    /// Returns the right with this name; `None` if no right has it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|right| right.name() == name)
    }
}

impl FromStr for Right {
    type Err = UnknownGrant;

    fn from_str(name: &str) -> Result<Self, UnknownGrant> {
        Self::from_name(name).ok_or(UnknownGrant)
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The rights of a guest. By default a guest has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grant {
    /// The right to register 0.
    pub strand: StrandRight,
    /// The right to register 1, the DRAM registers of the nodes on which the guest has strands, and the hubs. Only one guest can have it.
    pub global: bool,
}

impl Grant {
    /// No right: calls for every register are refused.
    pub const NONE: Self = Self::new(StrandRight::None, false);
    /// Register 0 without HT.
    pub const STRAND: Self = Self::new(StrandRight::Strand, false);
    /// Register 0 with HT.
    pub const HTSTRAND: Self = Self::new(StrandRight::HtStrand, false);
    /// Register 1, the DRAM registers of the guest's nodes, and the hubs.
    pub const GLOBAL: Self = Self::new(StrandRight::None, true);
    /// The rights `global` and `strand`: the registers of [`GLOBAL`](Self::GLOBAL), and register 0 without HT.
    pub const GLOBAL_STRAND: Self = Self::new(StrandRight::Strand, true);
    /// The rights `global` and `htstrand`: the registers of [`GLOBAL`](Self::GLOBAL), and register 0 with HT.
    pub const ALL: Self = Self::new(StrandRight::HtStrand, true);

    const fn new(strand: StrandRight, global: bool) -> Self {
        Self { strand, global }
    }

    /// Returns the grant with one more right. Fails if the grant already has `right`, or if it has one of `strand` and `htstrand`, and
    /// `right` is the other. The error is the right that the grant has.
    pub const fn with(self, right: Right) -> Result<Self, Right> {
        match (right, self.strand) {
            (Right::Global, _) if self.global => Err(Right::Global),
            (Right::Global, strand) => Ok(Self::new(strand, true)),
            (_, StrandRight::Strand) => Err(Right::Strand),
            (_, StrandRight::HtStrand) => Err(Right::HtStrand),
            (Right::Strand, _) => Ok(Self::new(StrandRight::Strand, self.global)),
            (Right::HtStrand, _) => Ok(Self::new(StrandRight::HtStrand, self.global)),
        }
    }

    /// Returns the grant without `right`; `None` if the grant does not have it.
    pub const fn without(self, right: Right) -> Option<Self> {
        match (right, self.strand) {
            (Right::Global, strand) if self.global => Some(Self::new(strand, false)),
            (Right::Strand, StrandRight::Strand) | (Right::HtStrand, StrandRight::HtStrand) => {
                Some(Self::new(StrandRight::None, self.global))
            }
            _ => None,
        }
    }

    /// Returns `true` if the grant covers a register, for a guest with strands on `nodes`.
    pub fn covers(self, register: PerfReg, nodes: NodeSet) -> bool {
        match register.kind() {
            RegisterKind::Strand => self.strand != StrandRight::None,
            RegisterKind::L2 | RegisterKind::Hub { .. } => self.global,
            RegisterKind::Dram { node, .. } => self.global && nodes.contains(node),
        }
    }

    /// Returns the grant as bits. Bit 0: `global`. Bit 1: register 0. Bit 2: HT in register 0. If a grant includes another, its bits
    /// include the other grant's bits.
    pub(crate) const fn bits(self) -> u8 {
        let strand = match self.strand {
            StrandRight::None => 0,
            StrandRight::Strand => 0b010,
            StrandRight::HtStrand => 0b110,
        };
        self.global as u8 | strand
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        let strand = match bits >> 1 & 3 {
            0 => StrandRight::None,
            1 => StrandRight::Strand,
            _ => StrandRight::HtStrand,
        };
        Self::new(strand, bits & 1 != 0)
    }

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

/// The error for a text that is not the name of any grant or right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownGrant;

impl fmt::Display for UnknownGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected none, strand, htstrand, global, global+strand or global+htstrand")
    }
}

impl core::error::Error for UnknownGrant {}

/// Accepts the text that [`Display`](fmt::Display) writes. Also accepts names separated by commas, as in machine descriptions.
impl FromStr for Grant {
    type Err = UnknownGrant;

    fn from_str(text: &str) -> Result<Self, UnknownGrant> {
        if text == "none" {
            return Ok(Self::NONE);
        }
        let with = |grant: Self, word| grant.with(Right::from_name(word)?).ok();
        let grant = text.split(['+', ',']).try_fold(Self::NONE, with);
        grant.ok_or(UnknownGrant)
    }
}

/// A set of nodes, with one bit for each node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeSet(u8);

impl NodeSet {
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns `true` if the node is in the set, whether or not the machine has this node.
    pub const fn contains(self, node: Node) -> bool {
        self.0 >> node.index() & 1 != 0
    }
}

/// A set of strands, with one word for each node and one bit for each strand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StrandSet([u64; Node::ALL.len()]);

impl StrandSet {
    /// The set without strands.
    pub const EMPTY: Self = Self([0; Node::ALL.len()]);

    /// Adds a strand. Does nothing if the set has the strand already.
    pub fn insert(&mut self, strand: StrandId) {
        let (word, bit) = Self::place(strand);
        self.0[word] |= bit;
    }

    pub(crate) fn remove(&mut self, strand: StrandId) {
        let (word, bit) = Self::place(strand);
        self.0[word] &= !bit;
    }

    /// Returns `true` if the strand is in the set, whether or not the machine has this strand.
    pub fn contains(self, strand: StrandId) -> bool {
        let (word, bit) = Self::place(strand);
        self.0[word] & bit != 0
    }

    /// Returns `true` if the set has no strand.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Returns the number of strands in the set, on all nodes together.
    pub fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the first strand after `number`, in cyclic order.
    pub(crate) fn next_after(self, number: u32) -> Option<StrandId> {
        const WORDS: u32 = Node::ALL.len() as u32;
        let first = number + 1;
        // The first step tests only the upper bits of the first word, so the last step tests this word again, for its lower bits.
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

    /// Returns the index of the [word](Self::words) that holds a strand, and the strand's bit in this word.
    const fn place(strand: StrandId) -> (usize, u64) {
        let bit = 1 << (strand.index() % StrandId::PER_NODE);
        (strand.node().index(), bit)
    }

    /// Returns one word for each node, with one bit for each of the node's strands.
    pub(crate) const fn words(self) -> [u64; Node::ALL.len()] {
        self.0
    }

    pub(crate) const fn from_words(words: [u64; Node::ALL.len()]) -> Self {
        Self(words)
    }

    /// Returns `true` if the two sets have a strand in common.
    pub fn meets(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// Returns the nodes that have at least one strand of the set.
    pub fn nodes(self) -> NodeSet {
        let mut nodes = 0;
        for node in Node::ALL {
            nodes |= u8::from(self.0[node.index()] != 0) << node.index();
        }
        NodeSet(nodes)
    }

    /// Returns the strands in ascending order.
    pub fn iter(self) -> impl Iterator<Item = StrandId> {
        (0..StrandId::COUNT).filter_map(StrandId::new).filter(move |strand| self.contains(*strand))
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

/// The operator's configuration of one guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuestConfig {
    /// The strands that execute the guest.
    pub strands: StrandSet,
    /// The rights that the operator grants the guest.
    pub grant: Grant,
    /// If `true`, version 1.0 also gives the guest the registers of version 1.1. Solaris and illumos negotiate 1.0 and expect them all.
    pub compatible: bool,
}

impl GuestConfig {
    /// Returns the configuration of a guest with these strands and rights. All other fields have their [default](Self::default) values.
    ///
    /// Code that must read, show or copy every field should use a literal or a pattern without `..`, so that the compiler reports each new
    /// field.
    pub const fn new(strands: StrandSet, grant: Grant) -> Self {
        Self { strands, grant, compatible: false }
    }

    /// Sets whether version 1.0 also gives the guest the registers of version 1.1. See [`compatible`](Self::compatible).
    #[must_use]
    pub const fn with_compatible(mut self, compatible: bool) -> Self {
        self.compatible = compatible;
        self
    }
}

/// Why a configuration is rejected. Guests are numbered in the given order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There are more guests than strands.
    TooManyGuests,
    /// These two guests both have `global`.
    TwoGlobals(usize, usize),
    /// These two guests have the same strand.
    SharedStrand(usize, usize),
    /// A guest has a strand that the machine does not have.
    NoSuchStrand(usize, StrandId),
    /// The service has a configuration already.
    Configured,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyGuests => write!(f, "more than {} guests", StrandId::COUNT),
            Self::TwoGlobals(a, b) => {
                write!(f, "guests {a} and {b} both have global; one guest of a machine can")
            }
            Self::SharedStrand(a, b) => write!(f, "guests {a} and {b} have a strand in common"),
            Self::NoSuchStrand(guest, strand) => {
                write!(f, "guest {guest} has strand {strand}, which this machine does not have")
            }
            Self::Configured => f.write_str("the service is configured already"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// Checks that at most one guest of a machine has `global`. Every source of configurations uses this check.
#[derive(Debug)]
pub(crate) struct OneGlobal<T>(Option<T>);

impl<T: Copy> OneGlobal<T> {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// Admits a guest with this grant. Fails with the guest that already has `global`.
    pub(crate) fn admit(&mut self, grant: Grant, guest: T) -> Result<(), T> {
        if grant.global
            && let Some(holder) = self.0.replace(guest)
        {
            self.0 = Some(holder);
            return Err(holder);
        }
        Ok(())
    }
}

/// Checks the number of guests, and each guest's strands and right to `global`. The error is the first problem.
pub fn check(machine: Machine, guests: &[GuestConfig]) -> Result<(), ConfigError> {
    if guests.len() > StrandId::COUNT {
        return Err(ConfigError::TooManyGuests);
    }
    let mut global = OneGlobal::new();
    for (number, guest) in guests.iter().enumerate() {
        let mut strands = guest.strands.iter();
        if let Some(strand) = strands.find(|strand| strand.index() >= machine.strands()) {
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
