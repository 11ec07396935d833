//! What only assembly can look at: registers, windows and levels around a trap.

/// What [`around_fast`] and [`around_core`] find behind the trap.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    pub o: [u64; 8],
    pub l: [u64; 8],
    pub i: [u64; 4],
    pub g: [u64; 8],
    /// CWP, CANSAVE, CANRESTORE, OTHERWIN, CLEANWIN, WSTATE, PSTATE, PIL, TL, GL, %y, %asi, %ccr: before the trap.
    pub before: [u64; 13],
    /// The same behind it.
    pub after: [u64; 13],
}

/// What the trap left in the windows that were free, and in the globals of levels 1 and 2: every bit that was 0 before.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    pub windows: u64,
    pub globals: u64,
}

/// What a call above TL 0 saw.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtLevel {
    pub status: u64,
    pub value: u64,
    /// TL behind the trap.
    pub tl: u64,
    /// GL there in bits 7:0, and from bit 8 on %g1, which was 0x77.
    pub gl: u64,
}

/// What a call with an unusual PSTATE saw.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithPstate {
    pub value: u64,
    /// The bits that are still inverted behind the trap.
    pub inverted: u64,
}

unsafe extern "C" {
    /// Traps with these in %o0 to %o5, and a pattern in every other register.
    pub fn around_fast(o: &[u64; 6], around: &mut Around);
    pub fn around_core(o: &[u64; 6], around: &mut Around);
    /// Traps with these in %o0, %o1 and %o5, and six free windows.
    pub fn left_fast(o0: u64, o1: u64, function: u64) -> Left;
    pub fn left_core(o0: u64, o1: u64, function: u64) -> Left;
    /// Traps twice at each of `depth` + 1 depths, with `sp` as the stack pointer. The bits of locals that changed.
    pub fn deep_fast(depth: u64, function: u64, o0: u64, sp: u64) -> u64;
    pub fn deep_core(depth: u64, function: u64, o0: u64, sp: u64) -> u64;
    /// Traps at this TL and GL.
    pub fn at_level(o0: u64, o1: u64, function: u64, level: u64) -> AtLevel;
    /// Traps with these bits of PSTATE inverted.
    pub fn with_pstate(o0: u64, function: u64, bits: u64) -> WithPstate;
    /// %tick around a trap.
    pub fn ticks_fast(o0: u64, o1: u64, function: u64) -> u64;
    pub fn ticks_core(o0: u64, o1: u64, function: u64) -> u64;
    /// %tick around nothing.
    pub fn ticks_none() -> u64;
}

macro_rules! around {
    ($name:literal, $trap:literal) => {
        core::arch::global_asm!(
            concat!(".section .text\n.globl ", $name, "\n", $name, ":"),
            "
            save %sp, -192, %sp
            set 0x101, %l0
            set 0x111, %l1
            set 0x121, %l2
            set 0x131, %l3
            set 0x141, %l4
            set 0x151, %l5
            set 0x161, %l6
            set 0x171, %l7
            set 0x102, %i2
            set 0x112, %i3
            set 0x122, %i4
            set 0x132, %i5
            wr %g0, 0x55, %y
            wr %g0, 0x82, %asi
            rdpr %cwp, %g1
            stx %g1, [%i1 + 224]
            rdpr %cansave, %g1
            stx %g1, [%i1 + 232]
            rdpr %canrestore, %g1
            stx %g1, [%i1 + 240]
            rdpr %otherwin, %g1
            stx %g1, [%i1 + 248]
            rdpr %cleanwin, %g1
            stx %g1, [%i1 + 256]
            rdpr %wstate, %g1
            stx %g1, [%i1 + 264]
            rdpr %pstate, %g1
            stx %g1, [%i1 + 272]
            rdpr %pil, %g1
            stx %g1, [%i1 + 280]
            rdpr %tl, %g1
            stx %g1, [%i1 + 288]
            rdpr %gl, %g1
            stx %g1, [%i1 + 296]
            rd %y, %g1
            stx %g1, [%i1 + 304]
            rd %asi, %g1
            stx %g1, [%i1 + 312]
            wr %g0, 0x5a, %ccr
            rd %ccr, %g1
            stx %g1, [%i1 + 320]
            ldx [%i0 + 0], %o0
            ldx [%i0 + 8], %o1
            ldx [%i0 + 16], %o2
            ldx [%i0 + 24], %o3
            ldx [%i0 + 32], %o4
            ldx [%i0 + 40], %o5
            mov 0x173, %o7
            mov 0x114, %g1
            mov 0x124, %g2
            mov 0x134, %g3
            mov 0x144, %g4
            mov 0x154, %g5
            mov 0x164, %g6
            mov 0x174, %g7
            ",
            concat!("ta ", $trap),
            "
            stx %o0, [%i1 + 0]
            stx %o1, [%i1 + 8]
            stx %o2, [%i1 + 16]
            stx %o3, [%i1 + 24]
            stx %o4, [%i1 + 32]
            stx %o5, [%i1 + 40]
            sub %fp, %sp, %o0
            stx %o0, [%i1 + 48]
            stx %o7, [%i1 + 56]
            stx %l0, [%i1 + 64]
            stx %l1, [%i1 + 72]
            stx %l2, [%i1 + 80]
            stx %l3, [%i1 + 88]
            stx %l4, [%i1 + 96]
            stx %l5, [%i1 + 104]
            stx %l6, [%i1 + 112]
            stx %l7, [%i1 + 120]
            stx %i2, [%i1 + 128]
            stx %i3, [%i1 + 136]
            stx %i4, [%i1 + 144]
            stx %i5, [%i1 + 152]
            stx %g0, [%i1 + 160]
            stx %g1, [%i1 + 168]
            stx %g2, [%i1 + 176]
            stx %g3, [%i1 + 184]
            stx %g4, [%i1 + 192]
            stx %g5, [%i1 + 200]
            stx %g6, [%i1 + 208]
            stx %g7, [%i1 + 216]
            rd %ccr, %g1
            stx %g1, [%i1 + 424]
            rdpr %cwp, %g1
            stx %g1, [%i1 + 328]
            rdpr %cansave, %g1
            stx %g1, [%i1 + 336]
            rdpr %canrestore, %g1
            stx %g1, [%i1 + 344]
            rdpr %otherwin, %g1
            stx %g1, [%i1 + 352]
            rdpr %cleanwin, %g1
            stx %g1, [%i1 + 360]
            rdpr %wstate, %g1
            stx %g1, [%i1 + 368]
            rdpr %pstate, %g1
            stx %g1, [%i1 + 376]
            rdpr %pil, %g1
            stx %g1, [%i1 + 384]
            rdpr %tl, %g1
            stx %g1, [%i1 + 392]
            rdpr %gl, %g1
            stx %g1, [%i1 + 400]
            rd %y, %g1
            stx %g1, [%i1 + 408]
            rd %asi, %g1
            stx %g1, [%i1 + 416]
            ret
             restore
            ",
        );
    };
}
around!("around_fast", "0x80");
around!("around_core", "0xff");

macro_rules! left {
    ($name:literal, $trap:literal) => {
        core::arch::global_asm!(
            concat!(".section .text\n.globl ", $name, "\n", $name, ":"),
            "
            save %sp, -192, %sp
            flushw
            rdpr %cleanwin, %i5
            wrpr %g0, 7, %cleanwin
            rdpr %cwp, %g1
            mov 7, %g2
            mov %g1, %g3
    1:      inc %g3
            and %g3, 7, %g3
            wrpr %g3, 0, %cwp
            clr %l0
            clr %l1
            clr %l2
            clr %l3
            clr %l4
            clr %l5
            clr %l6
            clr %l7
            subcc %g2, 1, %g2
            be,pn %icc, 2f
             nop
            clr %o0
            clr %o1
            clr %o2
            clr %o3
            clr %o4
            clr %o5
            clr %o6
            ba,pt %xcc, 1b
             clr %o7
    2:      wrpr %g1, 0, %cwp
            mov %g1, %i4
            .irp level, 1, 2
            wrpr %g0, \\level, %gl
            clr %g1
            clr %g2
            clr %g3
            clr %g4
            clr %g5
            clr %g6
            clr %g7
            .endr
            wrpr %g0, 0, %gl
            mov %i0, %o0
            mov %i1, %o1
            mov 0x12, %o2
            mov 0x13, %o3
            mov 0x14, %o4
            mov %i2, %o5
            ",
            concat!("ta ", $trap),
            "
            clr %i1
            .irp level, 1, 2
            wrpr %g0, \\level, %gl
            or %i1, %g1, %i1
            or %i1, %g2, %i1
            or %i1, %g3, %i1
            or %i1, %g4, %i1
            or %i1, %g5, %i1
            or %i1, %g6, %i1
            or %i1, %g7, %i1
            .endr
            wrpr %g0, 0, %gl
            clr %g4
            rdpr %cwp, %g1
            mov 7, %g2
            mov %g1, %g3
    3:      inc %g3
            and %g3, 7, %g3
            wrpr %g3, 0, %cwp
            or %g4, %l0, %g4
            or %g4, %l1, %g4
            or %g4, %l2, %g4
            or %g4, %l3, %g4
            or %g4, %l4, %g4
            or %g4, %l5, %g4
            or %g4, %l6, %g4
            or %g4, %l7, %g4
            subcc %g2, 1, %g2
            be,pn %icc, 4f
             nop
            or %g4, %o0, %g4
            or %g4, %o1, %g4
            or %g4, %o2, %g4
            or %g4, %o3, %g4
            or %g4, %o4, %g4
            or %g4, %o5, %g4
            or %g4, %o6, %g4
            ba,pt %xcc, 3b
             or %g4, %o7, %g4
    4:      wrpr %g1, 0, %cwp
            mov %g4, %i0
            wrpr %i5, 0, %cleanwin
            ret
             restore
            ",
        );
    };
}
left!("left_fast", "0x80");
left!("left_core", "0xff");

macro_rules! deep {
    ($name:literal, $trap:literal) => {
        core::arch::global_asm!(
            concat!(".section .text\n.globl ", $name, "\n", $name, ":"),
            "
            save %sp, -192, %sp
            sllx %i0, 8, %l7
            add %l7, 0x10, %l0
            add %l7, 0x11, %l1
            add %l7, 0x12, %l2
            add %l7, 0x13, %l3
            add %l7, 0x14, %l4
            add %l7, 0x15, %l5
            add %l7, 0x16, %l6
            clr %i5
            mov %i2, %o0
            mov %i1, %o5
            mov %sp, %i4
            mov %i3, %sp
            ",
            concat!("ta ", $trap),
            "
            xor %sp, %i3, %o1
            or %i5, %o1, %i5
            mov %i4, %sp
            brz,pn %i0, 1f
             sub %i0, 1, %o0
            mov %i1, %o1
            mov %i2, %o2
            ",
            concat!("call ", $name),
            "
             mov %i3, %o3
            or %i5, %o0, %i5
    1:      mov %i2, %o0
            mov %i1, %o5
            mov %i3, %sp
            ",
            concat!("ta ", $trap),
            "
            mov %i4, %sp
            sllx %i0, 8, %o0
            xor %o0, %l7, %o1
            or %i5, %o1, %i5
            add %o0, 0x10, %o1
            xor %o1, %l0, %o1
            or %i5, %o1, %i5
            add %o0, 0x11, %o1
            xor %o1, %l1, %o1
            or %i5, %o1, %i5
            add %o0, 0x12, %o1
            xor %o1, %l2, %o1
            or %i5, %o1, %i5
            add %o0, 0x13, %o1
            xor %o1, %l3, %o1
            or %i5, %o1, %i5
            add %o0, 0x14, %o1
            xor %o1, %l4, %o1
            or %i5, %o1, %i5
            add %o0, 0x15, %o1
            xor %o1, %l5, %o1
            or %i5, %o1, %i5
            add %o0, 0x16, %o1
            xor %o1, %l6, %o1
            or %i5, %o1, %i5
            ret
             restore %i5, 0, %o0
            ",
        );
    };
}
deep!("deep_fast", "0x80");
deep!("deep_core", "0xff");

macro_rules! ticks {
    ($name:literal, $trap:literal) => {
        core::arch::global_asm!(
            concat!(".section .text\n.globl ", $name, "\n", $name, ":"),
            "
            mov %o2, %o5
            rd %tick, %g1
            ",
            concat!("ta ", $trap),
            "
            rd %tick, %g2
            retl
             sub %g2, %g1, %o0
            ",
        );
    };
}
ticks!("ticks_fast", "0x80");
ticks!("ticks_core", "0xff");

core::arch::global_asm!(
    "
        .section .text
        .globl ticks_none
ticks_none:
        rd %tick, %g1
        rd %tick, %g2
        retl
         sub %g2, %g1, %o0

        .globl at_level
at_level:
        mov %o2, %o5
        wrpr %o3, 0, %tl
        wrpr %o3, 0, %gl
        mov 0x77, %g1
        ta 0x80
        sllx %g1, 8, %o3
        rdpr %gl, %o2
        or %o3, %o2, %o3
        rdpr %tl, %o2
        wrpr %g0, 0, %tl
        wrpr %g0, 0, %gl
        retl
         nop

        .globl with_pstate
with_pstate:
        mov %o1, %o5
        mov %o2, %g3
        rdpr %pstate, %g2
        wrpr %g2, %g3, %pstate
        ta 0x80
        rdpr %pstate, %g4
        wrpr %g2, 0, %pstate
        mov %o1, %o0
        retl
         xor %g4, %g2, %o1
    ",
);
