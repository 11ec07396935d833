//! Tests the instruction words of MTC0 and MFC0 for register 25, and their effects.

use std::collections::HashSet;

use guest_abi::Counter::{self, Pic0, Pic1};
use guest_abi::sampling::CounterUnit;
use platform::models::R10000;
use platform::models::r10000::{
    Direction::{From, To},
    PerformanceMove, RegisterKind as Kind,
};

fn word(text: &str, rt: u32, counter: u32) -> u32 {
    let opcode = match text {
        "mfps" => 0x4000_c800,
        "mfpc" => 0x4000_c801,
        "mtps" => 0x4080_c800,
        "mtpc" => 0x4080_c801,
        _ => panic!("{text} is no move"),
    };
    opcode | rt << 16 | counter << 1
}

const ALL: [(&str, (platform::models::r10000::Direction, Kind)); 4] = [
    ("mfps", (From, Kind::Control)),
    ("mfpc", (From, Kind::Counter)),
    ("mtps", (To, Kind::Control)),
    ("mtpc", (To, Kind::Counter)),
];

#[test]
fn words_as_an_assembler_writes_them() {
    for (direction, kind, counter, rt, word) in [
        (From, Kind::Control, Pic0, 2, 0x4002_c800),
        (From, Kind::Counter, Pic0, 2, 0x4002_c801),
        (From, Kind::Control, Pic1, 2, 0x4002_c802),
        (From, Kind::Counter, Pic1, 2, 0x4002_c803),
        (To, Kind::Control, Pic0, 31, 0x409f_c800),
        (To, Kind::Counter, Pic1, 31, 0x409f_c803),
    ] {
        let performance_move = PerformanceMove::new(direction, kind, counter, rt);
        assert_eq!(performance_move.unwrap().encode(), word);
    }
    assert_eq!(PerformanceMove::new(To, Kind::Control, Pic0, 32), None);
}

/// All 256 moves are encoded and decoded. A word with only the upper 16 bits of a move, or with one bit changed, is not a move.
#[test]
fn every_word_of_a_move_and_no_other() {
    let mut words = HashSet::new();
    for (text, (direction, kind)) in ALL {
        for rt in 0..32 {
            for counter in Counter::ALL.iter().copied() {
                let word = word(text, rt, counter as u32);
                let decoded = PerformanceMove::decode(word).unwrap();
                let expected = PerformanceMove::new(direction, kind, counter, rt as u8);
                assert_eq!(Some(decoded), expected, "{word:#x}");
                assert_eq!((decoded.encode(), decoded.rt()), (word, rt as usize));
                words.insert(word);
            }
        }
    }
    assert_eq!(words.len(), 256);
    for word in &words {
        for bit in 0..32 {
            let other = word ^ 1 << bit;
            let decoded = PerformanceMove::decode(other).is_some();
            assert_eq!(decoded, words.contains(&other), "{other:#x}");
        }
    }
    for upper in [0x4002_u32, 0x4082, 0x4000, 0x409f, 0x4042, 0x40c2] {
        for lower in 0..=0xffff {
            let other = upper << 16 | lower;
            let decoded = PerformanceMove::decode(other).is_some();
            assert_eq!(decoded, words.contains(&other), "{other:#x}");
        }
    }
}

fn execute(unit: &mut R10000, word: u32, general: &mut [u64; 32]) {
    unit.execute(PerformanceMove::decode(word).unwrap(), general);
}

#[test]
fn moves_write_and_read_the_registers() {
    let mut unit = R10000::new();
    let mut general = [0; 32];
    general[4] = 0xdead_beef_ffff_ffff;
    general[5] = 0x7fff_fff0;
    execute(&mut unit, word("mtps", 4, 0), &mut general);
    execute(&mut unit, word("mtpc", 5, 0), &mut general);
    execute(&mut unit, word("mtpc", 4, 1), &mut general);
    assert_eq!(unit.control(Pic0).into_bits(), 0x1ff, "bits 31:9 stay 0");
    assert_eq!(unit.control(Pic1).into_bits(), 0);
    let counts = [Pic0, Pic1].map(|counter| unit.read(counter));
    assert_eq!(counts, [0x7fff_fff0, 0xffff_ffff]);

    execute(&mut unit, word("mfps", 6, 0), &mut general);
    execute(&mut unit, word("mfpc", 7, 0), &mut general);
    execute(&mut unit, word("mfpc", 8, 1), &mut general);
    execute(&mut unit, word("mfps", 9, 1), &mut general);
    let read = [general[6], general[7], general[8], general[9]];
    assert_eq!(read, [0x1ff, 0x7fff_fff0, u64::MAX, 0]);
}

#[test]
fn general_register_0_stays_0() {
    let mut unit = R10000::new();
    let mut general = [0; 32];
    unit.write(Pic0, 77);
    execute(&mut unit, word("mfpc", 0, 0), &mut general);
    assert_eq!(general, [0; 32]);
    execute(&mut unit, word("mtpc", 0, 0), &mut general);
    assert_eq!(unit.read(Pic0), 0);
}
