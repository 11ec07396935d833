//! `call`: makes hypercalls to a simulated hypervisor. The calls come from a script or a terminal.

mod guests;
mod line;
mod names;
mod script;
mod session;

use crate::plain;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use guest_abi::StrandId;
use perfctr_service::GuestConfig;
use platform::models::Devices;

use crate::cmd::machine::MachineArgs;
use line::Call;
use script::Script;
use session::Session;
use simulator::input::{self, MAX_TEXT_BYTES};

/// Make hypercalls on a simulated machine, one for each line, and print %o0 to %o5 after each call
///
/// A line is STRAND fast|core FUNCTION [ARG0 .. ARG4]: the calling strand, the trap, and %o5 and %o0 to %o4 before the
/// call, decimal or 0x hexadecimal. STRAND trap NUMBER [ARG0 .. ARG5] is another software trap (0x81 to 0xfe) with %o0 to
/// %o5. Missing arguments are 0. A # begins a comment. Strand n is on node n/64.
///
/// For each call, prints a line with %o0 to %o5 after the call, in hexadecimal; on a terminal, also the names of the call and of its
/// status. What guests write to their consoles (core 1) goes to standard error. A guest that exits (core 2) cannot call again. The exit
/// status is 0 whatever the calls return, and 2 for bad input. A bad line in a file prevents all calls of the file; on standard input, the
/// calls before the bad line are made.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  echo '0 core 0 0x205 1 1' | vfalls call\n  \
                  vfalls call --machine maramba --nodes 1 calls.txt\n  \
                  vfalls call --guest 0-63:global+htstrand --guest 64,72-79:strand:compat calls.txt\n\n\
                  Calls:\n  \
                  0 core 0 0x205 1 1     # strand 0 negotiates group 0x205, version 1.1, for its guest\n  \
                  0 fast 0x107 2 0x12    # sets NODE0_MCU0_PCR\n  \
                  70 fast 0x106 2        # strand 70 gets NODE0_MCU0_PCR\n  \
                  0 core 1 65            # writes A to the guest's console\n  \
                  0 core 2 0             # stops the guest\n  \
                  0 trap 0x83 1 2        # a software trap that no service has")]
pub(crate) struct CallArgs {
    #[command(flatten)]
    machine: MachineArgs,

    #[arg(
        long = "guest",
        value_name = guests::FORM,
        help = guests::HELP,
        value_parser = guests::parse
    )]
    guests: Vec<GuestConfig>,

    /// The file with the calls; `-` for standard input [default: -]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

pub(crate) fn run(args: CallArgs) -> anyhow::Result<()> {
    let machine = args.machine.machine()?;
    let guests =
        if args.guests.is_empty() { vec![guests::with_everything(machine)] } else { args.guests };
    let devices = Devices::new(machine);
    let hypervisor = session::hypervisor(machine, &devices, &guests)?;
    let output = Answers {
        session: Session::new(&hypervisor, &guests),
        terminal: plain::is_terminal(),
        stream: plain::stdout(),
    };
    match args.file.filter(|file| file != Path::new("-")) {
        Some(file) => {
            let bytes = input::read(&file, MAX_TEXT_BYTES)?;
            let name = file.display().to_string();
            make_all(Script::new(name, &*bytes, &guests), output)
        }
        None => {
            let script = Script::new("standard input".into(), io::stdin().lock(), &guests);
            make_as_read(script, output)
        }
    }
}

/// Reads the whole script, and then makes its calls.
fn make_all(
    mut script: Script<impl Read>,
    mut output: Answers<'_, impl Write>,
) -> anyhow::Result<()> {
    let mut calls = Vec::new();
    while script.read_line()? {
        calls.extend(script.call()?);
    }
    for (strand, call) in &calls {
        output.make(*strand, call)?;
    }
    output.flush()
}

/// Makes each call as soon as its line is read, and prints the answer before reading the next line.
fn make_as_read(
    mut script: Script<impl Read>,
    mut output: Answers<'_, impl Write>,
) -> anyhow::Result<()> {
    loop {
        if !script.has_line() {
            output.flush()?;
        }
        if !script.read_line()? {
            return output.flush();
        }
        if let Some((strand, call)) = script.call()? {
            output.make(strand, &call)?;
        }
    }
}

/// Makes calls, and prints the registers after each call.
struct Answers<'a, W> {
    session: Session<'a>,
    terminal: bool,
    stream: W,
}

impl<W: Write> Answers<'_, W> {
    fn make(&mut self, strand: StrandId, call: &Call) -> anyhow::Result<()> {
        let after = self.session.make(strand, call);
        let [o0, o1, o2, o3, o4, o5] = after.to_array();
        write!(self.stream, "{o0:#x} {o1:#x} {o2:#x} {o3:#x} {o4:#x} {o5:#x}")?;
        if self.terminal {
            // The guests' consoles write to standard error. A flush after each call keeps their
            // output and the answers in order.
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
