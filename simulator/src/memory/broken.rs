//! Maps from one number to another, such as from a line to its L2 bank. Outside tests, `mapped` returns each number unchanged. A
//! test can break a map so that it returns wrong numbers. The results then differ from the [truth](super::Truth), and the test
//! checks that the difference is noticed.

/// A map, named after what it computes in the memory system or in the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// A line's L2 bank.
    Bank,
    /// Bits 8:7 of a line's address, which select the line's hub.
    Hub,
    /// 1 if a hub counts events, otherwise 0.
    CountingHubs,
    /// A group of successive lines. The group determines the lines' home node.
    Home,
    /// A page's number, if an operating system places pages.
    Page,
    /// A line's channel in the line's home node.
    Channel,
    /// 1 if a channel is enabled, otherwise 0.
    EnabledChannel,
    /// The node that sends a line over its link.
    Link,
    /// The port number of a hub's event.
    Port,
    /// The hub whose registers count a hub's events.
    HubRegisters,
    /// The channel, within its node, whose registers count a channel's events.
    ChannelRegisters,
    /// A strand's node.
    NodeOfStrand,
    /// The strand whose registers count a strand's events.
    StrandRegisters,
    /// The strand that executes a thread.
    Placement,
    /// The value that a hypercall writes to a register.
    Written,
}

#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn mapped(_: Map, number: usize) -> usize {
    number
}

#[cfg(test)]
pub(crate) use under_test::{mapped, with_broken_map};

#[cfg(test)]
mod under_test {
    use std::cell::Cell;

    use super::Map;

    type BrokenMap = (Map, fn(usize) -> usize);

    thread_local! {
        static BROKEN: Cell<Option<BrokenMap>> = const { Cell::new(None) };
    }

    pub(crate) fn mapped(map: Map, number: usize) -> usize {
        match BROKEN.get() {
            Some((broken, wrong)) if broken == map => wrong(number),
            _ => number,
        }
    }

    /// Executes `work` on this thread, with a map that returns wrong numbers.
    pub(crate) fn with_broken_map<R>(
        map: Map,
        wrong: fn(usize) -> usize,
        work: impl FnOnce() -> R,
    ) -> R {
        BROKEN.set(Some((map, wrong)));
        let result = work();
        BROKEN.set(None);
        result
    }
}
