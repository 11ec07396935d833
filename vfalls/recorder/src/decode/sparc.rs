//! Decodes SPARC V9 instructions (The SPARC Architecture Manual, version 9, appendices A and E).

use refs::{Class, Exit};

use super::Transfer;

/// Returns the exit of a block. `end` is the address after the block's last instruction.
///
/// Usually the second-last instruction of a block transfers control, and the last instruction is the delay slot. At the end of a page, and
/// at a branch with the annul bit, the transfer itself is the last instruction. If the page ends between a conditional branch and its delay
/// slot, the branch is treated as not taken, because the next block is always the delay slot.
pub(crate) fn exit(instructions: &[&[u8]], end: u64) -> Exit {
    // If both instructions transfer control, the second is in the delay slot of the first.
    let from = instructions.len().saturating_sub(2);
    let found = (from..instructions.len()).find_map(|at| {
        let word = u32::from_be_bytes(instructions[at].try_into().ok()?);
        Some((at, word, transfer(word)?))
    });
    let Some((at, word, transfer)) = found else {
        return Exit::None;
    };
    let last = at + 1 == instructions.len();
    match transfer {
        // A trap does not have a delay slot.
        Transfer::Trap if !last => Exit::None,
        Transfer::Conditional if last && word & ANNUL != 0 => {
            transfer.exit(at, end.wrapping_add(4))
        }
        _ => transfer.exit(at, end),
    }
}

/// Returns the class of an instruction. The VIS opcodes are from the UltraSPARC Architecture 2007, chapter 7.
pub(crate) fn class(instruction: &[u8]) -> Class {
    let Ok(bytes) = instruction.try_into() else {
        return Class::Other;
    };
    let word = u32::from_be_bytes(bytes);
    let opf = word >> 5 & 0x1ff;
    match (word >> 30, word >> 19 & 0x3f) {
        // LDSTUB, SWAP, LDSTUBA, SWAPA, CASA, CASXA
        (3, 0x0d | 0x0f | 0x1d | 0x1f | 0x3c | 0x3e) => Class::Atomic,
        // PREFETCH, PREFETCHA
        (3, 0x2d | 0x3d) => Class::Prefetch,
        // MEMBAR, STBAR: rd is 0, and rs1 is 15.
        (2, 0x28) if word >> 25 & 0x1f == 0 && word >> 14 & 0x1f == 15 => Class::Prefetch,
        // MULX, UMUL, SMUL, UMULcc, SMULcc
        (2, 0x09..=0x0b | 0x1a | 0x1b) => Class::Multiply,
        // UDIVX, UDIV, SDIV, UDIVcc, SDIVcc, SDIVX
        (2, 0x0d..=0x0f | 0x1e | 0x1f | 0x2d) => Class::Divide,
        // FPop1: FMOV, FNEG and FABS
        (2, 0x34) if opf < 0x10 => Class::Vector,
        // FPop2: opcodes 0x51 to 0x57 are FCMP and FCMPE, the others are FMOVcc and FMOVr.
        (2, 0x35) if !matches!(opf, 0x51..=0x57) => Class::Vector,
        (2, 0x34 | 0x35) => Class::FloatingPoint,
        // IMPDEP1: EDGE, ARRAY, ALIGNADDR and BMASK compute in integer registers. SHUTDOWN is privileged.
        (2, 0x36) if opf < 0x20 => Class::Other,
        (2, 0x36) if opf == 0x80 => Class::System,
        (2, 0x36) => Class::Vector,
        // RDHPR, RDPR, SAVED, RESTORED, WRPR, WRHPR, DONE, RETRY
        (2, 0x29 | 0x2a | 0x31..=0x33 | 0x3e) => Class::System,
        // ILLTRAP
        (0, _) if word >> 22 & 7 == 0 => Class::System,
        (0, _) if word & ANNUL != 0 && transfer(word).is_some() => Class::Annuls,
        _ if transfer(word) == Some(Transfer::Trap) => Class::System,
        _ => Class::Other,
    }
}

/// Returns `true` if a call with this delay slot is a tail call: the called function returns to its caller's caller. The delay slot of a
/// tail call is RESTORE, or writes %o7.
pub(crate) fn ends_its_call(slot: &[u8]) -> bool {
    let word = slot.try_into().map_or(0, u32::from_be_bytes);
    word >> 30 == 2 && (word >> 19 & 0x3f == 0x3d || word >> 25 & 0x1f == 15)
}

const ANNUL: u32 = 1 << 29;

fn transfer(word: u32) -> Option<Transfer> {
    let field = |shift: u32, bits: u32| word >> shift & ((1 << bits) - 1);
    let condition = match field(25, 4) {
        0 => None,
        8 => Some(Transfer::Jump),
        _ => Some(Transfer::Conditional),
    };
    match (field(30, 2), field(22, 3), field(19, 6)) {
        // BPcc, Bicc, FBPfcc, FBfcc
        (0, 1 | 2 | 5 | 6, _) => condition,
        // BPr
        (0, 3, _) => Some(Transfer::Conditional),
        (1, ..) => Some(Transfer::Call),
        // JMPL: a call writes %o7; a return jumps to %i7 or %o7, plus 8 or 12.
        (2, _, 0x38) => Some(match (field(25, 5), field(14, 5), field(13, 1), field(0, 13)) {
            (15, ..) => Transfer::Call,
            (0, 15 | 31, 1, 8 | 12) => Transfer::Return,
            _ => Transfer::Jump,
        }),
        // RETURN
        (2, _, 0x39) => Some(Transfer::Return),
        // Tcc: QEMU continues the block after a conditional trap.
        (2, _, 0x3a) if field(25, 4) == 8 => Some(Transfer::Trap),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOP: u32 = 0x0100_0000;

    fn exit_of(words: &[u32], end: u64) -> Exit {
        let bytes: Vec<[u8; 4]> = words.iter().map(|word| word.to_be_bytes()).collect();
        let bytes: Vec<&[u8]> = bytes.iter().map(<[u8; 4]>::as_slice).collect();
        exit(&bytes, end)
    }

    #[test]
    fn control_transfers_of_sparc() {
        for (word, expected) in [
            (0x0268_0004, Some(Transfer::Conditional)), // be,pt %xcc
            (0x1280_0004, Some(Transfer::Conditional)), // bne
            (0x3280_0004, Some(Transfer::Conditional)), // bne,a
            (0x02c8_4004, Some(Transfer::Conditional)), // brz,pt %g1
            (0x0f80_0004, Some(Transfer::Conditional)), // fbu
            (0x0f48_0004, Some(Transfer::Conditional)), // fbu %fcc0
            (0x1080_0004, Some(Transfer::Jump)),        // ba
            (0x3080_0004, Some(Transfer::Jump)),        // ba,a
            (0x1068_0004, Some(Transfer::Jump)),        // ba,pt %xcc
            (0x0080_0004, None),                        // bn
            (0x4000_0004, Some(Transfer::Call)),        // call
            (0x9fc0_4000, Some(Transfer::Call)),        // call %g1
            (0x81c3_e008, Some(Transfer::Return)),      // retl
            (0x81c7_e008, Some(Transfer::Return)),      // ret
            (0x81c7_e00c, Some(Transfer::Return)),      // jmp %i7 + 12
            (0x81cf_e008, Some(Transfer::Return)),      // return %i7 + 8
            (0x81c0_4000, Some(Transfer::Jump)),        // jmp %g1
            (0x91d0_206d, Some(Transfer::Trap)),        // ta 0x6d
            (0x83d0_2005, None),                        // te 5
            (NOP, None),
            (0x9de3_bf50, None), // save %sp, -176, %sp
            (0xd05b_a7df, None), // ldx [%sp + 2015], %o0
        ] {
            assert_eq!(transfer(word), expected, "{word:#010x}");
        }
    }

    /// An assembler produced these words from the instructions in the comments.
    #[test]
    fn classes_of_sparc() {
        for (word, expected) in [
            (0xc7f0_5002_u32, Class::Atomic),    // casx [%g1], %g2, %g3
            (0xc7e0_5002, Class::Atomic),        // cas [%g1], %g2, %g3
            (0xc668_4000, Class::Atomic),        // ldstub [%g1], %g3
            (0xc678_4000, Class::Atomic),        // swap [%g1], %g3
            (0xc6e8_5000, Class::Atomic),        // ldstuba [%g1] #ASI_P, %g3: alternate space 0x80
            (0xc6f8_5000, Class::Atomic),        // swapa
            (0x864a_4002, Class::Multiply),      // mulx %o1, %g2, %g3
            (0x8652_4002, Class::Multiply),      // umul %o1, %g2, %g3
            (0x865a_6005, Class::Multiply),      // smul %o1, 5, %g3
            (0x86d2_4002, Class::Multiply),      // umulcc %o1, %g2, %g3
            (0x86da_4002, Class::Multiply),      // smulcc %o1, %g2, %g3
            (0x866a_4002, Class::Divide),        // udivx %o1, %g2, %g3
            (0x8672_4002, Class::Divide),        // udiv %o1, %g2, %g3
            (0x867a_4002, Class::Divide),        // sdiv %o1, %g2, %g3
            (0x86f2_4002, Class::Divide),        // udivcc %o1, %g2, %g3
            (0x86fa_4002, Class::Divide),        // sdivcc %o1, %g2, %g3
            (0x876a_4002, Class::Divide),        // sdivx %o1, %g2, %g3
            (0x8722_4002, Class::Other),         // mulscc %o1, %g2, %g3
            (0x89a0_0842, Class::FloatingPoint), // faddd %f0, %f2, %f4
            (0x85a0_08a1, Class::FloatingPoint), // fsubs %f0, %f1, %f2
            (0x89a0_0942, Class::FloatingPoint), // fmuld %f0, %f2, %f4
            (0x89a0_0d22, Class::FloatingPoint), // fsmuld %f0, %f2, %f4
            (0x89a0_09c2, Class::FloatingPoint), // fdivd %f0, %f2, %f4
            (0x85a0_0540, Class::FloatingPoint), // fsqrtd %f0, %f2
            (0x85a0_1a40, Class::FloatingPoint), // fdtoi %f0, %f2
            (0x85a0_1100, Class::FloatingPoint), // fxtod %f0, %f2
            (0x81a8_0a42, Class::FloatingPoint), // fcmpd %f0, %f2
            (0x81a8_0ac2, Class::FloatingPoint), // fcmped %f0, %f2
            (0x85a0_0040, Class::Vector),        // fmovd %f0, %f2
            (0x83a0_00a0, Class::Vector),        // fnegs %f0, %f1
            (0x85a0_0140, Class::Vector),        // fabsd %f0, %f2
            (0x85aa_7040, Class::Vector),        // fmovdne %xcc, %f0, %f2
            (0x85aa_44c0, Class::Vector),        // fmovrde %o1, %f0, %f2
            (0x89b0_0a02, Class::Vector),        // fpadd16 %f0, %f2, %f4
            (0x89b0_0622, Class::Vector),        // fmul8x16 %f0, %f2, %f4
            (0x89b0_0902, Class::Vector),        // faligndata %f0, %f2, %f4
            (0x81b0_0c00, Class::Vector),        // fzerod %f0
            (0x89b0_0d82, Class::Vector),        // fxord %f0, %f2, %f4
            (0x89b0_07c2, Class::Vector),        // pdist %f0, %f2, %f4
            (0x87b2_4002, Class::Other),         // edge8cc %o1, %g2, %g3
            (0x87b2_4202, Class::Other),         // array8 %o1, %g2, %g3
            (0x87b2_4302, Class::Other),         // alignaddr %o1, %g2, %g3
            (0x81b0_1000, Class::System),        // shutdown
            (0x9351_8000, Class::System),        // rdpr %pstate, %o1
            (0x9192_6000, Class::System),        // wrpr %o1, 0, %pil
            (0x8188_0000, Class::System),        // saved
            (0x81f0_0000, Class::System),        // done
            (0x83f0_0000, Class::System),        // retry
            (0x91d0_206d, Class::System),        // ta 0x6d
            (0x83d0_2005, Class::Other),         // te 5
            (0x0000_0000, Class::System),        // illtrap 0
            (0xc16a_4000, Class::Prefetch),      // prefetch [ %o1 ], #n_reads
            (0x8143_e002, Class::Prefetch),      // membar #StoreLoad
            (0x8143_c000, Class::Prefetch),      // stbar
            (0x9341_0000, Class::Other),         // rd %tick, %o1
            (0x8782_6000, Class::Other),         // wr %o1, 0, %asi
            (0x8158_0000, Class::Other),         // flushw
            (0x3280_0002, Class::Annuls),        // bne,a 0xd4
            (0x3080_0000, Class::Annuls),        // b,a 0xd4
            (0x12bf_fffe, Class::Other),         // bne 0xd4
            (0x20bf_fffc, Class::Other),         // bn,a 0xd4
            (0x2fbf_fffa, Class::Annuls),        // fbu,a 0xd4
            (0x22fa_7ff8, Class::Annuls),        // brz,a %o1, 0xd4
            (0xc13a_4000, Class::Other),         // std %f0, [ %o1 ]
            (0xc11a_4000, Class::Other),         // ldd [ %o1 ], %f0
            (0x0100_03f0, Class::Other),         // sethi %hi(0xfc000), %g0
            (0xd05b_a7df, Class::Other),         // ldx [%sp + 2015], %o0
            (0xd073_a7df, Class::Other),         // stx %o0, [%sp + 2015]
            (0x9de3_bf50, Class::Other),         // save %sp, -176, %sp
            (0x4000_0004, Class::Other),         // call
            (NOP, Class::Other),
        ] {
            assert_eq!(class(&word.to_be_bytes()), expected, "{word:#010x}");
        }
        assert_eq!(class(&[]), Class::Other);
    }

    #[test]
    fn a_call_can_be_the_last_action_of_a_function() {
        for (word, expected) in [
            (0x81e8_0000_u32, true), // restore
            (0x9e10_0001, true),     // mov %g1, %o7
            (NOP, false),
            (0x9010_0018, false), // mov %i0, %o0
        ] {
            assert_eq!(ends_its_call(&word.to_be_bytes()), expected, "{word:#010x}");
        }
    }

    #[test]
    fn a_delay_slot_follows_in_the_block() {
        let conditional = |instruction, next| Exit::Conditional { instruction, next };
        assert_eq!(exit_of(&[NOP, 0x1280_0004, NOP], 0x100c), conditional(1, 0x100c));
        assert_eq!(exit_of(&[0x4000_0004, NOP], 0x1008), Exit::Call { instruction: 0 });
        assert_eq!(exit_of(&[NOP, 0x81c3_e008, NOP], 0x100c), Exit::Return { instruction: 1 });
        assert_eq!(exit_of(&[NOP, 0x91d0_206d], 0x1008), Exit::Trap { instruction: 1 });
        assert_eq!(exit_of(&[NOP, NOP], 0x1008), Exit::None);
        assert_eq!(exit_of(&[0x1080_0004, NOP, NOP], 0x100c), Exit::None);
    }

    #[test]
    fn an_annulled_delay_slot_is_skipped() {
        // The instruction at 0x1004 is bne,a, whose delay slot at 0x1008 executes only if the branch is taken.
        let expected = Exit::Conditional { instruction: 1, next: 0x100c };
        assert_eq!(exit_of(&[NOP, 0x3280_0004], 0x1008), expected);
        assert_eq!(exit_of(&[NOP, 0x3080_0004], 0x1008), Exit::Jump { instruction: 1 });
    }

    #[test]
    fn a_branch_at_the_end_of_a_page() {
        let expected = Exit::Conditional { instruction: 1, next: 0x2000 };
        assert_eq!(exit_of(&[NOP, 0x1280_0004], 0x2000), expected);
    }
}
