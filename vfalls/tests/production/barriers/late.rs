//! Scenes in which strands act together while their stores complete late: the machine boots, guests
//! end and restart, the L2 control is set, and a right passes from guest to guest.

use std::collections::VecDeque;
use std::slice;

use guest_abi::Node;
use guest_abi::kernel::{CPU_START, CPU_STOP, MACH_EXIT};
use hv_core::GuestId;
use perfctr_service::mailbox::Step;
use perfctr_service::{Grants, Right};
use platform::Bus;
use platform::address::{L2_BANKS, l2_control};
use platform::models::FaultyUnit;
use simulator::execute::buffers::Target;
use simulator::execute::{Execution, Limits, State, Stop, map};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, Trap};
use tests::assembler::{ILLEGAL, NOP, TBA, wrpr};
use tests::machine::strand;

use super::super::failures::UNEXPECTED;
use super::super::lists::{Entry, GET, HUB_PCR, REPEAT_LIST, SET, retried};
use super::super::orders::is_blocked;
use super::super::{Booted, ENOACCESS, Guest, REAL};

/// A store completes after its strand has had this number of turns, unless an instruction waits for the store earlier.
const MAX_STORE_AGE: u64 = 1000;

/// The maximum number of instructions that a strand executes alone.
const MAX_STEPS: u32 = 1_000_000;

/// The guests' strands, two of them on node 0. Strand 0 boots the machine.
const STRANDS: [usize; 3] = [3, 60, 130];

/// A list entry with a loop of 3000 instructions. If the guest must repeat a call that the test has inserted, it takes the call's registers
/// from this entry, and therefore calls cpu_yield instead.
const LOOP: Entry = [4, 1000, 0, 0, 0, 0, 0x12, 0];

/// The id of the L2 control register.
const L2: u64 = 1;

/// A situation in which one strand acts while another strand's stores are still incomplete.
pub(super) struct Scene {
    pub(super) name: &'static str,
    /// The barrier that one of the strands passes: the first three fields of the barrier's row in the table of verdicts.
    pub(super) barrier: (&'static str, &'static str, usize),
    /// Boots the image, and brings the machine to the start of the scene.
    prepare: fn(&[u8]) -> Booted,
    /// Lets a strand pass the barrier, which has these addresses. The strand then does as much as it can before its stores complete,
    /// while another strand acts. Returns `true` if the scene ends as it must.
    plays: fn(&mut DelayedStores<'_>, &[u64]) -> bool,
}

pub(super) const SCENES: [Scene; 7] = [
    Scene {
        name: "a strand starts others",
        barrier: ("platform/src/sparc64/interrupt.rs", "asm!(\"membar #Sync\", \"stxa {bit}, ", 1),
        prepare: |image| {
            let guests =
                [Guest::with_lists(&STRANDS[..1], ""), Guest::with_lists(&STRANDS[1..], "")];
            let mut booted = Booted::boot(image, &guests, None);
            for (guest, cpu) in [(0, 0), (1, 0), (1, 1)] {
                booted.list(guest, cpu, &[LOOP, REPEAT_LIST]);
            }
            booted
        },
        plays: |late, barrier| {
            late.pass_barrier(0, barrier);
            late.run_others(0, 20_000, |_| false);
            late.run_until(|late| STRANDS.iter().all(|number| late.is_in_guest(*number)))
                && late.execution.failures().1 == 0
        },
    },
    Scene {
        name: "two guests end",
        barrier: ("hypervisor/src/image/guests.rs", "life.runs.store(false", 1),
        prepare: |image| {
            loops(
                image,
                &[Guest::with_lists(&STRANDS[..1], ""), Guest::with_lists(&STRANDS[1..2], "")],
            )
        },
        plays: |late, barrier| {
            late.call(3, [5, 0, 0], MACH_EXIT);
            late.pass_barrier(3, barrier);
            late.call(60, [5, 0, 0], MACH_EXIT);
            late.run_others(3, 200_000, |late| late.execution.state(strand(60)) == State::Halted);
            late.run_until(DelayedStores::is_off)
        },
    },
    Scene {
        name: "a CPU starts while its guest ends",
        barrier: ("hypervisor/src/services/core_group.rs", "self.ended_word(guest).store(1, ", 1),
        prepare: |image| {
            let mut booted = loops(image, &[Guest::with_lists(&STRANDS, "")]);
            booted.list(0, 1, &[retried(CPU_STOP, 0, 0), LOOP, REPEAT_LIST]);
            booted.0.run(Limits::instructions(400_000));
            booted.list(0, 1, &[LOOP, REPEAT_LIST]);
            booted
        },
        plays: |late, barrier| {
            let [cpu, traps] = late.starts;
            // A fatal trap ends the guest once, as this scene needs. The call mach_exit would end
            // the guest twice.
            late.fatal(60);
            late.pass_barrier(60, barrier);
            late.call(130, [0, cpu, traps], CPU_START);
            late.run_others(60, 20_000, |late| late.result(130).is_some());
            late.run_until(DelayedStores::is_off)
        },
    },
    Scene {
        name: "the operator resets a guest while it ends",
        barrier: ("hypervisor/src/image/guests.rs", "fence(SeqCst);", 2),
        prepare: |image| {
            loops(
                image,
                &[Guest::with_lists(&STRANDS[..1], ""), Guest::with_lists(&STRANDS[1..], "")],
            )
        },
        plays: |late, barrier| {
            late.call(3, [5, 0, 0], MACH_EXIT);
            late.pass_barrier(3, barrier);
            let reset = Step::Reset(GuestId::new(0).unwrap());
            late.execution.operate(strand(130), &reset).unwrap();
            late.run_others(3, 200_000, DelayedStores::is_answered);
            late.run_until(|late| late.is_answered() && late.is_in_guest(3))
        },
    },
    Scene {
        name: "two strands fail at the same moment",
        barrier: ("hypervisor/src/services/cpus.rs", "self.cpu(strand).state.store(ERROR, ", 1),
        // Strand 0 has started the guests' strands, and none of them has executed an instruction.
        prepare: |image| {
            let guests =
                STRANDS.each_ref().map(|number| Guest::with_lists(slice::from_ref(number), ""));
            let mut booted = Booted::boot(image, &guests, None);
            for guest in 0..3 {
                booted.list(guest, 0, &[LOOP, REPEAT_LIST]);
            }
            while booted.0.state(strand(0)) != State::Halted {
                booted.0.step(strand(0));
            }
            booted
        },
        plays: |late, barrier| {
            let same = Step::Reconfigure(Grants::none(3).unwrap());
            late.execution.operate(strand(3), &same).unwrap();
            late.fail(3);
            late.pass_barrier(3, barrier);
            late.fail(60);
            late.run_others(3, 200_000, |late| late.execution.state(strand(60)) == State::Halted);
            late.run_until(DelayedStores::is_answered)
        },
    },
    Scene {
        name: "two strands set the L2 control of their node",
        barrier: ("", "perfctr_set_l2", 2),
        prepare: |image| loops(image, &[Guest::with_lists(&STRANDS, "global")]),
        plays: |late, barrier| {
            late.call(3, [L2, 1, 0], SET);
            late.pass_barrier(3, barrier);
            // The lock's release completes before the store to the last bank.
            while late.execution.complete_store(strand(3), Target::Memory).is_some() {}
            late.call(60, [L2, 2, 0], SET);
            late.run_others(3, 20_000, |late| late.result(60).is_some());
            // Stores of different strands complete in any order.
            while late.execution.complete_store(strand(60), Target::Device).is_some() {}
            let both = |late: &mut DelayedStores<'_>| {
                let all = STRANDS.map(|number| late.execution.store_buffer(strand(number)));
                let complete = all.iter().all(|buffer| buffer.devices.is_empty());
                complete && late.result(3).is_some() && late.result(60).is_some()
            };
            let banks = |late: &DelayedStores<'_>| -> [u64; L2_BANKS] {
                std::array::from_fn(|bank| {
                    let at = l2_control(bank).unwrap();
                    late.execution.devices().read(strand(3), at).unwrap() >> 36 & 3
                })
            };
            late.run_until(both) && banks(late).iter().all(|bank| *bank == banks(late)[0])
        },
    },
    Scene {
        name: "a set of the L2 control fails while another strand gets it",
        barrier: ("", "perfctr_set_l2", 1),
        prepare: |image| loops(image, &[Guest::with_lists(&STRANDS, "global")]),
        // The other strand may get the L2 control at any time after the barrier.
        plays: |late, barrier| {
            let before = late.execution.clone();
            (0..80).all(|turns| {
                *late.execution = before.clone();
                late.ages = Default::default();
                late.call(3, [L2, 1, 0], SET);
                late.pass_barrier(3, barrier);
                let fails = FaultyUnit::L2FromBank(Node::Node0, 5);
                late.execution.devices().set_faulty(fails, true);
                for _ in 0..turns {
                    late.step_strand(3);
                }
                late.call(60, [L2, 0, 0], GET);
                late.run_others(3, 20_000, |late| late.result(60).is_some());
                let finds_new = late.result(60) == Some([0, 1]);
                late.run_until(|late| late.result(3).is_some())
                    && late.result(3).is_some_and(|[status, _]| status == ENOACCESS)
                    && !finds_new
            })
        },
    },
];

/// Boots an image whose guests execute loops.
fn loops(image: &[u8], guests: &[Guest<'_>]) -> Booted {
    let mut booted = Booted::boot(image, guests, None);
    for (guest, described) in (0..).zip(guests) {
        for cpu in 0..described.strands.len() as u64 {
            booted.list(guest, cpu, &[LOOP, REPEAT_LIST]);
        }
    }
    booted.0.run(Limits::instructions(4_000_000));
    booted
}

fn remove(booted: &mut Booted, removed: &[u64]) {
    for address in removed {
        booted.0.load(*address, &NOP.to_be_bytes()).unwrap();
    }
}

impl Scene {
    /// Plays the scene with an image from which some barriers are removed. Returns `true` if the scene ends as it must.
    pub(super) fn is_right(&self, image: &[u8], removed: &[u64], barrier: &[u64]) -> bool {
        let mut booted = (self.prepare)(image);
        remove(&mut booted, removed);
        let call = booted.call_of_list();
        let starts = booted.words(0, 0x90);
        booted.0.set_store_buffers(true);
        let execution = &mut booted.0;
        (self.plays)(&mut DelayedStores::new(execution, call, starts), barrier)
    }
}

/// Passes a right from one guest to the other while the strands execute at different times. Returns `true` if the new owner gets the right
/// and the former owner is refused.
pub(super) fn passes_a_right(image: &[u8], removed: &[u64]) -> bool {
    let passes = |late: &mut DelayedStores<'_>, delay: u64| {
        let mut grants = Grants::none(2).unwrap();
        grants.grant(GuestId::new(1).unwrap(), Right::Global).unwrap();
        late.execution.operate(strand(60), &Step::Reconfigure(grants)).unwrap();
        for _ in 0..delay {
            late.step_all(None);
        }
        late.call(3, [HUB_PCR, 0x0101, 0], SET);
        late.run_until(DelayedStores::is_answered) && {
            let served = |late: &mut DelayedStores<'_>| {
                late.call(130, [HUB_PCR, 0, 0], GET);
                late.run_until(|late| late.result(130).is_some());
                late.result(130) == Some([0, 0])
            };
            let served = (0..1000).any(|_| served(late));
            late.call(3, [HUB_PCR, 0, 0], GET);
            late.run_until(|late| late.result(3).is_some());
            served && late.result(3) == Some([ENOACCESS, 0])
        }
    };
    let guests = [Guest::with_lists(&STRANDS[..2], "global"), Guest::with_lists(&STRANDS[2..], "")];
    let mut booted = loops(image, &guests);
    remove(&mut booted, removed);
    let call = booted.call_of_list();
    let starts = booted.words(0, 0x90);
    (0..5000).step_by(500).all(|delay| {
        let mut execution = booted.0.clone();
        execution.set_store_buffers(true);
        passes(&mut DelayedStores::new(&mut execution, call, starts), delay)
    })
}

/// Strands that take turns to execute one instruction each.
struct DelayedStores<'a> {
    execution: &'a mut Execution,
    /// The address of a `ta 0x80` instruction in the guests' program, after which a CPU continues with its list.
    call: u64,
    /// The address at which a guest's CPUs start, and the address of their trap table.
    starts: [u64; 2],
    /// For each strand, how many turns each of its incomplete stores has waited: first the stores
    /// to memory, then the stores to devices. Strand 0 comes first.
    ages: [[VecDeque<u64>; 2]; 4],
    /// The status and the value of each strand's latest call; `None` until the call has returned.
    results: [Option<[u64; 2]>; 4],
    /// Whether the hypervisor has done what the operator asked for.
    answer: bool,
}

/// Returns the index of a strand in the lists of [`DelayedStores`].
fn index_of(number: usize) -> usize {
    STRANDS.iter().position(|strand| *strand == number).map_or(0, |of| of + 1)
}

impl<'a> DelayedStores<'a> {
    fn new(execution: &'a mut Execution, call: u64, starts: [u64; 2]) -> Self {
        let (ages, results) = Default::default();
        Self { execution, call, starts, ages, results, answer: false }
    }

    fn instruction(&mut self, number: usize) {
        let id = strand(number);
        self.execution.step(id);
        let strand = self.execution.strand(id);
        if strand.pc == self.call + 4 {
            let o0 = Register::O0.index() as u32;
            let registers = [o0, o0 + 1].map(|at| strand.registers.get(Register::new(at)));
            self.results[index_of(number)] = Some(registers);
        }
    }

    /// Lets a strand execute an instruction. Then completes stores that have waited long enough.
    fn step_strand(&mut self, number: usize) {
        self.instruction(number);
        let id = strand(number);
        let targets = [Target::Memory, Target::Device];
        for (target, ages) in targets.into_iter().zip(&mut self.ages[index_of(number)]) {
            let buffer = self.execution.store_buffer(id);
            let number = match target {
                Target::Memory => buffer.memory.len(),
                Target::Device => buffer.devices.len(),
            };
            ages.drain(..ages.len().saturating_sub(number));
            ages.iter_mut().for_each(|age| *age += 1);
            ages.resize(number, 0);
            while ages.front().is_some_and(|age| *age > MAX_STORE_AGE) {
                self.execution.complete_store(id, target);
                ages.pop_front();
            }
        }
    }

    /// Gives a turn to each strand other than `except`.
    fn step_all(&mut self, except: Option<usize>) {
        for number in [0].into_iter().chain(STRANDS).filter(|number| Some(*number) != except) {
            self.step_strand(number);
        }
    }

    /// Executes a strand alone until it reaches the barrier, and then on until it has to wait for its stores, or until its guest's call has
    /// returned.
    fn pass_barrier(&mut self, number: usize, barrier: &[u64]) {
        let pc = |late: &Self| late.execution.strand(strand(number)).pc;
        self.execute_until(number, |late| barrier.contains(&pc(late)));
        for _ in 0..MAX_STEPS {
            if is_blocked(self.execution, strand(number)) || pc(self) == self.call + 4 {
                return;
            }
            self.instruction(number);
        }
        panic!("strand {number} does not wait for its stores");
    }

    /// Executes a strand alone until a condition holds.
    fn execute_until(&mut self, number: usize, holds: impl Fn(&Self) -> bool) {
        for _ in 0..MAX_STEPS {
            if holds(self) {
                return;
            }
            self.step_strand(number);
        }
        panic!(
            "strand {number} executes too long, at {:#x}",
            self.execution.strand(strand(number)).pc
        );
    }

    /// Executes all strands except this one until a condition holds, or until each of them has had `turns` turns.
    fn run_others(&mut self, number: usize, turns: u64, holds: impl Fn(&mut Self) -> bool) {
        for _ in 0..turns {
            if holds(self) {
                break;
            }
            self.step_all(Some(number));
        }
    }

    /// Executes all strands until a condition holds. Returns `false` if the condition does not hold in time.
    fn run_until(&mut self, holds: impl Fn(&mut Self) -> bool) -> bool {
        for _ in 0..20_000 {
            if holds(self) {
                return true;
            }
            for _ in 0..10 {
                self.step_all(None);
            }
        }
        false
    }

    fn is_off(&mut self) -> bool {
        self.execution.run(Limits::instructions(0)) == Stop::Off
    }

    fn is_answered(&mut self) -> bool {
        if let Some(answer) = self.execution.operated() {
            self.answer = answer == Ok(None);
        }
        self.answer
    }

    fn is_in_guest(&self, number: usize) -> bool {
        let id = strand(number);
        self.execution.state(id) == State::Running
            && self.execution.strand(id).level() < Level::Hyperprivileged
    }

    /// Executes a strand until it is in its guest, then makes it execute instructions that remove the guest's trap table and cause a trap.
    fn fatal(&mut self, number: usize) {
        const AT: u64 = 0x70_0000;
        let words = [wrpr(TBA, 0), ILLEGAL[0]].map(u32::to_be_bytes);
        self.execution.load(map::PARTITION + AT, words.as_flattened()).unwrap();
        self.execute_until(number, |late| late.is_in_guest(number));
        let strand = self.execution.strand_mut(strand(number));
        (strand.pc, strand.npc) = (REAL + AT, REAL + AT + 4);
    }

    /// Makes the hypervisor take an unexpected trap on a strand that starts. After 200 instructions, the strand has the hypervisor's stack
    /// and trap table, but its guest has not started.
    fn fail(&mut self, number: usize) {
        for _ in 0..200 {
            self.step_strand(number);
        }
        let strand = self.execution.strand_mut(strand(number));
        strand.take(Trap::software(UNEXPECTED).into()).unwrap();
    }

    /// Executes a strand until it is in its guest, and then starts one of the guest's calls.
    fn call(&mut self, number: usize, arguments: [u64; 3], function: u64) {
        self.execute_until(number, |late| late.is_in_guest(number));
        let strand = self.execution.strand_mut(strand(number));
        (strand.pc, strand.npc) = (self.call, self.call + 4);
        let values = arguments.into_iter().chain([0, 0, function]);
        for (register, value) in (Register::O0.index() as u32..).zip(values) {
            strand.registers.set(Register::new(register), value);
        }
        self.results[index_of(number)] = None;
    }

    /// Returns the status and the value of a strand's call; `None` until the call has returned.
    fn result(&self, number: usize) -> Option<[u64; 2]> {
        self.results[index_of(number)]
    }
}
