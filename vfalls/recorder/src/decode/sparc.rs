//! Decodes SPARC V9 instructions (The SPARC Architecture Manual, version 9, appendices A and E).

use refs::Exit;

use super::Transfer;

/// Returns the exit of a block. `end` is the address after the block's last instruction.
///
/// Usually the second-last instruction of a block transfers control, and the last instruction is the delay slot. At the end of a
/// page, and at a branch with the annul bit, the transfer itself is the last instruction. If the page ends between a conditional
/// branch and its delay slot, the branch counts as not taken, because the next block is always the delay slot.
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

/// Returns `true` for LDSTUB, LDSTUBA, SWAP, SWAPA, CASA and CASXA.
pub(crate) fn is_atomic(instruction: &[u8]) -> bool {
    let Ok(bytes) = instruction.try_into() else {
        return false;
    };
    let word = u32::from_be_bytes(bytes);
    word >> 30 == 3 && matches!(word >> 19 & 0x3f, 0x0d | 0x0f | 0x1d | 0x1f | 0x3c | 0x3e)
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

    #[test]
    fn atomic_instructions_of_sparc() {
        for (word, expected) in [
            (0xc7f0_5002_u32, true), // casx [%g1], %g2, %g3
            (0xc7e0_5002, true),     // cas [%g1], %g2, %g3
            (0xc668_4000, true),     // ldstub [%g1], %g3
            (0xc678_4000, true),     // swap [%g1], %g3
            (0xc6e8_5000, true),     // ldstuba [%g1] #ASI_P, %g3: alternate space 0x80
            (0xc6f8_5000, true),     // swapa
            (0xd05b_a7df, false),    // ldx [%sp + 2015], %o0
            (0xd073_a7df, false),    // stx %o0, [%sp + 2015]
            (0x9de3_bf50, false),    // save %sp, -176, %sp
        ] {
            assert_eq!(is_atomic(&word.to_be_bytes()), expected, "{word:#010x}");
        }
        assert!(!is_atomic(&[]));
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
        // bne,a at 0x1004. Its delay slot at 0x1008 executes only if the branch is taken.
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
