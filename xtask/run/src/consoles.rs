//! What guests write to their consoles.

use std::io::{self, Write};

use simulator::execution::Execution;
use xtask::qemu::console::Console;

/// The consoles of all guests. Those of several are told apart: each line begins with the name of its guest.
pub(crate) struct Consoles {
    guests: Vec<Guest>,
    /// The guest in whose line the output is.
    within: Option<usize>,
}

struct Guest {
    name: String,
    console: Console,
    /// A line that has not ended.
    line: Vec<u8>,
}

impl Consoles {
    /// Returns the consoles of guests with these names.
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let guests = names.map(|name| Guest {
            name,
            console: Console::default(),
            line: Vec::new(),
        });
        Self {
            guests: guests.collect(),
            within: None,
        }
    }

    /// Shows what guests have written since this was called last.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub(crate) fn show(
        &mut self,
        execution: &mut Execution,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let alone = self.guests.len() == 1;
        for (
            number,
            Guest {
                name,
                console,
                line,
            },
        ) in self.guests.iter_mut().enumerate()
        {
            let bytes = execution.console(number);
            let text = console.push(&bytes);
            if alone {
                if let Some(last) = text.last() {
                    self.within = (*last != b'\n').then_some(number);
                }
                output.write_all(text)?;
                continue;
            }
            for part in text.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if part.ends_with(b"\n") {
                    end_line(name, line, output)?;
                }
            }
        }
        output.flush()
    }

    /// Shows a line that is no guest's.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub(crate) fn tell(&mut self, line: &str, output: &mut impl Write) -> io::Result<()> {
        if self.within.take().is_some() {
            writeln!(output)?;
        }
        writeln!(output, "{line}")
    }

    /// Shows lines that have not ended.
    ///
    /// # Errors
    /// `output` cannot be written.
    pub(crate) fn end(&mut self, output: &mut impl Write) -> io::Result<()> {
        if self.within.take().is_some() {
            writeln!(output)?;
        }
        for guest in self
            .guests
            .iter_mut()
            .filter(|guest| !guest.line.is_empty())
        {
            guest.line.push(b'\n');
            end_line(&guest.name, &mut guest.line, output)?;
        }
        Ok(())
    }

    /// Returns all that a guest has written.
    pub(crate) fn text(&self, guest: usize) -> &[u8] {
        self.guests[guest].console.text()
    }

    /// Returns the code with which a guest has ended, if its console says so.
    pub(crate) fn ended(&self, guest: usize) -> Option<u64> {
        self.guests[guest].console.ended()
    }
}

/// Shows a line, after the name of its guest.
fn end_line(name: &str, line: &mut Vec<u8>, output: &mut impl Write) -> io::Result<()> {
    write!(output, "{name}: ")?;
    output.write_all(line)?;
    line.clear();
    Ok(())
}
