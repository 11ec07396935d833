//! Checks of a linked hypervisor image.

use anyhow::Context;
use object::{Object, ObjectSymbol};

use super::elf::{Elf, instructions};

/// The name of a check, and the reason why it failed, if it did.
pub type Finding = (&'static str, Option<String>);

/// The name of a symbol, as the linker has it, and its address.
type Symbol<'a> = (&'a str, u64);

fn symbols<'a>(elf: &Elf<'a>) -> anyhow::Result<Vec<Symbol<'a>>> {
    let all = elf.symbols();
    Ok(all
        .map(|symbol| Ok((symbol.name()?, symbol.address())))
        .collect::<object::Result<_>>()?)
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

/// Leaf functions, and the registers of %o2 and %o3 (10 and 11) that they must not write: nothing restores these after the call,
/// even if a device access traps.
const KEEPERS: [(&str, &[u32]); 7] = [
    ("get", &[10, 11]),
    ("set", &[10, 11]),
    ("get_hub", &[10, 11]),
    ("set_hub", &[11]),
    ("release_hub", &[11]),
    ("get_pcr", &[10, 11]),
    ("set_pcr", &[10, 11]),
];

/// Checks an image. Returns all checks with their results.
///
/// # Errors
/// The file is broken, or has no leaf functions.
pub fn check(elf: &Elf<'_>) -> anyhow::Result<Vec<Finding>> {
    let symbols = symbols(elf)?;
    let instructions = instructions(elf)?;
    let address = |name: &str| {
        let symbol = elf.symbol_by_name(name);
        symbol
            .map(|symbol| symbol.address())
            .with_context(|| format!("the image has no symbol {name}"))
    };
    let (start, end) = (address("__leaf_start")?, address("__leaf_end")?);
    anyhow::ensure!(start < end, "the image has no leaf functions");
    let leaf = || {
        instructions
            .iter()
            .filter(|(address, _)| (start..end).contains(address))
    };
    let at = |found: Option<&(u64, u32)>| found.map(|(address, _)| format!("at {address:#x}"));
    let function = |name: &str| {
        // In a mangled path: the trait, the length of the name, and the name.
        let part = format!("4Leaf{}{name}", name.len());
        let function = symbols.iter().find(|(name, _)| name.contains(&part));
        let from = function
            .map(|(_, address)| *address)
            .with_context(|| format!("the image has no leaf function {name}"))?;
        let next = symbols.iter().map(|(_, address)| *address);
        let to = next.filter(|other| *other > from).min().unwrap_or(end);
        anyhow::Ok(from..to)
    };
    let keepers = KEEPERS.map(|(name, registers)| anyhow::Ok((function(name)?, registers)));
    let keepers = keepers.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    let lost = |address: &u64, code: u32| {
        let of = keepers.iter().find(|(keeper, _)| keeper.contains(address));
        of.is_some_and(|(_, kept)| target(code).is_some_and(|target| kept.contains(&target)))
    };
    let release = function("release_hub")?.start;
    let general = address("sun4v_general")?;
    let unwanted = symbols
        .iter()
        .find(|(name, _)| UNWANTED.iter().any(|unwanted| name.contains(unwanted)));
    Ok(vec![
        (
            "image without panic machinery and allocation",
            unwanted.map(|(name, _)| format!("it has {name}")),
        ),
        (
            "image without test control",
            control(&symbols, &instructions),
        ),
        (
            "image without floating point",
            at(instructions.iter().find(|(_, code)| is_float(*code))),
        ),
        (
            "leaf path without save",
            at(leaf().find(|(_, code)| is_save(*code))),
        ),
        (
            "leaf path without call",
            at(leaf().find(|(_, code)| is_call(*code))),
        ),
        (
            "leaf path keeps %o2 and %o3",
            at(leaf().find(|(address, code)| lost(address, *code))),
        ),
        (
            "leaf path releases a hub after the store",
            (!waits(&instructions, release)).then(|| "there is no membar #Sync".into()),
        ),
        (
            "slow path calls Rust after all stores",
            (!waits_first(&instructions, general)).then(|| "there is no membar #Sync".into()),
        ),
    ])
}

/// Returns whether an image lets its guest control the machine, as only an image for tests does. Symbols and the function
/// number of the call show it.
///
/// # Errors
/// The file is broken.
pub fn has_control(elf: &Elf<'_>) -> anyhow::Result<bool> {
    Ok(control(&symbols(elf)?, &instructions(elf)?).is_some())
}

fn control(symbols: &[Symbol<'_>], instructions: &[(u64, u32)]) -> Option<String> {
    let symbol = symbols.iter().find(|(name, _)| name.contains("5sweep"));
    let upper = (sweep::control::FUNCTION >> 10) as u32;
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

/// Returns whether this is `save` or `restore`.
const fn is_save(code: u32) -> bool {
    op(code) == 2 && matches!(op3(code), 0x3c | 0x3d)
}

/// Returns whether this is `call`, or `jmpl` that writes its address to a register.
const fn is_call(code: u32) -> bool {
    op(code) == 1 || op(code) == 2 && op3(code) == 0x38 && code >> 25 & 31 != 0
}

/// `membar #Sync`
const SYNC: u32 = 0x8143_e040;

/// Returns whether `membar #Sync` comes before the first call from an address on.
fn waits_first(instructions: &[(u64, u32)], from: u64) -> bool {
    let codes = instructions
        .iter()
        .skip_while(|(address, _)| *address < from);
    let mut before = codes
        .map(|(_, code)| *code)
        .take_while(|code| !is_call(*code));
    before.any(|code| code == SYNC)
}

/// Returns whether a function is called, and every call comes after `brz,a %o0` to it with `membar #Sync` in the delay slot, which
/// is executed if the branch is taken, and `ba,a`, which is executed if not.
fn waits(instructions: &[(u64, u32)], function: u64) -> bool {
    let calls = instructions.windows(4).filter(|codes| {
        let (address, code) = codes[3];
        let distance = (code << 2) as i32;
        op(code) == 1 && address.wrapping_add_signed(distance.into()) == function
    });
    let mut before = calls
        .map(|codes| [codes[0].1, codes[1].1, codes[2].1])
        .peekable();
    before.peek().is_some()
        && before.all(|[branch, slot, other]| {
            branch == 0x22ca_0003 && slot == SYNC && other >> 19 == 0x3068_0000 >> 19
        })
}

/// Returns whether this uses floating point registers or conditions: operations, loads, stores and branches.
const fn is_float(code: u32) -> bool {
    match op(code) {
        0 => matches!(code >> 22 & 7, 5 | 6),
        2 => matches!(op3(code), 0x34 | 0x35),
        3 => matches!(op3(code), 0x20..=0x27 | 0x30..=0x37),
        _ => false,
    }
}

/// Returns the integer register that an instruction writes.
const fn target(code: u32) -> Option<u32> {
    let rd = code >> 25 & 31;
    match op(code) {
        0 if code >> 22 & 7 == 4 => Some(rd),
        // All but writes to state registers, traps, and instructions for windows.
        2 if !matches!(op3(code), 0x30..=0x33 | 0x39..=0x3b) => Some(rd),
        // All but stores; exchanges write a register.
        3 if !matches!(op3(code), 0x04..=0x07 | 0x0e | 0x14..=0x17 | 0x1e) => Some(rd),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions() {
        // save %sp, -128, %sp; restore
        assert!(is_save(0x9de3_bf80) && is_save(0x81e8_0000));
        // add %o0, -2, %o0
        assert!(!is_save(0x9002_3ffe));
        // call; jmpl %g1, %o7; retl
        assert!(is_call(0x4000_0391) && is_call(0x9fc0_4000) && !is_call(0x81c3_e008));
        // fadds %f0, %f1, %f2; ld [%g0], %f0; fba
        assert!(is_float(0x85a0_0841) && is_float(0xc100_2000) && is_float(0x1180_0002));
        // ldx [%o4 + 8], %o1; cas [%o5], %g0, %g2; prefetch
        assert!(!is_float(0xd25b_2008) && !is_float(0xc5e3_5000) && !is_float(0xc36a_2000));
    }

    #[test]
    fn a_store_is_waited_for() {
        // brz,a,pt %o0, .+12; membar #Sync; membar #StoreStore; ba,a,pt %xcc, .-64
        let (stored, sync, other, away) = (0x22ca_0003, 0x8143_e040, 0x8143_e008, 0x306f_fff0);
        // call to 0x1000, from 0xffc and from 0x101c
        let (before, behind) = (0x4000_0001, 0x7fff_fff9);
        let waits = |codes: [u32; 8]| {
            let addresses = [0xff0, 0xff4, 0xff8, 0xffc, 0x1010, 0x1014, 0x1018, 0x101c];
            let instructions: Vec<_> = addresses.into_iter().zip(codes).collect();
            super::waits(&instructions, 0x1000)
        };
        assert!(waits([
            stored, sync, away, before, stored, sync, away, behind
        ]));
        assert!(waits([
            stored, sync, away, other, stored, sync, away, behind
        ]));
        assert!(!waits([
            stored, sync, away, before, stored, other, away, behind
        ]));
        assert!(!waits([
            stored, sync, other, before, stored, sync, away, behind
        ]));
        assert!(!waits([
            other, sync, away, before, stored, sync, away, behind
        ]));
        // brz,pt: executes the delay slot on both ways; brz,a,pt to .+16.
        for branch in [0x02ca_0003, 0x22ca_0004] {
            assert!(!waits([
                branch, sync, away, before, stored, sync, away, behind
            ]));
        }
        assert!(
            !waits([stored, sync, away, behind, stored, sync, away, before]),
            "other functions"
        );
        assert!(
            !waits([stored, sync, away, sync, stored, sync, away, sync]),
            "no call"
        );
    }

    #[test]
    fn stores_are_waited_for_before_a_call() {
        // nop; membar #Sync; call
        let (nop, sync, call) = (0x0100_0000, 0x8143_e040, 0x4000_0391);
        let waits = |codes: [u32; 4]| {
            let instructions: Vec<_> = [0x10, 0x14, 0x18, 0x1c].into_iter().zip(codes).collect();
            waits_first(&instructions, 0x14)
        };
        assert!(waits([nop, nop, sync, call]));
        assert!(waits([call, sync, nop, call]));
        assert!(!waits([sync, nop, nop, call]), "before the address");
        assert!(!waits([nop, nop, call, sync]), "after the call");
    }

    #[test]
    fn control_is_found() {
        let named = |name| (name, 4);
        // sethi %hi(0x5eedc0de), %g2; the same of another number
        let (number, other) = ((4, 0x0517_bb70), (8, 0x0517_bb71));
        assert_eq!(control(&[named("_RNvNtC4Leaf3get")], &[other]), None);
        assert_eq!(
            control(&[named("_RNvNtC5sweep5apply")], &[]).unwrap(),
            "it has _RNvNtC5sweep5apply"
        );
        assert_eq!(
            control(&[], &[other, number]).unwrap(),
            "its function number is at 0x4"
        );
    }

    #[test]
    fn registers_that_are_written() {
        // ldx [%o4 + 8], %o2; add %o0, -2, %o3; sethi %hi(0x400), %o2; cas [%o5], %g0, %o2
        for code in [0xd45b_2008, 0x9602_3ffe, 0x1500_0001, 0xd5e3_5000] {
            assert!(matches!(target(code), Some(10 | 11)), "{code:#x}");
        }
        // stx %o2, [%o4]; cmp %o2, 4; ldx [%o2], %o1
        for code in [0xd473_0000, 0x80a2_a004, 0xd25a_8000] {
            assert!(!matches!(target(code), Some(10 | 11)), "{code:#x}");
        }
    }
}
