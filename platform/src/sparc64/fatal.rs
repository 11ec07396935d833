//! A trap that ends the strand, with the registers of the program that trapped.

use core::fmt;

use super::{MAXGL, NWINDOWS};

/// A trap that nothing handles. Its `Display` has several lines: the trap and its address, then the registers of the program that trapped.
/// The register windows of the program's callers follow, unless they have been spilled to memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct FatalTrap {
    /// The trap type (%tt).
    pub tt: u64,
    /// The address of the instruction that trapped (%tpc).
    pub tpc: u64,
    /// The address of the instruction that would have followed (%tnpc).
    pub tnpc: u64,
    /// The state of the program that trapped (%tstate): GL in bits 42:40, the window in bits 4:0.
    pub tstate: u64,
    /// HTSTATE: bit 2 is set if the program was the hypervisor.
    pub htstate: u64,
    /// The trap level after the trap (%tl).
    pub tl: u64,
    /// The number of callers' windows that are in registers (%canrestore).
    pub canrestore: u64,
    /// %g0 to %g7 at the global level (GL) that the program used. In the hypervisor, %g6 is the address of the strand's block.
    pub globals: [u64; 8],
    /// %l0 to %l7 and %i0 to %i7 of each window.
    pub windows: [[u64; 16]; NWINDOWS],
}

impl FatalTrap {
    /// Returns `true` if the hypervisor trapped; `false` if its guest trapped. Only HTSTATE shows reliably which of the two trapped: a
    /// guest may jump to any address, and a hypervisor trap handler sets GL only in its second instruction. QEMU has no HTSTATE, so on QEMU
    /// GL decides.
    #[must_use]
    pub const fn is_in_hypervisor(&self) -> bool {
        self.htstate & HPRIV != 0 || self.tstate >> GL_SHIFT & 7 == MAXGL as u64
    }

    /// Returns `true` if the hypervisor has trapped in a spill of "other" windows, because its
    /// [`TrapHandler::trap`](super::TrapHandler::trap) needs more than [`WINDOWS`](super::WINDOWS) register windows.
    #[must_use]
    pub const fn is_out_of_windows(&self) -> bool {
        self.is_in_hypervisor() && matches!(self.tt, 0xa0..=0xbf)
    }

    /// Returns %l0 to %l7 and %i0 to %i7 of the window that is `calls` calls above the program's own.
    const fn window(&self, calls: usize) -> &[u64; 16] {
        &self.windows[(self.tstate as usize).wrapping_sub(calls) % NWINDOWS]
    }

    /// Returns the registers that a mailbox record holds: %tt, %tpc, %tnpc, %tstate, HTSTATE and %tl, then %g1 to %g7, then %o0 to %o7.
    #[must_use]
    pub fn registers(&self) -> [u64; 21] {
        let Self { tt, tpc, tnpc, tstate, htstate, tl, .. } = *self;
        let [_, g1, g2, g3, g4, g5, g6, g7] = self.globals;
        let [.., o0, o1, o2, o3, o4, o5, o6, o7] = *self.window(NWINDOWS - 1);
        [
            tt, tpc, tnpc, tstate, htstate, tl, g1, g2, g3, g4, g5, g6, g7, o0, o1, o2, o3, o4, o5,
            o6, o7,
        ]
    }

    /// Returns the program's %o0 to %o7.
    pub(super) const fn outs_mut(&mut self) -> &mut [u64; 8] {
        // The callee's %i registers are the caller's %o registers.
        let callee = &mut self.windows[(self.tstate as usize).wrapping_add(1) % NWINDOWS];
        let [_, _, _, _, _, _, _, _, outs @ ..] = callee;
        outs
    }

    /// Makes the program that trapped continue at this address.
    pub(super) const fn resume_at(&mut self, address: u64) {
        self.tpc = address;
        self.tnpc = address.wrapping_add(4);
    }
}

/// HTSTATE.HPRIV: set if the interrupted code is the hypervisor's.
pub(super) const HPRIV: u64 = 1 << 2;

/// The lowest bit of GL in %tstate.
pub(super) const GL_SHIFT: usize = 40;

impl fmt::Display for FatalTrap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tt, tpc, tl, .. } = self;
        let windows = if self.is_out_of_windows() { ", out of register windows" } else { "" };
        writeln!(f, "trap {tt:#x} at {tpc:#x}, TL {tl}{windows}")?;
        let Self { tnpc, tstate, .. } = self;
        writeln!(f, "%tpc {tpc:016x}  %tnpc {tnpc:016x}  %tstate {tstate:016x}")?;
        row(f, 'g', &self.globals)?;
        let (_, outs) = halves(self.window(NWINDOWS - 1));
        row(f, 'o', outs)?;
        for calls in 0..=(self.canrestore as usize).min(NWINDOWS - 2) {
            if calls > 0 {
                writeln!(f, "called from:")?;
            }
            let (locals, ins) = halves(self.window(calls));
            row(f, 'l', locals)?;
            row(f, 'i', ins)?;
        }
        Ok(())
    }
}

fn halves(window: &[u64; 16]) -> (&[u64], &[u64]) {
    window.split_at(8)
}

/// Writes registers 0 to 7 of a set, such as %g0 to %g7, on two lines.
fn row(f: &mut fmt::Formatter<'_>, name: char, registers: &[u64]) -> fmt::Result {
    for (number, register) in registers.iter().enumerate() {
        if number % 4 == 0 {
            write!(f, "%{name}{number}")?;
        }
        write!(f, " {register:016x}")?;
        if number % 4 == 3 {
            writeln!(f)?;
        }
    }
    Ok(())
}
