use std::fmt;

use simulator::interpreter::instruction::ControlRegister::{
    Ancillary, Hyperprivileged, Privileged,
};
use simulator::interpreter::instruction::{ControlRegister, Register};
use simulator::interpreter::{Environment, Level, Strand};

use super::walk::{HPRIV, PRIV};

/// A strand's state in QEMU's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) pc: u64,
    pub(crate) npc: u64,
    /// %g0-%g7, %o0-%o7, %l0-%l7, %i0-%i7.
    pub(crate) registers: [u64; 32],
    pub(crate) ccr: u8,
    pub(crate) asi: u8,
    pub(crate) y: u32,
    /// The values of the control registers in [`NAMED`].
    named: [u64; NAMED.len()],
}

/// The control registers in the log, each with its label and the radix of its value.
const NAMED: [(ControlRegister, &str, u32); 14] = [
    (PSTATE, "pstate:", 16),
    (TL, "tl:", 10),
    (PIL, "pil:", 16),
    (GL, "gl:", 10),
    (Privileged(5), "tbr:", 16),
    (HPSTATE, "hpstate:", 16),
    (Hyperprivileged(5), "htba:", 16),
    (Privileged(10), "cansave:", 10),
    (Privileged(11), "canrestore:", 10),
    (Privileged(13), "otherwin:", 10),
    (Privileged(14), "wstate:", 10),
    (Privileged(12), "cleanwin:", 10),
    (Privileged(9), "cwp:", 10),
    (Ancillary(6), "fprs:", 16),
];

pub(crate) const PSTATE: ControlRegister = Privileged(6);
pub(crate) const TL: ControlRegister = Privileged(7);
const PIL: ControlRegister = Privileged(8);
pub(crate) const GL: ControlRegister = Privileged(16);
pub(crate) const HPSTATE: ControlRegister = Hyperprivileged(0);

impl State {
    pub(crate) fn read(strand: &mut Strand, environment: &mut impl Environment) -> Self {
        let named = NAMED.map(|(control, ..)| {
            let value = strand.control_register(control, environment);
            value.expect("registers that are there on every level")
        });
        Self {
            pc: strand.pc,
            npc: strand.npc,
            registers: std::array::from_fn(|number| {
                strand.registers.get(Register::new(number as u32))
            }),
            ccr: strand.ccr,
            asi: strand.asi,
            y: strand.y,
            named,
        }
    }

    /// Parses a state in QEMU's log. Returns `None` if the text is not a state.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let after = |label: &str| {
            let mut words = text.split_whitespace();
            words.find(|word| *word == label).map(|_| words)
        };
        let number = |label: &str, radix| u64::from_str_radix(after(label)?.next()?, radix).ok();
        let mut registers = [0; 32];
        for (number, four) in registers.chunks_mut(4).enumerate() {
            let (set, first) = (['g', 'o', 'l', 'i'][number / 2], number % 2 * 4);
            let words = after(&format!("%{set}{first}-{}:", first + 3))?;
            for (register, word) in four.iter_mut().zip(words) {
                *register = u64::from_str_radix(word, 16).ok()?;
            }
        }
        let mut named = [0; NAMED.len()];
        for (value, (_, label, radix)) in named.iter_mut().zip(NAMED) {
            *value = number(label, radix)?;
        }
        Some(Self {
            pc: number("pc:", 16)?,
            npc: number("npc:", 16)?,
            registers,
            ccr: number("ccr:", 16)? as u8,
            asi: number("asi:", 16)? as u8,
            y: number("y:", 16)? as u32,
            named,
        })
    }

    pub(crate) fn level(&self) -> Level {
        if self.get(HPSTATE) & HPRIV != 0 {
            Level::Hyperprivileged
        } else if self.get(PSTATE) & PRIV != 0 {
            Level::Privileged
        } else {
            Level::User
        }
    }

    pub(crate) fn get(&self, control: ControlRegister) -> u64 {
        self.named[Self::index(control)]
    }

    pub(crate) fn set(&mut self, control: ControlRegister, value: u64) {
        self.named[Self::index(control)] = value;
    }

    fn index(control: ControlRegister) -> usize {
        let index = NAMED.iter().position(|(named, ..)| *named == control);
        index.expect("a register that the log has")
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "pc: {:016x}  npc: {:016x}", self.pc, self.npc)?;
        for (number, four) in self.registers.chunks(4).enumerate() {
            let set = ['g', 'o', 'l', 'i'][number / 2];
            let first = number % 2 * 4;
            write!(f, "%{set}{first}-{}:", first + 3)?;
            for value in four {
                write!(f, " {value:016x}")?;
            }
            // QEMU ends every register line with a space, except those of the globals.
            writeln!(f, "{}", if set == 'g' { "" } else { " " })?;
        }
        let codes = |codes: u8| -> String {
            let names = "NZVC".chars().zip([8, 4, 2, 1]);
            names.map(|(name, bit)| if codes & bit == 0 { '-' } else { name }).collect()
        };
        let [pstate, tl, pil, gl, tba, hpstate, htba, .., fprs] = self.named;
        writeln!(
            f,
            "pstate: {pstate:08x} ccr: {:02x} (icc: {} xcc: {}) asi: {:02x} tl: {tl} pil: {pil:x} gl: {gl}",
            self.ccr,
            codes(self.ccr),
            codes(self.ccr >> 4),
            self.asi,
        )?;
        writeln!(f, "tbr: {tba:016x} hpstate: {hpstate:016x} htba: {htba:016x}")?;
        let windows = NAMED.iter().zip(self.named).skip(7).take(6);
        let windows = windows.map(|((_, label, _), value)| format!("{label} {value}"));
        writeln!(f, "{}", windows.collect::<Vec<_>>().join(" "))?;
        writeln!(f, "fsr: {:016x} y: {:016x} fprs: {fprs:016x}", 0, self.y)
    }
}
