//! The CORE group: CPUs, time, console and machine description.

use core::array;
use core::ops::RangeInclusive;

use guest_abi::{ApiGroup, HvError, Registers, StrandId, Version};
use hv_core::sync::{AtomicU32, Ordering};
use hv_core::{CallError, Caller, ConsoleOutput, Group, GuestId, Negotiated, Reply, Service};

use super::cpus::{Cpus, Start};
use super::description::Description;
use super::group::{Calls, GroupContext};
use super::image::{ConsoleInput, Image};
use guest_abi::kernel::{
    CONS_GETCHAR, CONS_PUTCHAR, CONS_WRITE, CPU_MYID, CPU_QCONF, CPU_START, CPU_STATE, CPU_STOP,
    CPU_YIELD, MACH_DESC, MACH_EXIT, TOD_GET, TOD_SET,
};

/// The number of times that cpu_stop checks whether the other strand has stopped. After the last check, cpu_stop returns EWOULDBLOCK.
pub const STOP_TRIES: usize = 100_000;
/// The maximum number of bytes that one cons_write sends.
const MAX_WRITE: u64 = 256;
/// The interrupt queues, by number: from the CPU mondo queue to the nonresumable error queue.
const QUEUES: RangeInclusive<u64> = 0x3c..=0x3f;
/// The size of an instruction in bytes, which is also its alignment.
const INSTRUCTION: u64 = 4;
/// The alignment of a trap table in bytes. At least this number of bytes of the table must be in the guest's memory.
const TRAP_TABLE: u64 = 256;

/// The CORE group, version 1.0.
#[derive(Debug)]
pub struct CoreGroup<I> {
    image: I,
    cpus: Cpus,
    /// For each guest: 1 from its end until its reset, otherwise 0.
    ended: [AtomicU32; GuestId::COUNT],
}

impl<I: Image> CoreGroup<I> {
    /// Returns the group with all CPUs of all guests stopped.
    pub fn new(image: I) -> Self {
        Self { image, cpus: Cpus::default(), ended: array::from_fn(|_| AtomicU32::new(0)) }
    }

    /// Returns the virtual CPUs of all guests.
    pub const fn cpus(&self) -> &Cpus {
        &self.cpus
    }

    /// Ends a guest. From then on, none of its strands can start. Strand `on` has left the guest already. Every other strand that executes
    /// the guest receives the command to leave it. When [`is_stopped`](Self::is_stopped) returns `true`, all strands have left the guest.
    pub fn end(&self, guest: GuestId, on: StrandId) {
        self.ended_word(guest).store(1, Ordering::SeqCst);
        for strand in self.strands(guest) {
            if strand == on {
                self.cpus.mark_stopped(strand);
            } else if self.cpus.end(strand) {
                self.image.notify(strand);
            }
        }
    }

    /// Returns `true` if a guest has ended and has not been reset since.
    pub fn has_ended(&self, guest: GuestId) -> bool {
        self.ended_word(guest).load(Ordering::SeqCst) != 0
    }

    /// Returns `true` if no strand executes the guest.
    pub fn is_stopped(&self, guest: GuestId) -> bool {
        self.strands(guest).all(|strand| self.cpus.state(strand) != super::CpuState::Running)
    }

    fn strands(&self, guest: GuestId) -> impl Iterator<Item = StrandId> {
        (0..).map_while(move |cpu| self.image.strand(guest, cpu))
    }

    fn ended_word(&self, guest: GuestId) -> &AtomicU32 {
        &self.ended[guest.index()]
    }
}

impl<I: Image> Group for CoreGroup<I> {
    const NUMBER: ApiGroup = ApiGroup::CORE;
    const VERSIONS: &'static [Version] = &[Version::V1_0];
    const FUNCTIONS: &'static [u64] = &[
        MACH_EXIT,
        MACH_DESC,
        CPU_START,
        CPU_STOP,
        CPU_YIELD,
        CPU_QCONF,
        CPU_MYID,
        CPU_STATE,
        TOD_GET,
        TOD_SET,
        CONS_GETCHAR,
        CONS_PUTCHAR,
        CONS_WRITE,
    ];
}

impl<I: Image> Service for CoreGroup<I> {
    type Group = Self;
    type Context<'a>
        = GroupContext<'a, Self>
    where
        I: 'a;

    fn context<'a>(&'a self, caller: Caller, _: &'a Negotiated<Self>) -> GroupContext<'a, Self> {
        GroupContext { group: self, caller }
    }

    /// Call this function only after the guest has ended and all its strands have stopped.
    fn guest_reset(&self, guest: GuestId, _: StrandId) {
        self.ended_word(guest).store(0, Ordering::SeqCst);
    }
}

impl<I: Image> Calls for CoreGroup<I> {
    fn call(
        &self,
        caller: Caller,
        function: u64,
        registers: &Registers,
    ) -> Result<Reply, CallError> {
        let Registers { o0, o1, o2, o3, .. } = *registers;
        let image = &self.image;
        match function {
            MACH_EXIT => {
                self.end(caller.guest, caller.strand);
                image.exited(caller, o0);
                Ok(Reply::Done)
            }
            MACH_DESC => self.describe(caller, o0, o1),
            CPU_START => {
                let start = Start { pc: o1, rtba: o2, argument: o3 };
                self.start(caller, o0, start)
            }
            CPU_STOP => self.stop(caller, o0),
            CPU_YIELD => {
                image.suspend(caller);
                Ok(Reply::Done)
            }
            CPU_QCONF => queue(o0, o2),
            CPU_MYID => Ok(Reply::Value(image.cpu(caller))),
            CPU_STATE => {
                let strand = self.strand(caller, o0)?;
                Ok(Reply::Value(self.cpus.state(strand) as u64))
            }
            TOD_GET => Ok(Reply::Value(image.time_of_day(caller)?)),
            TOD_SET => {
                image.set_time_of_day(caller, o0)?;
                Ok(Reply::Done)
            }
            CONS_GETCHAR => match image.console_input(caller) {
                Some(ConsoleInput::Byte(byte)) => Ok(Reply::Value(byte.into())),
                Some(ConsoleInput::Break) => Ok(Reply::Value(-1_i64 as u64)),
                Some(ConsoleInput::HangUp) => Ok(Reply::Value(-2_i64 as u64)),
                None => Err(HvError::WouldBlock.into()),
            },
            CONS_PUTCHAR => {
                let output = ConsoleOutput::from_argument(o0).ok_or(HvError::Invalid)?;
                image.console(caller, output)?;
                Ok(Reply::Done)
            }
            CONS_WRITE => self.write(caller, o0, o1),
            _ => Err(HvError::BadTrap.into()),
        }
    }
}

impl<I: Image> CoreGroup<I> {
    fn strand(&self, caller: Caller, cpu: u64) -> Result<StrandId, HvError> {
        let strand = self.image.strand(caller.guest, cpu);
        strand.ok_or(HvError::NoCpu)
    }

    fn start(&self, caller: Caller, cpu: u64, start: Start) -> Result<Reply, CallError> {
        let strand = self.strand(caller, cpu)?;
        let memory = self.image.memory(caller.guest);
        memory.contains(start.pc, INSTRUCTION)?;
        memory.contains(start.rtba, TRAP_TABLE)?;
        memory.check(start.pc, INSTRUCTION, INSTRUCTION)?;
        memory.check(start.rtba, TRAP_TABLE, TRAP_TABLE)?;
        let ended = || self.has_ended(caller.guest);
        self.cpus.start_unless(strand, start, ended)?;
        self.image.notify(strand);
        Ok(Reply::Done)
    }

    /// Stops another strand, and waits until it has stopped. Gives up if the calling strand must stop too, because two strands that stop
    /// each other would wait forever.
    fn stop(&self, caller: Caller, cpu: u64) -> Result<Reply, CallError> {
        let (image, cpus) = (&self.image, &self.cpus);
        let strand = self.strand(caller, cpu)?;
        if strand == caller.strand {
            return Err(HvError::Invalid.into());
        }
        if cpus.is_stopping(caller.strand) {
            return Err(HvError::WouldBlock.into());
        }
        cpus.ask_to_stop(strand)?;
        image.notify(strand);
        for _ in 0..STOP_TRIES {
            if !cpus.is_stopping(strand) {
                return Ok(Reply::Done);
            }
            if cpus.is_stopping(caller.strand) {
                break;
            }
            hv_core::sync::spin_loop();
        }
        if !cpus.cancel_stop(strand) {
            return Ok(Reply::Done);
        }
        // If the guest has ended in the meantime, the other strand must stop even though the caller has withdrawn its request.
        if self.has_ended(caller.guest) && cpus.end(strand) {
            image.notify(strand);
        }
        Err(HvError::WouldBlock.into())
    }

    /// Copies the machine description to `real`. Checks the size first: a guest that requests only
    /// the size passes no valid address.
    fn describe(&self, caller: Caller, real: u64, room: u64) -> Result<Reply, CallError> {
        let image = &self.image;
        let cpus = self.strands(caller.guest).count() as u64;
        let memory = image.memory(caller.guest);
        let description = Description::new(image.platform(), cpus, memory);
        let size = description.size();
        if size > room {
            return Err(CallError { status: HvError::Invalid, value: Some(size) });
        }
        memory.check(real, size, 16)?;
        for word in 0..size / 8 {
            let strand = |cpu| image.strand(caller.guest, cpu).map_or(0, StrandId::number);
            let value = description.word(word, strand);
            image.store(caller.guest, real + 8 * word, value);
        }
        Ok(Reply::Value(size))
    }

    /// Sends bytes from the guest's memory to the guest's console, until the console accepts no more. Sends at most `MAX_WRITE` bytes.
    fn write(&self, caller: Caller, real: u64, size: u64) -> Result<Reply, CallError> {
        let image = &self.image;
        if size != 0 {
            image.memory(caller.guest).contains(real, size)?;
        }
        for written in 0..size.min(MAX_WRITE) {
            let at = real + written;
            let word = image.load(caller.guest, at & !7);
            let byte = (word >> (56 - at % 8 * 8)) as u8;
            match image.console(caller, ConsoleOutput::Byte(byte)) {
                Ok(()) => {}
                Err(error) if written == 0 => return Err(error.into()),
                Err(_) => return Ok(Reply::Value(written)),
            }
        }
        Ok(Reply::Value(size.min(MAX_WRITE)))
    }
}

/// Answers like a hypervisor without interrupt queues: a guest can remove any queue, but cannot configure one.
fn queue(queue: u64, entries: u64) -> Result<Reply, CallError> {
    match (QUEUES.contains(&queue), entries) {
        (false, _) => Err(HvError::Invalid.into()),
        (true, 0) => Ok(Reply::Done),
        (true, _) => Err(HvError::NotSupported.into()),
    }
}
