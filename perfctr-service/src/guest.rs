//! What the service knows of a guest.

use guest_abi::{Hub, Kind, PerfReg, Version};
use hv_core::Place;
use hv_core::sync::{AtomicBool, AtomicU64, Ordering};
use platform::Machine;

use crate::access::Access;
use crate::policy::{GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::units::{OutOfService, Unit};

/// The versions of group 0x205, lowest first.
pub(crate) const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1];

/// 1.0 has the SPARC, L2 and DRAM registers.
const V1_0: Place = Place::new(1);
/// 1.1 has the hubs too.
const V1_1: Place = Place::new(2);

/// How often a change of a guest's rights that crosses another is tried again.
const TRIES: usize = 16;

/// A guest: what it has negotiated, and what it may do.
#[derive(Debug)]
pub(crate) struct Guest {
    /// What it has negotiated, and its rights in that version: one word, so that negotiation is one store. A right that
    /// is missing here costs time only, because calls without it are decided by the rules themselves.
    access: AtomicU64,
    /// Its rights by version: none, 1.0, 1.1.
    rights: [AtomicU64; 1 + VERSIONS.len()],
    /// It was reset while a hub was out of service, and sees none of them until its next reset.
    hubs_hidden: AtomicBool,
    config: GuestConfig,
    nodes: NodeSet,
}

impl Guest {
    pub(crate) fn new(config: GuestConfig) -> Self {
        Self {
            access: AtomicU64::new(Access::NOTHING.bits()),
            rights: [const { AtomicU64::new(0) }; 1 + VERSIONS.len()],
            hubs_hidden: AtomicBool::new(false),
            config,
            nodes: config.strands.nodes(),
        }
    }

    /// What it may do now: the common case of every call. Nothing if it has not negotiated.
    #[inline(always)]
    pub(crate) fn access(&self) -> Access {
        Access::from_bits(self.access.load(Ordering::Relaxed))
    }

    pub(crate) fn strands(&self) -> StrandSet {
        self.config.strands
    }

    pub(crate) fn covers(&self, register: PerfReg) -> bool {
        self.config.grant.covers(register, self.nodes)
    }

    pub(crate) fn may_set_ht(&self) -> bool {
        self.config.grant.strand == StrandRight::HtStrand
    }

    /// Whether a version has a register, for this guest.
    pub(crate) fn version_has(&self, version: Place, register: PerfReg) -> bool {
        match register.kind() {
            Kind::Hub { .. } => {
                !self.hubs_hidden.load(Ordering::SeqCst)
                    && (version == V1_1 || version == V1_0 && self.config.compatible)
            }
            _ => version != Place::NONE,
        }
    }

    /// The guest has negotiated this version.
    pub(crate) fn negotiate(&self, version: Place) {
        let negotiated = Access::of_place(version);
        for _ in 0..TRIES {
            let rights = self.rights_in(version);
            self.access
                .store(negotiated.or(rights).bits(), Ordering::SeqCst);
            // Rights are changed there first and here second: what was taken away in between is seen now.
            if self.rights_in(version) == rights {
                return;
            }
        }
        self.access.store(negotiated.bits(), Ordering::SeqCst);
    }

    /// Works out what it may do in each version, after something that this depends on has changed. At no moment does
    /// that include a unit that was out of service before.
    pub(crate) fn update(&self, machine: Machine, out: &OutOfService) {
        let lost = !out.access().bits();
        for (word, version) in self.rights.iter().zip([Place::NONE, V1_0, V1_1]) {
            word.store(
                self.work_out(version, machine).bits() & lost,
                Ordering::SeqCst,
            );
        }
        // After the store: what goes out of service at this moment is taken out by its own strand or here, and so are the
        // hubs if the guest is reset at this moment.
        self.withdraw(out.access());
        if self.hubs_hidden.load(Ordering::SeqCst) {
            Hub::ALL
                .iter()
                .for_each(|hub| self.withdraw(Access::of_unit(Unit::Hub(*hub))));
        }
        for _ in 0..TRIES {
            let old = self.access.load(Ordering::SeqCst);
            let version = Access::from_bits(old).place();
            let rights = self.rights_in(version);
            let new = Access::of_place(version).or(rights).bits();
            // What is taken away in between may not have been in the word: its exchange succeeds, and is not the last.
            if self
                .access
                .compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
                && self.rights_in(version) == rights
            {
                return;
            }
        }
        let only_the_version = Access::of_place(Place::new(u8::MAX)).bits();
        self.access.fetch_and(only_the_version, Ordering::SeqCst);
    }

    /// Takes these away: a unit is out of service.
    pub(crate) fn withdraw(&self, access: Access) {
        for word in self.rights.iter().chain([&self.access]) {
            word.fetch_and(!access.bits(), Ordering::SeqCst);
        }
    }

    /// The guest starts again. Hubs are all or nothing: an illumos kernel crashes on a GPD or ASU without LPU.
    pub(crate) fn reset(&self, machine: Machine, out: &OutOfService) {
        self.access.store(Access::NOTHING.bits(), Ordering::SeqCst);
        self.hubs_hidden.store(out.has_a_hub(), Ordering::SeqCst);
        self.update(machine, out);
    }

    fn rights_in(&self, version: Place) -> Access {
        let word = self.rights.get(usize::from(version.number()));
        Access::from_bits(word.map_or(0, |word| word.load(Ordering::SeqCst)))
    }

    fn work_out(&self, version: Place, machine: Machine) -> Access {
        let may_use = |register: &PerfReg| {
            machine.has_register(*register)
                && self.version_has(version, *register)
                && self.covers(*register)
        };
        let registers = PerfReg::all()
            .filter(may_use)
            .fold(Access::NOTHING, Access::with);
        if version != Place::NONE && self.may_set_ht() {
            registers.with_ht()
        } else {
            registers
        }
    }
}
