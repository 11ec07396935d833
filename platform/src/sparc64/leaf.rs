//! Functions that serve a trap without a stack.
//!
//! The veneer has neither saved the guest's registers nor given the function a register window. So the function must
//! compile to code without `save`: everything in it is inlined, it calls nothing, has no inline assembly, no bounds check
//! and no panic, and needs few registers. That cannot be said in Rust; it is checked on the linked image. So is that the
//! function leaves %o2 and %o3 alone, which the guest gets back: it is given them, and returns them in [`Return`].
//!
//! Leaf functions are in the section `.text.leaf`, so that the fault handler knows their addresses.
#![allow(unsafe_code)]

/// All is done.
pub const DONE: u64 = 0;

/// Nothing was done: the general path serves the call ([`Call::Refused`](super::Call)).
pub const REFUSED: u64 = 2;

/// What the fault handler returns in the function's place ([`Call::Faulted`](super::Call)).
pub const FAULTED: u64 = 3;

/// The leaf function `get`, `set`, `get_pcr` or `set_pcr`: the guest's %o0 to %o3, and what
/// [`StrandBlock::prepare`](super::StrandBlock::prepare) was given.
///
/// - `get`: VFALLS_GET_PERFREG of a register from 1 to 17. [`DONE`]: [`Return::value`] is the value.
/// - `set`: VFALLS_SET_PERFREG of such a register. Returns `value` as it was given.
/// - `get_pcr`: whether the strand may read register 0. [`DONE`]: the veneer reads %pcr. Returns `value` as it was given.
/// - `set_pcr`: whether the strand may write `value` to register 0. [`DONE`]: the veneer writes [`Return::value`] to
///   %pcr; else that is `value`.
pub type Function<T> =
    unsafe extern "C" fn(id: u64, value: u64, o2: u64, o3: u64, seat: &T) -> Return;

/// The leaf function `get_hub` or `set_hub`, for a register number from 18 on, however large. The veneer keeps %o1 to %o3
/// itself.
pub type HubFunction<T> =
    unsafe extern "C" fn(id: u64, value: u64, o2: u64, o3: u64, seat: &T) -> Answer;

/// What a leaf function returns, in %o0 to %o3.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Return {
    /// [`DONE`] or [`REFUSED`].
    pub verdict: u64,
    /// A value.
    pub value: u64,
    /// %o2 as it was given.
    pub o2: u64,
    /// %o3 as it was given.
    pub o3: u64,
}

/// What a leaf function for hubs returns, in %o0 and %o1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Answer {
    /// [`DONE`] or [`REFUSED`].
    pub verdict: u64,
    /// The value, for `get_hub`.
    pub value: u64,
}
