//! Prints the console output of the guests and of the hypervisor.

use std::io::{self, Write};

use crate::cmd::boot::console::Console;
use platform::memory_map::escape;
use simulator::execute::Execution;
use simulator::execute::mailbox::GuestState;

/// The consoles of all guests and of the hypervisor. If there are several guests, each line starts
/// with the name of its guest. The hypervisor's lines always start with `hypervisor: `.
pub(crate) struct Consoles {
    guests: Vec<GuestConsole>,
    hypervisor: Vec<u8>,
    /// The number of bytes of the hypervisor's output that have been printed. Only complete lines
    /// are printed.
    printed: usize,
    /// Whether the last printed line is incomplete.
    within_line: bool,
}

struct GuestConsole {
    name: String,
    console: Console,
    /// The start of a line that the guest has not finished, without the guest's name.
    line: Vec<u8>,
}

impl Consoles {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let guests =
            names.map(|name| GuestConsole { name, console: Console::default(), line: Vec::new() });
        Self { guests: guests.collect(), hypervisor: Vec::new(), printed: 0, within_line: false }
    }

    /// Prints the text that the guests and the hypervisor have written since the previous call.
    pub(crate) fn show(
        &mut self,
        execution: &mut Execution,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let alone = self.guests.len() == 1;
        for (number, guest) in self.guests.iter_mut().enumerate() {
            let text = guest.console.push(&execution.console(number));
            if alone {
                if let Some(last) = text.last() {
                    self.within_line = *last != b'\n';
                }
                output.write_all(text)?;
                continue;
            }
            for part in text.split_inclusive(|byte| *byte == b'\n') {
                guest.line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    end_line(&guest.name, &mut guest.line, output)?;
                }
            }
        }
        self.hypervisor.extend(execution.hypervisor_console());
        while let Some(line) =
            self.hypervisor[self.printed..].split_inclusive(|byte| *byte == b'\n').next()
            && line.ends_with(b"\n")
        {
            if std::mem::take(&mut self.within_line) {
                writeln!(output)?;
            }
            write!(output, "hypervisor: ")?;
            output.write_all(line)?;
            self.printed += line.len();
        }
        output.flush()
    }

    /// Prints a message on its own line. If the last printed line is incomplete, ends that line
    /// first.
    pub(crate) fn print_message(&mut self, line: &str, output: &mut impl Write) -> io::Result<()> {
        self.end_alone(output)?;
        writeln!(output, "{line}")
    }

    /// Prints the incomplete lines at the end of the consoles.
    pub(crate) fn end(&mut self, output: &mut impl Write) -> io::Result<()> {
        self.end_alone(output)?;
        for guest in self.guests.iter_mut().filter(|guest| !guest.line.is_empty()) {
            guest.line.push(b'\n');
            end_line(&guest.name, &mut guest.line, output)?;
        }
        Ok(())
    }

    fn end_alone(&mut self, output: &mut impl Write) -> io::Result<()> {
        if std::mem::take(&mut self.within_line) { writeln!(output) } else { Ok(()) }
    }

    /// Returns everything that the hypervisor has written to its console.
    pub(crate) fn hypervisor(&self) -> &[u8] {
        &self.hypervisor
    }

    pub(crate) fn text(&self, guest: usize) -> &[u8] {
        self.guests[guest].console.text()
    }

    /// Returns a guest's state from the hypervisor's mailbox. If the mailbox does not contain the
    /// state, takes the state from the message on the guest's console.
    pub(crate) fn state(&self, execution: &mut Execution, guest: usize) -> GuestState {
        match (execution.guest(guest), self.guests[guest].console.ended()) {
            (GuestState::Absent | GuestState::Unknown, Some(code)) => match code {
                escape::NOT_STARTED => GuestState::Absent,
                escape::TRAPPED => GuestState::Trapped,
                escape::PANICKED => GuestState::Failed,
                code => GuestState::Exited(code),
            },
            (state, _) => state,
        }
    }

    /// Returns `true` if nothing more will happen, because every guest has ended or the hypervisor
    /// cannot start.
    pub(crate) fn all_ended(&self, execution: &mut Execution) -> bool {
        let mut ends = self.guests.iter().enumerate().map(|(number, guest)| {
            let is_said =
                matches!(execution.guest(number), GuestState::Absent | GuestState::Unknown);
            guest.console.ended().filter(|_| is_said)
        });
        let first = ends.next().flatten();
        first.is_some_and(|code| code == escape::NOT_STARTED || ends.all(|end| end.is_some()))
    }
}

/// Prints a line, preceded by the name of its guest, and clears the buffer.
fn end_line(name: &str, line: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    write!(output, "{name}: ")?;
    output.write_all(line)?;
    line.clear();
    Ok(())
}
