//! The words and the steps of `global`, written out. (Package `proof` checks the protocol in every order of events.)

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
