//! Programs that replace a process's program through the system call `execve`.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use crate::decode::Architecture;
use crate::program_memory::string_at;

/// A program that the emulator can execute.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NewProgram {
    path: CString,
    /// The arguments. The first is the name under which the program is started.
    arguments: Vec<CString>,
}

/// The mode bits that let a program execute with the rights of its file's owner or group. An emulated program does not get these rights.
const SET_RIGHTS: u32 = 0o6000;

const EXECUTABLE: u32 = 0o111;

/// The maximum length of the first line of a script (Linux, include/uapi/linux/binfmts.h).
const MAX_LINE_BYTES: usize = 256;

impl NewProgram {
    /// Returns the program that a system call with these arguments starts. `path` and `arguments` are addresses. Returns `None` if the
    /// emulator cannot execute the program.
    pub(crate) fn new(target: Architecture, path: u64, arguments: u64) -> Option<Self> {
        Self::with(target, string_at(path)?, target.strings(arguments)?)
    }

    fn with(target: Architecture, path: CString, mut arguments: Vec<CString>) -> Option<Self> {
        // A path in /proc can name a different file when the emulator opens it, or after the descriptors are closed.
        let is_of_process = path.as_bytes().starts_with(b"/proc/");
        let start = start_of_program(&path).filter(|_| !is_of_process)?;
        if let Some(line) = start.strip_prefix(b"#!") {
            let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
            let blank = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            let (interpreter, argument) = line.split_at(blank);
            let interpreter = CString::new(interpreter).ok()?;
            let argument = CString::new(argument.trim_ascii()).ok()?;
            let argument = Some(argument).filter(|argument| !argument.is_empty());
            let first = [Some(interpreter.clone()), argument, Some(path)];
            arguments.splice(..arguments.len().min(1), first.into_iter().flatten());
            return is_program(target, &start_of_program(&interpreter)?)
                .then_some(Self { path: interpreter, arguments });
        }
        is_program(target, &start).then_some(())?;
        if arguments.is_empty() {
            arguments.push(path.clone());
        }
        Some(Self { path, arguments })
    }

    /// Returns the words of a command line that starts this program. A null byte ends each word.
    pub(crate) fn command(&self) -> Vec<u8> {
        let words = [&self.path].into_iter().chain(&self.arguments[1..]);
        words.flat_map(|word| word.to_bytes_with_nul()).copied().collect()
    }

    /// Returns the emulator's arguments for executing this program. `plugin` is the value of the emulator's option `-plugin`.
    pub(crate) fn emulated(self, plugin: CString, sysroot: Option<CString>) -> Vec<CString> {
        let mut words = vec![c"qemu".to_owned(), c"-plugin".to_owned(), plugin];
        words.extend(sysroot.into_iter().flat_map(|sysroot| [c"-L".to_owned(), sysroot]));
        let mut arguments = self.arguments.into_iter();
        words.extend([c"-0".to_owned(), arguments.next().unwrap_or_default(), self.path]);
        words.extend(arguments);
        words
    }
}

/// Returns the first bytes of a file that may be executed. Returns `None` for other files, and for programs that get the rights of the
/// file's owner or group.
fn start_of_program(path: &CStr) -> Option<Vec<u8>> {
    let file = File::open(OsStr::from_bytes(path.to_bytes())).ok()?;
    let metadata = file.metadata().ok()?;
    let mode = metadata.permissions().mode();
    (metadata.is_file() && mode & EXECUTABLE != 0 && mode & SET_RIGHTS == 0).then_some(())?;
    let mut start = Vec::new();
    file.take(MAX_LINE_BYTES as u64).read_to_end(&mut start).ok()?;
    Some(start)
}

/// Returns `true` if a file that starts with these bytes is a 64-bit ELF file for this architecture.
fn is_program(target: Architecture, start: &[u8]) -> bool {
    let (order, machine) = match target {
        Architecture::X86 => (1, 62_u16.to_le_bytes()),
        Architecture::Sparc => (2, 43_u16.to_be_bytes()),
    };
    start.starts_with(&[0x7f, b'E', b'L', b'F', 2, order])
        && start.get(18..20) == Some(&machine[..])
}

/// Escapes text for an option of the emulator by doubling its commas. A single comma would end a part of the option.
pub(crate) fn escaped(text: &OsStr) -> OsString {
    let parts: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b',').collect();
    OsStr::from_bytes(&parts.join(&b",,"[..])).to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};

    use super::*;

    const X86: &[u8] = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x3e\0";
    const SPARC: &[u8] = b"\x7fELF\x02\x02\x01\0\0\0\0\0\0\0\0\0\0\x02\0\x2b";

    fn words(words: &[&CStr]) -> Vec<CString> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn programs_and_scripts() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8], mode| {
            let path = place.path().join(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            CString::new(path.into_os_string().into_encoded_bytes()).unwrap()
        };
        let own = file("own", X86, 0o755);
        let found = |path: &CString| {
            NewProgram::with(Architecture::X86, path.clone(), words(&[c"name", c"-l"]))
        };
        let program = found(&own).unwrap();
        assert_eq!(program.command(), [own.to_bytes_with_nul(), b"-l\0"].concat());
        let emulated = program.emulated(c"it.so,process=3".to_owned(), Some(c"/lib,s".to_owned()));
        let options = [c"qemu", c"-plugin", c"it.so,process=3", c"-L", c"/lib,s", c"-0", c"name"];
        assert_eq!(emulated, [words(&options), vec![own.clone(), c"-l".to_owned()]].concat());

        let line = [b"#! ", own.as_bytes(), b"  -e x \nexit\n"].concat();
        let script = file("script", &line, 0o755);
        let program = found(&script).unwrap();
        assert_eq!(program.path, own);
        assert_eq!(program.arguments, [&own, c"-e x", &script, c"-l"].map(CStr::to_owned));

        for (name, content, mode) in [
            ("other", SPARC, 0o755),
            ("data", X86, 0o644),
            ("rights", X86, 0o4755),
            ("text", b"exit", 0o755),
            ("lost", b"#!/nonexistent/sh\n", 0o755),
        ] {
            assert_eq!(found(&file(name, content, mode)), None, "{name}");
        }
        assert_eq!(found(&c"/proc/self/exe".to_owned()), None);
        let other = file("other", SPARC, 0o755);
        assert!(NewProgram::with(Architecture::Sparc, other, Vec::new()).is_some());
    }
}
