//! The callbacks that record a function alone.

use std::ffi::{c_uint, c_void};
use std::sync::OnceLock;

use super::interface::{Simple0, qemu_plugin_reset};
use super::{access_examined, executing, register};
use crate::lock_call::BlockFacts;

/// QEMU's id for this plug-in.
pub(super) static ID: OnceLock<u64> = OnceLock::new();

/// QEMU calls this function when the first block of the function begins to execute.
pub(super) extern "C" fn enter(vcpu: c_uint, block: *mut c_void) {
    begin(vcpu, block, true);
}

/// QEMU calls this function when a block other than the function's first block begins to execute.
pub(super) extern "C" fn execute(vcpu: c_uint, block: *mut c_void) {
    begin(vcpu, block, false);
}

/// Handles the start of a block. `block` is not a pointer: its bits are the block's [`BlockFacts`].
fn begin(vcpu: c_uint, block: *mut c_void, enters: bool) {
    // SAFETY: QEMU calls this function on the thread's host thread.
    let Some((mut thread, process)) = (unsafe { executing(vcpu) }) else {
        return;
    };
    if thread.block_if_recorded(process, BlockFacts(block.addr() as u64), enters)
        && let Some(id) = ID.get()
    {
        // SAFETY: the number is this plug-in's. QEMU stops all threads before it translates blocks again.
        unsafe { qemu_plugin_reset(*id, retranslate as Simple0) };
    }
}

/// Records an instruction's data access if the instruction's block is being recorded.
pub(super) extern "C" fn access(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    if is_recorded(vcpu) {
        access_examined(vcpu, info, address, instruction);
    }
}

/// Records an atomic instruction's data access if the instruction's block is being recorded.
pub(super) extern "C" fn atomic(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    if is_recorded(vcpu) {
        super::atomic(vcpu, info, address, instruction);
    }
}

fn is_recorded(vcpu: c_uint) -> bool {
    // SAFETY: QEMU calls the callers of this function on the thread's host thread.
    unsafe { executing(vcpu) }.is_some_and(|(thread, _)| thread.tracker.is_recorded)
}

/// QEMU calls this function while no thread executes, after it has forgotten all blocks and callbacks.
extern "C" fn retranslate(id: u64) {
    if let Some(only) = super::PROCESS.get().and_then(|process| process.only.as_ref()) {
        only.update_instrumenting();
    }
    register(id);
}
