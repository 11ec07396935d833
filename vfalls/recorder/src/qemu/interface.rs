//! Declares the QEMU and C library functions and types that the recorder uses.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// A block of instructions, which QEMU is translating.
pub(super) type Block = c_void;
pub(super) type Instruction = c_void;

pub(super) type Simple = extern "C" fn(id: u64, vcpu: c_uint);
pub(super) type Simple0 = extern "C" fn(id: u64);

/// QEMU_PLUGIN_CB_NO_REGS: callbacks do not use the program's registers.
pub(super) const NO_REGISTERS: c_int = 0;
/// QEMU_PLUGIN_MEM_RW: callbacks for loads and stores. (QEMU 7.2 confuses loads with stores if callbacks for only one kind are requested.)
pub(super) const ACCESSES: c_int = 3;

/// The first field of QEMU's `qemu_info_t`.
#[repr(C)]
pub struct Info {
    pub(super) target: *const c_char,
}

unsafe extern "C" {
    /// While no thread executes, forgets all translated blocks and all callbacks of the plug-in, and then calls `call`. Does nothing while
    /// an earlier call is still pending.
    pub(super) fn qemu_plugin_reset(id: u64, call: Simple0);
    pub(super) fn qemu_plugin_register_vcpu_init_cb(id: u64, call: Simple);
    pub(super) fn qemu_plugin_register_vcpu_exit_cb(id: u64, call: Simple);
    pub(super) fn qemu_plugin_register_vcpu_tb_trans_cb(
        id: u64,
        call: extern "C" fn(u64, *mut Block),
    );
    pub(super) fn qemu_plugin_register_vcpu_syscall_cb(id: u64, call: Entry);
    pub(super) fn qemu_plugin_register_vcpu_syscall_ret_cb(
        id: u64,
        call: extern "C" fn(u64, c_uint, i64, i64),
    );
    pub(super) fn qemu_plugin_register_atexit_cb(
        id: u64,
        call: extern "C" fn(u64, *mut c_void),
        data: *mut c_void,
    );
    pub(super) fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub(super) fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    pub(super) fn qemu_plugin_tb_get_insn(block: *const Block, number: usize) -> *mut Instruction;
    pub(super) fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const u8;
    pub(super) fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub(super) fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        call: Executes,
        flags: c_int,
        data: *mut c_void,
    );
    pub(super) fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        call: Accesses,
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    pub(super) fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    pub(super) fn qemu_plugin_mem_is_store(info: u32) -> bool;
    /// The C library's function that ends the process without calling its exit handlers.
    pub(super) fn _exit(status: c_int) -> !;
    /// The C library's function that returns the kernel's id of the calling thread.
    pub(super) fn gettid() -> c_int;
    /// The C library's function that replaces the process's program. It returns only if it fails.
    pub(super) fn execve(
        path: *const c_char,
        arguments: *const *const c_char,
        environment: *const *const c_char,
    ) -> c_int;
}

pub(super) type Executes = extern "C" fn(c_uint, *mut c_void);
pub(super) type Accesses = extern "C" fn(c_uint, u32, u64, *mut c_void);
pub(super) type Entry = extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);
