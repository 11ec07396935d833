//! The rights of one guest, and its fast path.

use guest_abi::{Kind, PerfReg};
use hv_core::sync::{AtomicBool, AtomicU8, AtomicU64, BEFORE_DEVICE, Ordering};
use hv_core::{Negotiated, NegotiatedVersion};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::{Grant, GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::rights::protocol::Holding;
use crate::rights::versions::has_hubs;
use crate::units::{Unit, UnitSet};

/// How often a strand tries to change a guest's word while other strands change it too.
const TRIES: usize = 64;

/// How often a strand tries to open the fast path after a negotiation. In models it is 1, so that they include the failure.
const NEGOTIATION_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { TRIES };

/// The rights that one guest is granted and holds.
///
/// # Why no strand restores what another revokes
/// A call reads one word. The word is derived from other state: which units are out of service, and whether calls are recorded. A strand
/// that revokes first changes that state, then [counts the change](AccessWord::CHANGE) in the word, and then clears the bits. A strand that
/// adds bits first loads the word, and then that state. It exchanges the word only if no revocation has counted a change since the load.
#[derive(Debug)]
pub(crate) struct GuestRights {
    /// The rights that the guest holds, and the [fast path](AccessWord::FAST) that they open in the negotiated version.
    access: AtomicU64,
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
    /// The fast path that `global` opens on this machine in the highest version.
    global: AccessWord,
}

impl GuestRights {
    pub(super) fn new(config: GuestConfig, machine: Machine) -> Self {
        let GuestConfig { strands, grant, compatible } = config;
        let nodes = strands.nodes();
        Self {
            access: AtomicU64::new(AccessWord::from_grant(grant).bits()),
            recorded: AtomicU64::new(AccessWord::NOTHING.bits()),
            traced: AtomicBool::new(false),
            starting: AtomicBool::new(false),
            granted: AtomicU8::new(grant.bits()),
            strands,
            nodes,
            compatible,
            global: AccessWord::from_units(Unit::under_global(machine, nodes)),
        }
    }

    /// Returns what the guest may do now; no fast path if it has not negotiated. A right is added to this word only after its last
    /// holder's accesses and after the scrub. So both happen before the access of a caller that finds the right here.
    #[inline(always)]
    pub(crate) fn access(&self) -> AccessWord {
        AccessWord::from_bits(self.access.load(BEFORE_DEVICE))
    }

    #[cfg(target_arch = "sparc64")]
    pub(crate) fn access_word(&self) -> &AtomicU64 {
        &self.access
    }

    #[cfg(target_arch = "sparc64")]
    pub(crate) fn traced(&self) -> &AtomicBool {
        &self.traced
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
            // The version is still in effect, because the slow path does not read it from the word.
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
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
            exchange(&self.access, old, self.with_fast(new, new, false, out))
        });
        changed
            && (!self.traced.load(Ordering::SeqCst)
                || (0..tries).any(|_| {
                    let old = AccessWord::from_bits(self.recorded.load(Ordering::SeqCst));
                    let new = self.with_fast(old, self.load(), true, out);
                    exchange(&self.recorded, old, new)
                }))
    }

    /// Sets whether calls are recorded. The caller calls [`refresh`](Self::refresh) next.
    pub(super) fn set_traced(&self, traced: bool) {
        let closed = if traced { &self.access } else { &self.recorded };
        // Cleared before the store, because a guest may give its version up; cleared after it, because a strand may have
        // loaded the old setting.
        clear(closed, AccessWord::FAST);
        self.traced.store(traced, Ordering::SeqCst);
        clear(closed, AccessWord::FAST);
    }

    /// Clears `bits`. The caller has already changed the state from which the bits are derived.
    pub(super) fn withdraw(&self, bits: AccessWord) {
        clear(&self.access, bits);
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
        for _ in 0..TRIES {
            let old = self.load();
            if !may() {
                return false;
            }
            if exchange(&self.access, old, old.or(AccessWord::from_grant(grant))) {
                return true;
            }
        }
        false
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
        AccessWord::from_bits(self.access.load(Ordering::SeqCst))
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
            guest.access.store(others | all, Ordering::SeqCst);
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
