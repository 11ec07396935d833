//! The words and the steps of a strand, of `global` and of a guest, written out. (Package `proof` checks the protocol in every order of events.)

use super::*;

fn id(guest: usize) -> GuestId {
    GuestId::new(guest).unwrap()
}

/// 0 is nobody. Two lower bits say how, those above who.
#[test]
fn the_word_of_global() {
    for guest in [0, 1, 255] {
        let user = id(guest);
        let number = guest as u32 * 4;
        for (state, bits) in [
            (Global::Free, 0),
            (Global::Held(user), number + 1),
            (Global::Listed(user), number + 2),
            (Global::Revoked(user), number + 3),
        ] {
            assert_eq!((state.bits(), Global::from_bits(bits)), (bits, state));
        }
    }
}

/// What every event does in every state of `global`.
#[test]
fn every_step_of_global() {
    use Global::{Free, Held, Listed, Revoked};
    let (user, other) = (id(0), id(1));
    let events = [
        GlobalEvent::Grant(user),
        GlobalEvent::Grant(other),
        GlobalEvent::Revoke,
        GlobalEvent::ListIsWhole,
        GlobalEvent::Scrubbed,
    ];
    let (held, listed, revoked) = (Held(user), Listed(user), Revoked(user));
    for (state, next) in [
        (Free, [held, Held(other), Free, Free, Free]),
        (held, [held, held, listed, held, held]),
        (listed, [listed, listed, listed, revoked, listed]),
        (revoked, [revoked, revoked, listed, revoked, Free]),
    ] {
        assert_eq!(events.map(|event| state.step(event)), next, "{state:?}");
    }
}

/// Bit 0: asked. Bit 1: excused. Bit 2: scrub %pcr and %pic. Bit 3: scrub HT.
#[test]
fn every_step_of_a_strand() {
    let (awaited, asked) = (true, true);
    for (bits, next, says) in [
        (
            0b0000,
            [0b0001, 0b1001, 0b0101, 0b0011, 0b0000],
            (!asked, !awaited, Scrub::Nothing),
        ),
        (
            0b0001,
            [0b0001, 0b1001, 0b0101, 0b0011, 0b0001],
            (asked, awaited, Scrub::Nothing),
        ),
        (
            0b0011,
            [0b0011, 0b1011, 0b0111, 0b0011, 0b0001],
            (asked, !awaited, Scrub::Nothing),
        ),
        (
            0b0101,
            [0b0101, 0b1101, 0b0101, 0b0111, 0b0101],
            (asked, awaited, Scrub::Pcr),
        ),
        (
            0b1001,
            [0b1001, 0b1001, 0b1101, 0b1011, 0b1001],
            (asked, awaited, Scrub::Ht),
        ),
        (
            0b1111,
            [0b1111, 0b1111, 0b1111, 0b1111, 0b1101],
            (asked, !awaited, Scrub::Pcr),
        ),
    ] {
        let state = Asked::from_bits(bits);
        let events = [
            StrandEvent::Asks(Scrub::Nothing),
            StrandEvent::Asks(Scrub::Ht),
            StrandEvent::Asks(Scrub::Pcr),
            StrandEvent::Dies,
            StrandEvent::Takes,
        ];
        let steps = events.map(|event| state.step(event).into_bits());
        assert_eq!(steps, next, "{bits:#b}");
        let excused = bits & 0b10 != 0;
        assert_eq!(
            (
                state.is_asked(),
                state.is_awaited(),
                state.scrub(),
                state.is_excused()
            ),
            (says.0, says.1, says.2, excused),
            "{bits:#b}"
        );
        // An acknowledgement of an older request changes nothing.
        let older = Asked::from_bits(bits ^ 0b0100);
        let acknowledged = |taken| state.step(StrandEvent::Acknowledges(taken)).into_bits();
        assert_eq!([acknowledged(state), acknowledged(older)], [0, bits]);
    }
}

/// Nothing is pending if each guest holds what it is granted, `global` has left nothing behind, and every reset is taken up.
#[test]
fn what_is_settled() {
    let holding = |held| Holding {
        granted: Grant::ALL,
        held,
        starting: false,
    };
    let (whole, less) = (holding(Grant::ALL), holding(Grant::NONE));
    for (global, reset, last, settled) in [
        (Global::Free, None, whole, true),
        (Global::Held(id(0)), None, whole, true),
        (Global::Revoked(id(0)), None, whole, false),
        (Global::Free, Some(id(0)), whole, false),
        (Global::Free, None, less, false),
    ] {
        let guests = [whole, last].into_iter();
        assert_eq!(
            is_settled(global, reset, guests),
            settled,
            "{global:?} {reset:?} {last:?}"
        );
    }
}

/// What a guest is granted and holds.
fn holds(granted: &str, held: &str, starting: bool) -> Holding {
    Holding {
        granted: granted.parse().unwrap(),
        held: held.parse().unwrap(),
        starting,
    }
}

#[test]
fn a_guest_loses_what_it_is_not_granted_any_more() {
    let lost = |scrub, global| Answer::Lost { scrub, global };
    let (ht, pcr, nothing) = (Scrub::Ht, Scrub::Pcr, Scrub::Nothing);
    for (granted, held, keeps, now_granted, now_held, answer) in [
        (
            "strand",
            "strand",
            "global+htstrand",
            "strand",
            "strand",
            Answer::Nothing,
        ),
        ("none", "none", "none", "none", "none", Answer::Nothing),
        (
            "htstrand",
            "htstrand",
            "strand",
            "strand",
            "strand",
            lost(ht, true),
        ),
        (
            "htstrand",
            "htstrand",
            "none",
            "none",
            "none",
            lost(pcr, true),
        ),
        (
            "global+strand",
            "global+strand",
            "global",
            "global",
            "global",
            lost(pcr, false),
        ),
        (
            "global+strand",
            "global+strand",
            "htstrand",
            "strand",
            "strand",
            lost(nothing, true),
        ),
        // It has waited for what it loses.
        (
            "global+htstrand",
            "strand",
            "htstrand",
            "htstrand",
            "strand",
            lost(nothing, true),
        ),
        (
            "global+htstrand",
            "global",
            "global",
            "global",
            "global",
            lost(pcr, false),
        ),
    ] {
        for starting in [false, true] {
            let revoke = GuestEvent::Revoke(keeps.parse().unwrap());
            let next = (holds(now_granted, now_held, starting), answer);
            assert_eq!(
                holds(granted, held, starting).step(revoke),
                next,
                "{granted} {keeps}"
            );
        }
    }
}

#[test]
fn a_guest_that_is_granted_something_or_starts_holds_no_more() {
    for starting in [false, true] {
        let grant = GuestEvent::Grant(Grant::ALL);
        let next = (
            holds("global+htstrand", "strand", starting),
            Answer::Nothing,
        );
        assert_eq!(holds("strand", "strand", starting).step(grant), next);
        let (scrub, global) = (Scrub::Pcr, true);
        let next = (
            holds("global+strand", "none", true),
            Answer::Lost { scrub, global },
        );
        assert_eq!(
            holds("global+strand", "strand", starting).step(GuestEvent::Reset),
            next
        );
    }
}

#[test]
fn a_guest_is_given_what_nothing_stands_in_the_way_of() {
    let (free, own, others) = (Global::Free, Global::Held(id(1)), Global::Held(id(2)));
    let listed = Global::Listed(id(1));
    let (given, nothing) = (Answer::Given, Answer::Nothing);
    let (all, some) = ("global+strand", "strand");
    for (before, [awaited, reset], global, after, answer) in [
        (
            (all, "none", true),
            [true, false],
            free,
            ("none", true),
            nothing,
        ),
        (
            (all, "none", true),
            [false, true],
            free,
            ("none", true),
            nothing,
        ),
        (
            (all, "none", true),
            [false, false],
            free,
            (all, false),
            given,
        ),
        ((all, some, false), [false, false], own, (all, false), given),
        (
            (all, "none", true),
            [false, false],
            others,
            (some, true),
            given,
        ),
        (
            (all, some, true),
            [false, false],
            listed,
            (some, true),
            nothing,
        ),
        ((all, all, true), [false, false], own, (all, false), given),
        (
            (all, all, false),
            [false, false],
            own,
            (all, false),
            nothing,
        ),
    ] {
        let (granted, held, starting) = before;
        let guest = id(1);
        let complete = GuestEvent::Complete(Circumstances {
            guest,
            awaited,
            reset,
            global,
        });
        let next = (holds(granted, after.0, after.1), answer);
        let case = (before, awaited, reset, global);
        assert_eq!(
            holds(granted, held, starting).step(complete),
            next,
            "{case:?}"
        );
    }
}
