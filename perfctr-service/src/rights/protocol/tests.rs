//! Tests the encoding of the protocol's words, and the steps of a strand, of the right `global`, and of a guest. (Package `proof` checks
//! every order of events.)

use std::vec::Vec;

use super::*;

fn id(guest: usize) -> GuestId {
    GuestId::new(guest).unwrap()
}

#[test]
fn the_word_of_global() {
    for guest in [0, 1, 255] {
        let user = id(guest);
        let number = guest as u32 * 4;
        for (state, bits) in [
            (Global::Free, 0),
            (Global::Held(user), number + 1),
            (Global::Revoking(user), number + 2),
            (Global::Revoked(user), number + 3),
        ] {
            assert_eq!((state.bits(), Global::from_bits(bits)), (bits, state));
        }
    }
}

#[test]
fn every_step_of_global() {
    use Global::{Free, Held, Revoked, Revoking};
    let (user, other) = (id(0), id(1));
    let events = [
        GlobalEvent::Grant(user),
        GlobalEvent::Grant(other),
        GlobalEvent::Revoke,
        GlobalEvent::UnitsMarked,
        GlobalEvent::Scrubbed,
    ];
    let (held, listed, revoked) = (Held(user), Revoking(user), Revoked(user));
    for (state, next) in [
        (Free, [held, Held(other), Free, Free, Free]),
        (held, [held, held, listed, held, held]),
        (listed, [listed, listed, listed, revoked, listed]),
        (revoked, [revoked, revoked, listed, revoked, Free]),
    ] {
        assert_eq!(events.map(|event| state.step(event)), next, "{state:?}");
    }
}

/// The bits are: 0, the strand is asked; 1, it is excused; 2, it has to scrub %pcr and %pic; 3, it has to scrub HT.
#[test]
fn every_step_of_a_strand() {
    use Scrub::{Ht, Nothing, Pcr};
    let events = [
        StrandEvent::Asks(Nothing),
        StrandEvent::Asks(Ht),
        StrandEvent::Asks(Pcr),
        StrandEvent::Dies,
        StrandEvent::Takes,
    ];
    for (bits, next, [asked, awaited], scrub) in [
        (0, [1, 9, 5, 3, 0], [false, false], Nothing),
        (1, [1, 9, 5, 3, 1], [true, true], Nothing),
        (3, [3, 0xb, 7, 3, 1], [true, false], Nothing),
        (5, [5, 0xd, 5, 7, 5], [true, true], Pcr),
        (9, [9, 9, 0xd, 0xb, 9], [true, true], Ht),
        (0xf, [0xf, 0xf, 0xf, 0xf, 0xd], [true, false], Pcr),
    ] {
        let state = Asked::from_bits(bits);
        let steps = events.map(|event| state.step(event).into_bits());
        assert_eq!(steps, next, "{bits:#b}");
        let excused = bits & 0b10 != 0;
        let seen = [state.is_asked(), state.is_awaited(), state.is_dead()];
        assert_eq!(seen, [asked, awaited, excused], "{bits:#b}");
        assert_eq!(state.scrub(), scrub, "{bits:#b}");
        // An acknowledgement of an older request changes nothing.
        let older = Asked::from_bits(bits ^ 0b0100);
        let acknowledged = |taken| state.step(StrandEvent::Acknowledges(taken)).into_bits();
        assert_eq!([acknowledged(state), acknowledged(older)], [0, bits]);
    }
}

/// No change is pending if all guests hold what they are granted, all units of a guest that lost `global` are scrubbed, and no reset guest
/// still has rights.
#[test]
fn what_is_settled() {
    let (whole, less) = (holds(ALL, ALL, false), holds(ALL, "none", false));
    for (global, reset, last, settled) in [
        (Global::Free, None, whole, true),
        (Global::Held(id(0)), None, whole, true),
        (Global::Revoked(id(0)), None, whole, false),
        (Global::Free, Some(id(0)), whole, false),
        (Global::Free, None, less, false),
    ] {
        let guests = [whole, last].into_iter();
        let seen = is_settled(global, reset, guests);
        assert_eq!(seen, settled, "{global:?} {reset:?} {last:?}");
    }
}

const ALL: &str = "global+htstrand";

fn holds(granted: &str, held: &str, starting: bool) -> Holding {
    Holding { granted: granted.parse().unwrap(), held: held.parse().unwrap(), starting }
}

/// The columns: what a guest is granted; what it holds; the right that it keeps; its new grant; its
/// new holding; what its strands scrub; whether `global` is revoked.
#[test]
fn a_guest_loses_what_it_is_not_granted_any_more() {
    for case in [
        "strand strand global+htstrand strand strand -",
        "none none none none none -",
        "htstrand htstrand strand strand strand Ht true",
        "htstrand htstrand none none none Pcr true",
        "global+strand global+strand global global global Pcr false",
        "global+strand global+strand htstrand strand strand Nothing true",
        // The guest loses a right that it was granted but did not hold yet.
        "global+htstrand strand htstrand htstrand strand Nothing true",
        "global+htstrand global global global global Pcr false",
    ] {
        let words: Vec<&str> = case.split(' ').collect();
        let scrub = match words[5] {
            "Ht" => Scrub::Ht,
            "Pcr" => Scrub::Pcr,
            _ => Scrub::Nothing,
        };
        let consequence = match words.get(6) {
            Some(global) => Consequence::Lost { scrub, global: global.parse().unwrap() },
            None => Consequence::Nothing,
        };
        for starting in [false, true] {
            let revoke = GuestEvent::Revoke(words[2].parse().unwrap());
            let next = (holds(words[3], words[4], starting), consequence);
            assert_eq!(holds(words[0], words[1], starting).step(revoke), next, "{case}");
        }
    }
}

#[test]
fn a_guest_that_is_granted_something_or_starts_holds_no_more() {
    let (scrub, global) = (Scrub::Pcr, true);
    let lost = Consequence::Lost { scrub, global };
    for starting in [false, true] {
        let next = (holds(ALL, "strand", starting), Consequence::Nothing);
        let grant = GuestEvent::Grant(Grant::ALL);
        assert_eq!(holds("strand", "strand", starting).step(grant), next);
        let next = (holds("global+strand", "none", true), lost);
        let holding = holds("global+strand", "strand", starting);
        assert_eq!(holding.step(GuestEvent::Reset), next);
    }
}

#[test]
fn a_guest_is_given_all_that_it_can_hold_now() {
    let (free, own, others) = (Global::Free, Global::Held(id(1)), Global::Held(id(2)));
    let listed = Global::Revoking(id(1));
    let (given, no) = (Consequence::Given, Consequence::Nothing);
    let (all, some, none) = ("global+strand", "strand", "none");
    for (before, [awaited, reset], global, after, consequence) in [
        ((none, true), [true, false], free, (none, true), no),
        ((none, true), [false, true], free, (none, true), no),
        ((none, true), [false, false], free, (all, false), given),
        ((some, false), [false, false], own, (all, false), given),
        ((none, true), [false, false], others, (some, true), given),
        ((some, true), [false, false], listed, (some, true), no),
        ((all, true), [false, false], own, (all, false), given),
        ((all, false), [false, false], own, (all, false), no),
    ] {
        let complete = GuestEvent::Complete(Circumstances { guest: id(1), awaited, reset, global });
        let seen = holds(all, before.0, before.1).step(complete);
        let next = (holds(all, after.0, after.1), consequence);
        let case = (before, awaited, reset, global);
        assert_eq!(seen, next, "{case:?}");
    }
}
