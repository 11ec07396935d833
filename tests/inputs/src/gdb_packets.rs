//! Checks that a debugger's next packet is answered, whatever bytes came before it.

use guest_abi::StrandId;
use perfctr_service::{Grant, GuestConfig, StrandSet};
use platform::{Machine, Model};
use simulator::execute::{Execution, Setup, map};
use simulator::machine::guests::NamedGuest;
use vfalls::cmd::boot::gdb::{self, Debugger};

/// Counts of the answers that a debugger gets, by kind, and of ended machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub known: u32,
    pub wrong: u32,
    /// The number of packets with a wrong checksum.
    pub refused: u32,
    /// The number of machines that the debugger ended.
    pub killed: u32,
}

/// A loop that increments a word: sethi %hi(0x100000), %g1; ldx [%g1], %g2; add %g2, 1, %g2; stx %g2, [%g1]; ba -3; nop
const LOOP: [u32; 6] =
    [0x0300_0400, 0xc458_6000, 0x8400_a001, 0xc470_6000, 0x10bf_fffd, 0x0100_0000];

/// Sends these bytes to one machine as they are. Then sends each line to another machine as a valid packet, after an interrupt.
pub fn check(bytes: &[u8]) -> Coverage {
    let mut reached = Coverage::default();
    session(bytes, &mut reached);
    let lines = bytes.split(|byte| *byte == b'\n');
    let packets = lines.flat_map(|line| [vec![0x03], packet(line)].concat());
    session(&packets.collect::<Vec<u8>>(), &mut reached);
    reached
}

fn packet(text: &[u8]) -> Vec<u8> {
    let sum = text.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    [b"$", text, format!("#{sum:02x}").as_bytes()].concat()
}

fn session(bytes: &[u8], reached: &mut Coverage) {
    const MEMORY: u64 = 1 << 20;
    let machine = Machine::new(Model::Batoka, 1).unwrap();
    let setup = Setup::new(machine).partition(MEMORY).consoles(1);
    let mut execution = Execution::new(&setup).unwrap();
    execution.load(map::RESET, LOOP.map(u32::to_be_bytes).as_flattened()).unwrap();
    let mut strands = StrandSet::EMPTY;
    let first = StrandId::new(0).unwrap();
    strands.insert(first);
    strands.insert(StrandId::new(63).unwrap());
    let config = GuestConfig::new(strands, Grant::NONE);
    let guests = [NamedGuest { name: "$guest#".to_owned(), config }];
    let mut debugger =
        Debugger::new(gdb::DebuggedMachine::new(&mut execution, &guests, MEMORY), first);

    // These packets stop the machine if it is executing, and then read the registers.
    let end = [packet(b"?"), vec![0x03], packet(b"g")].concat();
    let mut answers = Vec::new();
    for byte in bytes.iter().chain(&end) {
        debugger.receive(*byte, &mut answers);
        if debugger.is_killed() {
            reached.killed += 1;
            count(&answers, reached);
            return;
        }
        if debugger.execute(16, &mut answers).is_some() {
            return;
        }
    }
    let last = count(&answers, reached);
    assert_eq!(last.len(), 2 * (32 * 8 + 32 * 4 + 16 * 8 + 6 * 8), "{last}");
}

/// Counts the answers, and asserts that each is a whole packet. Returns the content of the last packet.
fn count<'a>(mut answers: &'a [u8], reached: &mut Coverage) -> &'a str {
    let mut last = "";
    while let Some((first, rest)) = answers.split_first() {
        answers = rest;
        match first {
            b'+' => {}
            b'-' => reached.refused += 1,
            b'$' => {
                let end = rest.iter().position(|byte| *byte == b'#').expect("the packet's end");
                let (whole, after) = rest.split_at(end + 3);
                assert_eq!(packet(&whole[..end])[1..], *whole);
                answers = after;
                last = str::from_utf8(&whole[..end]).unwrap();
                assert!(!last.contains(['$', '}', '*']), "{last}");
                reached.known += u32::from(!matches!(last, "" | "E01"));
                reached.wrong += u32::from(last == "E01");
            }
            other => panic!("{other:#x} is no answer"),
        }
    }
    last
}

/// Returns a copy of an input with a few changes, which depend on `number`.
pub fn changed(input: &[u8], number: u64) -> Vec<u8> {
    const LETTERS: &[u8] = b"$#+-,;:=0123489abcdefgGmMHTZzcCsSDvq?\n\x03\xff";
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |end: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % end
    };
    let mut changed = input.to_vec();
    for _ in 0..1 + below(4) {
        let at = below(changed.len() + 1);
        let end = at + below(8).min(changed.len() - at);
        let some = changed[at..end].to_vec();
        let new = match below(4) {
            0 => Vec::new(),
            1 => [&*some, &*some].concat(),
            2 => some.iter().map(|_| LETTERS[below(LETTERS.len())]).collect(),
            _ => vec![LETTERS[below(LETTERS.len())]; 1 + below(20)],
        };
        changed.splice(at..end, new);
    }
    changed
}
