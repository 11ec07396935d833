//! The guest's memory, the address at which the strand enters the guest, and the traps that the guest takes itself.
#![allow(unsafe_code)]

use core::arch::asm;

use super::block::Bounds;
use super::{FatalTrap, StrandBlock, layout};

/// Where and how a strand enters its guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Entry {
    /// The real address of the first instruction. The guest also finds this address in %o1.
    pub address: u64,
    /// The value that the guest finds in %o0.
    pub argument: u64,
    /// The guest's trap table (%tba), a multiple of 32 KiB.
    pub table: u64,
}

impl Entry {
    /// Returns the entry for a guest's first strand: the argument is the address itself, and there is no trap table.
    #[must_use]
    pub const fn first(address: u64) -> Self {
        Self { address, argument: address, table: 0 }
    }
}

/// A guest's memory: a range of real addresses, and its location in physical memory. `real`, `physical` and `bytes` are multiples of 8 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The first real address of the memory.
    pub real: u64,
    /// The physical address of the first real address.
    pub physical: u64,
    /// The size of the memory in bytes.
    pub bytes: u64,
    /// The number, 0 to 7, that distinguishes this guest's entries in the TLBs that a core's strands share.
    pub id: u8,
}

impl Partition {
    /// No memory. The strand ends at every access that needs a translation, and at each trap that a guest with memory takes itself.
    pub const NONE: Self = Self { real: 0, physical: 0, bytes: 0, id: 0 };

    /// Returns the physical address of the `bytes` bytes at a real address; `None` if some of them are outside the memory.
    #[must_use]
    pub const fn physical(&self, real: u64, bytes: u64) -> Option<u64> {
        let offset = real.wrapping_sub(self.real);
        match self.bytes.checked_sub(bytes) {
            Some(last) if real >= self.real && offset <= last => Some(self.physical + offset),
            _ => None,
        }
    }

    /// Returns the bounds of the memory, with the largest pages that its addresses and size allow.
    fn bounds(self) -> Bounds {
        let zeros = (self.real | self.physical | self.bytes).trailing_zeros();
        let Some((shift, size)) = PAGES.into_iter().find(|(shift, _)| *shift <= zeros) else {
            return Bounds::default();
        };
        Bounds {
            real: self.real,
            bytes: self.bytes,
            page: (1 << shift) - 1,
            entry: VALID | CACHEABLE | EXECUTABLE | WRITABLE | size | self.physical,
        }
    }
}

/// Bits of a TLB entry (UltraSPARC Architecture 2007, "Translation Table Entry"): valid; cacheable, physically and virtually; executable;
/// writable. The page size is in bits 3:0.
const VALID: u64 = 1 << 63;
const CACHEABLE: u64 = 1 << 10 | 1 << 9;
const EXECUTABLE: u64 = 1 << 7;
const WRITABLE: u64 = 1 << 6;

/// The page sizes of an UltraSPARC T2, as powers of two, and their codes in a TLB entry.
const PAGES: [(u32, u64); 4] = [(28, 5), (22, 3), (16, 1), (13, 0)];

/// Sets the bounds of the guest's memory for a strand, and the guest's id in the strand's TLB entries.
pub(super) fn bound<H>(block: &StrandBlock<H>, partition: Partition) {
    block.bounds.set(partition.bounds());
    // SAFETY: the register selects the TLB entries for this strand's guest. Hyperprivileged addresses are not translated.
    unsafe {
        asm!("stxa {id}, [{place}] 0x58", "membar #Sync", id = in(reg) u64::from(partition.id), place = in(reg) 0x80,
            options(nostack, preserves_flags));
    }
}

/// A guest's highest trap level (TL).
const MAX_PTL: u64 = 2;
/// A guest's highest global level (GL).
const MAX_PGL: u64 = 2;

/// Returns the type of the trap that the guest [takes](super#traps-of-the-guest) in place of a trap that has entered the hypervisor; `None`
/// if guests do not take such a trap.
const fn reflected(trap_type: u64) -> Option<u64> {
    match trap_type {
        0x3e => Some(0x08),
        0x3f => Some(0x30),
        0x08 | 0x0b | 0x10 | 0x12..=0x17 | 0x30 | 0x34..=0x39 => Some(trap_type),
        _ => None,
    }
}

/// Lets the guest itself take a trap that has entered the hypervisor. Returns `false` and does nothing in three cases: guests do not take
/// traps of this type, the guest's trap level would be too high, or the guest's trap table is not in the guest's memory.
///
/// Afterwards, a `retry` at the next trap level enters the guest's trap table, at the level of the trap.
pub(super) fn reflect<H>(block: &StrandBlock<H>, trap: &mut FatalTrap) -> bool {
    const TLE: u64 = 1 << 8;
    const CLE: u64 = 1 << 9;
    const MODEL: u64 = 3 << 6;
    let Some(trap_type) = reflected(trap.tt) else {
        return false;
    };
    let table: u64;
    // SAFETY: a read of %tba changes nothing.
    unsafe {
        asm!("rdpr %tba, {table}", table = out(reg) table, options(nomem, nostack, preserves_flags));
    }
    let Bounds { real, bytes, .. } = block.bounds.get();
    if trap.tl > MAX_PTL || table.wrapping_sub(real) >= bytes {
        return false;
    }
    let before = trap.tstate >> 8;
    let order = if before & TLE == 0 { 0 } else { TLE | CLE };
    let pstate = super::PSTATE as u64 | before & MODEL | order;
    let globals = (trap.tstate >> layout::GL_SHIFT & 7) + 1;
    let globals = if globals < MAX_PGL { globals } else { MAX_PGL };
    // %ccr, %asi and the window do not change.
    let kept = trap.tstate & (0xffff << 24 | 0x1f);
    let tstate = globals << layout::GL_SHIFT | kept | pstate << 8;
    // SAFETY: only the guest's trap and the level above it change. No trap uses that level, and only guest values stay in it.
    unsafe {
        asm!(
            "wrpr {trap_type}, 0, %tt",
            "wrpr {level}, 0, %tl",
            "wrpr {tstate}, 0, %tstate",
            "wrpr %g0, 0, %tt",
            ".word {CLEAR_HTSTATE}",
            trap_type = in(reg) trap_type,
            level = in(reg) trap.tl + 1,
            tstate = in(reg) tstate,
            CLEAR_HTSTATE = const layout::CLEAR_HTSTATE,
            options(nostack, preserves_flags),
        );
    }
    let above = if trap.tl > 1 { 1 << 14 } else { 0 };
    trap.resume_at(table | above | trap_type << 5);
    true
}
