//! Calls at random, and changes of the machine between them, made alike by a guest in QEMU and by a program on the host:
//! what they answer must be the same.
#![no_std]
#![forbid(unsafe_code)]

pub mod control;
mod random;
pub mod scenario;

use guest_abi::{Registers, Trap};

use control::Control;
use random::Random;

/// Where calls go, and changes.
pub trait System {
    /// Makes a call.
    fn trap(&mut self, trap: Trap, registers: &mut Registers);

    /// Changes the machine, or who calls.
    fn control(&mut self, control: Control);
}

/// How many calls a block has.
pub const BLOCK: usize = 500;

/// How many blocks a scenario has.
pub const BLOCKS: usize = 6;

/// Makes the calls of a scenario; after each block says what has been answered so far, in one number.
pub fn run(scenario: u64, system: &mut impl System, mut block: impl FnMut(usize, u64)) {
    let mut random = Random::new(scenario);
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for number in 0..BLOCKS {
        for _ in 0..BLOCK {
            if random.one_in(12) {
                system.control(random.control());
            }
            let (trap, mut registers) = random.call();
            system.trap(trap, &mut registers);
            for value in registers.to_array() {
                digest = (digest ^ value)
                    .wrapping_mul(0x100_0000_01b3)
                    .rotate_left(23);
            }
        }
        block(number, digest);
    }
}
