//! The queues of a DRAM channel.

use super::geometry::Line;
use super::timing;

/// How many lines the write-back buffer of a channel keeps.
pub const BUFFER_LINES: usize = 8;

/// A DRAM channel: when it will be free, and its write-back buffer, which keeps the lines last written back until younger ones
/// take their place.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    free_at: u64,
    buffer: [Option<Line>; BUFFER_LINES],
    oldest: usize,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            free_at: 0,
            buffer: [None; BUFFER_LINES],
            oldest: 0,
        }
    }

    /// A line is read at this time. Returns how long it is in the queue, and `true` if it meets a write of its line in the
    /// write-back buffer, for which it is held back.
    pub(super) fn read(&mut self, line: Line, now: u64) -> (u64, bool) {
        let held = self.buffer.contains(&Some(line));
        (self.queue(now), held)
    }

    /// A line is written at this time: how long it is in the queue.
    pub(super) fn write(&mut self, line: Line, now: u64) -> u64 {
        if !self.buffer.contains(&Some(line)) {
            self.buffer[self.oldest] = Some(line);
            self.oldest = (self.oldest + 1) % BUFFER_LINES;
        }
        self.queue(now)
    }

    fn queue(&mut self, now: u64) -> u64 {
        self.free_at = self.free_at.max(now) + timing::CHANNEL;
        self.free_at - now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_at_a_time() {
        let mut channel = Channel::new();
        assert_eq!(channel.read(Line(1), 1000), (60, false));
        assert_eq!(channel.write(Line(2), 1030), 90);
        assert_eq!(channel.read(Line(3), 1100), (80, false));
        assert_eq!(channel.read(Line(4), 2000), (60, false));
    }

    #[test]
    fn the_buffer_keeps_the_last_eight_lines_written() {
        let mut channel = Channel::new();
        for line in 1..=8 {
            channel.write(Line(line), line * 1000);
        }
        assert_eq!(channel.read(Line(1), 9000), (60, true));
        channel.write(Line(1), 10_000);
        channel.write(Line(9), 11_000);
        assert_eq!(channel.read(Line(1), 12_000), (60, false));
        assert_eq!(channel.read(Line(2), 13_000), (60, true));
        assert_eq!(channel.read(Line(9), 14_000), (60, true));
    }
}
