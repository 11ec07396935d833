//! Tests the steps that an operator takes through a mailbox, word by word.

use std::cell::RefCell;

use guest_abi::{Hub, Mcu, Node};
use perfctr_service::mailbox::{self, Refusal, Step, WORDS};
use perfctr_service::{BUSY_LIMIT_TICKS, BUSY_PAUSE_TICKS};
use perfctr_service::{ChangeError, ConfigError, Grants, StrandSet, Unit, UnitState};
use platform::AccessError;
use tests::board::Board;
use tests::machine::{self, MachineUnderTest, guest_id};
use tests::oracle::{Cell, Fault, Grant, Guest, HubCondition, Machine};

const GLOBAL: Grant = Grant::GLOBAL_HTSTRAND;
const STRAND: Grant = Grant::STRAND;
const HTSTRAND: Grant = Grant::HTSTRAND;

fn grants(of: &[Grant]) -> Grants {
    let mut grants = Grants::none(of.len()).unwrap();
    for (number, grant) in of.iter().enumerate() {
        grants.set(guest_id(number), machine::grant(*grant)).unwrap();
    }
    grants
}

/// The mailbox, a service whose steps are taken on strand 0, and the steps that are left to the image.
struct Mailbox<'m, 'a> {
    words: RefCell<[u64; WORDS]>,
    machine: &'m MachineUnderTest<'a>,
    rest: RefCell<Vec<Step>>,
}

impl Mailbox<'_, '_> {
    /// Passes these words to the mailbox unchanged.
    fn raw(&self, step: u64, argument: u64) -> [u64; WORDS] {
        let mut words = self.words.borrow_mut();
        (words[0], words[1], words[2]) = (1, step, argument);
        mailbox::serve(&mut words, self.machine.service(), machine::strand(0), |step| {
            self.rest.borrow_mut().push(step)
        });
        *words
    }

    fn step(&self, step: Step) -> Result<Option<mailbox::ServiceState>, Refusal> {
        mailbox::ask(&mut self.words.borrow_mut(), &step);
        let [asked, number, argument, ..] = *self.words.borrow();
        assert_eq!(asked, 1);
        assert_eq!(mailbox::answer(&self.words.borrow()), None);
        let words = self.raw(number, argument);
        assert_eq!(words[0], 2);
        mailbox::answer(&words).expect("it is done")
    }
}

#[test]
fn every_step_and_what_it_answers() {
    let board = Board::new(Machine::Batoka, 2, &[]);
    let guests =
        [Guest::new([0, 64], GLOBAL), Guest::new([1, 65], STRAND), Guest::new([2], STRAND)];
    let machine = MachineUnderTest::ready(&board, &guests);
    let mailbox =
        Mailbox { words: RefCell::new([0; WORDS]), machine: &machine, rest: RefCell::default() };

    // The mailbox has no step for the hypervisor yet.
    assert_eq!(mailbox::answer(&mailbox.words.borrow()), None);
    mailbox::serve(&mut mailbox.words.borrow_mut(), machine.service(), machine::strand(0), |_| {
        panic!("nothing was asked");
    });
    assert_eq!(mailbox.words.borrow()[0], 0);

    // `global` and `htstrand` pass from guest 0 to guest 1. Each guest has one byte, and the first guest has the most significant one.
    let moved = grants(&[STRAND, GLOBAL, Grant::default()]);
    let mut words = [7; WORDS];
    mailbox::ask(&mut words, &Step::Reconfigure(moved));
    assert_eq!(words[..3], [1, 1, 3]);
    assert_eq!(words[9..41], [&[0x0207_0000_0000_0000], &[0; 31][..]].concat());
    assert_eq!(words[41..], [7; WORDS - 41], "words of no step");
    assert_eq!(mailbox.step(Step::Reconfigure(moved)), Ok(None));

    // The change waits for the strands of each guest that loses a right. It does not wait for strand 0, which takes the step and has
    // already taken its own cross-call.
    let seen = mailbox.step(Step::ReadState(3)).unwrap().expect("this step looks");
    let awaited: StrandSet = [2, 64].map(machine::strand).into_iter().collect();
    assert_eq!(seen.pending, Some(awaited));
    assert_eq!(mailbox.words.borrow()[9..14], [1, 0b100, 0b1, 0, 0]);
    // Guest 1 has `htstrand` immediately, because no guest loses it. It gets `global` after the scrub.
    assert_eq!(mailbox.words.borrow()[30], 0x0206_0000_0000_0000);
    // Strand 64 has died. The remaining strand takes its cross-call.
    machine.acknowledge(2);
    assert_eq!(mailbox.step(Step::Died(machine::strand(64))), Ok(None));
    machine.complete_transfer();
    let seen = mailbox.step(Step::ReadState(3)).unwrap().expect("this step looks");
    assert!(seen.pending.is_none() && seen.held == moved);

    // The service refuses these steps.
    let two = grants(&[GLOBAL, STRAND, GLOBAL]);
    let both = ChangeError::Config(ConfigError::TwoGlobals(0, 2));
    assert_eq!(mailbox.step(Step::Reconfigure(two)), Err(Refusal::Change(both)));
    let others = ChangeError::OtherGuests { given: 2, there_are: 3 };
    let fewer = Step::Reconfigure(grants(&[STRAND, STRAND]));
    assert_eq!(mailbox.step(fewer), Err(Refusal::Change(others)));

    // A unit faults and returns to service.
    let channel = Unit::Mcu(Node::Node0, Mcu::Mcu1);
    board.break_cell(Cell::Register(4), Fault::Always);
    assert_eq!(machine.get(1, 4).0, 10);
    let seen = mailbox.step(Step::ReadState(3)).unwrap().expect("this step looks");
    // L2 control of node 1 is also out of service, because the dead strand was the loser's only strand on that node.
    let out: Vec<_> =
        Unit::ALL.iter().copied().filter(|unit| !seen.units[unit.number()].in_service).collect();
    assert_eq!(out, [channel, Unit::L2(Node::Node1)]);
    assert_eq!(
        seen.units,
        Unit::ALL.iter().copied().map(|unit| machine.unit(unit)).collect::<Vec<_>>()[..]
    );
    assert_eq!(seen.units[channel.number()].faults, 1);
    board.repair();
    assert_eq!(mailbox.step(Step::ReturnToService(channel)), Ok(None));
    assert_eq!(machine.get(1, 4), (0, 0));

    assert_eq!(mailbox.step(Step::Reset(guest_id(2))), Ok(None));
    // The death and the reset are left to the image.
    let rest = [Step::Died(machine::strand(64)), Step::Reset(guest_id(2))];
    assert_eq!(*mailbox.rest.borrow(), rest);

    // These words are invalid.
    for (step, argument) in [
        (0, 0),
        (6, 0),
        (u64::MAX, 0),
        (1, 257),
        (2, 256),
        (3, 256),
        (4, 16),
        (5, 257),
        (2, 1 << 32),
    ] {
        let words = mailbox.raw(step, argument);
        assert_eq!((words[0], words[8]), (2, 1), "step {step}, argument {argument}");
        assert_eq!(mailbox::answer(&words), Some(Err(Refusal::Unknown)));
    }
    // A refusal that concerns a unit names the unit: hub 2 has number 10, and L2 control of node 1 has number 13.
    let other_guests = ChangeError::OtherGuests { given: 4, there_are: 9 };
    for (result, first, expected) in [
        (2, 6, ChangeError::Config(ConfigError::TwoGlobals(6, 9))),
        (3, 4, other_guests),
        (4, 0, ChangeError::Busy),
        (5, 13, ChangeError::OtherNode(Unit::L2(Node::Node1))),
        (6, 10, ChangeError::NotClean(Unit::Hub(Hub::ALL[2]), AccessError::Busy)),
        (7, 10, ChangeError::NotClean(Unit::Hub(Hub::ALL[2]), AccessError::Fault)),
        (8, 11, ChangeError::NoSuchUnit(Unit::Hub(Hub::ALL[3]))),
    ] {
        let mut words = [0; WORDS];
        (words[0], words[1], words[8], words[9], words[10]) = (2, 4, result, first, 9);
        assert_eq!(mailbox::answer(&words), Some(Err(Refusal::Change(expected))));
    }
}

/// The words that describe the state. Word 9 is 1 while a change is pending. Words 10-13 hold the awaited strands, 14-29 the units, and
/// 30-61 the guests' grants. In a unit's word, bits 63:32 are the number of faults, bits 31:2 the number of times that the unit stayed
/// busy, bit 1 is "clean", and bit 0 is "in service".
#[test]
fn the_words_of_what_is_seen() {
    let mut words = [0; WORDS];
    (words[0], words[1], words[2]) = (2, 5, 18);
    (words[9], words[13]) = (1, 1 << 63);
    words[14 + 15] = 3 << 32 | 5 << 2 | 0b10;
    words[14 + 8] = 0xffff_ffff << 32 | 0b01;
    (words[30], words[31], words[32]) = (0x01 << 56, 0x02 << 48, 0x07 << 56 | 0x06 << 48);
    let seen = mailbox::answer(&words).unwrap().unwrap().unwrap();
    assert_eq!(seen.pending, Some([machine::strand(255)].into_iter().collect()));
    for (unit, [in_service, clean], [faults, stuck]) in [
        (Unit::L2(Node::Node3), [false, true], [3, 5]),
        (Unit::Hub(Hub::ALL[0]), [true, false], [u32::MAX, 0]),
        (Unit::Hub(Hub::ALL[1]), [false, false], [0, 0]),
    ] {
        let expected = UnitState { in_service, clean, faults, stuck };
        assert_eq!(seen.units[unit.number()], expected, "{unit}");
    }
    let mut held = vec![Grant::default(); 18];
    held[0] = Grant::GLOBAL;
    (held[9], held[16], held[17]) = (STRAND, GLOBAL, HTSTRAND);
    assert!(seen.held == grants(&held));
}

/// A unit has twice been taken out of service because it stayed busy.
#[test]
fn a_unit_that_was_stuck_is_seen() {
    let board = Board::new(Machine::Batoka, 1, &[]);
    let machine = MachineUnderTest::ready(&board, &[Guest::new([0], Grant::GLOBAL)]);
    let mailbox =
        Mailbox { words: RefCell::new([0; WORDS]), machine: &machine, rest: RefCell::default() };
    let hub = Unit::Hub(Hub::ALL[1]);
    board.set_hub(1, HubCondition::Busy);
    for since in [0, 2 * BUSY_LIMIT_TICKS] {
        assert_eq!(machine.return_to_service(0, hub), Ok(()));
        for asks in 0..=32 {
            board.set_ticks(0, since + asks * BUSY_PAUSE_TICKS);
            machine.get(0, 36);
        }
    }
    let seen = mailbox.step(Step::ReadState(1)).unwrap().unwrap();
    assert_eq!(seen.units[hub.number()].stuck, 2);
    assert_eq!(mailbox.words.borrow()[14 + hub.number()], 2 << 2 | 0b10);
}
