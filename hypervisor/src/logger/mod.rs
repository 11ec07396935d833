//! The hypervisor's log: lines on the hypervisor's console, at a limited rate.
//!
//! A line begins with the time in seconds since the machine was switched on, and the level: `[0.001250] error: hub 2 is out of service:
//! ...`.
//!
//! A guest may cause messages repeatedly, so each guest has a [`Limit`](limit::BURST), and the hypervisor itself has another. Messages that
//! are left out are counted, and the next line about the same source ends with the count.
//!
//! Any strand may write, even while it handles a trap, and no strand waits for another. If another strand is using the console, the line is
//! kept, and the other strand writes it. At most [`MAX_QUEUED`] lines are kept. Further lines are left out and counted.

pub mod limit;
mod line;
mod strand_mutex;
mod trap;

use core::fmt::{self, Write};
use core::sync::atomic::{Ordering::SeqCst, fence};

use guest_abi::StrandId;
use hv_core::GuestId;
use log::Level;

use limit::Limit;
pub use line::{Line, MAX_LINE_BYTES};
use strand_mutex::StrandMutex;
pub use strand_mutex::Unlock;
pub use trap::trap_name;

/// The maximum number of lines that wait while another strand uses the console.
pub const MAX_QUEUED: usize = 4;

/// The number of times that a strand tries to take the console for one message. Each time it succeeds, the strand also writes the lines
/// that other strands have kept.
const ROUNDS: usize = 4;

/// A device that accepts bytes.
pub trait Output {
    /// Sends a byte. Returns `false` if the device does not accept it.
    fn put(&mut self, byte: u8) -> bool;
}

/// A message for the log: its source, its level, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// The guest that causes the message; `None` for the hypervisor and the operator.
    pub source: Option<GuestId>,
    #[allow(missing_docs, reason = "its name says it")]
    pub level: Level,
    #[allow(missing_docs, reason = "its name says it")]
    pub text: fmt::Arguments<'a>,
    #[allow(missing_docs, reason = "its name says it")]
    pub time: Time,
}

/// A time since the machine was switched on.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    #[allow(missing_docs, reason = "its name says it")]
    pub ticks: u64,
    /// The number of ticks in a second.
    pub frequency: u64,
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ticks, frequency } = *self;
        let seconds = ticks.checked_div(frequency).unwrap_or(0);
        let rest = ticks.checked_rem(frequency).unwrap_or(ticks);
        let micros = rest.saturating_mul(1_000_000).checked_div(frequency).unwrap_or(0);
        write!(f, "{seconds}.{micros:06}")
    }
}

/// A line that waits for the console, and the source that sent it.
#[derive(Clone, Debug)]
struct QueuedLine {
    line: Line,
    source: Option<GuestId>,
}

/// Writes messages to a console.
#[derive(Debug)]
pub struct Logger<C> {
    console: StrandMutex<C>,
    queued: [StrandMutex<Option<QueuedLine>>; MAX_QUEUED],
    limits: [Limit; GuestId::COUNT],
    hypervisor_limit: Limit,
}

impl<C: Output> Logger<C> {
    /// Returns a logger that writes to `console` and has no kept lines.
    #[must_use]
    pub const fn new(console: C) -> Self {
        Self {
            console: StrandMutex::new(console),
            queued: [const { StrandMutex::new(None) }; MAX_QUEUED],
            limits: [const { Limit::new() }; GuestId::COUNT],
            hypervisor_limit: Limit::new(),
        }
    }

    /// Replaces the console. Strand `on` calls this function, before other strands write.
    pub fn open(&self, on: StrandId, console: C) {
        self.console.with(on, |place| *place = console);
    }

    /// Returns `true` if the source may cause another message now. Otherwise counts the message as left out.
    pub fn admits(&self, source: Option<GuestId>, time: Time) -> bool {
        let limit = self.limit(source);
        let admitted = limit.admit(time.ticks, time.frequency.max(1));
        if !admitted {
            limit.count_dropped(1);
        }
        admitted
    }

    /// Writes a message that was [admitted](Self::admits), on the strand `on`. Returns the number of messages that were left out because
    /// there was no room to keep them, or because the console accepted no more bytes.
    pub fn write(&self, on: StrandId, message: Message<'_>) -> u64 {
        let Message { source, level, text, time } = message;
        let mut line = Line::default();
        // The write fails only if the line is full.
        let _ = write!(line, "[{time}] {}: {text}", level_name(level));
        self.put(on, &QueuedLine { line, source })
    }

    fn put(&self, on: StrandId, waiting: &QueuedLine) -> u64 {
        let (mut dropped, mut own) = (0, Some(waiting));
        for _ in 0..ROUNDS {
            let sent = self.console.with(on, |console| {
                let mut dropped = own.take().map_or(0, |own| self.send(console, own));
                for place in &self.queued {
                    if let Some(waiting) = place.with(on, Option::take).flatten() {
                        dropped += self.send(console, &waiting);
                    }
                }
                dropped
            });
            if let Some(sent) = sent {
                dropped += sent;
                fence(SeqCst);
                if !self
                    .queued
                    .iter()
                    .any(|place| place.with(on, |one| one.is_some()) == Some(true))
                {
                    break;
                }
            } else {
                let Some(waiting) = own.take() else { break };
                if !self.queue(on, waiting) {
                    self.limit(waiting.source).count_dropped(1);
                    return dropped + 1;
                }
                // The strand that was using the console may have looked for kept lines before this line was kept, so try to use the console
                // once more.
                fence(SeqCst);
            }
        }
        dropped
    }

    /// Sends a line. If earlier messages of its source were left out, adds their number. Returns 1 if the console does not accept the line.
    fn send(&self, console: &mut C, waiting: &QueuedLine) -> u64 {
        let QueuedLine { line, source } = waiting;
        let limit = self.limit(*source);
        let mut end = Line::default();
        let whose = if source.is_some() { "the guest" } else { "the hypervisor" };
        let before = limit.take_dropped();
        if before > 0 {
            // `end` has room for this text.
            let _ = write!(end, " (messages about {whose} left out before this one: {before})");
        }
        let bytes = line.bytes().iter().chain(end.bytes()).chain(b"\n");
        let accepted = bytes.copied().all(|byte| console.put(byte));
        if !accepted {
            limit.count_dropped(before.saturating_add(1));
        }
        u64::from(!accepted)
    }

    /// Keeps a line for the strand that is using the console. Returns `false` if no slot for a line is free.
    fn queue(&self, on: StrandId, waiting: &QueuedLine) -> bool {
        let put = |place: &mut Option<QueuedLine>| {
            let is_free = place.is_none();
            if is_free {
                *place = Some(waiting.clone());
            }
            is_free
        };
        self.queued.iter().any(|place| place.with(on, put) == Some(true))
    }

    /// Releases the console and the slots for lines that `strand` was using when it died. If the strand was storing a line in a slot, the
    /// line is dropped, and the hypervisor's count of left-out messages grows by 1.
    pub fn abandon(&self, strand: StrandId, unlock: &impl Unlock) {
        self.console.abandon(strand, unlock, |_| {});
        for place in &self.queued {
            place.abandon(strand, unlock, |line| {
                *line = None;
                self.hypervisor_limit.count_dropped(1);
            });
        }
    }

    fn limit(&self, source: Option<GuestId>) -> &Limit {
        let limit = source.and_then(|guest| self.limits.get(guest.index()));
        limit.unwrap_or(&self.hypervisor_limit)
    }
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "note",
        Level::Debug => "debug",
        Level::Trace => "trace",
    }
}

#[cfg(test)]
mod tests;
