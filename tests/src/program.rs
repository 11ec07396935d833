//! Runs the project's programs as a user or a script would, and creates directories for their files.

use std::fs::{self, DirEntry};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

#[derive(Debug)]
pub struct ProgramOutput {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl ProgramOutput {
    /// Asserts that the program succeeded and printed nothing to standard error. Returns its standard output.
    pub fn assert_success(self) -> String {
        assert_eq!((self.status, &*self.stderr), (0, ""));
        self.stdout
    }

    /// Like [`assert_success`](Self::assert_success), and also asserts that standard output contains each of these parts, in any order.
    #[track_caller]
    pub fn assert_success_with(self, parts: &[&str]) -> String {
        let output = self.assert_success();
        contains_all(&output, parts);
        output
    }

    /// Like [`assert_failure`](Self::assert_failure), and also asserts that standard output is empty.
    pub fn assert_failure_without_output(&self, says: &str) {
        self.assert_failure(says);
        assert_eq!(self.stdout, "", "{says}");
    }

    /// Asserts exit status 2 and a single line on standard error that contains `says`.
    pub fn assert_failure(&self, says: &str) {
        let Self { status, stderr, .. } = self;
        assert_eq!(*status, 2, "{stderr}");
        assert!(stderr.starts_with("error: ") && stderr.ends_with('\n'), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(says), "{stderr} does not say {says}");
    }
}

/// Asserts that a text contains each of these parts, in any order.
#[track_caller]
pub fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}:\n{text}");
    }
}

/// Asserts that the command `name` of `program` has help with examples. `shown` is what a user types for the program.
pub fn has_help(program: &str, shown: &str, name: &str) {
    for flag in ["-h", "--help"] {
        let help = run_with_input(command(program, &[name, flag]), b"").assert_success();
        let line = format!("  {shown} {name}");
        contains_all(&help, &[&format!("Usage: {shown} {name}"), &line, "Example"]);
        // Without a terminal, the help has the default width.
        let long = help.lines().find(|line| line.chars().count() > 100);
        assert_eq!(long, None, "{name} {flag}");
    }
}

/// Asserts that the program shows its help when it gets no arguments.
pub fn shows_help_without_arguments(program: &str, shown: &str) {
    let ended = run_with_input(command(program, &[]), b"");
    assert_eq!((ended.status, &*ended.stdout), (2, ""));
    contains_all(&ended.stderr, &[&format!("Usage: {shown}")]);
}

#[must_use]
pub fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    command
}

/// Starts a command whose standard input, output and error are pipes.
#[must_use]
pub fn start(mut command: Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Closes a command's standard input, and waits until the command ends.
#[must_use]
pub fn wait(child: Child) -> ProgramOutput {
    let output = child.wait_with_output().unwrap();
    ProgramOutput {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a command to its end with this standard input.
#[must_use]
pub fn run_with_input(command: Command, input: &[u8]) -> ProgramOutput {
    let mut child = start(command);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = thread::spawn(move || {
        // A program may stop at bad input without reading the rest of it.
        let _ = stdin.write_all(&input);
    });
    let ended = wait(child);
    writer.join().unwrap();
    ended
}

/// A directory for one test, removed after the test.
#[derive(Debug)]
pub struct TestDirectory(PathBuf);

impl TestDirectory {
    /// Creates the directory `name` below `parent`.
    #[must_use]
    pub fn new_in(parent: &str, name: &str) -> Self {
        let path = Path::new(parent).join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of a file in this directory.
    #[must_use]
    pub fn at(&self, name: &str) -> String {
        self.0.join(name).into_os_string().into_string().unwrap()
    }

    /// Returns the names of the files in a directory inside this one, or in this one itself.
    #[must_use]
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.join(directory)).unwrap();
        let name = |entry: io::Result<DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// Runs a command in this directory without input. The words of `line` are its arguments.
    #[must_use]
    pub fn run(&self, mut command: Command, line: &str) -> ProgramOutput {
        command.args(line.split_whitespace()).current_dir(&self.0);
        run_with_input(command, b"")
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.at(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for TestDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
