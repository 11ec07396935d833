//! Tests which refusals at a free hub have a reason.

use conform::oracle::status::{EOK, EWOULDBLOCK};

use super::check_refusals;
use crate::conform::caller::Request;
use crate::conform::caller::strand;
use crate::conform::callers::CompletedCall;

/// Half a millisecond in cycles, plus a little more than the time between a call's decision and its return.
const HALF: u64 = 600_000;

/// Returns successive calls for the first register of hub 0. For each call, `of` has the strand, the cycles since the previous call, and
/// the status.
fn calls(of: &[(usize, u64, u64)]) -> Vec<CompletedCall> {
    let mut returned = 0;
    let made = of.iter().enumerate().map(|(number, (id, since, status))| {
        returned += since;
        CompletedCall {
            strand: strand(*id),
            request: Request { trap: 0x80, registers: [18, 0, 0, 0, 0, 0x106] },
            after: [*status, 0, 0, 0, 0, 0x106],
            turns: 2 * number..2 * number + 1,
            accesses: 0..0,
            returned,
        }
    });
    made.collect()
}

/// Judges refusals of strand 3 that follow a refusal of strand 2.
fn refused(since: &[u64]) -> Result<(), String> {
    let mut of = vec![(2, 0, EWOULDBLOCK)];
    of.extend(since.iter().map(|since| (3, *since, EWOULDBLOCK)));
    // Strand 2's refusal has a reason of its own: strand 3 is being served at the same time.
    let mut made = calls(&[&[(3, 0, EOK)], &of[..]].concat());
    made[1].turns = 0..1;
    check_refusals(&made)
}

#[test]
fn a_strand_that_asks_often_is_refused_for_two_milliseconds() {
    assert_eq!(refused(&[1; 1000]), Ok(()));
    assert_eq!(refused(&[20_000; 100]), Ok(()));
    refused(&[20_000; 200]).unwrap_err();
}

#[test]
fn a_strand_that_asks_seldom_is_refused_four_times() {
    // The first refusal may be uncounted.
    assert_eq!(refused(&[100 * HALF; 5]), Ok(()));
    refused(&[100 * HALF; 6]).unwrap_err();
    refused(&[HALF; 6]).unwrap_err();
}

#[test]
fn a_strand_is_not_refused_after_it_has_been_served() {
    let made = calls(&[(2, 0, EOK), (3, 1, EWOULDBLOCK)]);
    check_refusals(&made).unwrap_err();
}
