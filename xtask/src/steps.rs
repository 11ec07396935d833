//! Runs commands that consist of steps, each announced and timed. The first failure ends the command.

use std::env;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::iter;
use std::marker::PhantomData;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{bail, ensure};
use clap::builder::PossibleValuesParser;

use vfalls::exit::Mismatch;

/// A step of a command. `T` is the type of the data that the command's steps share.
pub(crate) struct CommandStep<T: 'static> {
    /// The step's name on the command line.
    pub(crate) name: &'static str,
    /// The text that is printed when the step starts.
    pub(crate) about: &'static str,
    /// The steps whose results this step uses.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&mut T) -> anyhow::Result<()>,
}

/// Returns a step that does not use the results of other steps.
pub(crate) const fn step<T>(
    name: &'static str,
    about: &'static str,
    run: fn(&mut T) -> anyhow::Result<()>,
) -> CommandStep<T> {
    CommandStep { name, about, needs: &[], run }
}

/// A command that consists of steps.
pub(crate) trait Steps: Send + Sync + 'static {
    /// Data that the steps share. Every step can change it.
    type Shared: Default + 'static;
    /// The steps, in the order in which they run. If all steps run, the first step runs alone.
    const STEPS: &'static [CommandStep<Self::Shared>];
    /// The steps that further processes run if all steps are to run, while this process runs the others: one list for each process. A
    /// single step seldom keeps two cores busy.
    const PARALLEL: &'static [&'static [&'static str]] = &[];
}

/// The options that choose steps of the command `S`.
#[derive(clap::Args, Debug)]
pub(crate) struct StepOptions<S: Steps> {
    /// Run only this step (may be repeated), and the steps whose results it uses
    #[arg(long, value_name = "STEP", value_parser = names::<S>())]
    only: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    #[arg(skip)]
    command: PhantomData<S>,
}

fn names<S: Steps>() -> PossibleValuesParser {
    S::STEPS.iter().map(|step| step.name).into()
}

impl<S: Steps> StepOptions<S> {
    /// Runs the chosen steps in order, or lists them.
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let steps = self.steps();
        if self.list {
            let width = S::STEPS.iter().map(|step| step.name.len()).max().unwrap_or(0);
            for CommandStep { name, about, .. } in steps {
                say(format_args!("{name:<width$}  {about}"));
            }
            return Ok(());
        }
        let beside = if self.only.is_empty() { S::PARALLEL } else { &[] };
        let here = |step: &&CommandStep<_>| !beside.iter().any(|names| names.contains(&step.name));
        let steps: Vec<_> = steps.into_iter().filter(here).collect();
        let mut others = Vec::new();
        let run = self.run_in_process(&steps, || {
            for names in beside {
                others.push(ParallelProcess::start(names)?);
            }
            Ok(())
        });
        // Waits for all processes, also after a failure.
        let ended = others.into_iter().map(ParallelProcess::finish).fold(Ok(()), Result::and);
        ended.and(run)
    }

    /// Runs steps in order, and calls `begun` after the first step.
    fn run_in_process(
        &self,
        steps: &[&CommandStep<S::Shared>],
        begun: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut begun = Some(begun);
        let mut shared = S::Shared::default();
        for (passed, step) in iter::zip(0.., steps) {
            if passed == 1
                && let Some(begun) = begun.take()
            {
                begun()?;
            }
            let about = step.about;
            say(format_args!("[{}/{}] {about}", passed + 1, steps.len()));
            let start = Instant::now();
            let result = (step.run)(&mut shared);
            let seconds = start.elapsed().as_secs_f64();
            if let Err(error) = result {
                say(format_args!("failed after {seconds:.1} s\n"));
                say(format_args!("{passed} passed, 1 failed"));
                bail!(Mismatch(format!("{about}: {error:#}")));
            }
            say(format_args!("passed in {seconds:.1} s\n"));
        }
        say(format_args!("{} passed, 0 failed", steps.len()));
        Ok(())
    }

    fn steps(&self) -> Vec<&'static CommandStep<S::Shared>> {
        let named = |name: &str| self.only.iter().any(|only| only == name);
        let chosen = |step: &&CommandStep<S::Shared>| {
            let mut users = S::STEPS.iter().filter(|user| user.needs.contains(&step.name));
            self.only.is_empty() || named(step.name) || users.any(|user| named(user.name))
        };
        S::STEPS.iter().filter(chosen).collect()
    }
}

/// A process that runs one list of [`Steps::PARALLEL`].
struct ParallelProcess {
    process: Child,
    /// A file with the output of the process.
    output: File,
    /// The names of the steps.
    steps: String,
}

impl ParallelProcess {
    fn start(steps: &[&str]) -> anyhow::Result<Self> {
        let output = tempfile::tempfile()?;
        let mut command = Command::new(env::current_exe()?);
        command.args(env::args_os().skip(1)).args(steps.iter().flat_map(|step| ["--only", step]));
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        let steps = steps.join(", ");
        say(format_args!("in another process: {steps}\n"));
        Ok(Self { process: command.spawn()?, output, steps })
    }

    /// Waits for the process, and prints its output.
    fn finish(mut self) -> anyhow::Result<()> {
        let status = self.process.wait()?;
        say(format_args!("from the process of {}:\n", self.steps));
        self.output.rewind()?;
        io::copy(&mut self.output, &mut io::stdout())?;
        ensure!(
            status.success(),
            Mismatch(format!("one of these steps has failed: {}", self.steps))
        );
        Ok(())
    }
}

/// Prints a line. Ignores errors, because the steps run even if nobody reads what they print.
pub(crate) fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}
