//! What the service knows of a guest.

use guest_abi::{Kind, PerfReg, Version};
use hv_core::Negotiated;
use hv_core::sync::{AtomicBool, AtomicU64, Ordering};
use platform::Machine;

use crate::access::Access;
use crate::policy::{GuestConfig, NodeSet, StrandRight, StrandSet};
use crate::units::{OutOfService, Unit};

/// The versions of group 0x205, lowest first.
pub(crate) const VERSIONS: &[Version] = &[Version::V1_0, Version::V1_1];

/// A guest: what it has negotiated, and per version what it may do.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) negotiated: Negotiated,
    /// By the place of the version: not negotiated, 1.0, 1.1. The fourth makes the index a mask, and stays empty.
    access: [AtomicU64; 4],
    /// It was reset while a hub was out of service, and sees none of them until its next reset.
    hubs_hidden: AtomicBool,
    config: GuestConfig,
    nodes: NodeSet,
}

impl Guest {
    pub(crate) fn new(config: GuestConfig) -> Self {
        Self {
            negotiated: Negotiated::new(),
            access: [const { AtomicU64::new(0) }; 4],
            hubs_hidden: AtomicBool::new(false),
            config,
            nodes: config.strands.nodes(),
        }
    }

    /// What it may do now: the common case of every call. Nothing if it has not negotiated.
    #[inline(always)]
    pub(crate) fn access(&self) -> Access {
        Access::from_bits(self.access[self.negotiated.place() & 3].load(Ordering::Relaxed))
    }

    pub(crate) fn strands(&self) -> StrandSet {
        self.config.strands
    }

    pub(crate) fn covers(&self, register: PerfReg) -> bool {
        self.config.grant.covers(register, self.nodes)
    }

    /// Whether a version has a register, for this guest.
    pub(crate) fn version_has(&self, place: usize, register: PerfReg) -> bool {
        match register.kind() {
            Kind::Hub { .. } => {
                !self.hubs_hidden.load(Ordering::SeqCst)
                    && (place == 2 || place == 1 && self.config.compatible)
            }
            _ => place != 0,
        }
    }

    /// Works out what it may do in each version.
    pub(crate) fn update(&self, machine: Machine, out: &OutOfService) {
        for (place, word) in self.access.iter().enumerate().take(1 + VERSIONS.len()) {
            let mut access = Access::NOTHING;
            for register in PerfReg::all() {
                if machine.has_register(register)
                    && self.version_has(place, register)
                    && self.covers(register)
                {
                    access = access.with(register);
                }
            }
            if place != 0 && self.config.grant.strand == StrandRight::HtStrand {
                access = access.with_ht();
            }
            word.store(access.bits(), Ordering::SeqCst);
        }
        // After the store: a unit that goes out of service at this moment is taken out by its own strand or here.
        for unit in Unit::all().filter(|unit| out.has(*unit)) {
            self.withdraw(unit);
        }
    }

    /// A unit is out of service.
    pub(crate) fn withdraw(&self, unit: Unit) {
        for word in &self.access {
            word.fetch_and(!Access::of_unit(unit).bits(), Ordering::SeqCst);
        }
    }

    /// The guest starts again. Hubs are all or nothing: an illumos kernel crashes on a GPD or ASU without LPU.
    pub(crate) fn reset(&self, machine: Machine, out: &OutOfService) {
        self.negotiated.reset();
        self.hubs_hidden.store(out.has_a_hub(), Ordering::SeqCst);
        self.update(machine, out);
    }
}
