//! The late fault reports in a strand's block.

use core::cell::Cell;

/// The maximum number of reports that are kept for the image. The store buffer has eight entries.
pub const REPORTS: usize = 8;

/// The maximum number of nested store_error handlers. The processor has six trap levels.
pub(super) const FRAMES: usize = 6;

/// Stands for the address of a store whose address is unknown.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// A report of a failed store.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Report {
    /// The physical address of the store, or [`UNKNOWN`].
    pub(super) address: Cell<u64>,
    /// The address of the interrupted instruction; 0 if the guest was interrupted.
    pub(super) tpc: Cell<u64>,
    /// %o0 and %o1 at the interrupted instruction.
    pub(super) o0: Cell<u64>,
    pub(super) o1: Cell<u64>,
}

/// The reports that the image has not received.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Reports {
    pub(super) number: Cell<u64>,
    pub(super) entries: [Report; REPORTS],
    /// %g1 to %g4 of the code that each handler interrupts.
    pub(super) frames: Cell<[[u64; 4]; FRAMES]>,
}
