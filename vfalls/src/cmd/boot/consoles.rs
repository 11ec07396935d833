//! Prints the consoles of guests.

use std::io::{self, Write};

use crate::cmd::boot::console::Console;
use simulator::execute::Execution;

/// The consoles of all guests. If there are several guests, each printed line begins with the name of its guest.
pub(crate) struct Consoles {
    guests: Vec<GuestConsole>,
    /// The guest whose incomplete line is on the output.
    within: Option<usize>,
}

struct GuestConsole {
    name: String,
    console: Console,
    /// The bytes of an incomplete line, without the name.
    line: Vec<u8>,
}

impl Consoles {
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let guests =
            names.map(|name| GuestConsole { name, console: Console::default(), line: Vec::new() });
        Self { guests: guests.collect(), within: None }
    }

    /// Prints the text that guests have written since the last call.
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
                    self.within = (*last != b'\n').then_some(number);
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
        output.flush()
    }

    /// Prints a message on a line of its own, after an incomplete line of a console.
    pub(crate) fn tell(&mut self, line: &str, output: &mut impl Write) -> io::Result<()> {
        if self.within.take().is_some() {
            writeln!(output)?;
        }
        writeln!(output, "{line}")
    }

    /// Prints the incomplete lines.
    pub(crate) fn end(&mut self, output: &mut impl Write) -> io::Result<()> {
        if self.within.take().is_some() {
            writeln!(output)?;
        }
        for guest in self.guests.iter_mut().filter(|guest| !guest.line.is_empty()) {
            guest.line.push(b'\n');
            end_line(&guest.name, &mut guest.line, output)?;
        }
        Ok(())
    }

    /// Returns the whole text of a guest's console.
    pub(crate) fn text(&self, guest: usize) -> &[u8] {
        self.guests[guest].console.text()
    }

    /// Returns the exit code of a guest, if the hypervisor has sent it to the guest's console.
    pub(crate) fn ended(&self, guest: usize) -> Option<u64> {
        self.guests[guest].console.ended()
    }
}

/// Prints a line after the name of its guest, and empties it.
fn end_line(name: &str, line: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    write!(output, "{name}: ")?;
    output.write_all(line)?;
    line.clear();
    Ok(())
}
