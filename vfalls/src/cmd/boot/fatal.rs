//! Parses the message that a hypervisor or a guest prints when an unexpected trap ends it.

/// Parses the message at the end of a console. Returns `true` if the hypervisor printed the
/// message, and `false` if a guest printed it. Also returns the addresses in %tpc, %o7 and %i7 as
/// hexadecimal digits. Returns `None` if there is no such message.
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
        let found: Vec<_> = (addresses.iter()).map(|(name, address)| (*name, &**address)).collect();
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
