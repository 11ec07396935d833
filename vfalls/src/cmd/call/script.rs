//! Reads calls from a file or stream, and checks that the calling guests have not stopped.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, anyhow};
use guest_abi::StrandId;
use guest_abi::trap::EXIT;
use hv_core::GuestId;
use perfctr_service::GuestConfig;

use super::line::{self, Call, Malformed, SoftwareTrap};

/// The maximum length of a line, in bytes.
const MAX_LINE_BYTES: usize = 1 << 16;

/// How many characters of a bad line an error message shows at most.
const SHOWN: usize = 60;

#[derive(Clone, Copy, Debug)]
struct ScriptGuest {
    id: GuestId,
    config: GuestConfig,
    /// The number of the line whose call stopped the guest; `None` if the guest has not stopped.
    stopped: Option<u64>,
}

/// A file or stream of calls.
pub(super) struct Script<R> {
    name: String,
    reader: BufReader<R>,
    line: Vec<u8>,
    number: u64,
    guests: Vec<ScriptGuest>,
}

impl<R: Read> Script<R> {
    /// Returns the script in `stream`. `name` is the script's name in error messages.
    pub(super) fn new(name: String, stream: R, guests: &[GuestConfig]) -> Self {
        let guests = guests.iter().enumerate().filter_map(|(number, config)| {
            GuestId::new(number).map(|id| ScriptGuest { id, config: *config, stopped: None })
        });
        Self {
            name,
            reader: BufReader::with_capacity(MAX_LINE_BYTES, stream),
            line: Vec::new(),
            number: 0,
            guests: guests.collect(),
        }
    }

    /// Returns `true` if the next line can be read without waiting.
    pub(super) fn has_line(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Reads the next line for [`call`](Self::call). Returns `false` at the end of the script.
    pub(super) fn read_line(&mut self) -> anyhow::Result<bool> {
        self.line.clear();
        let read = (&mut self.reader).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut self.line);
        let length = read.with_context(|| format!("{}: cannot be read", self.name))?;
        self.number += 1;
        if length == MAX_LINE_BYTES && self.line.last() != Some(&b'\n') {
            let expected = format!("a line of fewer than {MAX_LINE_BYTES} bytes");
            return Err(self.error(Malformed::new(&self.text(), expected)));
        }
        Ok(length > 0)
    }

    /// Returns the call in the latest line, and its strand; `None` if the line contains no call. Fails if the guest
    /// has stopped.
    pub(super) fn call(&mut self) -> anyhow::Result<Option<(StrandId, Call)>> {
        let Some((number, call)) = line::parse(&self.text()).map_err(|wrong| self.error(wrong))?
        else {
            return Ok(None);
        };
        let (strand, guest) = self
            .guest_of(number)
            .map_err(|expected| self.error(Malformed::new(&number.to_string(), expected)))?;
        if (call.trap, call.registers.o5) == (SoftwareTrap::Core, EXIT) {
            self.guests[guest].stopped = Some(self.number);
        }
        Ok(Some((strand, call)))
    }

    /// Returns strand number `number`, and the index of its guest. The error says which strands are allowed.
    fn guest_of(&self, number: u64) -> Result<(StrandId, usize), String> {
        let strand = usize::try_from(number).ok().and_then(StrandId::new);
        let found = strand.and_then(|strand| {
            let has = |guest: &ScriptGuest| guest.config.strands.contains(strand);
            Some((strand, self.guests.iter().position(has)?))
        });
        let (strand, place) = found.ok_or("a strand of a guest")?;
        match self.guests[place] {
            ScriptGuest { id, stopped: Some(line), .. } => {
                Err(format!("a strand of a running guest (guest {id} stopped at line {line})"))
            }
            _ => Ok((strand, place)),
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }

    fn error(&self, Malformed { found, expected }: Malformed) -> anyhow::Error {
        let mut shown = found.chars().flat_map(printable);
        let mut found: String = shown.by_ref().take(SHOWN).collect();
        if shown.next().is_some() {
            found.push_str("...");
        }
        anyhow!("{}:{}: found '{found}', expected {expected}", self.name, self.number)
    }
}

fn printable(character: char) -> Vec<char> {
    if character.is_control() { character.escape_default().collect() } else { vec![character] }
}
