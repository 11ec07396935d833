//! A DRAM channel: its queue and its write-back buffer.

use super::geometry::L2Line;
use super::queue::Queue;
use super::timing::Timing;

/// The number of lines in a channel's write-back buffer.
pub const BUFFER_LINES: usize = 8;

/// A DRAM channel. Its write-back buffer holds the [`BUFFER_LINES`] lines that were written back last.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    queue: Queue,
    buffer: [Option<L2Line>; BUFFER_LINES],
    oldest: usize,
}

impl Channel {
    pub(super) fn new() -> Self {
        Self { queue: Queue::default(), buffer: [None; BUFFER_LINES], oldest: 0 }
    }

    /// Reads a line. The request arrives at the time `now`. Returns the time at which the line leaves the queue, and whether the write-back
    /// buffer holds the line. If the buffer holds the line, it holds back the read.
    pub(super) fn read(&mut self, line: L2Line, now: u64, timing: &Timing) -> (u64, bool) {
        let held = self.buffer.contains(&Some(line));
        (self.queue.enter(now, timing.channel_read), held)
    }

    /// Writes a line that arrives at the time `now`. Returns the time at which the line leaves the queue.
    pub(super) fn write(&mut self, line: L2Line, now: u64, timing: &Timing) -> u64 {
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
