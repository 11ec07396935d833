//! `header`: the C header of guest-abi.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use cbindgen::{Builder, Config, DocumentationStyle, Language, ParseConfig, Style};

use super::Mismatch;

/// Write the C header of guest-abi, guest-abi/include/sun4v_perf.h
///
/// The header is made from the Rust source of the C interface (feature `capi` of guest-abi) and kept in the repository.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask header --check")]
pub struct Args {
    /// Compare instead of writing: exit status 1 if the header is not what the source says
    #[arg(long)]
    check: bool,
}

const INTRODUCTION: &str = "\
/*
 * The sun4v performance counter service (API group 0x205) for guests written in C.
 *
 * Link with the static library that guest-abi's feature `capi` builds. Everything here is freestanding C99: no libc, no
 * allocation, no state; all functions may be called from any strand at any time.
 *
 * - Functions that return uint64_t and take a transport answer a status: one of enum sun4v_status, or another number that
 *   the hypervisor gave. On an error no result is stored.
 * - A transport is NULL for the real trap, which takes privileged mode of a sun4v virtual machine (SPARC V9 only: elsewhere
 *   the answer is EBADTRAP). Otherwise it is valid, and so is the function in it.
 * - A pointer to a result is NULL, and the result dropped, or valid for a write.
 *
 * Written by `cargo xtask header`: change guest-abi/src/capi, not this file.
 */";

/// The files of the interface, in the order of the header.
const SOURCES: [&str; 6] = ["number", "register", "layout", "event", "types", "function"];

/// Enumerations whose numbers are passed as integers.
const ENUMERATIONS: [&str; 9] = [
    "sun4v_status",
    "sun4v_perf_reg",
    "sun4v_unit",
    "sun4v_perf_config",
    "sun4v_sparc_event",
    "sun4v_dram_event",
    "sun4v_lpu_event",
    "sun4v_gpd_event",
    "sun4v_asu_event",
];

/// Runs it.
///
/// # Errors
/// [`Mismatch`] if the header was to be compared and is another. Otherwise what cannot be read, parsed or written.
pub fn run(args: Args) -> anyhow::Result<()> {
    let header = generate()?;
    let path = path();
    let name = || path.display().to_string();
    if !args.check {
        return fs::write(&path, header).with_context(name);
    }
    let found = fs::read_to_string(&path).with_context(name)?;
    compare(&found, &header).map_err(Into::into)
}

fn crate_directory() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).join("guest-abi")
}

fn path() -> PathBuf {
    crate_directory().join("include/sun4v_perf.h")
}

fn compare(found: &str, expected: &str) -> Result<(), Mismatch> {
    if found == expected {
        return Ok(());
    }
    let same = found
        .lines()
        .zip(expected.lines())
        .take_while(|(found, expected)| found == expected);
    Err(Mismatch(format!(
        "guest-abi/include/sun4v_perf.h, line {}: not what guest-abi/src/capi says; write it with: cargo xtask header",
        same.count() + 1
    )))
}

/// The header as the source has it.
fn generate() -> anyhow::Result<String> {
    let mut config = Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Tag,
        header: Some(INTRODUCTION.into()),
        include_guard: Some("SUN4V_PERF_H".into()),
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h", "stdbool.h"]
            .map(String::from)
            .into(),
        documentation_style: DocumentationStyle::C,
        line_length: 120,
        parse: ParseConfig::default(),
        ..Config::default()
    };
    config.export.include = ENUMERATIONS.map(String::from).into();
    let directory = crate_directory().join("src/capi");
    let builder = SOURCES
        .iter()
        .fold(Builder::new().with_config(config), |builder, name| {
            builder.with_src(directory.join(format!("{name}.rs")))
        });
    let bindings = builder
        .generate()
        .map_err(|error| anyhow!("guest-abi/src/capi: {error}"))?;
    let mut text = Vec::new();
    bindings.write(&mut text);
    Ok(in_hex(&on_one_line(&String::from_utf8(text)?)))
}

/// cbindgen writes every number in decimal. Those with a suffix (bits, numbers of calls) and event codes are hexadecimal in
/// the specification.
fn in_hex(text: &str) -> String {
    let mut events = false;
    let mut lines = String::new();
    for line in text.lines() {
        if line.starts_with("enum") {
            events = line.contains("_event");
        }
        lines.push_str(&line_in_hex(line, events).unwrap_or_else(|| line.into()));
        lines.push('\n');
    }
    lines
}

/// Comments of one line, without lines of their own for what encloses them.
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

fn line_in_hex(line: &str, event: bool) -> Option<String> {
    if let Some(number) = line
        .strip_prefix("#define ")
        .and_then(|define| define.strip_suffix("ull"))
    {
        let (name, number) = number.split_once(' ')?;
        return Some(format!(
            "#define {name} {:#x}ull",
            number.parse::<u64>().ok()?
        ));
    }
    let (name, number) = line.strip_suffix(',')?.split_once(" = ")?;
    event.then_some(())?;
    Some(format!("{name} = {:#x},", number.parse::<u64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_current() {
        let found = fs::read_to_string(path()).unwrap();
        compare(&found, &generate().unwrap()).unwrap();
    }

    #[test]
    fn the_first_difference_is_named() {
        let error = compare("a\nb\nc\n", "a\nd\nc\n").unwrap_err();
        assert!(error.0.contains("sun4v_perf.h, line 2: "), "{error}");
        assert!(compare("a\n", "a\nb\n").unwrap_err().0.contains("line 2: "));
    }

    #[test]
    fn short_comments_take_one_line() {
        let text = "/*\n a\n */\nb\n  /*\n   c\n   d\n   */\n";
        assert_eq!(on_one_line(text), "/* a */\nb\n  /*\n   c\n   d\n   */\n");
    }

    #[test]
    fn numbers_of_the_specification_are_hexadecimal() {
        let text = "#define A 518ull\n#define B 90\nenum sun4v_unit {\n  C = 10,\n};\nenum x_event {\n  D = 765,\n};\n";
        let hex = "#define A 0x206ull\n#define B 90\nenum sun4v_unit {\n  C = 10,\n};\nenum x_event {\n  D = 0x2fd,\n};\n";
        assert_eq!(in_hex(text), hex);
    }
}
