//! Tests the example guests, and the hypervisor that `vfalls new-image` writes. Copies each project into an empty directory, where its
//! README's commands build and boot it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;
use xtask::cargo::root;
use xtask::qemu::build::{self, Production};
use xtask::qemu::toolchain::Toolchain;
use xtask::tools::{self, MAKE, SPARC_GCC};

/// A shell function `vfalls`, which a README's commands call. The function calls the tested tool with a hypervisor that is built from its
/// sources, and writes the run as JSON.
const VFALLS: &str = r#"vfalls() {
    [ "$1" = boot ] && shift && "$VFALLS" boot --hypervisor "$HYPERVISOR" --limit 100000000 --json results.json --force "$@"
}
"#;

const VFALLS_PATH: &str = env!("CARGO_BIN_EXE_vfalls");

#[test]
#[ignore = "builds images"]
fn they_do_what_their_readme_says() -> anyhow::Result<()> {
    tools::require(&[SPARC_GCC, MAKE])?;
    let toolchain = Toolchain::find()?;
    let hypervisor = build::production(&toolchain, Production::Shipped)?;
    for (folder, trap, number) in [
        // This guest loads from a misaligned address.
        ("c", "ldx [%g0 + 1], %g1", 0x34),
        ("rust", "ta 0x10", 0x110),
    ] {
        let directory = tempfile::tempdir()?;
        let source = root().join("guest-abi/guests").join(folder);
        copy(&source, directory.path())?;
        let readme = fs::read_to_string(directory.path().join("README.md"))?;
        let script = format!("{VFALLS}{}", blocks(&readme, "sh"));
        let mut shell = toolchain.shell();
        shell
            .current_dir(directory.path())
            .args(["-euc", &script])
            .env("CHECKOUT", root())
            .env("VFALLS", VFALLS_PATH)
            .env("HYPERVISOR", &hypervisor);

        let output = shell.output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let problem = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{folder}: {problem}{printed}");
        for text in [&*printed, &blocks(&readme, "text")] {
            judge(text).with_context(|| format!("{folder}: {text}"))?;
        }
        ensure!(exit_code(directory.path())? == 0, "{folder}: {printed}");

        let start = directory.path().join("start.s");
        let text = fs::read_to_string(&start)?;
        let call = "call strand_main";
        ensure!(text.matches(call).count() == 1, "{text}");
        fs::write(&start, text.replace(call, &format!("{trap}\n{call}")))?;
        let output = shell.output()?;
        ensure!(output.status.code() == Some(1), "{folder}: {output:?}");
        let code = exit_code(directory.path())?;
        ensure!(code == 0x1000 + number, "{folder}: exit code {code}");
    }
    Ok(())
}

#[test]
#[ignore = "builds images"]
fn a_new_image_does_what_its_readme_says() -> anyhow::Result<()> {
    let toolchain = Toolchain::find()?;
    let place = tempfile::tempdir()?;
    let project = place.path().join("mine");
    let made = Command::new(VFALLS_PATH).arg("new-image").arg(&project).output()?;
    ensure!(made.status.success(), "{made:?}");
    let readme = fs::read_to_string(project.join("README.md"))?;
    let script = format!("vfalls() {{ \"$VFALLS\" \"$@\"; }}\n{}", blocks(&readme, "sh"));
    let run = || {
        let mut shell = toolchain.shell();
        shell.current_dir(&project).args(["-euc", &script]).env("CHECKOUT", root());
        let output = shell.env("VFALLS", VFALLS_PATH).output()?;
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into());
        anyhow::Ok((output.status.code(), said))
    };
    let (status, [printed, problem]): (_, [String; 2]) = run()?;
    ensure!(status == Some(0), "{problem}{printed}");
    for line in blocks(&readme, "text").lines() {
        ensure!(printed.lines().any(|printed| printed == line), "{line}: {printed}");
    }

    let main = project.join("src/main.rs");
    let written = fs::read_to_string(&main)?;
    let change = |from: &str, to: &str| {
        ensure!(written.matches(from).count() == 1, "{from}: {written}");
        fs::write(&main, written.replace(from, to))?;
        run()
    };
    // Only one guest may have `global`. With two such guests, the image cannot start, and prints
    // the reason.
    let (status, [printed, problem]) = change("Grant::STRAND)", "Grant::GLOBAL)")?;
    ensure!(status == Some(1) && printed.contains("first: hypervisor: "), "{problem}{printed}");
    ensure!(problem.ends_with("error: the hypervisor has not started first\n"), "{problem}");
    // If the project lacks the function that returns a guest's memory, the compiler names the missing function.
    let (_, [_, problem]) = change("fn partition(", "fn apart(")?;
    ensure!(problem.contains("missing: `partition`"), "{problem}");
    Ok(())
}

#[test]
fn files_that_both_have_are_the_same() {
    for name in [".gitignore", "image.ld", "rust-toolchain.toml", "start.s"] {
        let guests = root().join("guest-abi/guests");
        let [rust, c] = ["rust", "c"].map(|folder| fs::read(guests.join(folder).join(name)));
        assert_eq!(rust.unwrap(), c.unwrap(), "{name}");
    }
}

/// Copies a folder without its build output.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_name() == "target" {
            continue;
        } else if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Returns the lines of all code blocks in the language `language`.
fn blocks(readme: &str, language: &str) -> String {
    let fence = format!("```{language}\n");
    let blocks = readme.split(&fence).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

/// Reads the guest's exit code from the JSON.
fn exit_code(directory: &Path) -> anyhow::Result<u64> {
    let results = fs::read(directory.join("results.json"))?;
    let results: Value = serde_json::from_slice(&results)?;
    let code = results["guests"][0]["state"]["exited"].as_u64();
    code.with_context(|| results["guests"].to_string())
}

/// Compares the counts that a guest prints with the counts that follow from its program. A third of the loads are in `work_once`.
fn judge(said: &str) -> anyhow::Result<()> {
    let mut lines = said.lines().skip_while(|line| !line.ends_with(" loads each"));
    let mut numbers = |text: &str| -> anyhow::Result<Vec<u64>> {
        let line = lines.next().unwrap_or_default();
        let parts = line.split(|character: char| !character.is_ascii_digit());
        let numbers = parts.filter_map(|part| part.parse().ok()).collect();
        let words: String = line.chars().filter(|character| !character.is_ascii_digit()).collect();
        ensure!(words == text, "'{line}', expected '{text}' with numbers");
        Ok(numbers)
    };
    ensure!(numbers(" strands,  loads each")? == [4, 60_000], "another program");
    for cpu in 0..4 {
        let found = numbers(
            "cpu :  loads,  instructions; a sample every  loads:  in work_once,  in work_twice,  elsewhere",
        )?;
        let &[number, loads, instructions, 347, once, twice, elsewhere] = &found[..] else {
            anyhow::bail!("{found:?}");
        };
        ensure!((number, loads) == (cpu, 60_000), "loads: {found:?}");
        // Each of 20 rounds calls two loops: one with 1000 iterations of 4 instructions, and one with 1000 iterations of 5 instructions.
        // Each loop ends with 2 more instructions.
        ensure!((180_080..180_400).contains(&instructions), "instructions: {found:?}");
        let all = once + twice + elsewhere;
        ensure!((165..=190).contains(&all) && elsewhere <= 3, "samples: {found:?}");
        // The 60,000 loads give 172 samples, and the interrupt handler's loads give a few more. About a third of the samples are in
        // `work_once`. The bounds are three standard deviations from the expected number.
        ensure!((38..=76).contains(&once), "samples: {found:?}");
    }
    // Every fourth cache line is in the memory of the guest's node. The hypervisor causes a few more reads.
    let memory = numbers(" lines read,  reads in  memory channels")?;
    let &[16_384, 4096..4160, 2] = &memory[..] else {
        anyhow::bail!("{memory:?}");
    };
    Ok(())
}
