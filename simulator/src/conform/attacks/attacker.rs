//! The guest that attacks. Each of its two strands performs one attack after another. If an attack ends the guest, the operator resets
//! it.

use guest_abi::StrandId;
use hv_core::GuestId;
use perfctr_service::mailbox::Step;

use super::MEMORY;
use super::attack::{Attack, RequiredOutcome};
use super::kinds::{Kind, NEGOTIATION};
use super::program::{CAUGHT, prepare, start};
use crate::conform::caller::{privileged, resume_at};
use crate::conform::guest::IDLE;
use crate::execute::mailbox::GuestState;
use crate::execute::{Execution, NoMemoryAt, Observed, State, map};
use crate::interpreter::{Control as Privileged, Level};

/// The maximum number of instructions in an attack: [`MAX_REQUIRED_INSTRUCTIONS`] if the architecture requires an outcome, otherwise [`MAX_ATTACK_INSTRUCTIONS`].
const MAX_REQUIRED_INSTRUCTIONS: u64 = 100_000;
const MAX_ATTACK_INSTRUCTIONS: u64 = 2000;

/// The number of turns without a completed attack after which the operator resets the guest.
const MAX_IDLE_TURNS: usize = 1000;

/// Why a check of attacks failed: an attack has succeeded, or one of the neighbour's calls has failed.
#[derive(Debug)]
pub enum Failure {
    /// An access to memory or a device that guests must not cause.
    Forbidden(Observed),
    /// One of the neighbour's calls violated the contract. The text says how. The attack need not be the cause.
    Neighbour(String),
    /// Any other failure, in words.
    Other(String),
}

impl From<NoMemoryAt> for Failure {
    fn from(error: NoMemoryAt) -> Self {
        Self::Other(error.to_string())
    }
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// The program reached its end.
    Ended,
    /// The guest took a trap, and the handler ran at trap level `level`.
    Trapped { number: u64, level: u64 },
    /// The guest ended.
    Died,
    /// The program exceeded its maximum number of instructions.
    Endless,
}

/// The numbers of attacks and resets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// The number of completed attacks.
    pub tried: usize,
    /// The number of attacks for which the architecture requires an outcome. All of them had this outcome.
    pub required: usize,
    /// The number of attacks in `required` in which the guest took a trap.
    pub traps: usize,
    /// The number of times that the operator reset the guest, because the guest had ended or its attacks did not end.
    pub resets: usize,
}

/// An attack that a strand is performing.
struct ActiveAttack {
    number: usize,
    attack: Attack,
    /// The number of instructions that the strand had executed when the attack began.
    began: u64,
}

pub(super) struct Attacker<'a> {
    guest: usize,
    /// The guest's strands. The operator's steps run on the strand `operator`, which belongs to the neighbour.
    pub(super) ids: [StrandId; 2],
    operator: StrandId,
    /// A guest's privileged registers when the guest starts.
    control: Privileged,
    kind: &'a Kind,
    /// The attacks that have not been started. The field `postponed` has the attacks that were postponed or interrupted.
    numbers: &'a mut dyn Iterator<Item = usize>,
    postponed: Vec<usize>,
    active_attacks: [Option<ActiveAttack>; 2],
    /// Whether the operator has been asked to reset the guest.
    resets: bool,
    /// The number of turns since the latest attack ended.
    idle: usize,
    pub(super) tally: Tally,
}

impl<'a> Attacker<'a> {
    /// Makes one of the two guests the attacker. The attacker's first program negotiates the performance counter group.
    pub(super) fn new(
        execution: &mut Execution,
        strands: [[StrandId; 2]; 2],
        guest: usize,
        kind: &'a Kind,
        numbers: &'a mut dyn Iterator<Item = usize>,
    ) -> Result<Self, Failure> {
        let attacker = Self {
            guest,
            ids: strands[guest],
            operator: strands[1 - guest][0],
            control: execution.strand(strands[guest][0]).control.clone(),
            kind,
            numbers,
            postponed: vec![NEGOTIATION],
            active_attacks: [None, None],
            resets: false,
            idle: 0,
            tally: Tally::default(),
        };
        prepare(execution, attacker.base(), attacker.ids.len())?;
        execution.breakpoints().insert(CAUGHT);
        Ok(attacker)
    }

    pub(super) fn is_done(&mut self) -> bool {
        if self.postponed.is_empty()
            && let Some(next) = self.numbers.next()
        {
            self.postponed.push(next);
        }
        self.postponed.is_empty() && self.active_attacks.iter().all(Option::is_none) && !self.resets
    }

    /// Judges the attack of a strand that has stopped, and then starts the strand's next attack.
    pub(super) fn stopped(
        &mut self,
        execution: &mut Execution,
        strand: usize,
    ) -> Result<(), Failure> {
        let outcome = match execution.strand(self.ids[strand]).pc {
            CAUGHT => {
                let mut registers = execution.strand(self.ids[strand]).clone();
                // Privileged registers 3 and 7 are %tt and %tl.
                let [number, level] = [3, 7].map(|number| privileged(&mut registers, number));
                Outcome::Trapped { number, level }
            }
            _ => Outcome::Ended,
        };
        if let Some(active) = self.active_attacks[strand].take() {
            self.judge(&active, outcome)?;
        }
        self.next(execution, strand)
    }

    fn judge(&mut self, active: &ActiveAttack, outcome: Outcome) -> Result<(), Failure> {
        let ActiveAttack { number, attack, .. } = active;
        let is_right = match (attack.required, outcome) {
            (RequiredOutcome::Anything, _) => true,
            (RequiredOutcome::Completes, Outcome::Ended)
            | (RequiredOutcome::Death, Outcome::Died) => true,
            (RequiredOutcome::Trap(required), Outcome::Trapped { number, level }) => {
                self.tally.traps += 1;
                number == u64::from(required) && level == attack.level + 1
            }
            _ => false,
        };
        if !is_right {
            let what = format!("{} {number}: {outcome:x?} of {attack:x?}", self.kind.name);
            return Err(Failure::Other(what));
        }
        self.idle = 0;
        if *number == NEGOTIATION {
            return Ok(());
        }
        self.tally.tried += 1;
        self.tally.required += usize::from(attack.required != RequiredOutcome::Anything);
        Ok(())
    }

    /// Starts a strand's next attack. During an attack that must end the guest, the guest's other strand is idle.
    fn next(&mut self, execution: &mut Execution, strand: usize) -> Result<(), Failure> {
        let other = self.active_attacks[1 - strand].as_ref();
        let dies = |attack: &Attack| attack.required == RequiredOutcome::Death;
        let is_alone = other.is_some_and(|other| dies(&other.attack));
        let number = match is_alone || self.resets {
            true => None,
            false => self.postponed.pop().or_else(|| self.numbers.next()),
        };
        let attack = number.map(|number| (number, self.kind.attack(number)));
        match attack {
            Some((number, attack)) if other.is_some() && dies(&attack) => {
                self.postponed.push(number)
            }
            Some((number, attack)) => return self.begin(execution, strand, number, attack),
            None => {}
        }
        resume_at(execution.strand_mut(self.ids[strand]), IDLE);
        Ok(())
    }

    fn begin(
        &mut self,
        execution: &mut Execution,
        strand: usize,
        number: usize,
        attack: Attack,
    ) -> Result<(), Failure> {
        let id = self.ids[strand];
        let began = execution.counts(id).all();
        start(execution, (id, strand), self.base(), &self.control, &attack)?;
        self.active_attacks[strand] = Some(ActiveAttack { number, attack, began });
        Ok(())
    }

    /// Stops attacks that exceed their instruction limit. Makes the operator reset the guest if it has ended or makes no progress.
    pub(super) fn check_progress(&mut self, execution: &mut Execution) -> Result<(), Failure> {
        if self.resets && execution.guest(self.guest) == GuestState::Runs {
            match execution.operated() {
                Some(Ok(None)) => self.resets = false,
                None => {}
                Some(other) => return Err(Failure::Other(format!("a reset: {other:?}"))),
            }
        }
        self.idle += 1;
        let has_ended = !self.resets && execution.guest(self.guest) != GuestState::Runs;
        if has_ended || self.idle > MAX_IDLE_TURNS && !self.is_done() {
            return self.reset(execution, has_ended);
        }
        for strand in 0..2 {
            let id = self.ids[strand];
            let is_there = execution.state(id) == State::Running
                && execution.strand(id).level() < Level::Hyperprivileged;
            let executed = execution.counts(id).all();
            let is_endless = |it: &mut ActiveAttack| match it.attack.required {
                RequiredOutcome::Anything => executed - it.began > MAX_ATTACK_INSTRUCTIONS,
                _ => executed - it.began > MAX_REQUIRED_INSTRUCTIONS,
            };
            let active = &mut self.active_attacks[strand];
            if is_there && let Some(endless) = active.take_if(is_endless) {
                self.judge(&endless, Outcome::Endless)?;
                self.next(execution, strand)?;
            }
        }
        Ok(())
    }

    /// Makes the operator reset the guest. Attacks in progress that cannot have ended the guest are repeated later.
    fn reset(&mut self, execution: &mut Execution, has_ended: bool) -> Result<(), Failure> {
        let active_attacks: Vec<ActiveAttack> =
            self.active_attacks.iter_mut().filter_map(Option::take).collect();
        let may_end = |active: &ActiveAttack| match active.attack.required {
            RequiredOutcome::Death => has_ended,
            other => other == RequiredOutcome::Anything,
        };
        if !active_attacks.iter().any(may_end) {
            let made: Vec<_> = active_attacks.iter().map(|it| (it.number, &it.attack)).collect();
            let console = String::from_utf8_lossy(&execution.console(self.guest)).into_owned();
            let at = self.ids.map(|id| execution.strand(id).pc);
            let what = format!(
                "{}: the guest ends, or stops at {at:x?}: {made:x?} {console}",
                self.kind.name
            );
            return Err(Failure::Other(what));
        }
        for active in active_attacks {
            match may_end(&active) {
                true => self.judge(&active, Outcome::Died)?,
                false => self.postponed.push(active.number),
            }
        }
        self.tally.resets += 1;
        self.idle = 0;
        self.postponed.retain(|number| *number != NEGOTIATION);
        self.postponed.push(NEGOTIATION);
        prepare(execution, self.base(), self.ids.len())?;
        // The guest's strands stay idle until the reset. Otherwise, an attack could end before the reset.
        for id in self.ids {
            let strand = execution.strand_mut(id);
            if strand.level() < Level::Hyperprivileged {
                resume_at(strand, IDLE);
            }
        }
        if let Some(guest) = GuestId::new(self.guest) {
            let asked = execution.operate(self.operator, &Step::Reset(guest));
            asked.map_err(|error| Failure::Other(error.to_string()))?;
        }
        self.resets = true;
        Ok(())
    }

    fn base(&self) -> u64 {
        map::PARTITION + self.guest as u64 * MEMORY
    }
}
