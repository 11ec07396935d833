//! The parts of QEMU's plug-in interface, version 1, that the recorder needs (QEMU's docs/devel/tcg-plugins.rst). This module defines
//! `qemu_plugin_install`, which QEMU calls, and `qemu_plugin_version`, which QEMU reads. QEMU defines the functions of [`interface`].
#![allow(unsafe_code, unreachable_pub, reason = "a C interface")]

mod cursor;
mod interface;
mod only;
mod processes;
mod threads;

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use refs::{Class, access_word, block_word};

use crate::calls::SystemCall;
use crate::decode::Architecture;
use crate::lock;
use crate::lock_call::BlockFacts;
use crate::only::OnlyFunction;
use crate::output::Output;
use crate::process::{MAX_THREADS, Process};
use crate::thread::Thread;
use cursor::Cursor;
use interface::*;
use processes::{
    ARGUMENTS, Arguments, begin_fork, end_fork, no_fork, replace_program, wait_for_forks,
};
use threads::{MAY_JOIN, SharedThread, threads};

#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

static PROCESS: OnceLock<Process> = OnceLock::new();

/// Returns the recorded thread of a virtual processor, and the thread's process.
///
/// # Safety
/// The caller is the host thread of this processor, and uses the result only before the thread ends.
#[inline(always)]
unsafe fn shared_thread<'a>(vcpu: c_uint) -> Option<(&'a SharedThread, &'static Process)> {
    // SAFETY: `THREADS` holds the thread until it ends.
    let shared = unsafe { Cursor::of(vcpu).thread().as_ref() }?;
    Some((shared, PROCESS.get()?))
}

/// A thread that executes, with its cursor closed. Dropping this value opens the cursor.
struct Executing<'a> {
    thread: &'a mut Thread,
    cursor: &'a Cursor,
}

impl Deref for Executing<'_> {
    type Target = Thread;

    fn deref(&self) -> &Thread {
        self.thread
    }
}

impl DerefMut for Executing<'_> {
    fn deref_mut(&mut self) -> &mut Thread {
        self.thread
    }
}

impl Drop for Executing<'_> {
    fn drop(&mut self) {
        self.cursor.open(self.thread, MAY_JOIN.load(Ordering::Relaxed));
    }
}

/// Returns the recorded thread that a virtual processor is executing, and the thread's process.
///
/// # Safety
/// The conditions of [`shared_thread`] hold, and the thread is not in a system call.
unsafe fn executing<'a>(vcpu: c_uint) -> Option<(Executing<'a>, &'static Process)> {
    // SAFETY: the caller promises the conditions of `shared_thread`.
    let (shared, process) = unsafe { shared_thread(vcpu) }?;
    // SAFETY: the thread executes, and the caller is its host thread.
    let thread = unsafe { &mut *shared.thread.get() };
    let cursor = Cursor::of(vcpu);
    cursor.close(thread);
    Some((Executing { thread, cursor }, process))
}

/// QEMU calls this function after it has loaded the plug-in, and before it loads the program.
///
/// # Safety
/// `info` and the `count` arguments are valid, as QEMU's interface promises.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    info: *const Info,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    // SAFETY: `target` is a C string of QEMU's.
    let target = unsafe { CStr::from_ptr((*info).target) };
    let Some(target) = target.to_str().ok().and_then(Architecture::named) else {
        return 1;
    };
    let mut given = Arguments::default();
    let mut own = 0;
    for number in 0..count as usize {
        // SAFETY: `arguments` has `count` C strings.
        let argument = unsafe { CStr::from_ptr(*arguments.add(number)) }.to_bytes();
        let Some(at) = argument.iter().position(|byte| *byte == b'=') else {
            return 1;
        };
        let value = OsStr::from_bytes(&argument[at + 1..]);
        match &argument[..at] {
            b"plugin" => given.plugin = value.to_owned(),
            b"socket" => given.socket = value.to_owned(),
            b"sysroot" => given.sysroot = value.to_owned(),
            b"only" => given.only.push(value.to_owned()),
            b"process" => match value.to_str().and_then(|value| value.parse().ok()) {
                Some(process) => own = process,
                None => return 1,
            },
            _ => return 1,
        }
    }
    // SAFETY: `_exit` takes any number.
    let end = |status| unsafe { _exit(status) };
    let output = Output::new(given.socket.clone(), own, end);
    output.notify("begins", &std::process::id().to_string());
    // SAFETY: `gettid` has no conditions.
    let tid = || unsafe { gettid() }.cast_unsigned();
    let names: Vec<_> = given.only.iter().map(|name| name.to_string_lossy().into()).collect();
    let only = (!names.is_empty()).then(|| OnlyFunction::new(names));
    let process = Process::new(target, output, only, tid, describe);
    if PROCESS.set(process).is_err() || ARGUMENTS.set(given).is_err() || only::ID.set(id).is_err() {
        return 1;
    }
    register(id);
    0
}

/// Registers the plug-in's callbacks.
fn register(id: u64) {
    // SAFETY: the callbacks have the signatures of QEMU's interface.
    unsafe {
        qemu_plugin_register_vcpu_init_cb(id, begin);
        qemu_plugin_register_vcpu_exit_cb(id, end_thread);
        qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
        qemu_plugin_register_vcpu_syscall_cb(id, enter);
        qemu_plugin_register_vcpu_syscall_ret_cb(id, leave);
        qemu_plugin_register_atexit_cb(id, exit, ptr::null_mut());
    }
}

/// QEMU calls this function when a thread begins, on the host thread that starts it.
extern "C" fn begin(_: u64, vcpu: c_uint) {
    let Some(process) = PROCESS.get() else {
        return;
    };
    let _whole = no_fork();
    if vcpu >= MAX_THREADS {
        process.output.stop("ends", "the program has more threads than a recording can have")
    }
    let shared = SharedThread::new(process.thread(), false);
    MAY_JOIN.fetch_or(process.orders.watches(), Ordering::Relaxed);
    Cursor::of(vcpu).set_thread(Arc::as_ptr(&shared).cast_mut());
    let mut threads = threads();
    let vcpu = vcpu as usize;
    if threads.len() <= vcpu {
        threads.resize(vcpu + 1, None);
    }
    threads[vcpu] = Some(shared);
}

extern "C" fn end_thread(_: u64, vcpu: c_uint) {
    // SAFETY: QEMU calls this function on the thread's host thread.
    let Some((shared, process)) = (unsafe { shared_thread(vcpu) }) else {
        return;
    };
    let _whole = no_fork();
    {
        let _lock = lock(&shared.in_call);
        // SAFETY: the lock is held, and the thread no longer executes.
        let thread = unsafe { &mut *shared.thread.get() };
        Cursor::of(vcpu).close(thread);
        process.only.iter().for_each(|only| only.end(&mut thread.tracker));
        thread.write(process, true);
    }
    Cursor::of(vcpu).set_thread(ptr::null_mut());
    let ended = threads()[vcpu as usize].take();
    drop(ended);
}

/// Registers the callbacks of a block, which QEMU is translating.
extern "C" fn translate(_: u64, block: *mut Block) {
    let Some(process) = PROCESS.get() else {
        return;
    };
    // SAFETY: the block is QEMU's, and is valid during this call.
    let address = unsafe { qemu_plugin_tb_vaddr(block) };
    let alone = (only::access as Accesses, only::atomic as Accesses);
    let (begins, (accesses, atomics)): (Executes, _) = match &process.only {
        None => (execute, (access as Accesses, atomic as Accesses)),
        Some(only) => {
            process.update_mappings();
            match (only.begins_at(address), only.is_instrumenting()) {
                (true, _) => (only::enter, alone),
                (false, true) => (only::execute, alone),
                (false, false) => return,
            }
        }
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
        let facts = process.block(address, &bytes);
        let begins = match facts.entered() {
            Some(_) if process.only.is_none() => execute_examined,
            _ => begins,
        };
        let data = ptr::without_provenance_mut(facts.0 as usize);
        qemu_plugin_register_vcpu_tb_exec_cb(block, begins, NO_REGISTERS, data);
        for (number, &instruction) in instructions.iter().enumerate() {
            let is_atomic = process.target.class(bytes[number]) == Class::Atomic;
            let call = if is_atomic { atomics } else { accesses };
            let data = ptr::without_provenance_mut(access_word(number as u16) as usize);
            qemu_plugin_register_vcpu_mem_cb(instruction, call, NO_REGISTERS, ACCESSES, data);
        }
    }
}

/// Returns whether an access is a store, and the binary logarithm of its size in bytes. `info` is QEMU's description of the access.
fn describe(info: u32) -> (bool, u8) {
    // SAFETY: `info` is QEMU's.
    unsafe { (qemu_plugin_mem_is_store(info), qemu_plugin_mem_size_shift(info) as u8) }
}

/// QEMU calls this function when a block begins to execute. `block` is not a pointer: its bits are the block's [`BlockFacts`].
extern "C" fn execute(vcpu: c_uint, block: *mut c_void) {
    if !Cursor::of(vcpu).block(block_word(block.addr() as u64)) {
        execute_examined(vcpu, block);
    }
}

/// Logs a block that begins to execute, on the slow path, because the block may have to be examined first.
#[cold]
extern "C" fn execute_examined(vcpu: c_uint, block: *mut c_void) {
    // SAFETY: QEMU calls this function on the thread's host thread.
    if let Some((mut thread, process)) = unsafe { executing(vcpu) } {
        thread.block(process, BlockFacts(block.addr() as u64));
    }
}

/// QEMU calls this function after an instruction has accessed data. `instruction` is not a pointer: its bits are the instruction's
/// [`access_word`].
extern "C" fn access(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let words = [instruction.addr() as u64 | u64::from(info), address];
    if !Cursor::of(vcpu).access(words) {
        access_examined(vcpu, info, address, instruction);
    }
}

/// Logs a data access on the slow path, because the program has several threads, or the log has to be examined.
extern "C" fn access_examined(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let Some(process) = PROCESS.get() else {
        return;
    };
    let words = [instruction.addr() as u64 | u64::from(info), address];
    let joins = process.orders.may_join(address) && !describe(info).0;
    if !joins && Cursor::of(vcpu).access_without_join(words) {
        return;
    }
    // SAFETY: QEMU calls this function on the thread's host thread.
    if let Some((mut thread, process)) = unsafe { executing(vcpu) } {
        thread.access(words);
        if joins {
            thread.join(process, address);
        }
    }
}

/// QEMU calls this function after an atomic instruction has accessed data. The access is recorded as a load and a store. QEMU 7.2 reports
/// both accesses while one thread executes, and only the store while several threads execute.
extern "C" fn atomic(vcpu: c_uint, info: u32, address: u64, instruction: *mut c_void) {
    let (is_store, size_log2) = describe(info);
    if !is_store {
        return;
    }
    // SAFETY: QEMU calls this function on the thread's host thread.
    if let Some((mut thread, process)) = unsafe { executing(vcpu) } {
        let number = (instruction.addr() as u64 >> refs::INSTRUCTION_SHIFT) as u16;
        thread.log.access(number, false, size_log2, address);
        if process.orders.may_join(address) {
            thread.join(process, address);
        }
        thread.log.access(number, true, size_log2, address);
    }
}

/// QEMU calls this function before a system call of a thread.
#[allow(clippy::too_many_arguments, reason = "QEMU's interface has them")]
extern "C" fn enter(
    _: u64,
    vcpu: c_uint,
    number: i64,
    first: u64,
    second: u64,
    third: u64,
    fourth: u64,
    fifth: u64,
    sixth: u64,
    _: u64,
    _: u64,
) {
    // SAFETY: QEMU calls this function on the thread's host thread.
    let Some((shared, process)) = (unsafe { shared_thread(vcpu) }) else {
        return;
    };
    // SAFETY: the thread is not in a system call yet, and this is its host thread.
    Cursor::of(vcpu).close(unsafe { &mut *shared.thread.get() });
    let call =
        SystemCall::new(process.target, number, [first, second, third, fourth, fifth, sixth]);
    if let SystemCall::Process = call {
        return begin_fork(shared, process);
    }
    let _whole = no_fork();
    if let SystemCall::Exec { .. } = call {
        write_others(shared, process);
    }
    let mut in_call = lock(&shared.in_call);
    *in_call = true;
    // SAFETY: the lock is held, and the thread is in a system call.
    let thread = unsafe { &mut *shared.thread.get() };
    if let Some((program, number)) = process.before_exec(thread, call) {
        replace_program(process, program, number, call);
    }
    process.before_call(thread, call);
}

/// QEMU calls this function after a system call of a thread.
extern "C" fn leave(_: u64, vcpu: c_uint, number: i64, value: i64) {
    // SAFETY: QEMU calls this function on the thread's host thread.
    let Some((shared, process)) = (unsafe { shared_thread(vcpu) }) else {
        return;
    };
    let call = SystemCall::new(process.target, number, [0; 6]);
    if let SystemCall::Process = call {
        return end_fork(vcpu, shared, process, value);
    }
    let _whole = no_fork();
    let mut in_call = lock(&shared.in_call);
    // SAFETY: the lock is held, and the thread is in a system call.
    process.after_call(unsafe { &mut *shared.thread.get() }, call, value);
    *in_call = false;
}

/// QEMU calls this function when the program exits. The threads no longer execute, but may be in system calls.
extern "C" fn exit(_: u64, _: *mut c_void) {
    let Some(process) = PROCESS.get() else {
        return;
    };
    if !wait_for_forks() {
        return;
    }
    for (vcpu, shared) in (0..).zip(&*threads()) {
        let Some(shared) = shared else { continue };
        let _lock = lock(&shared.in_call);
        // SAFETY: the lock is held, and the threads no longer execute.
        let thread = unsafe { &mut *shared.thread.get() };
        Cursor::of(vcpu).close(thread);
        thread.write(process, true);
    }
    process.exited();
}

/// Writes the references of all other threads that are in system calls.
fn write_others(own: &SharedThread, process: &Process) {
    let all = threads();
    for shared in all.iter().flatten().filter(|shared| !ptr::eq(&***shared, own)) {
        let Ok(in_call) = shared.in_call.try_lock() else {
            continue;
        };
        if *in_call {
            // SAFETY: the lock is held, and the thread is in a system call.
            unsafe { &mut *shared.thread.get() }.write(process, true);
        }
    }
}
