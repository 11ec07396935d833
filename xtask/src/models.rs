//! Runs the models of concurrent strands.

use crate::cargo::{cargo, passes, with_flags};

/// Runs the models that `checker` (loom or shuttle) checks: the models of single parts, which are beside the code, and the models of the
/// whole service, which are in `tests`. Uses a target directory of its own, because the flag `--cfg` rebuilds everything. If `names` is not
/// empty, runs only models whose names contain one of them.
pub(crate) fn models(
    checker: &str,
    names: &[&str],
    variables: &[(&str, &str)],
) -> anyhow::Result<()> {
    let parts = format!("{checker}_");
    let parts = if names.is_empty() { &[&*parts] } else { names };
    let part = ["--package=sun4v-hv-core", "--package=sun4v-perfctr-service", "--lib"];
    let whole = ["--package=tests", &format!("--test={checker}")];
    for (packages, names) in [(&part[..], parts), (&whole, names)] {
        let mut command = cargo();
        command.envs(variables.iter().copied());
        with_flags(&mut command, "RUSTFLAGS", &format!("--cfg {checker}"));
        command.args(["test", "--quiet", "--profile=quick"]);
        command.arg(format!("--target-dir=target/{checker}"));
        passes(command.args(packages).arg("--").args(names))?;
    }
    Ok(())
}
