//! Chrome's trace-event format, which Perfetto can open.
//!
//! A guest is a process, the guest's strands are threads, and a call is a slice. Other events are instants. Processes and threads
//! are numbered from 1, because viewers give 0 a special meaning. A strand's slices do not overlap: if times are not exact to the
//! tick, no slice begins before the previous slice ends. Each value that a guest reads from a PIC is a point on a counter track.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use guest_abi::layout::DramPic;
use guest_abi::{Counter, HubRole, McuRole, PerfReg, RegisterKind};
use serde_json::{Value, json};

use super::calls::{TracedCall, TracedFunction};
use super::kinds::{EventKinds, ShownValue};
use super::{Stream, StreamEntry, Trace, TracedEvent};
use crate::nearest::status_name;
use crate::text;

/// The process number for events without a guest. [`COUNTERS`] is the process number for the counter tracks.
const MACHINE: u64 = 1000;
const COUNTERS: u64 = 1001;

/// Writes a trace as JSON.
///
/// # Errors
/// Writing to `output` fails.
pub fn write(trace: &Trace, output: impl Write) -> io::Result<()> {
    let mut chrome = Chrome { trace, output, first: true };
    write!(chrome.output, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
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
    /// Writes an element of the array on its own line.
    fn line(&mut self, element: &Value) -> io::Result<()> {
        let comma = if self.first { "" } else { "," };
        self.first = false;
        writeln!(self.output, "{comma}")?;
        write!(self.output, "{}", text::json(&element.to_string()))
    }

    /// Writes the names of all processes and threads that have events.
    fn names(&mut self) -> io::Result<()> {
        let trace = self.trace;
        let mut threads = BTreeSet::new();
        for stream in &trace.streams {
            let tid = thread(stream);
            threads.extend(stream.events().map(|event| (process(event, &trace.kinds), tid)));
            threads.extend(stream.gaps().map(|_| (MACHINE, tid)));
        }
        let mut processes: BTreeSet<u64> = threads.iter().map(|(pid, _)| *pid).collect();
        processes.extend([MACHINE, COUNTERS]);
        for pid in processes {
            let name = match pid {
                MACHINE => "machine".to_owned(),
                COUNTERS => "counters".to_owned(),
                guest => trace.guest((guest - 1) as u8),
            };
            self.line(
                &json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}),
            )?;
        }
        for (pid, tid) in threads {
            let args = json!({"name": format!("strand {}", tid - 1)});
            self.line(
                &json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}),
            )?;
        }
        Ok(())
    }

    fn stream(&mut self, stream: &Stream) -> io::Result<()> {
        let tid = thread(stream);
        // When the latest slice ended, and the time of the latest event.
        let (mut ended, mut now) = (0, 0);
        for entry in &stream.entries {
            let event = match entry {
                StreamEntry::Event(event) => event,
                StreamEntry::Lost(lost) => {
                    self.line(&json!({
                        "ph": "i", "s": "t", "name": "lost", "ts": microseconds(now),
                        "pid": MACHINE, "tid": tid, "args": {"events": lost},
                    }))?;
                    continue;
                }
            };
            now = self.nanoseconds(event.time);
            let kinds = &self.trace.kinds;
            let pid = process(event, kinds);
            match event.event().as_ref().and_then(TracedCall::from_event) {
                Some(call) => {
                    let started = event.time.saturating_sub(call.duration.into());
                    let start = self.nanoseconds(started).clamp(ended.min(now), now);
                    self.call(&call, (pid, tid), (start, now))?;
                    ended = now;
                }
                None => self.line(&json!({
                    "ph": "i", "s": "t", "name": event.name(kinds), "ts": microseconds(now),
                    "pid": pid, "tid": tid, "args": arguments(event, kinds),
                }))?,
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &TracedCall,
        (pid, tid): (u64, u64),
        (start, end): (u64, u64),
    ) -> io::Result<()> {
        let mut args = json!({"status": status_name(call.status), "ticks": call.duration});
        if let Some(value) = call.value {
            // The value is a string, because JSON readers keep only 53 bits of a number.
            args["value"] = format!("{value:#x}").into();
        }
        self.line(&json!({
            "ph": "X", "name": format!("{} {}", call.function.name(), call.function.object()),
            "cat": "hcall", "ts": microseconds(start), "dur": microseconds(end - start),
            "pid": pid, "tid": tid, "args": args,
        }))?;
        if let (TracedFunction::Get(id), guest_abi::status::EOK, Some(value)) =
            (call.function, call.status, call.value)
            && let Some(register) = PerfReg::new(id)
            && let Some(counts) = counts(register, value)
        {
            self.line(&json!({
                "ph": "C", "name": register.name(), "ts": microseconds(end), "pid": COUNTERS,
                "args": counts,
            }))?;
        }
        Ok(())
    }

    /// Converts a time to nanoseconds since the trace began.
    fn nanoseconds(&self, time: u64) -> u64 {
        let ticks = u128::from(time.saturating_sub(self.trace.began));
        u64::try_from(ticks * 1_000_000_000 / u128::from(self.trace.hz)).unwrap_or(u64::MAX)
    }
}

/// Converts nanoseconds to microseconds. The result is exact for times of up to a month.
fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1000.0
}

/// Returns the counts that a PIC's value holds; `None` for other registers.
fn counts(register: PerfReg, value: u64) -> Option<Value> {
    match register.kind() {
        RegisterKind::Dram { role: McuRole::Pic, .. } => {
            let [pic0, pic1] =
                [Counter::Pic0, Counter::Pic1].map(|counter| DramPic::from(value).counter(counter));
            Some(json!({"pic0": pic0, "pic1": pic1}))
        }
        RegisterKind::Hub { role: HubRole::Pic0 | HubRole::Pic1, .. } => {
            Some(json!({"count": value}))
        }
        _ => None,
    }
}

/// Returns the process number of an event's guest; [`MACHINE`] if the event has no guest.
fn process(event: &TracedEvent, kinds: &EventKinds) -> u64 {
    event.field(kinds, "guest").map_or(MACHINE, |guest| guest.saturating_add(1))
}

/// Returns the thread number of a stream. Numbers begin at 1.
fn thread(stream: &Stream) -> u64 {
    stream.strand.index() as u64 + 1
}

/// The values of an event's fields, by field name.
pub type Arguments = BTreeMap<Cow<'static, str>, ShownValue>;

pub(crate) fn arguments(event: &TracedEvent, kinds: &EventKinds) -> Arguments {
    let mut arguments = Arguments::new();
    // To insert a few values takes less time than to sort them.
    for (field, value) in event.fields(kinds) {
        arguments.insert(field.name.clone(), field.show(value));
    }
    arguments
}
