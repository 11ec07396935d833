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

/// Nothing was done: the general path serves the call ([`Call::Refused`](super::Call)). Verdicts below this one are
/// statuses, and end the call.
pub const REFUSED: u64 = 64;

/// What the fault handler returns in the function's place ([`Call::Faulted`](super::Call)).
pub const FAULTED: u64 = 65;

/// A leaf function: the guest's %o0 to %o3, and what [`StrandBlock::prepare`](super::StrandBlock::prepare) was given. Where
/// the verdict is not [`DONE`], the veneer gives back %o1 as it was.
///
/// - `get`: VFALLS_GET_PERFREG of a register from 1 to 17. [`DONE`]: [`Return::value`] is the value.
/// - `set`: VFALLS_SET_PERFREG of such a register. Returns `value` as it was given.
/// - `get_hub`: VFALLS_GET_PERFREG of a register number from 18 on, however large.
/// - `get_pcr`: whether the strand may read register 0. [`DONE`]: the veneer reads %pcr. Returns `value` as it was given.
/// - `set_pcr`: whether the strand may write `value` to register 0. [`DONE`]: the veneer writes [`Return::value`] to
///   %pcr.
pub type Function<T> =
    unsafe extern "C" fn(id: u64, value: u64, o2: u64, o3: u64, seat: &T) -> Return;

/// The leaf function `set_hub`: VFALLS_SET_PERFREG of a register number from 18 on, however large. Returns `value` as it was
/// given. It has work for more registers than others, so that the veneer keeps %o2 and %o3 for it.
pub type HubFunction<T> =
    unsafe extern "C" fn(id: u64, value: u64, o2: u64, o3: u64, seat: &T) -> Answer;

/// What a leaf function returns, in %o0 to %o3.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Return {
    /// [`DONE`], another status, or [`REFUSED`].
    pub verdict: u64,
    /// A value.
    pub value: u64,
    /// %o2 as it was given.
    pub o2: u64,
    /// %o3 as it was given.
    pub o3: u64,
}

/// What `set_hub` returns, in %o0 and %o1.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Answer {
    /// [`DONE`], another status, or [`REFUSED`].
    pub verdict: u64,
    /// A value.
    pub value: u64,
}
