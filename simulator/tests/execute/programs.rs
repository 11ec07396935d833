//! The tests' programs: SPARC V9 instruction words, each with its assembly code. The GNU assembler produces the same words from this code.

/// Selects the trap table and trap level 0.
pub(crate) const TRAPS: &[u32] = &[
    0x0300_0410, // sethi %hi(0x104000), %g1
    0x8b98_4000, // wrhpr %g1, %htba
    0x8f90_2000, // wrpr %g0, 0, %tl
];

/// Sets %g2 to the strand's number.
pub(crate) const NUMBER: &[u32] = &[
    0x8210_2010, // mov 0x10, %g1
    0xc4d8_4c60, // ldxa [%g1] 0x63, %g2
    0x8408_a0ff, // and %g2, 0xff, %g2
];

/// Stores the register that describes the strand's core, and halts.
pub(crate) const CORE: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8210_2010, // mov 0x10, %g1
    0xc4d8_4c60, // ldxa [%g1] 0x63, %g2
    0xc471_0000, // stx %g2, [%g4]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// The guest's program, which accesses scratchpads. A guest may do so in the first two ways; the other three trap.
pub(crate) const SCRATCHPADS: &[u32] = &[
    0x8210_2018, // mov 0x18, %g1
    0xc2f0_4400, // stxa %g1, [%g1] 0x20
    0xc4d8_4400, // ldxa [%g1] 0x20, %g2
    0xc472_4000, // stx %g2, [%o1]
    0xc480_4400, // lduwa [%g1] 0x20, %g2 ! data_access_exception
    0x8210_2020, // mov 0x20, %g1
    0xc4d8_4400, // ldxa [%g1] 0x20, %g2 ! data_access_exception
    0x8210_2028, // mov 0x28, %g1
    0xc2f0_4400, // stxa %g1, [%g1] 0x20 ! data_access_exception
    0x1900_0400, // sethi %hi(0x100000), %o4
    0x81c3_0000, // jmp %o4 ! instruction_real_translation_miss
    0x0100_0000, // nop
];

/// Strand 0 writes a register and sets a flag; strand 1 waits for the flag and reads the register.
pub(crate) const LATE: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4 ! results
    0x8610_2084, // mov 0x84, %g3
    0x8728_f020, // sllx %g3, 32, %g3
    0x8600_e400, // add %g3, 0x400, %g3 ! PCR of channel 0
    0x0ac0_800b, // brnz,pn %g2, 5f
    0x8c10_2002, // mov 2, %g6
    0x8e10_2060, // mov 0x60, %g7
    0xccf1_c820, // stxa %g6, [%g7] 0x41 ! starts strand 1
    0xcc59_0000, // 1: ldx [%g4], %g6 ! until strand 1 has started
    0x02f9_bfff, // brz,pt %g6, 1b
    0x8c10_2055, // mov 0x55, %g6
    0xcc70_c000, // stx %g6, [%g3]
    0x8143_e040, // membar #Sync
    0xcc71_2008, // stx %g6, [%g4 + 8] ! the flag
    0x3080_0007, // ba,a 9f
    0xcc71_0000, // 5: stx %g6, [%g4]
    0xcc59_2008, // 6: ldx [%g4 + 8], %g6
    0x02f9_bfff, // brz,pt %g6, 6b
    0x0100_0000, // nop
    0xcc58_c000, // ldx [%g3], %g6
    0xcc71_2010, // stx %g6, [%g4 + 16]
    0x8210_2001, // 9: mov 1, %g1 ! parks its own strand
    0x8328_5002, // sllx %g1, %g2, %g1
    0x8e10_2068, // mov 0x68, %g7
    0xc2f1_c820, // stxa %g1, [%g7] 0x41
    0x0100_0000, // nop
];

/// A program that stores to an absent device and then loads from it.
pub(crate) const FAULTS: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8610_2084, // mov 0x84, %g3
    0x8728_f020, // sllx %g3, 32, %g3
    0x0500_0009, // sethi %hi(0x2400), %g2
    0x8610_c002, // or %g3, %g2, %g3 ! an absent channel
    0xc870_c000, // stx %g4, [%g3]
    0x8c01_a001, // inc %g6 ! does not wait for the store
    0x8143_e040, // membar #Sync
    0x8c01_a001, // inc %g6
    0xce58_c000, // ldx [%g3], %g7 ! skipped by its handler
    0xcc71_2020, // stx %g6, [%g4 + 32]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// The store_error handler. Stores %tpc, DFESR and the address, and returns.
pub(crate) const STORE_ERROR: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8350_0000, // rdpr %tpc, %g1
    0xc271_0000, // stx %g1, [%g4]
    0x8210_2008, // mov 8, %g1
    0xc4d8_4980, // ldxa [%g1] 0x4c, %g2
    0xc471_2008, // stx %g2, [%g4 + 8]
    0x8210_20c0, // mov 0xc0, %g1
    0xc4d8_4940, // ldxa [%g1] 0x4a, %g2
    0xc471_2010, // stx %g2, [%g4 + 16]
    0x83f0_0000, // retry
];

/// The data_access_error handler. Stores %tpc, and skips the load.
pub(crate) const DATA_ERROR: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8350_0000, // rdpr %tpc, %g1
    0xc271_2018, // stx %g1, [%g4 + 24]
    0x81f0_0000, // done
];

/// Loads translations for partition 2, and enters privileged mode at 0x80000000.
pub(crate) const GUEST_START: &[u32] = &[
    0x8210_2080, // mov 0x80, %g1
    0x8410_2002, // mov 2, %g2
    0xc4f0_4b00, // stxa %g2, [%g1] 0x58
    0x1120_0000, // sethi %hi(0x80000000), %o0
    0x8210_2030, // mov 0x30, %g1
    0xd0f0_4a00, // stxa %o0, [%g1] 0x50 ! tag access
    0xd0f0_4b00, // stxa %o0, [%g1] 0x58
    0x8610_2001, // mov 1, %g3
    0x8728_f03f, // sllx %g3, 63, %g3
    0x8610_c008, // or %g3, %o0, %g3
    0x0300_0400, // sethi %hi(0x100000), %g1
    0x8610_c001, // or %g3, %g1, %g3 ! 8 KB at physical 0x80100000, read-only
    0x8410_2200, // mov 0x200, %g2
    0xc6f0_8a80, // stxa %g3, [%g2] 0x54
    0xc6f0_8b80, // stxa %g3, [%g2] 0x5c
    0x0300_0010, // sethi %hi(0x4000), %g1
    0x9202_0001, // add %o0, %g1, %o1
    0x8410_2030, // mov 0x30, %g2
    0xd2f0_8b00, // stxa %o1, [%g2] 0x58
    0x8600_c001, // add %g3, %g1, %g3
    0x8610_e040, // or %g3, 0x40, %g3
    0x8410_2200, // mov 0x200, %g2
    0xc6f0_8b80, // stxa %g3, [%g2] 0x5c ! 8 KB at 0x80104000, writable
    0x8d90_2004, // wrpr %g0, 4, %pstate
    0x81c2_0000, // jmp %o0
    0x8198_2000, // wrhpr %g0, 0, %hpstate
];

/// The guest's program, which accesses memory inside and outside the guest's partition. At the start, %o0 is 0x80000000 and %o1 is
/// 0x80004000.
pub(crate) const INSIDE: &[u32] = &[
    0xd45a_0000, // ldx [%o0], %o2 ! its own first words
    0xd472_6008, // stx %o2, [%o1 + 8]
    0xd472_0000, // stx %o2, [%o0] ! data_access_exception
    0xd65a_7ff8, // ldx [%o1 - 8], %o3 ! data_real_translation_miss
    0x1900_0400, // sethi %hi(0x100000), %o4
    0xd6db_0280, // ldxa [%o4] 0x14, %o3 ! data_real_translation_miss: the hypervisor's memory
    0x81c3_0000, // jmp %o4 ! instruction_real_translation_miss
    0x0100_0000, // nop
];

/// The handler of data access traps. Adds %tt and the access's tag to a list, and skips the access.
pub(crate) const NOTE: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0xc259_0000, // ldx [%g4], %g1
    0x8200_6010, // add %g1, 16, %g1
    0xc271_0000, // stx %g1, [%g4]
    0x8800_4004, // add %g1, %g4, %g4
    0x8350_c000, // rdpr %tt, %g1
    0x1080_0002, // ba .+8
    0xc271_0000, // stx %g1, [%g4]
];

/// The rest of [`NOTE`], in the next trap table entry.
pub(crate) const NOTE2: &[u32] = &[
    0x8210_2030, // mov 0x30, %g1
    0xc2d8_4b00, // ldxa [%g1] 0x58, %g1
    0xc271_2008, // stx %g1, [%g4 + 8]
    0x81f0_0000, // done
];

/// The instruction_real_translation_miss handler. Stores the access's tag, and halts.
pub(crate) const LAST: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8210_2030, // mov 0x30, %g1
    0xc2d8_4a00, // ldxa [%g1] 0x50, %g1
    0xc271_2008, // stx %g1, [%g4 + 8]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// Strand 0 starts strand 1, waits until strand 1 has started, and sends it vectors 5 and 9. Strand 1 halts.
pub(crate) const WAKE: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x0ac0_800e, // brnz,pn %g2, 5f
    0x8c10_2002, // mov 2, %g6
    0x8e10_2060, // mov 0x60, %g7
    0xccf1_c820, // stxa %g6, [%g7] 0x41
    0xcc59_0000, // 1: ldx [%g4], %g6
    0x02f9_bfff, // brz,pt %g6, 1b
    0x8c10_2109, // mov 0x109, %g6
    0xccf0_0e60, // stxa %g6, [%g0] 0x73
    0x8c10_2105, // mov 0x105, %g6
    0xccf0_0e60, // stxa %g6, [%g0] 0x73
    0x8d41_0000, // rd %tick, %g6
    0xcc71_2008, // stx %g6, [%g4 + 8]
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
    0xc471_0000, // 5: stx %g2, [%g4]
    0xb580_2000, // wr %g0, 0, %asr26 ! until the first vector arrives
    0x8d41_0000, // rd %tick, %g6
    0xcc71_2010, // stx %g6, [%g4 + 16]
    0x8d90_2016, // wrpr %g0, 0x16, %pstate ! enables interrupts
    0x0100_0000, // nop
    0x1080_0000, // ba .
    0x0100_0000, // nop
];

/// Strand 0 sends vector 5 to itself.
pub(crate) const SEND_TO_ITSELF: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x8c10_2005, // mov 5, %g6
    0xccf0_0e60, // stxa %g6, [%g0] 0x73
];

/// Halts until a vector arrives, and stores the vector.
pub(crate) const HALT_AND_TELL: &[u32] = &[
    0xb580_2000, // wr %g0, 0, %asr26
    0xc4d8_0e80, // ldxa [%g0] 0x74, %g2
    0xc471_0000, // stx %g2, [%g4]
    0x1080_0000, // ba .
    0x0100_0000, // nop
];

/// The interrupt_vector handler. Stores the vector.
pub(crate) const VECTOR: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0xc259_2018, // ldx [%g4 + 24], %g1
    0x8328_7008, // sllx %g1, 8, %g1
    0xc4d8_0e80, // ldxa [%g0] 0x74, %g2
    0x8210_4002, // or %g1, %g2, %g1
    0xc271_2018, // stx %g1, [%g4 + 24]
    0x83f0_0000, // retry
];

/// Halts until %stick reaches 1000.
pub(crate) const TIMER: &[u32] = &[
    0x8210_23e8, // mov 1000, %g1
    0xbf98_4000, // wrhpr %g1, %hstick_cmpr
    0x0900_0800, // sethi %hi(0x200000), %g4
    0xb580_2000, // wr %g0, 0, %asr26
    0x8d46_0000, // rd %stick, %g6
    0xcc71_0000, // stx %g6, [%g4]
    0x8d48_c000, // rdhpr %hintp, %g6
    0xcc71_2008, // stx %g6, [%g4 + 8]
    0x8798_2000, // wrhpr %g0, 0, %hintp
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// The guest's program. Counter 0 counts the guest's instructions, starting at -20, so it overflows after 20 of them.
pub(crate) const SAMPLE: &[u32] = &[
    0x8b92_2000, // wrpr %o0, 0, %tba
    0x033f_ffff, // sethi %hi(0xffffffec), %g1
    0x8210_63ec, // or %g1, 0x3ec, %g1
    0xa380_6000, // wr %g1, 0, %pic
    0x0300_002f, // sethi %hi(0xbc00), %g1
    0x8210_63d2, // or %g1, 0x3d2, %g1 ! SL 2 with every MASK, TOE, ST
    0x9190_2000, // wrpr %g0, 0, %pil
    0x8d90_2016, // wrpr %g0, 0x16, %pstate
    0xa180_6000, // wr %g1, 0, %pcr ! counts from this instruction on
    0x1080_0000, // ba .
    0x9402_a001, // inc %o2
];

/// The interrupt_level_15 handler. Clears the interrupt, and calls the hypervisor, which halts.
pub(crate) const OVERFLOW: &[u32] = &[
    0x9750_0000, // rdpr %tpc, %o3
    0x9944_4000, // rd %pic, %o4
    0x9b45_8000, // rd %softint, %o5
    0xab83_6000, // wr %o5, 0, %softint_clr
    0x91d0_2080, // ta 0x80
    0x0100_0000, // nop
];

pub(crate) const HALT: &[u32] = &[
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];

/// Strand 0 starts all strands of its core. Each strand adds its number to a word 200 times, under a lock.
pub(crate) const LOCK: &[u32] = &[
    0x0900_0800, // sethi %hi(0x200000), %g4
    0x0ac0_8004, // brnz,pn %g2, 1f
    0x8c10_20ff, // mov 0xff, %g6
    0x8e10_2060, // mov 0x60, %g7
    0xccf1_c820, // stxa %g6, [%g7] 0x41
    0x8a10_20c8, // 1: mov 200, %g5
    0x8c10_2001, // 2: mov 1, %g6
    0xcdf1_1000, // casxa [%g4] 0x80, %g0, %g6 ! 0 is free
    0x0af1_bffe, // brnz,pn %g6, 2b
    0xce59_2040, // ldx [%g4 + 64], %g7
    0x8e01_c002, // add %g7, %g2, %g7
    0xce71_2040, // stx %g7, [%g4 + 64]
    0x8143_e00c, // membar #StoreStore | #LoadStore
    0xc071_0000, // stx %g0, [%g4]
    0x8aa1_6001, // subcc %g5, 1, %g5
    0x126f_fff7, // bnz,pt %xcc, 2b
    0x0100_0000, // nop
    0x8f41_0000, // rd %tick, %g7
    0x8d28_b003, // sllx %g2, 3, %g6
    0x8c01_8004, // add %g6, %g4, %g6
    0xce71_a080, // stx %g7, [%g6 + 128] ! the time of the end
    0xb580_2000, // wr %g0, 0, %asr26
    0x0100_0000, // nop
];
