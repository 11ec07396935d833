//! Shows a function's source lines or instructions, with their counts.

use simulator::text::line;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use anyhow::ensure;

use crate::disassembly::{sparc, x86};
use crate::page::{SourceLine, SourceLines};
use crate::say::say;
use crate::symbols::{Code, Symbols, is_named};
use crate::table::{self, Table, cut};
use simulator::analysis::profile::functions::Functions;
use simulator::analysis::profile::report::{EventProfile, ProfileReport};
use simulator::input::{self, MAX_TEXT_BYTES};
use simulator::nearest::unknown;
use simulator::recording::BUNDLED_SOURCE;

/// The number of lines that are shown before and after a line with a count.
const CONTEXT: u32 = 3;

/// The maximum length of an instruction in the output, in characters.
const MAX_INSTRUCTION: usize = 60;

/// Prints the counts of functions by instruction or by source line.
pub(crate) struct Annotator<'a> {
    pub(crate) report: &'a ProfileReport,
    pub(crate) symbols: &'a Symbols,
    /// Whether the program is the bundled one. The source of the bundled program is part of this
    /// tool.
    pub(crate) is_bundled: bool,
    /// The directory that is searched first for sources.
    pub(crate) source: Option<PathBuf>,
    /// Whether to show instructions instead of source lines.
    pub(crate) instructions: bool,
}

/// Two counts for each event of the report: the estimate from the samples, and the true count.
type EventCounts = Vec<(u64, u64)>;

impl Annotator<'_> {
    /// Prints all functions that have this name, or whose C++ or Rust path ends with it. Fails if
    /// none of them has samples or events.
    pub(crate) fn print(&self, output: &mut impl Write, name: &str) -> anyhow::Result<()> {
        let rows = || self.report.events().flat_map(|event| &event.rows);
        let meant = rows().filter(|row| is_named(&row.name, name));
        let found: BTreeSet<u64> = meant.filter_map(|row| self.start(row.address)).collect();
        let all = rows().map(|row| &*row.name).filter(|name| !name.starts_with("page 0x"));
        let none = || unknown("function", name, all);
        ensure!(!found.is_empty(), "{} with a sample or an event", none());
        for (start, counts) in self.counts(&found) {
            self.print_function(output, start, &counts)?;
        }
        Ok(())
    }

    /// Returns the first address of the function that contains `address`.
    fn start(&self, address: u64) -> Option<u64> {
        self.symbols.function(address).map(|(start, _)| start)
    }

    /// Returns the source lines of the functions with the most samples, with their counts:
    /// `functions` functions for each event.
    pub(crate) fn hottest(&self, functions: usize) -> Vec<SourceLines> {
        let of_event = |event: &EventProfile| -> Vec<u64> {
            let rows = event.rows.iter().filter(|row| row.samples > 0);
            rows.filter_map(|row| self.start(row.address)).take(functions).collect()
        };
        let found: Vec<u64> = self.report.events().flat_map(of_event).collect();
        let mut all = self.counts(&found.iter().copied().collect());
        let mut lines = Vec::new();
        // A function that is selected for several events must appear only once.
        for start in found {
            let Some(counts) = all.remove(&start) else {
                continue;
            };
            let function = self.symbols.function(start).map(|(_, name)| name);
            for (file, of_file) in
                self.by_line(&counts).into_iter().filter(|(file, _)| !file.is_empty())
            {
                let text = self.text_of(&file);
                let text = |line: u32| text.get(line.wrapping_sub(1) as usize);
                let row = |(line, counts)| SourceLine { line, text: text(line).cloned(), counts };
                lines.push(SourceLines {
                    function: function.unwrap_or_default().to_owned(),
                    rows: of_file.into_iter().map(row).collect(),
                    file: line(&file),
                });
            }
        }
        lines
    }

    /// Returns the counts of each function in `found`. The outer key is the first address of a
    /// function. The inner key is the address of an instruction.
    fn counts(&self, found: &BTreeSet<u64>) -> BTreeMap<u64, BTreeMap<u64, EventCounts>> {
        let mut counts: BTreeMap<u64, BTreeMap<u64, EventCounts>> = BTreeMap::new();
        for (number, event) in self.report.events().enumerate() {
            let estimates =
                event.taken().iter().map(|(at, weight)| (at.address, (weight.events, 0)));
            let truth = event.exact().iter().map(|(at, exact)| (at.address, (0, *exact)));
            for (address, (estimate, exact)) in estimates.chain(truth) {
                let Some(start) = self.start(address).filter(|start| found.contains(start)) else {
                    continue;
                };
                let of_function = counts.entry(start).or_default();
                let of_all = of_function.entry(address).or_insert_with(|| self.nothing());
                of_all[number].0 += estimate;
                of_all[number].1 += exact;
            }
        }
        counts
    }

    /// Adds up the counts of instructions that have the same file and line.
    fn by_line(
        &self,
        counts: &BTreeMap<u64, EventCounts>,
    ) -> BTreeMap<String, BTreeMap<u32, EventCounts>> {
        let mut files: BTreeMap<String, BTreeMap<u32, EventCounts>> = BTreeMap::new();
        for (address, each) in counts {
            let (file, line) = self.symbols.line(*address).unwrap_or_default();
            let line = files.entry(file).or_default().entry(line);
            let sum = line.or_insert_with(|| self.nothing());
            for (sum, one) in sum.iter_mut().zip(each) {
                sum.0 += one.0;
                sum.1 += one.1;
            }
        }
        files
    }

    fn print_function(
        &self,
        output: &mut impl Write,
        start: u64,
        counts: &BTreeMap<u64, EventCounts>,
    ) -> anyhow::Result<()> {
        let name = self.symbols.function(start).map_or("?", |(_, name)| name);
        writeln!(output, "#\n# Function: {name}")?;
        let own = self.symbols.source(start);
        let own = own.as_deref().and_then(|source| source.rsplit_once(':'));
        if self.instructions || own.is_none() {
            if !self.instructions {
                say(format_args!(
                    "note: {name} has no debugging information, so there are addresses instead of lines"
                ));
            }
            return self.print_instructions(output, start, counts);
        }
        let mut files = self.by_line(counts);
        if let Some((file, line)) = own {
            let lines = files.entry(file.to_owned()).or_default();
            let line = lines.entry(line.parse()?);
            line.or_insert_with(|| self.nothing());
        }
        // The function's own file comes first, followed by the files of inlined functions.
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by_key(|(file, _)| own.is_none_or(|(own, _)| own != file));
        for (file, lines) in files {
            self.print_lines(output, &file, &lines)?;
        }
        Ok(())
    }

    /// Returns a count of 0 for each event.
    fn nothing(&self) -> EventCounts {
        vec![(0, 0); self.report.events().count()]
    }

    fn print_lines(
        &self,
        output: &mut impl Write,
        file: &str,
        lines: &BTreeMap<u32, EventCounts>,
    ) -> anyhow::Result<()> {
        writeln!(
            output,
            "# Source: {}",
            if file.is_empty() { "unknown".to_owned() } else { line(file) }
        )?;
        let text = self.text_of(file);
        let around = |line: &u32| line.saturating_sub(CONTEXT).max(1)..=line + CONTEXT;
        let mut shown: BTreeSet<u32> = match text.is_empty() {
            true => lines.keys().copied().collect(),
            false => lines.keys().flat_map(around).collect(),
        };
        shown.retain(|line| *line as usize <= text.len() || lines.contains_key(line));
        let mut table = self.table("|>Line|Source");
        let mut next = None;
        for line in shown {
            if !text.is_empty() && next.is_some_and(|next| line > next) {
                self.row(&mut table, &[], ["...".to_owned(), String::new()]);
            }
            let counts = lines.get(&line).map_or(&[][..], Vec::as_slice);
            let source = text.get(line.wrapping_sub(1) as usize).map_or("", String::as_str);
            self.row(&mut table, counts, [line.to_string(), source.to_owned()]);
            next = Some(line + 1);
        }
        Ok(print(output, &table)?)
    }

    /// Returns the lines of a source file. If the file is not found, prints a note.
    fn text_of(&self, file: &str) -> Vec<String> {
        if self.is_bundled && file.ends_with(BUNDLED_SOURCE.0) {
            return BUNDLED_SOURCE.1.lines().map(with_spaces).collect();
        }
        let parts: Vec<_> = PathBuf::from(file).iter().map(PathBuf::from).collect();
        let below = |directory: &PathBuf| {
            let ends = (0..parts.len()).map(|first| parts[first..].iter().collect::<PathBuf>());
            ends.filter(|end| end.is_relative())
                .map(|end| directory.join(end))
                .find(|path| path.is_file())
        };
        let path = self.source.as_ref().and_then(below).unwrap_or_else(|| file.into());
        match input::read_ordinary(&path, MAX_TEXT_BYTES) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                text.lines().map(with_spaces).collect()
            }
            Err(_) if file.is_empty() => Vec::new(),
            Err(_) => {
                say(format_args!(
                    "note: {file}: not found, so its lines have only numbers; --source DIR says where sources are"
                ));
                Vec::new()
            }
        }
    }

    fn print_instructions(
        &self,
        output: &mut impl Write,
        start: u64,
        counts: &BTreeMap<u64, EventCounts>,
    ) -> anyhow::Result<()> {
        let code = self.symbols.code(start).filter(|_| self.instructions);
        let instructions = code.as_ref().map(disassembled).unwrap_or_default();
        if self.instructions && instructions.is_empty() {
            say(format_args!("note: there is no code at {start:#x} to show"));
        }
        let mut table = self.table("|>Address|Instruction");
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut before = None;
        let addresses: BTreeSet<u64> = instructions.keys().chain(counts.keys()).copied().collect();
        for address in addresses {
            let place = self.symbols.line(address);
            if let Some((file, number)) = &place
                && place != before
            {
                let text = texts.entry(file.clone()).or_insert_with(|| self.text_of(file));
                let text = text.get(*number as usize - 1).map_or("", |text| text.trim());
                let name = line(file.rsplit('/').next().unwrap_or_default());
                self.row(&mut table, &[], [String::new(), format!("{name}:{number}  {text}")]);
            }
            before = place;
            let counts = counts.get(&address).map_or(&[][..], Vec::as_slice);
            let instruction = instructions.get(&address).map_or("", String::as_str);
            let instruction = format!("    {}", cut(instruction, MAX_INSTRUCTION));
            self.row(&mut table, counts, [format!("{address:#x}"), instruction]);
        }
        Ok(print(output, &table)?)
    }

    /// Returns a table without rows. Each event has two columns, or three if it is the only event.
    /// The columns in `rest` come last.
    fn table(&self, rest: &str) -> Table {
        let events: Vec<_> = self.report.events().collect();
        let columns: Vec<_> =
            events.iter().map(|event| format!(">{}|>In truth", event.event)).collect();
        let share = if events.len() == 1 { ">Overhead|" } else { "" };
        table::with_header(&format!("{share}{}{rest}", columns.join("|")))
    }

    fn row(&self, table: &mut Table, counts: &[(u64, u64)], rest: [String; 2]) {
        let mut cells = Vec::new();
        let events: Vec<_> = self.report.events().collect();
        for (number, event) in events.iter().enumerate() {
            let (estimate, exact) = counts.get(number).copied().unwrap_or_default();
            if events.len() == 1 {
                let all: u64 = event.taken().values().map(|weight| weight.events).sum();
                let percent = estimate as f64 / all.max(1) as f64 * 100.0;
                cells.push((estimate > 0).then(|| format!("{percent:.2}%")));
            }
            cells.extend([estimate, exact].map(|count| (count > 0).then(|| count.to_string())));
        }
        let cells = cells.into_iter().map(Option::unwrap_or_default);
        table.add_row(cells.chain(rest));
    }
}

/// Prints a table. Its header starts with `#`, as in other profiles.
fn print(output: &mut impl Write, table: &Table) -> std::io::Result<()> {
    for (number, line) in table::text(table).lines().enumerate() {
        let mark = if number == 0 { "# " } else { "  " };
        writeln!(output, "{}", format!("{mark}{line}").trim_end())?;
    }
    Ok(())
}

/// Replaces tabs in a source line with spaces, and escapes control characters.
fn with_spaces(source: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for character in source.chars() {
        let (shown, width) = if character == '\t' { (' ', 4 - column % 4) } else { (character, 1) };
        text.extend(std::iter::repeat_n(shown, width));
        column += width;
    }
    line(&text)
}

/// Returns the instructions of a function by address.
fn disassembled(code: &Code) -> BTreeMap<u64, String> {
    if !code.is_sparc {
        return x86::disassembly(&code.bytes, code.start).into_iter().collect();
    }
    let (words, _) = code.bytes.as_chunks();
    let addressed = (code.start..).step_by(4).zip(words);
    addressed
        .map(|(at, word): (_, &[u8; 4])| (at, sparc::disassembly_at(at, u32::from_be_bytes(*word))))
        .collect()
}
