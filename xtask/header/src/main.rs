//! Writes the C interface's header, `guest-abi/c/include/vfperf.h`. `cargo xtask header` runs this program.
//!
//! The numbers come from the tables of guest-abi. The types and functions come from the source of guest-abi-c, which cbindgen
//! reads.
//!
//! The exit status is 1 if `--check` finds a difference, and 2 if the header cannot be created.

#[path = "../../../guest-abi/c/src/event.rs"]
mod event;
mod tables;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use clap::Parser;

/// Write the C header of guest-abi
#[derive(Parser)]
struct Args {
    /// Compare instead of writing
    #[arg(long)]
    check: bool,
}

/// The source files of the C interface's types and functions, in the order of the header.
const SOURCES: [&str; 4] = ["types", "function", "unit", "sampling"];

/// The parameters that are numbers in Rust and enumerations in C.
const ENUMERATIONS: [&str; 6] =
    ["counter", "perf_config", "reg", "sparc_event", "unit", "unit_event"];

fn main() -> ExitCode {
    let (status, said) = match run(&Args::parse()) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(line)) => {
            let differs = format!(
                "guest-abi/c/include/vfperf.h, line {line}: differs from guest-abi/src and guest-abi/c/src; \
                 write it with: cargo xtask header"
            );
            (1, differs)
        }
        Err(error) => (2, format!("{error:#}")),
    };
    // Ignores an error, because the exit status reports the failure, too.
    let _ = writeln!(io::stderr(), "error: {said}");
    ExitCode::from(status)
}

/// Writes the header. With `--check`, writes nothing, and returns the number of the first line that differs.
fn run(args: &Args) -> anyhow::Result<Option<usize>> {
    let (path, header) = (path(), header()?);
    let name = || path.display().to_string();
    if !args.check {
        fs::write(&path, header).with_context(name)?;
        return Ok(None);
    }
    let found = fs::read_to_string(&path).with_context(name)?;
    Ok(first_difference(&found, &header))
}

fn guest_abi_c() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-abi/c")
}

fn path() -> PathBuf {
    guest_abi_c().join("include/vfperf.h")
}

/// Returns the number of the first line that differs; `None` if no line differs.
fn first_difference(found: &str, expected: &str) -> Option<usize> {
    let same =
        found.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected);
    (found != expected).then(|| same.count() + 1)
}

/// Returns the header that the current source requires.
fn header() -> anyhow::Result<String> {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Tag,
        header: Some(include_str!("introduction.h").trim_end().into()),
        include_guard: Some("VFPERF_H".into()),
        no_includes: true,
        after_includes: Some(format!("{}\n{}", include_str!("environment.h"), tables::tables())),
        documentation_style: DocumentationStyle::C99,
        line_length: 120,
        ..Config::default()
    };
    config.function.prefix = Some("VFPERF_MUST_CHECK".into());
    config.layout.aligned_n = Some("VFPERF_ALIGNED".into());
    let renamed =
        ENUMERATIONS.map(|name| (format!("vfperf_{name}"), format!("enum vfperf_{name}")));
    config.export.rename.extend(renamed);
    let directory = guest_abi_c().join("src");
    let builder = SOURCES.iter().fold(Builder::new().with_config(config), |builder, name| {
        builder.with_src(directory.join(format!("{name}.rs")))
    });
    let bindings = builder.generate().map_err(|error| anyhow!("guest-abi/c/src: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(String::from_utf8(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_current() {
        let found = fs::read_to_string(path()).unwrap();
        assert_eq!(first_difference(&found, &header().unwrap()), None);
    }

    #[test]
    fn the_first_difference_is_found() {
        assert_eq!(first_difference("a\nb\nc\n", "a\nd\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\n"), None);
    }
}
