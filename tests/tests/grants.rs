//! Tests that a configuration grants, revokes and transfers rights by the rules of LDoms.

use perfctr_service::{
    ConfigError, Grant, Grants, GuestConfig, Right, RightError, StrandRight, policy,
};
use platform::{Machine, Model};
use tests::machine::{guest_id, strand};

fn grant(text: &str) -> Grant {
    text.parse().unwrap()
}

/// Returns a configuration that gives guest 0 these rights.
fn with(text: &str) -> Grants {
    let mut grants = Grants::none(3).unwrap();
    grants.set(guest_id(0), grant(text)).unwrap();
    grants
}

/// There are at most 256 guests.
#[test]
fn more_guests_than_there_can_be() {
    for guests in [0, 1, 256] {
        assert_eq!(Grants::none(guests).map(|grants| grants.guests()), Ok(guests));
    }
    for guests in [257, 300, usize::MAX] {
        assert_eq!(Grants::none(guests), Err(ConfigError::TooManyGuests));
    }
}

#[test]
fn the_six_grants() {
    use StrandRight::{HtStrand, None, Strand};
    for (constant, text, strand, global) in [
        (Grant::NONE, "none", None, false),
        (Grant::STRAND, "strand", Strand, false),
        (Grant::HTSTRAND, "htstrand", HtStrand, false),
        (Grant::GLOBAL, "global", None, true),
        (Grant::GLOBAL_STRAND, "global+strand", Strand, true),
        (Grant::ALL, "global+htstrand", HtStrand, true),
    ] {
        assert_eq!(constant, grant(text));
        assert_eq!(constant, grant(&text.replace('+', ",")), "as in a machine description");
        assert_eq!(constant, Grant { strand, global }, "{text}");
    }
}

#[test]
fn rights_from_text() {
    for right in Right::ALL {
        assert_eq!(right.to_string().parse(), Ok(*right));
    }
    for text in ["", "Strand", "strand "] {
        assert!(text.parse::<Right>().is_err() && text.parse::<Grant>().is_err(), "{text:?}");
    }
    for text in
        ["global,", ",", "global+,strand", "strand,htstrand", "global,global", "none,strand"]
    {
        assert!(text.parse::<Grant>().is_err(), "{text:?}");
    }
}

/// Adds each right to each grant. Either the right is granted, or the error names the right that excludes it.
#[test]
fn each_right_is_granted_to_each_holder() {
    use Right::{Global, HtStrand, Strand};
    let excluded = |right| Err(RightError::Excluded(guest_id(0), right));
    for (before, right, after) in [
        ("none", Strand, Ok("strand")),
        ("none", HtStrand, Ok("htstrand")),
        ("none", Global, Ok("global")),
        ("strand", Strand, excluded(Strand)),
        ("strand", HtStrand, excluded(Strand)),
        ("strand", Global, Ok("global+strand")),
        ("htstrand", Strand, excluded(HtStrand)),
        ("htstrand", HtStrand, excluded(HtStrand)),
        ("htstrand", Global, Ok("global+htstrand")),
        ("global", Strand, Ok("global+strand")),
        ("global", HtStrand, Ok("global+htstrand")),
        ("global", Global, excluded(Global)),
        ("global+strand", Strand, excluded(Strand)),
        ("global+strand", HtStrand, excluded(Strand)),
        ("global+strand", Global, excluded(Global)),
        ("global+htstrand", Strand, excluded(HtStrand)),
        ("global+htstrand", HtStrand, excluded(HtStrand)),
        ("global+htstrand", Global, excluded(Global)),
    ] {
        let mut grants = with(before);
        let given = grants.grant(guest_id(0), right);
        let told = format!("{before} and {right}");
        let has = given.map(|()| grants.get(guest_id(0)));
        assert_eq!(has, after.map(grant), "{told}");
        assert_eq!(grants == with(before), given.is_err(), "{told}");
    }
}

#[test]
fn each_right_is_revoked_from_each_holder() {
    use Right::{Global, HtStrand, Strand};
    for (before, right, after) in [
        ("none", Strand, None),
        ("none", HtStrand, None),
        ("none", Global, None),
        ("strand", Strand, Some("none")),
        ("strand", HtStrand, None),
        ("strand", Global, None),
        ("htstrand", Strand, None),
        ("htstrand", HtStrand, Some("none")),
        ("global", Global, Some("none")),
        ("global", Strand, None),
        ("global+strand", Strand, Some("global")),
        ("global+strand", Global, Some("strand")),
        ("global+htstrand", HtStrand, Some("global")),
        ("global+htstrand", Strand, None),
        ("global+htstrand", Global, Some("htstrand")),
    ] {
        let mut grants = with(before);
        let taken = grants.revoke(guest_id(0), right);
        let expected = match after {
            Some(after) => Ok(grant(after)),
            None => Err(RightError::NotHeld(guest_id(0), right)),
        };
        let has = taken.map(|()| grants.get(guest_id(0)));
        assert_eq!(has, expected, "{before}, {right}");
        assert_eq!(grants == with(before), taken.is_err());
    }
}

#[test]
fn a_transfer_is_whole_or_nothing() {
    let mut grants = with("global+htstrand");
    grants.set(guest_id(1), grant("strand")).unwrap();
    let before = grants;
    let [first, second, absent] = [0, 1, 3].map(guest_id);
    for (to, right, error) in [
        (second, Right::HtStrand, RightError::Excluded(second, Right::Strand)),
        (absent, Right::Global, RightError::NoSuchGuest(absent)),
    ] {
        assert_eq!(grants.transfer(first, to, right), Err(error));
        assert_eq!(grants, before);
    }
    assert_eq!(grants.transfer(first, second, Right::Global), Ok(()));
    assert_eq!(grants.get(first), grant("htstrand"));
    assert_eq!(grants.get(second), grant("global+strand"));
    assert_eq!(grants.check(), Ok(()));
    grants.grant(guest_id(2), Right::Global).unwrap();
    assert_eq!(grants.check(), Err(ConfigError::TwoGlobals(1, 2)));
}

/// Returns a guest with these strands, and with the right `global` or no rights.
fn guest(strands: &[u16], global: bool) -> GuestConfig {
    GuestConfig::new(
        strands.iter().copied().map(strand).collect(),
        if global { Grant::GLOBAL } else { Grant::NONE },
    )
}

/// A two-node Maramba has strands 0 to 127. It can have 256 guests, some of which may have no strands.
#[test]
fn configurations_that_contradict_themselves_or_the_machine_are_rejected() {
    let machine = Machine::new(Model::Maramba, 2).unwrap();
    let none = |guests| vec![guest(&[], false); guests];
    for (guests, answer) in [
        (none(0), Ok(())),
        (none(256), Ok(())),
        (none(257), Err(ConfigError::TooManyGuests)),
        (vec![guest(&[0, 127], true), guest(&[1, 64], false)], Ok(())),
        (
            vec![guest(&[0], false), guest(&[1, 127], true), guest(&[2, 127], false)],
            Err(ConfigError::SharedStrand(1, 2)),
        ),
        (
            vec![guest(&[0], false), guest(&[1, 128], false)],
            Err(ConfigError::NoSuchStrand(1, strand(128))),
        ),
        (
            vec![guest(&[0], true), guest(&[1], false), guest(&[2], true)],
            Err(ConfigError::TwoGlobals(0, 2)),
        ),
    ] {
        assert_eq!(policy::check(machine, &guests), answer, "{} guests", guests.len());
    }
}
