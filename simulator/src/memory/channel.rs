//! The queues of a DRAM channel.

use super::geometry::Line;
use super::queue::Queue;
use super::timing::Timing;

/// How many lines the write-back buffer of a channel keeps.
pub const BUFFER_LINES: usize = 8;

/// A DRAM channel, and its write-back buffer, which keeps the lines last written back until younger ones take their place.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    queue: Queue,
    buffer: [Option<Line>; BUFFER_LINES],
    oldest: usize,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self {
            queue: Queue::default(),
            buffer: [None; BUFFER_LINES],
            oldest: 0,
        }
    }

    /// A line is read, whose request arrives at the time `now`. Returns when it leaves the queue, and `true` if it meets a write
    /// of its line in the write-back buffer, for which it is held back.
    pub(super) fn read(&mut self, line: Line, now: u64, timing: &Timing) -> (u64, bool) {
        let held = self.buffer.contains(&Some(line));
        (self.queue.enter(now, timing.channel_read), held)
    }

    /// A line is written that arrives at the time `now`. Returns when it leaves the queue.
    pub(super) fn write(&mut self, line: Line, now: u64, timing: &Timing) -> u64 {
        if !self.buffer.contains(&Some(line)) {
            self.buffer[self.oldest] = Some(line);
            self.oldest = (self.oldest + 1) % BUFFER_LINES;
        }
        self.queue.enter(now, timing.channel_write)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: &Timing = &Timing::T2_PLUS;

    #[test]
    fn one_line_at_a_time() {
        let mut channel = Channel::new();
        // A line that is read takes 7 cycles, and one that is written 14.
        assert_eq!(channel.read(Line(1), 1000, TIMING), (1007, false));
        assert_eq!(channel.write(Line(2), 1003, TIMING), 1021);
        assert_eq!(channel.read(Line(3), 1010, TIMING), (1028, false));
        assert_eq!(channel.read(Line(4), 2000, TIMING), (2007, false));
    }

    #[test]
    fn the_buffer_keeps_the_last_eight_lines_written() {
        let mut channel = Channel::new();
        for line in 1..=8 {
            channel.write(Line(line), line * 1000, TIMING);
        }
        assert_eq!(channel.read(Line(1), 9000, TIMING), (9007, true));
        channel.write(Line(1), 10_000, TIMING);
        channel.write(Line(9), 11_000, TIMING);
        assert_eq!(channel.read(Line(1), 12_000, TIMING), (12_007, false));
        assert_eq!(channel.read(Line(2), 13_000, TIMING), (13_007, true));
        assert_eq!(channel.read(Line(9), 14_000, TIMING), (14_007, true));
    }
}
