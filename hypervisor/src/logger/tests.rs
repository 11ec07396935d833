extern crate std;

use std::string::String;
use std::sync::Mutex as HostMutex;
use std::vec::Vec;

use super::*;

struct Bytes<'a> {
    sent: &'a HostMutex<Vec<u8>>,
    /// The number of bytes that the device accepts.
    room: usize,
}

impl Output for Bytes<'_> {
    fn put(&mut self, byte: u8) -> bool {
        let mut sent = self.sent.lock().unwrap();
        let accepts = sent.len() < self.room;
        if accepts {
            sent.push(byte);
        }
        accepts
    }
}

fn strand(number: usize) -> StrandId {
    StrandId::new(number).unwrap()
}

fn guest(number: usize) -> Option<GuestId> {
    GuestId::new(number)
}

/// Logs a message on strand `on`, `ms` milliseconds after the machine was switched on. Returns the number of messages that this call left
/// out of the log.
fn send(
    logger: &Logger<Bytes<'_>>,
    on: usize,
    source: Option<GuestId>,
    ms: u64,
    text: &str,
) -> u64 {
    let time = Time { ticks: ms, frequency: 1000 };
    if !logger.admits(source, time) {
        return 1;
    }
    let text = format_args!("{text}");
    logger.write(strand(on), Message { source, level: Level::Error, text, time })
}

fn text(sent: &HostMutex<Vec<u8>>) -> String {
    String::from_utf8(sent.lock().unwrap().clone()).unwrap()
}

#[test]
fn lines_with_time_and_level() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    assert_eq!(send(&logger, 0, None, 61_002, "a \n b"), 0);
    assert_eq!(send(&logger, 0, None, 61_002, &"x".repeat(1000)), 0);
    let lines = text(&sent);
    let mut lines = lines.lines();
    assert_eq!(lines.next(), Some("[61.002000] error: a ? b"));
    assert_eq!(lines.next().map(str::len), Some(MAX_LINE_BYTES));
    assert_eq!(lines.next(), None);
}

#[test]
fn a_guest_that_floods_silences_no_other() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    let dropped: u64 = (0..100).map(|_| send(&logger, 0, guest(1), 0, "flood")).sum();
    assert_eq!((dropped, text(&sent).lines().count()), (84, 16));
    for source in [guest(2), None] {
        assert_eq!(send(&logger, 0, source, 0, "heard"), 0);
    }
    // A second later, the guest may send one more message. This message's line ends with the number of messages that were left out before.
    assert_eq!(send(&logger, 0, guest(1), 1000, "later"), 0);
    let end: Vec<_> = text(&sent).lines().skip(16).map(String::from).collect();
    let expected = [
        "[0.000000] error: heard",
        "[0.000000] error: heard",
        "[1.000000] error: later (messages about the guest left out before this one: 84)",
    ];
    assert_eq!(end, expected);
}

/// While one strand uses the console, the logger keeps the lines of the other strands. The next strand that uses the console writes the
/// kept lines. If there is no room to keep a line, the logger counts the line as left out.
#[test]
fn a_taken_console_is_not_waited_for() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    let kept = || (0..MAX_QUEUED + 2).map(|on| send(&logger, on, None, 0, "kept")).sum::<u64>();
    let dropped = logger.console.with(strand(200), |_| kept());
    assert_eq!((dropped, text(&sent).as_str()), (Some(2), ""));
    assert_eq!(send(&logger, 9, None, 0, "last"), 0);
    let lines = text(&sent);
    assert_eq!(lines.matches("kept").count(), MAX_QUEUED);
    let last = "error: last (messages about the hypervisor left out before this one: 2)\n";
    assert_eq!(lines.matches(last).count(), 1, "{lines}");
}

/// A console that accepts nothing drops the line of the strand that uses it, and all kept lines.
#[test]
fn kept_lines_that_are_dropped_are_counted() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: 0 });
    let kept = || (0..MAX_QUEUED).map(|on| send(&logger, on, None, 0, "kept")).sum::<u64>();
    assert_eq!(logger.console.with(strand(200), |_| kept()), Some(0));
    assert_eq!(send(&logger, 9, None, 0, "last"), MAX_QUEUED as u64 + 1);
}

struct ForceUnlock;

impl Unlock for ForceUnlock {
    #[allow(unsafe_code)]
    fn unlock<T>(&self, mutex: &spin::Mutex<T>) {
        // SAFETY: the guard has been forgotten.
        unsafe { mutex.force_unlock() }
    }
}

#[test]
fn a_dead_strand_does_not_keep_the_console() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    // `false` stands for a strand that dies after it has taken the first of its two locks.
    for has_console in [false, true] {
        logger.console.die_with(strand(7), has_console);
        send(&logger, 6, None, 0, "waits");
        // Strand 6 is not in the middle of a write, so this call changes nothing.
        logger.abandon(strand(6), &ForceUnlock);
        assert_eq!(send(&logger, 6, None, 0, "waits"), 0);
        logger.abandon(strand(7), &ForceUnlock);
        assert_eq!(send(&logger, 6, None, 0, "written"), 0);
        assert_eq!(text(&sent).lines().count(), if has_console { 6 } else { 3 });
    }
}

/// The logger has a slot for each line that it can keep. If a strand dies while it stores a line in a slot, the logger counts the line as
/// left out, and can use the slot again.
#[test]
fn a_dead_strand_keeps_no_place_of_a_line() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    for (number, has_value) in [(0, false), (1, true), (2, true), (3, true)] {
        logger.queued[number].die_with(strand(7), has_value);
        logger.abandon(strand(7), &ForceUnlock);
    }
    let kept = || (0..MAX_QUEUED).map(|on| send(&logger, on, None, 0, "kept")).sum::<u64>();
    assert_eq!(logger.console.with(strand(200), |_| kept()), Some(0));
    assert_eq!(send(&logger, 9, None, 0, "last"), 0);
    assert!(
        text(&sent).contains("last (messages about the hypervisor left out before this one: 4)\n")
    );
    assert_eq!(text(&sent).matches("kept").count(), MAX_QUEUED);
}

/// A line's text is UTF-8 and has no control characters, whatever the message contains.
#[test]
fn a_line_is_text() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    send(&logger, 0, None, 0, "a \u{9b} \u{e9} \x1b");
    for length in MAX_LINE_BYTES - 30..MAX_LINE_BYTES {
        send(&logger, 0, guest(length), 0, &("x".repeat(length) + "\u{20ac}\u{20ac}"));
    }
    assert!(text(&sent).starts_with("[0.000000] error: a ? \u{e9} ?\n"));
}

#[test]
fn a_device_that_accepts_nothing_costs_one_line() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: 30 });
    assert_eq!(send(&logger, 0, None, 0, "this line is too long for it"), 1);
    assert_eq!(text(&sent).len(), 30);
}

/// If the device does not accept a line, the count of left-out messages at the end of the line is not lost.
#[test]
fn the_count_survives_a_line_that_fails() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: 10 });
    for _ in 0..3 {
        assert_eq!(send(&logger, 0, None, 0, "this line is too long for it"), 1);
    }
    logger.console.with(strand(0), |device| device.room = usize::MAX);
    assert_eq!(send(&logger, 0, None, 0, "last"), 0);
    assert!(
        text(&sent).ends_with("last (messages about the hypervisor left out before this one: 3)\n")
    );
}

/// Several strands send many messages at the same time. Each message becomes a whole line, immediately or later, or is counted as left out.
#[test]
fn strands_at_once() {
    let sent = HostMutex::new(Vec::new());
    let logger = Logger::new(Bytes { sent: &sent, room: usize::MAX });
    let dropped: u64 = std::thread::scope(|scope| {
        let strands: Vec<_> = (0..8)
            .map(|on| {
                let logger = &logger;
                scope.spawn(move || {
                    (0..500)
                        .map(|n| send(logger, on, guest(on), n * 1000, "a whole line"))
                        .sum::<u64>()
                })
            })
            .collect();
        strands.into_iter().map(|strand| strand.join().unwrap()).sum()
    });
    let waiting = logger
        .queued
        .iter()
        .filter(|place| place.with(strand(0), |one| one.is_some()) == Some(true));
    let waiting = waiting.count() as u64;
    let lines = text(&sent);
    let is_whole = |line: &&str| line.contains("] error: a whole line");
    let whole = lines.lines().filter(is_whole).count() as u64;
    assert_eq!(lines.lines().count() as u64, whole);
    assert!(whole + dropped + waiting == 4000, "{whole} {dropped} {waiting}");
}

/// The numbers are those of UltraSPARC Architecture 2007.
#[test]
fn traps_have_names() {
    let named = [
        (0x08..=0x08, "instruction access exception"),
        (0x0a..=0x0a, "instruction access error"),
        (0x10..=0x10, "illegal instruction"),
        (0x11..=0x11, "privileged instruction"),
        (0x12..=0x12, "unimplemented load"),
        (0x13..=0x13, "unimplemented store"),
        (0x20..=0x20, "floating point is off"),
        (0x21..=0x22, "floating-point exception"),
        (0x23..=0x23, "tag overflow"),
        (0x24..=0x27, "clean window"),
        (0x28..=0x28, "division by zero"),
        (0x30..=0x30, "data access exception"),
        (0x32..=0x32, "data access error"),
        (0x34..=0x36, "memory address not aligned"),
        (0x37..=0x37, "privileged action"),
        (0x38..=0x39, "memory address not aligned"),
        (0x3e..=0x3e, "no translation of an instruction's address"),
        (0x3f..=0x3f, "no translation of a datum's address"),
        (0x41..=0x4f, "interrupt"),
        (0x80..=0xbf, "window spill"),
        (0xc0..=0xff, "window fill"),
        (0x100..=0x17f, "software trap"),
    ];
    for number in 0..0x200 {
        let name = named.iter().find(|(numbers, _)| numbers.contains(&number));
        assert_eq!(trap_name(number), name.map(|(_, name)| *name), "{number:#x}");
    }
}
