//! Follows the programs that a recorded process executes, one after another.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Follows a process from program to program. Under a version manager, a process is first a shell script, and in the end the real program.
/// The process id stays the same.
pub(super) struct ProgramTracker {
    process: PathBuf,
    emulator: Option<PathBuf>,
    /// The latest program that is not the emulator, and its command line in the format of /proc. The command line is empty for a short time
    /// after the program replaces another.
    latest: Option<(PathBuf, Vec<u8>)>,
}

impl ProgramTracker {
    /// Follows a process that has just started the emulator.
    pub(super) fn new(process: u32, emulator: &Path) -> Self {
        Self {
            process: PathBuf::from(format!("/proc/{process}")),
            emulator: fs::canonicalize(emulator).ok(),
            latest: None,
        }
    }

    /// Notes which program the process executes now.
    pub(super) fn look(&mut self) {
        // If the process has ended, its link `exe` no longer exists.
        let Ok(program) = fs::read_link(self.process.join("exe")) else {
            return;
        };
        let is_known =
            self.latest.as_ref().is_some_and(|(of, line)| *of == program && !line.is_empty());
        if Some(&program) == self.emulator.as_ref() || is_own(&program) || is_known {
            return;
        }
        if let Ok(line) = fs::read(self.process.join("cmdline")) {
            self.latest = Some((program, line));
        }
    }

    /// Returns the command line of the process's latest program. `turns` is the path of the first program that replaced the recorded one.
    /// Returns `None` if `turns` is still the latest program.
    pub(super) fn other_than(self, turns: &str) -> Option<String> {
        let (program, line) = self.latest?;
        let same = fs::canonicalize(turns).is_ok_and(|turns| turns == program);
        (!same).then(|| command(&program, &line))
    }
}

/// Returns `true` if `program` is this tool, which the process still executes between fork and exec.
fn is_own(program: &Path) -> bool {
    std::env::current_exe().is_ok_and(|own| own == program)
}

/// Converts a command line from /proc to shell syntax. The first word of the result is the program's path.
fn command(program: &Path, line: &[u8]) -> String {
    let words = line.strip_suffix(b"\0").unwrap_or(line).split(|byte| *byte == 0);
    let words = words.skip(1).map(|word| quoted(OsStr::from_bytes(word)));
    let program = quoted(program.as_os_str());
    [program].into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for the shell if necessary.
pub(super) fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_can_be_typed() {
        let line = b"python3\0it's.py\0two words\0--n=3\0\0";
        assert_eq!(
            command(Path::new("/usr/bin/python3.11"), line),
            r"/usr/bin/python3.11 'it'\''s.py' 'two words' --n=3 ''"
        );
    }
}
