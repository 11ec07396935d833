//! Checks that every status has the number that the contract assigns to it.

use guest_abi::HvError;
use proptest::prelude::*;

/// The names of the statuses 1 to 17, and 23.
const NAMES: &str = "
    ENOCPU ENORADDR ENOINTR EBADPGSZ EBADTSB EINVAL EBADTRAP EBADALIGN EWOULDBLOCK ENOACCESS
    EIO ECPUERROR ENOTSUPPORTED ENOMAP ETOOMANY ECHANNEL EBUSY EUNAVAILABLE";

fn named() -> impl Iterator<Item = (u64, &'static str)> {
    (1..=17).chain([23]).zip(NAMES.split_whitespace())
}

fn keeps_its_number(status: u64) {
    let name = named().find(|(number, _)| *number == status);
    match HvError::check(status) {
        Ok(()) => assert_eq!(status, 0),
        Err(error) => {
            assert_eq!(error.number(), status);
            assert_eq!(error.name(), name.map(|(_, name)| name), "{status}");
        }
    }
}

#[test]
fn named_ones() {
    let found = HvError::NAMED.iter().map(|error| (error.number(), error.name().unwrap()));
    assert!(found.eq(named()));
    assert_eq!(HvError::check(0), Ok(()));
}

#[test]
fn small_ones() {
    (0..300).for_each(keeps_its_number);
}

#[test]
fn text() {
    let denied = "The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service.";
    let blocked = "The call cannot complete without blocking. Nothing was done; try again.";
    let unknown = "Not a status of the specification.";
    for (status, text, description) in [
        (9, "EWOULDBLOCK", blocked),
        (10, "ENOACCESS", denied),
        (13, "ENOTSUPPORTED", HvError::NotSupported.description()),
        (18, "status 18", unknown),
        (u64::MAX, "status 18446744073709551615", unknown),
    ] {
        let error = HvError::check(status).unwrap_err();
        assert_eq!((&*error.to_string(), error.description()), (text, description));
    }
}

proptest! {
    #[test]
    fn any(status: u64) {
        keeps_its_number(status);
    }

    /// A status number whose upper 32 bits are not 0 has no name, even if the lower 32 bits are the number of a named status.
    #[test]
    fn high_bits(low in 0u64..24, high in 1u64..1 << 32) {
        keeps_its_number(high << 32 | low);
    }
}
