//! Finds the program of a command, and what the emulator needs to execute it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use object::elf::{
    EM_386, EM_AARCH64, EM_SPARC, EM_SPARC32PLUS, EM_SPARCV9, EM_X86_64, FileHeader64, Machine,
};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind};

use super::program_tracker::quoted;
use crate::tools::{self, QEMU_SPARC, QEMU_X86, Tool};

/// Debian's directory for SPARC V9 shared libraries.
const SPARC_SYSROOT: &str = "/usr/sparc64-linux-gnu";

#[derive(Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// QEMU's name for the program's architecture.
    pub(super) target: &'static str,
    pub(super) emulator: Tool,
    /// The directory of the program's shared libraries; `None` for `/`.
    pub(super) sysroot: Option<PathBuf>,
}

impl Program {
    /// Returns the program of a command. Fails if it cannot be recorded: the program is missing, is a script, is for another
    /// machine, or lacks its shared libraries.
    pub(super) fn find(command: &[OsString], sysroot: Option<&Path>) -> anyhow::Result<Self> {
        let name = command.first().context("expected a program")?;
        let shown = name.display();
        let path = tools::find(name)
            .with_context(|| format!("there is no program '{shown}', expected one to run"))?;
        let cannot = || format!("{} cannot be read", path.display());
        let mut data = Vec::new();
        // The headers are at the start of the file, so this reads only the start.
        let file = File::open(&path).with_context(cannot)?;
        file.take(1 << 16).read_to_end(&mut data).with_context(cannot)?;
        if let Some(line) = data.strip_prefix(b"#!") {
            bail!("{}", script(&path, line, &command[1..]));
        }
        let (machine, interpreter) = match FileKind::parse(&*data) {
            Ok(FileKind::Elf64) => elf(&data).with_context(cannot)?,
            Ok(FileKind::Elf32) => bail!("'{shown}' is a 32-bit program, {EXPECTED}"),
            _ => bail!("'{shown}' is not an ELF file, {EXPECTED}"),
        };
        let (target, emulator) = match machine {
            EM_X86_64 => ("x86_64", QEMU_X86),
            EM_SPARCV9 => ("sparc64", QEMU_SPARC),
            other => bail!("'{shown}' is a program for {}, {EXPECTED}", machine_name(other)),
        };
        let mut program = Self { path, target, emulator, sysroot: sysroot.map(Path::to_owned) };
        if let Some(interpreter) = interpreter.filter(|_| target == "sparc64" || sysroot.is_some())
        {
            let sysroot = sysroot.unwrap_or(Path::new(SPARC_SYSROOT));
            let relative = interpreter.trim_start_matches('/');
            ensure!(
                sysroot.join(relative).exists(),
                "'{shown}' needs shared libraries, and there is no {interpreter} in {}: link it statically, install \
                 libc6-sparc64-cross (Debian), or name another directory with --sysroot",
                sysroot.display()
            );
            program.sysroot = Some(sysroot.to_owned());
        }
        Ok(program)
    }
}

const EXPECTED: &str = "expected one for x86-64 or SPARC V9";

/// Returns the machine of an ELF file, and the path of its interpreter (the dynamic linker), if it needs one.
fn elf(data: &[u8]) -> object::Result<(Machine, Option<String>)> {
    let header = FileHeader64::<Endianness>::parse(data)?;
    let endian = header.endian()?;
    let headers = header.program_headers(endian, data)?;
    let interpreter = headers.iter().find_map(|part| part.interpreter(endian, data).ok()?);
    let interpreter = interpreter.map(|name| String::from_utf8_lossy(name).into_owned());
    Ok((header.e_machine(endian), interpreter))
}

fn machine_name(machine: Machine) -> String {
    match machine {
        EM_386 => "x86 (32 bits)".into(),
        EM_AARCH64 => "AArch64".into(),
        EM_SPARC | EM_SPARC32PLUS => "SPARC (32 bits)".into(),
        other => format!("machine {} of ELF", other.0),
    }
}

/// Returns the error message for a program that is a script. The message shows the command that records the script's interpreter instead.
/// `line` is the file's content after `#!`.
fn script(path: &Path, line: &[u8], arguments: &[OsString]) -> String {
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words: Vec<&str> = line.split_whitespace().collect();
    if words.first().is_some_and(|word| word.ends_with("/env")) {
        words.remove(0);
        words.retain(|word| *word != "-S");
    }
    let arguments: Vec<_> = arguments.iter().map(|word| quoted(word)).collect();
    let shown = quoted(path.as_os_str());
    let path = path.display();
    let command = [words.join(" "), shown, arguments.join(" ")].join(" ");
    format!("{path} is a script; record its interpreter: vfalls record -- {}", command.trim())
}
