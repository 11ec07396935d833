//! Decodes x86-64: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A.

use refs::Exit;

use super::Transfer;

/// Returns the exit of a block. `end` is the address after the block's last instruction.
pub(crate) fn exit(instructions: &[&[u8]], end: u64) -> Exit {
    let transfer = instructions.last().and_then(|last| transfer(last));
    transfer.map_or(Exit::None, |transfer| transfer.exit(instructions.len() - 1, end))
}

/// The prefix that makes an instruction atomic.
const LOCK: u8 = 0xf0;

/// Returns the position of the opcode, after the prefixes.
fn opcode(instruction: &[u8]) -> Option<usize> {
    let prefix = |byte: &u8| matches!(*byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | LOCK | 0xf2 | 0xf3);
    instruction.iter().position(|byte| !prefix(byte))
}

/// Returns `true` for XCHG, and for an instruction with the prefix LOCK.
pub(crate) fn is_atomic(instruction: &[u8]) -> bool {
    opcode(instruction).is_some_and(|at| {
        instruction[..at].contains(&LOCK) || matches!(instruction[at], 0x86 | 0x87)
    })
}

fn transfer(instruction: &[u8]) -> Option<Transfer> {
    let opcode = opcode(instruction)?;
    let second = instruction.get(opcode + 1).copied();
    match (instruction[opcode], second) {
        (0x70..=0x7f | 0xe0..=0xe3, _) | (0x0f, Some(0x80..=0x8f)) => Some(Transfer::Conditional),
        (0xe9 | 0xeb, _) => Some(Transfer::Jump),
        (0xe8, _) => Some(Transfer::Call),
        (0xc2 | 0xc3 | 0xca | 0xcb | 0xcf, _) => Some(Transfer::Return),
        // syscall, sysenter, ud2; int3, int, int1, hlt
        (0x0f, Some(0x05 | 0x34 | 0x0b)) | (0xcc | 0xcd | 0xf1 | 0xf4, _) => Some(Transfer::Trap),
        (0xff, Some(form)) => match form >> 3 & 7 {
            2 | 3 => Some(Transfer::Call),
            4 | 5 => Some(Transfer::Jump),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_transfers_of_x86() {
        let cases: &[(&[u8], Option<Transfer>)] = &[
            (&[0x74, 0x05], Some(Transfer::Conditional)),       // je
            (&[0x2e, 0x7f, 0x05], Some(Transfer::Conditional)), // jg, with a hint
            (&[0x0f, 0x85, 1, 2, 3, 4], Some(Transfer::Conditional)), // jne
            (&[0xe2, 0xfe], Some(Transfer::Conditional)),       // loop
            (&[0xe3, 0x10], Some(Transfer::Conditional)),       // jrcxz
            (&[0xeb, 0xfe], Some(Transfer::Jump)),              // jmp
            (&[0xe9, 1, 2, 3, 4], Some(Transfer::Jump)),        // jmp
            (&[0xff, 0xe0], Some(Transfer::Jump)),              // jmp *%rax
            (&[0x41, 0xff, 0xe3], Some(Transfer::Jump)),        // jmp *%r11
            (&[0xf2, 0xff, 0x25, 1, 2, 3, 4], Some(Transfer::Jump)), // bnd jmp *1(%rip)
            (&[0x3e, 0xff, 0xe0], Some(Transfer::Jump)),        // notrack jmp *%rax
            (&[0xe8, 1, 2, 3, 4], Some(Transfer::Call)),        // call
            (&[0xff, 0xd0], Some(Transfer::Call)),              // call *%rax
            (&[0x41, 0xff, 0x54, 0x24, 0x08], Some(Transfer::Call)), // call *8(%r12)
            (&[0xc3], Some(Transfer::Return)),                  // ret
            (&[0xf3, 0xc3], Some(Transfer::Return)),            // rep ret
            (&[0xc2, 8, 0], Some(Transfer::Return)),            // ret $8
            (&[0x0f, 0x05], Some(Transfer::Trap)),              // syscall
            (&[0xcd, 0x80], Some(Transfer::Trap)),              // int $0x80
            (&[0x0f, 0x0b], Some(Transfer::Trap)),              // ud2
            (&[0x90], None),                                    // nop
            (&[0xff, 0xc0], None),                              // inc %eax
            (&[0xff, 0x30], None),                              // push (%rax)
            (&[0xf3, 0xa4], None),                              // rep movsb
            (&[0x0f, 0x1f, 0x40, 0x00], None),                  // nop
            (&[0x0f, 0x44, 0xc1], None),                        // cmove
            (&[0x48, 0x89, 0xe5], None),                        // mov %rsp,%rbp
            (&[0xc5, 0xf8, 0x77], None),                        // vzeroupper
            (&[0x66], None),
            (&[], None),
        ];
        for (bytes, expected) in cases {
            assert_eq!(transfer(bytes), *expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn atomic_instructions_of_x86() {
        let cases: &[(&[u8], bool)] = &[
            (&[0xf0, 0xff, 0x00], true),             // lock incl (%rax)
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x17], true), // lock cmpxchg %rdx,(%rdi)
            (&[0x64, 0xf0, 0x83, 0x04, 0x25, 0, 0, 0, 0, 1], true), // lock addl $1,%fs:0
            (&[0x87, 0x07], true),                   // xchg %eax,(%rdi)
            (&[0x48, 0x87, 0x07], true),             // xchg %rax,(%rdi)
            (&[0xff, 0x00], false),                  // incl (%rax)
            (&[0x48, 0x89, 0x07], false),            // mov %rax,(%rdi)
            (&[0xf3, 0xa4], false),                  // rep movsb
            (&[], false),
        ];
        for (bytes, expected) in cases {
            assert_eq!(is_atomic(bytes), *expected, "{bytes:02x?}");
        }
    }

    #[test]
    fn the_last_instruction_leaves_a_block() {
        let (nop, je, ret): (&[u8], &[u8], &[u8]) = (&[0x90], &[0x74, 0x05], &[0xc3]);
        let conditional = Exit::Conditional { instruction: 2, next: 0x1004 };
        assert_eq!(exit(&[nop, nop, je], 0x1004), conditional);
        assert_eq!(exit(&[ret], 0x1001), Exit::Return { instruction: 0 });
        assert_eq!(exit(&[ret, nop], 0x1002), Exit::None);
        assert_eq!(exit(&[], 0x1000), Exit::None);
    }
}
