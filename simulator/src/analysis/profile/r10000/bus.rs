//! The processors on one bus. Each processor snoops the other processors' requests.

use super::caches::{Caches, Snoop, Traffic};

/// The maximum number of processors on a cluster bus (R10000 Microprocessor User's Manual, section 2.2).
pub const MAX_PROCESSORS: usize = 4;

/// All processors' caches. Each entry also has the events that other processors' requests have caused there.
#[derive(Clone, Debug)]
pub(crate) struct Bus(Vec<Snooping>);

#[derive(Clone, Debug)]
struct Snooping {
    caches: Caches,
    /// The events that other processors' requests have caused in these caches, and that the processor has not counted yet.
    caused: Traffic,
}

impl Bus {
    pub(super) fn new(processors: usize) -> Self {
        Self(vec![Snooping { caches: Caches::new(), caused: Traffic::default() }; processors])
    }

    /// Calls `uses` with the caches of processor `own`, and with a function that sends requests to the other processors.
    fn with<R>(&mut self, own: usize, uses: impl FnOnce(&mut Caches, &mut Snoop<'_>) -> R) -> R {
        let (before, rest) = self.0.split_at_mut(own);
        let (own, after) = rest.split_first_mut().expect("the bus has the processor");
        uses(&mut own.caches, &mut |request, block| {
            let mut any = false;
            for other in before.iter_mut().chain(&mut *after) {
                any |= other.caches.answer(request, block, &mut other.caused);
            }
            any
        })
    }

    pub(super) fn fetch(&mut self, own: usize, address: u64, size: u16) -> Traffic {
        let mut traffic = Traffic::default();
        self.with(own, |caches, snoop| caches.fetch(address, size, &mut traffic, snoop));
        traffic
    }

    /// Loads or stores, and adds the events to `traffic`.
    pub(super) fn access(
        &mut self,
        own: usize,
        address: u64,
        size: u16,
        store: bool,
        traffic: &mut Traffic,
    ) {
        self.with(own, |caches, snoop| caches.access(address, size, store, traffic, snoop));
    }

    /// Returns whether a processor's secondary cache has the block at an address.
    pub(super) fn has_block(&self, own: usize, address: u64) -> bool {
        self.0[own].caches.has_block(address)
    }

    /// Takes the events that other processors' requests have caused in a processor's caches.
    pub(super) fn take_caused(&mut self, own: usize) -> Traffic {
        std::mem::take(&mut self.0[own].caused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loads (`L`) or stores (`S`) 8 bytes, or fetches (`I`) 4 bytes. Returns the processor's own events.
    fn used(bus: &mut Bus, own: usize, kind: char, address: u64) -> Traffic {
        let mut traffic = Traffic::default();
        match kind {
            'I' => traffic = bus.fetch(own, address, 4),
            _ => bus.access(own, address, 8, kind == 'S', &mut traffic),
        }
        traffic
    }

    /// A processor that reads a block asks the other processors for it. The first reader gets the block exclusively. After the
    /// second read, both processors share the block.
    #[test]
    fn blocks_are_exclusive_until_another_processor_reads_them() {
        let mut bus = Bus::new(3);
        used(&mut bus, 0, 'L', 0x1000);
        for other in [1, 2] {
            let caused = Traffic { interventions: 1, ..Traffic::default() };
            assert_eq!(bus.take_caused(other), caused, "no other processor had the block");
        }
        used(&mut bus, 1, 'L', 0x1040);
        let hit = Traffic { interventions: 1, intervention_hits: 1, ..Traffic::default() };
        assert_eq!(bus.take_caused(0), hit, "both addresses are in one block of 128 bytes");
        let missed = Traffic { interventions: 1, ..Traffic::default() };
        assert_eq!(bus.take_caused(2), missed);
        // Both processors share the block. The first store invalidates the other copy.
        let store = used(&mut bus, 0, 'S', 0x1000);
        assert_eq!((store.stores_to_shared, store.stores_to_clean), (1, 0));
        let hit = Traffic { invalidations: 1, invalidation_hits: 1, ..Traffic::default() };
        assert_eq!(bus.take_caused(1), hit);
        let missed = Traffic { invalidations: 1, ..Traffic::default() };
        assert_eq!(bus.take_caused(2), missed);
        assert!(bus.has_block(0, 0x1000) && !bus.has_block(1, 0x1000));
        assert_eq!(used(&mut bus, 0, 'S', 0x1020).stores_to_shared, 0);
        assert_eq!(bus.take_caused(0), Traffic::default(), "no processor answers itself");
    }

    /// A dirty block's data go to the processor that asks for the block: 2 quadwords from the primary cache's line, and 8 quadwords from
    /// the secondary cache's block.
    #[test]
    fn dirty_data_leave_the_caches() {
        for (kind, keeps) in [('L', true), ('I', true), ('S', false)] {
            let mut bus = Bus::new(2);
            used(&mut bus, 0, 'S', 0x1000);
            bus.take_caused(0);
            let own = used(&mut bus, 1, kind, 0x1000);
            assert_eq!(own.secondary_data_misses + own.secondary_instruction_misses, 1, "{kind}");
            let caused = Traffic {
                interventions: 1,
                intervention_hits: 1,
                data_quadwords: 2,
                secondary_quadwords: 8,
                ..Traffic::default()
            };
            assert_eq!(bus.take_caused(0), caused, "{kind}");
            assert_eq!(bus.has_block(0, 0x1000), keeps, "{kind}");
            let again = used(&mut bus, 0, 'S', 0x1000);
            assert_eq!(again.stores_to_shared, u64::from(keeps), "{kind}");
            assert_eq!(again.secondary_data_misses, u64::from(!keeps), "{kind}");
        }
    }
}
