//! Decodes x86-64: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A.

use refs::{Class, Exit};

use super::Transfer;

/// Returns the exit of a block. `end` is the address after the block's last instruction.
pub(crate) fn exit(instructions: &[&[u8]], end: u64) -> Exit {
    let transfer = instructions.last().and_then(|last| transfer(last));
    transfer.map_or(Exit::None, |transfer| transfer.exit(instructions.len() - 1, end))
}

/// The prefix that makes an instruction atomic.
const LOCK: u8 = 0xf0;

/// Returns the index of the opcode's first byte, which follows the prefixes.
fn opcode(instruction: &[u8]) -> Option<usize> {
    let prefix = |byte: &u8| matches!(*byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x40..=0x4f | 0x64..=0x67 | LOCK | 0xf2 | 0xf3);
    instruction.iter().position(|byte| !prefix(byte))
}

pub(crate) fn class(instruction: &[u8]) -> Class {
    let Some(at) = opcode(instruction) else {
        return Class::Other;
    };
    if instruction[..at].contains(&LOCK) {
        return Class::Atomic;
    }
    // A byte beyond the end of the instruction counts as 0. No class depends on such a byte.
    let byte = |at: usize| instruction.get(at).copied().unwrap_or(0);
    match byte(at) {
        0x0f => match byte(at + 1) {
            0x38 => of_map_0f38(byte(at + 2), byte(at + 3), false),
            0x3a => of_map_0f3a(byte(at + 2)),
            opcode => of_map_0f(opcode, byte(at + 2)),
        },
        // VEX prefixes. In the long form, bits 4:0 of the second byte are the opcode map's number.
        0xc5 => of_map_0f(byte(at + 2), byte(at + 3)),
        0xc4 => match byte(at + 1) & 0x1f {
            1 => of_map_0f(byte(at + 3), byte(at + 4)),
            2 => of_map_0f38(byte(at + 3), byte(at + 4), byte(at + 2) & 3 == 3),
            3 => of_map_0f3a(byte(at + 3)),
            _ => Class::Other,
        },
        opcode => of_one_byte(opcode, byte(at + 1)),
    }
}

/// Returns `true` if the operand that a ModR/M byte describes is in memory.
fn is_memory(modrm: u8) -> bool {
    modrm < 0xc0
}

/// Returns the class of a move: `Class::Other` for a load or store, `Class::Vector` for a move between registers.
fn of_move(modrm: u8) -> Class {
    if is_memory(modrm) { Class::Other } else { Class::Vector }
}

fn of_one_byte(opcode: u8, modrm: u8) -> Class {
    match (opcode, modrm >> 3 & 7) {
        // XCHG is atomic without a prefix.
        (0x86 | 0x87, _) if is_memory(modrm) => Class::Atomic,
        (0x69 | 0x6b, _) | (0xf6 | 0xf7, 4 | 5) => Class::Multiply,
        (0xf6 | 0xf7, 6 | 7) => Class::Divide,
        // INS, OUTS, INT3, INT, IN, OUT, INT1, HLT, CLI, STI
        (0x6c..=0x6f | 0xcc | 0xcd | 0xe4..=0xe7 | 0xec..=0xef | 0xf1 | 0xf4 | 0xfa | 0xfb, _) => {
            Class::System
        }
        (0xd8..=0xdf, _) => of_x87(opcode, modrm),
        _ => Class::Other,
    }
}

/// Returns the class of an x87 instruction. Loads and stores that do not convert an integer are [`Class::Other`].
fn of_x87(opcode: u8, modrm: u8) -> Class {
    if is_memory(modrm) {
        return match (opcode, modrm >> 3 & 7) {
            // Loads and stores of numbers, the environment, and the control and status words.
            (0xd9, _) | (0xdb, 4..=7) | (0xdd, 0 | 2..=7) => Class::Other,
            _ => Class::FloatingPoint,
        };
    }
    match (opcode, modrm) {
        // FNOP, FDECSTP, FINCSTP, FNCLEX, FNINIT, FFREE, FNSTSW
        (0xd9, 0xd0..=0xdf | 0xf6 | 0xf7)
        | (0xdb, 0xe0..=0xe7)
        | (0xdd, 0xc0..=0xcf)
        | (0xdf, ..=0xe7) => Class::Other,
        // FLD, FXCH, FCHS, FABS, FXAM, FLD1 and other constants; FCMOVcc; FST
        (0xd9, ..=0xe3 | 0xe5..=0xef) | (0xda | 0xdb, ..=0xdf) | (0xdd, ..=0xdf) => Class::Vector,
        _ => Class::FloatingPoint,
    }
}

/// Returns the class of an instruction whose opcode is in map 0F.
fn of_map_0f(opcode: u8, modrm: u8) -> Class {
    match (opcode, modrm >> 3 & 7) {
        // SYSCALL, CLTS, SYSRET, INVD, WBINVD, UD2, moves to or from control registers, WRMSR, RDMSR, SYSENTER, SYSEXIT
        (0x05..=0x09 | 0x0b | 0x20..=0x23 | 0x30 | 0x32 | 0x34 | 0x35, _) => Class::System,
        // LLDT, LTR; LGDT, LIDT, LMSW, INVLPG
        (0x00, 2 | 3) => Class::System,
        (0x01, 2 | 3 | 6 | 7) if is_memory(modrm) => Class::System,
        // PREFETCHW, PREFETCHh; LFENCE, MFENCE, SFENCE
        (0x0d, _) | (0x18, 0..=3) => Class::Prefetch,
        (0xae, 5..=7) if !is_memory(modrm) => Class::Prefetch,
        (0xaf, _) => Class::Multiply,
        // MOVUPS, MOVLPS, MOVHPS, MOVAPS, MOVD, MOVQ, MOVDQA, MOVDQU
        (0x10..=0x13 | 0x16 | 0x17 | 0x28 | 0x29 | 0x6e | 0x6f | 0x7e | 0x7f | 0xd6, _) => {
            of_move(modrm)
        }
        // CVT, UCOMIS, COMIS, SQRT, ADD, MUL, SUB, MIN, DIV, MAX, HADD, HSUB, CMP, ADDSUB
        (0x2a | 0x2c..=0x2f | 0x51 | 0x58..=0x5f | 0x7c | 0x7d | 0xc2 | 0xd0 | 0xe6, _) => {
            Class::FloatingPoint
        }
        // EMMS and VZEROUPPER; MOVNTDQ, LDDQU and MASKMOVDQU, which only load or store
        (0x77 | 0xe7 | 0xf0 | 0xf7 | 0xff, _) => Class::Other,
        // UNPCK, MOVMSK, RSQRT, RCP, AND, OR, XOR, PINSRW, PEXTRW, SHUF, and vectors of integers
        (0x14 | 0x15 | 0x50..=0x57 | 0x60..=0x76 | 0xc4..=0xc6 | 0xd1.., _) => Class::Vector,
        _ => Class::Other,
    }
}

/// Returns the class of an instruction whose opcode is in map 0F 38. `vex_f2` is `true` if the instruction has a VEX prefix that includes
/// the prefix F2.
fn of_map_0f38(opcode: u8, modrm: u8, vex_f2: bool) -> Class {
    match opcode {
        // MULX
        0xf6 if vex_f2 => Class::Multiply,
        // VCVTPH2PS, and fused multiply-add
        0x13 | 0x96..=0x9f | 0xa6..=0xaf | 0xb6..=0xbf => Class::FloatingPoint,
        // MOVNTDQA, VMASKMOV, VPMASKMOV, gathers, MOVBE, CRC32, and bit manipulation only load, store or compute with integers.
        0x2a | 0x2c..=0x2f | 0x80..=0x95 | 0xf0.. => Class::Other,
        // VBROADCAST
        0x18..=0x1a | 0x58..=0x5a | 0x78 | 0x79 => of_move(modrm),
        _ => Class::Vector,
    }
}

/// Returns the class of an instruction whose opcode is in map 0F 3A.
fn of_map_0f3a(opcode: u8) -> Class {
    match opcode {
        // ROUND, VCVTPS2PH, DPPS, DPPD
        0x08..=0x0b | 0x1d | 0x40 | 0x41 => Class::FloatingPoint,
        // RORX
        0xf0 => Class::Other,
        _ => Class::Vector,
    }
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

    /// An assembler produced these bytes from the instructions in the comments.
    #[test]
    fn classes_of_x86() {
        let cases: &[(&[u8], Class)] = &[
            (&[0x64, 0xf0, 0x83, 0x04, 0x25, 0, 0, 0, 0, 1], Class::Atomic), // lock addl $1,%fs:0
            (&[0x48, 0x0f, 0xaf, 0xd8], Class::Multiply),                    // imul %rax,%rbx
            (&[0x48, 0x6b, 0xd8, 0x05], Class::Multiply),                    // imul $0x5,%rax,%rbx
            (&[0x48, 0x69, 0x18, 0xf4, 0x01, 0x00, 0x00], Class::Multiply), // imul $0x1f4,(%rax),%rbx
            (&[0x48, 0xf7, 0xe1], Class::Multiply),                         // mul %rcx
            (&[0xf6, 0xe9], Class::Multiply),                               // imul %cl
            (&[0x48, 0xf7, 0x20], Class::Multiply),                         // mulq (%rax)
            (&[0x48, 0xf7, 0xf1], Class::Divide),                           // div %rcx
            (&[0xf7, 0x38], Class::Divide),                                 // idivl (%rax)
            (&[0x48, 0xf7, 0xd0], Class::Other),                            // not %rax
            (&[0x48, 0xf7, 0xd9], Class::Other),                            // neg %rcx
            (&[0xa8, 0x01], Class::Other),                                  // test $0x1,%al
            (&[0xc4, 0xe2, 0xe3, 0xf6, 0xc8], Class::Multiply),             // mulx %rax,%rbx,%rcx
            (&[0x66, 0x48, 0x0f, 0x38, 0xf6, 0xd8], Class::Other),          // adcx %rax,%rbx
            (&[0xd8, 0x00], Class::FloatingPoint),                          // fadds (%rax)
            (&[0xd8, 0xc1], Class::FloatingPoint),                          // fadd %st(1),%st
            (&[0xd9, 0x00], Class::Other),                                  // flds (%rax)
            (&[0xdd, 0x18], Class::Other),                                  // fstpl (%rax)
            (&[0xd9, 0xe8], Class::Vector),                                 // fld1
            (&[0xd9, 0xc1], Class::Vector),                                 // fld %st(1)
            (&[0xd9, 0xc9], Class::Vector),                                 // fxch %st(1)
            (&[0xd9, 0xe0], Class::Vector),                                 // fchs
            (&[0xd9, 0xfa], Class::FloatingPoint),                          // fsqrt
            (&[0xd9, 0xfe], Class::FloatingPoint),                          // fsin
            (&[0xd9, 0xf7], Class::Other),                                  // fincstp
            (&[0xdb, 0x00], Class::FloatingPoint),                          // fildl (%rax)
            (&[0xdf, 0x38], Class::FloatingPoint),                          // fistpll (%rax)
            (&[0xdb, 0x28], Class::Other),                                  // fldt (%rax)
            (&[0xdb, 0x38], Class::Other),                                  // fstpt (%rax)
            (&[0xda, 0xc9], Class::Vector),                                 // fcmove %st(1),%st
            (&[0xdb, 0xe9], Class::FloatingPoint),                          // fucomi %st(1),%st
            (&[0xdf, 0xe0], Class::Other),                                  // fnstsw %ax
            (&[0xdb, 0xe3], Class::Other),                                  // fninit
            (&[0xd9, 0x28], Class::Other),                                  // fldcw (%rax)
            (&[0xde, 0xc1], Class::FloatingPoint),                          // faddp %st,%st(1)
            (&[0xdd, 0xd9], Class::Vector),                                 // fstp %st(1)
            (&[0xdd, 0xe9], Class::FloatingPoint),                          // fucomp %st(1)
            (&[0xdf, 0xe9], Class::FloatingPoint),                          // fucomip %st(1),%st
            (&[0xf2, 0x0f, 0x58, 0xc1], Class::FloatingPoint),              // addsd %xmm1,%xmm0
            (&[0xf2, 0x0f, 0x58, 0x00], Class::FloatingPoint),              // addsd (%rax),%xmm0
            (&[0x0f, 0x59, 0xc1], Class::FloatingPoint),                    // mulps %xmm1,%xmm0
            (&[0xf2, 0x41, 0x0f, 0x5e, 0xc1], Class::FloatingPoint),        // divsd %xmm9,%xmm0
            (&[0xf3, 0x0f, 0x51, 0xc1], Class::FloatingPoint),              // sqrtss %xmm1,%xmm0
            (&[0x66, 0x0f, 0x2e, 0xc1], Class::FloatingPoint),              // ucomisd %xmm1,%xmm0
            (&[0xf2, 0x48, 0x0f, 0x2a, 0xc0], Class::FloatingPoint),        // cvtsi2sd %rax,%xmm0
            (&[0xf2, 0x48, 0x0f, 0x2c, 0xc0], Class::FloatingPoint),        // cvttsd2si %xmm0,%rax
            (&[0xf3, 0x0f, 0xe6, 0xc8], Class::FloatingPoint),              // cvtdq2pd %xmm0,%xmm1
            (&[0x66, 0x0f, 0xc2, 0xc1, 0x01], Class::FloatingPoint),        // cmpltpd %xmm1,%xmm0
            (&[0xf2, 0x0f, 0x7c, 0xc1], Class::FloatingPoint),              // haddps %xmm1,%xmm0
            (&[0xf2, 0x0f, 0x5f, 0xc1], Class::FloatingPoint),              // maxsd %xmm1,%xmm0
            (&[0x66, 0x0f, 0x3a, 0x0b, 0xc1, 0x01], Class::FloatingPoint), // roundsd $0x1,%xmm1,%xmm0
            (&[0x66, 0x0f, 0x3a, 0x40, 0xc1, 0x01], Class::FloatingPoint), // dpps $0x1,%xmm1,%xmm0
            (&[0x0f, 0x28, 0xc1], Class::Vector),                          // movaps %xmm1,%xmm0
            (&[0x0f, 0x28, 0x00], Class::Other),                           // movaps (%rax),%xmm0
            (&[0x0f, 0x11, 0x00], Class::Other),                           // movups %xmm0,(%rax)
            (&[0xf2, 0x0f, 0x10, 0x00], Class::Other),                     // movsd (%rax),%xmm0
            (&[0x66, 0x0f, 0x6e, 0xc0], Class::Vector),                    // movd %eax,%xmm0
            (&[0x66, 0x0f, 0xd6, 0x00], Class::Other),                     // movq %xmm0,(%rax)
            (&[0x66, 0x0f, 0x6f, 0xc1], Class::Vector),                    // movdqa %xmm1,%xmm0
            (&[0x66, 0x0f, 0x7f, 0x08], Class::Other),                     // movdqa %xmm1,(%rax)
            (&[0x0f, 0x2b, 0x00], Class::Other),                           // movntps %xmm0,(%rax)
            (&[0x0f, 0x57, 0xc0], Class::Vector),                          // xorps %xmm0,%xmm0
            (&[0x66, 0x0f, 0xef, 0xc0], Class::Vector),                    // pxor %xmm0,%xmm0
            (&[0x66, 0x0f, 0xfe, 0xc1], Class::Vector),                    // paddd %xmm1,%xmm0
            (&[0x66, 0x0f, 0x38, 0x00, 0xc1], Class::Vector),              // pshufb %xmm1,%xmm0
            (&[0x66, 0x0f, 0x3a, 0x0f, 0xc1, 0x01], Class::Vector), // palignr $0x1,%xmm1,%xmm0
            (&[0x0f, 0x53, 0xc1], Class::Vector),                   // rcpps %xmm1,%xmm0
            (&[0x66, 0x0f, 0x38, 0xdc, 0xc1], Class::Vector),       // aesenc %xmm1,%xmm0
            (&[0x66, 0x0f, 0xd7, 0xc0], Class::Vector),             // pmovmskb %xmm0,%eax
            (&[0xc5, 0xed, 0x58, 0xd9], Class::FloatingPoint),      // vaddpd %ymm1,%ymm2,%ymm3
            (&[0xc4, 0xe2, 0xe9, 0xa9, 0xd9], Class::FloatingPoint), // vfmadd213sd %xmm1,%xmm2,%xmm3
            (&[0xc5, 0xed, 0xfe, 0xd9], Class::Vector),              // vpaddd %ymm1,%ymm2,%ymm3
            (&[0xc5, 0xfe, 0x6f, 0x00], Class::Other),               // vmovdqu (%rax),%ymm0
            (&[0xc5, 0xfe, 0x6f, 0xc8], Class::Vector),              // vmovdqu %ymm0,%ymm1
            (&[0xc5, 0xf8, 0x77], Class::Other),                     // vzeroupper
            (&[0xc4, 0xe2, 0xe0, 0xf2, 0xc8], Class::Other),         // andn %rax,%rbx,%rcx
            (&[0xc4, 0xe3, 0xfb, 0xf0, 0xd8, 0x01], Class::Other),   // rorx $0x1,%rax,%rbx
            (&[0xf2, 0x0f, 0x38, 0xf1, 0xd8], Class::Other),         // crc32 %eax,%ebx
            (&[0x48, 0x0f, 0x44, 0xd8], Class::Other),               // cmove %rax,%rbx
            (&[0x0f, 0x94, 0xc0], Class::Other),                     // sete %al
            (&[0x48, 0x0f, 0xc8], Class::Other),                     // bswap %rax
            (&[0x48, 0x0f, 0x38, 0xf0, 0x18], Class::Other),         // movbe (%rax),%rbx
            (&[0xc4, 0xe2, 0xf9, 0xf7, 0xcb], Class::Other),         // shlx %rax,%rbx,%rcx
            (&[0xc4, 0xe2, 0x71, 0x90, 0x1c, 0x10], Class::Other), // vpgatherdd %xmm1,(%rax,%xmm2,1),%xmm3
            (&[0x0f, 0x18, 0x08], Class::Prefetch),                // prefetcht0 (%rax)
            (&[0x0f, 0x0d, 0x08], Class::Prefetch),                // prefetchw (%rax)
            (&[0x0f, 0xae, 0xf0], Class::Prefetch),                // mfence
            (&[0x0f, 0xae, 0xe8], Class::Prefetch),                // lfence
            (&[0x0f, 0xae, 0xf8], Class::Prefetch),                // sfence
            (&[0x0f, 0xae, 0x38], Class::Other),                   // clflush (%rax)
            (&[0x0f, 0x05], Class::System),                        // syscall
            (&[0xcc], Class::System),                              // int3
            (&[0x0f, 0x0b], Class::System),                        // ud2
            (&[0xf4], Class::System),                              // hlt
            (&[0xec], Class::System),                              // in (%dx),%al
            (&[0xfa], Class::System),                              // cli
            (&[0x0f, 0x30], Class::System),                        // wrmsr
            (&[0x0f, 0x32], Class::System),                        // rdmsr
            (&[0x0f, 0x20, 0xc0], Class::System),                  // mov %cr0,%rax
            (&[0x0f, 0x01, 0x10], Class::System),                  // lgdt (%rax)
            (&[0x0f, 0x01, 0x38], Class::System),                  // invlpg (%rax)
            (&[0x0f, 0x31], Class::Other),                         // rdtsc
            (&[0x0f, 0x01, 0xf9], Class::Other),                   // rdtscp
            (&[0x0f, 0x01, 0xd0], Class::Other),                   // xgetbv
            (&[0x0f, 0xa2], Class::Other),                         // cpuid
            (&[0x0f, 0x01, 0x00], Class::Other),                   // sgdt (%rax)
            (&[0x48, 0x93], Class::Other),                         // xchg %rax,%rbx
            (&[0x48, 0x87, 0x03], Class::Atomic),                  // xchg %rax,(%rbx)
            (&[0xf0, 0x48, 0x83, 0x00, 0x03], Class::Atomic),      // lock addq $0x3,(%rax)
            (&[0x48, 0x83, 0x00, 0x03], Class::Other),             // addq $0x3,(%rax)
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x17], Class::Atomic),      // lock cmpxchg %rdx,(%rdi)
            (&[0x48, 0x0f, 0xb1, 0x17], Class::Other),             // cmpxchg %rdx,(%rdi)
            (&[0x90], Class::Other),                               // nop
            (&[0x48], Class::Other),
            (&[0xc4], Class::Other),
            (&[], Class::Other),
        ];
        for (bytes, expected) in cases {
            assert_eq!(class(bytes), *expected, "{bytes:02x?}");
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
