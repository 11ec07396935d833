//! What the service knows of a guest.

use guest_abi::{Kind, PerfReg, Version};
use hv_core::sync::{AtomicBool, AtomicU8, AtomicU64, BEFORE_DEVICE, Ordering};
use hv_core::{Negotiated, NegotiatedVersion};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::{Grant, GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::rights::protocol::Holding;
use crate::units::{Unit, UnitSet};

/// The versions of group 0x205, lowest first.
pub(crate) const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1];

/// 1.0 has the SPARC, L2 and DRAM registers.
const V1_0: NegotiatedVersion = NegotiatedVersion::new(1);
/// 1.1 has the hubs too.
const V1_1: NegotiatedVersion = NegotiatedVersion::new(2);

/// How often a step that crosses a change of the guest's word is tried again. A change is a fault, which a unit has once
/// before the operator comes, or a step of the operator's.
const TRIES: usize = 64;

/// How often a strand that has negotiated tries to open the fast path. In models it gives up at the first crossing, so that
/// they show what comes after that.
const NEGOTIATION_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { TRIES };

/// A guest: what it may do.
///
/// # Why no one gains what is being taken away
/// All that a call looks at is one word. It is derived from other things: which units are out of service, whether calls are
/// recorded. Whoever takes something away changes that first, then [counts the change](AccessWord::CHANGE) in the word, then
/// clears the bits. Whoever adds bits loads the word first, then looks at what they depend on, then exchanges the word if it
/// is still the same. If a change crosses this, its count is in between, and the exchange fails.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Which rights it holds, and the [fast path](AccessWord::FAST) of that in the version that it has negotiated.
    access: AtomicU64,
    /// The fast path while its calls are recorded. The word above has none then, so that calls that are not recorded need not ask
    /// whether they are to be.
    recorded: AtomicU64,
    /// Its calls are recorded.
    traced: AtomicBool,
    /// It starts again, and does not have its rights back yet.
    starting: AtomicBool,
    /// What the operator has granted. It holds less while a change is pending.
    granted: AtomicU8,
    strands: StrandSet,
    nodes: NodeSet,
    compatible: bool,
    /// The fast path of what `global` covers on this machine, in the highest version.
    global: AccessWord,
}

impl Guest {
    /// A guest that holds what it is granted.
    pub(super) fn new(config: GuestConfig, machine: Machine) -> Self {
        let GuestConfig {
            strands,
            grant,
            compatible,
        } = config;
        let nodes = strands.nodes();
        Self {
            access: AtomicU64::new(AccessWord::of_grant(grant).bits()),
            recorded: AtomicU64::new(AccessWord::NOTHING.bits()),
            traced: AtomicBool::new(false),
            starting: AtomicBool::new(false),
            granted: AtomicU8::new(grant.bits()),
            strands,
            nodes,
            compatible,
            global: AccessWord::of_units(Unit::of_global(machine, nodes)),
        }
    }

    /// Returns what it may do now. The fast path is empty if it has not negotiated.
    ///
    /// What the last holder of a right did to its registers, and the scrubbing of them, happens before the right is added to
    /// this word, and so before the access of a caller that has found it here.
    #[inline(always)]
    pub(crate) fn access(&self) -> AccessWord {
        AccessWord::from_bits(self.access.load(BEFORE_DEVICE))
    }

    /// Returns the word that [`access`](Self::access) loads.
    #[cfg(target_arch = "sparc64")]
    pub(crate) fn access_word(&self) -> &AtomicU64 {
        &self.access
    }

    /// Returns whether calls of the guest are recorded as events.
    #[cfg(target_arch = "sparc64")]
    pub(crate) fn traced(&self) -> &AtomicBool {
        &self.traced
    }

    /// Returns the fast path of calls that are recorded, as [`access`](Self::access) does of others.
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

    /// Returns `true` if a version has a register, for this guest.
    pub(crate) fn version_has(&self, version: NegotiatedVersion, register: PerfReg) -> bool {
        match register.kind() {
            Kind::Hub { .. } => self.has_hubs(version),
            _ => version != NegotiatedVersion::NONE,
        }
    }

    fn has_hubs(&self, version: NegotiatedVersion) -> bool {
        version == V1_1 || version == V1_0 && self.compatible
    }

    /// The guest has negotiated: opens the fast path of what it may do in the version of now.
    ///
    /// Several strands can be here at once. Each has stored its version before it loads the word, and reads the version
    /// after that. So the exchange that comes last is made with the version that was stored last: of one with an older
    /// version, the word was loaded before the newer version's exchange, and its own fails.
    pub(crate) fn version_changed(&self, version: &Negotiated, out: &UnitSet) {
        let opened = self.derive(NEGOTIATION_TRIES, out, |word| {
            word.with_version(version.get())
        });
        if !opened {
            // The version is in effect all the same: the slow path does not take it from the word.
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// Opens the fast path of all that the guest may do. Where this does not succeed it costs time only.
    pub(super) fn refresh(&self, out: &UnitSet) {
        self.derive(TRIES, out, |word| word);
    }

    /// Changes the word, and derives the fast path from what it is then. Returns `false`, and has changed nothing, if others
    /// change the word all the time.
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

    /// Its calls are recorded from now on, or are not. A [`refresh`](Self::refresh) is to follow.
    pub(super) fn set_traced(&self, traced: bool) {
        let closed = if traced { &self.access } else { &self.recorded };
        // Before, so that a guest that gives its version up meanwhile finds nothing left of it; and after, because of those who
        // found it as it was.
        take(closed, AccessWord::FAST);
        self.traced.store(traced, Ordering::SeqCst);
        take(closed, AccessWord::FAST);
    }

    /// Takes these bits away. What they depend on has been changed already.
    pub(super) fn withdraw(&self, bits: AccessWord) {
        take(&self.access, bits);
        // Also while its calls are not recorded: whoever turns the tracer off clears this word after that is known.
        take(&self.recorded, bits);
    }

    /// Takes all rights away but these.
    pub(super) fn keep(&self, grant: Grant) {
        let lost = AccessWord::of_grant(Grant::ALL).without(AccessWord::of_grant(grant));
        self.withdraw(lost.or(AccessWord::FAST));
    }

    /// Grants these rights if `may` still holds. Returns `true` if it granted them. Whoever takes rights away changes what `may`
    /// depends on first.
    pub(super) fn raise(&self, grant: Grant, may: impl Fn() -> bool) -> bool {
        for _ in 0..TRIES {
            let old = self.load();
            if !may() {
                return false;
            }
            if exchange(&self.access, old, old.or(AccessWord::of_grant(grant))) {
                return true;
            }
        }
        false
    }

    /// The guest starts again. It holds no right until all that it could use is clear.
    pub(super) fn start(&self) {
        self.starting.store(true, Ordering::SeqCst);
        self.keep(Grant::NONE);
    }

    /// Marks the guest, which has all its rights or gets them now, as started.
    pub(super) fn started(&self) {
        self.starting.swap(false, Ordering::SeqCst);
    }

    /// Returns what it is granted and holds.
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

    /// Returns `word` with the fast path of all that the version and the rights in `allowed` allow now. It is empty if the word is
    /// for calls that are recorded, or not, and they are not, or are.
    // Inlined on SPARC V9, so that a negotiation nests in few register windows; elsewhere not, so that other calls keep fewer
    // registers.
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
        let global = match (grant.global, self.has_hubs(version)) {
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

/// Exchanges a word if it is still the old one, and counts the change.
fn exchange(word: &AtomicU64, old: AccessWord, new: AccessWord) -> bool {
    let counted = AccessWord::from_bits(new.bits().wrapping_add(AccessWord::CHANGE.bits()));
    let counted = counted.without(AccessWord::CARRY).bits();
    word.compare_exchange(old.bits(), counted, Ordering::SeqCst, Ordering::SeqCst)
        .is_ok()
}

/// Counts a change in a word, and takes these bits away.
fn take(word: &AtomicU64, bits: AccessWord) {
    word.fetch_add(AccessWord::CHANGE.bits(), Ordering::SeqCst);
    word.fetch_and(!bits.or(AccessWord::CARRY).bits(), Ordering::SeqCst);
}

/// Returns the bits of units. Not inlined, because most sets are empty.
#[cold]
#[inline(never)]
fn of_units(bits: u32) -> AccessWord {
    AccessWord::of_units(UnitSet::units(bits))
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::sync::atomic::AtomicBool;
    use std::thread;

    use guest_abi::{Mcu, Node, StrandId};
    use platform::Model;

    use super::*;
    use crate::units::Units;

    const UNIT: Unit = Unit::Mcu(Node::Node0, Mcu::Mcu0);
    const ROUNDS: usize = if cfg!(miri) { 30 } else { 3_000 };

    /// A guest with a strand on node 0.
    fn guest(grant: Grant, compatible: bool, machine: Machine) -> Guest {
        let config = GuestConfig {
            strands: StrandId::new(0).into_iter().collect(),
            grant,
            compatible,
        };
        Guest::new(config, machine)
    }

    /// The fast path that the guest has in the version that is negotiated, 0 for none, while this unit is out of service.
    fn fast(guest: &Guest, version: u8, out: Option<Unit>) -> u64 {
        let units = Units::default();
        out.map(|unit| units.take_out(unit));
        let version = Negotiated::new(NegotiatedVersion::new(version));
        guest.version_changed(&version, units.out());
        places(guest.access())
    }

    /// The fast path in a word: place 0 is bit 63 on SPARC V9, and bit 0 elsewhere.
    fn places(word: AccessWord) -> u64 {
        let bits = word.bits();
        let places = if cfg!(target_arch = "sparc64") {
            bits.reverse_bits()
        } else {
            bits
        };
        places & 0x007f_ffff
    }

    /// How many changes the word of a guest counts.
    fn changes(guest: &Guest) -> u32 {
        let bits = guest.access().bits();
        let changes = if cfg!(target_arch = "sparc64") {
            bits
        } else {
            bits >> 32
        };
        changes as u32
    }

    /// A guest on node 0 of each machine, with each grant, in each version: register 0 is place 0, the DRAM registers 2-5 are places
    /// 2-5, the hubs 18-21, HT 22. `[not negotiated, 1.0, 1.1, 1.0 with the registers of 1.1]`.
    #[test]
    fn the_fast_path_of_every_grant_and_version() {
        let maramba = Machine::new(Model::Maramba, 2).unwrap();
        let batoka = Machine::new(Model::Batoka, 4).unwrap();
        let one_channel = batoka.without_channel(Node::Node0, Mcu::Mcu1);
        for (machine, grant, expected) in [
            (maramba, "none", [0, 0, 0, 0]),
            (maramba, "strand", [0, 1, 1, 1]),
            (maramba, "htstrand", [0, 0x40_0001, 0x40_0001, 0x40_0001]),
            (maramba, "global", [0, 0x3c, 0x3c, 0x3c]),
            (maramba, "global+strand", [0, 0x3d, 0x3d, 0x3d]),
            (
                maramba,
                "global+htstrand",
                [0, 0x40_003d, 0x40_003d, 0x40_003d],
            ),
            (batoka, "none", [0, 0, 0, 0]),
            (batoka, "strand", [0, 1, 1, 1]),
            (batoka, "htstrand", [0, 0x40_0001, 0x40_0001, 0x40_0001]),
            (batoka, "global", [0, 0x3c, 0x3c_003c, 0x3c_003c]),
            (batoka, "global+strand", [0, 0x3d, 0x3c_003d, 0x3c_003d]),
            (
                batoka,
                "global+htstrand",
                [0, 0x40_003d, 0x7c_003d, 0x7c_003d],
            ),
            (one_channel, "global", [0, 0x0c, 0x3c_000c, 0x3c_000c]),
            (
                one_channel,
                "global+htstrand",
                [0, 0x40_000d, 0x7c_000d, 0x7c_000d],
            ),
        ] {
            let [none, v1_0, v1_1, both] = expected;
            for (compatible, v1_0) in [(false, v1_0), (true, both)] {
                let guest = guest(grant.parse().unwrap(), compatible, machine);
                let seen = [0, 1, 2].map(|version| fast(&guest, version, None));
                assert_eq!(seen, [none, v1_0, v1_1], "{machine:?} {grant} {compatible}");
                let recorded = |version| {
                    let fast = fast(&guest, version, None);
                    (fast, places(guest.recorded()))
                };
                assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, not traced");
                guest.set_traced(true);
                let traced = [0, 1, 2].map(recorded);
                let expected = [(0, none), (0, v1_0), (0, v1_1)];
                assert_eq!(traced, expected, "{machine:?} {grant}, traced");
                guest.set_traced(false);
                assert_eq!(recorded(2), (v1_1, 0), "{machine:?} {grant}, no more");
            }
        }
    }

    /// Rights go from both words, at each instant of turning the tracer: whoever turns it off says so before it clears the word.
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

    /// On a Batoka whose nodes 0 and 2 the guest has strands on: registers 2-5 and 10-13. A unit that is out of service has
    /// none: a memory channel two registers, a hub its bit, the L2 control of a node, whose register 1 is no fast path, nothing.
    #[test]
    fn a_unit_out_of_service_is_not_on_the_fast_path() {
        let config = GuestConfig {
            strands: [0, 128].into_iter().filter_map(StrandId::new).collect(),
            grant: Grant::ALL,
            compatible: false,
        };
        let guest = Guest::new(config, Machine::new(Model::Batoka, 4).unwrap());
        assert_eq!(fast(&guest, 2, None), 0x7c_3c3d);
        let without = [
            0xc, 0x30, 0, 0, 0xc00, 0x3000, 0, 0, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0, 0,
            0, 0,
        ];
        for (unit, without) in Unit::all().zip(without) {
            assert_eq!(fast(&guest, 2, Some(unit)), 0x7c_3c3d - without, "{unit}");
        }
    }

    /// So that whoever has looked before does not add what has been taken since.
    #[test]
    fn what_is_taken_away_is_counted() {
        let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
        guest.version_changed(&Negotiated::new(V1_1), &UnitSet::default());
        let (before, counted) = (guest.access(), changes(&guest));
        guest.withdraw(AccessWord::NOTHING);
        let change = AccessWord::CHANGE.bits();
        assert_eq!(guest.access().bits(), before.bits() + change);
        guest.withdraw(AccessWord::of_unit(UNIT));
        assert_eq!(changes(&guest), counted + 2);
        let left = before.without(AccessWord::of_unit(UNIT)).bits();
        assert_eq!(guest.access().bits(), left + 2 * change);
        // PerfRegs 2 and 3.
        assert!(
            [2, 3]
                .iter()
                .all(|id| before.register(*id) && !guest.access().register(*id))
        );
    }

    /// The count of changes begins again at 0, and no other bit changes.
    #[test]
    fn the_count_of_changes_wraps() {
        let guest = guest(Grant::ALL, false, Machine::new(Model::Maramba, 1).unwrap());
        guest.version_changed(&Negotiated::new(V1_1), &UnitSet::default());
        let all = u64::from(u32::MAX) * AccessWord::CHANGE.bits();
        let others = guest.access().bits() & !all;
        for (change, left) in [
            (
                &(|| guest.withdraw(AccessWord::NOTHING)) as &dyn Fn(),
                others,
            ),
            (&|| guest.refresh(&UnitSet::default()), others),
        ] {
            guest.access.store(others | all, Ordering::SeqCst);
            change();
            assert_eq!(guest.access().bits(), left);
        }
    }

    /// A strand negotiates while a unit goes out of service and returns, again and again. A version that is negotiated is
    /// in force, and no right to the unit comes back before the unit does.
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
                guest.withdraw(AccessWord::of_unit(UNIT));
                for _ in 0..20 {
                    let access = guest.access();
                    let closed = access.without(AccessWord::of_unit(UNIT)) == access;
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
