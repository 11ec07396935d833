//! The machine around a strand: the memory, devices and registers outside the interpreter.

use std::rc::Rc;

use simulator::interpreter::{At, CounterRegister, Environment, Instruction, Level, Trap, Word};

use super::image::Image;
use super::state::{State, Symbolic, block, datum_mask, part, place};

/// An effect of a strand beyond its integer registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect<W> {
    /// A load from a device.
    Load {
        address: W,
        shift: u8,
    },
    /// A store to a device or to memory.
    Store {
        address: W,
        shift: u8,
        value: W,
    },
    /// A compare-and-swap in memory that found the expected value.
    Swap {
        address: W,
        shift: u8,
        value: W,
    },
    /// A load or a store of an addressed register: the address space, the address, and the stored value.
    Register {
        space: u8,
        address: W,
        value: Option<W>,
    },
    Membar(u8),
    ReadPcr,
    WritePcr(W),
    /// A write to the strand status register: 0 halts the strand.
    Halt(W),
}

/// The machine around one strand.
#[derive(Clone, Debug)]
pub(crate) struct World<'a, W> {
    pub(crate) image: &'a Image,
    pub(crate) state: Rc<State<W>>,
    /// The address and the 32-bit word of an instruction that replaces the image's instruction.
    pub(crate) change: Option<(u64, u32)>,
    pub(crate) effects: Vec<Effect<W>>,
    /// The stored words, each with its address, in the order of the stores.
    stored: Vec<(W, W)>,
}

impl<'a, W: Symbolic> World<'a, W> {
    pub(crate) fn new(image: &'a Image, state: &Rc<State<W>>) -> Self {
        let (effects, stored) = (Vec::new(), Vec::new());
        Self { image, state: Rc::clone(state), change: None, effects, stored }
    }

    /// Returns `true` if both worlds have the same effects and stores.
    pub(crate) fn has_same_effects(&self, other: &Self) -> bool {
        (&self.effects, &self.stored) == (&other.effects, &other.stored)
    }

    /// Returns the eight-byte word at an address.
    fn cell(&self, address: W) -> W {
        // These two words change during a call: other strands change the first, and failed stores' reports change the second.
        let is = |described| address.is_same(described);
        if is(self.state.access_at) && self.swaps() {
            return self.state.access_again;
        }
        if let Some(word) = address.known().ok().and_then(|at| self.image.constant(at)) {
            return W::from(word);
        }
        // The word comes from the newest store that is certainly to this address. A later store may turn out to have the same address; its
        // word then replaces the older one.
        if let Some(last) = self.stored.iter().rposition(|(at, _)| at.is_same(address)) {
            let (_, word) = self.stored[last];
            return Self::newest(&self.stored[last + 1..], address, word);
        }
        if is(self.state.block.plus(W::from(block::REPORTS))) {
            return self.state.reports[self.membars().min(2)];
        }
        Self::newest(&self.stored, address, self.state.word(address))
    }

    fn swaps(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Swap { .. }))
    }

    fn membars(&self) -> usize {
        self.effects.iter().filter(|effect| **effect == Effect::Membar(0x40)).count()
    }

    fn newest(stores: &[(W, W)], address: W, word: W) -> W {
        stores.iter().fold(word, |word, (at, stored)| {
            W::if_then_else((*at ^ address).zero_bit(), *stored, word)
        })
    }

    fn datum(&self, address: W, shift: u8) -> W {
        part(self.cell(address & !W::from(7)), address, shift)
    }

    /// Sets the eight-byte word at an address: its initial value, or the value that Rust code leaves.
    pub(crate) fn put(&mut self, address: W, word: W) {
        self.stored.push((address, word));
    }

    /// Returns the eight-byte word at an address.
    pub(crate) fn word(&self, address: W) -> W {
        self.cell(address)
    }

    fn written(&mut self, address: W, shift: u8, value: W) {
        let cell = address & !W::from(7);
        let value = match shift {
            3 => value,
            _ => {
                let (from, mask): (W, W) = (place(address, shift), datum_mask(shift));
                self.cell(cell) & !(mask << from) | (value & mask) << from
            }
        };
        self.stored.push((cell, value));
    }

    /// Returns `true` if an address belongs to a device. Traps if the address space is neither for memory nor for devices.
    fn is_device(&self, at: At<W>) -> Result<bool, Trap> {
        if !is_memory(at) {
            return Err(ELSEWHERE);
        }
        Ok(!(at.address >> W::from(39)).is_zero())
    }
}

fn is_memory<W>(at: At<W>) -> bool {
    matches!(at.space, 0x04 | 0x80) && at.level == Level::Hyperprivileged
}

/// The trap of an access that this world does not model.
pub(crate) const ELSEWHERE: Trap = Trap::software(1);

/// The hypervisor's addressed registers: for each, an address space, an address, and the address bits that distinguish registers of its
/// kind.
pub(crate) mod register {
    /// The scratchpad registers that hold the addresses of the strand's block and of the next report's frame.
    pub(crate) const BLOCK: (u8, u64, u64) = (0x4f, 0x20, 0);
    pub(crate) const FRAME: (u8, u64, u64) = (0x4f, 0x28, 0);
    /// The deferred error status register, which is cleared when read, and the addresses in the store buffer.
    pub(crate) const DFESR: (u8, u64, u64) = (0x4c, 8, 0);
    pub(crate) const STORE_BUFFER: (u8, u64, u64) = (0x4a, 0xc0, 0x38);
    /// The addresses that missed the TLBs, for instruction fetches and for data, and the addresses at which each TLB's entries are written.
    pub(crate) const MISSED: [(u8, u64, u64); 2] = [(0x50, 0x30, 0), (0x58, 0x30, 0)];
    pub(crate) const ENTRY: [(u8, u64, u64); 2] = [(0x54, 0x600, 0), (0x5c, 0x600, 0)];
    /// The guest's own scratchpad.
    pub(crate) const OF_GUEST: (u8, u64, u64) = (0x20, 0, 0x38);
    pub(super) const READABLE: [(u8, u64, u64); 6] =
        [BLOCK, FRAME, DFESR, STORE_BUFFER, MISSED[0], MISSED[1]];
    pub(super) const WRITABLE: [(u8, u64, u64); 4] = [FRAME, ENTRY[0], ENTRY[1], OF_GUEST];
}

/// Returns an address for a register's word, beyond all memory addresses.
pub(crate) fn register_at<W: Word>(space: u8, address: W) -> W {
    address | W::from(u64::from(space) << 48)
}

fn is_register<W: Symbolic>(at: At<W>, shift: u8, all: &[(u8, u64, u64)]) -> bool {
    let is = |(space, address, differ): &(u8, u64, u64)| {
        at.space == *space && at.address & W::from(!differ) == W::from(*address)
    };
    shift == 3 && at.level == Level::Hyperprivileged && all.iter().any(is)
}

impl<W: Symbolic> Environment<W> for World<'_, W> {
    fn fetch(&mut self, address: u64, _: Level) -> Result<Instruction, Trap> {
        if let Some((changed, word)) = self.change
            && changed == address
        {
            return Ok(Instruction::decode(word));
        }
        self.image.instruction(address).ok_or(Trap::INSTRUCTION_ACCESS_ERROR)
    }

    fn load(&mut self, at: At<W>, shift: u8) -> Result<W, Trap> {
        if is_register(at, shift, &register::READABLE) {
            let At { space, address, .. } = at;
            let place = register_at(space, address);
            let value = self.cell(place);
            if space == register::DFESR.0 {
                self.stored.push((place, W::from(0)));
            }
            if space != register::BLOCK.0 {
                self.effects.push(Effect::Register { space, address, value: None });
            }
            return Ok(value);
        }
        if self.is_device(at)? {
            self.effects.push(Effect::Load { address: at.address, shift });
        }
        Ok(self.datum(at.address, shift))
    }

    fn store(&mut self, at: At<W>, shift: u8, value: W) -> Result<(), Trap> {
        if is_register(at, shift, &register::WRITABLE) {
            let At { space, address, .. } = at;
            self.effects.push(Effect::Register { space, address, value: Some(value) });
            self.stored.push((register_at(space, address), value));
            return Ok(());
        }
        self.is_device(at)?;
        let value = if shift == 3 { value } else { value & datum_mask(shift) };
        self.effects.push(Effect::Store { address: at.address, shift, value });
        self.written(at.address, shift, value);
        Ok(())
    }

    fn change(&mut self, at: At<W>, shift: u8, changed: impl FnOnce(W) -> W) -> Result<W, Trap> {
        if self.is_device(at)? {
            return Err(ELSEWHERE);
        }
        let old = self.datum(at.address, shift);
        let value = changed(old);
        let value = if shift == 3 { value } else { value & datum_mask(shift) };
        // A failed comparison changes nothing.
        if value != old {
            self.effects.push(Effect::Swap { address: at.address, shift, value });
            self.written(at.address, shift, value);
        }
        Ok(old)
    }

    fn read(&mut self, register: CounterRegister, _: Level) -> Result<W, Trap> {
        match register {
            CounterRegister::Pcr => {
                self.effects.push(Effect::ReadPcr);
                Ok(self.state.pcr)
            }
            CounterRegister::Stick => Ok(self.state.stick),
            _ => Err(ELSEWHERE),
        }
    }

    fn write(&mut self, register: CounterRegister, value: W, _: Level) -> Result<(), Trap> {
        match register {
            CounterRegister::Pcr => self.effects.push(Effect::WritePcr(value)),
            CounterRegister::Status => self.effects.push(Effect::Halt(value)),
            _ => return Err(ELSEWHERE),
        }
        Ok(())
    }

    fn membar(&mut self, mask: u8) -> Result<(), Trap> {
        self.effects.push(Effect::Membar(mask));
        Ok(())
    }
}
