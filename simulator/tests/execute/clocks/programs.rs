//! The machine-code programs that the clock tests execute.

/// Strand 0 starts strand 4 and then loops. Strand 4, which uses the other pipeline, executes the program that follows this code.
pub(crate) const BESIDE: &[u32] = &[
    0x0ac0_8005, // brnz,pn %g2, 1f
    0x8c10_2010, // mov 0x10, %g6
    0x8e10_2060, // mov 0x60, %g7
    0xccf1_c820, // stxa %g6, [%g7] 0x41
    0x1080_0000, // ba .
    0x0100_0000, // 1: nop
];

/// Sets %g4 to the address of the results, and %g3 to the address of the PTIMER's register 0x9000.
pub(crate) const PTIMER: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8610_201f, // mov 0x1f, %g3
    0x8728_f020, // sllx %g3, 32, %g3
    0x0b04_4024, // sethi %hi(0x11009000), %g5
    0x8610_c005, // or %g3, %g5, %g3
];

/// Strand 0 starts strand 1 and sets the PTIMER. The PTIMER counts at the crystal's rate, and interrupts strand 1 when the count reaches
/// 50. Both strands halt. When a strand wakes up, it stores the time, the interrupt vector, its own number, and the register INTR before
/// and after it acknowledges the interrupt.
pub(crate) const ALARM: &[u32] = &[
    0x0ac0_8014, // brnz,pn %g2, 5f
    0x8c10_2002, // mov 2, %g6
    0x8e10_2060, // mov 0x60, %g7
    0xccf1_c820, // stxa %g6, [%g7] 0x41
    0xcc59_0000, // 1: ldx [%g4], %g6
    0x02f9_bfff, // brz,pt %g6, 1b
    0x8c10_2001, // mov 1, %g6
    0xcc20_e200, // st %g6, [%g3 + 0x200] ! NUMERATOR
    0x8e10_2640, // mov 50 << 5, %g7
    0xce20_e420, // st %g7, [%g3 + 0x420] ! ALARM_0
    ENABLE,
    0xce20_e140, // st %g7, [%g3 + 0x140] ! INTR_EN
    0x0b00_001c, // sethi %hi(0x7000), %g5
    0x8a00_c005, // add %g3, %g5, %g5
    TARGET,
    0xce71_4000, // stx %g7, [%g5]
    0xcc20_e210, // st %g6, [%g3 + 0x210] ! DENOMINATOR: counts from now on
    0x8143_e040, // membar #Sync
    0x8d41_0000, // rd %tick, %g6
    0xcc71_2008, // stx %g6, [%g4 + 8]
    0xc471_0000, // 5: stx %g2, [%g4]
    0xb580_2000, // 6: wr %g0, 0, %asr26
    0x8d41_0000, // rd %tick, %g6
    0xcc71_2010, // stx %g6, [%g4 + 16]
    0xced8_0e80, // ldxa [%g0] 0x74, %g7
    0xce71_2018, // stx %g7, [%g4 + 24]
    0xc471_2020, // stx %g2, [%g4 + 32]
    0xce00_e100, // ld [%g3 + 0x100], %g7
    0xce71_2028, // stx %g7, [%g4 + 40]
    ACKNOWLEDGE,
    0xce20_e100, // st %g7, [%g3 + 0x100] ! INTR
    0xce00_e100, // ld [%g3 + 0x100], %g7
    0xce71_2030, // stx %g7, [%g4 + 48]
    0x10bf_fff4, // ba 6b
    0x0100_0000, // nop
];
const ENABLE: u32 = 0x8e10_2001; // mov 1, %g7
const TARGET: u32 = ENABLE;
const ACKNOWLEDGE: u32 = ENABLE;

/// The indices in [`ALARM`] of the three instructions that load INTR_EN, the interrupt target, and the value that acknowledges the
/// interrupt in INTR. A test replaces such an instruction with [`ZERO`] or [`TWO_HUNDRED`] to load another value.
pub(crate) const VALUES_OF_ALARM: [usize; 3] = [10, 14, 29];
pub(crate) const ZERO: u32 = 0x8e10_2000; // mov 0, %g7
pub(crate) const TWO_HUNDRED: u32 = 0x8e10_20c8; // mov 200, %g7

/// Accesses the PTIMER with an instruction that a test puts in place of the first `nop`. %g3 holds the address of register 0x9000, and %g5
/// holds the address of the target.
pub(crate) const ACCESS: &[u32] = &[
    0x0b00_001c, // sethi %hi(0x7000), %g5
    0x8a00_c005, // add %g3, %g5, %g5
    0x8c10_2055, // mov 0x55, %g6
    0x0100_0000, // nop
    0x8143_e040, // membar #Sync
    0xcc71_2020, // stx %g6, [%g4 + 32]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// Instructions that a test puts into [`ACCESS`]. The PTIMER answers those in `ANSWERED`; those in `LOADS` and `STORES` fail.
pub(crate) const ANSWERED: &[u32] = &[
    0xcc00_e420, // lduw [%g3 + 0x420], %g6
    0xcc59_4000, // ldx [%g5], %g6
    0xcc71_4000, // stx %g6, [%g5]
    0xcc20_e420, // st %g6, [%g3 + 0x420]
];
pub(crate) const LOADS: &[u32] = &[
    0xcc58_e420, // ldx [%g3 + 0x420], %g6
    0xcc10_e420, // lduh [%g3 + 0x420], %g6
    0xcc08_e420, // ldub [%g3 + 0x420], %g6
    0xcc00_e424, // lduw [%g3 + 0x424], %g6
    0xcc01_4000, // lduw [%g5], %g6
];
pub(crate) const STORES: &[u32] = &[
    0xcc70_e420, // stx %g6, [%g3 + 0x420]
    0xcc30_e420, // sth %g6, [%g3 + 0x420]
    0xcc28_e420, // stb %g6, [%g3 + 0x420]
    0xcc20_e424, // st %g6, [%g3 + 0x424]
    0xcc21_4000, // st %g6, [%g5]
];

/// The guest's program, which loads the PTIMER's register TIME_0 and then jumps to the PTIMER's address.
pub(crate) const AT_PTIMER: &[u32] = &[
    0x9410_201f, // mov 0x1f, %o2
    0x952a_b020, // sllx %o2, 32, %o2
    0x1704_4024, // sethi %hi(0x11009000), %o3
    0x9412_800b, // or %o2, %o3, %o2
    0xd602_a400, // ld [%o2 + 0x400], %o3 ! data_real_translation_miss
    0x81c2_8000, // jmp %o2 ! instruction_real_translation_miss
    0x0100_0000, // nop
];

/// Sets %stick and %tick to different values, and stores both.
pub(crate) const SET_CLOCKS: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8210_23e8, // mov 1000, %g1
    0xb180_6000, // wr %g1, 0, %stick
    0x8210_2064, // mov 100, %g1
    0x8990_6000, // wrpr %g1, 0, %tick
    0x8d46_0000, // rd %stick, %g6
    0x8f51_0000, // rdpr %tick, %g7
    0xcc71_0000, // stx %g6, [%g4]
    0xce71_2008, // stx %g7, [%g4 + 8]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];
