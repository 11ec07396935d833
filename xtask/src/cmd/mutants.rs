//! `mutants`: has cargo-mutants change the code in one place at a time. Each change should make a test fail.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use nix::fcntl::{Flock, FlockArg};
use serde::Deserialize;

use crate::cargo::{cargo, output, root, works};
use crate::qemu::big_endian;
use crate::steps::say;
use vfalls::exit::Mismatch;

/// Change the code in one place at a time, and check that the tests notice
///
/// cargo-mutants generates the mutants. .cargo/mutants.toml selects the files, and lists the changes that no test can notice, with reasons.
/// A share of the remaining mutants is tested: by default a seventh, some 400, which takes about 40 minutes on two cores. The exit status
/// is 1 if the tests miss a mutant, or if more than 3% of all mutants are excluded. The outcome of each mutant is in
/// target/mutants/mutants.out.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  cargo xtask mutants\n  cargo xtask mutants --shard 0/1 --file hv-core/src/trace"
)]
pub struct MutantsArgs {
    /// Test only every N-th mutant, from number K on
    #[arg(long, value_name = "K/N", default_value = "0/7", value_parser = shard)]
    shard: (usize, usize),
    /// Test only mutants of this file, or of the files below this directory (may be repeated)
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
}

fn shard(text: &str) -> Result<(usize, usize), &'static str> {
    let numbers = text.split_once('/');
    let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).ok_or("expected K/N with K < N, such as 0/7")
}

/// The command that installs cargo-mutants. This module reads and writes files in the format of exactly this version.
const INSTALL: &str = "cargo install --locked cargo-mutants@27.1.0";

/// The configuration of cargo-mutants, relative to the root of the workspace.
const CONFIG: &str = ".cargo/mutants.toml";

/// The maximum number of mutants per thousand that [`Config::exclude_re`] may exclude.
const MAX_EXCLUDED_PER_MILLE: usize = 30;

/// Tests that run together on each mutant. The suites closest to the code come first, because a mutant that an earlier suite catches need
/// not be built for later ones.
struct Suite {
    name: &'static str,
    /// The files whose mutants the suite tests. If the list is empty, the suite tests the mutants of all files.
    files: &'static [&'static str],
    /// The arguments of `cargo test`, in addition to the package of the mutant.
    tests: &'static str,
    /// `true` if the code is compiled only for SPARC V9. The tests then run on an emulated machine.
    on_sparc: bool,
}

/// The last suite tests all mutants that the earlier suites have not caught. If the last suite misses a mutant, no suite has caught it. The
/// suites omit documentation examples, and tests that would take minutes for some mutants.
const SUITES: [Suite; 4] = [
    Suite {
        name: "tests of the package",
        files: &[],
        // The skipped tests run cargo to compile the C interface.
        tests: "--tests -- --skip=a_program_in_c --skip=a_program_without_libc",
        on_sparc: false,
    },
    Suite {
        name: "tests on SPARC V9",
        files: &[
            "perfctr-service/src/hubs/gate.rs",
            "perfctr-service/src/rights/access.rs",
            "perfctr-service/src/rights/guest.rs",
        ],
        tests: "--lib -- --skip=every_small_schedule",
        on_sparc: true,
    },
    Suite {
        name: "tests in C, models of the decisions, machine descriptions from source",
        files: &[
            "guest-abi/c/src/**",
            "guest-abi/src/**",
            "perfctr-service/src/description/**",
            "perfctr-service/src/hubs/turns.rs",
            "perfctr-service/src/progress/**",
            "perfctr-service/src/rights/protocol.rs",
            "perfctr-service/src/rights/protocol/**",
            "platform/src/md/**",
        ],
        tests: "--package=guest-abi-c --package=proof --package=simulator-tests --test=c --test=small --test=md",
        on_sparc: false,
    },
    Suite {
        name: "whole-system tests",
        files: &[],
        // Most of the skipped tests repeat something hundreds of times: threads make calls while
        // other threads negotiate, repair units or move rights.
        tests: "--package=sun4v-hv-core --package=sun4v-platform --package=sun4v-perfctr-service --package=tests --tests -- \
                --skip=a_program_in_c --skip=a_program_without_libc --skip=a_version_is_never_a_mixture \
                --skip=ht_does_not_depend_on_the_version --skip=no_call_is_served_beyond_the_version_in_force \
                --skip=two_strands_negotiate --skip=another_unit_is_mended \
                --skip=nobody_reads_what_another_guest_has_written \
                --skip=a_change_that_is_pending_all_the_time_is_seen_to_be",
        on_sparc: false,
    },
];

pub fn run(args: MutantsArgs) -> anyhow::Result<()> {
    let config = Config::read()?;
    let all = config.mutants()?;
    let excluded = config.excluded(&all)?;
    let chosen = chosen(&all, &excluded, &args)?;

    let place = root().join("target/mutants");
    fs::create_dir_all(&place).with_context(|| format!("{}: cannot be made", place.display()))?;
    let lock = File::create(place.join("lock"))?;
    let Ok(_lock) = Flock::lock(lock, FlockArg::LockExclusiveNonblock) else {
        bail!("{}: another cargo xtask mutants is running there", place.display());
    };
    let records = place.join("mutants.out");
    let _ = fs::remove_dir_all(&records);
    fs::create_dir_all(&records)?;
    // cargo-mutants skips the mutants that caught.txt lists.
    let caught = records.join("caught.txt");
    let passed_over = all.iter().filter(|name| !chosen.contains(name.as_str()));
    fs::write(&caught, passed_over.map(|name| format!("{name}\n")).collect::<String>())?;
    say(format_args!("{} of {} mutants, {} excluded", chosen.len(), all.len(), excluded.len()));
    let mut missed = String::new();
    for suite in &SUITES {
        say(format_args!("\n{}", suite.name));
        suite.test(&place)?;
        missed = fs::read_to_string(records.join("missed.txt")).unwrap_or_default();
        if missed.is_empty() && suite.files.is_empty() {
            break;
        }
        let late = fs::read_to_string(records.join("timeout.txt")).unwrap_or_default();
        let before = fs::read_to_string(&caught).unwrap_or_default();
        fs::write(&caught, before + &late)?;
    }
    let number = missed.lines().count();
    ensure!(
        missed.is_empty(),
        Mismatch(format!("{number} missed and not excluded in {CONFIG}:\n{}", missed.trim_end()))
    );
    Ok(())
}

impl Suite {
    /// Tests the mutants that no earlier suite caught.
    fn test(&self, place: &Path) -> anyhow::Result<()> {
        let mut command = mutants(self.on_sparc)?;
        command.args(["--iterate", "--colors=never", "--output"]).arg(place);
        command.args(self.files.iter().map(|file| format!("--file={file}")));
        if self.on_sparc {
            command.args(big_endian::ARGUMENTS.map(|argument| format!("--cargo-arg={argument}")));
        }
        let status = command.arg("--").args(self.tests.split(' ')).stdin(Stdio::null()).status();
        // Status 2 means that mutants were missed, and 3 that tests took too long.
        let status = status.context("cargo cannot be run")?;
        ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo mutants ended with {status}");
        Ok(())
    }
}

/// Returns a command that runs cargo-mutants, which must be installed.
pub fn command() -> anyhow::Result<Command> {
    mutants(false)
}

/// Returns a command that runs cargo-mutants. If `on_sparc` is `true`, cargo-mutants tests the mutants on emulated SPARC V9.
fn mutants(on_sparc: bool) -> anyhow::Result<Command> {
    ensure!(
        works(cargo().args(["mutants", "--version"])),
        "cargo mutants is missing; install it with: {INSTALL}"
    );
    let mut command = match on_sparc {
        true => big_endian::cargo()?,
        false => cargo(),
    };
    command.current_dir(root()).args(["mutants", "--workspace"]);
    Ok(command)
}

/// The part of cargo-mutants' configuration that selects mutants.
#[derive(Deserialize)]
struct Config {
    examine_globs: Vec<String>,
    exclude_globs: Vec<String>,
    exclude_re: Vec<String>,
}

impl Config {
    fn read() -> anyhow::Result<Self> {
        let text = fs::read_to_string(root().join(CONFIG)).context(CONFIG)?;
        toml::from_str(&text).context(CONFIG)
    }

    /// Lists the names of all mutants, including those that the configuration's regular expressions exclude. A name looks like
    /// `hv-core/src/caller.rs:26:9: replace GuestId::index -> usize with 1`.
    fn mutants(&self) -> anyhow::Result<Vec<String>> {
        let mut command = mutants(false)?;
        command.args(["--no-config", "--list", "--colors=never"]);
        command.args(self.examine_globs.iter().map(|glob| format!("--file={glob}")));
        command.args(self.exclude_globs.iter().map(|glob| format!("--exclude={glob}")));
        let names = String::from_utf8(output(&mut command, "cargo mutants --list")?)?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Returns the mutants that the regular expressions exclude.
    fn excluded<'a>(&self, all: &'a [String]) -> anyhow::Result<BTreeSet<&'a str>> {
        let mut excluded = BTreeSet::new();
        for entry in &self.exclude_re {
            let plain = entry.replace('\\', "");
            let parts = plain.strip_prefix('^').and_then(|rest| rest.strip_suffix('$'));
            let (file, change) = parts
                .and_then(|rest| rest.split_once(":.*: "))
                .with_context(|| format!("{CONFIG}: {entry}: expected '^FILE:.*: CHANGE$'"))?;
            let is_it = |name: &&str| {
                let rest = name.strip_prefix(file).and_then(|rest| rest.strip_prefix(':'));
                rest.and_then(|rest| rest.split_once(": "))
                    .is_some_and(|(_, found)| found == change)
            };
            let before = excluded.len();
            excluded.extend(all.iter().map(String::as_str).filter(is_it));
            ensure!(excluded.len() > before, "{CONFIG}: {entry}: there is no such mutant");
        }
        let too_many = excluded.len() * 1000 > all.len() * MAX_EXCLUDED_PER_MILLE;
        ensure!(
            !too_many,
            Mismatch(format!("{CONFIG} excludes {} of {} mutants", excluded.len(), all.len()))
        );
        Ok(excluded)
    }
}

/// Returns the mutants that `args` select and the configuration does not exclude.
fn chosen<'a>(
    all: &'a [String],
    excluded: &BTreeSet<&str>,
    args: &MutantsArgs,
) -> anyhow::Result<BTreeSet<&'a str>> {
    let is_in = |name: &str, path: &PathBuf| {
        let file = name.split(':').next().unwrap_or_default();
        Path::new(file).starts_with(path)
    };
    for path in &args.file {
        ensure!(
            all.iter().any(|name| is_in(name, path)),
            "{}: has no mutants, expected a path such as hv-core/src/trace",
            path.display()
        );
    }
    let wanted = |name: &&str| {
        let mut files = args.file.iter();
        !excluded.contains(name) && (args.file.is_empty() || files.any(|path| is_in(name, path)))
    };
    let (from, every) = args.shard;
    Ok(all.iter().map(String::as_str).filter(wanted).skip(from).step_by(every).collect())
}

#[cfg(test)]
#[path = "tests/mutants.rs"]
mod tests;
