//! Every status keeps its number.

use guest_abi::HvError;
use proptest::prelude::*;

const NAMED: [u64; 18] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23,
];

fn keeps_its_number(status: u64) {
    match HvError::check(status) {
        Ok(()) => assert_eq!(status, 0),
        Err(error) => {
            assert_eq!(error.number(), status);
            assert_eq!(error.name().is_some(), NAMED.contains(&status), "{status}");
        }
    }
}

#[test]
fn small_ones() {
    (0..300).for_each(keeps_its_number);
}

#[test]
fn text() {
    let text = |status| HvError::check(status).unwrap_err().to_string();
    assert_eq!(text(13), "ENOTSUPPORTED");
    assert_eq!(text(18), "status 18");
    assert_eq!(text(u64::MAX), "status 18446744073709551615");
}

#[test]
fn descriptions() {
    let description = |status| HvError::check(status).unwrap_err().description();
    assert_eq!(
        description(9),
        "The call cannot complete without blocking. Nothing was done; try again."
    );
    assert_eq!(
        description(10),
        "The guest may not do this: for group 0x205, it has no right to the register, or the unit is out of service."
    );
    assert_eq!(description(18), "Not a status of the specification.");
}

proptest! {
    #[test]
    fn any(status: u64) {
        keeps_its_number(status);
    }

    /// All 64 bits count: a number whose low half alone has a name has none.
    #[test]
    fn high_bits(low in 0u64..24, high in 1u64..1 << 32) {
        keeps_its_number(high << 32 | low);
    }
}
