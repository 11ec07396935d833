//! Keeps 64-bit deadlines with a 27-bit comparator. The comparator matches when its 27 bits equal the low 27 bits of the counter. The match
//! is one wrap too late if the deadline passes while the driver sets the comparator, and too early if the deadline is more than a wrap
//! away. The driver therefore compares 64-bit times, and reads the time again after it has set the comparator.

use guest_abi::guest::{Reading, Widened};
use heapless::Vec;

use super::{COUNTER_BITS, Ptimer, PtimerError, PtimerRegisters, Register, STEP};

const ALARM: u32 = 1;

/// A timer with up to `N` deadlines. Each deadline has a token that identifies it to the caller.
///
/// At each timer interrupt, call [`expired`](Self::expired) until it returns `None`, so that no deadline is lost or early. Times have 64
/// bits, and continue across wraps (every 73 years at 31.25 MHz) if a function of this type reads the timer once per wrap.
#[derive(Debug)]
pub struct Alarms<A, T, const N: usize> {
    timer: Ptimer<A>,
    /// The number of counts since the time was 0.
    counts: Widened<COUNTER_BITS>,
    /// The alarms by deadline, with the earliest deadline last. If deadlines are equal, the alarm that was scheduled first comes last.
    list: Vec<Alarm<T>, N>,
}

#[derive(Debug)]
struct Alarm<T> {
    /// The count at which the alarm is due.
    deadline: u64,
    token: T,
}

/// Whether the timer will interrupt for the earliest deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "no interrupt comes for a deadline that has passed"]
pub enum Due {
    /// The earliest deadline has not passed, or there is none. The timer interrupts at or before the deadline.
    Later,
    /// The earliest deadline has passed, and the timer does not interrupt for it: call [`Alarms::expired`].
    Now,
}

/// Why a deadline was not scheduled, or not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError<T> {
    /// The list has `N` deadlines already. Holds the rejected token.
    Full(T),
    /// The deadline is on the list, but the timer could not be set for it.
    Timer(PtimerError),
}

impl<A: PtimerRegisters, T, const N: usize> Alarms<A, T, N> {
    /// Enables the interrupt, and returns an empty list. Fails, like the functions below, if an access to the timer fails.
    pub fn new(timer: Ptimer<A>) -> Result<Self, PtimerError> {
        let mut alarms = Self { counts: Widened::new(Reading::default()), list: Vec::new(), timer };
        alarms.write(Register::Intr, ALARM)?;
        alarms.write(Register::IntrEn, ALARM)?;
        alarms.now()?;
        Ok(alarms)
    }

    /// Returns the timer. Do not use its interrupt and comparator: they belong to this list.
    pub fn timer(&self) -> &Ptimer<A> {
        &self.timer
    }

    /// Disables the interrupt, drops all deadlines, and returns the timer.
    pub fn stop(self) -> Result<Ptimer<A>, PtimerError> {
        self.write(Register::IntrEn, 0)?;
        Ok(self.timer)
    }

    /// Returns the 64-bit time. Fails like [`Ptimer::time`].
    pub fn time(&mut self) -> Result<u64, PtimerError> {
        Ok(self.now()?.wrapping_mul(STEP))
    }

    /// Sets the time as [`Ptimer::set_time`] does, and fails if the time has more than 61 bits. All deadlines stay on the list, and the
    /// deadlines up to the new time have passed.
    pub fn set_time(&mut self, time: u64) -> Result<Due, PtimerError> {
        self.timer.set_time(time)?;
        self.counts = Widened::new(Reading::default());
        self.now()?;
        self.arm()
    }

    /// Adds a deadline, rounded up to a multiple of [`STEP`].
    pub fn schedule(&mut self, deadline: u64, token: T) -> Result<Due, ScheduleError<T>> {
        let deadline = deadline.div_ceil(STEP);
        let index = self.list.partition_point(|alarm| alarm.deadline > deadline);
        self.list
            .insert(index, Alarm { deadline, token })
            .map_err(|alarm| ScheduleError::Full(alarm.token))?;
        self.arm().map_err(ScheduleError::Timer)
    }

    /// Removes the earliest deadline whose token `matches`, and returns the token. The timer may still interrupt at the deadline.
    pub fn cancel(&mut self, matches: impl Fn(&T) -> bool) -> Option<T> {
        let index = self.list.iter().rposition(|alarm| matches(&alarm.token))?;
        Some(self.list.remove(index).token)
    }

    /// Acknowledges the interrupt. If a deadline has passed, removes the earliest deadline and returns its token. Otherwise returns `None`,
    /// and the timer interrupts at or before the next deadline. An error leaves the list unchanged.
    pub fn expired(&mut self) -> Result<Option<T>, PtimerError> {
        // Acknowledge before the time is read, so that a later match interrupts again.
        self.write(Register::Intr, ALARM)?;
        Ok(match self.arm()? {
            Due::Now => self.list.pop().map(|alarm| alarm.token),
            Due::Later => None,
        })
    }

    /// Sets the comparator for the earliest deadline, unless it has passed.
    fn arm(&mut self) -> Result<Due, PtimerError> {
        let Some(&Alarm { deadline, .. }) = self.list.last() else {
            return Ok(Due::Later);
        };
        if self.now()? >= deadline {
            return Ok(Due::Now);
        }
        let low = deadline.wrapping_mul(STEP) as u32;
        self.write(Register::Alarm0, low)?;
        // If the deadline passed before the comparator was set, there is no interrupt.
        Ok(if self.now()? >= deadline { Due::Now } else { Due::Later })
    }

    fn now(&mut self) -> Result<u64, PtimerError> {
        let time = self.timer.time()?;
        Ok(self.counts.update(Reading::new(time / STEP)))
    }

    fn write(&self, register: Register, value: u32) -> Result<(), PtimerError> {
        Ok(self.timer.access.write(register, value)?)
    }
}
