//! Reads the recorder's messages and frames, and writes the recording.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressFinish, ProgressStyle};
use nix::sys::signal::Signal;

use super::Recorded;
use super::alone::Alone;
use super::became::Became;
use crate::interrupt;
use refs::{FILE_HEADER, FRAME_HEADER, Frame, Program, Stored, with_data};
use zstd::bulk::Compressor;

/// The maximum number of started programs with their own notes. One more note counts the other programs.
const MOST_NAMED: usize = 10;

/// The compression level. A negative level leaves literals uncompressed, which makes the recording a fifth longer, and shortens the
/// time to read the recording by a sixth.
const COMPRESSION: i32 = -1;

/// A recording that is being written.
pub(super) struct Listener {
    path: PathBuf,
    file: File,
    name: String,
    /// The length of the recording, in bytes.
    bytes: u64,
    references: u64,
    instructions: u64,
    threads: u32,
    /// The program that is about to replace the recorded program.
    turns: Option<String>,
    /// The programs that the recorded program has started, each with its number of starts.
    started: Vec<(String, u64)>,
    end: End,
    spinner: ProgressBar,
    /// The pipe from which frames are read; `None` once writing the recording has failed.
    frames: Option<PipeReader>,
    /// The function that is recorded alone; `None` if everything is recorded.
    alone: Option<Alone>,
    compressor: Compressor<'static>,
}

enum End {
    /// The recorder was killed, and has not announced the end.
    Cut,
    /// The recorder has sent everything.
    Exit,
    /// The recorder ended the program, for this reason.
    Ended(String),
    /// The recorder could not write, for this reason.
    CannotWrite(String),
}

impl Listener {
    /// Begins the recording of a program. The file must exist and be empty.
    pub(super) fn new(
        path: &Path,
        target: &str,
        command: &[OsString],
        frames: PipeReader,
        alone: Option<Alone>,
    ) -> anyhow::Result<Self> {
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}")?;
        let spinner = ProgressBar::new_spinner()
            .with_style(style)
            .with_message("0 references")
            .with_finish(ProgressFinish::AndClear);
        let file =
            OpenOptions::new().append(true).open(path).with_context(|| cannot_write(path))?;
        let command: Vec<String> =
            command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let mut listener = Self {
            path: path.to_owned(),
            file,
            name: command.first().cloned().unwrap_or_default(),
            bytes: 0,
            references: 0,
            instructions: 0,
            threads: 0,
            turns: None,
            started: Vec::new(),
            end: End::Cut,
            spinner,
            frames: Some(frames),
            alone,
            compressor: Compressor::new(COMPRESSION)?,
        };
        listener.append(&FILE_HEADER)?;
        let target = target.to_owned();
        listener.frame(&Frame::program(&Program { target, command }))?;
        Ok(listener)
    }

    fn append(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.file.write_all(bytes).with_context(|| cannot_write(&self.path))?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn frame(&mut self, frame: &Frame) -> anyhow::Result<()> {
        let header = frame.header(Stored::Plain, &frame.content);
        self.append(&[&header, &*frame.content].concat())
    }

    /// Reads messages until the last writer closes the pipe.
    pub(super) fn listen(mut self, messages: impl Read) -> io::Result<Self> {
        self.spinner.enable_steady_tick(Duration::from_millis(100));
        let mut messages = BufReader::new(messages);
        let mut line = Vec::new();
        while messages.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            let (word, rest) = text.trim_end().split_once(' ').unwrap_or((text.trim_end(), ""));
            self.hear(word, rest);
            line.clear();
        }
        self.spinner.finish_and_clear();
        Ok(self)
    }

    fn hear(&mut self, word: &str, rest: &str) {
        match word {
            "frames" => {
                let mut numbers = rest.split(' ').map(|number| number.parse().unwrap_or(0));
                let mut number = || numbers.next().unwrap_or(0);
                match self.take_frames(number()) {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        self.end = End::CannotWrite(error.root_cause().to_string());
                        // Without the pipe, the recorder's next write fails, and the recorder ends the program.
                        self.frames = None;
                        return;
                    }
                }
                let references = number();
                self.references += references;
                self.instructions += number();
                let thread = u32::try_from(number()).unwrap_or(0);
                if references > 0 {
                    self.threads = self.threads.max(thread + 1);
                }
                let (references, bytes) = (HumanCount(self.references), HumanBytes(self.bytes));
                self.spinner.set_message(format!("{references} references, {bytes}"));
            }
            "turns" => {
                self.say(&format!(
                    "{} turns into {rest}: what {rest} does is not recorded",
                    self.name
                ));
                self.turns = Some(rest.to_owned());
            }
            "stays" => {
                if let Some(other) = self.turns.take() {
                    self.say(&format!("{} did not turn into {other}", self.name));
                }
            }
            "starts" => match self.started.iter_mut().find(|(name, _)| name == rest) {
                Some((_, count)) => *count += 1,
                None => {
                    if self.started.len() < MOST_NAMED {
                        self.say(&format!("{} starts {rest}, which is not recorded", self.name));
                    }
                    self.started.push((rest.to_owned(), 1));
                }
            },
            "limit" => {
                self.end = End::Ended("it had made as many references as --limit allows".into())
            }
            "ends" => self.end = End::Ended(rest.to_owned()),
            "cannot" => {
                if !matches!(self.end, End::CannotWrite(_)) {
                    self.end = End::CannotWrite(rest.to_owned());
                }
            }
            _ => self.end = End::Exit,
        }
    }

    /// Reads `length` bytes of frames from the recorder, and writes the frames compressed. Returns `false` if the program was
    /// killed before the recorder had sent everything.
    fn take_frames(&mut self, length: u64) -> anyhow::Result<bool> {
        let Some(frames) = &mut self.frames else {
            return Ok(false);
        };
        let mut bytes = Vec::new();
        frames.take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Ok(false);
        }
        let mut written = Vec::new();
        let mut rest = &bytes[..];
        while let Some((header, after)) = rest.split_first_chunk::<FRAME_HEADER>() {
            let length = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
            let (content, after) = after
                .split_at_checked(length as usize)
                .context("the recorder has written half a frame")?;
            let data = self.compressor.compress(content)?;
            written.extend(match data.len() < content.len() {
                true => [&with_data(*header, Stored::Zstd, &data), &*data].concat(),
                false => [header, content].concat(),
            });
            rest = after;
        }
        self.append(&written)?;
        Ok(true)
    }

    /// Prints a line above the progress bar.
    fn say(&self, line: &str) {
        self.spinner.suspend(|| crate::say::say(line));
    }

    /// Completes the recording after the end of the program, with notes on the parts that are missing.
    pub(super) fn complete(
        mut self,
        status: ExitStatus,
        became: Became,
    ) -> anyhow::Result<Recorded> {
        if let End::CannotWrite(reason) = &self.end {
            bail!("{}: {reason}", cannot_write(&self.path));
        }
        if let Some(alone) = self.alone.as_ref().filter(|_| self.references == 0) {
            bail!("{}", alone.never_called(&self.name));
        }
        ensure!(
            self.references > 0,
            "{} has made no reference under the emulator: it ended with {status}",
            self.name
        );
        let end = self.ended(status);
        let notes = self.notes(became);
        for note in end.iter().chain(&notes) {
            self.frame(&Frame::note(note))?;
        }
        let status = status.code().and_then(|code| u8::try_from(code).ok());
        let status = status.filter(|_| !matches!(self.end, End::Ended(_)));
        self.frame(&Frame::end(self.references, status))?;
        Ok(Recorded {
            references: self.references,
            instructions: self.instructions,
            threads: self.threads,
            bytes: self.bytes,
            end,
            notes,
        })
    }

    /// Returns a note on the end of the program, unless it has exited with status 0.
    fn ended(&self, status: ExitStatus) -> Option<String> {
        let cut = match (&self.end, &self.turns) {
            (End::Cut, None) => ", and what its threads did last may be missing",
            _ => "",
        };
        let name = &self.name;
        match (&self.end, status.code(), status.signal()) {
            (End::Ended(reason), ..) => Some(format!("{name} was ended: {reason}")),
            (_, Some(0), _) if cut.is_empty() => None,
            (_, Some(code), _) => Some(format!("{name} exited with status {code}{cut}")),
            (_, None, signal) => {
                let signal = signal.and_then(|number| Signal::try_from(number).ok());
                let signal = signal.map_or("a signal", Signal::as_str);
                let by = if interrupt::happened() { ", after an interrupt" } else { "" };
                Some(format!("{name} was ended by {signal}{by}{cut}"))
            }
        }
    }

    /// Returns notes on programs that are not recorded.
    fn notes(&self, became: Became) -> Vec<String> {
        let name = &self.name;
        let mut notes: Vec<_> = self.alone.iter().map(|alone| alone.note(name)).collect();
        if let Some(turns) = &self.turns {
            notes.push(match became.other_than(turns) {
                None => format!(
                    "{name} turned into {turns}, which is not recorded: record {turns} instead"
                ),
                Some(command) => format!(
                    "{name} turned into {turns} and at last into another program; neither is recorded: record that one \
                     instead, by: vfalls record -- {command}"
                ),
            });
        }
        let named = self.started.iter().take(MOST_NAMED);
        notes.extend(named.map(|(program, count)| match count {
            1 => format!("{name} started {program}, which is not recorded"),
            _ => format!("{name} started {program} {count} times, which is not recorded"),
        }));
        let more = self.started.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            notes.push(format!("{name} started {more} other programs, which are not recorded"));
        }
        notes
    }
}

fn cannot_write(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}
