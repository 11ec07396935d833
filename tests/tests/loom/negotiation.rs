//! Tests two strands of a guest that negotiate. A version takes effect as a whole, so no answer mixes two versions.

use crate::machine::{
    DRAM, EBADTRAP, ENOTSUPPORTED, EOK, HUB, Modelled, explore_two, negotiate_1_0, negotiate_1_1,
};

/// One strand asks for 1.0, the other for 1.1. Each gets the version that it asked for, and one of the two versions stays in force. At most
/// 4 preemptions.
#[test]
fn two_strands_negotiate() {
    explore_two(
        4,
        [
            |machine| {
                assert_eq!(machine.negotiate(0, 1), (EOK, 1));
                assert_eq!(machine.get(0, DRAM), EOK);
                let (major, minor) = machine.version(0);
                assert!(major == 1 && minor <= 1);
            },
            |machine| {
                assert_eq!(machine.negotiate(1, 0), (EOK, 0));
                assert_eq!(machine.get(1, DRAM), EOK);
            },
        ],
        |_| {},
        |machine| {
            let (_, minor) = machine.version(0);
            machine.check_complete(minor);
        },
    );
}

/// A strand makes calls while another strand negotiates. A call is answered in the old or the new version. After the first answer in 1.1,
/// all answers are in 1.1. At most 4 preemptions.
#[test]
fn calls_while_another_strand_negotiates() {
    explore_two(
        4,
        [negotiate_1_1, |machine| {
            assert_eq!(machine.get(0, DRAM), EOK);
            let first = machine.get(0, HUB);
            let version = machine.version(0);
            let second = machine.get(0, HUB);
            match (first, version, second) {
                (EOK, (1, 1), EOK)
                | (ENOTSUPPORTED, (1, 1), EOK)
                | (ENOTSUPPORTED, (1, 0), EOK | ENOTSUPPORTED) => {}
                other => panic!("{other:?}"),
            }
        }],
        negotiate_1_0,
        |machine| machine.check_complete(1),
    );
}

/// A guest that has 1.0 is reset while one of its strands negotiates 1.1. Afterwards, the guest has either 1.1 with all registers, or no
/// version and no registers. At most 2 preemptions.
#[test]
fn a_reset_meets_a_negotiation() {
    explore_two(2, [negotiate_1_1, Modelled::reset_guest], negotiate_1_0, |machine| match machine
        .version(0)
    {
        (0, 0) => {
            machine.all_acknowledge();
            assert_eq!(machine.get(0, DRAM), EBADTRAP);
            assert_eq!(machine.get(1, HUB), EBADTRAP);
        }
        _ => {
            machine.all_acknowledge();
            machine.check_complete(1);
        }
    });
}
