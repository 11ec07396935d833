//! A copy of the checkout, in which mutants are built and tested.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use vfalls::interrupt::{self, Interrupted};
use vfalls::say::say;
use xtask::cargo::root;

use crate::built;
use crate::mutant::Mutant;
use crate::sources::add_files;
use crate::steps::{Step, StepKind};

/// A step's time limit is this multiple of the time that it takes without a mutant, but at least [`MIN_LIMIT`].
const LIMIT_FACTOR: u32 = 3;
const MIN_LIMIT: Duration = Duration::from_secs(60);

/// The path, within the copy, of the image that the tests in `vfalls/tests/production` build.
const IMAGE: &str = "target/images/hypervisor-image-shipped.elf";

/// How the commands of a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TestOutcome {
    Passed,
    NotBuilt,
    /// A test failed. The text is the test's name.
    Failed(String),
    TimedOut,
}

#[derive(Default)]
pub(crate) struct Checkout {
    place: PathBuf,
    log: PathBuf,
    /// The test program of `vfalls/tests/production`, built without a mutant. It builds the image from the sources in the copy.
    production: PathBuf,
    /// The test program that proves the fast path.
    fast_path: PathBuf,
    /// The content of the image built without a mutant.
    image: Vec<u8>,
    limits: BTreeMap<&'static str, Duration>,
}

impl Checkout {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let place = mutated_directory().join("checkout");
        fs::create_dir_all(&place)?;
        Ok(Self { place, log: mutated_directory().join("log"), ..Self::default() })
    }

    /// Makes the copy, or brings it up to date. `changed` has the texts of the files that differ from the checkout.
    pub(crate) fn update(&self, changed: &BTreeMap<String, String>) -> anyhow::Result<()> {
        let place = &self.place;
        let mut git = Command::new("git");
        git.current_dir(root());
        git.args("ls-files -z --cached --others --exclude-standard".split(' '));
        let files = git.stderr(Stdio::inherit()).output().context("git cannot be run")?;
        ensure!(files.status.success(), "git ls-files ended with {}", files.status);
        let listed = String::from_utf8(files.stdout)?;
        let mut files: BTreeSet<_> = listed.split_terminator('\0').collect();
        files.extend(changed.keys().map(String::as_str));
        let mut copied = Vec::new();
        add_files(place, &mut copied)?;
        let is_listed = |path: &Path| {
            let file = path.strip_prefix(place).ok().and_then(Path::to_str);
            file.is_some_and(|file| files.contains(file))
        };
        for gone in copied.iter().filter(|path| !is_listed(path)) {
            fs::remove_file(gone).with_context(|| gone.display().to_string())?;
        }
        for file in &files {
            let (from, to) = (root().join(file), place.join(file));
            let text = match changed.get(*file) {
                Some(text) => text.as_bytes().to_owned(),
                None if from.is_file() => fs::read(&from)?,
                None => continue,
            };
            // Writing an unchanged file would make cargo build it again.
            if text != fs::read(&to).unwrap_or_default() {
                to.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(&to, text).with_context(|| (*file).to_owned())?;
                if from.is_file() {
                    fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
                }
            }
        }
        Ok(())
    }

    /// Runs the steps without a mutant. All of them must pass. The time that each step takes determines its time limit with a mutant.
    pub(crate) fn prepare(&mut self, steps: &[&'static Step]) -> anyhow::Result<()> {
        self.limits = steps.iter().map(|step| (step.name, Duration::from_secs(3600))).collect();
        if steps.iter().any(|step| step.kind == StepKind::Image) {
            self.production = self.program("vfalls", "production")?;
        }
        if steps.iter().any(|step| step.kind == StepKind::FastPath) {
            self.fast_path = self.program("fast-path", "fast_path")?;
        }
        for step in steps {
            say(format_args!("without a mutant: {}", step.name));
            let (ended, time) = self.run(step)?;
            let failed =
                || format!("without a mutant: {}: {ended:?}: {}", step.name, self.log.display());
            ensure!(ended == TestOutcome::Passed, failed());
            self.limits.insert(step.name, (time * LIMIT_FACTOR).max(MIN_LIMIT));
        }
        self.image = fs::read(self.place.join(IMAGE)).unwrap_or_default();
        Ok(())
    }

    /// Calls `test` while a mutant is in the copy.
    pub(crate) fn with<T>(
        &self,
        mutant: &Mutant,
        test: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let file = self.place.join(&mutant.file);
        let text = fs::read_to_string(&file)?;
        fs::write(&file, mutant.edit.apply(&text))?;
        let tested = test();
        fs::write(&file, text)?;
        tested
    }

    /// Returns whether the image is the same as without a mutant.
    pub(crate) fn is_same_image(&self) -> bool {
        fs::read(self.place.join(IMAGE)).is_ok_and(|image| image == self.image)
    }

    /// Runs a step's tests. Returns how they ended, and how long they took, without the time to build them.
    pub(crate) fn run(&self, step: &Step) -> anyhow::Result<(TestOutcome, Duration)> {
        let limit = self.limits.get(step.name).copied().unwrap_or(MIN_LIMIT);
        let program = match step.kind {
            StepKind::Image => Some(&self.production),
            StepKind::FastPath => Some(&self.fast_path),
            StepKind::Host | StepKind::Loom => None,
        };
        if let Some(program) = program {
            let mut tests = Command::new(program);
            tests.env("FAST_PATH_IMAGE", self.place.join(IMAGE));
            tests.args(step.arguments.split_whitespace());
            return self.judge(&mut tests, limit);
        }
        let (arguments, tests) = step.arguments.split_once(" -- ").unwrap_or((step.arguments, ""));
        let cargo = |more: &str| {
            let mut cargo = self.cargo(arguments);
            if step.kind == StepKind::Loom {
                cargo
                    .env("RUSTFLAGS", "--cfg loom")
                    .env("CARGO_TARGET_DIR", self.place.join("target/loom"));
            }
            cargo.args(more.split_whitespace());
            cargo
        };
        match self.run_with_limit(&mut cargo("--no-run"), Duration::from_secs(1800))? {
            Some(true) => self.judge(cargo("--").args(tests.split_whitespace()), limit),
            _ => Ok((TestOutcome::NotBuilt, Duration::ZERO)),
        }
    }

    /// Returns what the last command printed.
    pub(crate) fn messages(&self) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.log)?).into_owned())
    }

    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    fn cargo(&self, arguments: &str) -> Command {
        self.cargo_to("test", arguments)
    }

    /// Returns a cargo command for the copy.
    pub(crate) fn cargo_to(&self, command: &str, arguments: &str) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args([command, "--offline"]).args(arguments.split_whitespace());
        cargo.env("CARGO_TARGET_DIR", self.place.join("target")).env_remove("RUSTFLAGS");
        cargo
    }

    /// Builds a package's test program `test`, and returns its path.
    fn program(&self, package: &str, test: &str) -> anyhow::Result<PathBuf> {
        let mut cargo = self.cargo("--quiet --profile=quick --no-run --message-format=json");
        cargo.args(["--package", package, "--test", test]);
        let built = cargo.current_dir(&self.place).stderr(Stdio::inherit()).output()?;
        let messages = String::from_utf8(built.stdout)?;
        let mut programs = built::programs(&messages).into_iter();
        let program = programs.find(|program| program.target == test).map(|program| program.path);
        program.with_context(|| format!("the tests {test} do not build"))
    }

    /// Runs tests. Returns how they ended, and how long they took.
    pub(crate) fn judge(
        &self,
        command: &mut Command,
        limit: Duration,
    ) -> anyhow::Result<(TestOutcome, Duration)> {
        let begin = Instant::now();
        let ended = match self.run_with_limit(command, limit)? {
            Some(true) => TestOutcome::Passed,
            None => TestOutcome::TimedOut,
            Some(false) => failed(&self.messages()?),
        };
        Ok((ended, begin.elapsed()))
    }

    /// Runs a command in the copy, with its output in the log, and ends it at the first test that fails. Returns whether the command
    /// succeeded, or `None` if it took too long.
    pub(crate) fn run_with_limit(
        &self,
        command: &mut Command,
        limit: Duration,
    ) -> anyhow::Result<Option<bool>> {
        let log = File::create(&self.log)?;
        if command.get_current_dir().is_none() {
            command.current_dir(&self.place);
        }
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut child = command.process_group(0).spawn().context("a test cannot be run")?;
        let begin = Instant::now();
        let mut read = 0;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            let is_late = begin.elapsed() > limit;
            let length = fs::metadata(&self.log)?.len();
            let has_failed = length != read && failed_test(&self.messages()?).is_some();
            read = length;
            if is_late || has_failed || interrupt::happened() {
                killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL)?;
                child.wait()?;
                ensure!(is_late || has_failed, Interrupted);
                return Ok(has_failed.then_some(false));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Returns the kind of failure that the test log shows.
fn failed(log: &str) -> TestOutcome {
    if log.contains("does not build") {
        return TestOutcome::NotBuilt;
    }
    TestOutcome::Failed(failed_test(log).unwrap_or("the tests end").to_owned())
}

/// Returns the first test that the log reports as failed.
fn failed_test(log: &str) -> Option<&str> {
    log.lines().find_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

/// Locks the copy, because two programs that used it at the same time would mix their mutants.
pub(crate) fn lock() -> anyhow::Result<nix::fcntl::Flock<File>> {
    fs::create_dir_all(mutated_directory())?;
    let place = mutated_directory().join("lock");
    let file = File::create(&place)?;
    match nix::fcntl::Flock::lock(file, nix::fcntl::FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(lock),
        Err(_) => bail!("{}: another mutants program is running there", place.display()),
    }
}

/// Returns the folder that holds the copy, its lock and the log.
fn mutated_directory() -> PathBuf {
    root().join("target/mutated")
}

#[cfg(test)]
#[path = "tests/checkout.rs"]
mod tests;
