//! Tests traps, windows and privilege, which random nonprivileged programs do not cover.
//!
//! The GNU assembler translates the comment above each instruction word into that word.

use std::collections::BTreeMap;

use super::instruction::{ControlRegister, Register};
use super::{At, CounterRegister, Environment, ErrorState, Instruction, Level, Strand, Trap};

/// An address in the hypervisor's memory. The guest's memory starts at [`PARTITION`].
const HYPERVISOR: u64 = 0x10_0000;
const PARTITION: u64 = 0x8000_0000;

/// The program's address. The hypervisor's trap table is at [`HTBA`], and the guest's is at [`TBA`].
const PROGRAM: u64 = PARTITION + 0x10_0000;
const HTBA: u64 = HYPERVISOR + 0x4000;
const TBA: u64 = PARTITION + 0x8000;

/// Memory, in which only the hypervisor can reach the part below [`PARTITION`].
#[derive(Default)]
struct Board(BTreeMap<u64, u8>);

impl Board {
    fn load_bytes(&mut self, address: u64, bytes: &[u8]) {
        self.0.extend((address..).zip(bytes.iter().copied()));
    }

    fn value(&self, address: u64, shift: u8) -> u64 {
        (address..address + (1 << shift)).fold(0, |value, address| {
            let byte = self.0.get(&address).copied().unwrap_or(0);
            value << 8 | u64::from(byte)
        })
    }
}

/// Returns `trap` if software at `level` may not reach the address.
fn reached(address: u64, level: Level, trap: Trap) -> Result<(), Trap> {
    if level < Level::Hyperprivileged && address < PARTITION {
        return Err(trap);
    }
    Ok(())
}

impl Environment for Board {
    fn fetch(&mut self, address: u64, level: Level) -> Result<Instruction, Trap> {
        reached(address, level, Trap::INSTRUCTION_REAL_TRANSLATION_MISS)?;
        Ok(Instruction::decode(self.value(address, 2) as u32))
    }

    fn load(&mut self, at: At, shift: u8) -> Result<u64, Trap> {
        reached(at.address, at.level, Trap::DATA_REAL_TRANSLATION_MISS)?;
        Ok(self.value(at.address, shift))
    }

    fn store(&mut self, at: At, shift: u8, value: u64) -> Result<(), Trap> {
        reached(at.address, at.level, Trap::DATA_REAL_TRANSLATION_MISS)?;
        self.load_bytes(at.address, &value.to_be_bytes()[8 - (1 << shift)..]);
        Ok(())
    }

    fn read(&mut self, _: CounterRegister, _: Level) -> Result<u64, Trap> {
        Ok(0)
    }

    fn write(&mut self, _: CounterRegister, _: u64, _: Level) -> Result<(), Trap> {
        Ok(())
    }
}

const O0: Register = Register::new(8);
const O1: Register = Register::new(9);
const L0: Register = Register::new(16);

/// Returns a strand that executes `words` as privileged software at trap level 0.
fn privileged(words: &[u32]) -> (Strand, Board) {
    let mut board = Board::default();
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    board.load_bytes(PROGRAM, &bytes);
    let mut strand = Strand::reset(PROGRAM);
    for (control, value) in [
        (ControlRegister::Hyperprivileged(5), HTBA),
        (ControlRegister::Privileged(5), TBA),
        (ControlRegister::Privileged(7), 0),
        (ControlRegister::Privileged(16), 0),
        // PSTATE.PRIV is set.
        (ControlRegister::Privileged(6), 1 << 2),
        (ControlRegister::Hyperprivileged(0), 0),
    ] {
        strand.write(control, value, &mut board).expect("hyperprivileged");
    }
    (strand, board)
}

fn run(strand: &mut Strand, board: &mut Board, steps: usize) {
    for _ in 0..steps {
        strand.step(board).expect("a trap level is left");
    }
}

/// Executes one word as privileged software, with `o0` in %o0. Returns the strand after the instruction.
fn after(word: u32, o0: u64) -> Strand {
    let (mut strand, mut board) = privileged(&[word]);
    strand.registers.set(O0, o0);
    run(&mut strand, &mut board, 1);
    strand
}

/// Returns the address at which the operating system handles a trap from trap level 0. The function `hypervisors` returns the address
/// at which the hypervisor handles it.
const fn guests(number: u64) -> u64 {
    TBA + number * 32
}

const fn hypervisors(number: u64) -> u64 {
    HTBA + number * 32
}

/// Each of privileged software's traps goes to the level that table 12-2 names.
#[test]
fn traps_go_where_the_architecture_says() {
    for (word, o0, handler) in [
        // udivx %o0, %g0, %o1: division_by_zero.
        (0x926a_0000, 1, guests(0x28)),
        // taddcctv %o0, 0, %o1: tag_overflow.
        (0x9312_2000, 3, guests(0x23)),
        // ldx [%o0], %o1: mem_address_not_aligned.
        (0xd25a_0000, PROGRAM + 4, hypervisors(0x34)),
        // ldx [%o0], %o1: data_real_translation_miss, in the hypervisor's memory.
        (0xd25a_0000, HYPERVISOR, hypervisors(0x3f)),
        // jmp %o0: mem_address_not_aligned.
        (0x81c2_0000, PROGRAM + 2, hypervisors(0x34)),
        // unimp 0: illegal_instruction.
        (0x0000_0000, 0, hypervisors(0x10)),
        // brz,pt %g2 with bit 28 set, which is reserved: illegal_instruction.
        (0x12f9_bfff, 0, hypervisors(0x10)),
        // rdhpr %hpstate, %o1: illegal_instruction.
        (0x9348_0000, 0, hypervisors(0x10)),
        // fadds %f0, %f0, %f0: fp_disabled.
        (0x81a0_0820, 0, guests(0x20)),
        // rd %gsr, %o1, and wr %g0, 0, %gsr: fp_disabled.
        (0x9344_c000, 0, guests(0x20)),
        (0xa780_2000, 0, guests(0x20)),
        // wrpr %g0, 0, %tick, and wr %g0, 0, %stick: illegal_instruction, because only the hypervisor sets clocks.
        (0x8990_2000, 0, hypervisors(0x10)),
        (0xb180_2000, 0, hypervisors(0x10)),
        // ldxa [%o0] 0x4f, %o1: privileged_action, because only the hypervisor may use this space.
        (0xd2da_09e0, 0, hypervisors(0x37)),
        // ta 0x6d, and ta 0x80: one software trap goes to the guest, and one to the hypervisor.
        (0x91d0_206d, 0, guests(0x16d)),
        (0x91d0_2080, 0, hypervisors(0x180)),
        // restore, in the first window: fill_0_normal.
        (0x81e8_0000, 0, guests(0xc0)),
    ] {
        let strand = after(word, o0);
        assert_eq!(strand.pc, handler, "{word:#x} with {o0:#x}");
        assert_eq!(strand.npc, handler + 4);
        let expected = if handler < PARTITION { Level::Hyperprivileged } else { Level::Privileged };
        assert_eq!(strand.control.level(), expected, "{word:#x}");
        assert_eq!(strand.registers.get(O1), 0, "{word:#x} has written its register");
    }
}

/// A trap saves the state in the trap registers. `done` and `retry` return from the trap (chapter 7, DONE and RETRY; chapter 12, Trap
/// Processing).
#[test]
fn a_trap_comes_back() {
    // done: 0x81f00000, retry: 0x83f00000.
    for (word, pc) in [(0x81f0_0000_u32, PROGRAM + 4), (0x83f0_0000, PROGRAM)] {
        // ta 0x80
        let (mut strand, mut board) = privileged(&[0x91d0_2080]);
        board.load_bytes(hypervisors(0x180), &word.to_be_bytes());
        (strand.ccr, strand.asi, strand.y) = (0x99, 0x82, 7);
        strand.registers.set(Register::new(1), 0x1111);
        run(&mut strand, &mut board, 1);
        assert_eq!(strand.control.level(), Level::Hyperprivileged);
        // The trap selects the globals of the next level.
        assert_eq!(strand.registers.global(), 1);
        assert_eq!(strand.registers.get(Register::new(1)), 0);
        let read = |number| strand.read(ControlRegister::Privileged(number), &mut board);
        // TSTATE has GL 0, CCR 0x99, ASI 0x82, PSTATE.PRIV and CWP 0. The test reads TPC, TNPC, TSTATE, TT and TL.
        let state = 0x99 << 32 | 0x82 << 24 | 1 << 2 << 8;
        let expected = [PROGRAM, PROGRAM + 4, state, 0x180, 1].map(Ok);
        assert_eq!([0, 1, 2, 3, 7].map(read), expected);
        strand.ccr = 0;
        run(&mut strand, &mut board, 1);
        assert_eq!((strand.pc, strand.npc), (pc, pc + 4));
        assert_eq!((strand.ccr, strand.asi, strand.y), (0x99, 0x82, 7));
        assert_eq!(strand.control.level(), Level::Privileged);
        assert_eq!(strand.registers.get(Register::new(1)), 0x1111);
    }
}

/// Six windows are free. The seventh `save` traps, and its handler runs in the window to be stored (section 5.6.7).
#[test]
fn the_seventh_save_spills() {
    // save %sp, 0, %sp
    let (mut strand, mut board) = privileged(&[0x9de3_a000; 7]);
    run(&mut strand, &mut board, 6);
    assert_eq!(strand.registers.window(), 6);
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, guests(0x80));
    // CWP + CANSAVE + 2 is the oldest window, here window 0. The window before it stays free.
    assert_eq!(strand.registers.window(), 0);
}

#[test]
fn a_window_that_is_not_clean_traps() {
    // save
    let (mut strand, mut board) = privileged(&[0x81e0_0000]);
    strand.write(ControlRegister::Privileged(12), 0, &mut board).expect("%cleanwin");
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, guests(0x24));
    assert_eq!(strand.registers.window(), 1);
}

/// The outs of a caller are the ins of its callee (section 5.2.2).
#[test]
fn windows_overlap() {
    // save; mov 7, %l0; restore
    let (mut strand, mut board) = privileged(&[0x81e0_0000, 0xa010_2007, 0x81e8_0000]);
    strand.registers.set(O0, 5);
    strand.registers.set(L0, 6);
    run(&mut strand, &mut board, 2);
    let i0 = Register::new(24);
    assert_eq!((strand.registers.get(i0), strand.registers.get(L0)), (5, 7));
    run(&mut strand, &mut board, 1);
    assert_eq!((strand.registers.get(O0), strand.registers.get(L0)), (5, 6));
}

/// Privileged software has a maximum trap level of 2 and a maximum global level of 2. At trap level 2, a further trap becomes the
/// hypervisor's guest_watchdog (section 5.7, TL and GL; chapter 12, Trap Processing).
#[test]
fn privileged_software_has_two_levels() {
    // wrpr %g0, 7, %tl; wrpr %g0, 7, %gl; ta 0x6d
    let (mut strand, mut board) = privileged(&[0x8f90_2007, 0xa190_2007, 0x91d0_206d]);
    run(&mut strand, &mut board, 2);
    let level = strand.read(ControlRegister::Privileged(7), &mut board);
    assert_eq!((level, strand.registers.global()), (Ok(2), 2));
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, hypervisors(2));
    let number = strand.read(ControlRegister::Privileged(3), &mut board);
    assert_eq!(number, Ok(0x16d));
}

/// Unused bits of %pstate and %tstate read as 0. A T2 has one memory model, four global levels and eight windows.
#[test]
fn control_registers_keep_what_they_have() {
    // wrpr %o0, %pstate; wrpr %g0, 1, %tl; wrpr %o1, %tstate
    let (mut strand, mut board) = privileged(&[0x8d92_0000, 0x8f90_2001, 0x8592_4000]);
    strand.registers.set(O0, !(1 << 1));
    strand.registers.set(O1, u64::MAX);
    run(&mut strand, &mut board, 3);
    let mut read =
        |number| strand.control_register(ControlRegister::Privileged(number), &mut board);
    // TCT, CLE, TLE, PEF, AM and PRIV can be set. In %tstate, IE can also be set.
    assert_eq!(read(6), Some(0x131c));
    assert_eq!(read(2), Some(0x3_ff_ff_13_1e_07));
}

/// PSTATE.CLE makes data little-endian. PSTATE.TLE makes data little-endian in trap handlers (section 5.7, PSTATE; chapter 12, Trap
/// Processing).
#[test]
fn data_are_little_endian_if_asked_for() {
    // wrpr %g0, 0x304, %pstate (CLE, TLE and PRIV); st %o0, [%o1]; ldub [%o1], %l0; ta 0x6d
    let words = [0x8d90_2304, 0xd022_4000, 0xe00a_4000, 0x91d0_206d];
    let (mut strand, mut board) = privileged(&words);
    strand.registers.set(O0, 0x0102_0304);
    strand.registers.set(O1, PROGRAM + 0x100);
    run(&mut strand, &mut board, 4);
    assert_eq!(strand.registers.get(L0), 4);
    let pstate = strand.control_register(ControlRegister::Privileged(6), &mut board);
    // In the handler, CLE, TLE, PEF and PRIV are set.
    assert_eq!(pstate, Some(0x314));
}

/// A trap above trap level 0 uses the second half of the operating system's trap table.
#[test]
fn a_trap_in_a_handler_goes_to_the_other_half() {
    // wrpr %g0, 1, %tl; ta 0x6d
    let (mut strand, mut board) = privileged(&[0x8f90_2001, 0x91d0_206d]);
    run(&mut strand, &mut board, 2);
    assert_eq!(strand.pc, guests(0x16d) + (1 << 14));
}

#[test]
fn a_trap_at_the_highest_level_ends_the_strand() {
    let mut board = Board::default();
    let mut strand = Strand::reset(HYPERVISOR);
    // The strand executes unimp 0 at trap level 6.
    let ended = ErrorState { trap: Trap::ILLEGAL_INSTRUCTION, pc: HYPERVISOR };
    assert_eq!(strand.step(&mut board), Err(ended));
}

/// %pil and PSTATE.IE mask the interrupt level that %softint requests (section 5.5, SOFTINT; chapter 12, Trap Control).
#[test]
fn an_interrupt_comes_when_it_may() {
    // wr %g0, 0x80, %softint_set; wrpr %g0, 7, %pil; wrpr %g0, 6, %pstate (PRIV and IE); wrpr %g0, 6, %pil; nop
    let words = [0xa980_2080, 0x9190_2007, 0x8d90_2006, 0x9190_2006, 0x0100_0000];
    let (mut strand, mut board) = privileged(&words);
    run(&mut strand, &mut board, 4);
    assert_eq!(strand.pc, PROGRAM + 16);
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, guests(0x47));
}

/// A return to trap level 0 with HTSTATE.TLZ set takes trap_level_zero. A trap does not change HPSTATE.TLZ (section 5.8.1).
#[test]
fn trap_level_zero_is_the_hypervisors_to_ask_for() {
    // ta 0x80. The handler executes: wrhpr %g0, 1, %htstate; done.
    let (mut strand, mut board) = privileged(&[0x91d0_2080]);
    let handler = [0x8398_2001_u32, 0x81f0_0000].map(u32::to_be_bytes);
    board.load_bytes(hypervisors(0x180), handler.as_flattened());
    run(&mut strand, &mut board, 3);
    assert_eq!(strand.pc, PROGRAM + 4);
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, hypervisors(0x5f));
    let mut read =
        |number| strand.control_register(ControlRegister::Hyperprivileged(number), &mut board);
    // HPSTATE has HPRIV and TLZ in the hypervisor, and only TLZ in the guest.
    assert_eq!((read(0), read(1)), (Some(5), Some(1)));
}

/// The delay slot of a branch with the annul bit is skipped if the branch is not taken, or if it is the always-taken BA (section
/// 6.3.4).
#[test]
fn delay_slots() {
    for (branch, o1, pc) in [
        // ba .+8; ba,a .+8; bn .+8; bn,a .+8, each before inc %o1.
        (0x1080_0002, 1, PROGRAM + 8),
        (0x3080_0002, 0, PROGRAM + 12),
        (0x0080_0002, 1, PROGRAM + 8),
        (0x2080_0002, 0, PROGRAM + 12),
    ] {
        let (mut strand, mut board) = privileged(&[branch, 0x9202_6001, 0x0100_0000]);
        run(&mut strand, &mut board, 2);
        assert_eq!((strand.registers.get(O1), strand.pc), (o1, pc), "{branch:#x}");
    }
}

#[test]
fn an_instruction_is_copied_in_one_step() {
    assert_eq!((size_of::<Instruction>(), align_of::<Instruction>()), (16, 16));
}

/// SIR 1 traps with illegal_instruction at both the privileged and the hyperprivileged level.
#[test]
fn a_software_reset_is_an_illegal_instruction() {
    let handler = hypervisors(Trap::ILLEGAL_INSTRUCTION.number().into());
    assert_eq!(after(0x9f80_2001, 0).pc, handler);
    let (mut strand, mut board) = privileged(&[0x9f80_2001]);
    strand.control.hpstate = 1 << 2;
    run(&mut strand, &mut board, 1);
    assert_eq!(strand.pc, handler);
}

/// LDTXA loads 16 aligned bytes, and each half has the space's byte order. LDTWA has the same opcode, but loads two 32-bit words.
#[test]
fn twins_of_twin_spaces_have_64_bits() {
    const DATA: u64 = PARTITION + 0x20_0000;
    const HALVES: [u64; 2] = [0x0102_0304_0506_0708, 0x1112_1314_1516_1718];
    let loaded = |word, address| {
        let (mut strand, mut board) = privileged(&[word]);
        board.load_bytes(DATA, HALVES.map(u64::to_be_bytes).as_flattened());
        strand.registers.set(O0, address);
        run(&mut strand, &mut board, 1);
        let halves = [L0, L0.odd()].map(|register| strand.registers.get(register));
        (strand.control.tl == 0).then_some(halves)
    };
    let swapped = [0x0807_0605_0403_0201, 0x1817_1615_1413_1211];
    assert_eq!(loaded(0xe09a_1c40, DATA), Some(HALVES)); // ldtxa [%o0] 0xe2, %l0: primary
    assert_eq!(loaded(0xe09a_1d40, DATA), Some(swapped)); // 0xea: primary, little-endian
    assert_eq!(loaded(0xe09a_04c0, DATA), Some(HALVES)); // 0x26: real
    assert_eq!(loaded(0xe09a_1c40, DATA + 8), None);
    let words = [0x1112_1314, 0x1516_1718];
    assert_eq!(loaded(0xe09a_1000, DATA + 8), Some(words)); // ldtwa [%o0] 0x80, %l0
}
