//! A strand's words, which the fast path in SPARC V9 assembly reads.

use core::ptr;

use guest_abi::{Hub, HvError, Registers};
use platform::sparc64::{FAST_WORDS, FastPath};
use platform::{Bus, PhysicalAddress};

use crate::sparc64::layout::{SETS, WATCH_SHIFT, word};
use crate::{Environment, PerfCounterContext};

/// The words for a strand without a fast path: nothing is served, and nothing is refused.
static NOTHING: [u64; 2] = [0; 2];

impl<E: Environment> FastPath for PerfCounterContext<'_, E> {
    /// If the bus is not direct, devices and strand registers may be models, so the fast path serves no call.
    fn words(&self) -> [u64; FAST_WORDS] {
        let mut words = [0; FAST_WORDS];
        words[word::ACCESS] = match E::Bus::is_direct() {
            true => address(self.strand.guest.words()),
            false => address(&NOTHING),
        };
        words[word::COUNTS_OF_GETS] = address(self.strand.counts).wrapping_sub(SETS as u64);
        words[word::VERSION] = address(self.version);
        words[word::ROWS] = address(self.strand.rows);
        words[word::PCR_MASK] = self.strand.rows[0].mask;
        words[word::COUNTS] = address(self.strand.counts);
        words[word::TOKEN] = self.strand.token.taken();
        words[word::RESERVED] = self.strand.token.reserved();
        words[word::WATCHES] = address(self.strand.watches.hub(Hub::Zam0))
            .wrapping_sub(address(self.strand.hubs[0]) >> WATCH_SHIFT);
        words[word::L2] = address(self.strand.service.l2(self.strand.node));
        words[word::OWNER] = self.strand.caller.strand.index() as u64 + 1;
        for (word, hub) in words[word::GATES..].iter_mut().zip(self.strand.hubs) {
            *word = address(hub);
        }
        words
    }

    fn faulted(&self, registers: &Registers) {
        self.undo_fast_path(registers.o0);
    }

    fn refused_late(&self, address: PhysicalAddress, function: u64, id: u64) -> Option<HvError> {
        self.refused_late(address, function, id)
    }
}

fn address<T>(value: &T) -> u64 {
    ptr::from_ref(value).expose_provenance() as u64
}
