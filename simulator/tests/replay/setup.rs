//! Tests setups that the simulator refuses to replay.

use guest_abi::StrandId;
use perfctr_service::{ConfigError, Grant};
use simulator::replay::placement::{Placement, PlacementError};
use simulator::replay::{Setup, SetupError};

use crate::{machine, program, recording};

fn error(change: impl FnOnce(&mut Setup)) -> SetupError {
    let mut setup = Setup::new(machine(), program(10));
    change(&mut setup);
    setup.check().unwrap_err()
}

#[test]
fn invalid_setups_are_rejected() {
    let strand = |number| StrandId::new(number).unwrap();
    let list =
        |numbers: &[usize]| Some(Placement::List(numbers.iter().copied().map(strand).collect()));
    assert!(matches!(
        error(|setup| setup.guests[1].config.grant = Grant::ALL),
        SetupError::Guests(ConfigError::TwoGlobals(0, 1))
    ));
    assert!(matches!(error(|setup| setup.guests.clear()), SetupError::NoGuest));
    assert!(matches!(
        error(|setup| setup.placement = list(&[])),
        SetupError::Placement(PlacementError::NoStrand)
    ));
    assert!(matches!(
        error(|setup| { setup.guests.remove(0); setup.placement = list(&[9]); }),
        SetupError::UnownedStrand(nobodys) if nobodys == strand(9)
    ));
    let two = error(|setup| {
        setup.programs.push(program(10));
        setup.placement = list(&[0, 255]);
    });
    assert_eq!(
        two.to_string(),
        "the programs' strands belong to two guests: 0 to measuring, 255 to other; expected strands of one"
    );
    let named =
        error(|setup| setup.programs.push(recording("255 w 0x1000\n").named("by-hand.txt")));
    assert_eq!(
        named.to_string(),
        "the programs' strands belong to two guests: 0 to measuring, 255 (named by by-hand.txt) to other; \
         expected strands of one"
    );
    assert!(matches!(error(|setup| setup.programs.clear()), SetupError::NoProgram));
    assert!(matches!(
        error(|setup| setup.programs.extend((0..1536).map(|_| program(10)))),
        SetupError::TooManyPrograms(1537)
    ));
    assert!(matches!(error(|setup| setup.hub_cycles = 100_001), SetupError::HubCycles(100_001)));
    assert!(matches!(error(|setup| setup.interval = Some(0)), SetupError::NoInterval));
}
