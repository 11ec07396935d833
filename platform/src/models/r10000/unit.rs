//! The counters, their control registers, and the interrupt that they share with Compare.

use core::convert::Infallible;

use guest_abi::Counter;
use guest_abi::sampling::{CounterSet, CounterUnit, Program};

use super::cycle::Cycle;
use super::event::R10000Event;
use super::instruction::{Direction, PerformanceMove, RegisterKind};
use super::register::{Control, R10000Mode, Status};

/// Bit 31 of a counter, which signals its overflow.
const OVERFLOW: u32 = 1 << 31;

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    control: Control,
    count: u32,
}

impl Pair {
    /// Returns `true` while bit 31 of the counter asserts the interrupt.
    fn overflowed(&self) -> bool {
        self.control.interrupt() && self.count & OVERFLOW != 0
    }
}

/// Two counters with their control registers, and the pending Compare interrupt. Initially, all are 0.
#[derive(Clone, Debug, Default)]
pub struct R10000 {
    pairs: [Pair; 2],
    compare: bool,
}

impl R10000 {
    /// Returns a unit that counts nothing.
    pub const fn new() -> Self {
        let (control, count) = (Control::new(), 0);
        Self { pairs: [Pair { control, count }; 2], compare: false }
    }

    /// Counts the events of one cycle, in which the Status register is `status`. A counter may advance past its overflow.
    pub fn step(&mut self, status: Status, cycle: &Cycle) {
        let Some(mode) = status.mode() else { return };
        for counter in Counter::ALL {
            let pair = self.pair_mut(*counter);
            if !pair.control.counts_in(mode) {
                continue;
            }
            if let Some(event) = R10000Event::from_number(*counter, pair.control.event()) {
                pair.count = pair.count.wrapping_add(cycle.count(event));
            }
        }
    }

    /// Returns IP\[7\], not masked by IM\[7\]: set while the Compare interrupt is pending or a counter has overflowed.
    pub fn ip7(&self) -> bool {
        self.compare || !self.overflowed().is_empty()
    }

    /// Raises the Compare interrupt. Call this function when Count becomes equal to Compare.
    pub fn match_compare(&mut self) {
        self.compare = true;
    }

    /// Clears the Compare interrupt, as a write to Compare does.
    pub fn write_compare(&mut self) {
        self.compare = false;
    }

    /// Returns a counter's control register, as the MFPS instruction reads it.
    pub const fn control(&self, counter: Counter) -> Control {
        self.pair(counter).control
    }

    /// Writes a counter's control register, as the MTPS instruction does.
    pub fn set_control(&mut self, counter: Counter, control: Control) {
        self.pair_mut(counter).control = control;
    }

    /// Executes a move. A write copies bits 31:0 of the general register, and a read extends the sign. General register 0 stays
    /// 0.
    pub fn execute(&mut self, instruction: PerformanceMove, general: &mut [u64; 32]) {
        let pair = self.pair_mut(instruction.counter);
        let Some(rt) = general.get_mut(instruction.rt()) else {
            return;
        };
        match (instruction.direction, instruction.register) {
            (Direction::To, RegisterKind::Control) => pair.control = Control::written(*rt as u32),
            (Direction::To, RegisterKind::Counter) => pair.count = *rt as u32,
            (Direction::From, _) if instruction.rt() == 0 => {}
            (Direction::From, RegisterKind::Control) => *rt = pair.control.into_bits().into(),
            (Direction::From, RegisterKind::Counter) => *rt = pair.count as i32 as u64,
        }
    }

    const fn pair(&self, counter: Counter) -> &Pair {
        &self.pairs[counter as usize]
    }

    fn pair_mut(&mut self, counter: Counter) -> &mut Pair {
        &mut self.pairs[counter as usize]
    }
}

impl CounterUnit for R10000 {
    type Event = R10000Event;
    type Mode = R10000Mode;
    type Refusal = Infallible;

    const OVERFLOWS_AT: u32 = OVERFLOW;
    const MAX_EARLY: u32 = 0;

    fn events() -> impl Iterator<Item = R10000Event> {
        R10000Event::ALL.iter().copied()
    }

    fn start(&mut self, program: &Program<R10000Event, R10000Mode>) -> Result<(), Infallible> {
        for counter in Counter::ALL {
            let control = match program.events.event(*counter) {
                Some(event) => Control::counting(event.number(), program.modes),
                None => Control::default(),
            };
            let interrupt = program.interrupts.contains(*counter);
            self.set_control(*counter, control.with_interrupt(interrupt));
        }
        Ok(())
    }

    fn stop(&mut self) {
        for pair in &mut self.pairs {
            pair.control = pair.control.stopped();
        }
    }

    fn read(&self, counter: Counter) -> u32 {
        self.pair(counter).count
    }

    fn write(&mut self, counter: Counter, value: u32) {
        self.pair_mut(counter).count = value;
    }

    fn overflowed(&self) -> CounterSet {
        let [pair0, pair1] = &self.pairs;
        CounterSet::new(pair0.overflowed(), pair1.overflowed())
    }

    fn acknowledge(&mut self, counters: CounterSet) {
        for counter in counters.iter() {
            self.pair_mut(counter).count &= !OVERFLOW;
        }
    }

    fn timer_pending(&self) -> bool {
        self.compare
    }
}
