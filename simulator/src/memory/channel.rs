//! A DRAM channel: its queue and its write-back buffer.

use platform::models::MemoryController;

use super::geometry::L2Line;
use super::queue::Queue;
use super::timing::Timing;

/// The number of lines in a channel's write-back buffer.
pub const BUFFER_LINES: usize = 8;

/// A DRAM channel. Its write-back buffer holds the [`BUFFER_LINES`] lines that were written back most recently.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    events: ChannelEvents,
    queue: Queue,
    /// The lines that were written back most recently. [`L2Line::NONE`] fills unused entries.
    buffer: [L2Line; BUFFER_LINES],
    oldest: usize,
}

/// Channel events that have not been added to the counters yet.
#[derive(Clone, Debug, Default)]
struct ChannelEvents {
    lines_read: u64,
    lines_written: u64,
    held_back: u64,
    /// The total number of cycles that lines spent in the queue and in transfer.
    cycles_to_read: u64,
    cycles_to_write: u64,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            events: ChannelEvents::default(),
            queue: Queue::default(),
            buffer: [L2Line::NONE; BUFFER_LINES],
            oldest: 0,
        }
    }

    /// Reads a line for a request that arrives at the time `now`. Returns the time at which the line leaves the queue, and `true`
    /// if the write-back buffer holds the line. In that case, the read is counted as held back for the line's write.
    #[inline(always)]
    pub(super) fn read(&mut self, line: L2Line, now: u64, timing: &Timing) -> (u64, bool) {
        let held = self.buffer.contains(&line);
        let done = self.queue.enter(now, timing.channel_read);
        self.events.lines_read += 1;
        self.events.cycles_to_read += done - now;
        self.events.held_back += u64::from(held);
        (done, held)
    }

    /// Writes a line that arrives at the time `now`. Returns the time at which the line leaves the queue.
    #[inline(always)]
    pub(super) fn write(&mut self, line: L2Line, now: u64, timing: &Timing) -> u64 {
        if !self.buffer.contains(&line) {
            self.buffer[self.oldest] = line;
            self.oldest = (self.oldest + 1) % BUFFER_LINES;
        }
        let done = self.queue.enter(now, timing.channel_write);
        self.events.lines_written += 1;
        self.events.cycles_to_write += done - now;
        done
    }

    /// Returns `true` if there are events that have not been added to the counters yet.
    pub(super) fn has_events(&self) -> bool {
        self.events.lines_read + self.events.lines_written > 0
    }

    /// Moves the events to the channel's counters.
    pub(super) fn flush_to_counters(&mut self, controller: &mut MemoryController) {
        let events = std::mem::take(&mut self.events);
        controller.count_lines_read(events.lines_read, events.cycles_to_read);
        controller.count_lines_written(events.lines_written, events.cycles_to_write);
        controller.count_delayed_reads(events.held_back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: &Timing = &Timing::T2_PLUS;

    #[test]
    fn one_line_at_a_time() {
        let mut channel = Channel::new();
        // A read takes 7 cycles, and a write 14.
        assert_eq!(channel.read(L2Line(1), 1000, TIMING), (1007, false));
        assert_eq!(channel.write(L2Line(2), 1003, TIMING), 1021);
        assert_eq!(channel.read(L2Line(3), 1010, TIMING), (1028, false));
        assert_eq!(channel.read(L2Line(4), 2000, TIMING), (2007, false));
    }

    #[test]
    fn the_buffer_keeps_the_last_eight_lines_written() {
        let mut channel = Channel::new();
        for line in 1..=8 {
            channel.write(L2Line(line), line * 1000, TIMING);
        }
        assert_eq!(channel.read(L2Line(1), 9000, TIMING), (9007, true));
        channel.write(L2Line(1), 10_000, TIMING);
        channel.write(L2Line(9), 11_000, TIMING);
        assert_eq!(channel.read(L2Line(1), 12_000, TIMING), (12_007, false));
        assert_eq!(channel.read(L2Line(2), 13_000, TIMING), (13_007, true));
        assert_eq!(channel.read(L2Line(9), 14_000, TIMING), (14_007, true));
    }
}
