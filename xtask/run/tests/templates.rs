//! The guests that are there to be copied, in Rust and in C, on four strands. Needs what builds images.

use std::path::Path;
use std::process::Command;

use anyhow::ensure;
use xtask::qemu::build::{self, Production};
use xtask::qemu::c_guest;
use xtask::qemu::toolchain::Toolchain;

#[test]
#[ignore = "builds images"]
fn they_count_and_sample_what_they_do() -> anyhow::Result<()> {
    let toolchain = Toolchain::find()?;
    let hypervisor = build::production(&toolchain, Production::Shipped)?;
    for guest in [build::template(&toolchain)?, c_guest::template(&toolchain)?] {
        let said = run(&hypervisor, &guest)?;
        judge(&said).unwrap_or_else(|wrong| panic!("{}: {wrong}\n{said}", guest.display()));
    }
    Ok(())
}

fn run(hypervisor: &Path, guest: &Path) -> anyhow::Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_run"))
        .arg(guest)
        .arg("--hypervisor")
        .arg(hypervisor)
        .args(["--strands", "0-3", "--limit", "100000000"])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let problem = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{}: {problem}{said}",
        guest.display()
    );
    Ok(said)
}

/// Compares what a guest says of its counters with what its program does, of which a third of the loads is in one function.
fn judge(said: &str) -> anyhow::Result<()> {
    let mut lines = said.lines();
    let mut numbers = |text: &str| -> anyhow::Result<Vec<u64>> {
        let line = lines.next().unwrap_or_default();
        let parts = line.split(|character: char| !character.is_ascii_digit());
        let numbers = parts.filter_map(|part| part.parse().ok()).collect();
        let words: String = line
            .chars()
            .filter(|character| !character.is_ascii_digit())
            .collect();
        ensure!(words == text, "'{line}', expected '{text}' with numbers");
        Ok(numbers)
    };
    ensure!(
        numbers(" strands,  loads each")? == [4, 60_000],
        "another program"
    );
    for cpu in 0..4 {
        let found = numbers(
            "cpu :  loads,  instructions; a sample every  loads:  in work_once,  in work_twice,  elsewhere",
        )?;
        let &[number, loads, instructions, 347, once, twice, elsewhere] = &found[..] else {
            anyhow::bail!("{found:?}");
        };
        ensure!((number, loads) == (cpu, 60_000), "loads: {found:?}");
        // 20 rounds of 1000 times 4 and 5 instructions, and 2 at the end of each; and what calls the two functions.
        ensure!(
            (180_080..180_400).contains(&instructions),
            "instructions: {found:?}"
        );
        let all = once + twice + elsewhere;
        ensure!(
            (165..=180).contains(&all) && elsewhere <= 3,
            "samples: {found:?}"
        );
        // A third of 172, give or take three standard deviations.
        ensure!((38..=76).contains(&once), "samples: {found:?}");
    }
    // Every fourth line is in the memory of the guest's node; the hypervisor reads a few.
    let memory = numbers(" lines read,  reads in  memory channels")?;
    let &[16_384, 4096..4160, 2] = &memory[..] else {
        anyhow::bail!("{memory:?}");
    };
    Ok(())
}
