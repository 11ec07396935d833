//! `call`: a console to the simulated hypervisor.

mod guests;
mod line;
mod names;
mod script;
mod session;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use perfctr_service::GuestConfig;
use platform::models::Devices;

use crate::cmd::machine::MachineArgs;
use script::{Call, Script};
use session::Session;

/// Make hypercalls to a simulated machine, one a line, and see %o0 to %o5 after each
///
/// A line is STRAND fast|core FUNCTION [ARG0 .. ARG4]: who calls, by which trap, and %o5 and %o0 to %o4 before the call,
/// decimal or 0x hexadecimal. Arguments that are missing are 0. What follows a # is a comment. Strand n is on node n/64.
///
/// For each call there is a line with %o0 to %o5 after it, in hexadecimal; on a terminal also the names of the call and
/// of its status. What guests write to their consoles (core 1) goes to standard error. A guest that exits (core 2)
/// makes no more calls. The exit status is 0 whatever the calls return, and 2 for bad input: of a file nothing
/// is done then, from standard input what comes before it.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  echo '0 core 0 0x205 1 1' | cargo xtask call\n  \
                  cargo xtask call --machine maramba --nodes 1 calls.txt\n  \
                  cargo xtask call --guest 0-63:global+htstrand --guest 64,72-79:strand:compat calls.txt\n\n\
                  Calls:\n  \
                  0 core 0 0x205 1 1     # strand 0 negotiates group 0x205, version 1.1, for its guest\n  \
                  0 fast 0x107 2 0x12    # sets NODE0_MCU0_PCR\n  \
                  70 fast 0x106 2        # strand 70 gets it\n  \
                  0 core 1 65            # writes A to the guest's console\n  \
                  0 core 2 0             # stops the guest"
)]
pub struct Args {
    #[command(flatten)]
    machine: MachineArgs,

    /// A guest: its strands (0-127 or 0,2,8-15), its grant (none, strand, htstrand, global, global+strand,
    /// global+htstrand), and whether version 1.0 gives it the registers of 1.1; without any, one guest with every
    /// right has all strands
    #[arg(
        long = "guest",
        value_name = "STRANDS:GRANT[:compat]",
        value_parser = guests::guest
    )]
    guests: Vec<GuestConfig>,

    /// The calls; standard input if not given, or -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Makes the calls, as `args` say.
///
/// # Errors
/// No such machine, guests that it cannot have, or a line that is no call.
pub fn run(args: Args) -> anyhow::Result<()> {
    let machine = args.machine.machine()?;
    let guests = if args.guests.is_empty() {
        vec![guests::with_everything(machine)]
    } else {
        args.guests
    };
    let devices = Devices::new(machine);
    let hypervisor = session::hypervisor(machine, &devices, &guests)?;
    let output = Output {
        session: Session::new(&hypervisor, &guests),
        terminal: io::stdout().is_terminal(),
        stream: BufWriter::new(io::stdout().lock()),
    };
    match args.file.filter(|file| file != Path::new("-")) {
        Some(file) => {
            let name = file.display().to_string();
            let stream = File::open(&file).with_context(|| format!("{name}: cannot be read"))?;
            whole(Script::new(name, stream, &guests), output)
        }
        None => {
            let script = Script::new("standard input".into(), io::stdin().lock(), &guests);
            as_it_comes(script, output)
        }
    }
}

/// Makes all calls of a script, once all of it has been read.
fn whole(mut script: Script<impl Read>, mut output: Output<'_, impl Write>) -> anyhow::Result<()> {
    let mut calls = Vec::new();
    while script.read_line()? {
        calls.extend(script.call()?);
    }
    for call in &calls {
        output.make(call)?;
    }
    output.flush()
}

/// Makes each call when it has been read. Whoever waits for its answer before writing the next one gets it.
fn as_it_comes(
    mut script: Script<impl Read>,
    mut output: Output<'_, impl Write>,
) -> anyhow::Result<()> {
    loop {
        if !script.has_line() {
            output.flush()?;
        }
        if !script.read_line()? {
            return output.flush();
        }
        if let Some(call) = script.call()? {
            output.make(&call)?;
        }
    }
}

/// Makes calls and prints what they return.
struct Output<'a, W> {
    session: Session<'a>,
    terminal: bool,
    stream: W,
}

impl<W: Write> Output<'_, W> {
    fn make(&mut self, call: &Call) -> anyhow::Result<()> {
        let after = self.session.make(call);
        let [o0, o1, o2, o3, o4, o5] = after.to_array();
        write!(
            self.stream,
            "{o0:#x} {o1:#x} {o2:#x} {o3:#x} {o4:#x} {o5:#x}"
        )?;
        if self.terminal {
            // Line by line, so that it stands in order with the consoles.
            writeln!(self.stream, "  {}", names::describe(call, &after))?;
            return self.flush();
        }
        writeln!(self.stream)?;
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        Ok(self.stream.flush()?)
    }
}
