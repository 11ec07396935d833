//! Checks a linked hypervisor image.

use std::ops::Range;

use object::{Object, ObjectSymbol};

use vfalls::cmd::boot::elf::{self, Elf, instructions};

/// The name of a check, and the reason if it failed.
pub type Finding = (&'static str, Option<String>);

/// The mangled name of a symbol, and its address.
type Symbol<'a> = (&'a str, u64);

fn symbols<'a>(elf: &Elf<'a>) -> anyhow::Result<Vec<Symbol<'a>>> {
    let all = elf.symbols();
    Ok(all.map(|symbol| Ok((symbol.name()?, symbol.address()))).collect::<object::Result<_>>()?)
}

/// Parts of the names of functions that panic or allocate.
const UNWANTED: [&str; 6] = [
    "panicking",
    "panic_fmt",
    "panic_bounds_check",
    "rust_begin_unwind",
    "unwrap_failed",
    "__rust_alloc",
];

/// The registers that the fast path writes: %g1 to %g5, and the results in %o0 and %o1 (8 and 9).
const WRITTEN: [u32; 7] = [1, 2, 3, 4, 5, 8, 9];

/// Checks an image in several ways. Returns the result of each check.
pub fn check(elf: &Elf<'_>) -> anyhow::Result<Vec<Finding>> {
    let symbols = symbols(elf)?;
    let instructions = instructions(elf)?;
    let address = |name: &str| elf::address(elf, name);
    let leaf = address("__leaf_start")?..address("__leaf_end")?;
    anyhow::ensure!(!leaf.is_empty(), "the image has no leaf functions");
    let fast_path = address("perfctr_get")?..address("perfctr_end")?;
    anyhow::ensure!(!fast_path.is_empty(), "the image has no fast path");
    let within = |range: &Range<u64>| {
        let range = range.clone();
        let instructions = instructions.iter();
        instructions.filter(move |(address, _)| range.contains(address))
    };
    let at = |found: Option<&(u64, u32)>| found.map(|(address, _)| format!("at {address:#x}"));
    let is_window_or_call = |(_, code): &&(u64, u32)| is_save(*code) || is_call(*code);
    let is_written =
        |(_, code): &&(u64, u32)| target(*code).is_some_and(|to| !WRITTEN.contains(&to));
    let sync = |waits: bool| (!waits).then(|| "there is no membar #Sync".to_owned());
    let store = is_synced_store(&instructions, address("perfctr_store_hub")?);
    let general = syncs_before_call(&instructions, address("sun4v_general")?);
    let core = syncs_before_call(&instructions, address("sun4v_core")?);
    let unwanted =
        symbols.iter().find(|(name, _)| UNWANTED.iter().any(|unwanted| name.contains(unwanted)));
    Ok(vec![
        (
            "image without panic machinery and allocation",
            unwanted.map(|(name, _)| format!("it has {name}")),
        ),
        ("image without test control", control(&symbols, &instructions)),
        ("image without floating point", at(instructions.iter().find(|(_, code)| is_float(*code)))),
        ("leaf functions without windows and calls", at(within(&leaf).find(is_window_or_call))),
        ("fast path without windows and calls", at(within(&fast_path).find(is_window_or_call))),
        ("fast path keeps the guest's registers", at(within(&fast_path).find(is_written))),
        ("fast path releases a hub after the store", sync(store)),
        ("slow path calls Rust after all stores", sync(general)),
        ("leaf functions are called after all stores", sync(core)),
    ])
}

/// Returns `true` if an image lets its guest control the machine, as only test images do. Such an image contains a symbol from the crate
/// `conform`, or loads the control call's function number.
pub fn has_control(elf: &Elf<'_>) -> anyhow::Result<bool> {
    Ok(control(&symbols(elf)?, &instructions(elf)?).is_some())
}

fn control(symbols: &[Symbol<'_>], instructions: &[(u64, u32)]) -> Option<String> {
    let symbol = symbols.iter().find(|(name, _)| name.contains("7conform"));
    let upper = (conform::control::FUNCTION >> 10) as u32;
    let number = instructions
        .iter()
        .find(|(_, code)| op(*code) == 0 && code >> 22 & 7 == 4 && code & 0x3f_ffff == upper);
    symbol
        .map(|(name, _)| format!("it has {name}"))
        .or(number.map(|(address, _)| format!("its function number is at {address:#x}")))
}

const fn op(code: u32) -> u32 {
    code >> 30
}

const fn op3(code: u32) -> u32 {
    code >> 19 & 0x3f
}

/// Returns whether an instruction is `save` or `restore`.
const fn is_save(code: u32) -> bool {
    op(code) == 2 && matches!(op3(code), 0x3c | 0x3d)
}

/// Returns whether an instruction is `call`, or a `jmpl` that stores a return address.
const fn is_call(code: u32) -> bool {
    op(code) == 1 || op(code) == 2 && op3(code) == 0x38 && code >> 25 & 31 != 0
}

/// The code of the instruction `membar #Sync`.
const SYNC: u32 = 0x8143_e040;

/// Returns whether there is a `membar #Sync` between an address and the first call after it.
fn syncs_before_call(instructions: &[(u64, u32)], from: u64) -> bool {
    let codes = instructions.iter().skip_while(|(address, _)| *address < from);
    let mut before = codes.map(|(_, code)| *code).take_while(|code| !is_call(*code));
    before.any(|code| code == SYNC)
}

/// Returns whether the instruction at an address is `stx`, followed by `membar #Sync` and `stw %g0`.
fn is_synced_store(instructions: &[(u64, u32)], address: u64) -> bool {
    let mut from = instructions.iter().skip_while(|(at, _)| *at != address);
    let mut next = || from.next().map_or(0, |(_, code)| *code);
    let (store, sync, release) = (next(), next(), next());
    op(store) == 3
        && op3(store) == 0x0e
        && sync == SYNC
        && op(release) == 3
        && op3(release) == 0x04
        && release >> 25 & 31 == 0
}

/// Returns whether an instruction (an operation, a load, a store or a branch) uses floating-point registers or conditions.
const fn is_float(code: u32) -> bool {
    match op(code) {
        0 => matches!(code >> 22 & 7, 5 | 6),
        2 => matches!(op3(code), 0x34 | 0x35),
        3 => matches!(op3(code), 0x20..=0x27 | 0x30..=0x37),
        _ => false,
    }
}

/// Returns the number of the integer register that an instruction writes; `None` if it writes none.
const fn target(code: u32) -> Option<u32> {
    let rd = code >> 25 & 31;
    match op(code) {
        0 if code >> 22 & 7 == 4 => Some(rd),
        // These instructions write no integer register: writes of state registers, `saved` and similar instructions, `return`, traps,
        // `flush`, `done` and `retry`.
        2 if !matches!(op3(code), 0x30..=0x33 | 0x39..=0x3b | 0x3e) && rd != 0 => Some(rd),
        // Stores do not write a register, but exchanges do.
        3 if !matches!(op3(code), 0x04..=0x07 | 0x0e | 0x14..=0x17 | 0x1e) => Some(rd),
        _ => None,
    }
}

#[cfg(test)]
#[path = "tests/image.rs"]
mod tests;
