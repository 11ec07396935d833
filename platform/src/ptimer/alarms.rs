//! Deadlines.
//!
//! The comparator has 27 bits and matches when they are equal: a deadline that has passed while it was being set would
//! come a whole wrap too late, and one that is further away than that comes too early. So deadlines are compared with the
//! clock in 64 bits, and the clock is read again after the comparator was set.

use guest_abi::guest::Widened;
use heapless::Vec;

use super::{Access, COUNTER_BITS, Ptimer, PtimerError, Register, STEP};

/// The only bit of INTR and INTR_EN.
const ALARM: u32 = 1;

/// A timer with up to `N` deadlines, each with a token that says what it is for.
///
/// Call [`expired`](Self::expired) at each interrupt of the timer, until it returns `None`. No deadline is lost then, and none
/// comes early.
///
/// A deadline is a time of the timer as [`time`](Self::time) returns it. That has 64 bits and goes on when the counter wraps (at
/// 31.25 MHz after 73 years), if it is looked at meanwhile.
#[derive(Debug)]
pub struct Alarms<A, T, const N: usize> {
    timer: Ptimer<A>,
    /// Counts since the time was 0.
    counts: Widened<COUNTER_BITS>,
    /// The earliest last; of equal ones the one that was scheduled first.
    list: Vec<Alarm<T>, N>,
}

#[derive(Debug)]
struct Alarm<T> {
    /// In counts.
    deadline: u64,
    token: T,
}

/// When the earliest deadline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "no interrupt comes for a deadline that has passed"]
pub enum When {
    /// Later, if there is one: the timer interrupts then, or before.
    Later,
    /// It has passed: [`Alarms::expired`] returns it. No interrupt comes for it.
    Now,
}

/// Why an alarm was not scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleError<T> {
    /// There are `N` already. Here is the token.
    Full(T),
    /// It is on the list, but the timer cannot be set for it.
    Timer(PtimerError),
}

impl<A: Access, T, const N: usize> Alarms<A, T, N> {
    /// A timer without deadlines. Lets it interrupt.
    ///
    /// # Errors
    /// The timer cannot be reached.
    pub fn new(timer: Ptimer<A>) -> Result<Self, PtimerError> {
        let mut alarms = Self {
            counts: Widened::new(0_u64),
            list: Vec::new(),
            timer,
        };
        alarms.write(Register::Intr, ALARM)?;
        alarms.write(Register::IntrEn, ALARM)?;
        alarms.now()?;
        Ok(alarms)
    }

    /// The timer.
    pub fn timer(&self) -> &Ptimer<A> {
        &self.timer
    }

    /// Gives the timer back, which does not interrupt any more.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn stop(self) -> Result<Ptimer<A>, PtimerError> {
        self.write(Register::IntrEn, 0)?;
        Ok(self.timer)
    }

    /// The time, in 64 bits.
    ///
    /// # Errors
    /// See [`Ptimer::time`].
    pub fn time(&mut self) -> Result<u64, PtimerError> {
        Ok(self.now()?.wrapping_mul(STEP))
    }

    /// Sets the time: see [`Ptimer::set_time`]. Deadlines stay the times that they were; those that the time jumps over
    /// have passed.
    ///
    /// # Errors
    /// The time has more than 61 bits, or the timer cannot be reached.
    pub fn set_time(&mut self, time: u64) -> Result<When, PtimerError> {
        self.timer.set_time(time)?;
        self.counts = Widened::new(0_u64);
        self.now()?;
        self.arm()
    }

    /// Puts a deadline on the list. What is below [`STEP`] is rounded up.
    ///
    /// # Errors
    /// The list is full, or the timer cannot be reached.
    pub fn schedule(&mut self, deadline: u64, token: T) -> Result<When, ScheduleError<T>> {
        let deadline = deadline.div_ceil(STEP);
        let place = self.list.partition_point(|alarm| alarm.deadline > deadline);
        self.list
            .insert(place, Alarm { deadline, token })
            .map_err(|alarm| ScheduleError::Full(alarm.token))?;
        self.arm().map_err(ScheduleError::Timer)
    }

    /// Takes the earliest alarm with such a token off the list. The timer may interrupt for it all the same.
    pub fn cancel(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let place = self.list.iter().rposition(|alarm| is_it(&alarm.token))?;
        Some(self.list.remove(place).token)
    }

    /// The earliest alarm whose deadline has passed, taken off the list, with the interrupt acknowledged. `None`: there is
    /// none, and the timer interrupts at the next one or before.
    ///
    /// # Errors
    /// The timer cannot be reached. The list is as it was.
    pub fn expired(&mut self) -> Result<Option<T>, PtimerError> {
        // Before anything is looked at: a match from now on interrupts again.
        self.write(Register::Intr, ALARM)?;
        Ok(match self.arm()? {
            When::Now => self.list.pop().map(|alarm| alarm.token),
            When::Later => None,
        })
    }

    /// Sets the comparator for the earliest deadline, unless it has passed.
    fn arm(&mut self) -> Result<When, PtimerError> {
        let Some(&Alarm { deadline, .. }) = self.list.last() else {
            return Ok(When::Later);
        };
        if self.now()? >= deadline {
            return Ok(When::Now);
        }
        let low = deadline.wrapping_mul(STEP) as u32;
        self.write(Register::Alarm0, low)?;
        // It may have passed before the comparator was set: no interrupt comes then.
        if self.now()? >= deadline {
            return Ok(When::Now);
        }
        Ok(When::Later)
    }

    /// Counts since the time was 0.
    fn now(&mut self) -> Result<u64, PtimerError> {
        let time = self.timer.time()?;
        Ok(self.counts.update(time / STEP))
    }

    fn write(&self, register: Register, value: u32) -> Result<(), PtimerError> {
        Ok(self.timer.access.write(register, value)?)
    }
}
