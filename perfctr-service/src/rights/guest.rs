//! The rights of one guest, and its fast path.

use guest_abi::{Kind, Mcu, Node, PerfReg};
use hv_core::sync::{
    AtomicBool, AtomicU8, AtomicU64, BEFORE_DEVICE, EXCHANGE_AND_LOOK, Ordering, exchanged,
};
use hv_core::{Negotiated, NegotiatedVersion};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::{Grant, GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::rights::protocol::Holding;
use crate::rights::refusals::RefusalWord;
use crate::rights::versions::{VERSIONS, has_hubs};
use crate::statistics::Refusal;
use crate::units::{Unit, UnitSet};

/// How often a strand tries to change a guest's word while other strands change it too.
const TRIES: usize = 64;

/// How often a strand tries to open the fast path after a negotiation. In models it is 1, so that they include the failure.
const NEGOTIATION_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { TRIES };

/// The rights that one guest is granted and holds.
///
/// # Why no strand restores what another revokes
/// A call reads its rights from one word. The word is derived from other state: which units are out of service, and whether calls
/// are recorded. A strand that revokes first changes that state, then [counts the change](AccessWord::CHANGE) in the word, and then
/// clears the bits. A strand that adds bits first loads the word, and then that state. It exchanges the word only if no revocation
/// has counted a change since the load.
///
/// # Why no call is refused a right that another strand adds
/// The [refusals](RefusalWord) are derived in the same way, from the word of rights and from the units that are out of service. A
/// strand that adds a right, or returns a unit to service, first [holds](Self::hold) the refusals: it closes them, and no strand
/// opens them until the right is added. A refusal is for the version that is stored beside it, and only valid while the guest has
/// negotiated this version.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GuestRights {
    // The first field, so that the address of the words needs no addition.
    words: FastWords,
    /// The fast path while calls are recorded. `access` then has no fast path, so that unrecorded calls need no test
    /// for the tracer.
    recorded: AtomicU64,
    /// `true` while calls are recorded.
    traced: AtomicBool,
    /// `true` after a reset of the guest, until it has its rights back.
    starting: AtomicBool,
    /// The operator's grant. The guest holds less while a change is pending.
    granted: AtomicU8,
    strands: StrandSet,
    nodes: NodeSet,
    compatible: bool,
    /// The fast path while all units are in service, without register 0. The index is twice the version's number, plus 1 with
    /// `global`.
    opened: [AccessWord; 2 * KNOWN_VERSIONS],
    /// The refusals, with the same index as in `opened`.
    refused: [RefusalWord; 2 * KNOWN_VERSIONS],
}

/// The versions that have a place in tables, with the value for "not negotiated". A power of two, so that an index needs no check.
const KNOWN_VERSIONS: usize = 4;
const _: () = assert!(VERSIONS.len() < KNOWN_VERSIONS);

/// The version, and the fast path of register 0. The index is 8 times the version's number plus [`AccessWord::rights`].
static OPENED_OF_STRAND: [AccessWord; 8 * KNOWN_VERSIONS] = {
    let mut all = [AccessWord::NOTHING; 8 * KNOWN_VERSIONS];
    let mut index = 8;
    while index < all.len() {
        let word = match Grant::from_bits((index % 8) as u8).strand {
            StrandRight::HtStrand => AccessWord::PCR.or(AccessWord::HT),
            StrandRight::Strand => AccessWord::PCR,
            StrandRight::None => AccessWord::NOTHING,
        };
        all[index] = word.with_version(NegotiatedVersion::new((index / 8) as u8));
        index += 1;
    }
    all
};

/// The version, and the refusals for register 0. The index is as in [`OPENED_OF_STRAND`].
static REFUSED_OF_STRAND: [RefusalWord; 8 * KNOWN_VERSIONS] = {
    let mut all = [RefusalWord::CLOSED; 8 * KNOWN_VERSIONS];
    let mut index = 0;
    while index < all.len() {
        let word = match Grant::from_bits((index % 8) as u8).strand {
            _ if index < 8 => RefusalWord::CLOSED,
            StrandRight::HtStrand => RefusalWord::CLOSED,
            StrandRight::Strand => RefusalWord::HT,
            StrandRight::None => RefusalWord::PCR.or(RefusalWord::HT),
        };
        let version = NegotiatedVersion::new((index / 8) as u8);
        all[index] = RefusalWord::of_version(version).or(word);
        index += 1;
    }
    all
};

/// The two words from which the fast path decides.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FastWords {
    /// The rights that the guest holds, and the [fast path](AccessWord::FAST) that they open in the negotiated version.
    access: AtomicU64,
    /// The calls that are refused at once. Closed while calls are recorded.
    pub(crate) refusals: AtomicU64,
}

impl GuestRights {
    pub(super) fn new(config: GuestConfig, machine: Machine) -> Self {
        let GuestConfig { strands, grant, compatible } = config;
        let nodes = strands.nodes();
        Self {
            words: FastWords {
                access: AtomicU64::new(AccessWord::from_grant(grant).bits()),
                refusals: AtomicU64::new(RefusalWord::CLOSED.bits()),
            },
            recorded: AtomicU64::new(AccessWord::NOTHING.bits()),
            traced: AtomicBool::new(false),
            starting: AtomicBool::new(false),
            granted: AtomicU8::new(grant.bits()),
            strands,
            nodes,
            compatible,
            opened: core::array::from_fn(|index| opened(config, machine, index)),
            refused: core::array::from_fn(|index| refused(config, machine, index)),
        }
    }

    /// Returns what the guest may do now; no fast path if it has not negotiated. A right is added to this word only after its last
    /// holder's accesses and after the scrub. So the accesses and the scrub happen before the access of a caller that finds the
    /// right here.
    #[inline(always)]
    pub(crate) fn access(&self) -> AccessWord {
        AccessWord::from_bits(self.words.access.load(BEFORE_DEVICE))
    }

    /// Returns the calls that are refused at once. The caller loads the negotiated version before.
    #[inline(always)]
    pub(crate) fn refusals(&self) -> RefusalWord {
        RefusalWord::from_bits(self.words.refusals.load(Ordering::Acquire))
    }

    #[cfg(target_arch = "sparc64")]
    pub(crate) fn words(&self) -> &FastWords {
        &self.words
    }

    #[inline(always)]
    pub(crate) fn recorded(&self) -> AccessWord {
        AccessWord::from_bits(self.recorded.load(BEFORE_DEVICE))
    }

    pub(crate) fn strands(&self) -> StrandSet {
        self.strands
    }

    pub(crate) fn nodes(&self) -> NodeSet {
        self.nodes
    }

    pub(crate) fn granted(&self) -> Grant {
        Grant::from_bits(self.granted.load(Ordering::SeqCst))
    }

    pub(super) fn set_granted(&self, grant: Grant) {
        self.granted.store(grant.bits(), Ordering::SeqCst);
    }

    pub(crate) fn version_has(&self, version: NegotiatedVersion, register: PerfReg) -> bool {
        match register.kind() {
            Kind::Hub { .. } => has_hubs(version, self.compatible),
            _ => version != NegotiatedVersion::NONE,
        }
    }

    /// Opens the fast path for what the guest may do in the version that it has negotiated.
    ///
    /// Several strands can execute this at once. Each strand stores its version before it loads the word, and reads the version after the
    /// load. So the last exchange writes the version that was stored last. A strand with an older version loaded the word before that
    /// exchange, so its own exchange fails.
    pub(crate) fn version_changed(&self, version: &Negotiated, out: &UnitSet) {
        let opened = self.derive(NEGOTIATION_TRIES, out, |word| word.with_version(version.get()));
        if !opened {
            // This does not end the version, because the slow path does not read the version from this word.
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// As [`version_changed`](Self::version_changed), in few instructions and without a stack. If another change disturbs it, or while calls
    /// are recorded or units are out of service, closes the fast path.
    #[inline(always)]
    pub(crate) fn change_version(&self, version: &Negotiated, out: &UnitSet) {
        let order = EXCHANGE_AND_LOOK;
        exchanged();
        // The refusals come from the word that is exchanged here, so they are loaded before it.
        let refusals = RefusalWord::from_bits(self.words.refusals.load(order));
        exchanged();
        let old = AccessWord::from_bits(self.words.access.load(order));
        exchanged();
        let is_simple = out.is_empty(order) && !self.traced.load(order);
        if !(is_simple && self.open(version, old, refusals)) {
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// Replaces the words `old` and `refusals` with the words of the negotiated version. Returns `false` if the first word is no
    /// longer `old`.
    #[inline(always)]
    fn open(&self, version: &Negotiated, old: AccessWord, refusals: RefusalWord) -> bool {
        let order = EXCHANGE_AND_LOOK;
        let new = old.reopened(self.opened(version.get(), old.rights()));
        let access = &self.words.access;
        if access.compare_exchange(old.bits(), new.bits(), order, order).is_err() {
            return false;
        }
        exchanged();
        // Takes the version and the rights from the new word, because no registers are free to keep them.
        let refused = self.refused(new.version(), new.rights());
        let _ = self.exchange_refusals(refusals, refused, order);
        true
    }

    /// Opens the fast path for all that the guest may do. If this fails, calls take the slow path.
    pub(super) fn refresh(&self, out: &UnitSet) {
        self.derive(TRIES, out, |word| word);
    }

    /// Changes the word, and derives the fast path from it. If other strands change the word during every try, changes nothing and
    /// returns `false`.
    fn derive(
        &self,
        tries: usize,
        out: &UnitSet,
        change: impl Fn(AccessWord) -> AccessWord,
    ) -> bool {
        let changed = (0..tries).any(|_| {
            let old = self.load();
            let new = change(old);
            exchange(&self.words.access, old, self.with_fast(new, new, false, out))
        });
        self.renew_refusals(tries, out);
        changed
            && (!self.traced.load(Ordering::SeqCst)
                || (0..tries).any(|_| {
                    let old = AccessWord::from_bits(self.recorded.load(Ordering::SeqCst));
                    let new = self.with_fast(old, self.load(), true, out);
                    exchange(&self.recorded, old, new)
                }))
    }

    /// Derives the refusals, unless they are held. If other changes disturb all tries, changes nothing: what the others have derived, or
    /// closed, is right.
    pub(super) fn renew_refusals(&self, tries: usize, out: &UnitSet) {
        let refusals = &self.words.refusals;
        let _ = (0..tries).any(|_| {
            let old = RefusalWord::from_bits(refusals.load(Ordering::SeqCst));
            let allowed = self.load();
            let new = self.refused(allowed.version(), allowed.rights());
            let new = match (self.traced.load(Ordering::SeqCst), out.bits()) {
                (true, _) => RefusalWord::CLOSED,
                (false, bits) if bits != 0 && allowed.version() != NegotiatedVersion::NONE => {
                    self.without_units(new, bits)
                }
                (false, _) => new,
            };
            self.exchange_refusals(old, new, Ordering::SeqCst)
        });
    }

    /// Replaces the refusals if they are still `old`. Returns `true` if they were replaced, or if they are held.
    #[inline(always)]
    fn exchange_refusals(&self, old: RefusalWord, new: RefusalWord, order: Ordering) -> bool {
        let (old, held, new) = (old.bits(), old.is_held(), old.renewed(new).bits());
        held || self.words.refusals.compare_exchange(old, new, order, order).is_ok()
    }

    /// Returns the version, and the fast path that these rights open in it if all units are in service.
    #[inline(always)]
    fn opened(&self, version: NegotiatedVersion, rights: usize) -> AccessWord {
        let version = usize::from(version.number()) % KNOWN_VERSIONS;
        let of_strand = OPENED_OF_STRAND[8 * version + rights % 8];
        self.opened[2 * version + rights % 2].or(of_strand)
    }

    /// Returns what is refused to these rights in a version if all units are in service.
    #[inline(always)]
    fn refused(&self, version: NegotiatedVersion, rights: usize) -> RefusalWord {
        let version = usize::from(version.number()) % KNOWN_VERSIONS;
        let of_strand = REFUSED_OF_STRAND[8 * version + rights % 8];
        self.refused[2 * version + rights % 2].or(of_strand)
    }

    /// Refuses the units in `bits`, too. Not inlined, because usually no unit is out of service.
    #[cold]
    #[inline(never)]
    fn without_units(&self, word: RefusalWord, bits: u32) -> RefusalWord {
        let word = UnitSet::units(bits).fold(word, RefusalWord::without_unit);
        let mut nodes = Node::ALL.iter().filter(|node| self.nodes.has(**node));
        match nodes.all(|node| bits >> Unit::L2(*node).number() & 1 != 0) {
            true => word.or(RefusalWord::L2),
            false => word,
        }
    }

    /// Closes the refusals until [`release`](Self::release), so that no call is refused at once. Only the owner of the lock of
    /// changes calls this. If the owner dies, the refusals stay closed until the next change.
    pub(super) fn hold(&self) {
        self.words.refusals.fetch_or(RefusalWord::HELD.bits(), Ordering::SeqCst);
        self.close_refusals();
    }

    /// Ends [`hold`](Self::hold). The caller calls [`refresh`](Self::refresh) next.
    pub(super) fn release(&self) {
        self.words.refusals.fetch_and(!RefusalWord::HELD.bits(), Ordering::SeqCst);
    }

    fn close_refusals(&self) {
        self.words.refusals.fetch_add(RefusalWord::CHANGE.bits(), Ordering::SeqCst);
        self.words.refusals.fetch_and(RefusalWord::KEPT.bits(), Ordering::SeqCst);
    }

    /// Sets whether calls are recorded. The caller calls [`refresh`](Self::refresh) next.
    pub(super) fn set_traced(&self, traced: bool) {
        let closed = if traced { &self.words.access } else { &self.recorded };
        // Cleared before the store, because a guest may give its version up; cleared after it, because a strand may have
        // loaded the old setting.
        let clear = || {
            clear(closed, AccessWord::FAST);
            self.close_refusals();
        };
        clear();
        self.traced.store(traced, Ordering::SeqCst);
        clear();
    }

    /// Clears `bits`. The caller has already changed the state from which the bits are derived.
    pub(super) fn withdraw(&self, bits: AccessWord) {
        clear(&self.words.access, bits);
        // Cleared even if calls are not recorded: the strand that turns the tracer off stores this setting before it clears
        // this word.
        clear(&self.recorded, bits);
    }

    /// Revokes all rights outside of `grant`.
    pub(super) fn keep(&self, grant: Grant) {
        let lost = AccessWord::from_grant(Grant::ALL).without(AccessWord::from_grant(grant));
        self.withdraw(lost.or(AccessWord::FAST));
    }

    /// Adds the rights of `grant` if `may` returns `true`. Returns `true` if the rights are added. A strand that revokes rights must
    /// first change the state that `may` tests.
    pub(super) fn raise(&self, grant: Grant, may: impl Fn() -> bool) -> bool {
        self.hold();
        let mut added = false;
        for _ in 0..TRIES {
            let old = self.load();
            if !may() {
                break;
            }
            let new = old.or(AccessWord::from_grant(grant));
            added = exchange(&self.words.access, old, new);
            if added {
                break;
            }
        }
        self.release();
        added
    }

    /// Marks the guest as reset, and revokes its rights until all that it could program is scrubbed.
    pub(super) fn start(&self) {
        self.starting.store(true, Ordering::SeqCst);
        self.keep(Grant::NONE);
    }

    /// Marks a reset guest as started: it has all its rights, or gets them in the next step.
    pub(super) fn started(&self) {
        self.starting.swap(false, Ordering::SeqCst);
    }

    pub(super) fn holding(&self) -> Holding {
        Holding {
            granted: self.granted(),
            held: self.load().grant(),
            starting: self.starting.load(Ordering::SeqCst),
        }
    }

    fn load(&self) -> AccessWord {
        AccessWord::from_bits(self.words.access.load(Ordering::SeqCst))
    }

    /// Returns `word` with the fast path that `allowed` opens now. There is no fast path if `recorded` differs from the present setting.
    /// Inlined on SPARC V9, so that a negotiation needs few register windows. Not inlined elsewhere, so that calls save fewer registers.
    #[cfg_attr(target_arch = "sparc64", inline(always))]
    #[cfg_attr(not(target_arch = "sparc64"), inline(never))]
    fn with_fast(
        &self,
        word: AccessWord,
        allowed: AccessWord,
        recorded: bool,
        out: &UnitSet,
    ) -> AccessWord {
        let closed = word.without(AccessWord::FAST);
        if self.traced.load(Ordering::SeqCst) != recorded {
            return closed;
        }
        let opened = self.opened(allowed.version(), allowed.rights());
        let out = match out.bits() {
            0 => AccessWord::NOTHING,
            bits => of_units(bits),
        };
        closed.or(opened.without(AccessWord::VERSION.or(out)))
    }
}

/// Returns the element of [`GuestRights::opened`] at an index, which encodes a version and the right to `global`.
fn opened(config: GuestConfig, machine: Machine, index: usize) -> AccessWord {
    let version = NegotiatedVersion::new((index / 2) as u8);
    let hubs = has_hubs(version, config.compatible);
    let without_hubs = if hubs { AccessWord::NOTHING } else { AccessWord::HUBS };
    match (version, index % 2) {
        (NegotiatedVersion::NONE, _) | (_, 0) => AccessWord::NOTHING,
        _ => AccessWord::from_units(Unit::under_global(machine, config.strands.nodes()))
            .without(without_hubs),
    }
}

/// Returns the element of [`GuestRights::refused`] at an index, which encodes a version and the right to `global`.
fn refused(config: GuestConfig, machine: Machine, index: usize) -> RefusalWord {
    let (version, global) = (NegotiatedVersion::new((index / 2) as u8), index % 2 == 1);
    if version == NegotiatedVersion::NONE {
        return RefusalWord::CLOSED;
    }
    let nodes = config.strands.nodes();
    let hubs = has_hubs(version, config.compatible) && machine.model().has_hubs();
    let word = match (hubs, global) {
        (false, _) => RefusalWord::CLOSED.with_hubs(RefusalWord::HUBS, Refusal::NotSupported),
        (true, true) => RefusalWord::CLOSED.with_hubs(RefusalWord::CLOSED, Refusal::NoAccess),
        (true, false) => RefusalWord::CLOSED.with_hubs(RefusalWord::HUBS, Refusal::NoAccess),
    };
    let l2 = if global { RefusalWord::CLOSED } else { RefusalWord::L2 };
    let channels = Node::ALL.iter().flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)));
    channels.fold(word.or(l2), |word, (node, mcu)| match machine.has_channel(node, mcu) {
        false => word.without_channel(node, mcu),
        true if global && nodes.has(node) => word,
        true => word.without_unit(Unit::Mcu(node, mcu)),
    })
}

/// Exchanges a word if it is still `old`, and counts the change. Returns `true` on success.
fn exchange(word: &AtomicU64, old: AccessWord, new: AccessWord) -> bool {
    let counted = AccessWord::from_bits(new.bits().wrapping_add(AccessWord::CHANGE.bits()));
    let counted = counted.without(AccessWord::CARRY).bits();
    word.compare_exchange(old.bits(), counted, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Counts a change in a word, and clears `bits`.
fn clear(word: &AtomicU64, bits: AccessWord) {
    word.fetch_add(AccessWord::CHANGE.bits(), Ordering::SeqCst);
    word.fetch_and(!bits.or(AccessWord::CARRY).bits(), Ordering::SeqCst);
}

/// Returns the bits of these units. Not inlined, because usually no unit is out of service.
#[cold]
#[inline(never)]
fn of_units(bits: u32) -> AccessWord {
    AccessWord::from_units(UnitSet::units(bits))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use guest_abi::{Mcu, Node, StrandId};
    use hv_core::sync::steps;
    use platform::Model;

    use super::*;
    use crate::rights::versions::V1_1;
    use crate::statistics::Class;
    use crate::units::Units;

    const UNIT: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
    const ROUNDS: usize = if cfg!(miri) { 30 } else { 3_000 };
    const SPARC: bool = cfg!(target_arch = "sparc64");

    fn guest(grant: Grant, compatible: bool, machine: Machine) -> GuestRights {
        let config =
            GuestConfig { strands: StrandId::new(0).into_iter().collect(), grant, compatible };
        GuestRights::new(config, machine)
    }

    /// Returns a guest that may do everything on a Maramba with one node, in version 1.1.
    fn open_guest() -> GuestRights {
        let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
        guest.version_changed(&Negotiated::new(V1_1), &UnitSet::default());
        guest
    }

    /// Returns the guest's fast path in `version` (0 for none) while `out` is out of service.
    fn fast(guest: &GuestRights, version: u8, out: Option<Unit>) -> u64 {
        let units = Units::default();
        out.map(|unit| units.take_out(unit));
        let version = Negotiated::new(NegotiatedVersion::new(version));
        guest.version_changed(&version, units.out());
        places(guest.access())
    }

    /// Returns the fast path in a word, with place 0 in bit 0: on SPARC V9 the word has place 0 in bit 63.
    fn places(word: AccessWord) -> u64 {
        let bits = word.bits();
        (if SPARC { bits.reverse_bits() } else { bits }) & 0x007f_ffff
    }

    fn changes(guest: &GuestRights) -> u32 {
        (guest.access().bits() >> if SPARC { 0 } else { 32 }) as u32
    }

    /// The fast paths in 1.0 and in 1.1. Register 0 has place 0, DRAM registers have places 2-5, hubs 18-21, and HT 22.
    #[test]
    fn the_fast_path_of_every_grant_and_version() {
        let maramba = Machine::new(Model::Maramba, 2).unwrap();
        let batoka = Machine::new(Model::Batoka, 4).unwrap();
        let one_channel = batoka.without_channel(Node::Node0, Mcu::Mcu1);
        for (machine, grant, [v1_0, v1_1]) in [
            (maramba, "none", [0, 0]),
            (maramba, "strand", [1, 1]),
            (maramba, "htstrand", [0x40_0001, 0x40_0001]),
            (maramba, "global", [0x3c, 0x3c]),
            (maramba, "global+strand", [0x3d, 0x3d]),
            (maramba, "global+htstrand", [0x40_003d, 0x40_003d]),
            (batoka, "none", [0, 0]),
            (batoka, "strand", [1, 1]),
            (batoka, "htstrand", [0x40_0001, 0x40_0001]),
            (batoka, "global", [0x3c, 0x3c_003c]),
            (batoka, "global+strand", [0x3d, 0x3c_003d]),
            (batoka, "global+htstrand", [0x40_003d, 0x7c_003d]),
            (one_channel, "global", [0x0c, 0x3c_000c]),
            (one_channel, "global+htstrand", [0x40_000d, 0x7c_000d]),
        ] {
            for (compatible, v1_0) in [(false, v1_0), (true, v1_1)] {
                let guest = guest(grant.parse().unwrap(), compatible, machine);
                let seen = [0, 1, 2].map(|version| fast(&guest, version, None));
                assert_eq!(seen, [0, v1_0, v1_1], "{machine:?} {grant} {compatible}");
                let recorded = |version| {
                    let fast = fast(&guest, version, None);
                    (fast, places(guest.recorded()))
                };
                assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, not traced");
                guest.set_traced(true);
                let traced = [0, 1, 2].map(recorded);
                let expected = [(0, 0), (0, v1_0), (0, v1_1)];
                assert_eq!(traced, expected, "{machine:?} {grant}, traced");
                guest.set_traced(false);
                assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, no more");
            }
        }
    }

    /// A revocation clears the rights in both words, whatever the guest's tracer setting is.
    #[test]
    fn what_is_withdrawn_is_gone_from_recorded_calls() {
        let machine = Machine::new(Model::Batoka, 4).unwrap();
        for says_off in [false, true] {
            let guest = guest(Grant::ALL, false, machine);
            guest.set_traced(true);
            assert_eq!(fast(&guest, 2, None), 0);
            assert_eq!(places(guest.recorded()), 0x7c_000d | 0x30);
            guest.traced.store(!says_off, Ordering::SeqCst);
            guest.keep(Grant::NONE);
            assert_eq!((places(guest.access()), places(guest.recorded())), (0, 0));
        }
    }

    /// A guest with strands on nodes 0 and 2 of a Batoka has registers 2-5 and 10-13. A memory channel out of service removes two registers
    /// from the fast path, and a hub removes its bit. L2 control removes nothing, because register 1 has no fast path.
    #[test]
    fn a_unit_out_of_service_is_not_on_the_fast_path() {
        let config = GuestConfig {
            strands: [0, 128].into_iter().filter_map(StrandId::new).collect(),
            grant: Grant::ALL,
            compatible: false,
        };
        let guest = GuestRights::new(config, Machine::new(Model::Batoka, 4).unwrap());
        assert_eq!(fast(&guest, 2, None), 0x7c_3c3d);
        let without = [
            0xc, 0x30, 0, 0, 0xc00, 0x3000, 0, 0, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0, 0,
            0, 0,
        ];
        for (unit, without) in Unit::all().zip(without) {
            assert_eq!(fast(&guest, 2, Some(unit)), 0x7c_3c3d - without, "{unit}");
        }
    }

    /// Returns `true` if one of these calls is refused at once: register 0 and a set of HT, L2 control, a channel, a hub.
    fn refuses(guest: &GuestRights) -> bool {
        let refusal = |(class, index, ht)| guest.refusals().refusal(V1_1, class, index, ht);
        let calls = [
            (Class::Strand, 0, false),
            (Class::Strand, 0, true),
            (Class::L2, 1, false),
            (Class::Dram, 2, false),
            (Class::Hub, 0, false),
        ];
        calls.into_iter().any(|call| refusal(call).is_some())
    }

    /// One strand adds rights, and another strand derives the refusals at a step of it; then the strands exchange their roles.
    /// Afterwards no right that the guest has is refused.
    #[test]
    fn no_refusal_outlives_the_lack_of_a_right() {
        let machine = Machine::new(Model::Batoka, 1).unwrap();
        let raise = |guest: &GuestRights| assert!(guest.raise(Grant::ALL, || true));
        let derive = |guest: &GuestRights| guest.refresh(&UnitSet::default());
        let mut steps = 0;
        for raise_first in [false, true] {
            for step in 0.. {
                let guest = Arc::new(guest(Grant::NONE, false, machine));
                guest.version_changed(&Negotiated::new(V1_1), &UnitSet::default());
                assert!(refuses(&guest));
                let crossing = Arc::clone(&guest);
                let crossed = match raise_first {
                    true => steps::before(step, move || derive(&crossing), || raise(&guest)).1,
                    false => steps::before(step, move || raise(&crossing), || derive(&guest)).1,
                };
                if !crossed {
                    break;
                }
                assert!(!refuses(&guest), "{raise_first} {step}");
                steps += 1;
            }
        }
        assert!(steps > 10);
    }

    /// A unit returns to service at any step of a strand that derives the refusals, and afterwards the unit is not refused.
    /// Likewise, calls begin to be recorded at any step, and then a strand may find the refusals closed.
    #[test]
    fn no_refusal_outlives_a_setting() {
        for step in 0.. {
            let units = Arc::new(Units::default());
            units.take_out(UNIT);
            let guest = Arc::new(open_guest());
            guest.refresh(units.out());
            assert_eq!(
                guest.refusals().refusal(V1_1, Class::Dram, 2, false),
                Some(Refusal::NoAccess)
            );
            let (crossing, returned) = (Arc::clone(&guest), Arc::clone(&units));
            let put_back = move || {
                crossing.hold();
                returned.put_back(UNIT);
                crossing.release();
            };
            if !steps::before(step, put_back, || guest.refresh(units.out())).1 {
                break;
            }
            assert_eq!(guest.refusals().refusal(V1_1, Class::Dram, 2, false), None, "{step}");
        }
        for (step, closed) in (0..30).flat_map(|step| [(step, false), (step, true)]) {
            let guest =
                Arc::new(guest(Grant::NONE, false, Machine::new(Model::Batoka, 1).unwrap()));
            guest.version_changed(&Negotiated::new(V1_1), &UnitSet::default());
            if closed {
                guest.close_refusals();
            }
            let crossing = Arc::clone(&guest);
            let record = move || crossing.set_traced(true);
            let derive = || guest.refresh(&UnitSet::default());
            if steps::before(step, record, derive).1 {
                assert!(!refuses(&guest), "{step}");
            }
        }
    }

    /// A negotiation without a stack leaves the same fast path and refusals as any other negotiation. If another strand disturbs it
    /// at any step, the words are right for the last version, or closed.
    #[test]
    fn a_short_negotiation_opens_the_same() {
        let machine = Machine::new(Model::Batoka, 2).unwrap();
        for grant in ["none", "strand", "htstrand", "global", "global+htstrand"] {
            for number in [0, 1, 2, 1, 2, 0] {
                let version = Negotiated::new(NegotiatedVersion::new(number));
                let [long, short] = [(); 2].map(|()| guest(grant.parse().unwrap(), false, machine));
                long.version_changed(&version, &UnitSet::default());
                short.change_version(&version, &UnitSet::default());
                let bits = |guest: &GuestRights| (places(guest.access()), guest.access().version());
                assert_eq!(bits(&short), bits(&long), "{grant} {number}");
                assert_eq!(short.refusals(), long.refusals(), "{grant} {number}");
            }
        }
        type Event = fn(&GuestRights, &Units);
        let revoke: Event = |guest, _| guest.keep(Grant::NONE);
        let record: Event = |guest, _| guest.set_traced(true);
        let fault: Event = |guest, units| {
            units.take_out(UNIT);
            guest.withdraw(AccessWord::from_unit(UNIT));
        };
        let channel = AccessWord::from_unit(UNIT);
        for (event, closed) in
            [(revoke, AccessWord::FAST), (record, AccessWord::FAST), (fault, channel)]
        {
            for step in 0.. {
                let guest = Arc::new(guest(Grant::ALL, false, machine));
                let (version, units) = (Negotiated::new(V1_1), Arc::new(Units::default()));
                let (crossing, hit) = (Arc::clone(&guest), Arc::clone(&units));
                let change = || guest.change_version(&version, units.out());
                let crossed = steps::before(step, move || event(&crossing, &hit), change).1;
                if !crossed {
                    break;
                }
                let word = guest.access();
                assert_eq!(word.without(closed), word, "{step}");
            }
        }
    }

    /// A withdrawal counts a change. So an exchange fails if its strand loaded the word before.
    #[test]
    fn what_is_withdrawn_is_counted() {
        let guest = open_guest();
        let (before, counted) = (guest.access(), changes(&guest));
        guest.withdraw(AccessWord::NOTHING);
        let change = AccessWord::CHANGE.bits();
        assert_eq!(guest.access().bits(), before.bits() + change);
        guest.withdraw(AccessWord::from_unit(UNIT));
        assert_eq!(changes(&guest), counted + 2);
        let left = before.without(AccessWord::from_unit(UNIT)).bits();
        assert_eq!(guest.access().bits(), left + 2 * change);
        for id in [2, 3] {
            assert!(before.register(id) && !guest.access().register(id));
        }
    }

    #[test]
    fn the_count_of_changes_wraps() {
        let guest = open_guest();
        let all = u64::from(u32::MAX) * AccessWord::CHANGE.bits();
        let others = guest.access().bits() & !all;
        let withdraw = || guest.withdraw(AccessWord::NOTHING);
        let refresh = || guest.refresh(&UnitSet::default());
        for change in [&withdraw as &dyn Fn(), &refresh] {
            guest.words.access.store(others | all, Ordering::SeqCst);
            change();
            assert_eq!(guest.access().bits(), others);
        }
    }

    /// A strand negotiates while a unit goes out of service and returns. The guest gets no right to the unit while it is out of service.
    #[test]
    fn negotiation_crosses_faults() {
        let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
        let units = Units::default();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let negotiator = scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    for version in [V1_1, NegotiatedVersion::NONE] {
                        guest.version_changed(&Negotiated::new(version), units.out());
                        assert_eq!(guest.access().version(), version);
                    }
                }
            });
            for _ in 0..ROUNDS {
                units.take_out(UNIT);
                guest.withdraw(AccessWord::from_unit(UNIT));
                for _ in 0..20 {
                    let access = guest.access();
                    let closed = access.without(AccessWord::from_unit(UNIT)) == access;
                    if !closed {
                        done.store(true, Ordering::SeqCst);
                    }
                    assert!(closed, "{access:?}");
                    core::hint::spin_loop();
                }
                units.put_back(UNIT);
                guest.refresh(units.out());
                if negotiator.is_finished() {
                    break;
                }
            }
            done.store(true, Ordering::SeqCst);
        });
        guest.version_changed(&Negotiated::new(V1_1), units.out());
        assert!(guest.access().register(2) && guest.access().ht());
    }
}
