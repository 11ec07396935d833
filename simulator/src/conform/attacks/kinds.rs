//! The kinds of attacks. A kind provides each attack's program, and the outcome that the architecture requires.
//!
//! An attack takes one entry from each of a few lists, such as an instruction and an address. The attacks of a kind are all combinations of
//! such entries, and they are numbered from 0. An attack's number has one digit for each list. The digit is the index of the entry, and the
//! base of the digit is the length of the list.

use conform::random::Random;
use guest_abi::StrandId;

use super::attack::{Attack, Index, RequiredOutcome, hub};
use super::edges::{ADDRESS_COUNT, EDGES, END, OWN, SECONDS, VALUES, addresses, is_own};
use super::program::start;
use super::random;
use super::traps::{GUEST_TRAP_COUNT, TRAPS, death, level, returns};
use crate::execute::{Execution, NoMemoryAt};
use crate::interpreter::{Control, WindowState};
use conform::assembler::{
    ACCESSES, CAS, DONE, FLUSH, FLUSHW, JMPL, L1, L2, L3, L4, NOP, O0, O1, O5, PSTATE, RD, RDHPR,
    RDPR, RESTORE, RETURN, SAVE, SP, TL, TNPC, TPC, TSTATE, WR, WRHPR, WRPR, accesses, computes,
    mov, number, read_pc, sethi, trap, wrpr,
};

/// A kind of attack. Its attacks are numbered from 0.
#[derive(Debug)]
pub struct Kind {
    #[allow(missing_docs, reason = "its name says it")]
    pub name: &'static str,
    /// The number of attacks of this kind.
    pub count: usize,
    /// The short check performs every `stride`-th attack. This number is coprime to the lengths of the lists, so the short check still
    /// tries each entry of each list.
    pub stride: usize,
    /// Whether the attacking guest has rights that let it access devices.
    pub has_rights: bool,
    attack: fn(&mut Index) -> Attack,
}

const fn kind(
    name: &'static str,
    count: usize,
    stride: usize,
    attack: fn(&mut Index) -> Attack,
) -> Kind {
    Kind { name, count, stride, has_rights: false, attack }
}

const fn with_rights(kind: Kind) -> Kind {
    Kind { has_rights: true, ..kind }
}

/// Loads, stores and atomic instructions at addresses throughout the physical address space.
pub static ADDRESSES: Kind = kind("addresses", 5 * ADDRESS_COUNT, 7, address);
/// Jumps to addresses throughout the physical address space.
pub static JUMPS: Kind = kind("jumps", 4 * 2 * ADDRESS_COUNT, 11, jump);
/// Calls with invalid stack pointers.
pub static STACKS: Kind = with_rights(kind("stack pointers", EDGES.len() * 2 * 7 * 6, 5, stack));

/// All kinds of attacks that the check of an image performs.
pub static ALL: [&Kind; 12] = [
    &kind("alternate spaces", 256 * 17 * EDGES.len(), 53, space),
    &ADDRESSES,
    &JUMPS,
    &kind("registers", 6 * 32 * VALUES.len() * 2, 5, register),
    &with_rights(kind("windows", 6 * 8 * 8 * 8 * 8, 13, window)),
    &STACKS,
    &kind("trap levels", 2 * TRAPS, 3, level),
    &kind("ends of the guest", 4 * (GUEST_TRAP_COUNT + 2), 41, death),
    &with_rights(kind("returns from traps", 2 * 3 * 2 * 50, 1, returns)),
    &kind("calls", 292 * EDGES.len() * SECONDS.len() * 3, 131, call),
    &kind("changed code", 128 + 2 * 64 * 4 + 8 * 4, 3, own_code),
    &kind("at random", 5000, 13, |index| random::attack(&mut Random(index.below(5000) as u64))),
];

/// The number of the guest's first program, which only negotiates and is not an attack.
pub(super) const NEGOTIATION: usize = usize::MAX;

impl Kind {
    /// Makes one of a guest's strands begin an attack. `number` is the attack's number, which must be less than [`count`](Self::count).
    /// `strand` contains the strand's id, and the strand's number within the guest. `base` is the physical address of the guest's memory,
    /// which must have been [prepared](super::prepare). `control` is copied to the strand's privileged registers. The attack's program ends
    /// at [`ANSWERED`](crate::conform::guest::ANSWERED), or at [`CAUGHT`](super::CAUGHT) if the guest takes a trap.
    ///
    /// # Errors
    /// Fails if the machine has no memory at the address to which the program is written.
    pub fn begin(
        &self,
        execution: &mut Execution,
        strand: (StrandId, usize),
        base: u64,
        control: &Control,
        number: usize,
    ) -> Result<(), NoMemoryAt> {
        start(execution, strand, base, control, &self.attack(number))
    }

    pub(super) fn attack(&self, number: usize) -> Attack {
        if number == NEGOTIATION {
            // Negotiates version 1.1 of the performance counters.
            let words = [mov(O0, 0x205), mov(O1, 1), mov(10, 1), mov(O5, 0), trap(0xff)];
            return Attack::new(words, RequiredOutcome::Completes);
        }
        let mut index = Index(number);
        let attack = (self.attack)(&mut index);
        assert_eq!(index.0, 0, "{} has no number {number}", self.name);
        attack
    }
}

/// The opcode of `ldtw`. In some address spaces, this opcode means `ldtxa`.
const LDTW: u32 = 0x03;

/// The address spaces through which privileged software may access memory (UltraSPARC Architecture 2007, table 10-1): `ASI_NUCLEUS`,
/// `ASI_AS_IF_USER_PRIMARY`, `ASI_AS_IF_USER_SECONDARY`, `ASI_REAL`, `ASI_REAL_IO`, `ASI_PRIMARY` and `ASI_SECONDARY`, and the
/// little-endian form of each.
const MEMORY_SPACES: [u32; 14] =
    [0x04, 0x0c, 0x10, 0x11, 0x14, 0x15, 0x18, 0x19, 0x1c, 0x1d, 0x80, 0x81, 0x88, 0x89];

/// Every load, store and atomic instruction, in every address space and at each address of [`EDGES`].
fn space(index: &mut Index) -> Attack {
    let space = index.below(256) as u32;
    // The list is sorted by opcode because the order determines which attacks the short test tries.
    let mut accesses_and_cas = [&ACCESSES[..], &CAS].concat();
    accesses_and_cas.sort_unstable();
    let (op3, size) = index.one_of(&accesses_and_cas);
    let address = index.one_of(&EDGES);
    let required = match space {
        // In these spaces, `ldtw` loads two 64-bit words.
        0x22..=0x2f | 0xe2..=0xef if op3 == LDTW => RequiredOutcome::Anything,
        _ if !address.is_multiple_of(size) => RequiredOutcome::Trap(0x34),
        0x30..=0x7f => RequiredOutcome::Trap(0x37),
        _ if !MEMORY_SPACES.contains(&space) => RequiredOutcome::Anything,
        _ => reached(address),
    };
    let word = accesses(op3 | 0x10, L4, L2, space << 5);
    Attack::new([word], required).with([(L2, address)])
}

/// Returns the outcome of an access: a trap if the address is not in the guest's memory.
fn reached(address: u64) -> RequiredOutcome {
    match is_own(address) {
        true => RequiredOutcome::Completes,
        false => RequiredOutcome::Trap(0x30),
    }
}

fn address(index: &mut Index) -> Attack {
    // ldub, ldx, stx, ldstub and casx.
    let (op3, size) = index.one_of(&[(0x01, 1), (0x0b, 8), (0x0e, 8), (0x0d, 1), (0x3e, 8)]);
    let address = index.one_of(addresses());
    let required = match address % size {
        0 => reached(address),
        _ => RequiredOutcome::Trap(0x34),
    };
    let space = if op3 == 0x3e { 0x80 << 5 } else { 0 };
    Attack::new([accesses(op3, L4, L2, space)], required).with([(L2, address)])
}

/// Every instruction that jumps, to addresses throughout the physical address space.
fn jump(index: &mut Index) -> Attack {
    let way = index.below(4);
    let address = index.one_of(addresses()) & !3 | index.one_of(&[0, 2]);
    let required = match way {
        // JMPL and RETURN trap if the address is misaligned. DONE and RETRY do not, because %tpc and %tnpc have no bits 1:0.
        0 | 1 if !address.is_multiple_of(4) => RequiredOutcome::Trap(0x34),
        _ if is_own(address) => RequiredOutcome::Anything,
        _ => RequiredOutcome::Trap(0x08),
    };
    let words = match way {
        0 => vec![computes(JMPL, L4, L2, 0), NOP],
        1 => vec![computes(RETURN, 0, L2, 0), NOP],
        _ => vec![
            wrpr(TL, 1),
            sethi(L1, 0x400),
            computes(WRPR, TSTATE, L1, 0),
            computes(WRPR, TPC, L2, 0),
            computes(WRPR, TNPC, L2, 0),
            computes(DONE, way as u32 - 2, 0, 0),
        ],
    };
    let windows = WindowState { can_save: 5, can_restore: 1, ..WindowState::new() };
    Attack { windows, ..Attack::new(words, required).with([(L2, address)]) }
}

/// Reads or writes a control register at trap level 0 or 1, and then makes a call. The attacks cover all register numbers.
fn register(index: &mut Index) -> Attack {
    let op3 = index.one_of(&[RD, WR, RDPR, WRPR, RDHPR, WRHPR]);
    let register = index.below(32) as u32;
    let value = index.one_of(&VALUES);
    let level = index.below(2) as u64;
    const NONE: RequiredOutcome = RequiredOutcome::Trap(0x10);
    // The required outcomes are from UltraSPARC Architecture 2007, chapter 7: RDasr, WRasr, RDPR, WRPR, RDHPR and WRHPR.
    let required = match (op3, register) {
        (RDHPR | WRHPR, _) => NONE,
        // Trap level 0 has no trap registers.
        (RDPR | WRPR, 0..=3) if level == 0 => NONE,
        // %tick belongs to the hypervisor.
        (WRPR, 4) => NONE,
        // The write may end privileged mode.
        (WRPR, PSTATE) => RequiredOutcome::Anything,
        (RDPR | WRPR, 15 | 17..) => NONE,
        (RDPR | WRPR, _) => RequiredOutcome::Completes,
        (_, 19) => RequiredOutcome::Trap(0x20),
        (RD, 0 | 2..=6 | 16 | 17 | 22..=25) => RequiredOutcome::Completes,
        (WR, 0 | 2 | 3 | 6 | 16 | 17 | 20..=23 | 25) => RequiredOutcome::Completes,
        _ => NONE,
    };
    let is_read = matches!(op3, RD | RDPR | RDHPR);
    let word = match is_read {
        true => computes(op3, L4, register, 0),
        false => computes(op3, register, L3, 0),
    };
    let words = [&[word], &CPU_STATE[..]].concat();
    Attack::new(words, required).with([(L3, value)]).at(level)
}

const CPU_STATE: [u32; 3] = [mov(O0, 0), mov(O5, 0x17), trap(0x80)];

/// Sets the window counts to every combination of values, and then executes an instruction that uses windows. Correct software never
/// produces most of these combinations.
fn window(index: &mut Index) -> Attack {
    let [can_save, can_restore, other, clean] = [(); 4].map(|()| index.below(8) as u8);
    let way = index.below(6);
    let mixed = usize::from(can_save + 3 * can_restore + 5 * other) + 7 * usize::from(clean) + way;
    let state = (mixed * 11 % 64) as u8;
    let chosen = u16::from(if other == 0 { state & 7 } else { state >> 3 });
    let handler = u16::from(other != 0) * 0x20 + 4 * chosen;
    // The required outcomes are from UltraSPARC Architecture 2007, section 5.6 and chapter 7: SAVE, RESTORE, RETURN and FLUSHW.
    let required = match way {
        0 if can_save == 0 => RequiredOutcome::Trap(0x80 + handler),
        0 if clean == can_restore => RequiredOutcome::Trap(0x24),
        1 | 2 if can_restore == 0 => RequiredOutcome::Trap(0xc0 + handler),
        3 if can_save != 6 => RequiredOutcome::Trap(0x80 + handler),
        _ => RequiredOutcome::Completes,
    };
    let words = match way {
        0 => vec![computes(SAVE, SP, SP, number(0x1f40))],
        1 => vec![computes(RESTORE, 0, 0, 0)],
        2 => vec![read_pc(L2), computes(RETURN, 0, L2, number(12)), NOP],
        3 => vec![computes(FLUSHW, 0, 0, 0)],
        4 => CPU_STATE.into(),
        _ => hub(),
    };
    Attack {
        windows: WindowState { can_save, can_restore, other, clean, state },
        window: mixed % 8,
        ..Attack::new(words, required).with([(L2, OWN)])
    }
}

/// Sets an invalid stack pointer, and then makes a call during which the hypervisor must spill windows.
fn stack(index: &mut Index) -> Attack {
    // The hypervisor stores a window 2047 bytes above the stack pointer.
    let stack = index.one_of(&EDGES).wrapping_sub(index.one_of(&[0, 2047]));
    let can_save = index.below(7) as u8;
    let words = match index.below(6) {
        0 => CPU_STATE.into(),
        1 => hub(),
        // Case 2 calls api_set_version. The next cases make a performance counter call with an invalid register, call cons_write for 0
        // bytes, and use a trap that has no service.
        2 => vec![mov(O0, 1), mov(O1, 1), mov(10, 0), mov(O5, 0), trap(0xff)],
        3 => vec![mov(O0, 90), mov(O5, 0x106), trap(0x80)],
        4 => vec![mov(O1, 0), mov(O5, 0x63), trap(0x80)],
        _ => vec![trap(0x84)],
    };
    Attack {
        windows: WindowState { can_save, can_restore: 6 - can_save, ..WindowState::new() },
        stack: Some(stack),
        ..Attack::new(words, RequiredOutcome::Completes).with([(L2, OWN)])
    }
}

/// Calls every function of both traps at every trap level, with addresses from [`EDGES`] as arguments. Omits functions that end the guest
/// or stop a CPU.
fn call(index: &mut Index) -> Attack {
    let (trap_number, function) = match index.below(292) as u64 {
        // Functions 0x00, 0x11 and 0x12 are exit, cpu_stop and cpu_yield.
        0x00 | 0x11 | 0x12 => (0x80, u64::MAX),
        fast @ ..0x11e => (0x80, fast),
        // Function 2 of trap 0xff is exit.
        other => match other - 0x11e {
            2 => (0xff, u64::MAX),
            core => (0xff, core),
        },
    };
    let (first, second) = (index.one_of(&EDGES), index.one_of(&SECONDS));
    let level = index.below(3) as u64;
    let third = EDGES[(function as usize % 26 + first as usize % 26) % 26];
    let arguments = [first, second, third, third, second, function];
    let required = RequiredOutcome::Completes;
    let attack = Attack::new([trap(trap_number)], required);
    attack.with((O0..).zip(arguments)).at(level)
}

/// A program that changes its own next instruction. The new instructions include every software trap that a guest may use, and instructions
/// in all other formats.
fn own_code(index: &mut Index) -> Attack {
    let (word, required) = match index.below(128 + 512 + 32) as u32 {
        software @ ..128 => (trap(software), RequiredOutcome::Trap(0x100 + software as u16)),
        other @ ..640 => {
            let (op3, form) = (other / 8 % 64, other % 8);
            let (rd, second) = ([0, L4][form as usize % 2], [0, number(0)][form as usize / 2 % 2]);
            let word = match form / 4 {
                0 => computes(op3, rd, L2, second),
                _ => accesses(op3, rd, L2, second),
            };
            (word, RequiredOutcome::Anything)
        }
        branch => ((branch % 8) << 22 | (branch / 8 % 4) << 28 | 2, RequiredOutcome::Anything),
    };
    let words = [read_pc(L1), accesses(0x04, L3, L1, number(12)), FLUSH, NOP, NOP];
    Attack::new(words, required).with([(L2, END - 8), (L3, word.into())])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn windows_have_every_state() {
        let states = (0..8 * 8 * 8 * 8 * 6).map(|number| window(&mut Index(number)).windows.state);
        assert_eq!(states.collect::<BTreeSet<u8>>(), (0..64).collect());
    }
}
