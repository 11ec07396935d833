//! Compares the counter models of a strand and of a DRAM channel with independent models, which were written from a second reading of Sun's
//! RTL. The tests run random sequences, and compare every register after every step.

use guest_abi::McuRole;
use guest_abi::event::{DramEvent, SparcEvent};
use guest_abi::layout::SparcSelect;
use guest_abi::sampling::SparcMode;
use platform::models::{Early, MemoryController, Phase, StrandUnit};
use tests::random::Random;
use tests::rtl::event::Event;
use tests::rtl::{
    Access, Answer, Configuration, Core, Level, Outcome, Register, Sequence, Step, StrandClock,
    dram,
};

const SEQUENCES: u64 = 96;
const STEPS: usize = 200;

fn mode(level: Level) -> SparcMode {
    match level {
        Level::User => SparcMode::User,
        Level::Privileged => SparcMode::Privileged,
        Level::Hyperprivileged => SparcMode::Hyperprivileged,
    }
}

/// Reports a clock's events, one class at a time.
fn count(unit: &mut StrandUnit, events: &[Event], flushed: u8) {
    for class in 2..8 {
        let masks = events.iter().map(|event| event.counted_by());
        let masks = masks.filter(|(of, _)| *of == class).map(|(_, mask)| mask);
        let together = masks.fold(0, |all, mask| all | mask);
        if together != 0 {
            unit.count(SparcSelect::new(class + flushed, together).unwrap(), 1);
        }
    }
}

/// Simulates one clock of a strand. Between clocks, the strand takes no interrupts.
fn clock(unit: &mut StrandUnit, input: &StrandClock, core_is_idle: bool) -> Outcome {
    let can_trap = input.pil < 15 && input.interrupts && input.issues();
    unit.set_mode(mode(input.level));
    unit.set_interruptible(can_trap);
    count(unit, &input.events, 0);
    count(unit, &input.flushed, 8);
    unit.count(SparcEvent::IdleStrands, u32::from(core_is_idle));
    unit.set_interruptible(false);
    Outcome {
        request: unit.trap_requested(),
        trap: unit.softint() && can_trap && unit.mode() != SparcMode::Hyperprivileged,
    }
}

fn access(unit: &mut StrandUnit, access: &Access) -> Answer {
    use Register::{Pcr, Pic, Softint};
    let private = access.register != Pic || unit.pcr() & 1 != 0;
    if access.level == Level::User && private {
        return Answer::Trapped;
    }
    match (access.register, access.write) {
        (Pcr, None) => return Answer::Read(unit.pcr()),
        (Pic, None) => return Answer::Read(unit.pic()),
        (Softint, None) => return Answer::Read(u64::from(unit.softint()) << 15),
        (Pcr, Some(value)) if access.level == Level::Hyperprivileged => unit.set_pcr(value),
        (Pcr, Some(value)) => unit.set_pcr_privileged(value),
        (Pic, Some(value)) => unit.set_pic(value),
        (Softint, Some(value)) => unit.set_softint(value >> 15 & 1 != 0),
    }
    Answer::Written
}

/// Runs a sequence on both models. With a phase, PIC is updated in each clock whose number modulo 8 equals the phase.
fn compare(sequence: &Sequence, phase: Option<u8>, case: &str) {
    let mut options = sequence.options;
    options.phase = phase;
    let mut core = Core::new(options);
    let mut units: Vec<StrandUnit> = (0..8)
        .map(|_| {
            let mut unit = StrandUnit::new();
            unit.set_early(Early::new(options.skid).unwrap());
            unit.set_phase(
                phase.map(|phase| Phase::new(if phase == 0 { 8 } else { phase }).unwrap()),
            );
            unit.set_interruptible(false);
            unit
        })
        .collect();
    let mut first_clock = true;
    for (number, step) in sequence.steps.iter().enumerate() {
        let expected = core.step(step);
        let case = || format!("{case}, step {number}: {step:?}");
        match step {
            Step::Access(one) => {
                assert_eq!(access(&mut units[one.strand], one), expected, "{}", case())
            }
            Step::Clock(inputs) => {
                let Answer::Clock(expected) = expected else {
                    panic!("a clock is answered by {expected:?}");
                };
                let core_is_idle = !inputs.iter().any(StrandClock::issues);
                for (unit, (input, expected)) in units.iter_mut().zip(inputs.iter().zip(expected)) {
                    if !first_clock {
                        unit.pass(1);
                    }
                    let outcome = clock(unit, input, core_is_idle);
                    assert_eq!(outcome.trap, expected.trap, "{}", case());
                    // `expected.request` is also `true` for a momentary request (a pulse). The unit shows a pulse only in %softint.
                    assert!(expected.request || !outcome.request, "{}", case());
                }
                first_clock = false;
            }
        }
        for (unit, strand) in units.iter().zip(&core.strands) {
            let read = |register| strand.read(register, Level::Hyperprivileged).unwrap();
            let expected = [Register::Pcr, Register::Pic, Register::Softint].map(read);
            let found = [unit.pcr(), unit.pic(), u64::from(unit.softint()) << 15];
            assert_eq!(found, expected, "%pcr, %pic, %softint: {}", case());
        }
    }
}

/// Runs every configuration, with immediate PIC updates and with updates in each of the eight phases.
#[test]
fn strands_do_as_the_second_reading_says() {
    for configuration in Configuration::ALL {
        for seed in 0..SEQUENCES {
            let phase = [None, Some(seed as u8 % 8)][seed as usize / 8 % 2];
            let sequence = Sequence::new(configuration, seed, STEPS);
            let case = format!("{configuration:?}, seed {seed}, phase {phase:?}");
            compare(&sequence, phase, &case);
        }
    }
}

#[test]
fn channels_do_as_the_second_reading_says() {
    for seed in 0..2000 {
        let mut model = dram::Channel::default();
        let mut controller = MemoryController::new();
        for (number, step) in dram::sequence(seed, STEPS).iter().enumerate() {
            let expected = model.step(step);
            let role = |register| match register {
                dram::Register::Pcr => McuRole::Pcr,
                dram::Register::Pic => McuRole::Pic,
            };
            let found = match *step {
                dram::Step::Clock(amounts) => {
                    for (code, amount) in (0..).zip(amounts) {
                        controller.count(DramEvent::from_code(code).unwrap(), amount.into());
                    }
                    None
                }
                dram::Step::Read(register) => Some(controller.read(role(register)).unwrap()),
                dram::Step::Write(register, value) => {
                    controller.write(role(register), value).unwrap();
                    None
                }
            };
            assert_eq!(found, expected, "seed {seed}, step {number}: {step:?}");
            for register in [dram::Register::Pcr, dram::Register::Pic] {
                let expected = model.clone().step(&dram::Step::Read(register));
                let found = controller.read(role(register)).ok();
                assert_eq!(found, expected, "seed {seed}, step {number}: {step:?}");
            }
        }
    }
}

/// Counting the events of many clocks in one call has the same effect as counting them clock by clock. This holds without a phase and in
/// each phase, near the wrap and far from it.
#[test]
fn many_clocks_at_once_are_clocks_one_by_one() {
    let random = &mut Random(1);
    for case in 0..20_000_u64 {
        let mut unit = StrandUnit::new();
        unit.set_phase(Phase::new((case % 16) as u8));
        unit.set_early(Early::new(random.below(16) as u8).unwrap());
        let toe = random.next_u64() & 0x30;
        unit.set_pcr(0x208 << 6 | 0x210 << 19 | toe | 1 << 2);
        let near = |random: &mut Random| 0xffff_ffff - random.below(80) as u64;
        unit.set_pic(near(random) << 32 | near(random));
        // The events are a load, a store, an atomic, and a flushed load.
        let events = random.one_of(&[0x208, 0x210, 0x298, 0xa08]);
        let events = SparcSelect::from_code(events);
        let times = random.below(60) as u32;
        let mut one_by_one = unit.clone();
        unit.count(events, times);
        for clock in 0..times {
            if clock > 0 {
                one_by_one.pass(1);
            }
            one_by_one.count(events, 1);
        }
        let state = |unit: &StrandUnit| (unit.pcr(), unit.pic(), unit.softint());
        assert_eq!(state(&unit), state(&one_by_one), "case {case}");
        unit.pass(20);
        one_by_one.pass(20);
        assert_eq!(state(&unit), state(&one_by_one), "case {case}");
    }
}
