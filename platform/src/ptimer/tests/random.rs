//! Compares the alarms with an independent list. The deadlines, the time jumps and the interrupts are random.

use std::vec::Vec;

use proptest::prelude::*;

use super::Device;
use crate::ptimer::{Alarms, Due, ScheduleError};

#[derive(Clone, Debug)]
enum Act {
    /// Schedules a deadline at this distance from now. The distance may be negative.
    Schedule(i64),
    /// Cancels the n-th alarm of the list if it exists.
    Cancel(usize),
    /// Sets the time forward or back by this distance.
    Jump(i64),
    /// Lets this number of nanoseconds pass, and serves the interrupts.
    Pass(u64),
}

/// Generates distances around 0, of a few counts, around one wrap of the comparator, and of several wraps.
fn distance() -> impl Strategy<Value = i64> {
    prop_oneof![
        -200..3000_i64,
        (1..4_i64, -300..300_i64).prop_map(|(wraps, about)| (wraps << 32) + about),
        -(1_i64 << 34)..1 << 34,
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => distance().prop_map(Act::Schedule),
        1 => (0..9_usize).prop_map(Act::Cancel),
        2 => distance().prop_map(Act::Jump),
        4 => prop_oneof![0..2000_u64, 0..1_u64 << 34].prop_map(Act::Pass),
    ]
}

/// The expected list: deadlines and tokens in any order. The time has 64 bits.
struct Oracle {
    list: Vec<(u64, u32)>,
    time: u64,
}

const COUNTER: u64 = (1 << 61) - 1;

impl Oracle {
    fn time_at(&self, device: &Device, nanosecond: u64) -> u64 {
        self.time + (device.time_at(nanosecond).wrapping_sub(self.time) & COUNTER)
    }

    fn look(&mut self, device: &Device) -> u64 {
        self.time = self.time_at(device, device.now.get());
        self.time
    }

    /// Asserts that the alarm was on the list and that its deadline has passed. Also asserts that no other alarm had a deadline that was
    /// earlier by a count or more. Deadlines of the same count come in the order in which they were scheduled.
    fn came(&mut self, token: u32, device: &Device) {
        let time = self.look(device);
        let index = self.list.iter().position(|alarm| alarm.1 == token);
        let (deadline, _) = self.list.swap_remove(index.expect("on the list"));
        assert!(deadline <= time, "{deadline:#x} came at {time:#x}");
        let count = |deadline: u64| deadline.div_ceil(32);
        assert!(self.list.iter().all(|other| count(other.0) >= count(deadline)));
    }

    fn none_until(&self, time: u64) {
        let list = &self.list;
        assert!(list.iter().all(|alarm| alarm.0 > time), "{list:x?} at {time:#x}");
    }
}

type Sixteen<'a> = Alarms<&'a Device, u32, 16>;

/// Takes all expired alarms, as an interrupt handler does.
fn drain(device: &Device, alarms: &mut Sixteen<'_>, oracle: &mut Oracle) {
    loop {
        let before = oracle.look(device);
        match alarms.expired().unwrap() {
            Some(token) => oracle.came(token, device),
            None => break oracle.none_until(before),
        }
    }
}

/// Lets nanoseconds pass. Accesses the timer only when the timer interrupts.
fn pass(device: &Device, alarms: &mut Sixteen<'_>, oracle: &mut Oracle, nanoseconds: u64) {
    let end = device.now.get() + nanoseconds;
    loop {
        if device.interrupts() {
            drain(device, alarms, oracle);
            continue;
        }
        let next = device.engine.borrow().next_match().unwrap();
        if next > end {
            break;
        }
        oracle.none_until(oracle.time_at(device, next - 1));
        device.now.set(next);
    }
    let end = end.max(device.now.get());
    oracle.none_until(oracle.time_at(device, end));
    device.now.set(end);
}

proptest! {
    #[test]
    fn no_alarm_is_lost_or_early(
        takes in prop::collection::vec(1..400_u64, 1..7),
        start in prop_oneof![0..1_u64 << 61, (1_u64 << 61) - (1 << 33)..1 << 61],
        acts in prop::collection::vec(act(), 1..40),
    ) {
        let device = Device::counting(&takes);
        let mut alarms = Alarms::new(device.timer_as_it_is()).unwrap();
        let mut oracle = Oracle { list: Vec::new(), time: start & !31 };
        let _ = alarms.set_time(start).unwrap();
        for (token, act) in acts.into_iter().enumerate() {
            let token = token as u32;
            let when = match act {
                Act::Schedule(away) => {
                    let deadline = oracle.look(&device).saturating_add_signed(away);
                    let scheduled = alarms.schedule(deadline, token);
                    if oracle.list.len() == 16 {
                        prop_assert_eq!(scheduled, Err(ScheduleError::Full(token)));
                        continue;
                    }
                    oracle.list.push((deadline, token));
                    scheduled.unwrap()
                }
                Act::Cancel(n) => {
                    if let Some(&(_, token)) = oracle.list.get(n) {
                        prop_assert_eq!(alarms.cancel(|other| *other == token), Some(token));
                        oracle.list.swap_remove(n);
                    }
                    continue;
                }
                Act::Jump(by) => {
                    let time = oracle.look(&device).saturating_add_signed(by) & COUNTER;
                    let when = alarms.set_time(time).unwrap();
                    oracle.time = time & !31;
                    when
                }
                Act::Pass(nanoseconds) => {
                    pass(&device, &mut alarms, &mut oracle, nanoseconds);
                    continue;
                }
            };
            if when == Due::Now {
                drain(&device, &mut alarms, &mut oracle);
            }
        }
    }
}
