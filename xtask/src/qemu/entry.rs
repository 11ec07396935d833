//! Compares the entry code of two images. If the code is the same, tests of one image also apply to the other.
//!
//! The entry code is the boot code, the trap table, the veneers (assembly that serves traps before any Rust code), the leaf functions, the
//! fault handlers, and the code around calls of Rust functions. The entry code contains everything that a call on the fast path executes.
//! Each instruction must be the same in both images, except for addresses of other code and of data. Two such addresses must have the same
//! symbol, or hold the same constants.

use std::collections::{BTreeMap, BTreeSet};

use object::{Object, ObjectSection, ObjectSymbol};

use vfalls::cmd::boot::elf::{self, Elf, instructions};

/// The symbols at the beginning and the end of the entry code.
const ENTRY: [&str; 2] = ["sun4v_image_start", "__leaf_end"];

/// The size of a trap table entry in bytes, and the index of the entry for software trap 0.
const TRAP_ENTRY: u64 = 32;
const SOFTWARE_TRAPS: u64 = 0x100;

/// The symbols of an image, and the instructions of its entry code.
struct EntryCode {
    symbols: BTreeMap<u64, BTreeSet<String>>,
    code: Vec<(u64, u32)>,
    /// The address of the first constant, and the bytes of all constants.
    constants: (u64, Vec<u8>),
}

impl EntryCode {
    fn new(elf: &Elf<'_>, claimed: &[u8]) -> anyhow::Result<Self> {
        let mut symbols = BTreeMap::<_, BTreeSet<_>>::new();
        for symbol in elf.symbols() {
            let name = symbol.name()?;
            if !name.is_empty() {
                symbols.entry(symbol.address()).or_default().insert(last_name(name));
            }
        }
        let address = |name: &str| elf::address(elf, name);
        let [start, end] = ENTRY.map(address);
        let entry = start?..end?;
        let mut code = instructions(elf)?;
        let table = address("sun4v_trap_table")?;
        let is_claimed = |address: u64| {
            let trap = address.wrapping_sub(table) / TRAP_ENTRY;
            claimed.iter().any(|number| trap == SOFTWARE_TRAPS + u64::from(*number))
        };
        code.retain(|(address, _)| entry.contains(address) && !is_claimed(*address));
        let constants = match elf.section_by_name(".rodata") {
            Some(section) => (section.address(), section.data()?.to_vec()),
            None => (0, Vec::new()),
        };
        Ok(Self { symbols, code, constants })
    }

    /// Returns the names at the nearest named address that is not above `address`, and the distance to it.
    fn names(&self, address: u64) -> Option<(&BTreeSet<String>, u64)> {
        let (at, names) = self.symbols.range(..=address).next_back()?;
        Some((names, address - at))
    }

    /// Returns the 32 bytes that begin at `address`; `None` if one of these bytes is not in a constant.
    fn constants(&self, address: u64) -> Option<&[u8]> {
        let (first, bytes) = &self.constants;
        let from = usize::try_from(address.checked_sub(*first)?).ok()?;
        bytes.get(from..from + 32)
    }
}

/// Returns the last part of the path of a function or static variable, without type parameters and hashes.
fn last_name(symbol: &str) -> String {
    let path = format!("{:#}", rustc_demangle::demangle(symbol));
    let mut depth = 0;
    let mut name = String::new();
    for character in path.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ if depth > 0 => {}
            other => name.push(other),
        }
    }
    let parts = name.split("::").filter(|part| !part.is_empty());
    parts.last().unwrap_or(symbol).to_owned()
}

/// Returns the first difference between the entry code of two images. Ignores the trap table's entries for the software traps in `claimed`,
/// which only one of the images claims.
pub fn difference(
    shipped: &Elf<'_>,
    tested: &Elf<'_>,
    claimed: &[u8],
) -> anyhow::Result<Option<String>> {
    let images = [EntryCode::new(shipped, claimed)?, EntryCode::new(tested, claimed)?];
    let [a, b] = images.each_ref().map(|image| image.code.len());
    if a != b || a == 0 {
        return Ok(Some(format!("{b} instructions, {a} in the shipped image")));
    }
    Ok(first_difference(&images))
}

fn first_difference(images: &[EntryCode; 2]) -> Option<String> {
    let [shipped, tested] = images;
    // For each register, the upper half of an address that an instruction has put into the register, in both images. If the two halves
    // differ, `open` holds the register until an instruction adds the lower half.
    let mut upper = [None; 32];
    let mut open = BTreeMap::new();
    for ((address, a), (other, b)) in shipped.code.iter().zip(&tested.code) {
        let (a, b) = (*a, *b);
        let differ = || Some(format!("{b:08x} at {other:#x}, {a:08x} in the shipped image"));
        if is_pcr_substitute(a, b) {
            continue;
        }
        let same = |addresses: [u64; 2]| is_same(images, addresses);
        if is_sethi(a) && is_sethi(b) && rd(a) == rd(b) {
            upper[rd(a)] = Some([a, b].map(|code| u64::from(code << 10)));
            if a == b {
                open.remove(&rd(a));
            } else if open.insert(rd(a), *address).is_some() {
                return differ();
            }
            continue;
        }
        if is_call(a) && is_call(b) {
            let target = |at: &u64, code: u32| at.wrapping_add_signed(((code << 2) as i32).into());
            if a != b && !same([target(address, a), target(other, b)]) {
                return differ();
            }
            continue;
        }
        let lower = has_immediate(a) && a >> 13 == b >> 13 && a >> 30 != 0;
        match upper[rs1(a)].filter(|_| lower) {
            Some([up_a, up_b]) if a != b || open.contains_key(&rs1(a)) => {
                let whole = |up: u64, code: u32| up.wrapping_add(u64::from(code & 0x1fff));
                if !same([whole(up_a, a), whole(up_b, b)]) {
                    return differ();
                }
                open.remove(&rs1(a));
            }
            _ if a != b => return differ(),
            _ => {}
        }
    }
    open.values().next().map(|address| format!("another constant at {address:#x}"))
}

/// Returns whether `tested` is what replaces `shipped` on a machine without %pcr: a load or store of a word in the strand's block (%g6) in
/// place of `rd %pcr, %o1` or `wr %g3, 0, %pcr`.
const fn is_pcr_substitute(shipped: u32, tested: u32) -> bool {
    matches!((shipped, tested & !0x1fff), (0x9344_0000, 0xd259_a000) | (0xa180_e000, 0xc671_a000))
}

/// Returns whether two addresses, one in each image, have the same symbol or hold the same constants.
fn is_same(images: &[EntryCode; 2], [a, b]: [u64; 2]) -> bool {
    let [shipped, tested] = images;
    let constants = shipped.constants(a);
    if constants.is_some() && constants == tested.constants(b) {
        return true;
    }
    match (shipped.names(a), tested.names(b)) {
        (Some((names, a)), Some((others, b))) => a == b && !names.is_disjoint(others),
        _ => false,
    }
}

const fn is_sethi(code: u32) -> bool {
    code >> 30 == 0 && code >> 22 & 7 == 4
}

const fn is_call(code: u32) -> bool {
    code >> 30 == 1
}

const fn has_immediate(code: u32) -> bool {
    code >> 30 >= 2 && code >> 13 & 1 == 1
}

const fn rd(code: u32) -> usize {
    (code >> 25 & 31) as usize
}

const fn rs1(code: u32) -> usize {
    (code >> 14 & 31) as usize
}

#[cfg(test)]
#[path = "tests/entry.rs"]
mod tests;
