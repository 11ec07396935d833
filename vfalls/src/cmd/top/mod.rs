//! `top`: shows a replay in progress.

mod app;
mod grid;
mod live;
mod names;
pub mod screen;
mod text;
mod view;

use crate::plain;
use std::env;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::cmd::stat::{ReplayArgs, ensure_truth, header, until_error};
use crate::numbers::counted_plainly;
use crate::output::{self, Force};
use crate::say::say;
use crate::text::summary::{self, ThreadRows};
use anyhow::ensure;
use platform::Machine;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::SIGTSTP;
use signal_hook::low_level::emulate_default_handler;
use simulator::memory::{Config, Pages};
use simulator::replay::{Prepared, Progress, Stage};
use simulator::run::{Replayed, Run};

use self::app::{App, KeyAction, PATIENCE};
use self::live::{Live, Pace};
use self::names::Names;
use self::screen::Screen;
use self::text::Blocks;
use self::view::ViewContext;

/// Properties of the replay that do not change while it runs.
struct ReplayInfo {
    machine: Machine,
    /// The machine, the placement and the programs, on one line.
    title: String,
    /// The size of an L2 cache line, in bytes.
    line: u64,
    names: Names,
    /// The progress that is shown until the first sample: no reference has been replayed yet.
    before: Progress,
    colours: bool,
}

/// Show a replay while it goes on: nodes, threads, memory, code, hypercalls and counters
///
/// The replay is the same as that of vfalls stat --details --interval N. It can be paused after every N references, when the measuring
/// guest reads its counters (for details, the guest also reads them in between). The screen shows the last interval or, after the key t,
/// everything since the start. The last state stays until the key q; then the summary is printed as vfalls stat prints it. Without a
/// terminal, plain text is printed at full speed: a block for each of the first 50 intervals, then fewer and fewer blocks.
#[derive(clap::Args, Debug)]
#[command(after_help = after_help())]
pub(crate) struct TopArgs {
    #[command(flatten)]
    replay: ReplayArgs,

    /// Show the machine after every N references
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    interval: u64,

    /// Pause after the first interval
    #[arg(long)]
    paused: bool,

    /// Write the results to a file, as JSON, once the replay has ended
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

fn after_help() -> String {
    let keys: String =
        (app::KEYS.iter()).map(|(key, does)| format!("  {key:<14} {does}\n")).collect();
    format!(
        "Keys:\n{keys}\nExamples:\n  \
         vfalls top                          # the recording that comes with the program\n  \
         vfalls top -- ./program its arguments\n  \
         vfalls top --paused --interval 10000 p.refs\n  \
         vfalls top --machine maramba --place pack p.refs | less"
    )
}

pub(crate) fn run(args: TopArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let source = args.replay.source.resolve()?;
    let setup = args.replay.setup(&source)?;
    let line = setup.memory.l2.line;
    let setup = setup.interval(Some(args.interval)).details(line == Config::T2_PLUS.l2.line);
    if !setup.details {
        say(format_args!("note: l2.line is {line}, so code and moving lines are not measured"));
    }
    for event in setup.selection.not_modelled() {
        say(format_args!("note: {event} is not modelled, and reads 0"));
    }
    let names = Names::new(&setup.programs, source.is_bundled());
    let prepared = setup.check()?;
    let mut head = Vec::new();
    header::print(&mut head, &prepared, &args.replay)?;
    let head = String::from_utf8_lossy(&head);
    let program = head.lines().find_map(|line| line.strip_prefix("recording: "));
    let terminal = plain::is_terminal() && env::var_os("TERM").is_some_and(|term| term != "dumb");
    let output = &mut plain::stdout();
    let run = match terminal {
        true => on_a_terminal(prepared, program.unwrap_or_default(), names, args.paused)?,
        false => {
            output.write_all(head.as_bytes())?;
            Some(as_text(output, prepared, &names)?)
        }
    };
    let Some(run) = run else {
        ensure!(json.is_none(), "stopped before the end, nothing was written");
        say("stopped before the end");
        return Ok(());
    };
    if terminal {
        output.write_all(head.as_bytes())?;
    }
    summary::print(output, &run, ThreadRows::Screen)?;
    output.flush()?;
    let run = Run::from(run);
    for note in run.notes() {
        say(format_args!("note: {note}"));
    }
    output::complete_run(json, &run)?;
    ensure_truth(&run)
}

/// Shows the replay until the user quits. Returns the result; `None` if the user quits before the replay ends.
fn on_a_terminal(
    prepared: Prepared,
    program: &str,
    names: Names,
    paused: bool,
) -> anyhow::Result<Option<Replayed>> {
    let setup = prepared.setup();
    let machine = setup.machine;
    let about = ReplayInfo {
        machine,
        line: setup.memory.l2.line,
        names,
        title: format!(
            "{} with {}, {}, {}{}: {program}",
            machine.model().name(),
            counted_plainly(machine.nodes() as u64, "node"),
            counted_plainly(prepared.placed().len() as u64, "thread"),
            prepared.placement(),
            match setup.memory.pages {
                Pages::Hardware => String::new(),
                pages => format!(", memory {pages}"),
            },
        ),
        before: Progress::new(0, setup.programs.iter()),
        colours: env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    let pace = Pace::new(paused);
    let mut app = App::new(about, pace);
    let mut live = Live::start(prepared, pace)?;
    let mut screen = Screen::open()?;
    let mut run = None;
    let mut changed = true;
    loop {
        let ended = live.ended()?;
        if let Some(sample) = live.take() {
            app.sample(sample);
            changed = true;
        }
        if let Some(ended) = ended {
            app.end(&ended);
            run = Some(ended);
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
                KeyAction::Nothing => {}
                KeyAction::Pace(steps) => live.set(app.pace, steps),
                KeyAction::Stop => screen.without(|| emulate_default_handler(SIGTSTP))?,
                KeyAction::Quit => return Ok(run),
            },
            _ => {}
        }
    }
}

fn as_text(output: &mut impl Write, prepared: Prepared, names: &Names) -> anyhow::Result<Replayed> {
    let look = ViewContext {
        machine: prepared.setup().machine,
        line: prepared.setup().memory.l2.line,
        names,
        sort: 0,
        width: 0,
    };
    let mut blocks = Blocks::default();
    let mut printed = Ok(());
    let run = prepared.run(|progress| match progress {
        Stage::Sample { now, .. } => {
            until_error(&mut printed, blocks.sample(output, now.run(), look))
        }
        _ => ControlFlow::Continue(()),
    });
    printed?;
    Ok(run?)
}
