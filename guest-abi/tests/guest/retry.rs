//! Checks that a guest repeats a call that returns EWOULDBLOCK.

use guest_abi::guest::{RetryError, Tries};
use guest_abi::{HvError, PerfReg};

use crate::script::{Script, get, get_fails, set, set_fails};

const BLOCKED: u64 = 9;

fn lpu() -> PerfReg {
    PerfReg::new(19).unwrap()
}

fn tries(number: u32) -> Tries {
    Tries::new(number).unwrap()
}

#[test]
fn zero_tries_are_not_a_bound() {
    assert_eq!(Tries::new(0), None);
    assert_eq!(Tries::new(1), Some(Tries::ONCE));
    assert_eq!(tries(u32::MAX).number(), u32::MAX);
}

#[test]
fn stops_at_the_first_answer() {
    let read = [get(19, 7), get_fails(19, BLOCKED), get_fails(19, BLOCKED), get(19, 8)];
    let written = [set_fails(19, 5, BLOCKED), set(19, 5)];
    let counters = Script::counters(read.into_iter().chain(written));
    assert_eq!(tries(3).retry(|| counters.get(lpu())), Ok(7));
    assert_eq!(tries(3).retry(|| counters.get(lpu())), Ok(8));
    assert_eq!(tries(2).retry(|| counters.set(lpu(), 5)), Ok(()));
}

#[test]
fn gives_up_after_the_bound() {
    for number in 1..5 {
        let blocked = RetryError::StillBlocked(tries(number));
        let counters = Script::counters(vec![get_fails(19, BLOCKED); number as usize]);
        assert_eq!(tries(number).retry(|| counters.get(lpu())), Err(blocked));
        let counters = Script::counters(vec![set_fails(19, 5, BLOCKED); number as usize]);
        assert_eq!(tries(number).retry(|| counters.set(lpu(), 5)), Err(blocked));
    }
}

#[test]
fn other_errors_are_final() {
    let counters = Script::counters([get_fails(19, 10), get_fails(19, BLOCKED), get_fails(19, 13)]);
    for error in [HvError::NoAccess, HvError::NotSupported] {
        assert_eq!(tries(9).retry(|| counters.get(lpu())), Err(RetryError::Failed(error)));
    }
}

#[test]
fn the_pause_is_between_tries() {
    let mut pauses = Vec::new();
    let written = [set_fails(19, 1, BLOCKED), set(19, 1)];
    let counters = Script::counters([get_fails(19, BLOCKED); 3].into_iter().chain(written));
    let answer = tries(3).retry_with(|refused| pauses.push(refused), || counters.get(lpu()));
    assert_eq!(answer, Err(RetryError::StillBlocked(tries(3))));
    assert_eq!(pauses, [1, 2]);

    pauses.clear();
    let answer = tries(3).retry_with(|refused| pauses.push(refused), || counters.set(lpu(), 1));
    assert_eq!((answer, pauses), (Ok(()), vec![1]));
}
