//! The trace-event format of Chrome, which Perfetto opens.
//!
//! A guest is a process, its strands are threads, and a call is a slice. Slices of a strand do not overlap: where times are
//! not exact to the tick, a slice begins when the one before it ends. Other events are instants. Each value that a guest read from
//! a PIC is a point of a counter track.

use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use guest_abi::layout::DramPic;
use guest_abi::{HubRole, Kind, McuRole, PerfReg};
use hv_core::trace::{Field, Shown, take};

use super::calls::{Call, Function};
use super::{Entry, Event, Stream, Trace, TracedEvent};
use crate::nearest::status_name;

/// The numbers of the processes for events of no guest, and for the counters.
const MACHINE: u32 = 1000;
const COUNTERS: u32 = 1001;

/// Nanoseconds, written as microseconds without loss: no floating point.
struct Microseconds(u64);

impl Display for Microseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a trace.
///
/// # Errors
/// `output` cannot be written to.
pub fn write(trace: &Trace, output: impl Write) -> io::Result<()> {
    let mut chrome = Chrome {
        trace,
        output,
        first: true,
    };
    write!(
        chrome.output,
        "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":["
    )?;
    chrome.names()?;
    for stream in &trace.streams {
        chrome.stream(stream)?;
    }
    writeln!(chrome.output, "\n]}}")
}

struct Chrome<'a, W> {
    trace: &'a Trace,
    output: W,
    first: bool,
}

impl<W: Write> Chrome<'_, W> {
    /// Writes an element of the array.
    fn line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if self.first { "" } else { "," };
        self.first = false;
        write!(self.output, "{comma}\n{line}")
    }

    fn names(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let guests = trace.guests.iter().map(String::as_str);
        let processes = (0..)
            .zip(guests)
            .chain([(MACHINE, "machine"), (COUNTERS, "counters")]);
        for (pid, name) in processes {
            let name = string(name);
            self.line(format_args!(
                r#"{{"ph":"M","name":"process_name","pid":{pid},"args":{{"name":{name}}}}}"#
            ))?;
        }
        for stream in &trace.streams {
            let (tid, name) = (
                stream.strand.number(),
                string(&format!("strand {}", stream.strand)),
            );
            let mut guests: Vec<u32> = stream.events().map(process).collect();
            guests.sort_unstable();
            guests.dedup();
            for pid in guests {
                self.line(format_args!(
                    r#"{{"ph":"M","name":"thread_name","pid":{pid},"tid":{tid},"args":{{"name":{name}}}}}"#
                ))?;
            }
        }
        Ok(())
    }

    fn stream(&mut self, stream: &Stream) -> io::Result<()> {
        let tid = stream.strand.number();
        // The end of the last slice, and of everything so far.
        let (mut ended, mut now) = (0, 0);
        for entry in &stream.entries {
            let event = match entry {
                Entry::Event(event) => event,
                Entry::Lost(lost) => {
                    let ts = Microseconds(now);
                    self.line(format_args!(
                        r#"{{"ph":"i","s":"t","name":"lost","ts":{ts},"pid":{MACHINE},"tid":{tid},"args":{{"events":{lost}}}}}"#
                    ))?;
                    continue;
                }
            };
            now = self.nanoseconds(event.time);
            let pid = process(event);
            match event.event().as_ref().and_then(Call::of) {
                Some(call) => {
                    let started = event.time.saturating_sub(call.duration.into());
                    let start = self.nanoseconds(started).clamp(ended.min(now), now);
                    self.call(&call, [pid, tid.into()], [start, now])?;
                    ended = now;
                }
                None => {
                    let (ts, name) = (Microseconds(now), class_name(event));
                    let arguments = arguments(event);
                    self.line(format_args!(
                        r#"{{"ph":"i","s":"t","name":"{name}","ts":{ts},"pid":{pid},"tid":{tid},"args":{{{arguments}}}}}"#
                    ))?;
                }
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &Call,
        [pid, tid]: [u32; 2],
        [start, end]: [u64; 2],
    ) -> io::Result<()> {
        let name = string(&format!(
            "{} {}",
            call.function.name(),
            call.function.object()
        ));
        let (ts, dur) = (Microseconds(start), Microseconds(end - start));
        let status = string(&status_name(call.status));
        let mut arguments = format!(r#""status":{status},"ticks":{}"#, call.duration);
        if let Some(value) = call.value {
            // A number would lose bits: JSON's readers have 53.
            let _ = write!(arguments, r#","value":"{value:#x}""#);
        }
        self.line(format_args!(
            r#"{{"ph":"X","name":{name},"cat":"hcall","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"args":{{{arguments}}}}}"#
        ))?;
        let (Function::Get(id), guest_abi::status::EOK, Some(value)) =
            (call.function, call.status, call.value)
        else {
            return Ok(());
        };
        let Some((register, counts)) = PerfReg::new(id).zip(counts(id, value)) else {
            return Ok(());
        };
        let ts = Microseconds(end);
        self.line(format_args!(
            r#"{{"ph":"C","name":"{register}","ts":{ts},"pid":{COUNTERS},"args":{{{counts}}}}}"#
        ))
    }

    /// Returns the time since the trace began.
    fn nanoseconds(&self, time: u64) -> u64 {
        let ticks = u128::from(time.saturating_sub(self.trace.began));
        u64::try_from(ticks * 1_000_000_000 / u128::from(self.trace.hz)).unwrap_or(u64::MAX)
    }
}

/// Returns the values of the counters of a PIC; `None` for other registers.
fn counts(id: u64, value: u64) -> Option<String> {
    match PerfReg::new(id)?.kind() {
        Kind::Dram {
            role: McuRole::Pic, ..
        } => {
            let pic = DramPic::from(value);
            Some(format!(r#""pic0":{},"pic1":{}"#, pic.pic0(), pic.pic1()))
        }
        Kind::Hub {
            role: HubRole::Pic0 | HubRole::Pic1,
            ..
        } => Some(format!(r#""count":{value}"#)),
        _ => None,
    }
}

/// Returns the process of an event: that of its guest, if it has one.
fn process(event: &TracedEvent) -> u32 {
    fields(event)
        .find(|(field, _)| field.name == "guest")
        .map_or(MACHINE, |(_, guest)| guest as u32)
}

fn class_name(event: &TracedEvent) -> &'static str {
    Event::class(event.id).map_or("", |class| class.name)
}

/// Returns the fields of an event, with their values.
fn fields(event: &TracedEvent) -> impl Iterator<Item = (&'static Field, u64)> {
    let fields = Event::class(event.id).map_or(&[][..], |class| class.fields);
    let mut at = 0;
    fields.iter().map(move |field| {
        let value = take(&event.payload, at, field.bits);
        at += field.bits;
        (field, value)
    })
}

fn arguments(event: &TracedEvent) -> String {
    let arguments = fields(event).map(|(field, value)| {
        let named = match field.shown {
            Shown::Names(names) => names.iter().find(|(number, _)| *number == value),
            _ => None,
        };
        match (named, field.shown) {
            (Some((_, name)), _) => format!(r#""{}":"{name}""#, field.name),
            (None, Shown::Hex) => format!(r#""{}":"{value:#x}""#, field.name),
            (None, _) => format!(r#""{}":{value}"#, field.name),
        }
    });
    arguments.collect::<Vec<_>>().join(",")
}
