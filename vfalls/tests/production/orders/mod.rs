//! Two strands call the service for one hub at the same time, and the test explores all orders of their accesses. The shipped code,
//! executed instruction by instruction, must answer as the gate's pure function does.
//!
//! The shared memory is the hub's arbiter and the hub's registers. A strand executes until its next access to shared memory. After each
//! access, either strand may continue, and the test explores both choices. The test explores a state only once, even if several orders
//! reach it.
//!
//! The strands have store buffers ([`simulator::execute::buffers`]). In the first test, every store completes before anything else happens,
//! so the memory is sequentially consistent. In the second test, stores wait, and the completion of each store to the arbiter or to the hub
//! is one more event that the test explores. It makes no difference when stores to other words complete, because the other strand does not
//! use these words, as the test also checks. A strand that comes to an atomic instruction or a `membar` first waits for the stores that the
//! instruction completes, and the other strand may act in between.
//!
//! With `ALL` in the environment, the tests explore all cases. Otherwise, they explore the small cases.
//!
//! The allowed outcomes come from [`Turns::step`], which the test applies to the two calls' events in every order. While the calls overlap,
//! the gate may remember a strand before it decides whether to grant the strand's request. The gate may also refuse and remember a strand
//! without this decision, if the strand finds the other strand in the gate. A call overlaps an earlier call if it begins before the earlier
//! call's stores are complete.

mod explored;
mod specified;

use std::collections::HashSet;
use std::env;

use guest_abi::StrandId;
use perfctr_service::decisions::turns::{HubEvent, Turns};
use simulator::execute::Execution;
use simulator::execute::buffers::completes;
use simulator::interpreter::{Instruction, Level, Strand};

use super::lists::{EWOULDBLOCK, GET, SET};
use explored::{Allowed, Explored, Orders, State};
use specified::{Call, Outcome, Specified};

/// The strands' numbers. Strands A and B call at the same time, after strand C.
const STRANDS: [usize; 3] = [3, 70, 130];
const A: usize = 0;
const B: usize = 1;
const C: usize = 2;

/// The value of the hub's register before the calls. [`WRITTEN`] is the value that a `set` writes.
const BEFORE: u64 = 0x0101;
const WRITTEN: u64 = 0x0202;

/// The number of ticks after a strand's counted refusal during which the gate does not count further refusals of that strand.
const REPEAT_TICKS: i64 = 1 << 19;

/// Returns `true` if the tests explore all cases, however long they take.
pub(super) fn all() -> bool {
    env::var_os("ALL").is_some()
}

fn strand(number: usize) -> StrandId {
    super::strand(STRANDS[number])
}

/// Returns whether an instruction waits for the strand's stores to memory, and whether it waits for its stores to devices.
pub(super) fn waits_for(code: u32) -> [bool; 2] {
    match Instruction::decode(code) {
        Instruction::Membar { mask } => completes(mask),
        Instruction::Ldstub { .. } | Instruction::Swap { .. } | Instruction::Cas { .. } => {
            [true, false]
        }
        _ => [false; 2],
    }
}

/// Returns `true` if a strand executes the hypervisor and its next instruction waits for its stores.
pub(super) fn is_blocked(execution: &mut Execution, id: StrandId) -> bool {
    let buffer = execution.store_buffer(id);
    let waiting = [!buffer.memory.is_empty(), !buffer.devices.is_empty()];
    let strand = execution.strand(id);
    if waiting == [false; 2] || strand.level() < Level::Hyperprivileged {
        return false;
    }
    let mut word = [0; 4];
    let pc = strand.pc;
    execution.read(pc, &mut word).unwrap();
    let [memory, devices] = waits_for(u32::from_be_bytes(word));
    memory && waiting[0] || devices && waiting[1]
}

/// A step that prepares the hub before the two calls. The `usize` fields are indices in [`STRANDS`].
#[derive(Clone, Copy)]
enum Step {
    /// The strand makes a whole call.
    Calls(usize),
    /// The strand begins a call, and stops after its access to the hub.
    Accesses(usize),
    /// A strand that has stopped after its access to the hub finishes its call.
    Ends(usize),
    /// The test sets the number of refusals in this turn.
    Refusals(u32),
    /// So much time passes that the next refusal of each strand is counted again.
    LongAgo,
}

use Step::{Accesses, Calls, Ends, LongAgo, Refusals};

/// The state of the hub before the two calls, and the functions of the calls.
pub(super) struct Case {
    pub(super) name: &'static str,
    steps: &'static [Step],
    functions: [u64; 2],
    /// Whether the orders have more than 2000 states.
    pub(super) is_large: bool,
}

const fn small(name: &'static str, steps: &'static [Step], functions: [u64; 2]) -> Case {
    Case { name, steps, functions, is_large: false }
}

const fn large(name: &'static str, steps: &'static [Step], functions: [u64; 2]) -> Case {
    Case { name, steps, functions, is_large: true }
}

pub(super) const CASES: [Case; 9] = [
    small("free", &[], [GET, GET]),
    small("free", &[], [GET, SET]),
    small("free", &[], [SET, SET]),
    small("the turn of a third", &[Accesses(A), Calls(C), Ends(A), Calls(A)], [GET, GET]),
    large(
        "for the last time",
        &[Accesses(A), Calls(C), Ends(A), Calls(A), Refusals(6)],
        [GET, GET],
    ),
    small("the turn of one", &[Accesses(C), Calls(A), Ends(C), Calls(B)], [SET, GET]),
    large(
        "long after the turn of one",
        &[Accesses(C), Calls(A), Ends(C), Calls(B), LongAgo],
        [SET, GET],
    ),
    small("taken by a third", &[Accesses(C)], [GET, GET]),
    large("a third is remembered", &[Accesses(A), Calls(C), Ends(A)], [GET, GET]),
];

/// The machine before the steps of a case.
pub(super) struct Ready {
    pub(super) orders: Orders,
    empty: State,
    third: Strand,
}

impl Ready {
    pub(super) fn new() -> Self {
        let orders = Orders::new();
        let empty = orders.state([Call::Waits; 2], None);
        let third = orders.booted.0.strand(strand(C)).clone();
        Self { orders, empty, third }
    }

    /// Takes the steps of a case. Returns the outcomes that are allowed for its calls.
    fn prepare(&mut self, case: &Case) -> Allowed {
        let Self { orders, empty, third } = self;
        let Case { name, steps, functions, .. } = *case;
        orders.waits = false;
        orders.enter(empty);
        *orders.booted.0.strand_mut(strand(C)) = third.clone();
        let mut specified = Specified {
            outcome: Outcome {
                calls: [Call::Waits; 2],
                device: BEFORE,
                turns: Turns { last: orders.turns().last, ..Turns::NEW },
            },
            holder: None,
            marked: [false; 2],
            recent: [false; 3],
        };
        for step in steps {
            let number = match *step {
                Calls(number) | Accesses(number) => {
                    orders.begin(number, GET, 0);
                    orders.advance(number).unwrap();
                    let served = specified.asks(number);
                    if served && matches!(step, Accesses(_)) {
                        // The strand took the free hub on the fast path. This step executes its
                        // access to the hub.
                        orders.advance(number).unwrap();
                        continue;
                    }
                    number
                }
                Ends(number) => number,
                Refusals(number) => {
                    orders.set_refusals(number);
                    specified.outcome.turns.refusals = number;
                    continue;
                }
                LongAgo => {
                    orders.passes(REPEAT_TICKS);
                    specified.recent = [false; 3];
                    continue;
                }
            };
            while orders.is_within(number) {
                orders.advance(number).unwrap();
            }
            let (status, _) = orders.answer(number, GET);
            let served = specified.holder.take_if(|holder| *holder == number).is_some();
            assert_eq!(status, if served { 0 } else { EWOULDBLOCK }, "{name}");
            // If the call ended on the fast path, the gate remembers no other strand, so this event changes nothing.
            if served && matches!(step, Calls(_)) {
                specified.step(HubEvent::Ended);
            }
        }
        assert_eq!(orders.turns(), specified.outcome.turns, "{name}");
        // In the tick of a counted refusal, another refusal of the same strand would be counted too, so one tick passes.
        orders.passes(1);
        [None, Some(A), Some(B)]
            .map(|first| {
                let mut allowed = HashSet::new();
                specified.outcomes(functions, first.is_none(), first.unwrap_or(A), &mut allowed);
                (first, allowed.into_iter().map(|allowed| allowed.outcome).collect())
            })
            .into()
    }

    /// Explores the orders of a case. If `waits` is `false`, every store completes immediately.
    pub(super) fn explore(&mut self, case: &Case, waits: bool) -> Explored {
        let allowed = self.prepare(case);
        self.orders.waits = waits;
        self.orders.explore(case.functions, &allowed)
    }

    fn all_orders(&mut self, waits: bool) {
        for case in CASES.iter().filter(|case| all() || !case.is_large) {
            let Explored { orders, states, wrong } = self.explore(case, waits);
            let Case { name, functions, .. } = case;
            assert_eq!(wrong, None, "{name}, {functions:x?}");
            println!("{name}, {functions:x?}: {orders} orders, {states} states");
        }
    }
}

#[test]
#[ignore = "builds images"]
fn two_calls_of_a_hub_in_every_order() {
    Ready::new().all_orders(false);
}

#[test]
#[ignore = "builds images"]
fn two_calls_of_a_hub_in_every_order_of_stores() {
    Ready::new().all_orders(true);
}
