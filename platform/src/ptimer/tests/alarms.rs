//! Tests handwritten deadline cases.

use super::Device;
use crate::AccessError;
use crate::ptimer::{Alarms, Due, PtimerError, PtimerRegisters, Register, ScheduleError};

type List<'a> = Alarms<&'a Device, u32, 4>;

fn list(device: &Device) -> List<'_> {
    Alarms::new(device.timer_as_it_is()).unwrap()
}

#[test]
fn alarms_in_order() {
    let device = Device::counting(&[0]);
    let mut alarms = list(&device);
    for (deadline, token) in [(3000, 1), (1000, 2), (2000, 3), (1000, 4)] {
        assert_eq!(alarms.schedule(deadline, token), Ok(Due::Later));
    }
    assert_eq!(alarms.schedule(9, 5), Err(ScheduleError::Full(5)));
    assert_eq!(alarms.expired(), Ok(None));
    device.now.set(1023);
    assert!(!device.interrupts(), "1000 is rounded up");
    device.now.set(1024);
    assert!(device.interrupts());
    assert_eq!(alarms.expired(), Ok(Some(2)));
    assert_eq!(alarms.expired(), Ok(Some(4)));
    assert_eq!(alarms.expired(), Ok(None));
    assert!(!device.interrupts());
    assert_eq!(alarms.cancel(|token| *token == 3), Some(3));
    assert_eq!(alarms.cancel(|token| *token == 3), None);
    device.now.set(3008);
    assert_eq!(alarms.expired(), Ok(Some(1)));
    let timer = alarms.stop().unwrap();
    assert_eq!(timer.time(), Ok(3008));
    assert_eq!(device.read(Register::IntrEn), Ok(0));
}

#[test]
fn a_deadline_that_passes_while_it_is_set_comes_at_once() {
    // At some distances, the deadline passes while the driver sets the comparator. If the driver did not notice this, no interrupt would come
    // for a whole wrap of the time.
    let mut raced = 0;
    for distance in (0..2000).step_by(8) {
        let device = Device::counting(&[100]);
        let mut alarms = list(&device);
        let deadline = device.truth() + distance;
        let accesses = device.accesses.get();
        match alarms.schedule(deadline, 9).unwrap() {
            Due::Now => {
                // A read of the time takes 3 accesses. More accesses mean that the driver has also set the comparator.
                raced += u32::from(device.accesses.get() - accesses > 3);
                assert_eq!(alarms.expired(), Ok(Some(9)));
            }
            Due::Later => {
                let due = device.engine.borrow().next_match().unwrap();
                assert!(device.interrupts() || due < device.now.get() + 2000);
            }
        }
    }
    assert!(raced > 0);
}

#[test]
fn a_deadline_beyond_a_wrap_does_not_come_early() {
    let device = Device::counting(&[0]);
    let mut alarms = list(&device);
    assert_eq!(alarms.schedule((5 << 32) + 320, 1), Ok(Due::Later));
    for wrap in 0..5_u64 {
        device.now.set((wrap << 32) + 360);
        assert!(device.interrupts(), "the comparator matches once a wrap");
        assert_eq!(alarms.expired(), Ok(None), "{wrap}");
    }
    device.now.set((5 << 32) + 319);
    assert!(!device.interrupts());
    device.now.set((5 << 32) + 320);
    assert!(device.interrupts());
    assert_eq!(alarms.expired(), Ok(Some(1)));
}

#[test]
fn a_deadline_beyond_the_counter() {
    let device = Device::counting(&[0]);
    let mut alarms = list(&device);
    assert_eq!(alarms.set_time((1 << 61) - 64), Ok(Due::Later));
    assert_eq!(alarms.schedule((1 << 61) + 32, 1), Ok(Due::Later));
    assert_eq!(alarms.schedule((1 << 61) - 32, 2), Ok(Due::Later));
    assert_eq!(alarms.schedule(u64::MAX, 3), Ok(Due::Later));
    for (now, expired) in
        [(32, Some(2)), (32, None), (64, None), (95, None), (96, Some(1)), (999, None)]
    {
        device.now.set(now);
        assert_eq!(alarms.expired(), Ok(expired), "{now}");
    }
    assert_eq!(alarms.time(), Ok((1 << 61) + 928));
}

#[test]
fn a_jump_of_the_time_passes_deadlines() {
    let device = Device::counting(&[0]);
    let mut alarms = list(&device);
    assert_eq!(alarms.schedule(1 << 40, 1), Ok(Due::Later));
    assert_eq!(alarms.schedule(1 << 50, 2), Ok(Due::Later));
    assert_eq!(alarms.set_time(1 << 45), Ok(Due::Now));
    assert_eq!(alarms.expired(), Ok(Some(1)));
    assert_eq!(alarms.expired(), Ok(None));
    assert_eq!(alarms.set_time((1 << 50) - 320), Ok(Due::Later));
    device.now.set(320);
    assert!(device.interrupts());
    assert_eq!(alarms.set_time(0), Ok(Due::Later), "a jump back");
    assert_eq!(alarms.expired(), Ok(None));
}

#[test]
fn the_list_survives_failed_accesses() {
    let device = Device::counting(&[0]);
    let mut alarms = list(&device);
    assert_eq!(alarms.schedule(320, 1), Ok(Due::Later));
    device.write(Register::Denominator, 0xffff).unwrap();
    let fault = PtimerError::Access(AccessError::Fault);
    assert_eq!(alarms.expired(), Err(fault));
    assert_eq!(alarms.schedule(640, 2), Err(ScheduleError::Timer(fault)));
    assert_eq!(alarms.cancel(|token| *token == 2), Some(2));
    assert_eq!(alarms.cancel(|_| true), Some(1));
}
