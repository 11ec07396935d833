//! Writes the header of the C interface, `guest-abi/c/include/sun4v_perf.h`. `cargo xtask header` runs this program.
//!
//! The numbers come from the tables of guest-abi. The types and functions come from the source of guest-abi-c, which cbindgen
//! reads.
//!
//! The exit status is 1 if `--check` finds a difference, and 2 if the header cannot be made.

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

const INTRODUCTION: &str = "\
/*
 * The sun4v performance counter service (API group 0x205) for guests written in C.
 *
 * Link with the static library that the package guest-abi-c builds. Everything here is freestanding C99: no libc, no
 * allocation, no state; all functions may be called from any strand at any time.
 *
 * - Functions that return uint64_t and take a transport return a status: one of enum sun4v_status, or another number that
 *   the hypervisor answered. On an error no result is stored.
 * - A transport is NULL for the real trap, which needs privileged mode of a sun4v virtual machine (SPARC V9 only: elsewhere
 *   the status is EBADTRAP). Otherwise both the pointer and the function in the structure have to be valid.
 * - A pointer to a result is NULL, and the result is dropped, or valid for a write.
 *
 * Written by `cargo xtask header`: change guest-abi/src or guest-abi/c/src, not this file.
 */";

/// The source files of the types and functions of the C interface, in the order of the header.
const SOURCES: [&str; 2] = ["types", "function"];

fn main() -> ExitCode {
    let (status, said) = match run(&Args::parse()) {
        Ok(None) => return ExitCode::SUCCESS,
        Ok(Some(line)) => {
            let differs = format!(
                "guest-abi/c/include/sun4v_perf.h, line {line}: differs from guest-abi/src and guest-abi/c/src; \
                 write it with: cargo xtask header"
            );
            (1, differs)
        }
        Err(error) => (2, format!("{error:#}")),
    };
    // An error is ignored, because the exit status reports the failure, too.
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
    guest_abi_c().join("include/sun4v_perf.h")
}

/// Returns the number of the first line that differs; `None` if no line differs.
fn first_difference(found: &str, expected: &str) -> Option<usize> {
    let same =
        found.lines().zip(expected.lines()).take_while(|(found, expected)| found == expected);
    (found != expected).then(|| same.count() + 1)
}

/// Returns the header that the current source makes.
fn header() -> anyhow::Result<String> {
    let config = Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Tag,
        header: Some(INTRODUCTION.into()),
        include_guard: Some("SUN4V_PERF_H".into()),
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h", "stdbool.h"].map(String::from).into(),
        after_includes: Some(format!("\n{}", tables::tables())),
        documentation_style: DocumentationStyle::C,
        line_length: 120,
        ..Config::default()
    };
    let directory = guest_abi_c().join("src");
    let builder = SOURCES.iter().fold(Builder::new().with_config(config), |builder, name| {
        builder.with_src(directory.join(format!("{name}.rs")))
    });
    let bindings = builder.generate().map_err(|error| anyhow!("guest-abi/c/src: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = on_one_line(&String::from_utf8(text)?);
    // cbindgen writes every number in decimal.
    Ok(text.replace(&format!("{}ull", u64::MAX), &format!("{:#x}ull", u64::MAX)))
}

/// Joins a one-line comment with its delimiters, which cbindgen puts on lines of their own.
fn on_one_line(text: &str) -> String {
    let lines = text.lines().collect::<Vec<_>>();
    let mut rest = &*lines;
    let mut shorter = String::new();
    while let [line, more @ ..] = rest {
        rest = more;
        shorter.push_str(line);
        if let ("/*", [comment, end, more @ ..]) = (line.trim(), more)
            && end.trim() == "*/"
        {
            rest = more;
            shorter.push_str(&format!(" {} */", comment.trim()));
        }
        shorter.push('\n');
    }
    shorter
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

    #[test]
    fn short_comments_take_one_line() {
        let text = "/*\n a\n */\nb\n  /*\n   c\n   d\n   */\n";
        assert_eq!(on_one_line(text), "/* a */\nb\n  /*\n   c\n   d\n   */\n");
    }
}
