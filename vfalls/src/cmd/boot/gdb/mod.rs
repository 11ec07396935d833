//! Serves gdb's remote protocol. Strands are threads.
//!
//! A breakpoint has the address that software uses, and stops every strand. In a guest, a strand reads and writes the guest's memory by
//! real address; in the hypervisor, all memory by physical address. A step of a guest executes a whole hypercall or trap.

mod arch;

use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use gdbstub::common::{Signal, Tid};
use gdbstub::conn::ConnectionExt;
use gdbstub::stub::run_blocking::{BlockingEventLoop, Event, WaitForStopReasonError};
use gdbstub::stub::{DisconnectReason, GdbStub, MultiThreadStopReason};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::multithread::{
    MultiThreadBase, MultiThreadResume, MultiThreadResumeOps, MultiThreadSingleStep,
    MultiThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, SwBreakpoint, SwBreakpointOps,
};
use gdbstub::target::ext::thread_extra_info::{ThreadExtraInfo, ThreadExtraInfoOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use guest_abi::StrandId;
use platform::memory_map::{PARTITION, REAL};
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, State, Stop};
use simulator::interpreter::Level;

use crate::cmd::boot::BATCH;
use crate::cmd::boot::consoles::Consoles;
use crate::cmd::boot::description::Complete;
use crate::interrupt::{self, Interrupted};
use crate::say::say;
use arch::{SparcRegisters, SparcV9};

/// A machine that gdb debugs.
pub(crate) struct Debugged<'a> {
    pub(crate) execution: &'a mut Execution,
    pub(crate) consoles: &'a mut Consoles,
    pub(crate) complete: &'a Complete,
    /// The size of each guest's memory, in bytes.
    pub(crate) memory: u64,
    pub(crate) output: &'a mut dyn Write,
    /// The strand to step; `None` if all strands go on.
    pub(crate) steps: Option<StrandId>,
    /// The stop after which nothing executes any more.
    pub(crate) ended: Option<Stop>,
}

/// The pause between two looks for a connection.
const PAUSE: Duration = Duration::from_millis(20);

impl Debugged<'_> {
    /// Executes up to the first guest's entry, waits for gdb at a port of this computer, and serves gdb. Returns the reason of the
    /// machine's stop; `None` if gdb has detached.
    pub(crate) fn debug(mut self, port: u16) -> anyhow::Result<Option<Stop>> {
        let entry = self.complete.images[0].entry;
        self.execution.breakpoints().insert(entry);
        let stop = self.execution.run(Limits::NONE);
        self.execution.breakpoints().remove(&entry);
        if !matches!(stop, Stop::Breakpoint(_)) {
            return Ok(Some(stop));
        }
        let connection = connect(port)?;
        let session = GdbStub::new(connection).run_blocking::<Session<'_>>(&mut self);
        match session {
            Ok(DisconnectReason::Kill) => bail!("the debugger has ended the execution"),
            Ok(_) => {
                self.execution.breakpoints().clear();
                Ok(self.ended)
            }
            Err(_) if interrupt::happened() => bail!(Interrupted),
            Err(error) => Err(anyhow!("the debugger's connection: {error}")),
        }
    }

    /// Executes a step, or a batch of instructions. Returns the stop to report to gdb, if there is one.
    fn execute(&mut self) -> Result<Option<MultiThreadStopReason<u64>>, io::Error> {
        let signal = |strand, signal| {
            Some(MultiThreadStopReason::SignalWithThread { tid: tid(strand), signal })
        };
        let stop = match self.steps {
            Some(strand) => match self.step(strand) {
                Some(stop) => stop,
                None => return Ok(signal(strand, Signal::SIGTRAP)),
            },
            None => self.execution.run(Limits::instructions(BATCH)),
        };
        self.consoles.show(self.execution, &mut self.output)?;
        if interrupt::happened() {
            return Err(ErrorKind::Interrupted.into());
        }
        Ok(match stop {
            Stop::Limit if self.consoles.ended(0).is_none() => None,
            Stop::Breakpoint(strand) => Some(MultiThreadStopReason::SwBreak(tid(strand))),
            Stop::ErrorState { strand, .. } => {
                self.ended = Some(stop);
                signal(strand, Signal::SIGABRT)
            }
            Stop::Limit | Stop::Ended | Stop::Off => {
                self.ended = Some(stop);
                let mut guests = 0..self.complete.guests.len();
                let good = guests.all(|guest| {
                    self.consoles.ended(guest) == Some(0)
                        || self.execution.guest(guest) == GuestState::Exited(0)
                });
                Some(MultiThreadStopReason::Exited(u8::from(!good)))
            }
        })
    }

    /// Steps a strand. A step of a guest includes the hypervisor's instructions after it. Returns `None` after the step, or the reason
    /// of an earlier stop.
    fn step(&mut self, strand: StrandId) -> Option<Stop> {
        let from = self.execution.strand(strand).level();
        for _ in 0..BATCH {
            let stop = match self.execution.step(strand) {
                Some(stop) => stop,
                // The strand waits for other strands.
                None => self.execution.run(Limits::instructions(1)),
            };
            if stop != Stop::Limit {
                return Some(stop);
            }
            let level = self.execution.strand(strand).level();
            if from == Level::Hyperprivileged || level < Level::Hyperprivileged {
                return None;
            }
        }
        // The strand stays in the hypervisor: it may wait for other strands, which execute now.
        Some(self.execution.run(Limits::instructions(BATCH)))
    }

    /// Returns the strands of all guests, each with the name of its guest.
    fn strands(&self) -> impl Iterator<Item = (&str, StrandId)> {
        let guests = self.complete.guests.iter();
        guests.flat_map(|guest| {
            let strands = guest.config.strands.iter();
            strands.map(|strand| (&*guest.name, strand))
        })
    }

    /// Returns the physical address of `size` bytes at an address of a strand; `None` outside of its guest's memory.
    fn physical(&self, strand: StrandId, address: u64, size: usize) -> Option<u64> {
        if self.execution.strand(strand).level() == Level::Hyperprivileged {
            return Some(address);
        }
        let mut guests = self.complete.guests.iter();
        let guest = guests.position(|guest| guest.config.strands.has(strand))? as u64;
        let offset = address.checked_sub(REAL)?;
        let end = offset.checked_add(size as u64)?;
        (end <= self.memory).then(|| PARTITION + guest * self.memory + offset)
    }
}

/// Listens at a port of this computer until a debugger connects.
fn connect(port: u16) -> anyhow::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("port {port} cannot be used"))?;
    let port = listener.local_addr()?.port();
    listener.set_nonblocking(true)?;
    say(format_args!(
        "waiting for a debugger: gdb-multiarch GUEST -ex 'set endian big' -ex 'target remote :{port}'"
    ));
    loop {
        match listener.accept() {
            Ok((connection, _)) => {
                connection.set_nonblocking(false)?;
                return Ok(connection);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
        if interrupt::happened() {
            bail!(Interrupted);
        }
    }
}

fn tid(strand: StrandId) -> Tid {
    Tid::MIN.saturating_add(strand.index())
}

/// Returns the strand of a thread, or strand 0 for any other thread.
fn strand(tid: Tid) -> StrandId {
    const FIRST: StrandId = StrandId::new(0).unwrap();
    StrandId::new(tid.get() - 1).unwrap_or(FIRST)
}

impl Target for Debugged<'_> {
    type Arch = SparcV9;
    type Error = io::Error;

    fn base_ops(&mut self) -> BaseOps<'_, Self::Arch, Self::Error> {
        BaseOps::MultiThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadBase for Debugged<'_> {
    fn read_registers(
        &mut self,
        registers: &mut SparcRegisters,
        tid: Tid,
    ) -> TargetResult<(), Self> {
        *registers = SparcRegisters::from_strand(self.execution.strand(strand(tid)));
        Ok(())
    }

    fn write_registers(&mut self, registers: &SparcRegisters, tid: Tid) -> TargetResult<(), Self> {
        registers.write_to(self.execution.strand_mut(strand(tid)));
        Ok(())
    }

    fn read_addrs(
        &mut self,
        address: u64,
        bytes: &mut [u8],
        tid: Tid,
    ) -> TargetResult<usize, Self> {
        let physical = self.physical(strand(tid), address, bytes.len());
        let read = physical.and_then(|physical| self.execution.read(physical, bytes).ok());
        read.map(|()| bytes.len()).ok_or(TargetError::NonFatal)
    }

    fn write_addrs(&mut self, address: u64, bytes: &[u8], tid: Tid) -> TargetResult<(), Self> {
        let physical = self.physical(strand(tid), address, bytes.len());
        let written = physical.and_then(|physical| self.execution.load(physical, bytes).ok());
        written.ok_or(TargetError::NonFatal)
    }

    fn list_active_threads(&mut self, register: &mut dyn FnMut(Tid)) -> Result<(), Self::Error> {
        self.strands().for_each(|(_, strand)| register(tid(strand)));
        Ok(())
    }

    fn support_resume(&mut self) -> Option<MultiThreadResumeOps<'_, Self>> {
        Some(self)
    }

    fn support_thread_extra_info(&mut self) -> Option<ThreadExtraInfoOps<'_, Self>> {
        Some(self)
    }
}

impl ThreadExtraInfo for Debugged<'_> {
    fn thread_extra_info(&self, tid: Tid, buffer: &mut [u8]) -> Result<usize, Self::Error> {
        let strand = strand(tid);
        let mut strands = self.strands();
        let guest = strands.find(|(_, of_guest)| *of_guest == strand);
        let does = match self.execution.state(strand) {
            State::Parked => "parked",
            State::Halted => "halted",
            State::Error => "in error state",
            State::Running => match self.execution.strand(strand).level() {
                Level::Hyperprivileged => "in the hypervisor",
                Level::Privileged | Level::User => "runs",
            },
        };
        let guest = guest.map_or("no guest", |(name, _)| name);
        let text = format!("strand {strand} of {guest}: {does}");
        let length = text.len().min(buffer.len());
        buffer[..length].copy_from_slice(&text.as_bytes()[..length]);
        Ok(length)
    }
}

impl MultiThreadResume for Debugged<'_> {
    fn resume(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn clear_resume_actions(&mut self) -> Result<(), Self::Error> {
        self.steps = None;
        Ok(())
    }

    fn set_resume_action_continue(&mut self, _: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<MultiThreadSingleStepOps<'_, Self>> {
        Some(self)
    }
}

impl MultiThreadSingleStep for Debugged<'_> {
    fn set_resume_action_step(&mut self, tid: Tid, _: Option<Signal>) -> Result<(), Self::Error> {
        self.steps = Some(strand(tid));
        Ok(())
    }
}

impl Breakpoints for Debugged<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Debugged<'_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        self.execution.breakpoints().insert(address);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.execution.breakpoints().remove(&address))
    }
}

/// The event loop of a connection to gdb.
struct Session<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> BlockingEventLoop for Session<'a> {
    type Target = Debugged<'a>;
    type Connection = TcpStream;
    type StopReason = MultiThreadStopReason<u64>;

    fn wait_for_stop_reason(
        target: &mut Self::Target,
        connection: &mut TcpStream,
    ) -> Result<Event<Self::StopReason>, WaitForStopReasonError<io::Error, io::Error>> {
        loop {
            let broken = WaitForStopReasonError::Connection;
            if ConnectionExt::peek(connection).map_err(broken)?.is_some() {
                return ConnectionExt::read(connection).map(Event::IncomingData).map_err(broken);
            }
            if let Some(stop) = target.execute().map_err(WaitForStopReasonError::Target)? {
                return Ok(Event::TargetStopped(stop));
            }
        }
    }

    fn on_interrupt(_: &mut Self::Target) -> Result<Option<Self::StopReason>, io::Error> {
        Ok(Some(MultiThreadStopReason::Signal(Signal::SIGINT)))
    }
}
