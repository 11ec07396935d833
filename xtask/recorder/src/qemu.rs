//! QEMU's side: its plug-in interface, version 1, as far as it is used. What is declared here is stated in QEMU's
//! documentation (docs/devel/tcg-plugins.rst). The plug-in has `qemu_plugin_version` and `qemu_plugin_install`, which QEMU looks for;
//! QEMU has the functions of the block `extern "C"`.
#![allow(unsafe_code, unreachable_pub, reason = "a C interface")]

use std::cell::UnsafeCell;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::calls::Call;
use crate::decode::Target;
use crate::output::Output;
use crate::process::{MOST_THREADS, Process};
use crate::thread::Thread;

/// A block that is being translated.
type Block = c_void;
/// An instruction of it.
type Instruction = c_void;

type Simple = extern "C" fn(id: u64, vcpu: c_uint);

/// Callbacks change no register of the program.
const NO_REGISTERS: c_int = 0;
/// A callback hears of loads and stores. (QEMU 7.2 confuses them if it is asked for one of both.)
const ACCESSES: c_int = 3;

/// Begins as `qemu_info_t` does.
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
    /// Of the C library: ends the process, and nothing else.
    fn _exit(status: c_int) -> !;
}

type Entry = extern "C" fn(u64, c_uint, i64, u64, u64, u64, u64, u64, u64, u64, u64);

/// The version of the interface.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static PROCESS: OnceLock<Process> = OnceLock::new();

/// A thread. The host's thread that executes it may use it while it executes; during its system calls, whoever has the lock may.
struct Slot {
    /// Whether it is in a system call.
    in_call: Mutex<bool>,
    thread: UnsafeCell<Thread>,
}

// SAFETY: one thread uses `thread` at a time, as is said there.
unsafe impl Sync for Slot {}
// SAFETY: what a thread has is not bound to the host's thread.
unsafe impl Send for Slot {}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.in_call.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All threads, by the number of their processor. Numbers are used again.
static THREADS: Mutex<Vec<Option<Arc<Slot>>>> = Mutex::new(Vec::new());

/// The same threads, for the callbacks that must be fast.
static SLOTS: [AtomicPtr<Slot>; MOST_THREADS as usize] =
    [const { AtomicPtr::new(ptr::null_mut()) }; MOST_THREADS as usize];

fn threads() -> MutexGuard<'static, Vec<Option<Arc<Slot>>>> {
    THREADS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a thread that is recorded, with all that the process shares.
///
/// # Safety
/// The host's thread that executes it calls this, and uses what is returned before the thread ends.
#[inline(always)]
unsafe fn slot<'a>(vcpu: c_uint) -> Option<(&'a Slot, &'static Process)> {
    let slot = SLOTS.get(vcpu as usize)?.load(Ordering::Relaxed);
    // SAFETY: `THREADS` has it until the thread ends.
    let slot = unsafe { slot.as_ref() }?;
    Some((slot, PROCESS.get()?))
}

/// Returns a thread that is recorded and executes.
///
/// # Safety
/// As [`slot`]; the thread is in no system call.
#[inline(always)]
unsafe fn executing<'a>(vcpu: c_uint) -> Option<(&'a mut Thread, &'static Process)> {
    // SAFETY: as here.
    let (slot, process) = unsafe { slot(vcpu) }?;
    // SAFETY: it executes, and its own thread calls this.
    Some((unsafe { &mut *slot.thread.get() }, process))
}

/// QEMU calls this once it has loaded the plug-in, before there is a program.
///
/// # Safety
/// QEMU calls it, with what it says there is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: QEMU gives a name.
    let target = unsafe { CStr::from_ptr((*info).target) };
    let Some(target) = target.to_str().ok().and_then(Target::named) else {
        return 1;
    };
    let (mut output, mut messages, mut limit) = (OsString::new(), OsString::new(), u64::MAX);
    for number in 0..count as usize {
        // SAFETY: QEMU gives so many texts.
        let argument = unsafe { CStr::from_ptr(*arguments.add(number)) }.to_bytes();
        let Some(at) = argument.iter().position(|byte| *byte == b'=') else {
            return 1;
        };
        let value = OsStr::from_bytes(&argument[at + 1..]);
        match &argument[..at] {
            b"output" => output = value.to_owned(),
            b"messages" => messages = value.to_owned(),
            b"limit" => match value.to_str().and_then(|value| value.parse().ok()) {
                Some(value) => limit = value,
                None => return 1,
            },
            _ => return 1,
        }
    }
    // SAFETY: it takes any number.
    let end = |status| unsafe { _exit(status) };
    let output = Output::new(output, messages, limit, end);
    if PROCESS.set(Process::new(target, output)).is_err() {
        return 1;
    }
    // SAFETY: the functions have these signatures.
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

/// A thread begins. The host's thread that starts it calls this.
extern "C" fn begin(_: u64, vcpu: c_uint) {
    let Some(process) = PROCESS.get().filter(|process| process.is_own()) else {
        return;
    };
    let Some(place) = SLOTS.get(vcpu as usize) else {
        process.output.stop(
            "ends",
            "the program has more threads than a recording can have",
        )
    };
    let slot = Arc::new(Slot {
        in_call: Mutex::new(false),
        thread: UnsafeCell::new(process.thread()),
    });
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
    // SAFETY: the host's thread that has executed it calls this.
    let Some((slot, process)) = (unsafe { slot(vcpu) }) else {
        return;
    };
    {
        let _lock = slot.lock();
        // SAFETY: the lock is held, and nothing executes any more.
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
    // SAFETY: QEMU gives a block, with so many instructions, each with so many bytes, as long as this runs.
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
            let atomic = if process.target.is_atomic(bytes[number]) {
                ATOMIC
            } else {
                0
            };
            let data = ptr::without_provenance_mut(atomic | number);
            qemu_plugin_register_vcpu_mem_cb(instruction, access, NO_REGISTERS, ACCESSES, data);
        }
    }
}

/// A block begins to execute: its number, and above it how many instructions it has.
extern "C" fn execute(vcpu: c_uint, block: *mut c_void) {
    // SAFETY: the host's thread that executes it calls this.
    if let Some((thread, process)) = unsafe { executing(vcpu) } {
        let block = block.addr();
        thread.block(process, block as u32, (block >> 32) as u32);
    }
}

/// Set in what [`access`] is given beside the number of the instruction, if that is atomic.
const ATOMIC: usize = 1 << 16;

/// An instruction has accessed data. While several threads execute, QEMU 7.2 tells of an atomic instruction once, as of a store;
/// otherwise as of a load and a store. It is recorded as both.
extern "C" fn access(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    // SAFETY: the host's thread that executes it calls this; QEMU knows what it has given.
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
    // SAFETY: the host's thread that executes it calls this.
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
    let mut in_call = slot.lock();
    *in_call = true;
    // SAFETY: the lock is held, and the thread is in a system call.
    process.call(unsafe { &mut *slot.thread.get() }, call);
}

/// A thread comes back from the kernel.
extern "C" fn leave(_: u64, vcpu: c_uint, number: i64, value: i64) {
    // SAFETY: the host's thread that executes it calls this.
    let Some((slot, process)) = (unsafe { slot(vcpu) }) else {
        return;
    };
    let call = Call::new(process.target, number, [0; 5]);
    if let Call::Process = call
        && !process.is_own()
    {
        // This is the new process.
        SLOTS[vcpu as usize].store(ptr::null_mut(), Ordering::Relaxed);
        return;
    }
    let mut in_call = slot.lock();
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
        let _lock = slot.lock();
        // SAFETY: the lock is held, and nothing executes.
        unsafe { &mut *slot.thread.get() }.write(process, true);
    }
    process.exited();
}

/// Writes what the threads have done that are in a system call, all but one.
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
