//! `new-image`: writes the source of a small hypervisor as a separate project.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use simulator::text::line;

use crate::output::OutputDirectory;
use crate::plain;

/// Write a small hypervisor as a Cargo project, to build and to change
///
/// The hypervisor has two guests with a console each, the performance counters, and a hypercall of its own. The project has a guest
/// that makes this hypercall, a machine description, and a README with the commands that build and boot it.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  vfalls new-image mine && cat mine/README.md")]
pub(crate) struct NewImageArgs {
    /// The directory of the project, which must not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Includes the content of a file in the repository.
macro_rules! file {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", $path))
    };
}

/// The paths and contents of the project's files. Some files come from the example guest's project.
pub const FILES: [(&str, &str); 12] = [
    ("README.md", file!("hypervisor/smallest/README.md")),
    ("Cargo.toml", file!("hypervisor/smallest/Cargo.toml")),
    ("Cargo.lock", file!("hypervisor/smallest/Cargo.lock")),
    ("build.rs", file!("hypervisor/smallest/build.rs")),
    ("machine.toml", file!("hypervisor/smallest/machine.toml")),
    ("src/main.rs", file!("hypervisor/smallest/src/main.rs")),
    ("src/guest.rs", file!("hypervisor/smallest/src/guest.rs")),
    ("guest.ld", file!("guest-abi/guests/rust/image.ld")),
    (
        "sparc64-unknown-none-sun4v.json",
        file!("guest-abi/guests/rust/sparc64-unknown-none-sun4v.json"),
    ),
    ("rust-toolchain.toml", file!("guest-abi/guests/rust/rust-toolchain.toml")),
    (".cargo/config.toml", file!("guest-abi/guests/rust/.cargo/config.toml")),
    (".gitignore", file!("guest-abi/guests/rust/.gitignore")),
];

pub(crate) fn run(args: NewImageArgs) -> anyhow::Result<()> {
    let shown = args.directory.display();
    ensure!(fs::symlink_metadata(&args.directory).is_err(), "{shown}: already exists");
    // Also fails if another program creates the directory in the meantime.
    let directory = OutputDirectory::create(&args.directory, |_| bail!("{shown}: already exists"))?;
    for (path, content) in FILES {
        directory.write(path, content.as_bytes())?;
    }
    directory.complete()?;
    let shown = line(&shown.to_string());
    writeln!(plain::stdout(), "{shown}/README.md says how to build and boot it")?;
    Ok(())
}
