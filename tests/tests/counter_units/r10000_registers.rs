//! Tests every value of a control register in every state of the processor.

use guest_abi::Counter::{self, Pic0, Pic1};
use guest_abi::sampling::CounterUnit;
use platform::models::R10000;
use platform::models::r10000::{Control, Cycle, Ksu, R10000Event, Status};

/// Returns a cycle in which counter 0's event n happens n + 1 times and counter 1's event n happens n + 101 times. Event 0 counts cycles,
/// and a new cycle already contains one event 0 of each counter.
fn cycle() -> Cycle {
    R10000Event::ALL.iter().fold(Cycle::new(), |cycle, event| {
        let (first, number) = match event.counter() {
            Pic0 => (1, u32::from(event.number())),
            Pic1 => (101, u32::from(event.number())),
        };
        let passed = u32::from(number == 0);
        cycle.with(*event, first + number - passed)
    })
}

/// Checks the counts and the values read back for 512 values of each control register, with 3 modes, EXL and ERL. Bits above 8 have no
/// effect.
#[test]
fn every_control_value_in_every_state() {
    let cycle = cycle();
    let mut cases = 0;
    for value in 0..512_u32 {
        for reserved in [0, 0xffff_fe00] {
            for ksu in [Ksu::Kernel, Ksu::Supervisor, Ksu::User] {
                for (exl, erl) in [(false, false), (true, false), (false, true), (true, true)] {
                    let event = value >> 5;
                    let enabled = match (exl, erl, ksu) {
                        (_, true, _) => false,
                        (true, false, _) => value & 1 != 0,
                        (false, false, Ksu::Kernel) => value & 2 != 0,
                        (false, false, Ksu::Supervisor) => value & 4 != 0,
                        (false, false, Ksu::User) => value & 8 != 0,
                    };
                    for (counter, other, first) in [(Pic0, Pic1, 1), (Pic1, Pic0, 101)] {
                        let mut unit = R10000::new();
                        unit.set_control(counter, Control::written(value | reserved));
                        unit.step(Status { ksu, exl, erl }, &cycle);
                        let expected = if enabled { first + event } else { 0 };
                        let case = format!("{counter:?} {value:#x} {ksu:?} EXL {exl} ERL {erl}");
                        assert_eq!(unit.read(counter), expected, "{case}");
                        assert_eq!(unit.read(other), 0, "{case}");
                        assert_eq!(unit.control(counter).into_bits(), value, "{case}");
                        assert_eq!(unit.control(other).into_bits(), 0, "{case}");
                        cases += 1;
                    }
                }
            }
        }
    }
    assert_eq!(cases, 512 * 2 * 3 * 4 * 2);
}

/// For each of 512 values of each control register, IP[7] is set if IE and the counter's bit 31 are set, even if the counter is off.
#[test]
fn every_control_value_interrupts_by_its_ie() {
    for value in 0..512_u32 {
        for (counter, count) in [
            (Counter::Pic0, 0x7fff_ffff_u32),
            (Counter::Pic0, 0x8000_0000),
            (Counter::Pic1, 0x7fff_ffff),
            (Counter::Pic1, 0xffff_ffff),
        ] {
            let mut unit = R10000::new();
            unit.set_control(counter, Control::written(value));
            unit.write(counter, count);
            let expected = value & 0x10 != 0 && count >= 0x8000_0000;
            assert_eq!(unit.ip7(), expected, "{counter:?} {value:#x} {count:#x}");
            unit.stop();
            assert_eq!(unit.ip7(), expected, "stopped: {counter:?} {value:#x}");
        }
    }
}

/// For every pair of values, one counter's control register does not affect the other counter.
#[test]
fn every_pair_of_control_values() {
    let cycle = cycle();
    let counts = |value: u32, first| (value >> 3 & 1) * (first + (value >> 5));
    let user = Status { ksu: Ksu::User, exl: false, erl: false };
    for value0 in 0..512 {
        for value1 in 0..512 {
            let mut unit = R10000::new();
            unit.set_control(Pic0, Control::written(value0));
            unit.set_control(Pic1, Control::written(value1));
            unit.step(user, &cycle);
            let read = (unit.read(Pic0), unit.read(Pic1));
            assert_eq!(read, (counts(value0, 1), counts(value1, 101)));
        }
    }
}
