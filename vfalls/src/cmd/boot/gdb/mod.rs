//! Serves gdb's remote protocol. gdb sees each strand as a thread.
//!
//! Breakpoints and watchpoints apply to every strand, at real addresses in a guest and physical
//! addresses in the hypervisor. gdb reads and writes memory as the selected strand does: the
//! guest's memory by real address while the strand executes its guest, and all memory by physical
//! address while the strand executes the hypervisor. If a guest's next instruction enters the
//! hypervisor, a step includes the whole hypercall or trap.
//!
//! The crate `gdbstub` does not fit, because a malformed packet ends its session. This module
//! answers such a packet with an error, and continues the session. If the connection is lost, the
//! machine keeps its state, and waits for the next debugger.

mod debugger;
mod machine;
mod packets;
mod registers;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use guest_abi::StrandId;
use simulator::execute::mailbox::GuestState;
use simulator::execute::{Execution, Limits, Stop};

use crate::cmd::boot::consoles::Consoles;
use crate::cmd::boot::description::CompleteDescription;
use crate::interrupt::{self, Interrupted};
use crate::say::say;

pub use debugger::Debugger;
pub use machine::DebuggedMachine;

/// A machine that gdb debugs, with the consoles and the output of `boot`.
pub(crate) struct Debugged<'a, W> {
    pub(crate) execution: &'a mut Execution,
    pub(crate) consoles: &'a mut Consoles,
    pub(crate) complete: &'a CompleteDescription,
    /// The size of each guest's memory, in bytes.
    pub(crate) memory: u64,
    pub(crate) output: &'a mut W,
}

/// How long the server sleeps between two checks for a connection or an interrupt.
const PAUSE: Duration = Duration::from_millis(20);

/// The time limit for sending an answer. If a debugger does not take the answer within this time,
/// the connection counts as lost.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum number of instructions between two checks of the connection. A batch takes a few
/// milliseconds, so the user does not notice that an interrupt has to wait for the end of a batch.
const BATCH: u64 = 1 << 16;

impl<W: Write> Debugged<'_, W> {
    /// Executes up to the first guest's entry, and then waits for gdb on a port of this computer.
    /// Serves gdb until the machine stops, and returns why it stopped.
    pub(crate) fn debug(mut self, port: u16) -> anyhow::Result<Stop> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("port {port} cannot be used"))?;
        let port = listener.local_addr()?.port();
        listener.set_nonblocking(true)?;
        let first = match self.begin()? {
            Stop::Breakpoint(strand) => strand,
            stop => return Ok(stop),
        };
        say(format_args!(
            "waiting for a debugger: gdb-multiarch GUEST -ex 'set endian big' -ex 'target remote :{port}'"
        ));
        self.serve(&listener, first)
    }

    /// Executes up to the first guest's entry.
    fn begin(&mut self) -> anyhow::Result<Stop> {
        let entry = self.complete.images[0].entry;
        self.execution.breakpoints().insert(entry);
        let mut stop = Stop::Limit;
        while stop == Stop::Limit {
            ensure!(!interrupt::happened(), Interrupted);
            stop = self.execution.run(Limits::instructions(BATCH));
            self.consoles.show(self.execution, self.output)?;
        }
        self.execution.breakpoints().clear();
        Ok(stop)
    }

    fn serve(self, listener: &TcpListener, first: StrandId) -> anyhow::Result<Stop> {
        let Self { execution, consoles, complete, memory, output } = self;
        let machine = DebuggedMachine::new(execution, &complete.guests, memory);
        let mut debugger = Debugger::new(machine, first);
        let mut connection = None;
        loop {
            ensure!(!interrupt::happened(), Interrupted);
            // A new connection replaces an older one that has not sent a packet yet.
            if !debugger.is_attached()
                && let Ok((next, _)) = listener.accept()
            {
                debugger.disconnect();
                connection = prepared(next).ok();
            }
            let mut answers = Vec::new();
            let mut heard = Ok(());
            match &mut connection {
                Some(open) => heard = receive(open, &mut debugger, &mut answers),
                None if !debugger.runs() => thread::sleep(PAUSE),
                None => {}
            }
            let mut ended = debugger.execute(BATCH, &mut answers);
            let execution = &mut *debugger.machine.execution;
            consoles.show(execution, output)?;
            ended = ended.or(consoles.all_ended(execution).then_some(Stop::Limit));
            if ended.is_some() {
                let good = |guest| consoles.state(execution, guest) == GuestState::Exited(0);
                let code = u8::from(!(0..complete.guests.len()).all(good));
                debugger.end(code, &mut answers);
            }
            if let Some(open) = &mut connection
                && heard.and_then(|()| answer(open, &answers)).is_err()
            {
                debugger.disconnect();
                connection = None;
            }
            if debugger.is_killed() {
                bail!("the debugger ended the execution");
            }
            if let Some(stop) = ended {
                return Ok(stop);
            }
        }
    }
}

fn prepared(connection: TcpStream) -> io::Result<TcpStream> {
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PAUSE))?;
    connection.set_write_timeout(Some(SEND_TIMEOUT))?;
    Ok(connection)
}

/// Reads the bytes that a debugger has sent. If the machine is stopped, waits up to [`PAUSE`] for
/// bytes. Fails if the connection has ended.
fn receive(
    connection: &mut TcpStream,
    debugger: &mut Debugger<'_>,
    answers: &mut Vec<u8>,
) -> io::Result<()> {
    connection.set_nonblocking(debugger.runs())?;
    let mut bytes = [0; 4096];
    match connection.read(&mut bytes) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(count) => {
            bytes[..count].iter().for_each(|byte| debugger.receive(*byte, answers));
            Ok(())
        }
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        },
    }
}

fn answer(connection: &mut TcpStream, answers: &[u8]) -> io::Result<()> {
    if answers.is_empty() {
        return Ok(());
    }
    connection.set_nonblocking(false)?;
    connection.write_all(answers)
}
