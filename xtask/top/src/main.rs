//! Shows a simulation while it runs. Run it by `cargo xtask top`.
#![deny(clippy::print_stderr, clippy::print_stdout)]

mod app;
mod grid;
mod live;
mod names;
mod screen;
mod snapshot;
mod text;
mod view;

use std::env;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{bail, ensure};
use clap::Parser;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;
use simulator::memory::Config;
use simulator::simulation::{Outcome, Progress, Setup, Simulation};
use xtask::cmd::Mismatch;
use xtask::cmd::sim::{RunArgs, header};
use xtask::exit;
use xtask::output::Force;
use xtask::report::summary;
use xtask::say::say;

use app::{About, App, Ask, PATIENCE};
use live::{Live, Pace};
use names::Names;
use screen::Screen;
use snapshot::Snapshot;
use text::Blocks;
use view::Look;

/// Show a simulation while it runs: nodes, threads, memory, code, hypercalls and counters
///
/// The simulation is that of cargo xtask sim --details --interval N: it can be paused after every N references,
/// when the guest that measures reads its counters (for details it does that in between, too). The screen shows what happened since the interval before or, after the key t, since the start. The last
/// state stays until the key q; then the summary is printed as sim prints it. Without a terminal, plain text is printed at
/// full speed: a block for each of 50 intervals, then ever fewer.
#[derive(Parser, Debug)]
#[command(
    name = "cargo xtask top",
    bin_name = "cargo xtask top",
    after_help = after_help()
)]
struct Args {
    #[command(flatten)]
    run: RunArgs,

    /// Show the machine after every N references
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,

    /// Pause after the first interval
    #[arg(long)]
    paused: bool,

    /// Write the results to a file, as JSON, once the simulation has come to its end
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

/// Returns the keys, and examples.
fn after_help() -> String {
    let keys: String = (app::KEYS.iter())
        .map(|(key, does)| format!("  {key:<14} {does}\n"))
        .collect();
    format!(
        "Keys:\n{keys}\nExamples:\n  \
         cargo xtask top                          # the recording that comes with the program\n  \
         cargo xtask top -- ./program its arguments\n  \
         cargo xtask top --paused --interval 10000 p.refs\n  \
         cargo xtask top --machine maramba --place pack p.refs | less"
    )
}

fn main() -> ExitCode {
    exit::main(run)
}

fn run(args: Args) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let setup = args.run.setup(None)?;
    let line = setup.memory.l2.line;
    let setup = Setup {
        interval: Some(args.interval),
        details: line == Config::T2_PLUS.l2.line,
        ..setup
    };
    if !setup.details {
        say(format_args!(
            "note: l2.line is {line}, so that nothing is known of code and lines that move"
        ));
    }
    for event in setup.selection.not_modelled() {
        say(format_args!("note: {event} is not modelled, and reads 0"));
    }
    let names = Names::new(&setup.programs, args.run.is_bundled());
    let simulation = setup.check()?;
    let mut head = Vec::new();
    header(&mut head, &simulation, &args.run)?;
    let head = String::from_utf8_lossy(&head);
    let program = head.lines().find_map(|line| line.strip_prefix("program: "));
    let terminal =
        io::stdout().is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb");
    let output = &mut BufWriter::new(io::stdout());
    let outcome = match terminal {
        true => on_a_terminal(simulation, program.unwrap_or_default(), names, args.paused)?,
        false => {
            output.write_all(head.as_bytes())?;
            Some(as_text(output, simulation, &names)?)
        }
    };
    let Some(outcome) = outcome else {
        ensure!(
            json.is_none(),
            "stopped before the end, nothing was written"
        );
        say("stopped before the end");
        return Ok(());
    };
    if terminal {
        output.write_all(head.as_bytes())?;
    }
    summary::print(output, &outcome)?;
    output.flush()?;
    for note in &outcome.notes {
        say(format_args!("note: {note}"));
    }
    if let Some(json) = json {
        json.complete_json(&outcome)?;
    }
    if !outcome.truth_matches {
        bail!(Mismatch(
            "what the guest measured is not what happened".to_owned()
        ));
    }
    Ok(())
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Shows the simulation until somebody has seen enough. Returns its outcome, if it came to its end.
fn on_a_terminal(
    simulation: Simulation,
    program: &str,
    names: Names,
    paused: bool,
) -> anyhow::Result<Option<Outcome>> {
    let setup = simulation.setup();
    let machine = setup.machine;
    let about = About {
        machine,
        line: setup.memory.l2.line,
        names,
        title: format!(
            "{} with {}, {}, {}: {program}",
            machine.model().name(),
            counted(machine.nodes(), "node"),
            counted(simulation.placed().len(), "thread"),
            simulation.placement(),
        ),
        bytes: setup
            .programs
            .iter()
            .map(|program| program.progress().total)
            .sum(),
        colours: env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let pace = Pace::new(paused);
    let mut app = App::new(about, pace);
    let mut live = Live::start(simulation, pace)?;
    let mut screen = Screen::open()?;
    let mut outcome = None;
    let mut changed = true;
    loop {
        let ended = live.ended()?;
        if let Some(sample) = live.take() {
            app.sample(sample);
            changed = true;
        }
        if let Some(ended) = ended {
            app.end(&ended);
            outcome = Some(ended);
            changed = true;
        }
        if std::mem::take(&mut changed) {
            screen.draw(|frame| app.draw(frame))?;
        }
        if !event::poll(PATIENCE)? {
            continue;
        }
        changed = true;
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match app.key(key) {
                Ask::Nothing => {}
                Ask::Pace(steps) => live.set(app.pace, steps),
                Ask::Stop => screen.without(|| emulate_default_handler(SIGTSTP))?,
                Ask::Quit => return Ok(outcome),
            },
            _ => {}
        }
    }
}

/// Prints the simulation as it goes. Returns its outcome.
fn as_text(
    output: &mut impl Write,
    simulation: Simulation,
    names: &Names,
) -> anyhow::Result<Outcome> {
    let look = Look {
        machine: simulation.setup().machine,
        line: simulation.setup().memory.l2.line,
        names,
        sort: 0,
        width: 0,
    };
    let mut blocks = Blocks::default();
    let mut printed = Ok(());
    let outcome = simulation.run(&mut |progress| {
        if let Progress::Sample {
            references, now, ..
        } = progress
        {
            printed = blocks.sample(output, Snapshot::new(references, now), look);
        }
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    printed?;
    Ok(outcome?)
}
