//! QEMU's plug-in interface, version 1, as far as it is used: QEMU's docs/devel/tcg-plugins.rst. The plug-in has
//! `qemu_plugin_version` and `qemu_plugin_install`, which QEMU looks for; QEMU has the functions of the block `extern "C"`.
#![allow(unsafe_code, unreachable_pub, reason = "a C interface")]

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::calls::Call;
use crate::decode::Target;
use crate::lock;
use crate::output::Output;
use crate::process::{MOST_THREADS, Process};
use crate::thread::Thread;

/// A block that is being translated.
type Block = c_void;
/// An instruction of a [`Block`].
type Instruction = c_void;

type Simple = extern "C" fn(id: u64, vcpu: c_uint);

/// QEMU_PLUGIN_CB_NO_REGS: callbacks use no register of the program.
const NO_REGISTERS: c_int = 0;
/// QEMU_PLUGIN_MEM_RW: a callback is for loads and stores. (QEMU 7.2 confuses them if only one is asked for.)
const ACCESSES: c_int = 3;

/// The start of `qemu_info_t`.
#[repr(C)]
pub struct Info {
    target: *const c_char,
}

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_init_cb(id: u64, call: Simple);
    fn qemu_plugin_register_vcpu_exit_cb(id: u64, call: Simple);
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, call: extern "C" fn(u64, *mut Block));
    fn qemu_plugin_register_vcpu_syscall_cb(id: u64, call: Entry);
    fn qemu_plugin_register_vcpu_syscall_ret_cb(
        id: u64,
        call: extern "C" fn(u64, c_uint, i64, i64),
    );
    fn qemu_plugin_register_atexit_cb(
        id: u64,
        call: extern "C" fn(u64, *mut c_void),
        data: *mut c_void,
    );
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    fn qemu_plugin_tb_get_insn(block: *const Block, number: usize) -> *mut Instruction;
    fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const u8;
    fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        call: extern "C" fn(c_uint, *mut c_void),
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        call: extern "C" fn(c_uint, u32, u64, *mut c_void),
        flags: c_int,
        accesses: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_mem_size_shift(info: u32) -> c_uint;
    fn qemu_plugin_mem_is_store(info: u32) -> bool;
    /// The C library's: ends the process without its exit handlers.
    fn _exit(status: c_int) -> !;
}

type Entry = extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// The version of the interface.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static PROCESS: OnceLock<Process> = OnceLock::new();

/// A thread. Its host thread may use it while it executes; during its system calls, the holder of the lock may.
struct Slot {
    /// Whether the thread is in a system call.
    in_call: Mutex<bool>,
    thread: UnsafeCell<Thread>,
}

// SAFETY: one thread uses `thread` at a time, as the documentation of `Slot` says.
unsafe impl Sync for Slot {}
// SAFETY: nothing in a `Thread` is bound to a host thread.
unsafe impl Send for Slot {}

/// All threads, by QEMU's number of their processor. QEMU reuses numbers.
static THREADS: Mutex<Vec<Option<Arc<Slot>>>> = Mutex::new(Vec::new());

/// The same threads, for callbacks that must be fast.
static SLOTS: [AtomicPtr<Slot>; MOST_THREADS as usize] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MOST_THREADS as usize];

fn threads() -> MutexGuard<'static, Vec<Option<Arc<Slot>>>> {
    lock(&THREADS)
}

/// Returns a recorded thread, and its process.
///
/// # Safety
/// The caller is the host thread of this processor, and uses the result before the thread ends.
#[inline(always)]
unsafe fn slot<'a>(vcpu: c_uint) -> Option<(&'a Slot, &'static Process)> {
    let slot = SLOTS.get(vcpu as usize)?.load(Ordering::Relaxed);
    // SAFETY: `THREADS` holds the slot until the thread ends.
    let slot = unsafe { slot.as_ref() }?;
    Some((slot, PROCESS.get()?))
}

/// Returns a recorded thread that executes.
///
/// # Safety
/// As [`slot`], and the thread is in no system call.
#[inline(always)]
unsafe fn executing<'a>(vcpu: c_uint) -> Option<(&'a mut Thread, &'static Process)> {
    // SAFETY: the caller promises it.
    let (slot, process) = unsafe { slot(vcpu) }?;
    // SAFETY: the thread executes, and the caller is its host thread.
    Some((unsafe { &mut *slot.thread.get() }, process))
}

/// QEMU calls this after it has loaded the plug-in, before it loads the program.
///
/// # Safety
/// `info` and the `count` arguments are what QEMU's interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: `target` is a C string of QEMU's.
    let target = unsafe { CStr::from_ptr((*info).target) };
    let Some(target) = target.to_str().ok().and_then(Target::named) else {
        return 1;
    };
    let (mut frames, mut messages, mut limit) = (OsString::new(), OsString::new(), u64::MAX);
    for number in 0..count as usize {
        // SAFETY: `arguments` has `count` C strings.
        let argument = unsafe { CStr::from_ptr(*arguments.add(number)) }.to_bytes();
        let Some(at) = argument.iter().position(|byte| *byte == b'=') else {
            return 1;
        };
        let value = OsStr::from_bytes(&argument[at + 1..]);
        match &argument[..at] {
            b"frames" => frames = value.to_owned(),
            b"messages" => messages = value.to_owned(),
            b"limit" => match value.to_str().and_then(|value| value.parse().ok()) {
                Some(value) => limit = value,
                None => return 1,
            },
            _ => return 1,
        }
    }
    // SAFETY: `_exit` takes any number.
    let end = |status| unsafe { _exit(status) };
    let output = Output::new(frames, messages, limit, end);
    if PROCESS.set(Process::new(target, output)).is_err() {
        return 1;
    }
    // SAFETY: the callbacks have the signatures of QEMU's interface.
    unsafe {
        qemu_plugin_register_vcpu_init_cb(id, begin);
        qemu_plugin_register_vcpu_exit_cb(id, end_thread);
        qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu_plugin_register_vcpu_syscall_cb(id, enter);
        qemu_plugin_register_vcpu_syscall_ret_cb(id, leave);
        qemu_plugin_register_atexit_cb(id, exit, ptr::null_mut());
    }
    0
}

/// A thread begins. QEMU calls this on the host thread that starts it.
extern "C" fn begin(_: u64, vcpu: c_uint) {
    let Some(process) = PROCESS.get().filter(|process| process.is_own()) else {
        return;
    };
    let Some(place) = SLOTS.get(vcpu as usize) else {
        process.output.stop("ends", "the program has more threads than a recording can have")
    };
    let slot =
        Arc::new(Slot { in_call: Mutex::new(false), thread: UnsafeCell::new(process.thread()) });
    place.store(Arc::as_ptr(&slot).cast_mut(), Ordering::Release);
    let mut threads = threads();
    let vcpu = vcpu as usize;
    if threads.len() <= vcpu {
        threads.resize(vcpu + 1, None);
    }
    threads[vcpu] = Some(slot);
}

/// A thread has ended.
extern "C" fn end_thread(_: u64, vcpu: c_uint) {
    // SAFETY: QEMU calls this on the thread's host thread.
    let Some((slot, process)) = (unsafe { slot(vcpu) }) else {
        return;
    };
    {
        let _lock = lock(&slot.in_call);
        // SAFETY: the lock is held, and the thread no longer executes.
        unsafe { &mut *slot.thread.get() }.write(process, true);
    }
    SLOTS[vcpu as usize].store(ptr::null_mut(), Ordering::Relaxed);
    let ended = threads()[vcpu as usize].take();
    drop(ended);
}

/// A block is translated.
extern "C" fn translate(_: u64, block: *mut Block) {
    let Some(process) = PROCESS.get().filter(|process| process.is_own()) else {
        return;
    };
    // SAFETY: the block, its instructions and their bytes are QEMU's, and are valid during this call.
    unsafe {
        let instructions: Vec<_> = (0..qemu_plugin_tb_n_insns(block))
            .map(|number| qemu_plugin_tb_get_insn(block, number))
            .collect();
        let bytes: Vec<&[u8]> = (instructions.iter())
            .map(|&one| {
                std::slice::from_raw_parts(qemu_plugin_insn_data(one), qemu_plugin_insn_size(one))
            })
            .collect();
        let number = process.block(qemu_plugin_tb_vaddr(block), &bytes);
        let data = ptr::without_provenance_mut(bytes.len() << 32 | number as usize);
        qemu_plugin_register_vcpu_tb_exec_cb(block, execute, NO_REGISTERS, data);
        for (number, &instruction) in instructions.iter().enumerate() {
            let atomic = if process.target.is_atomic(bytes[number]) { ATOMIC } else { 0 };
            let data = ptr::without_provenance_mut(atomic | number);
            qemu_plugin_register_vcpu_mem_cb(instruction, access, NO_REGISTERS, ACCESSES, data);
        }
    }
}

/// A block begins to execute. `block` has its number, and in bits 63:32 its number of instructions.
extern "C" fn execute(vcpu: c_uint, block: *mut c_void) {
    // SAFETY: QEMU calls this on the thread's host thread.
    if let Some((thread, process)) = unsafe { executing(vcpu) } {
        let block = block.addr();
        thread.block(process, block as u32, (block >> 32) as u32);
    }
}

/// The bit for an atomic instruction, beside its number, in the data of [`access`].
const ATOMIC: usize = 1 << 16;

/// An instruction has accessed data. QEMU 7.2 reports an atomic instruction as one store while several threads execute, and as a
/// load and a store otherwise. It is recorded as both.
extern "C" fn access(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    // SAFETY: QEMU calls this on the thread's host thread, and `info` is QEMU's.
    unsafe {
        if let Some((thread, process)) = executing(vcpu) {
            let size_log2 = qemu_plugin_mem_size_shift(info) as u8;
            let atomic = instruction.addr() & ATOMIC != 0;
            let instruction = instruction.addr() as u16;
            let is_store = qemu_plugin_mem_is_store(info);
            if atomic == is_store {
                thread.load(process, instruction, size_log2, address);
            }
            if is_store {
                thread.log.access(instruction, true, size_log2, address);
            }
        }
    }
}

/// A thread enters the kernel.
#[allow(clippy::too_many_arguments, reason = "those of the interface")]
extern "C" fn enter(
    _: u64,
    vcpu: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    _: u64,
    _: u64,
    _: u64,
) {
    let arguments = [first, second, third, fourth, fifth];
    // SAFETY: QEMU calls this on the thread's host thread.
    let Some((slot, process)) = (unsafe { slot(vcpu) }) else {
        let process = PROCESS.get().filter(|process| !process.is_own());
        if let Some(process) = process {
            process.forked_call(Call::new(process.target, number, arguments));
        }
        return;
    };
    let call = Call::new(process.target, number, arguments);
    if let Call::Exec { .. } = call {
        write_others(slot, process);
    }
    let mut in_call = lock(&slot.in_call);
    *in_call = true;
    // SAFETY: the lock is held, and the thread is in a system call.
    process.call(unsafe { &mut *slot.thread.get() }, call);
}

/// A thread comes back from the kernel.
extern "C" fn leave(_: u64, vcpu: c_uint, number: i64, value: i64) {
    // SAFETY: QEMU calls this on the thread's host thread.
    let Some((slot, process)) = (unsafe { slot(vcpu) }) else {
        return;
    };
    let call = Call::new(process.target, number, [0; 5]);
    if let Call::Process = call
        && !process.is_own()
    {
        // This is the forked process, which is not recorded.
        SLOTS[vcpu as usize].store(ptr::null_mut(), Ordering::Relaxed);
        return;
    }
    let mut in_call = lock(&slot.in_call);
    // SAFETY: the lock is held, and the thread is in a system call.
    process.returned(unsafe { &mut *slot.thread.get() }, call, value);
    *in_call = false;
}

/// The program exits: no thread executes any more, but some may be in a system call.
extern "C" fn exit(_: u64, _: *mut c_void) {
    let Some(process) = PROCESS.get().filter(|process| process.is_own()) else {
        return;
    };
    for slot in threads().iter().flatten() {
        let _lock = lock(&slot.in_call);
        // SAFETY: the lock is held, and no thread executes.
        unsafe { &mut *slot.thread.get() }.write(process, true);
    }
    process.exited();
}

/// Writes what all other threads that are in a system call have done.
fn write_others(own: &Slot, process: &Process) {
    let all = threads();
    for slot in all.iter().flatten().filter(|slot| !ptr::eq(&***slot, own)) {
        let Ok(in_call) = slot.in_call.try_lock() else {
            continue;
        };
        if *in_call {
            // SAFETY: the lock is held, and the thread is in a system call.
            unsafe { &mut *slot.thread.get() }.write(process, true);
        }
    }
}
