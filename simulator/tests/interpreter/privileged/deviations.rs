//! Where QEMU 7.2 deviates from UltraSPARC Architecture 2007. The interpreter follows the architecture. Random walks avoid the deviations,
//! and a test demonstrates each of them with a few instructions. Each variant says what QEMU does (and, in parentheses, what the
//! architecture requires).
//!
//! A section of chapter 7 is cited by its instruction's name.

use std::path::Path;
use std::{env, fs, process};

use simulator::interpreter::Level;
use simulator::interpreter::instruction::ControlRegister::{
    self, Ancillary, Hyperprivileged, Privileged,
};

use tests::assembler::{self as words, NOP, computes, set, trap};

use super::memory::{BASE, CODE, HTBAS, TBAS};
use super::niagara::Niagara;
use super::setup;
use super::state::{GL, PSTATE, State, TL};
use super::walk::{IE, PEF, PRIV, Walk};

macro_rules! deviations {
    ($($(#[$says:meta])* $name:ident,)*) => {
        /// Every variant needs an `example`, which a test executes in QEMU and in the interpreter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Deviation {
            $($(#[$says])* $name,)*
        }

        const ALL: &[Deviation] = &[$(Deviation::$name,)*];
    };
}

deviations! {
    /// ALLCLEAN, INVALW, NORMALW and OTHERW are illegal instructions (chapter 7 defines them).
    WindowInstructions,
    /// User code can read %softint, %tick_cmpr and %stick_cmpr (RDasr: privileged_opcode).
    AncillaryReads,
    /// A write of %softint, %tick_cmpr or %stick_cmpr by user code is an illegal instruction (WRasr: privileged_opcode).
    AncillaryWrites,
    /// %softint has 64 bits (section 5.5, SOFTINT: 17 bits).
    SoftintBits,
    /// %fprs has 32 bits (section 5.5, FPRS: 3 bits).
    FprsBits,
    /// %tpc, %tnpc, %tstate and %tt exist at trap level 0 (RDPR and WRPR: illegal_instruction).
    NoTrapStack,
    /// %tpc and %tnpc store bits 1:0 (section 5.7, TPC and TNPC: these bits read as 0).
    TrapPcBits,
    /// %tstate stores all bits (section 5.7, TSTATE: reserved bits read as 0).
    TrapStateBits,
    /// %tt stores all bits (section 5.7, TT: 9 bits).
    TrapTypeBits,
    /// %tl takes any value (section 5.7, TL, and WRPR: a greater value becomes MAXTL, or MAXPTL in privileged code).
    TrapLevel,
    /// %gl takes values up to 7 (section 5.7, GL, and WRPR: a greater value becomes MAXGL, or MAXPGL in privileged code).
    GlobalLevel,
    /// At MAXGL, a trap still increments %gl (chapter 12, Trap Processing: %gl stays MAXGL).
    GlobalLevelOfTrap,
    /// %tba has bits 14:0 (section 5.7, TBA: these bits read as 0).
    TbaBits,
    /// %htba has bits 13:0 (section 5.8, HTBA: these bits read as 0).
    HtbaBits,
    /// %pstate has bit 5, RED, but not bit 12, TCT (section 5.7, PSTATE: the reverse).
    PstateBits,
    /// %pil has 32 bits (section 5.7, PIL: 4 bits).
    PilBits,
    /// %cansave, %canrestore, %cleanwin and %otherwin have 32 bits (section 5.6: only the bits that count the windows).
    WindowBits,
    /// %wstate has 32 bits (section 5.6, WSTATE: 6 bits).
    WstateBits,
    /// A write of %hpstate that permits a pending interrupt does not trigger the interrupt (chapter 12, Trap Control: the interrupt is
    /// taken).
    PendingInterrupt,
    /// While an interrupt handler executes, a lower-level interrupt waits, no matter what %pil is (chapter 12, Trap Control: %pil decides).
    NestedInterrupt,
    /// Traps that belong to the hypervisor, such as illegal_instruction, go to the guest (chapter 12, table of exceptions).
    HypervisorTraps,
    /// When a guest at MAXPTL traps, the hypervisor gets the trap at the trap's own vector (chapter 12, Trap Processing: at the vector of
    /// guest_watchdog, 2).
    GuestWatchdog,
    /// A hypervisor handler begins with PSTATE.PRIV set, or, after a software trap, with %pstate unchanged (chapter 12, Trap Processing:
    /// PSTATE has only PEF).
    TrapPstate,
    /// A trap to the highest level sets PSTATE.RED (chapter 12, Trap Processing: this bit does not exist).
    RedState,
    /// DONE and RETRY at trap level 0 end the machine (DONE: illegal_instruction).
    DoneAtLevelZero,
    /// POPC ignores rs1 (POPC: a reserved field other than 0 makes the instruction illegal).
    ReservedFields,
    /// A Tcc with two registers leaves their sum in the first register (Tcc: no register changes).
    TrapNumber,
    /// Privileged code can read register 31, which is %ver in SPARC V9 (RDPR: reserved, illegal_instruction).
    Version,
}

impl Deviation {
    /// Returns instructions for a hypervisor at trap level 0, the part of the state to compare afterwards, the right value, and QEMU's
    /// value.
    fn example(self) -> (Vec<u32>, Shown, u64, u64) {
        use Shown::{Pc, Register, Value};
        const L0: u32 = 16;
        const READ: Shown = Register(3);
        const NONE: u32 = 0;
        const ILLEGAL: u64 = HTBAS[0] + 0x10 * 32;
        let shown = |words: &[&[u32]], shown, here, there| (words.concat(), shown, here, there);
        let (user, guest) = (down(PEF), down(PEF | PRIV));
        let softint = |level: u32| wr(20, 1 << level);
        match self {
            Self::WindowInstructions => {
                shown(&[&wrpr(12, 0), &[computes(0x31, 2, 0, NONE)]], Value(Privileged(12)), 7, 0)
            }
            Self::AncillaryReads => shown(&[&user, &[rd(23)]], Pc, TBAS[0] + 0x11 * 32, AFTER),
            Self::AncillaryWrites => shown(
                &[&user, &[computes(0x30, 22, 0, NONE)]],
                Pc,
                TBAS[0] + 0x11 * 32,
                TBAS[0] + 0x10 * 32,
            ),
            Self::SoftintBits => shown(&[&wr(22, u64::MAX), &[rd(22)]], READ, 0x1_ffff, u64::MAX),
            Self::FprsBits => shown(&[&wr(6, u64::MAX)], Value(Ancillary(6)), 7, 0xffff_ffff),
            Self::NoTrapStack => shown(&[&[rdpr(3)]], Pc, ILLEGAL, AFTER),
            Self::TrapPcBits => {
                shown(&[&wrpr(7, 1), &wrpr(0, BASE + 3), &[rdpr(0)]], READ, BASE, BASE + 3)
            }
            // The value has GL 3, CCR, ASI, CWP, and the PSTATE bits TCT, CLE, TLE, PEF, AM, PRIV and IE.
            Self::TrapStateBits => shown(
                &[&wrpr(7, 1), &wrpr(2, u64::MAX), &[rdpr(2)]],
                READ,
                0x3ff_ff13_1e07,
                u64::MAX,
            ),
            Self::TrapTypeBits => {
                shown(&[&wrpr(7, 1), &wrpr(3, u64::MAX), &[rdpr(3)]], READ, 0x1ff, u64::MAX)
            }
            Self::TrapLevel => shown(&[&guest, &[words::wrpr(7, 3)]], Value(TL), 2, 3),
            Self::GlobalLevel => shown(&[&wrpr(16, 5)], Value(GL), 3, 5),
            Self::GlobalLevelOfTrap => shown(&[&wrpr(16, 3), &[trap(0x80)]], Value(GL), 3, 4),
            Self::TbaBits => {
                let odd = TBAS[0] + 0x7fff;
                shown(&[&wrpr(5, odd)], Value(Privileged(5)), TBAS[0], odd)
            }
            Self::HtbaBits => {
                let (odd, htba) = (HTBAS[0] + 0x3fff, Hyperprivileged(5));
                shown(&[&wrhpr(5, odd)], Value(htba), HTBAS[0], odd)
            }
            Self::PstateBits => shown(&[&wrpr(6, u64::MAX)], Value(PSTATE), 0x131e, 0x33e),
            Self::PilBits => shown(&[&wrpr(8, 0xffff)], Value(Privileged(8)), 0xf, 0xffff),
            Self::WindowBits => shown(&[&wrpr(10, 0x1f)], Value(Privileged(10)), 7, 0x1f),
            Self::WstateBits => shown(&[&wrpr(14, 0xff)], Value(Privileged(14)), 0x3f, 0xff),
            Self::PendingInterrupt => shown(
                &[&softint(5), &wrpr(8, 0), &wrpr(6, PRIV | IE), &wrhpr(0, 0), &[NOP]],
                Pc,
                TBAS[0] + 0x45 * 32,
                AFTER,
            ),
            Self::NestedInterrupt => shown(
                &[
                    &wrpr(7, 1),
                    &wrpr(3, 0x4f),
                    &softint(5),
                    &wrpr(8, 0),
                    &wrhpr(0, 0),
                    &[words::wrpr(6, (PRIV | IE) as u32), NOP],
                ],
                Pc,
                // The table is for traps from trap levels above 0.
                TBAS[0] + 0x4000 + 0x45 * 32,
                AFTER,
            ),
            Self::HypervisorTraps => shown(&[&guest, &[0]], Pc, ILLEGAL, TBAS[0] + 0x10 * 32),
            Self::GuestWatchdog => shown(
                &[&wrpr(7, 2), &wrpr(6, PRIV), &wrhpr(0, 0), &[trap(0)]],
                Pc,
                HTBAS[0] + 2 * 32,
                HTBAS[0] + 0x100 * 32,
            ),
            Self::TrapPstate => {
                shown(&[&wrpr(6, PEF | IE), &[trap(0x80)]], Value(PSTATE), PEF, PEF | IE)
            }
            Self::RedState => {
                shown(&[&wrpr(7, 5), &[trap(0x80)]], Value(PSTATE), PEF, PEF | PRIV | 1 << 5)
            }
            Self::DoneAtLevelZero => shown(&[&[computes(0x3e, 0, 0, NONE)]], Pc, ILLEGAL, 0),
            Self::ReservedFields => shown(&[&[computes(0x2e, 3, 1, NONE)]], Pc, ILLEGAL, AFTER),
            // The instruction is ta %l0 + %g3.
            Self::TrapNumber => shown(
                &[&set(L0, 0x70), &set(3, 0x15), &[computes(0x3a, 8, L0, 3)]],
                Register(L0),
                0x70,
                0x85,
            ),
            Self::Version => shown(&[&[rdpr(31)]], Pc, ILLEGAL, AFTER),
        }
    }
}

/// The part of the state to compare after an example's last instruction.
#[derive(Clone, Copy)]
enum Shown {
    Pc,
    /// A register of the current window, or a global register.
    Register(u32),
    Value(ControlRegister),
}

/// A placeholder for the address after the example. A real address is never odd.
const AFTER: u64 = 1;

impl Shown {
    fn value(self, state: &State) -> u64 {
        match self {
            Self::Pc => state.pc,
            Self::Register(number) => state.registers[number as usize],
            Self::Value(control) => state.get(control),
        }
    }
}

fn rdpr(number: u32) -> u32 {
    computes(0x2a, 3, number, 0)
}

fn rd(number: u32) -> u32 {
    computes(0x28, 3, number, 0)
}

fn wrpr(number: u8, value: u64) -> Vec<u32> {
    written(Privileged(number), value)
}

fn wrhpr(number: u8, value: u64) -> Vec<u32> {
    written(Hyperprivileged(number), value)
}

fn wr(number: u8, value: u64) -> Vec<u32> {
    written(Ancillary(number), value)
}

fn written(control: ControlRegister, value: u64) -> Vec<u32> {
    let mut words = Vec::new();
    setup::write(&mut words, control, value);
    words
}

/// Returns instructions that enter a guest with this %pstate.
fn down(pstate: u64) -> Vec<u32> {
    [wrpr(6, pstate), wrhpr(0, 0)].concat()
}

/// Returns the instructions that begin every example.
fn begin() -> Vec<u32> {
    [
        wrpr(16, 0),
        wrpr(7, 0),
        wrpr(8, 15),
        wrpr(6, PEF | PRIV),
        wr(21, 0x1_ffff),
        wrpr(10, 6),
        wrpr(11, 0),
        wrpr(12, 6),
        wrpr(13, 0),
        wrpr(5, TBAS[0]),
        wrhpr(5, HTBAS[0]),
    ]
    .concat()
}

/// Returns QEMU's state after `many` instructions, or `None` if QEMU ends earlier.
fn theirs(directory: &Path, walk: &Walk, many: usize) -> Option<State> {
    let mut machine = Niagara::boot(directory, &walk.image());
    let (mut text, mut last) = (String::new(), String::new());
    let begin = format!("pc: {:016x}", walk.begin());
    while !text.starts_with(&begin) {
        machine.next(&mut text).then_some(())?;
    }
    for _ in 0..many {
        last.clone_from(&text);
        // QEMU logs a state twice if it stops before it executes the next instruction.
        while text == last {
            machine.next(&mut text).then_some(())?;
        }
    }
    State::parse(&text)
}

#[test]
#[ignore = "needs qemu-system-sparc64: cargo xtask test runs it"]
fn each_deviation_is_one() {
    let directory = env::temp_dir().join(format!("interpreter-deviations-{}", process::id()));
    fs::create_dir_all(&directory).expect("a directory");
    for &deviation in ALL {
        let (example, shown, here, there) = deviation.example();
        let words = [begin(), example].concat();
        let mut hypervisors = (0..).map(Walk::new);
        let mut walk = hypervisors
            .find_map(|mut walk| (walk.level() == Level::Hyperprivileged).then_some(walk))
            .expect("one of two");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        walk.memory.put(CODE.start, &bytes);
        let end = CODE.start + bytes.len() as u64;
        let value = |value| if value == AFTER { end } else { value };
        let under_qemu = theirs(&directory, &walk, words.len());
        for _ in &words {
            walk.strand.step(&mut walk.memory).expect("a lower level");
        }
        let ours = shown.value(&walk.state());
        assert_eq!(ours, value(here), "{deviation:?}: {ours:#x}");
        // A later version of QEMU may be correct.
        let theirs = under_qemu.map_or(0, |state| shown.value(&state));
        assert!(
            [value(there), value(here)].contains(&theirs),
            "{deviation:?}: QEMU has {theirs:#x}"
        );
    }
    fs::remove_dir_all(&directory).expect("the directory");
}
