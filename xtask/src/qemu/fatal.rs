//! Where a fatal trap happened: the hypervisor prints registers, and this adds functions and lines.

use std::path::Path;
use std::process::Command;

use super::machine::Boot;
use crate::cargo::{output, root};
use crate::tools::SPARC_ADDR2LINE;

/// Returns a line for each address of code among the registers that the hypervisor has printed: that of the trap, those of
/// calls in %o7 and, window by window, in %i7. Addresses that are in no function are left out.
///
/// # Errors
/// addr2line is missing and cannot be installed, or fails.
pub fn places(console: &str, boot: &Boot<'_>) -> anyhow::Result<String> {
    let Some((is_hypervisor, addresses)) = addresses(console) else {
        return Ok(String::new());
    };
    let program = if is_hypervisor {
        boot.hypervisor
    } else {
        boot.guest
    };
    let mut lines = String::new();
    for (register, address) in addresses {
        if let Some(place) = place(program, &address)? {
            lines += &format!("{register} {place}\n");
        }
    }
    Ok(lines)
}

/// Returns whether the hypervisor trapped, and the names of registers with the addresses in them, if a console ends with a
/// fatal trap.
#[must_use]
pub fn addresses(console: &str) -> Option<(bool, Vec<(&'static str, String)>)> {
    let (before, registers) = console.rsplit_once(": trap ")?;
    let mut addresses = Vec::new();
    for line in registers.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let found = match words[..] {
            ["%tpc", address, ..] => ("%tpc", address),
            ["%o4", .., address] => ("%o7", address),
            ["%i4", .., address] => ("%i7", address),
            _ => continue,
        };
        addresses.push((found.0, found.1.to_owned()));
    }
    Some((before.ends_with("hypervisor"), addresses))
}

/// Returns the functions, the inlined ones first, and lines that an address, in hexadecimal, belongs to; `None` if there is
/// none.
fn place(program: &Path, address: &str) -> anyhow::Result<Option<String>> {
    let mut addr2line = Command::new(SPARC_ADDR2LINE.require()?);
    let options = [
        "--addresses",
        "--functions",
        "--demangle",
        "--inlines",
        "--pretty-print",
    ];
    addr2line.args(options).arg("--exe").arg(program);
    let found = output(addr2line.arg(address), "addr2line")?;
    let found = String::from_utf8_lossy(&found);
    let known = !found.contains(": ?? ??:");
    let sources = format!("{}/", root().display());
    Ok(known.then(|| found.trim_end().replace(&sources, "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registers_of_the_last_trap() {
        let console = "guest: trap lines are mine, too\n\
                       hypervisor: trap 0xa0 at 0x1234, TL 2\n\
                       %tpc 0000000000001234  %tnpc 0000000000001238  %tstate 0000034400001404\n\
                       %g0 0 1 2 3\n%g4 4 5 6 7\n\
                       %o0 8 9 a b\n%o4 c d e 00000000000010f0\n\
                       %l0 0 0 0 0\n%l4 0 0 0 0\n%i0 0 0 0 0\n%i4 0 0 0 0000000000001100\n\
                       called from:\n\
                       %l0 0 0 0 0\n%l4 0 0 0 0\n%i0 0 0 0 0\n%i4 0 0 0 0000000000001200\n";
        let (is_hypervisor, addresses) = addresses(console).unwrap();
        assert!(is_hypervisor);
        let found: Vec<_> = (addresses.iter())
            .map(|(name, address)| (*name, &**address))
            .collect();
        let expected = [
            ("%tpc", "0000000000001234"),
            ("%o7", "00000000000010f0"),
            ("%i7", "0000000000001100"),
            ("%i7", "0000000000001200"),
        ];
        assert_eq!(found, expected);
        assert_eq!(super::addresses("no trap\n"), None);
    }
}
