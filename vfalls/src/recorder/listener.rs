//! Reads the recorder's messages, and writes the recording.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressFinish, ProgressStyle};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use zstd::bulk::Compressor;

use super::mapping::MappingCosts;
use super::only_function::OnlyFunction;
use super::part::{FilePart, ProcessEnd, ProcessRecording, Store, words};

/// The maximum number of programs that get a note each. One more note states the number of the others.
pub(super) const MAX_NAMED: usize = 10;

/// The compression level. A negative level leaves literals uncompressed. This makes the recording a fifth longer, but a sixth quicker to
/// read.
const COMPRESSION: i32 = -1;

/// The message that ends the [`Listener`].
pub(super) const DONE: &str = "0 done\n";

/// The ids of the processes that are being recorded.
pub(super) type Running = Arc<Mutex<Vec<u32>>>;

/// A recording that is being written.
pub(super) struct Listener {
    pub(super) path: PathBuf,
    pub(super) target: String,
    /// The recording, into which the first process's references are written directly.
    pub(super) recording: Store,
    /// The recordings of all other processes.
    pub(super) others: Store,
    pub(super) compressor: Compressor<'static>,
    /// The recorded processes. The index is the process's number.
    pub(super) parts: Vec<ProcessRecording>,
    /// The number of each process's parent.
    pub(super) parents: Vec<u32>,
    pub(super) limit: u64,
    pub(super) references: u64,
    pub(super) running: Running,
    /// The unrecorded programs that recorded processes have started, each with the number of times that it was started.
    pub(super) started: Vec<(String, u64)>,
    pub(super) mappings: MappingCosts,
    /// The function that is recorded alone; `None` if everything is recorded.
    pub(super) alone: Option<OnlyFunction>,
    pub(super) spinner: ProgressBar,
    /// Why the recording cannot be written; `None` if it can.
    pub(super) write_error: Option<String>,
}

impl Listener {
    /// Begins the recording of a program. The file must exist and be empty.
    pub(super) fn new(
        path: &Path,
        target: &str,
        emulator: &Path,
        command: &[OsString],
        limit: Option<u64>,
        running: Running,
        alone: Option<OnlyFunction>,
    ) -> anyhow::Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}")?;
        let spinner = ProgressBar::new_spinner()
            .with_style(style)
            .with_message("0 references")
            .with_finish(ProgressFinish::AndClear);
        let begin = || {
            let file = OpenOptions::new().read(true).append(true).open(path)?;
            let mut recording = Store::new(file);
            let first = ProcessRecording::new(&mut recording, target, words(command), 0)?;
            let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
            let others = tempfile::tempfile_in(directory.unwrap_or(Path::new(".")))?;
            Ok::<_, io::Error>((recording, first, Store::new(others)))
        };
        let (recording, first, others) = begin().with_context(|| cannot_write(path))?;
        Ok(Self {
            path: path.to_owned(),
            target: target.to_owned(),
            recording,
            others,
            compressor: Compressor::new(COMPRESSION)?,
            parts: vec![first],
            parents: vec![0],
            limit: limit.unwrap_or(u64::MAX),
            references: 0,
            running,
            started: Vec::new(),
            mappings: MappingCosts::new(emulator, target),
            alone,
            spinner,
            write_error: None,
        })
    }

    /// Handles messages until [`DONE`] arrives or the recording has to end. Then ends the recorded processes.
    pub(super) fn listen(mut self, socket: &UnixListener) -> io::Result<Self> {
        self.spinner.enable_steady_tick(Duration::from_millis(100));
        for stream in socket.incoming() {
            let mut stream = BufReader::new(stream?);
            let mut line = Vec::new();
            if stream.read_until(b'\n', &mut line)? == 0 {
                continue;
            }
            let line = String::from_utf8_lossy(&line);
            let mut words = line.trim_end().splitn(3, ' ');
            let process = words.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            let (word, text) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            if line == DONE || !self.handle_message(process, word, text, &mut stream) {
                break;
            }
        }
        self.spinner.finish_and_clear();
        for id in self.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            if is_running(*id) {
                // An error means that the process has ended.
                let _ = kill(Pid::from_raw(id.cast_signed()), Signal::SIGKILL);
            }
        }
        Ok(self)
    }

    /// Handles a message from a process. Returns `false` if the recording has to end.
    fn handle_message(
        &mut self,
        process: u32,
        word: &str,
        text: &str,
        stream: &mut BufReader<UnixStream>,
    ) -> bool {
        let handled = self.handle(process, word, text, stream);
        if let Err(error) = handled {
            self.write_error.get_or_insert(error.root_cause().to_string());
        }
        if self.references >= self.limit {
            let last = self.last();
            let reason = "it had made as many references as --limit allows";
            self.parts[last].end = ProcessEnd::Ended(reason.into());
        }
        self.write_error.is_none() && self.references < self.limit
    }

    fn handle(
        &mut self,
        process: u32,
        word: &str,
        text: &str,
        stream: &mut BufReader<UnixStream>,
    ) -> anyhow::Result<()> {
        let mut numbers = text.split(' ').map(|number| number.parse::<u64>().unwrap_or(0));
        let mut number = || numbers.next().unwrap_or(0);
        let all = self.parts.len() as u32;
        let Some(part) = self.parts.get_mut(process as usize) else {
            return Ok(());
        };
        match word {
            "frames" => {
                let length = number();
                let mut bytes = Vec::new();
                stream.take(length).read_to_end(&mut bytes)?;
                if bytes.len() as u64 != length {
                    // The process was killed before it had sent everything.
                    return Ok(());
                }
                let store = match process {
                    0 => &mut self.recording,
                    _ => &mut self.others,
                };
                part.frames(store, &mut self.compressor, &bytes)?;
                let (references, instructions, thread) = (number(), number(), number());
                part.references += references;
                part.instructions += instructions;
                self.references += references;
                if references > 0 {
                    part.threads = part.threads.max(thread as u32 + 1);
                }
                let bytes = self.recording.length() + self.others.length();
                let (references, bytes) = (HumanCount(self.references), HumanBytes(bytes));
                self.spinner.set_message(format!("{references} references, {bytes}"));
            }
            "begins" => {
                let id = number() as u32;
                part.id = Some(id);
                self.add_running(id);
            }
            "child" => self.add_running(number() as u32),
            // Messages are handled one after another, so all earlier messages have been handled by now.
            "sync" => {
                let _ = writeln!(stream.get_mut(), "0");
            }
            "forks" => {
                let new = part.fork(&mut self.others, all)?;
                self.add(new, process, stream);
            }
            "forked" => {
                let (count, id) = (number() as usize, number() as u32);
                let parent = self.parents[process as usize] as usize;
                let store = match parent {
                    0 => &mut self.recording,
                    _ => &mut self.others,
                };
                let definitions = self.parts[parent].definitions(store, count)?;
                let part = &mut self.parts[process as usize];
                part.id = Some(id);
                part.define(&mut self.others, &definitions)?;
                self.add_running(id);
            }
            "execs" => {
                let mut bytes = Vec::new();
                stream.take(number()).read_to_end(&mut bytes)?;
                let bytes = String::from_utf8_lossy(&bytes).into_owned();
                let command = bytes.split_terminator('\0').map(str::to_owned).collect();
                part.continued = Some(all);
                let first = part.first;
                let new = ProcessRecording::new(&mut self.others, &self.target, command, first)?;
                self.add(new, process, stream);
            }
            "refused" => part.continued = None,
            "turns" if part.first == 0 => {
                let id = part.id;
                let name = part.name().to_owned();
                part.replaced_by = Some(text.to_owned());
                self.print_line(&format!(
                    "{name} turns into {text}: what {text} does is not recorded"
                ));
                self.remove_running(id);
            }
            "turns" => {
                let id = part.id;
                part.replaced_by = Some(text.to_owned());
                let name = part.name().to_owned();
                self.add_started(&name, text);
                self.remove_running(id);
            }
            "stays" => {
                if let Some(other) = part.replaced_by.take() {
                    let id = part.id;
                    let name = part.name().to_owned();
                    match part.first {
                        0 => self.print_line(&format!("{name} did not turn into {other}")),
                        _ => self.remove_started(&other),
                    }
                    id.into_iter().for_each(|id| self.add_running(id));
                }
            }
            "maps" => {
                let name = part.name().to_owned();
                if let Some(note) = self.mappings.note(&name, number()) {
                    self.print_line(&note);
                }
            }
            "shares" => {
                let (start, length) = (number(), number());
                let mut words = text.split(' ').skip(2);
                let file = words.next().zip(words.next().and_then(|offset| offset.parse().ok()));
                let file = file.map(|(file, offset)| FilePart { file: file.to_owned(), offset });
                let known = |file| self.parts.iter().find_map(|part| part.owner(file));
                let known = file.as_ref().and_then(known);
                let (owner, at, left) = known.unwrap_or((process, start, length));
                let part = &mut self.parts[process as usize];
                let shared = left.min(length);
                part.share(start, shared, file.clone(), (owner, at));
                // This process is the first to map the rest of the file.
                if let Some(file) = file.filter(|_| shared < length) {
                    let (start, offset) = (start + shared, file.offset.saturating_add(shared));
                    let rest = FilePart { offset, ..file };
                    part.share(start, length - shared, Some(rest), (process, start));
                }
            }
            "ends" => part.end = ProcessEnd::Ended(text.to_owned()),
            "cannot" => bail!("{text}"),
            "exits" => part.end = ProcessEnd::Exit,
            _ => {}
        }
        Ok(())
    }

    /// Notes that a process is being recorded. `id` is its process id.
    fn add_running(&self, id: u32) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if !running.contains(&id) {
            running.push(id);
        }
    }

    /// Adds a process, and answers with its number.
    fn add(&mut self, part: ProcessRecording, parent: u32, stream: &mut BufReader<UnixStream>) {
        let number = self.parts.len();
        self.parts.push(part);
        self.parents.push(parent);
        // If the process was killed meanwhile, nobody reads the answer.
        let _ = writeln!(stream.get_mut(), "{number}");
    }

    /// Notes that a process is no longer recorded.
    fn remove_running(&self, id: Option<u32>) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|one| Some(*one) != id);
    }

    fn add_started(&mut self, name: &str, program: &str) {
        match self.started.iter_mut().find(|(known, _)| known == program) {
            Some((_, count)) => *count += 1,
            None => {
                if self.started.len() < MAX_NAMED {
                    self.print_line(&format!("{name} starts {program}, which is not recorded"));
                }
                self.started.push((program.to_owned(), 1));
            }
        }
    }

    fn remove_started(&mut self, program: &str) {
        if let Some((_, count)) = self.started.iter_mut().find(|(known, _)| known == program) {
            *count -= 1;
        }
        self.started.retain(|(_, count)| *count > 0);
    }

    /// Prints a line above the progress bar.
    fn print_line(&self, line: &str) {
        self.spinner.suspend(|| crate::say::say(line));
    }
}

pub(super) fn cannot_write(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

/// Returns `true` if the process `id` has not ended. A process that has ended keeps its entry in /proc until its parent asks for its
/// status.
pub(super) fn is_running(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/stat"));
    let state = |status: String| {
        let (_, after) = status.rsplit_once(") ")?;
        after.chars().next()
    };
    // The first thread of a process can end before the others.
    let has_threads = || fs::read_dir(format!("/proc/{id}/task")).is_ok_and(|all| all.count() > 1);
    status.is_ok_and(|status| match state(status) {
        None | Some('X') => false,
        Some('Z') => has_threads(),
        Some(_) => true,
    })
}
