//! The rights of one guest, and its fast path.

use guest_abi::{Kind, Mcu, Node, PerfReg};
use hv_core::sync::{AtomicBool, AtomicU8, AtomicU64, BEFORE_DEVICE, Ordering};
use hv_core::{Negotiated, NegotiatedVersion};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::{Grant, GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::rights::protocol::Holding;
use crate::rights::refusals::RefusalWord;
use crate::rights::versions::has_hubs;
use crate::statistics::Refusal;
use crate::units::{Unit, UnitSet};

/// The number of tries of a step that another change of the guest's word can disturb: a step of the operator, or a fault of a unit.
const TRIES: usize = 64;

/// The number of tries of a strand to open the fast path after a negotiation. In models it is 1, so that they include the failure.
const NEGOTIATION_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { TRIES };

/// The rights that one guest is granted and holds.
///
/// # Why no strand restores what another revokes
/// A call reads one word. The word is derived from other state: which units are out of service, and whether calls are recorded. A strand
/// that revokes first changes that state, then [counts the change](AccessWord::CHANGE) in the word, and then clears the bits. A strand that
/// adds bits first loads the word, and then that state. It exchanges the word only if no revocation has counted a change since the load.
///
/// # Why no call is refused what another strand adds
/// The [refusals](RefusalWord) are derived in the same way, from the first word and from the units that are out of service. A strand that
/// adds a right, or returns a unit, first [holds](Self::hold) them: it closes them, and no strand opens them until it has added the right.
/// A refusal is for the version that is stored beside it, and only valid while the guest has negotiated this version.
#[derive(Debug)]
pub(crate) struct GuestRights {
    words: FastWords,
    /// The fast path while calls are recorded. `access` has none then, so that an unrecorded call needs no test for it.
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
    /// The fast path that `global` opens on this machine in the highest version.
    global: AccessWord,
    /// What is refused in every version without `global`, and with it. Without hubs and register 0.
    refused: [RefusalWord; 2],
    has_hubs: bool,
}

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
            global: AccessWord::from_units(Unit::under_global(machine, nodes)),
            refused: [None, Some(nodes)].map(|covered| refused(machine, covered)),
            has_hubs: machine.model().has_hubs(),
        }
    }

    /// Returns what the guest may do now; no fast path if it has not negotiated. Before a right is added to this word, the accesses of the
    /// right's last holder and the scrub have happened. So they happen before the access of a caller that finds the right here.
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
    /// load. So the last exchange has the version that was stored last: a strand with an older version loaded the word before that
    /// exchange, and its own exchange fails.
    pub(crate) fn version_changed(&self, version: &Negotiated, out: &UnitSet) {
        let opened = self.derive(NEGOTIATION_TRIES, out, |word| word.with_version(version.get()));
        if !opened {
            // The version is still in effect, because the slow path does not read it from the word.
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// Opens the fast path for all that the guest may do. If this fails, calls take the slow path.
    pub(super) fn refresh(&self, out: &UnitSet) {
        self.derive(TRIES, out, |word| word);
    }

    /// Changes the word, and derives the fast path from it. If other changes disturb all tries, changes nothing and returns `false`.
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
            let new = match self.traced.load(Ordering::SeqCst) {
                true => RefusalWord::CLOSED,
                false => self.derive_refusals(self.load(), out),
            };
            old.is_held() || {
                let counted = old.renewed(new).bits().wrapping_add(RefusalWord::CHANGE.bits());
                let counted = counted & !RefusalWord::CARRY.bits();
                let changed = refusals.compare_exchange(
                    old.bits(),
                    counted,
                    Ordering::SeqCst,
                    Ordering::SeqCst,
                );
                changed.is_ok()
            }
        });
    }

    /// Returns what is refused to a guest with this word.
    #[cfg_attr(target_arch = "sparc64", inline(always))]
    fn derive_refusals(&self, allowed: AccessWord, out: &UnitSet) -> RefusalWord {
        let (version, grant) = (allowed.version(), allowed.grant());
        let word = RefusalWord::of_version(version);
        if version == NegotiatedVersion::NONE {
            return word;
        }
        let strand = match grant.strand {
            StrandRight::HtStrand => RefusalWord::CLOSED,
            StrandRight::Strand => RefusalWord::HT,
            StrandRight::None => RefusalWord::PCR.or(RefusalWord::HT),
        };
        let word = word.or(strand).or(self.refused[usize::from(grant.global)]);
        let word = match self.has_hubs && has_hubs(version, self.compatible) {
            false => word.with_hubs(RefusalWord::HUBS, Refusal::NotSupported),
            true if grant.global => word.with_hubs(RefusalWord::CLOSED, Refusal::NoAccess),
            true => word.with_hubs(RefusalWord::HUBS, Refusal::NoAccess),
        };
        match out.bits() {
            0 => word,
            bits => self.without_units(word, bits),
        }
    }

    /// Not inlined, because `bits` is mostly 0.
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

    /// Refuses nothing at once until [`release`](Self::release). Only the owner of the lock of changes holds. If it dies, calls take the
    /// slow path until the next change.
    pub(super) fn hold(&self) {
        self.words.refusals.fetch_or(RefusalWord::HELD.bits(), Ordering::SeqCst);
        self.close_refusals();
    }

    /// Ends [`hold`](Self::hold). The caller calls [`refresh`](Self::refresh) next.
    pub(super) fn release(&self) {
        // Counted, so that no strand that has loaded the word before opens it.
        self.words.refusals.fetch_add(RefusalWord::CHANGE.bits(), Ordering::SeqCst);
        let cleared = RefusalWord::HELD.or(RefusalWord::CARRY).bits();
        self.words.refusals.fetch_and(!cleared, Ordering::SeqCst);
    }

    fn close_refusals(&self) {
        self.words.refusals.fetch_add(RefusalWord::CHANGE.bits(), Ordering::SeqCst);
        let kept = RefusalWord::from_bits(u64::MAX).renewed(RefusalWord::CLOSED).bits();
        self.words.refusals.fetch_and(kept & !RefusalWord::CARRY.bits(), Ordering::SeqCst);
    }

    /// Sets whether calls are recorded. The caller calls [`refresh`](Self::refresh) next.
    pub(super) fn set_traced(&self, traced: bool) {
        let closed = if traced { &self.words.access } else { &self.recorded };
        // Cleared before and after the store: a guest may give its version up, and strands may have loaded the old setting.
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
        // Also while calls are not recorded: a strand that turns the tracer off stores this setting before it clears this word.
        clear(&self.recorded, bits);
    }

    /// Revokes all rights outside of `grant`.
    pub(super) fn keep(&self, grant: Grant) {
        let lost = AccessWord::from_grant(Grant::ALL).without(AccessWord::from_grant(grant));
        self.withdraw(lost.or(AccessWord::FAST));
    }

    /// Adds the rights of `grant` while `may` returns `true`. Returns `true` if it has added them. A strand that revokes rights first
    /// changes the state that `may` tests.
    pub(super) fn raise(&self, grant: Grant, may: impl Fn() -> bool) -> bool {
        self.hold();
        let mut added = false;
        for _ in 0..TRIES {
            let old = self.load();
            if !may() {
                break;
            }
            added = exchange(&self.words.access, old, old.or(AccessWord::from_grant(grant)));
            if added {
                break;
            }
        }
        self.release();
        added
    }

    /// Marks the guest as reset, and revokes its rights. It gets them back after the scrub of all that it could program.
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

    /// Returns `word` with the fast path that `allowed` opens now. There is none if `recorded` differs from the present setting.
    /// Inlined on SPARC V9, so that a negotiation nests in few register windows. Not inlined elsewhere, so that calls save fewer registers.
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
        let (version, grant) = (allowed.version(), allowed.grant());
        if version == NegotiatedVersion::NONE || self.traced.load(Ordering::SeqCst) != recorded {
            return closed;
        }
        let global = match (grant.global, has_hubs(version, self.compatible)) {
            (true, true) => self.global,
            (true, false) => self.global.without(AccessWord::HUBS),
            (false, _) => AccessWord::NOTHING,
        };
        let strand = match grant.strand {
            StrandRight::HtStrand => AccessWord::PCR.or(AccessWord::HT),
            StrandRight::Strand => AccessWord::PCR,
            StrandRight::None => AccessWord::NOTHING,
        };
        let out = match out.bits() {
            0 => AccessWord::NOTHING,
            bits => of_units(bits),
        };
        closed.or(strand).or(global.without(out))
    }
}

/// Returns what a guest is refused that has `global` on the `covered` nodes, or does not have it.
fn refused(machine: Machine, covered: Option<NodeSet>) -> RefusalWord {
    let l2 = if covered.is_none() { RefusalWord::L2 } else { RefusalWord::CLOSED };
    let channels = Node::ALL.iter().flat_map(|node| Mcu::ALL.iter().map(|mcu| (*node, *mcu)));
    channels.fold(l2, |word, (node, mcu)| match machine.has_channel(node, mcu) {
        false => word.without_channel(node, mcu),
        true if covered.is_some_and(|nodes| nodes.has(node)) => word,
        true => word.without_unit(Unit::Mcu(node, mcu)),
    })
}

/// Exchanges a word if it is still `old`, and counts the change. Returns `true` if it did.
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

/// Not inlined, because `bits` is mostly 0.
#[cold]
#[inline(never)]
fn of_units(bits: u32) -> AccessWord {
    AccessWord::from_units(UnitSet::units(bits))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use guest_abi::{Mcu, Node, StrandId};
    use platform::Model;

    use super::*;
    use crate::rights::versions::V1_1;
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

    /// Returns the guest's fast path in a negotiated version (0 for none), while the unit `out` is out of service.
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

    /// Rights are removed from both words, whether or not the tracer is known to be off.
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

    /// If a strand has loaded the word before a withdrawal, the count makes its exchange fail.
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
