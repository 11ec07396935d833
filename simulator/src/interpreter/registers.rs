//! The integer registers: windows and globals (UltraSPARC Architecture 2007, section 5.2).

use super::instruction::Register;
use super::word::Word;

/// The number of a strand's register windows.
pub const WINDOWS: usize = 8;

/// The number of sets of global registers. %gl selects one.
const GLOBALS: usize = 4;

/// A strand's integer registers, in all windows and all sets of globals. By default, all are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers<W = u64> {
    /// The current %g0-%g7, %o0-%o7, %l0-%l7 and %i0-%i7. `windows` and `globals` hold stale copies of them.
    current: [W; 32],
    /// Each window's locals and ins. A window's outs are the next window's ins.
    windows: [[W; 16]; WINDOWS],
    globals: [[W; 8]; GLOBALS],
    /// The current window (%cwp). The field `global` is the current set of globals (%gl).
    window: usize,
    global: usize,
}

impl<W: Word> Registers<W> {
    /// Returns a register's value in the current window and set of globals.
    #[inline(always)]
    pub const fn get(&self, register: Register) -> W {
        self.current[register.index()]
    }

    /// Writes a register in the current window and set of globals. A write to %g0 has no effect.
    #[inline(always)]
    pub fn set(&mut self, register: Register, value: W) {
        self.current[register.index()] = value;
        self.current[0] = W::from(0);
    }

    /// Returns the current window's number, 0 to 7.
    pub const fn window(&self) -> usize {
        self.window
    }

    /// Selects the window with index `window` modulo [`WINDOWS`].
    pub fn set_window(&mut self, window: usize) {
        let (old, new) = (self.window, window % WINDOWS);
        if old == new {
            return;
        }
        let [.., outs, locals, ins] = eights(&mut self.current);
        self.windows[old] = joined(locals, ins);
        self.windows[(old + 1) % WINDOWS][8..].copy_from_slice(outs);
        let (new_locals, new_ins) = self.windows[new].split_at(8);
        locals.copy_from_slice(new_locals);
        ins.copy_from_slice(new_ins);
        outs.copy_from_slice(&self.windows[(new + 1) % WINDOWS][8..]);
        self.window = new;
    }

    /// Returns the number of the current set of globals, 0 to 3.
    pub const fn global(&self) -> usize {
        self.global
    }

    /// Selects the set of globals with index `global`, or the last set if there is no such set.
    pub fn set_global(&mut self, global: usize) {
        let [globals, ..] = eights(&mut self.current);
        self.globals[self.global] = *globals;
        self.global = global.min(GLOBALS - 1);
        *globals = self.globals[self.global];
    }

    /// Converts the registers to another kind of word. The values stay the same.
    pub(super) fn lifted<V: Word + From<W>>(&self) -> Registers<V> {
        Registers {
            current: self.current.map(V::from),
            windows: self.windows.map(|window| window.map(V::from)),
            globals: self.globals.map(|globals| globals.map(V::from)),
            window: self.window,
            global: self.global,
        }
    }

    /// Clears the last set of globals, which belongs to the hypervisor: no guest can select it.
    pub(super) fn hide_from_guest(&mut self) {
        let (window, global) = (self.window, self.global);
        // Switching to another window and another set of globals writes the current registers over their stale copies.
        self.set_window(window + 1);
        self.set_window(window);
        self.set_global(GLOBALS - 1);
        self.current[..8].fill(W::from(0));
        self.set_global(0);
        self.set_global(global);
        let [globals, ..] = eights(&mut self.current);
        self.globals[global] = *globals;
    }
}

/// Splits the current registers into globals, outs, locals and ins.
fn eights<W>(registers: &mut [W; 32]) -> [&mut [W; 8]; 4] {
    let (eights, _) = registers.as_chunks_mut();
    let [globals, outs, locals, ins] = eights else { unreachable!("32 are four times eight") };
    [globals, outs, locals, ins]
}

fn joined<W: Word>(locals: &[W; 8], ins: &[W; 8]) -> [W; 16] {
    let mut window = [W::from(0); 16];
    window[..8].copy_from_slice(locals);
    window[8..].copy_from_slice(ins);
    window
}
