//! A hypervisor that leaves values in registers. The guest's probe must find them.

use core::arch::asm;

/// Puts a mark into a window that the slow path does not clear, and into the level 1 globals.
pub fn leave_a_mark() {
    // SAFETY: the hypervisor does not use the marked registers. Afterwards, the code selects the previous window and the previous level of
    // globals.
    unsafe {
        asm!(
            "save %sp, -192, %sp",
            "rdpr %cwp, %g2",
            "add %g2, {beyond}, %g3",
            "and %g3, 7, %g3",
            "wrpr %g3, 0, %cwp",
            "mov 0x5e, %l3",
            "wrpr %g2, 0, %cwp",
            "wrpr %g0, 1, %gl",
            "mov 0x6f, %g5",
            "wrpr %g0, {maxgl}, %gl",
            "restore",
            beyond = const 4,
            maxgl = const platform::sparc64::MAXGL,
            out("g2") _,
            out("g3") _,
        );
    }
}
