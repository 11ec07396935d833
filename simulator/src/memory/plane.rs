//! The ways between the nodes for the lines of one hub. Nodes without hubs have such ways, too.

use guest_abi::Node;

use super::geometry::Line;
use super::queue::Queue;
use super::timing::Timing;

/// A request on its way, or several for the same line, each of which waited for the one before it.
#[derive(Clone, Copy, Debug)]
struct Flight {
    line: Line,
    begins: u64,
    ends: u64,
}

/// The directions of the link of a node.
#[derive(Clone, Debug, Default)]
struct Link {
    out: Queue,
    into: Queue,
}

/// So many lists have the requests under way, for a request is compared with all of one list.
const LISTS: usize = 32;

/// What serializes the requests, and the links of the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Plane {
    serializer: Queue,
    links: [Link; Node::ALL.len()],
    /// The requests for lines that may still be under way, [by line](list).
    flights: [Vec<Flight>; LISTS],
}

impl Plane {
    /// A request for a line arrives at the time `now`. Returns when it is its turn, which is later if it has to wait for another
    /// request for the same line, and when the other nodes are asked.
    pub(super) fn serialize(&mut self, line: Line, now: u64, timing: &Timing) -> (u64, u64) {
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

    /// Returns when a line that leaves a node at the time `now` has passed its link.
    pub(super) fn send(&mut self, from: Node, to: Node, now: u64, timing: &Timing) -> u64 {
        let sent = self.links[from.index()].out.enter(now, timing.link);
        self.links[to.index()].into.enter(sent, timing.link)
    }

    /// A request for a line was under way in this time. No request comes before the time `now` any more.
    pub(super) fn complete(&mut self, line: Line, begins: u64, ends: u64, now: u64) {
        let flights = &mut self.flights[list(line)];
        flights.retain(|flight| flight.ends > now);
        let waited = |flight: &&mut Flight| flight.line == line && flight.ends == begins;
        match flights.iter_mut().find(waited) {
            Some(flight) => flight.ends = ends,
            None => flights.push(Flight { line, begins, ends }),
        }
    }
}

/// Returns the number of the list that has the requests for a line.
fn list(line: Line) -> usize {
    (line.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % LISTS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Against a list of all requests that there have ever been. Those for lines 0, 8 and 16 wait for those for the same
        /// line alone.
        #[test]
        fn as_a_list_of_requests(requests in prop::collection::vec((0..3_u64, 0..20_u64, 0..40_u64, 1..60_u64), 1..80)) {
            let mut plane = Plane::default();
            let mut all: Vec<(u64, std::ops::Range<u64>)> = Vec::new();
            let mut time = 0;
            for (number, passed, later, takes) in requests {
                time += passed;
                let line = Line(8 * number);
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
