//! A debugger at the machine: gdb, by its remote protocol. Strands are threads.
//!
//! The addresses of a breakpoint are those that software uses, on every strand. Memory is that of the guest which the strand executes, by real
//! address; of the hypervisor, all physical addresses. A step takes a hypercall or a trap of the hypervisor's whole.

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
use simulator::execution::mailbox::GuestState;
use simulator::execution::{Execution, Limits, State, Stop};
use simulator::interpreter::Level;
use xtask::interrupt::{self, Interrupted};
use xtask::say::say;

use crate::BATCH;
use crate::consoles::Consoles;
use crate::description::{Complete, PARTITION_BASE};
use arch::{SparcRegisters, SparcV9};

/// A machine with a debugger at it.
pub(crate) struct Debugged<'a> {
    pub(crate) execution: &'a mut Execution,
    pub(crate) consoles: &'a mut Consoles,
    pub(crate) complete: &'a Complete,
    /// The bytes of memory of each guest.
    pub(crate) memory: u64,
    pub(crate) output: &'a mut dyn Write,
    /// The strand that makes a step.
    pub(crate) steps: Option<StrandId>,
    /// Why the machine has stopped for good.
    pub(crate) ended: Option<Stop>,
}

/// How often somebody looks for a debugger that connects.
const PAUSE: Duration = Duration::from_millis(20);

impl Debugged<'_> {
    /// Executes until the first guest begins, waits for a debugger at a port of this computer, and does what it says. Returns why the
    /// machine has stopped; `None` if the debugger has left it.
    ///
    /// # Errors
    /// The port is taken, the debugger breaks the connection or ends the run, or [`Interrupted`].
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
            Ok(DisconnectReason::Kill) => bail!("the debugger has ended the run"),
            Ok(_) => {
                self.execution.breakpoints().clear();
                Ok(self.ended)
            }
            Err(_) if interrupt::happened() => bail!(Interrupted),
            Err(error) => Err(anyhow!("the debugger's connection: {error}")),
        }
    }

    /// Executes for a while. Returns why a debugger is to be told, if it is.
    fn execute(&mut self) -> Result<Option<MultiThreadStopReason<u64>>, io::Error> {
        let stop = match self.steps {
            Some(strand) => match self.step(strand) {
                Some(stop) => stop,
                None => {
                    return Ok(Some(MultiThreadStopReason::SignalWithThread {
                        tid: tid(strand),
                        signal: Signal::SIGTRAP,
                    }));
                }
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
                Some(MultiThreadStopReason::SignalWithThread {
                    tid: tid(strand),
                    signal: Signal::SIGABRT,
                })
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

    /// Executes an instruction of a strand. Returns `None` when that is done. The hypervisor's instructions are no steps of a guest.
    fn step(&mut self, strand: StrandId) -> Option<Stop> {
        let from = self.execution.strand(strand).level();
        for _ in 0..BATCH {
            let stop = match self.execution.step(strand) {
                Some(stop) => stop,
                // It waits for others.
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
        // Others have to go on, too.
        Some(self.execution.run(Limits::instructions(BATCH)))
    }

    fn strands(&self) -> impl Iterator<Item = (&str, StrandId)> {
        let guests = self.complete.guests.iter();
        guests.flat_map(|guest| {
            let strands = guest.config.strands.iter();
            strands.map(|strand| (&*guest.name, strand))
        })
    }

    /// Returns the physical address of a real one, of which `size` bytes are read or written by a strand.
    fn physical(&self, strand: StrandId, address: u64, size: usize) -> Option<u64> {
        if self.execution.strand(strand).level() == Level::Hyperprivileged {
            return Some(address);
        }
        let mut guests = self.complete.guests.iter();
        let guest = guests.position(|guest| guest.config.strands.has(strand))? as u64;
        let offset = address.checked_sub(PARTITION_BASE)?;
        let end = offset.checked_add(size as u64)?;
        (end <= self.memory).then(|| PARTITION_BASE + guest * self.memory + offset)
    }
}

/// Waits for a debugger.
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

/// Returns the strand that a thread is. A thread that is none stands for strand 0.
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
        *registers = SparcRegisters::of(self.execution.strand(strand(tid)));
        Ok(())
    }

    fn write_registers(&mut self, registers: &SparcRegisters, tid: Tid) -> TargetResult<(), Self> {
        registers.give(self.execution.strand_mut(strand(tid)));
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

/// A conversation with a debugger.
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
            let waits =
                ConnectionExt::peek(connection).map_err(WaitForStopReasonError::Connection)?;
            if waits.is_some() {
                let byte = ConnectionExt::read(connection);
                return byte
                    .map(Event::IncomingData)
                    .map_err(WaitForStopReasonError::Connection);
            }
            let stop = target.execute().map_err(WaitForStopReasonError::Target)?;
            if let Some(stop) = stop {
                return Ok(Event::TargetStopped(stop));
            }
        }
    }

    fn on_interrupt(_: &mut Self::Target) -> Result<Option<Self::StopReason>, io::Error> {
        Ok(Some(MultiThreadStopReason::Signal(Signal::SIGINT)))
    }
}
