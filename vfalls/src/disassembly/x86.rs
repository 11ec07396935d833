//! Disassembles x86-64 code, in AT&T syntax.

use iced_x86::{Decoder, DecoderOptions, Formatter, GasFormatter};

/// Disassembles code that is loaded at `address`. Returns each instruction with its own address.
pub(crate) fn disassembly(code: &[u8], address: u64) -> Vec<(u64, String)> {
    let mut formatter = GasFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_uppercase_hex(false);
    let format = |instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        (instruction.ip(), text)
    };
    let decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
    decoder.into_iter().map(format).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The GNU assembler translates the expected text to `code`.
    #[test]
    fn instructions_have_addresses_and_operands() {
        let code = [0x48, 0x83, 0xc0, 0x01, 0xf0, 0x48, 0x83, 0x07, 0x03, 0x74, 0xf5, 0xc3];
        let expected = [
            (0x1000, "add $1,%rax"),
            (0x1004, "lock addq $3,(%rdi)"),
            (0x1009, "je 0x0000000000001000"),
            (0x100b, "ret"),
        ];
        let found = disassembly(&code, 0x1000);
        let found: Vec<_> = found.iter().map(|(at, text)| (*at, &**text)).collect();
        assert_eq!(found, expected);
    }
}
