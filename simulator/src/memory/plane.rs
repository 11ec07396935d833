//! A plane: the links between nodes that carry one hub's lines. A machine without hubs has four planes, whose links connect the
//! nodes directly.

use guest_abi::Node;

use super::broken::{Map, mapped};
use super::geometry::L2Line;
use super::queue::Queue;
use super::timing::Timing;

/// A request under way, or several requests for the same line, each of which waited for the one before it.
#[derive(Clone, Copy, Debug)]
struct Flight {
    line: L2Line,
    begins: u64,
    ends: u64,
}

/// The two directions of a node's link.
#[derive(Clone, Debug, Default)]
struct Link {
    out: Queue,
    into: Queue,
    /// The number of lines that have entered the node, and the number that have left it.
    passed: [u64; 2],
}

/// The number of lists into which the requests under way are divided. A new request is compared only with the requests in one list.
const LISTS: usize = 32;

/// The request serializer, and the nodes' links.
#[derive(Clone, Debug, Default)]
pub(super) struct Plane {
    serializer: Queue,
    links: [Link; Node::ALL.len()],
    /// The requests that may still be under way. All requests for a line are in the line's [list].
    flights: [Vec<Flight>; LISTS],
}

impl Plane {
    /// Serializes a request that arrives at the time `now`. Its turn begins when no other request for the same line is under way.
    /// Returns the time at which the turn begins, and the time at which the other nodes are asked.
    #[inline(always)]
    pub(super) fn serialize(&mut self, line: L2Line, now: u64, timing: &Timing) -> (u64, u64) {
        let meets = |flight: &Flight, now| {
            flight.line == line && (flight.begins..flight.ends).contains(&now)
        };
        let mut begins = now;
        let flights = &self.flights[list(line)];
        while let Some(flight) = flights.iter().find(|flight| meets(flight, begins)) {
            begins = flight.ends;
        }
        (begins, self.serializer.enter(begins, timing.serialize))
    }

    /// Sends a line from one node to another at the time `now`. Returns the time at which the line has passed both nodes' links.
    #[inline(always)]
    pub(super) fn send(&mut self, from: Node, to: Node, now: u64, timing: &Timing) -> u64 {
        let from = &mut self.links[mapped(Map::Link, from.index())];
        let sent = from.out.enter(now, timing.link);
        from.passed[1] += 1;
        let to = &mut self.links[to.index()];
        to.passed[0] += 1;
        to.into.enter(sent, timing.link)
    }

    /// Returns the number of lines that have entered a node over its link, and the number that have left the node.
    pub(super) fn passed(&self, node: usize) -> [u64; 2] {
        self.links[node].passed
    }

    /// Records that a request for a line was under way from `begins` to `ends`. No later request may arrive before the time `now`.
    #[inline(always)]
    pub(super) fn complete(&mut self, line: L2Line, begins: u64, ends: u64, now: u64) {
        let flights = &mut self.flights[list(line)];
        let mut new = Flight { line, begins, ends };
        let mut next = 0;
        // Remove each flight (request under way) that has ended or that the new flight continues.
        while let Some(flight) = flights.get(next) {
            if flight.line == line && flight.ends == begins {
                new.begins = new.begins.min(flight.begins);
            } else if flight.ends > now {
                next += 1;
                continue;
            }
            flights.swap_remove(next);
        }
        flights.push(new);
    }
}

/// Returns the index of a line's list. The hash spreads neighbouring lines over the lists.
#[inline(always)]
fn list(line: L2Line) -> usize {
    (line.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % LISTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// A plane has the same results as a single list of all requests. A request for line 0, 8 or 16 waits only for requests for
        /// the same line.
        #[test]
        fn matches_a_list_of_requests(requests in prop::collection::vec((0..3_u64, 0..20_u64, 0..40_u64, 1..60_u64), 1..80)) {
            let mut plane = Plane::default();
            let mut all: Vec<(u64, std::ops::Range<u64>)> = Vec::new();
            let mut time = 0;
            for (number, passed, later, takes) in requests {
                time += passed;
                let line = L2Line(8 * number);
                let under_way = |at: &u64| {
                    all.iter().any(|(other, when)| *other == number && when.contains(at))
                };
                let begins = (time + later..).find(|at| !under_way(at)).unwrap();
                prop_assert_eq!(plane.serialize(line, time + later, &Timing::T2_PLUS).0, begins);
                plane.complete(line, begins, begins + takes, time);
                all.push((number, begins..begins + takes));
            }
        }
    }
}
