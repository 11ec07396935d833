//! Models a strand's two counters: %pcr, %pic, and bit 15 of %softint.

use super::event::Event;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// User code. Its events are counted if UT is set.
    User,
    /// Privileged code. Its events are counted if ST is set.
    Privileged,
    /// Hyperprivileged code. Its events are counted if HT is set.
    Hyperprivileged,
}

/// What a strand does in one clock.
#[derive(Clone, Debug)]
pub struct StrandClock {
    pub level: Level,
    /// %pil, the interrupt level up to which interrupts are masked: 0 to 15.
    pub pil: u8,
    /// Whether PSTATE.IE is set.
    pub interrupts: bool,
    /// The events of instructions that are not flushed.
    pub events: Vec<Event>,
    /// The events of an instruction that is flushed because it traps.
    pub flushed: Vec<Event>,
}

impl StrandClock {
    /// Returns whether the strand issues an instruction, which may be flushed.
    pub fn issues(&self) -> bool {
        self.events.iter().chain(&self.flushed).any(|event| matches!(event, Event::Issues(_)))
    }

    /// Returns whether a level 15 interrupt can trap in this clock.
    fn can_trap(&self) -> bool {
        self.pil < 15 && self.interrupts && self.level != Level::Hyperprivileged && self.issues()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// %pcr, ancillary state register 16.
    Pcr,
    /// %pic, ancillary state register 17.
    Pic,
    /// %softint. The model has only bit 15. Other bits read as 0, and writes to them are dropped.
    Softint,
}

/// The error of a register access that traps. Such an access has no other effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trapped;

/// The ways in which the counters of machines differ.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The maximum number of events by which a trap can come early, before the wrap: 0 to 15. The
    /// hardware has 15. With TOE, an event that finds PIC in -(skid + 1)..=-1 sets OV and requests
    /// a trap. After the event, PIC reads -skid to 0.
    pub skid: u8,
    /// With `None`, PIC includes an event as soon as the event's clock has ended. With `Some(phase)`, 0 to 7, PIC is updated at the start
    /// of each clock whose number modulo 8 equals the phase, as in hardware. The first clock is number 0.
    pub phase: Option<u8>,
}

/// Whether the counters request a trap in one clock, and whether the strand can take it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the counters request a trap in this clock.
    pub request: bool,
    /// Whether the strand can take the trap for bit 15 of %softint in this clock: interrupt level 15, trap type 0x4f.
    pub trap: bool,
}

/// One strand's counters. Initially, all bits are 0.
#[derive(Clone, Debug, Default)]
pub struct Strand {
    options: Options,
    clock: u64,
    /// Bits 31:0 of %pcr; the other bits read as 0. Counters 1 and 0 have OV in bits 31 and 18, SL in bits 30:27 and 17:14, MASK in bits
    /// 26:19 and 13:6, and TOE in bits 5 and 4. Both counters share HT (bit 3), UT (bit 2), ST (bit 1) and PRIV (bit 0).
    pcr: u64,
    pic: [u32; 2],
    /// For each counter, the number of events (at most 8) that are waiting for the next update of PIC.
    waiting: [u32; 2],
    softint_15: bool,
}

const HT: u64 = 1 << 3;
const UT: u64 = 1 << 2;
const ST: u64 = 1 << 1;
const PRIV: u64 = 1 << 0;
const OV: [u64; 2] = [1 << 18, 1 << 31];
const TOE: [u64; 2] = [1 << 4, 1 << 5];
/// The register does not store HOLDOV, which acts only on the write that carries it.
const HOLDOV: [u64; 2] = [1 << 62, 1 << 63];

impl Strand {
    pub fn new(options: Options) -> Self {
        assert!(options.skid <= 15 && options.phase.is_none_or(|phase| phase <= 7));
        let reset = Self::default();
        Self { options, ..reset }
    }

    pub fn read(&self, register: Register, level: Level) -> Result<u64, Trapped> {
        self.check(register, level)?;
        Ok(match register {
            Register::Pcr => self.pcr,
            Register::Pic => u64::from(self.pic[1]) << 32 | u64::from(self.pic[0]),
            Register::Softint => u64::from(self.softint_15) << 15,
        })
    }

    pub fn write(&mut self, register: Register, level: Level, value: u64) -> Result<(), Trapped> {
        self.check(register, level)?;
        match register {
            Register::Pcr => self.write_pcr(level, value),
            Register::Pic => {
                self.pic = [value as u32, (value >> 32) as u32];
                if self.update_is_next() {
                    // The written value replaces the waiting events.
                    self.waiting = [0, 0];
                }
            }
            Register::Softint => self.softint_15 = value >> 15 & 1 != 0,
        }
        Ok(())
    }

    /// Executes one clock of the strand. `core_is_idle` says that no strand of the core issues an instruction in this clock.
    pub fn clock(&mut self, input: &StrandClock, core_is_idle: bool) -> Outcome {
        if self.update_is_next() {
            self.update();
        }
        let counting = match input.level {
            Level::User => self.pcr & UT != 0,
            Level::Privileged => self.pcr & ST != 0,
            Level::Hyperprivileged => self.pcr & HT != 0,
        };
        let mut request = false;
        for n in 0..2 {
            let happens = counting && self.selects(n, &input.events, core_is_idle);
            let is_flushed = counting && self.selects(n, &input.flushed, core_is_idle);
            let counts = happens || is_flushed && self.sl(n) & 8 != 0;
            // The distance to the wrap: 1 at -1, 16 at -16.
            let below_wrap = (1 << 32) - u64::from(self.pic[n]);
            let is_near = below_wrap <= u64::from(self.options.skid) + 1;
            if self.pcr & TOE[n] != 0 && is_near {
                request |= happens || is_flushed;
                if counts {
                    self.pcr |= OV[n];
                }
            }
            if counts {
                self.waiting[n] += 1;
            }
        }
        self.clock += 1;
        if self.options.phase.is_none() {
            self.update();
        }
        request |= (0..2).any(|n| self.pcr & OV[n] != 0 && self.pcr & TOE[n] != 0);
        let can_trap = input.can_trap();
        self.softint_15 |= request && can_trap;
        let trap = self.softint_15 && can_trap;
        Outcome { request, trap }
    }

    fn check(&self, register: Register, level: Level) -> Result<(), Trapped> {
        let user_may = register == Register::Pic && self.pcr & PRIV == 0;
        let may = level != Level::User || user_may;
        if may { Ok(()) } else { Err(Trapped) }
    }

    fn write_pcr(&mut self, level: Level, value: u64) {
        let (before, sl_before) = (self.pcr, [self.sl(0), self.sl(1)]);
        let mut kept = 0;
        for n in 0..2 {
            if value & HOLDOV[n] != 0 {
                kept |= OV[n];
            }
        }
        if level != Level::Hyperprivileged {
            kept |= HT;
        }
        self.pcr = before & kept | value & !kept & 0xffff_ffff;
        // If a write of %pcr clears UT, ST or HT, or changes SL, the waiting events are lost.
        let level_is_lost = before & !self.pcr & (HT | UT | ST) != 0;
        for (n, sl) in sl_before.into_iter().enumerate() {
            if level_is_lost || self.sl(n) != sl {
                self.waiting[n] = 0;
            }
        }
    }

    fn update_is_next(&self) -> bool {
        self.options.phase.is_some_and(|phase| self.clock % 8 == u64::from(phase))
    }

    fn update(&mut self) {
        for (n, ov) in OV.into_iter().enumerate() {
            let (pic, wraps) = self.pic[n].overflowing_add(self.waiting[n]);
            self.pic[n] = pic;
            self.waiting[n] = 0;
            if wraps {
                self.pcr |= ov;
            }
        }
    }

    fn sl(&self, n: usize) -> u8 {
        (self.pcr >> [14, 27][n] & 0xf) as u8
    }

    fn mask(&self, n: usize) -> u8 {
        (self.pcr >> [6, 19][n] & 0xff) as u8
    }

    /// Returns `true` if counter `n` selects one of the events, or selects idle clocks in an idle clock.
    fn selects(&self, n: usize, events: &[Event], core_is_idle: bool) -> bool {
        let class = self.sl(n) & 7;
        let mut raised = events.iter().map(|event| event.counted_by());
        match class {
            0 => core_is_idle,
            _ => raised.any(|(sl, mask)| sl == class && mask & self.mask(n) != 0),
        }
    }
}
