//! Trap names, for people who do not know the trap numbers.

/// Returns a plain English name for trap type `tt` of UltraSPARC Architecture 2007; `None` if this function has no name for the type.
#[must_use]
pub const fn trap_name(tt: u64) -> Option<&'static str> {
    Some(match tt {
        0x08 => "instruction access exception",
        0x0a => "instruction access error",
        0x10 => "illegal instruction",
        0x11 => "privileged instruction",
        0x12 => "unimplemented load",
        0x13 => "unimplemented store",
        0x20 => "floating point is off",
        0x21 | 0x22 => "floating-point exception",
        0x23 => "tag overflow",
        0x24..=0x27 => "clean window",
        0x28 => "division by zero",
        0x30 => "data access exception",
        0x32 => "data access error",
        0x34..=0x36 | 0x38 | 0x39 => "memory address not aligned",
        0x37 => "privileged action",
        0x3e => "no translation of an instruction's address",
        0x3f => "no translation of a datum's address",
        0x41..=0x4f => "interrupt",
        0x80..=0xbf => "window spill",
        0xc0..=0xff => "window fill",
        0x100..=0x17f => "software trap",
        _ => return None,
    })
}
