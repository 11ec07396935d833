//! The rights of one guest, and its fast path.

mod derived;
#[cfg(test)]
mod tests;

use guest_abi::{Node, PerfReg, RegisterKind};
use hv_core::sync::{
    AtomicBool, AtomicU8, AtomicU64, BEFORE_DEVICE, EXCHANGE_THEN_LOAD, Ordering,
    const_unless_loom, fence_after_exchange, plain,
};
use hv_core::{Group, Negotiated};
use platform::Machine;

use crate::rights::access::AccessWord;
use crate::rights::policy::{Grant, GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::rights::protocol::Holding;
use crate::rights::refusals::RefusalWord;
use crate::rights::versions::{Vfalls, VfallsVersion, has_hubs};
use crate::units::{Unit, UnitSet};

/// The maximum number of tries to change a guest's word while other strands change it.
const TRIES: usize = 64;

/// The maximum number of tries to open the fast path after a negotiation. Models try only once, so that model checkers see the failure.
const NEGOTIATION_TRIES: usize = if cfg!(any(loom, shuttle)) { 1 } else { TRIES };

/// The rights that one guest is granted and holds.
///
/// # Why no strand restores a right that another strand revokes
/// A call reads its rights from one word. The word is derived from other state: which units are out of service, and whether calls are
/// traced. To revoke rights, a strand changes this state, then [counts the change](AccessWord::CHANGE) in the word, and then clears the
/// bits. To add rights, a strand loads the word, and then this state. The exchange of the word succeeds only if no revocation has counted a
/// change since the load.
///
/// # Why no call is refused a right that another strand adds
/// The [refusals](RefusalWord) are derived in the same way, from the word of rights and from the units that are out of service. Before a
/// strand adds a right or returns a unit to service, the strand [holds](Self::hold) the refusals. The hold closes the refusals, and no
/// strand opens them until the change is complete. A refusal applies to the version that is stored beside it, and is valid only while the
/// guest has negotiated this version.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct GuestRights {
    // This field comes first, so that the address of the words takes no addition.
    words: FastWords,
    /// The fast path while calls are traced. `access` then has no fast path, so untraced calls need no test for the tracer.
    traced_access: AtomicU64,
    /// `true` while calls are traced.
    traced: AtomicBool,
    /// `true` from a reset of the guest until the guest has its rights back.
    starting: AtomicBool,
    /// The operator's grant. The guest holds less while a change is pending.
    granted: AtomicU8,
    /// The [words](StrandSet::words) of the guest's strands. This field and the fields below are the configuration, which is written
    /// once, before the guest's first call.
    strands: [plain::AtomicU64; Node::ALL.len()],
    nodes: plain::AtomicU8,
    compatible: plain::AtomicBool,
    /// The [`AccessWord`]s of the fast path while all units are in service, without register 0. The index is twice the version's
    /// number, plus 1 with `global`.
    opened: [plain::AtomicU64; 2 * KNOWN_VERSIONS],
    /// The [`RefusalWord`]s, with the same index as in `opened`.
    refused: [plain::AtomicU64; 2 * KNOWN_VERSIONS],
}

/// The number of versions for which tables have room, "not negotiated" included. A power of two, so that an index needs no check.
const KNOWN_VERSIONS: usize = 4;
const _: () = assert!(Vfalls::VERSIONS.len() < KNOWN_VERSIONS);

/// Words with a version and the fast path of register 0. The index is 8 times the version's number plus [`AccessWord::rights`].
static STRAND_FAST_PATHS: [AccessWord; 8 * KNOWN_VERSIONS] = {
    let mut all = [AccessWord::NOTHING; 8 * KNOWN_VERSIONS];
    let mut index = 8;
    while index < all.len() {
        let word = match Grant::from_bits((index % 8) as u8).strand {
            StrandRight::HtStrand => AccessWord::PCR.or(AccessWord::HT),
            StrandRight::Strand => AccessWord::PCR,
            StrandRight::None => AccessWord::NOTHING,
        };
        all[index] = word.with_version(VfallsVersion::new((index / 8) as u8));
        index += 1;
    }
    all
};

/// Words with a version and the refusals for register 0. The index is as in [`STRAND_FAST_PATHS`].
static STRAND_REFUSALS: [RefusalWord; 8 * KNOWN_VERSIONS] = {
    let mut all = [RefusalWord::CLOSED; 8 * KNOWN_VERSIONS];
    let mut index = 0;
    while index < all.len() {
        let word = match Grant::from_bits((index % 8) as u8).strand {
            _ if index < 8 => RefusalWord::CLOSED,
            StrandRight::HtStrand => RefusalWord::CLOSED,
            StrandRight::Strand => RefusalWord::HT,
            StrandRight::None => RefusalWord::PCR.or(RefusalWord::HT),
        };
        let version = VfallsVersion::new((index / 8) as u8);
        all[index] = RefusalWord::for_version(version).or(word);
        index += 1;
    }
    all
};

/// The two words that determine what the fast path does.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FastWords {
    /// The rights that the guest holds, and the [fast path](AccessWord::FAST) that they open in the negotiated version.
    access: AtomicU64,
    /// The calls that the fast path itself refuses: none while calls are traced.
    pub(crate) refusals: AtomicU64,
}

impl GuestRights {
    const_unless_loom! {
        /// Returns a guest without strands and without rights.
        pub(super) fn new() -> Self {
            Self {
                words: FastWords {
                    access: AtomicU64::new(AccessWord::NOTHING.bits()),
                    refusals: AtomicU64::new(RefusalWord::CLOSED.bits()),
                },
                traced_access: AtomicU64::new(AccessWord::NOTHING.bits()),
                traced: AtomicBool::new(false),
                starting: AtomicBool::new(false),
                granted: AtomicU8::new(Grant::NONE.bits()),
                strands: [const { plain::AtomicU64::new(0) }; Node::ALL.len()],
                nodes: plain::AtomicU8::new(0),
                compatible: plain::AtomicBool::new(false),
                opened: [const { plain::AtomicU64::new(0) }; 2 * KNOWN_VERSIONS],
                refused: [const { plain::AtomicU64::new(0) }; 2 * KNOWN_VERSIONS],
            }
        }
    }

    /// Gives a new guest its strands and its grant. The guest must make no call meanwhile.
    pub(super) fn configure(&self, config: GuestConfig, machine: Machine) {
        let GuestConfig { strands, grant, compatible } = config;
        for (word, strands) in self.strands.iter().zip(strands.words()) {
            word.store(strands, Ordering::Relaxed);
        }
        self.nodes.store(strands.nodes().bits(), Ordering::Relaxed);
        self.compatible.store(compatible, Ordering::Relaxed);
        for (index, word) in self.opened.iter().enumerate() {
            word.store(derived::opened(config, machine, index).bits(), Ordering::Relaxed);
        }
        for (index, word) in self.refused.iter().enumerate() {
            word.store(derived::refused(config, machine, index).bits(), Ordering::Relaxed);
        }
        self.set_granted(grant);
        self.words.access.store(AccessWord::from_grant(grant).bits(), Ordering::SeqCst);
    }

    /// Returns the rights that the guest holds, and the fast path that they open in the negotiated version. Without a version there is no
    /// fast path. A right is added to this word only after the accesses of the right's previous holder, and after the scrub. Both therefore
    /// happen before the access of a caller that finds the right here.
    #[inline(always)]
    pub(crate) fn access(&self) -> AccessWord {
        AccessWord::from_bits(self.words.access.load(BEFORE_DEVICE))
    }

    /// Returns the calls that the fast path itself refuses. The caller must load the negotiated version first.
    #[inline(always)]
    pub(crate) fn refusals(&self) -> RefusalWord {
        RefusalWord::from_bits(self.words.refusals.load(Ordering::Acquire))
    }

    #[cfg(target_arch = "sparc64")]
    pub(crate) fn words(&self) -> &FastWords {
        &self.words
    }

    #[inline(always)]
    pub(crate) fn traced_access(&self) -> AccessWord {
        AccessWord::from_bits(self.traced_access.load(BEFORE_DEVICE))
    }

    pub(crate) fn strands(&self) -> StrandSet {
        StrandSet::from_words(self.strands.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    pub(crate) fn nodes(&self) -> NodeSet {
        NodeSet::from_bits(self.nodes.load(Ordering::Relaxed))
    }

    pub(crate) fn granted(&self) -> Grant {
        Grant::from_bits(self.granted.load(Ordering::SeqCst))
    }

    pub(super) fn set_granted(&self, grant: Grant) {
        self.granted.store(grant.bits(), Ordering::SeqCst);
    }

    pub(crate) fn version_has(&self, version: VfallsVersion, register: PerfReg) -> bool {
        match register.kind() {
            RegisterKind::Hub { .. } => has_hubs(version, self.compatible.load(Ordering::Relaxed)),
            _ => !version.is_none(),
        }
    }

    /// Opens the fast path for the calls that the guest's rights and its negotiated version allow.
    ///
    /// Several strands can execute this function concurrently. Each strand stores its version before it loads the word, and reads the
    /// version after that load, so the last exchange writes the version that was stored last. A strand with an older version loaded the
    /// word before that exchange, so its own exchange fails.
    pub(crate) fn version_changed(&self, version: &Negotiated<Vfalls>, out: &UnitSet) {
        let opened = self.derive(NEGOTIATION_TRIES, out, |word| word.with_version(version.get()));
        if !opened {
            // The guest keeps its version: the slow path does not read the version from this word.
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// Does the same as [`version_changed`](Self::version_changed), but in few instructions and without a stack. If another change
    /// interferes, if calls are traced, or if a unit is out of service, this function closes the fast path instead.
    #[inline(always)]
    pub(crate) fn change_version(&self, version: &Negotiated<Vfalls>, out: &UnitSet) {
        let order = EXCHANGE_THEN_LOAD;
        fence_after_exchange();
        // The new refusals are derived from the word of rights, so this function loads the old refusals before that word.
        let refusals = RefusalWord::from_bits(self.words.refusals.load(order));
        fence_after_exchange();
        let old = AccessWord::from_bits(self.words.access.load(order));
        fence_after_exchange();
        let is_simple = out.is_empty(order) && !self.traced.load(order);
        if !(is_simple && self.open(version, old, refusals)) {
            self.withdraw(AccessWord::FAST.or(AccessWord::VERSION));
        }
    }

    /// Replaces the words `old` and `refusals` with the words of the negotiated version. Returns `false` if the first word is no
    /// longer `old`.
    #[inline(always)]
    fn open(&self, version: &Negotiated<Vfalls>, old: AccessWord, refusals: RefusalWord) -> bool {
        let order = EXCHANGE_THEN_LOAD;
        let new = old.reopened(self.opened(version.get(), old.rights()));
        let access = &self.words.access;
        if access.compare_exchange(old.bits(), new.bits(), order, order).is_err() {
            return false;
        }
        fence_after_exchange();
        // Takes the version and the rights from the new word, because no registers are free to keep them.
        let refused = self.refused(new.version(), new.rights());
        let _ = self.exchange_refusals(refusals, refused, order);
        true
    }

    /// Opens the fast path for everything that the guest may do. If this fails, calls take the slow path.
    pub(super) fn refresh(&self, out: &UnitSet) {
        self.derive(TRIES, out, |word| word);
    }

    /// Changes the word, and derives the fast path from it. If other strands change the word in every try, changes nothing and returns
    /// `false`.
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
        self.update_refusals(tries, out);
        changed
            && (!self.traced.load(Ordering::SeqCst)
                || (0..tries).any(|_| {
                    let old = AccessWord::from_bits(self.traced_access.load(Ordering::SeqCst));
                    let new = self.with_fast(old, self.load(), true, out);
                    exchange(&self.traced_access, old, new)
                }))
    }

    /// Derives the refusals, unless they are held. If other strands disturb every try, changes nothing: one of them has then stored the
    /// correct word, or has closed the refusals.
    pub(super) fn update_refusals(&self, tries: usize, out: &UnitSet) {
        let refusals = &self.words.refusals;
        let _ = (0..tries).any(|_| {
            let old = RefusalWord::from_bits(refusals.load(Ordering::SeqCst));
            let allowed = self.load();
            let new = self.refused(allowed.version(), allowed.rights());
            let new = match (self.traced.load(Ordering::SeqCst), out.bits()) {
                (true, _) => RefusalWord::CLOSED,
                (false, bits) if bits != 0 && !allowed.version().is_none() => {
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
        let (old, held, new) = (old.bits(), old.is_held(), old.replaced_by(new).bits());
        held || self.words.refusals.compare_exchange(old, new, order, order).is_ok()
    }

    /// Returns a word with the version, and with the fast path that these rights open in it while all units are in service.
    #[inline(always)]
    fn opened(&self, version: VfallsVersion, rights: usize) -> AccessWord {
        let version = usize::from(version.number()) % KNOWN_VERSIONS;
        let of_strand = STRAND_FAST_PATHS[8 * version + rights % 8];
        let opened = self.opened[2 * version + rights % 2].load(Ordering::Relaxed);
        AccessWord::from_bits(opened).or(of_strand)
    }

    /// Returns the refusals for a guest with these rights in a version, while all units are in service.
    #[inline(always)]
    fn refused(&self, version: VfallsVersion, rights: usize) -> RefusalWord {
        let version = usize::from(version.number()) % KNOWN_VERSIONS;
        let of_strand = STRAND_REFUSALS[8 * version + rights % 8];
        let refused = self.refused[2 * version + rights % 2].load(Ordering::Relaxed);
        RefusalWord::from_bits(refused).or(of_strand)
    }

    /// Adds the refusals of the units in `bits` to `word`. Not inlined, because usually no unit is out of service.
    #[cold]
    #[inline(never)]
    fn without_units(&self, word: RefusalWord, bits: u32) -> RefusalWord {
        let word = UnitSet::units(bits).fold(word, RefusalWord::without_unit);
        let own = self.nodes();
        let mut nodes = Node::ALL.iter().filter(|node| own.contains(**node));
        match nodes.all(|node| bits >> Unit::L2(*node).number() & 1 != 0) {
            true => word.or(RefusalWord::L2),
            false => word,
        }
    }

    /// Closes the refusals until [`release`](Self::release), so that the fast path refuses no call. Only the owner of the change lock calls
    /// this function. If the owner dies, the refusals stay closed until the next change.
    pub(super) fn hold(&self) {
        self.words.refusals.fetch_or(RefusalWord::HELD.bits(), Ordering::SeqCst);
        self.close_refusals();
    }

    /// Ends [`hold`](Self::hold), so that the refusals can be opened again. The caller must call [`refresh`](Self::refresh) next.
    pub(super) fn release(&self) {
        self.words.refusals.fetch_and(!RefusalWord::HELD.bits(), Ordering::SeqCst);
    }

    fn close_refusals(&self) {
        self.words.refusals.fetch_add(RefusalWord::CHANGE.bits(), Ordering::SeqCst);
        self.words.refusals.fetch_and(RefusalWord::PRESERVED.bits(), Ordering::SeqCst);
    }

    /// Turns the tracing of the guest's calls on or off. The caller must call [`refresh`](Self::refresh) next.
    pub(super) fn set_traced(&self, traced: bool) {
        let closed = if traced { &self.words.access } else { &self.traced_access };
        // Clear the word before the setting changes, because a guest may release its version meanwhile. Clear it again afterwards, because a
        // strand may have loaded the old setting.
        let clear = || {
            clear(closed, AccessWord::FAST);
            self.close_refusals();
        };
        if !traced {
            self.traced_access.fetch_or(AccessWord::HELD.bits(), Ordering::SeqCst);
        }
        clear();
        self.traced.store(traced, Ordering::SeqCst);
        clear();
        self.traced_access.fetch_and(!AccessWord::HELD.bits(), Ordering::SeqCst);
    }

    /// Clears `bits`. The caller must first change the state from which the bits are derived.
    pub(super) fn withdraw(&self, bits: AccessWord) {
        clear(&self.words.access, bits);
        // Clear this word even if calls are not traced. It may still hold the bits, because a strand that turns the tracer off stores the
        // setting before it clears this word.
        clear(&self.traced_access, bits.without(AccessWord::HELD));
    }

    /// Removes all rights that `grant` does not contain.
    pub(super) fn restrict_to(&self, grant: Grant) {
        let lost = AccessWord::from_grant(Grant::ALL).without(AccessWord::from_grant(grant));
        self.withdraw(lost.or(AccessWord::FAST));
    }

    /// Adds the rights of `grant` if `may` returns `true`. Returns `true` if the rights are added. A strand that revokes rights must
    /// first change the state that `may` tests.
    pub(super) fn add_rights(&self, grant: Grant, may: impl Fn() -> bool) -> bool {
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

    /// Marks a reset guest as starting, and removes its rights until everything that the guest could program is scrubbed.
    pub(super) fn start(&self) {
        self.starting.store(true, Ordering::SeqCst);
        self.restrict_to(Grant::NONE);
    }

    /// Removes the mark of `start`: the guest has all its rights again, or gets them in the next step.
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

    /// Returns `word` with the fast path that `allowed` opens now. Opens no fast path if `recorded` differs from the tracer's setting, or
    /// if the word for recorded calls is held. This function is inlined on SPARC V9, so that a negotiation needs few register windows, but
    /// not elsewhere, so that calls save fewer registers.
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
        let is_held = recorded && word.bits() & AccessWord::HELD.bits() != 0;
        if is_held || self.traced.load(Ordering::SeqCst) != recorded {
            return closed;
        }
        let opened = self.opened(allowed.version(), allowed.rights());
        let out = match out.bits() {
            0 => AccessWord::NOTHING,
            bits => units_access(bits),
        };
        closed.or(opened.without(AccessWord::VERSION.or(out)))
    }
}

/// Replaces a word with `new` if the word is still `old`, and counts the change. Returns `true` on success.
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

/// Returns the access bits of the units in the set `bits`. Not inlined, because usually no unit is out of service.
#[cold]
#[inline(never)]
fn units_access(bits: u32) -> AccessWord {
    AccessWord::from_units(UnitSet::units(bits))
}
