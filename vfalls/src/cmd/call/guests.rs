//! The option `--guest`: the strands and rights of a guest.

use anyhow::{Context, anyhow};
use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig};
use platform::Machine;

use simulator::machine::strands;

/// The form of the option's value, as help and error messages show it.
pub(super) const FORM: &str = "STRANDS:GRANT[:compat]";

/// The option's help text.
pub(super) const HELP: &str = "Add a guest: its strands (0-127 or 0,2,8-15), its grant (none, strand, htstrand, global, global+strand, \
    global+htstrand), and compat, with which version 1.0 gives the guest the registers of version 1.1 \
    [default: one guest with all strands and every right]";

/// Parses the option's value, which has the form [`FORM`].
pub(super) fn parse(text: &str) -> anyhow::Result<GuestConfig> {
    let (list, rest) =
        text.split_once(':').context("expected STRANDS:GRANT, such as 0-127:global+htstrand")?;
    let (grant, compatible) = match rest.split_once(':') {
        None => (rest, false),
        Some((grant, "compat")) => (grant, true),
        Some((_, other)) => anyhow::bail!("found '{other}', expected compat"),
    };
    let grant =
        grant.parse::<Grant>().map_err(|expected| anyhow!("found '{grant}', {expected}"))?;
    Ok(GuestConfig { strands: strands::parse(list)?.into_iter().collect(), grant, compatible })
}

/// Returns a guest with every strand of the machine and every right.
pub(super) fn with_everything(machine: Machine) -> GuestConfig {
    GuestConfig::new((0..machine.strands()).filter_map(StrandId::new).collect(), Grant::ALL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfctr_service::StrandRight;

    #[test]
    fn guests_are_parsed() {
        let read = |text| {
            let GuestConfig { strands, grant, compatible } = parse(text).unwrap();
            let strands: Vec<usize> = strands.iter().map(StrandId::index).collect();
            (strands, grant, compatible)
        };
        assert_eq!(read("0-127:global+htstrand"), ((0..128).collect(), Grant::ALL, false));
        assert_eq!(read("255:none"), (vec![255], Grant::NONE, false));
        let strand = Grant { strand: StrandRight::Strand, global: false };
        assert_eq!(read("0,2,8-10:strand:compat"), (vec![0, 2, 8, 9, 10], strand, true));
    }

    #[test]
    fn bad_guests_are_refused() {
        for text in [
            "",
            "0",
            ":none",
            "0:",
            "0:all",
            "0:none:",
            "0:none:compatible",
            "0:none:compat:",
            "256:none",
            "-1:none",
            "3-2:none",
            "0-:none",
            "0,:none",
            "0-1-2:none",
            "0x1:none",
            "99999999999999999999:none",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
