//! Tests the driver on the device model.

use std::cell::{Cell, RefCell};
use std::vec::Vec;

use super::{Input, NANOSECONDS, Ptimer, PtimerRegisters, Register};
use crate::AccessError;
use crate::models::PtimerEngine;

mod alarms;
mod random;
mod time;

/// A device whose time advances with each access.
struct Device {
    engine: RefCell<PtimerEngine>,
    now: Cell<u64>,
    /// The durations of successive accesses in nanoseconds, used cyclically.
    takes: Vec<u64>,
    accesses: Cell<usize>,
}

impl Device {
    fn new(input: Input, takes: &[u64]) -> Self {
        Self {
            engine: PtimerEngine::new(input).into(),
            now: 0.into(),
            takes: takes.to_vec(),
            accesses: 0.into(),
        }
    }

    fn counting(takes: &[u64]) -> Self {
        let device = Self::new(Input::NV41, takes);
        Ptimer::start(&device, Input::NV41, NANOSECONDS).unwrap();
        device
    }

    /// Returns a device that counts nanoseconds from this time. Each access takes 100 ns.
    fn at(time: u64) -> Self {
        let device = Self::counting(&[100]);
        device.set(time);
        device
    }

    fn timer(&self) -> Ptimer<&Self> {
        Ptimer::start(self, Input::NV41, NANOSECONDS).unwrap()
    }

    /// Returns a driver that has not yet written any register.
    fn timer_as_it_is(&self) -> Ptimer<&Self> {
        Ptimer { access: self, hz: NANOSECONDS }
    }

    fn set(&self, time: u64) {
        for (register, half) in [(Register::Time1, time >> 32), (Register::Time0, time)] {
            let (mut engine, now) = (self.engine.borrow_mut(), self.now.get());
            engine.write(register, half as u32, now).unwrap();
        }
    }

    /// Returns the device's time without accessing the device, so that no time passes.
    fn truth(&self) -> u64 {
        self.time_at(self.now.get())
    }

    fn time_at(&self, nanosecond: u64) -> u64 {
        let mut engine = self.engine.borrow().clone();
        let [high, low] = [Register::Time1, Register::Time0]
            .map(|register| u64::from(engine.read(register, nanosecond).unwrap()));
        high << 32 | low
    }

    fn interrupts(&self) -> bool {
        self.engine.borrow_mut().interrupts(self.now.get())
    }

    /// Advances the clock by the duration of the next access. Returns the new time.
    fn advance(&self) -> u64 {
        let access = self.accesses.replace(self.accesses.get() + 1);
        let now = self.now.get() + self.takes[access % self.takes.len()];
        self.now.set(now);
        now
    }
}

impl PtimerRegisters for Device {
    fn read(&self, register: Register) -> Result<u32, AccessError> {
        let now = self.advance();
        self.engine.borrow_mut().read(register, now)
    }

    fn write(&self, register: Register, value: u32) -> Result<(), AccessError> {
        let now = self.advance();
        self.engine.borrow_mut().write(register, value, now)
    }
}

#[test]
fn offsets_and_masks() {
    let registers = Register::ALL.map(|register| (register.offset(), register.mask()));
    let [control @ .., time_0, time_1, alarm_0] = registers;
    let (numerator, denominator) = ((0x9200, 0xffff), (0x9210, 0xffff));
    assert_eq!(control, [(0x9100, 1), (0x9140, 1), numerator, denominator, (0x9220, 0x0001_1fff)]);
    let times = [(0x9400, 0xffff_ffe0), (0x9410, 0x1fff_ffff)];
    assert_eq!(([time_0, time_1], alarm_0), (times, (0x9420, 0xffff_ffe0)));
}
