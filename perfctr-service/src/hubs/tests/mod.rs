//! The gate: in written and random schedules, one ask at a time; if a strand dies at any step; and in every order of strands that
//! meet. (Package `proof` checks its turns in every state.) The arbiter: a hub that works stays in service, and one that never
//! works again goes out of it.

#[cfg(not(loom))]
mod deaths;
#[cfg(not(loom))]
mod judged;
#[cfg(not(loom))]
mod kept;
#[cfg(loom)]
mod loom_gate;
mod schedules;
#[cfg(shuttle)]
mod shuttle_gate;

use guest_abi::StrandId;

use super::gate::{Gate, Refused};

/// The assembly compares and exchanges both words of the gate as one number, of which the state is the upper half.
#[cfg(target_arch = "sparc64")]
#[test]
fn what_the_assembly_exchanges() {
    let taken = |number| super::Token::from(strand(number)).taken();
    assert_eq!([0, 1, 255].map(taken), [2 << 32, 4 << 32, 512 << 32]);
}

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

/// How a call releases the hub: on the path on which it was served.
type Release = fn(&Gate);

/// Asks as a call does: on the fast path, and on the slow path if the fast path does not serve it.
fn ask(gate: &Gate, number: usize) -> Result<Release, Refused> {
    match gate.take_free(strand(number)) {
        true => Ok(Gate::release_free),
        false => gate
            .ask(strand(number), || ())
            .map(|()| Gate::release as Release),
    }
}

/// A whole call. Returns `true` if it was served.
fn call(gate: &Gate, number: usize) -> bool {
    ask(gate, number).map(|release| release(gate)).is_ok()
}
