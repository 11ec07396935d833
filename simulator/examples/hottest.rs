//! Replays a recording. Prints what a guest counts, and the cache lines that move most between nodes.

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use platform::{Machine, Model};
use simulator::analysis::sharing::Job;
use simulator::recording::Recording;
use simulator::replay::{Selection, Setup, Stage};
use simulator::run::Total;

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("expected the path of a recording")?;
    hottest(Path::new(&path), &mut io::stdout())
}

pub(crate) fn hottest(path: &Path, output: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let machine = Machine::new(Model::Batoka, 4)?;
    let setup = Setup::new(machine, Recording::open(path)?)
        .selection(Selection::parse("dram:mem_reads,pic:Instr_cnt,pic:L2_dmiss_ld")?);
    let outcome = setup.check()?.run(|stage| {
        if let Stage::Progress(progress) = stage
            && let Some(part) = progress.fraction()
        {
            eprint!("\r{:.0}%", 100.0 * part);
        }
        ControlFlow::Continue(())
    })?;
    for Total { class, event, measured, .. } in Total::by_event(&outcome.counters) {
        writeln!(output, "{class}:{event}: {measured}")?;
    }
    let job = Job::new(machine).most(3);
    let report = job.run(|| Recording::open(path), |_, _| ControlFlow::Continue(()))?;
    for line in &report.lines {
        writeln!(
            output,
            "{:#x}: {} moves, {}",
            line.address,
            line.moves.all(),
            line.sharing.name()
        )?;
    }
    Ok(())
}
