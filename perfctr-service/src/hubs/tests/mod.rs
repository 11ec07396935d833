//! Tests of the gate and of the arbiter.
//!
//! - The gate must keep its promises in handwritten and random schedules, in which one strand asks at a time. It must also keep them when
//!   strands die at any step, and when strands meet in any order.
//! - The arbiter must take a hub out of service only if the hub never works again.

#[cfg(not(any(loom, shuttle)))]
mod atomic_turns;
#[cfg(not(any(loom, shuttle)))]
mod deaths;
#[cfg(not(any(loom, shuttle)))]
mod judged;
#[cfg(loom)]
mod loom_gate;
#[cfg(not(any(loom, shuttle)))]
// The tests in `orders` give the same result on every processor. An emulated SPARC processor would take minutes for them.
#[cfg(not(target_arch = "sparc64"))]
mod orders;
#[cfg(not(any(loom, shuttle)))]
mod pace;
#[cfg(not(any(loom, shuttle)))]
mod schedules;
#[cfg(shuttle)]
mod shuttle_gate;

use guest_abi::StrandId;

use super::gate::{Gate, Refused};

/// The assembly compares and exchanges both words of the gate as one number. The state is the upper half of the number.
#[cfg(target_arch = "sparc64")]
#[test]
fn what_the_assembly_exchanges() {
    let taken = |number| super::Token::from(strand(number)).taken();
    assert_eq!([0, 1, 255].map(taken), [2 << 32, 4 << 32, 512 << 32]);
    let reserved = |number| super::Token::from(strand(number)).reserved();
    assert_eq!([0, 255].map(reserved), [0x8000_0003_8000_0000, 0x8000_0201_8000_0000]);
}

pub(crate) fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

/// The path that granted an access. The same path must end the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    Fast,
    Slow,
}

impl Release {
    fn end(self, gate: &Gate) {
        match self {
            Self::Fast => gate.release_fast(),
            Self::Slow => gate.release(),
        }
    }
}

/// Asks for the hub as a call does: first on the fast path, then on the slow path.
fn ask(gate: &Gate, number: usize) -> Result<Release, Refused> {
    match gate.try_take_fast(strand(number)) {
        true => Ok(Release::Fast),
        false => gate.ask(strand(number), || ()).map(|()| Release::Slow),
    }
}

/// Makes one call, from the ask to the release of the hub. Returns `true` if the call was served.
#[cfg(not(any(loom, shuttle)))]
fn call(gate: &Gate, number: usize) -> bool {
    ask(gate, number).map(|release| release.end(gate)).is_ok()
}
