//! Compares the R10000's counters with a reference that shares no code with them. The actions and their order are random. All registers are
//! written and read through instruction words.

use platform::models::R10000;
use platform::models::r10000::{Cycle, Ksu, PerformanceMove, R10000Event, Status};
use proptest::prelude::*;

/// A reference for CP0 register 25, and for Compare's part of IP[7].
#[derive(Default)]
struct Reference {
    control: [u32; 2],
    count: [u32; 2],
    compare: bool,
    ksu: u32,
    exl: bool,
    erl: bool,
}

impl Reference {
    /// Executes an MTC0 to register 25, given as an instruction word. Bits 5:1 are the counter's number. Bit 0 is 1 for the counter and 0
    /// for its control register.
    fn move_to(&mut self, word: u32, value: u32) {
        let number = (word >> 1 & 0x1f) as usize;
        match word & 1 {
            0 => self.control[number] = value & 0x1ff,
            _ => self.count[number] = value,
        }
    }

    fn move_from(&self, word: u32) -> u32 {
        let number = (word >> 1 & 0x1f) as usize;
        match word & 1 {
            0 => self.control[number],
            _ => self.count[number],
        }
    }

    /// Counts a cycle. `happened` lists the number of times each event occurred, in the order of the events' numbers in `perfex`.
    fn cycle(&mut self, happened: &[u32; 32]) {
        for n in 0..2 {
            let control = self.control[n];
            let enabled = if self.erl {
                false
            } else if self.exl {
                control & 1 == 1
            } else {
                // KSU 0 selects bit K (1), KSU 1 selects bit S (2), KSU 2 selects bit U (3).
                control >> (self.ksu + 1) & 1 == 1
            };
            if enabled {
                let event = (control >> 5 & 15) as usize;
                let sum = u64::from(self.count[n]) + u64::from(happened[16 * n + event]);
                self.count[n] = (sum % (1 << 32)) as u32;
            }
        }
    }

    fn ip7(&self) -> bool {
        let asks = |n: usize| self.control[n] & 0x10 != 0 && self.count[n] >= 1 << 31;
        self.compare || asks(0) || asks(1)
    }
}

#[derive(Clone, Debug)]
enum Action {
    /// Executes an MTC0, given as an instruction word.
    Move {
        word: u32,
        value: u32,
    },
    Status {
        ksu: u32,
        exl: bool,
        erl: bool,
    },
    Cycle(Vec<(usize, u32)>),
    Match,
    WriteCompare,
}

/// Generates values for a control register. Most of them make the counter count in user mode and interrupt.
fn control() -> impl Strategy<Value = u32> {
    let events = prop::sample::select(vec![0_u32, 1, 9, 10, 15]);
    let useful = (events, 0_u32..32).prop_map(|(event, low)| event << 5 | low | 0x18);
    prop_oneof![6 => useful, 1 => any::<u32>()]
}

/// Generates counts, most of which are close to an overflow or to a wrap.
fn count() -> impl Strategy<Value = u32> {
    prop_oneof![
        6 => 0x7fff_fff0_u32..=0x8000_0004,
        2 => 0xffff_fff0..=u32::MAX,
        1 => any::<u32>(),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    let event = prop_oneof![
        4 => prop::sample::select(vec![1_usize, 9, 10, 15, 17, 25, 26, 31]),
        1 => 0_usize..32,
    ];
    let cycle = prop::collection::vec((event, 0_u32..5), 0..6);
    prop_oneof![
        2 => (0_u32..2, control())
            .prop_map(|(number, value)| Action::Move { word: MTPS | number << 1, value }),
        2 => (0_u32..2, count())
            .prop_map(|(number, value)| Action::Move { word: MTPC | number << 1, value }),
        1 => (0_u32..3, any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(ksu, exl, erl)| Action::Status { ksu, exl, erl }),
        10 => cycle.prop_map(Action::Cycle),
        1 => Just(Action::Match),
        1 => Just(Action::WriteCompare),
    ]
}

/// Executes a word with `value` in register 1. Returns the new value of register 1.
fn execute(unit: &mut R10000, word: u32, value: u64) -> u64 {
    let mut general = [0; 32];
    general[1] = value;
    unit.execute(PerformanceMove::decode(word).unwrap(), &mut general);
    general[1]
}

const MTPS: u32 = 0x4081_c800;
const MTPC: u32 = 0x4081_c801;
const MFPS: u32 = 0x4001_c800;
const MFPC: u32 = 0x4001_c801;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn like_the_reference(actions in prop::collection::vec(action(), 1..80)) {
        let mut unit = R10000::new();
        let mut reference = Reference::default();
        for action in actions {
            match action.clone() {
                Action::Move { word, value } => {
                    execute(&mut unit, word, value.into());
                    reference.move_to(word, value);
                }
                Action::Status { ksu, exl, erl } => {
                    (reference.ksu, reference.exl, reference.erl) = (ksu, exl, erl);
                }
                Action::Cycle(events) => {
                    let mut happened = [0; 32];
                    (happened[0], happened[16]) = (1, 1);
                    let mut cycle = Cycle::new();
                    for (event, n) in events {
                        happened[event] += n;
                        cycle = cycle.with(R10000Event::ALL[event], n);
                    }
                    let ksu = [Ksu::Kernel, Ksu::Supervisor, Ksu::User][reference.ksu as usize];
                    let (exl, erl) = (reference.exl, reference.erl);
                    unit.step(Status { ksu, exl, erl }, &cycle);
                    reference.cycle(&happened);
                }
                Action::Match => {
                    unit.match_compare();
                    reference.compare = true;
                }
                Action::WriteCompare => {
                    unit.write_compare();
                    reference.compare = false;
                }
            }
            for word in [MFPS, MFPS | 2, MFPC, MFPC | 2] {
                let read = execute(&mut unit, word, 0);
                let expected = i64::from(reference.move_from(word) as i32) as u64;
                prop_assert_eq!(read, expected, "{:#x} after {:?}", word, action);
            }
            prop_assert_eq!(unit.ip7(), reference.ip7(), "IP[7] after {:?}", action);
        }
    }
}
