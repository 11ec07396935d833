//! Completes recordings, and notes what they lack.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::{Context, bail, ensure};
use nix::sys::signal::Signal;
use refs::Frame;

use super::Recorded;
use super::listener::{Listener, MAX_NAMED, cannot_write};
use super::part::{ProcessEnd, ProcessRecording};
use super::program_tracker::{ProgramTracker, quoted};
use crate::interrupt;

impl Listener {
    /// Completes the recording after the program has ended. Adds notes on the parts that are missing.
    pub(super) fn complete(
        mut self,
        status: ExitStatus,
        became: ProgramTracker,
    ) -> anyhow::Result<Recorded> {
        if let Some(reason) = &self.write_error {
            bail!("{}: {reason}", cannot_write(&self.path));
        }
        if let Some(alone) = self.alone.as_ref().filter(|_| self.references == 0) {
            bail!("{}", alone.never_called(self.parts[0].name()));
        }
        ensure!(
            self.references > 0,
            "{} has made no reference under the emulator: it ended with {status}",
            self.parts[0].name()
        );
        let end = self.ended(status);
        let notes = self.notes(became);
        let status = status.code().and_then(|code| u8::try_from(code).ok());
        self.write_ends(end.as_deref(), &notes, status)
            .with_context(|| cannot_write(&self.path))?;
        let recorded = || self.parts.iter().filter(|part| part.references > 0);
        Ok(Recorded {
            references: self.references,
            instructions: recorded().map(|part| part.instructions).sum(),
            threads: recorded().map(|part| part.threads).sum(),
            processes: recorded().count(),
            bytes: self.recording.length(),
            end,
            notes,
        })
    }

    /// Ends each recording. The notes go into the first process's recording, and the recordings of all further processes are appended to
    /// it.
    fn write_ends(
        &mut self,
        end: Option<&str>,
        missing: &[String],
        status: Option<u8>,
    ) -> io::Result<()> {
        let Self { parts, recording, others, .. } = self;
        // Leaves out processes that made no reference. If such a process continues another process, its successor then continues that other
        // process instead.
        for number in (0..parts.len()).rev() {
            while let Some(next) = parts[number].continued
                && parts[next as usize].references == 0
            {
                parts[number].continued = parts[next as usize].continued;
            }
        }
        let (first, further) = parts.split_first_mut().expect("there is a first process");
        if let Some(note) = end {
            first.frame(recording, &Frame::note(note))?;
        }
        for note in missing {
            first.frame(recording, &Frame::missing(note))?;
        }
        let status = status.filter(|_| !matches!(first.end, ProcessEnd::Ended(_)));
        match further {
            [] => first.frame(recording, &Frame::end(first.references, status))?,
            _ => first.complete(recording, 0, status)?,
        }
        for (number, part) in (1..).zip(further).filter(|(_, part)| part.references > 0) {
            part.complete(others, number, None)?;
            part.copy(others, recording)?;
        }
        Ok(())
    }

    /// Returns the number of the last process in the chain that starts with the first process. Each further process of the chain continues
    /// the one before it with another program.
    pub(super) fn last(&self) -> usize {
        let mut last = 0;
        while let Some(next) = self.parts[last].continued {
            last = next as usize;
        }
        last
    }

    /// Returns a note on how the program ended; `None` if it exited with status 0 and nothing is missing.
    fn ended(&self, status: ExitStatus) -> Option<String> {
        let last = &self.parts[self.last()];
        let cut = match (&last.end, &last.replaced_by) {
            (ProcessEnd::Killed, None) => ", and its threads' last references may be missing",
            _ => "",
        };
        let name = last.name();
        match (&last.end, status.code(), status.signal()) {
            (ProcessEnd::Ended(reason), ..) => Some(format!("{name} was ended: {reason}")),
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

    /// Returns notes on what is not recorded.
    fn notes(&self, became: ProgramTracker) -> Vec<String> {
        let last = &self.parts[self.last()];
        let name = last.name();
        let alone = self.alone.iter().map(|alone| alone.note(self.parts[0].name()));
        let mut notes: Vec<_> = alone.collect();
        if let Some(turns) = &last.replaced_by {
            notes.push(match became.other_than(turns) {
                None => format!(
                    "{name} turned into {turns}, which is not recorded: record {turns} instead"
                ),
                Some(command) => format!(
                    "{name} turned into {turns} and finally into another program; neither is recorded. To record the last \
                     one: vfalls record -- {command}"
                ),
            });
        }
        let main = self.parts[0].name();
        let named = self.started.iter().take(MAX_NAMED);
        notes.extend(named.map(|(program, count)| {
            let times = if *count == 1 { String::new() } else { format!(" {count} times") };
            let command = quoted(program.as_ref());
            format!(
                "{main} started {program}{times}, which is not recorded; to record it: vfalls record -- {command}"
            )
        }));
        let more = self.started.len().saturating_sub(MAX_NAMED);
        if more > 0 {
            notes.push(format!("{main} started {more} other programs, which are not recorded"));
        }
        notes.extend(self.cut());
        notes
    }

    /// Returns a note on the processes whose recordings are incomplete. Does not mention the last process of the program that the user
    /// started.
    fn cut(&self) -> Option<String> {
        let last = self.last();
        let others = self.parts.iter().enumerate().filter(|(number, _)| *number != last);
        let cut = others.map(|(_, part)| part).filter(|part| {
            let is_cut = matches!(part.end, ProcessEnd::Killed) && part.replaced_by.is_none();
            is_cut && part.continued.is_none() && part.id.is_some()
        });
        let names: Vec<_> = cut.map(ProcessRecording::name).collect();
        let (first, main) = (names.first()?, self.parts[0].name());
        Some(match names.len() {
            1 => format!(
                "{first}, which {main} started, was ended by a signal: its last references may be missing"
            ),
            many => format!(
                "{many} processes that {main} started were ended by signals, such as {first}: their last references may be missing"
            ),
        })
    }
}
