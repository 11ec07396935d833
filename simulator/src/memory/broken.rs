//! Maps from one number to another, such as from a line to its L2 bank. Tests break a map to check that the [truth](super::Truth)
//! notices the wrong number. Outside tests, `mapped` returns each number unchanged.

/// A map, named after what it computes in the memory system or in the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// The number of the L2 bank of a line.
    Bank,
    /// Bits 8:7 of a line's address, which select the line's hub.
    Hub,
    /// Whether a hub counts events: 1 or 0.
    CountingHubs,
    /// The number of a group of successive lines, which determines the lines' home node.
    Home,
    /// A page's number, if an operating system places pages.
    Page,
    /// The number of a line's channel in the line's home node.
    Channel,
    /// Whether a channel is enabled: 1 or 0.
    EnabledChannel,
    /// The number of the node that sends a line over its link.
    Link,
    /// The port number of a hub's event.
    Port,
    /// The number of the hub whose registers count a hub's events.
    HubRegisters,
    /// The number, within its node, of the channel whose registers count a channel's events.
    ChannelRegisters,
    /// The number of a strand's node.
    NodeOfStrand,
    /// The number of the strand whose registers count a strand's events.
    StrandRegisters,
    /// The number of the strand that executes a thread.
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
pub(crate) use under_test::{broken, mapped};

#[cfg(test)]
mod under_test {
    use std::cell::Cell;

    use super::Map;

    type Break = (Map, fn(usize) -> usize);

    thread_local! {
        static BROKEN: Cell<Option<Break>> = const { Cell::new(None) };
    }

    pub(crate) fn mapped(map: Map, number: usize) -> usize {
        match BROKEN.get() {
            Some((broken, wrong)) if broken == map => wrong(number),
            _ => number,
        }
    }

    /// Executes `work` on this thread, with a map that returns wrong numbers.
    pub(crate) fn broken<R>(map: Map, wrong: fn(usize) -> usize, work: impl FnOnce() -> R) -> R {
        BROKEN.set(Some((map, wrong)));
        let result = work();
        BROKEN.set(None);
        result
    }
}
