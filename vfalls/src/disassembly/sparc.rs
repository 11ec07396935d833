//! Disassembly of SPARC V9: UltraSPARC Architecture 2007, appendix A (opcode maps).

use simulator::interpreter::instruction::Register;

/// The names of instructions with op = 2, by op3; `-` for an unused op3 (table A-3).
const ARITHMETIC: &str = "\
    add and or xor sub andn orn xnor addc mulx umul smul subc udivx udiv sdiv addcc andcc orcc xorcc \
    subcc andncc orncc xnorcc addccc - umulcc smulcc subccc - udivcc sdivcc taddcc tsubcc taddcctv \
    tsubcctv mulscc sll srl sra rd rdhpr rdpr flushw movcc sdivx popc movr wr saved wrpr wrhpr fpop1 \
    fpop2 impdep1 impdep2 jmpl return tcc flush save restore done -";

/// The names of instructions with op = 3, by op3 (table A-4).
const MEMORY: &str = "\
    lduw ldub lduh ldtw stw stb sth sttw ldsw ldsb ldsh ldx - ldstub stx swap lduwa lduba lduha ldtwa \
    stwa stba stha sttwa ldswa ldsba ldsha ldxa - ldstuba stxa swapa ldf ldfsr ldqf lddf stf stfsr stqf \
    stdf - - - - - prefetch - - ldfa - ldqfa lddfa stfa - stqfa stdfa - - - - casa prefetcha casxa -";

/// The names of FPop1 instructions (op3 = 0x34). Each name follows its opf code, in hexadecimal
/// digits (table A-5).
const FPOP1: &str = "\
    01 fmovs 02 fmovd 03 fmovq 05 fnegs 06 fnegd 07 fnegq 09 fabss 0a fabsd 0b fabsq 29 fsqrts 2a fsqrtd \
    2b fsqrtq 41 fadds 42 faddd 43 faddq 45 fsubs 46 fsubd 47 fsubq 49 fmuls 4a fmuld 4b fmulq 4d fdivs \
    4e fdivd 4f fdivq 69 fsmuld 6e fdmulq 81 fstox 82 fdtox 83 fqtox 84 fxtos 88 fxtod 8c fxtoq c4 fitos \
    c6 fdtos c7 fqtos c8 fitod c9 fstod cb fqtod cc fitoq cd fstoq ce fdtoq d1 fstoi d2 fdtoi d3 fqtoi";

/// The names of FPop2 instructions (op3 = 0x35), except the conditional moves, in the form of
/// [`FPOP1`] (table A-6).
const FPOP2: &str = "\
    51 fcmps 52 fcmpd 53 fcmpq 55 fcmpes 56 fcmped 57 fcmpeq";

/// The names of VIS instructions (op3 = 0x36, IMPDEP1), in the form of [`FPOP1`] (table A-7).
const VIS: &str = "\
    00 edge8 01 edge8n 02 edge8l 03 edge8ln 04 edge16 05 edge16n 06 edge16l 07 edge16ln 08 edge32 09 \
    edge32n 0a edge32l 0b edge32ln 10 array8 12 array16 14 array32 18 alignaddr 19 bmask 1a alignaddrl \
    20 fcmple16 22 fcmpne16 24 fcmple32 26 fcmpne32 28 fcmpgt16 2a fcmpeq16 2c fcmpgt32 2e fcmpeq32 31 \
    fmul8x16 33 fmul8x16au 35 fmul8x16al 36 fmul8sux16 37 fmul8ulx16 38 fmuld8sux16 39 fmuld8ulx16 3a \
    fpack32 3b fpack16 3d fpackfix 3e pdist 48 faligndata 4b fpmerge 4c bshuffle 4d fexpand 50 fpadd16 \
    51 fpadd16s 52 fpadd32 53 fpadd32s 54 fpsub16 55 fpsub16s 56 fpsub32 57 fpsub32s 60 fzerod 61 fzeros \
    62 fnord 63 fnors 64 fandnot2d 65 fandnot2s 66 fnot2d 67 fnot2s 68 fandnot1d 69 fandnot1s 6a fnot1d \
    6b fnot1s 6c fxord 6d fxors 6e fnandd 6f fnands 70 fandd 71 fands 72 fxnord 73 fxnors 74 fsrc1d 75 \
    fsrc1s 76 fornot2d 77 fornot2s 78 fsrc2d 79 fsrc2s 7a fornot1d 7b fornot1s 7c ford 7d fors 7e foned \
    7f fones 80 shutdown 81 siam";

/// The conditions of branches, moves and traps (table A-8).
const CONDITIONS: &str = "\
    n e le l leu cs neg vs a ne g ge gu cc pos vc";

const fn bits(word: u32, from: u32, many: u32) -> u32 {
    word >> from & ((1 << many) - 1)
}

/// Disassembles an instruction. Arithmetic instructions, loads, stores, `sethi` and `illtrap` have
/// operands. Most other instructions appear by name alone. Returns `None` if the code is unused.
pub(crate) fn disassembly(word: u32) -> Option<String> {
    let op3 = bits(word, 19, 6);
    let rd = register(bits(word, 25, 5));
    let text = match bits(word, 30, 2) {
        0 => match bits(word, 22, 3) {
            0 => format!("illtrap {:#x}", bits(word, 0, 22)),
            1 | 2 => format!("b{}", nth(CONDITIONS, bits(word, 25, 4))),
            3 if bits(word, 28, 1) == 0 => "br".to_owned(),
            4 if word == 0x0100_0000 => "nop".to_owned(),
            4 => format!("sethi %hi({:#x}), {rd}", word << 10),
            5 | 6 => "fb".to_owned(),
            _ => return None,
        },
        1 => "call".to_owned(),
        2 => match (nth(ARITHMETIC, op3), op3) {
            ("-", _) => return None,
            (name, 0x34..=0x36) => {
                let opf = bits(word, 5, 9);
                let known = [FPOP1, FPOP2, VIS][op3 as usize - 0x34];
                let known = named(known, opf).map(str::to_owned);
                known.unwrap_or_else(|| format!("{name}, opf {opf:#x}"))
            }
            ("tcc", _) => format!("t{}", nth(CONDITIONS, bits(word, 25, 4))),
            ("done", _) if bits(word, 25, 5) == 1 => "retry".to_owned(),
            ("saved", _) => {
                let names = ["saved", "restored", "allclean", "otherw", "normalw", "invalw"];
                names.get(bits(word, 25, 5) as usize)?.to_string()
            }
            (name, 0x00..=0x27 | 0x2d | 0x3c | 0x3d) => {
                let first = register(bits(word, 14, 5));
                format!("{name} {first}, {}, {rd}", second(word))
            }
            (name, _) => name.to_owned(),
        },
        _ => {
            let name = nth(MEMORY, op3);
            let (first, second) = (register(bits(word, 14, 5)), second(word));
            let address = match &*second {
                "%g0" => format!("[{first}]"),
                _ => format!("[{first} + {second}]"),
            };
            let space = match (op3, bits(word, 13, 1)) {
                (0x10..0x20 | 0x3c | 0x3e, 0) => format!(" {:#x}", bits(word, 5, 8)),
                (0x10..0x20 | 0x3c | 0x3e, _) => " %asi".to_owned(),
                _ => String::new(),
            };
            match op3 {
                _ if name == "-" => return None,
                // In CASA and CASXA, the first register contains the address. The second register
                // contains the value to compare with.
                0x3c | 0x3e => {
                    let compared = register(bits(word, 0, 5));
                    format!("{name} [{first}]{space}, {compared}, {rd}")
                }
                0x20.. => format!("{name} {address}"),
                0x4..=0x7 | 0xe | 0x14..=0x17 | 0x1e => format!("{name} {rd}, {address}{space}"),
                _ => format!("{name} {address}{space}, {rd}"),
            }
        }
    };
    Some(text)
}

/// Disassembles the instruction at `address`. The text of a branch or call contains the target
/// address.
pub(crate) fn disassembly_at(address: u64, word: u32) -> String {
    let Some(text) = disassembly(word) else {
        return format!(".word {word:#010x}");
    };
    let displacement = match (bits(word, 30, 2), bits(word, 22, 3)) {
        (1, _) => signed(word, 30),
        (0, 1 | 5) => signed(word, 19),
        (0, 2 | 6) => signed(word, 22),
        (0, 3) => signed(bits(word, 20, 2) << 14 | bits(word, 0, 14), 16),
        _ => return text,
    };
    let annul = if bits(word, 30, 2) == 0 && bits(word, 29, 1) == 1 { ",a" } else { "" };
    let target = address.wrapping_add_signed(4 * displacement);
    format!("{text}{annul} {target:#x}")
}

/// Returns the lowest `many` bits of `word` as a signed number.
fn signed(word: u32, many: u32) -> i64 {
    i64::from((word << (32 - many)).cast_signed() >> (32 - many))
}

/// Returns the name at index `number` of a list, or `-` if the list is shorter.
fn nth(list: &'static str, number: u32) -> &'static str {
    let mut words = list.split_ascii_whitespace();
    words.nth(number as usize).unwrap_or("-")
}

/// Returns the name that follows `number` in a list. The list alternates hexadecimal numbers and
/// names.
fn named(list: &'static str, number: u32) -> Option<&'static str> {
    let mut words = list.split_ascii_whitespace();
    while let (Some(digits), Some(name)) = (words.next(), words.next()) {
        if u32::from_str_radix(digits, 16) == Ok(number) {
            return Some(name);
        }
    }
    None
}

fn register(number: u32) -> String {
    let number = Register::new(number).index();
    format!("%{}{}", ['g', 'o', 'l', 'i'][number / 8], number % 8)
}

/// Returns the second source operand of an instruction as text: a register or a number.
fn second(word: u32) -> String {
    match bits(word, 13, 1) {
        0 => register(bits(word, 0, 5)),
        _ => signed(word, 13).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected names agree with other tools: the GNU assembler translates each name to its
    /// code, and binutils disassembles each code to its name.
    #[test]
    fn words_are_named() {
        for (word, expected) in [
            (0x0100_0000, "nop"),
            (0xc258_2001, "ldx [%g0 + 1], %g1"),
            (0xa402_7ffd, "add %o1, -3, %l2"),
            (0x9027_c005, "sub %i7, %g5, %o0"),
            (0xd673_a7ff, "stx %o3, [%o6 + 2047]"),
            (0xc4d8_4400, "ldxa [%g1] 0x20, %g2"),
            (0xc2f0_a008, "stxa %g1, [%g2 + 8] %asi"),
            (0x89a0_0842, "faddd"),
            (0xc11a_0000, "lddf [%o0]"),
            (0x0000_0005, "illtrap 0x5"),
            (0x83f0_0000, "retry"),
            (0x91d0_2080, "ta"),
            (0x1268_0000, "bne"),
            (0x2310_0000, "sethi %hi(0x40000000), %l1"),
            (0x8388_0000, "restored"),
            (0xd7f2_500a, "casxa [%o1] 0x80, %o2, %o3"),
            (0xc16a_4000, "prefetch [%o1]"),
            (0x4000_0000, "call"),
            (0xd81a_8000, "ldtw [%o2], %o4"),
            (0x9de3_bf50, "save %o6, -176, %o6"),
            (0xc02a_400a, "stb %g0, [%o1 + %o2]"),
            (0x81b0_1020, "siam"),
            (0x81a0_3e00, "fpop1, opf 0x1f0"),
            (0x85a8_0a41, "fcmpd"),
        ] {
            assert_eq!(disassembly(word).as_deref(), Some(expected), "{word:#x}");
        }
        for (word, expected) in [
            (0x4000_0010, "call 0x10040"),
            (0x7fff_ffff, "call 0xfffc"),
            (0x126f_fffd, "bne 0xfff4"),
            (0x3080_0002, "ba,a 0x10008"),
            (0x02c8_4005, "br 0x10014"),
            (0x0100_0000, "nop"),
            (0x01c0_0000, ".word 0x01c00000"),
        ] {
            assert_eq!(disassembly_at(0x1_0000, word), expected, "{word:#x}");
        }
        // These three codes are unused: op = 2, op3 = 0x3f; op = 3, op3 = 0x3f; and op = 0, op2 = 7.
        for none in [0x81f8_0000, 0xc1f8_0000, 0x01c0_0000] {
            assert_eq!(disassembly(none), None, "{none:#x}");
        }
    }
}
