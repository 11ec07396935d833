//! Tests how the driver reads and sets the time.

use core::cell::Cell;

use guest_abi::StrandId;
use guest_abi::clock::ClockSource;

use super::Device;
use crate::AccessError;
use crate::ptimer::{
    Input, NANOSECONDS, Ptimer, PtimerError, PtimerRegisters, RatioError, Register,
};

#[test]
fn starts_without_a_ratio_above_one() {
    let device = Device::new(Input::NV41, &[0]);
    // Before the driver starts, the device counts at 3/4 of the external clock's rate.
    device.write(Register::ClockSource, 1 << 16).unwrap();
    device.write(Register::Numerator, 4).unwrap();
    device.write(Register::Denominator, 3).unwrap();
    let timer = device.timer();
    assert_eq!(timer.hz(), 31_250_000);
    device.now.set(1_000_000_000);
    assert_eq!(timer.time(), Ok(1_000_000_000));

    // The numerator of the new ratio is below the old denominator.
    let timer = Ptimer::start(&device, Input::NV41, 27_000_000).unwrap();
    assert_eq!(timer.hz(), 27_000_000);
    device.now.set(2_000_000_000);
    assert_eq!(timer.time(), Ok(1_000_000_000 + 27_000_000 * 32));
}

/// The document nvidia_ptimer says: "PTIMER's clock source depends on chipset families". The driver is told the family when it starts
/// (`input`). In every family, the time is in nanoseconds.
#[test]
fn starts_every_family() {
    let (memory_hz, core_hz) = (100_000_000, 200_000_000);
    let chips = [Input::Nv03 { memory_hz }, Input::Nv04 { core_hz }];
    for input in chips.into_iter().chain([Input::NV41, Input::NVC0]) {
        let device = Device::new(input, &[0]);
        let timer = Ptimer::start(&device, input, NANOSECONDS).unwrap();
        device.now.set(1_000_000);
        assert_eq!(timer.time(), Ok(1_000_000), "{input:?}");
    }
    let slow = Input::Nv04 { core_hz: 1 };
    let device = Device::new(slow, &[0]);
    assert_eq!(
        Ptimer::start(&device, slow, NANOSECONDS).err(),
        Some(PtimerError::Ratio(RatioError::InputTooSlow))
    );
}

/// CLOCK_SOURCE normally multiplies and divides the crystal's rate. The document nvidia_ptimer says: "Bit 16 of CLOCK_SOURCE overrides
/// this modulation and sets the clock source at its maximum value". The driver sets this bit if no multiple of the crystal's rate is high
/// enough. It divides the crystal's rate if a rate is too low for NUMERATOR alone.
#[test]
fn the_rates_from_the_slowest_to_the_fastest() {
    let hour = 3600 * 1_000_000_000;
    for (input, hz, source, counts_per_hour) in [
        (Input::NV41, 100_000_000, 1 << 16, 360_000_000_000_u64),
        (Input::NV41, 90_000_000, 1 << 16, 324_000_000_000),
        (Input::NV41, 81_000_000, 2, 291_600_000_000),
        (Input::NVC0, 108_000_000, 3, 388_800_000_000),
        (Input::NV41, NANOSECONDS, 2, 112_500_000_000),
        (Input::NV41, 1000, 0, 3_600_000),
        (Input::NV41, 400, 1 << 8, 1_440_000),
        (Input::NV41, 50, 8 << 8, 180_000),
    ] {
        let device = Device::new(input, &[0]);
        let timer = Ptimer::start(&device, input, hz).unwrap();
        assert_eq!(timer.hz(), hz);
        assert_eq!(device.read(Register::ClockSource), Ok(source), "{hz} Hz");
        device.now.set(hour);
        assert_eq!(timer.time(), Ok(counts_per_hour * 32), "{hz} Hz");
    }
}

/// Reads TIME_0 and TIME_1 once each, in either order.
fn naive(device: &Device, low_first: bool) -> u64 {
    let read = |register| u64::from(device.read(register).unwrap());
    if low_first {
        let low = read(Register::Time0);
        read(Register::Time1) << 32 | low
    } else {
        read(Register::Time1) << 32 | read(Register::Time0)
    }
}

#[test]
fn a_read_does_not_tear() {
    // An access takes 100 ns, so the carry comes before, between or after the reads.
    for before in (0..1000).step_by(10) {
        let time = (7 << 32) - before;
        let device = Device::at(time);
        let found = device.timer_as_it_is().time().unwrap();
        let most = device.truth();
        assert!((time & !31..=most).contains(&found), "{before}: {found:#x}");
        assert!(most - time <= 600);
    }
}

#[test]
fn a_naive_read_is_wrong_by_2_to_the_32() {
    let wrong = |low_first| {
        let device = Device::at((7_u64 << 32) - 160);
        naive(&device, low_first).wrapping_sub(device.truth()) as i64
    };
    // If a carry comes between the reads, the naive time is 2^32 too low in one order. In the other order it is 2^32 - 3 too high, because
    // three counts pass between the reads.
    assert_eq!(wrong(false), -(1 << 32));
    assert_eq!(wrong(true), (1 << 32) - 96);
}

#[test]
fn setting_does_not_tear() {
    for before in (0..1000).step_by(10) {
        let device = Device::at((7 << 32) - before);
        let mut timer = device.timer_as_it_is();
        timer.set_time(0x0123_4567_89ab_cdef).unwrap();
        assert_eq!(device.truth(), 0x0123_4567_89ab_cde0, "{before}");
    }
    // The naive driver reads the high half first, then the low half. A carry comes in between.
    let device = Device::at((7 << 32) - 160);
    device.write(Register::Time1, 0x0123_4567).unwrap();
    device.write(Register::Time0, 0x89ab_cdef).unwrap();
    assert_eq!(device.truth(), 0x0123_4568_89ab_cde0);
}

#[test]
fn a_time_has_61_bits() {
    let device = Device::counting(&[0]);
    let mut timer = device.timer();
    assert_eq!(timer.set_time(1 << 61), Err(PtimerError::OutOfRange));
    assert_eq!(timer.set_time((1 << 61) - 1), Ok(()));
    assert_eq!(timer.time(), Ok((1 << 61) - 32));
}

#[test]
fn a_counter_that_stands_still_is_detected() {
    let device = Device::counting(&[1]);
    let timer = device.timer();
    assert_eq!(timer.is_stalled(), Ok(true), "16 reads in one count");
    let device = Device::counting(&[3]);
    let timer = device.timer();
    assert_eq!(timer.is_stalled(), Ok(false), "16 reads in 48 ns");
    device.write(Register::Denominator, 0).unwrap();
    assert_eq!(timer.is_stalled(), Ok(true));
    device.write(Register::Numerator, 0).unwrap();
    assert_eq!(timer.is_stalled(), Ok(true));
}

#[test]
fn is_a_clock_source() {
    let device = Device::counting(&[0]);
    let timer = device.timer();
    let description = timer.describe();
    assert_eq!((description.width.bits(), description.hz), (56, 31_250_000));
    device.set(0xffff_ffff_ffff_ffff);
    let strand = StrandId::new(0).unwrap();
    assert_eq!(timer.read(strand), Some(0x00ff_ffff_ffff_ffff));
    device.write(Register::Denominator, 0xffff).unwrap();
    assert_eq!(timer.read(strand), None, "hung");
}

/// A device whose TIME_1 changes at every read.
struct Torn(Cell<u32>);

impl PtimerRegisters for Torn {
    fn read(&self, _: Register) -> Result<u32, AccessError> {
        self.0.set(self.0.get() + 1);
        Ok(self.0.get())
    }

    fn write(&self, _: Register, _: u32) -> Result<(), AccessError> {
        Ok(())
    }
}

#[test]
fn a_read_gives_up() {
    let timer = Ptimer::start(Torn(0.into()), Input::NV41, NANOSECONDS).unwrap();
    assert_eq!(timer.time(), Err(PtimerError::Torn));
}
