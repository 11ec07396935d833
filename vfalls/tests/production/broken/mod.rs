//! Tests units that fail while two guests make calls. The first guest uses the units on three strands. The second guest, its neighbour, is
//! refused until it receives the right to the units. Each run is compared to the same run without failures.

pub(crate) mod compared;
pub(crate) mod defects;
mod drawn;
pub(crate) mod image;
mod plan;
mod swept;

pub(super) use defects::has_defect;

use std::array;
use std::collections::BTreeMap;
use std::ops::Range;

use conform::modelled::faulty;
use guest_abi::{Node, PerfReg, StrandId};
use hv_core::GuestId;
use perfctr_service::mailbox::{ServiceState, Step};
use perfctr_service::{Grants, Right, Unit};
use platform::PhysicalAddress;
use platform::address::{L2_BANKS, global, l2_control, local};
use simulator::conform::caller::resume_at;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Stop, StoreBehaviour};
use simulator::interpreter::instruction::Register;
use simulator::interpreter::{Level, TrapFrame};
use simulator::operator::Answer;
use vfalls::cmd::boot::elf;

use super::levels::HPRIV;
use super::lists::{self, Entry};
use super::{Booted, Guest, MEMORY, REAL, strand};
use image::{Image, unanswered};
use plan::{BetweenStages, EXIT, FAULT_WINDOW, Fault, Plan, STRANDS};

/// The longest time that the test waits for anything, in cycles. All reports arrive within [`QUIET`] cycles.
const TIMEOUT: u64 = 3_000_000;
const QUIET: u64 = 3000;

/// Indices in [`STRANDS`]: the three strands of the first guest, and the strand of its neighbour.
const FIRST_GUEST: [usize; 3] = [0, 1, 2];
const NEIGHBOUR: usize = 3;

/// The number of entries that a list has in memory. Zeros follow the entries that a strand
/// executes.
const MAX_ENTRIES: usize = 40;

/// The instruction `ldxa [%g1] DFESR, %g1`.
const READ_REPORT: u32 = 0xc2d8_4980;

/// A machine whose guests have booted and wait for their lists.
pub(super) struct Ready {
    execution: Execution,
    /// Addresses in the guests' program: the start of the list, the instruction after the list, and the idle loop.
    again: u64,
    finished: u64,
    idle: u64,
    /// Addresses in the hypervisor: the instruction after the read of a report, and the handler of traps other than hypercalls.
    has_read: u64,
    trapped: u64,
    /// The ranges of fast-path instructions in which a call has no answer yet.
    unanswered: Vec<Range<u64>>,
    image: Image,
}

impl Ready {
    pub(super) fn new(hypervisor: &[u8]) -> Self {
        let guests = [
            Guest::with_lists(&STRANDS[..3], "global,strand"),
            Guest::with_lists(&STRANDS[3..], "strand"),
        ];
        let mut booted = Booted::boot_nodes(2, hypervisor, &guests, None);
        let [again, finished, idle] = booted.words(0, 0xa0);
        let elf = elf::parse(hypervisor).unwrap();
        let instructions = elf::instructions(&elf).unwrap();
        let reads = instructions.iter().find(|(_, code)| *code == READ_REPORT);
        let has_read = reads.unwrap().0 + 4;
        let trapped = elf::address(&elf, "sun4v_trapped").unwrap();
        let (execution, unanswered, image) = (booted.0, unanswered(&elf), Image::new(&elf));
        let ready = Self { execution, again, finished, idle, has_read, trapped, unanswered, image };
        let plan = Plan::default();
        let mut run = Run::new(&ready, &plan, false);
        run.until("the guests boot", |run| run.finished == [true; 4]).unwrap();
        let Run { execution, .. } = run;
        Self { execution, ..ready }
    }
}

/// The number of times that failures interrupted work. A key is the interrupted work and the kind of failure: a store, which is reported
/// later, or an access that traps immediately.
pub(super) type Hits = BTreeMap<(&'static str, &'static str), u64>;

/// The machine at the end of a stage, for comparison with other runs.
struct End {
    execution: Execution,
    look: Option<ServiceState>,
}

struct Run<'a> {
    ready: &'a Ready,
    plan: &'a Plan,
    execution: Execution,
    begun: u64,
    /// The times at which units begin to fail (`true`) or to work again (`false`), latest first.
    events: Vec<(u64, Unit, bool)>,
    /// For each strand, `true` if the strand has reached the end of its list.
    finished: [bool; STRANDS.len()],
    hits: Hits,
    /// The units whose failed stores were reported, if the hypervisor has read the reports.
    reported: Vec<Unit>,
    /// What the operator sees at the end of the run; `None` until then.
    look: Option<ServiceState>,
    /// The calls of this stage that had no answer yet when their unit's report arrived. Each pair is a strand's index and the call's index
    /// in the strand's list.
    must_refuse: Vec<(usize, usize)>,
}

impl<'a> Run<'a> {
    fn new(ready: &'a Ready, plan: &'a Plan, fails: bool) -> Self {
        let mut execution = ready.execution.clone();
        execution.breakpoints().extend([ready.finished, ready.has_read]);
        if fails {
            execution.breakpoints().insert(ready.trapped);
        }
        execution.set_stores(StoreBehaviour { latency: plan.latency, without_address: false });
        let begun = execution.now();
        let faults = plan.faults.iter().filter(|_| fails);
        let events = faults.flat_map(|fault| {
            [(fault.from, true), (fault.until, false)].map(|it| (fault.unit, it))
        });
        let mut events: Vec<_> =
            events.map(|(unit, (at, fails))| (begun.saturating_add(at), unit, fails)).collect();
        events.sort_by_key(|(at, ..)| u64::MAX - at);
        let (finished, hits) = ([false; 4], Hits::new());
        let (reported, must_refuse, look) = (Vec::new(), Vec::new(), None);
        Self { ready, plan, execution, begun, events, finished, hits, reported, look, must_refuse }
    }

    fn end(&self) -> End {
        End { execution: self.execution.clone(), look: self.look }
    }

    /// Runs the plan. Calls `seen` at the end of each stage.
    fn run(
        &mut self,
        mut seen: impl FnMut(usize, &mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        self.begin(0)?;
        if let Some((at, number)) = self.plan.looks {
            let at = self.begun + at;
            self.until("time goes on", |run| run.execution.now() >= at)?;
            self.operate(number, &Step::ReadState(2)).map(drop)?;
        }
        self.finish()?;
        seen(0, self)?;
        self.change()?;
        let at = self.begun + FAULT_WINDOW;
        self.until("time goes on", |run| run.execution.now() >= at)?;
        self.begin(1)?;
        self.finish()?;
        self.quiet()?;
        self.look = self.operate(NEIGHBOUR, &Step::ReadState(2))?.unwrap();
        (0..4).try_for_each(|number| self.enter_guest(number))?;
        seen(1, self)
    }

    /// Makes the operator's change between the stages, and waits until it is complete.
    fn change(&mut self) -> Result<(), String> {
        let [first, second] = [0, 1].map(|guest| GuestId::new(guest).unwrap());
        match self.plan.between {
            BetweenStages::Look => self.operate(self.plan.on, &Step::ReadState(2)).map(drop)?,
            BetweenStages::Transfer => {
                let mut grants = Grants::none(2).unwrap();
                for right in [Right::Global, Right::Strand] {
                    grants.grant(second, right).unwrap();
                }
                self.operate(self.plan.on, &Step::Reconfigure(grants)).map(drop)?;
            }
            BetweenStages::Reset | BetweenStages::Exit => {
                if self.plan.between == BetweenStages::Exit {
                    self.put(0, &[EXIT]);
                    self.go(0)?;
                    let has_ended = |run: &mut Self| run.execution.guest(0) != GuestState::Runs;
                    self.until("the guest ends", has_ended)?;
                }
                for number in FIRST_GUEST {
                    self.put(number, &[]);
                    self.finished[number] = false;
                }
                self.operate(self.plan.on, &Step::Reset(first)).map(drop)?;
                self.finish()?;
            }
            BetweenStages::Return => {
                self.events.clear();
                for fault in &self.plan.faults {
                    self.execution.devices().set_faulty(faulty(fault.unit), false);
                }
                // Each unit is returned to service twice, because the report of an earlier store to the unit may arrive after the first
                // time and take the unit out of service again.
                for _ in 0..2 {
                    for Fault { unit, .. } in &self.plan.faults {
                        // Only strands on the same node can access a node's L2 control.
                        let on = if *unit == Unit::L2(Node::Node1) { 2 } else { NEIGHBOUR };
                        self.operate(on, &Step::ReturnToService(*unit)).map(drop)?;
                    }
                    self.quiet()?;
                }
            }
        }
        // A transfer may take some time, and calls are refused meanwhile, so the test waits until no change is pending.
        for _ in 0..100 {
            let seen = self.operate(NEIGHBOUR, &Step::ReadState(2))?;
            if seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.pending.is_none())) {
                return Ok(());
            }
        }
        Err("what the operator has begun does not end".to_owned())
    }

    /// Runs until `is_so` returns `true`. Fails after [`TIMEOUT`] cycles, with `what` in the message.
    fn until(&mut self, what: &str, is_so: impl Fn(&mut Self) -> bool) -> Result<(), String> {
        let end = self.execution.now() + TIMEOUT;
        while !is_so(self) {
            let now = self.execution.now();
            if now >= end {
                let at = STRANDS.map(|number| self.execution.strand(strand(number)).pc);
                return Err(format!(
                    "not in time: {what}: {at:x?}, {:?}",
                    self.execution.failures()
                ));
            }
            while let Some((_, unit, fails)) = self.events.pop_if(|(at, ..)| *at <= now) {
                self.execution.devices().set_faulty(faulty(unit), fails);
            }
            let next = self.events.last().map_or(u64::MAX, |(at, ..)| *at);
            // A scheduler turn that has begun lasts up to 16 cycles.
            let cycles = next.clamp(now + 16, now + 500);
            match self.execution.run(Limits { cycles, ..Limits::NONE }) {
                Stop::Limit => {}
                Stop::Breakpoint(id) => self.stopped(id),
                stop => return Err(format!("{stop:?}: {:?}", self.execution.failures())),
            }
        }
        Ok(())
    }

    /// Runs until the reports about all earlier stores have arrived.
    fn quiet(&mut self) -> Result<(), String> {
        let at = self.execution.now() + QUIET;
        self.until("time goes on", |run| run.execution.now() >= at)
    }

    fn finish(&mut self) -> Result<(), String> {
        self.until("the lists end", |run| run.finished == [true; 4])
    }

    /// Makes the strand with this index perform a step for the operator. Returns the operator's answer.
    fn operate(&mut self, number: usize, step: &Step) -> Result<Answer, String> {
        self.execution
            .operate(strand(STRANDS[number]), step)
            .map_err(|error| format!("{error:?}"))?;
        for _ in 0..TIMEOUT / 100 {
            let at = self.execution.now() + 100;
            self.until("time goes on", |run| run.execution.now() >= at)?;
            if let Some(answer) = self.execution.operated() {
                return Ok(answer);
            }
        }
        Err(format!("the operator gets no answer: {step:?}"))
    }

    /// Writes a stage's lists to memory, and starts all strands on their lists.
    fn begin(&mut self, stage: usize) -> Result<(), String> {
        self.must_refuse.clear();
        (0..4).try_for_each(|number| {
            self.put(number, &self.plan.lists[stage][number]);
            self.finished[number] = false;
            self.go(number)
        })
    }

    fn put(&mut self, number: usize, list: &[Entry]) {
        let mut entries = [[0; 8]; MAX_ENTRIES];
        entries[..list.len()].copy_from_slice(list);
        let words = entries.as_flattened().iter();
        let bytes: Vec<u8> = words.flat_map(|word| word.to_be_bytes()).collect();
        self.execution.load(list_at(number), &bytes).unwrap();
    }

    /// Executes a strand until it has left the hypervisor for its guest.
    fn enter_guest(&mut self, number: usize) -> Result<(), String> {
        let id = strand(STRANDS[number]);
        for _ in 0..TIMEOUT {
            if self.execution.strand(id).level() < Level::Hyperprivileged {
                return Ok(());
            }
            self.execution.step(id);
        }
        Err(format!("strand {number} stays in the hypervisor"))
    }

    /// Executes a strand until it is in its guest, and then starts it on its list.
    fn go(&mut self, number: usize) -> Result<(), String> {
        self.enter_guest(number)?;
        resume_at(self.execution.strand_mut(strand(STRANDS[number])), self.ready.again);
        Ok(())
    }

    /// Handles a strand's stop at a breakpoint. The breakpoints are the end of the list, the read of a report, and the handler of traps
    /// other than hypercalls.
    fn stopped(&mut self, id: StrandId) {
        let number = STRANDS.iter().position(|number| *number == id.index()).unwrap();
        let strand = self.execution.strand_mut(id);
        if strand.pc == self.ready.finished {
            resume_at(strand, self.ready.idle);
            self.finished[number] = true;
            return;
        }
        let is_report = strand.pc == self.ready.has_read;
        let frames = strand.control.frames().0.to_vec();
        let Some((interrupted, below)) = frames.split_last() else { return };
        let in_hypervisor = interrupted.hpstate & HPRIV != 0;
        if !is_report && !in_hypervisor {
            return;
        }
        let what = match in_hypervisor {
            true => self.at_work(number, below),
            false => "the guest's own instructions",
        };
        let how = if is_report { "a store" } else { "an access at once" };
        *self.hits.entry((what, how)).or_default() += 1;
        if is_report {
            let address = self.execution.reported_store(id);
            let unit = address.and_then(|address| unit_at(id, PhysicalAddress(address)));
            self.reported.extend(unit);
            let call = below.iter().rfind(|frame| frame.number >= 0x100);
            let is_in = |range: &Range<u64>| range.contains(&interrupted.pc);
            if let (Some(_), Some(call)) = (unit, call)
                && self.ready.unanswered.iter().any(is_in)
            {
                let (address, entry) = self.entry(number, call);
                if plan::unit(&entry, number) == unit {
                    let place = (address - list_at(number)) as usize / 64;
                    self.must_refuse.push((number, place));
                }
            }
        }
    }

    /// Returns the address and the words of the list entry that a strand is executing. `call` is the trap frame of the entry's call.
    fn entry(&mut self, number: usize, call: &TrapFrame) -> (u64, Entry) {
        let mut registers = self.execution.strand(strand(STRANDS[number])).registers.clone();
        registers.set_window(call.state as usize & 7);
        let place = registers.get(Register::new(16)).wrapping_sub(REAL) & (MEMORY - 64);
        let address = (list_at(number) & !(MEMORY - 1)) + place;
        let mut bytes = [0; 64];
        self.execution.read(address, &mut bytes).unwrap();
        let words = bytes.as_chunks().0;
        (address, array::from_fn(|word| u64::from_be_bytes(words[word])))
    }

    /// Names the work that the hypervisor is doing on a strand. `frames` are the traps that it is handling there.
    fn at_work(&mut self, number: usize, frames: &[TrapFrame]) -> &'static str {
        if frames.iter().any(|frame| frame.number == 0x07) {
            return "another report";
        }
        let Some(call) = frames.iter().rfind(|frame| frame.hpstate & HPRIV == 0) else {
            return "start and end of guests";
        };
        match call.number {
            0x100.. => plan::what(&self.entry(number, call).1),
            0x3e | 0x3f => "a miss of the TLB",
            0x5e => "a report that is told",
            0x60 => match self.plan.between {
                BetweenStages::Look => "an interrupt: the operator looks",
                BetweenStages::Transfer => "an interrupt: a transfer",
                BetweenStages::Reset | BetweenStages::Exit => "an interrupt: a reset",
                BetweenStages::Return => "an interrupt: a unit returns",
            },
            _ => "a trap that the guest takes",
        }
    }
}

fn list_at(number: usize) -> u64 {
    if number == NEIGHBOUR { lists::list_at(1, 0) } else { lists::list_at(0, number as u64) }
}

/// Returns the unit that a strand accesses at an address; `None` if no unit is there.
fn unit_at(id: StrandId, address: PhysicalAddress) -> Option<Unit> {
    if (0..L2_BANKS).any(|bank| l2_control(bank) == Some(address)) {
        return Some(Unit::L2(id.node()));
    }
    let is_own = |unit: &Unit| matches!(unit, Unit::Mcu(node, _) if *node == id.node());
    PerfReg::ALL.into_iter().find_map(|register| {
        let unit = Unit::for_register(register, id.node())?;
        let is_at =
            global(register) == Some(address) || is_own(&unit) && local(register) == Some(address);
        is_at.then_some(unit)
    })
}
