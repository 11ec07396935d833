//! Tests the turns at a hub: compares `smt/turns.smt2` with the shipped function.

use guest_abi::StrandId;
use perfctr_service::StrandSet;
use perfctr_service::decisions::turns::{Answer, HubEvent, Turns};
use tests::machine::strand;
use tests::random::Random;

use super::{all_are_true, random};

/// Encodes a set of strands as a 256-bit vector, as in `smt/turns.smt2`.
fn word(strands: &[u8]) -> String {
    let mut words = [0_u64; 4];
    for strand in strands {
        words[usize::from(strand / 64)] |= 1 << (strand % 64);
    }
    let [low, second, third, high] = words;
    format!("#x{high:016x}{third:016x}{second:016x}{low:016x}")
}

fn definition(turns: &Turns) -> String {
    let strands: Vec<u8> = turns.remembered.iter().map(StrandId::number).collect();
    let turn = turns.turn.map_or("(- 1)".to_owned(), |turn| turn.number().to_string());
    let (remembered, refusals, last) = (word(&strands), turns.refusals, turns.last);
    format!("(turns {remembered} {turn} {refusals} {last})")
}

/// Returns a random number that is often next to a word boundary.
fn number(random: &mut Random) -> u8 {
    let corners = [0, 1, 62, 63, 64, 127, 128, 191, 192, 254, 255];
    let any = random.next_u64() as u8;
    *[random.one_of(&corners), any].get(random.below(2)).unwrap()
}

/// Returns a random state. Few, many or all strands are remembered. The turn belongs to a remembered strand, is stale, or is free.
/// The number of refusals is often near its maximum.
fn state(random: &mut Random) -> Turns {
    let size = random.one_of(&[0, 1, 2, 3, 5, 40, 255, 2_000]);
    let strands: Vec<u8> = (0..size).map(|_| number(random)).collect();
    let remembered: StrandSet = strands.iter().copied().map(strand).collect();
    let turn = match random.below(4) {
        0 => None,
        1 => Some(number(random)),
        _ => strands.first().copied(),
    };
    let most = 2 * remembered.len() as u32;
    let refusals = match random.below(4) {
        0 => random.below(4) as u32,
        1 => random.next_u64() as u32,
        _ => (most + random.below(5) as u32).saturating_sub(2),
    };
    Turns { remembered, turn: turn.map(strand), refusals, last: number(random).into() }
}

/// z3 applies the definition to random steps in random states. The shipped function must return the same results.
#[test]
#[ignore = "needs z3: cargo xtask test runs it"]
fn the_definition_is_the_function_that_ships() {
    const STATES: usize = 4_000;
    let mut steps = Vec::new();
    let mut check = |turns: Turns, event| {
        let (after, answer) = turns.step(event);
        let before = definition(&turns);
        let (step, asks) = match event {
            HubEvent::AsksTaken(asks) => (format!("(asks-taken g {})", asks.number()), None),
            HubEvent::Ended => {
                let next = match turns.remembered.is_empty() {
                    true => "none",
                    false => "(next-after (remembered g) (last g))",
                };
                (format!("(ended g {next})"), None)
            }
            HubEvent::ChipBusy(asks) => (format!("(chip-busy g {})", asks.number()), None),
            HubEvent::Died(dead) => (format!("(died g {})", dead.number()), None),
            HubEvent::Reset => ("(renewed g)".to_owned(), None),
            HubEvent::AsksFree(asks) => {
                let asks = asks.number();
                let parameters = format!(
                    "g {asks} (* 2 (count (asking g {asks}))) (next-after (candidates g {asks}) (from g {asks}))"
                );
                (format!("(asks-free {parameters})"), Some(format!("(served {parameters})")))
            }
        };
        let served = asks.unwrap_or("false".to_owned());
        let (answer, after) = (answer == Answer::Served, definition(&after));
        let formula =
            format!("(let ((g {before})) (and (= {step} {after}) (= {served} {answer})))");
        steps.push((format!("{turns:?}, {event:?}"), formula));
    };
    let mut random = random();
    check(Turns::NEW, HubEvent::AsksFree(strand(255)));
    for _ in 0..STATES {
        let turns = state(&mut random);
        // In half of the steps, the strand that asks has the turn or is remembered.
        let asks = match (random.below(4), turns.turn, turns.remembered.iter().next()) {
            (0, Some(turn), _) => turn,
            (1, _, Some(remembered)) => remembered,
            _ => strand(number(&mut random)),
        };
        let other = random.one_of(&[
            HubEvent::AsksTaken(asks),
            HubEvent::Ended,
            HubEvent::ChipBusy(asks),
            HubEvent::Died(asks),
            HubEvent::Reset,
        ]);
        check(turns, HubEvent::AsksFree(asks));
        check(turns, other);
    }
    // A new hub must be the same in the definition and in the function.
    let new = format!("(= new {})", definition(&Turns::NEW));
    steps.push(("new".to_owned(), new));
    all_are_true(&["words.smt2", "turns.smt2"], &steps);
}
