//! Coherence between nodes: MOESI between the L2 caches, with the memory of the home node.

use guest_abi::Node;

use super::access::Access;
use super::figures::Variant;
use super::geometry::L2Line;
use super::l2::{L2Slot, LineState, Victim};
use super::plane::Plane;
use super::traffic::{Answers, NodeRequest, SnoopAnswer, Supplier, Transaction};
use super::truth::{LineUnits, ServedBy};

impl<V: Variant> Access<'_, V> {
    /// Brings a missing line into the node's L2 cache, and returns what served the request. If `state` is modified, the node
    /// becomes the line's only holder. `copy` is the directory bit of the copy that the core's L1 cache will have, or 0 for none.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&mut self, line: L2Line, state: LineState, copy: u64) -> ServedBy {
        let to_own = state == LineState::Modified;
        let line_units = self.unit_records.missed(line, self.core, self.node, line.bank());
        let snoop = self.snoop(line, to_own);
        let (source, service) = match snoop.owner {
            Some(owner) => {
                self.now += self.timing().cache_to_cache;
                self.now = self.send(line, owner, self.node, self.now);
                (Supplier::Cache(owner), ServedBy::CacheToCache)
            }
            None => self.read_memory(line, line_units),
        };
        let answers = snoop.answers;
        self.complete(line, line_units, &snoop, NodeRequest::Read { to_own, source, answers });
        let state = if !to_own && !snoop.found { LineState::Exclusive } else { state };
        let arrives = self.now;
        if let Some(victim) = self.l2.fill(self.node, line, state, copy, arrives) {
            self.evict(victim);
        }
        service
    }

    /// Makes the node a line's only holder, so that it can write to the line.
    #[inline(always)]
    pub(super) fn upgrade(&mut self, line: L2Line, slot: L2Slot) {
        match self.l2.state(slot) {
            LineState::Modified => {}
            LineState::Exclusive => self.l2.set_state(slot, LineState::Modified),
            LineState::Shared | LineState::Owned => {
                self.l2.set_state(slot, LineState::Modified);
                self.invalidate(line);
            }
        }
    }

    /// Invalidates the other nodes' copies of a line.
    #[inline(never)]
    fn invalidate(&mut self, line: L2Line) {
        let snoop = self.snoop(line, true);
        let (line_units, answers) = (self.unit_records.line_units(line), snoop.answers);
        self.complete(line, line_units, &snoop, NodeRequest::Invalidate { answers });
    }

    /// Asks the other nodes for a line. If `to_own` is set, the other nodes lose the line.
    #[inline(always)]
    fn snoop(&mut self, line: L2Line, to_own: bool) -> Snoop {
        let arrives = self.now;
        let answers = self.plan.misses[self.node.index()];
        let mut snoop =
            Snoop { begins: arrives, met: false, waited: 0, answers, found: false, owner: None };
        if self.plan.machine.nodes() > 1 {
            let (begins, asked) = self.serialize(line, arrives);
            snoop.waited = asked - self.timing().serialize - arrives;
            (snoop.begins, snoop.met) = (begins, begins > arrives);
            self.now = asked + self.timing().snoop;
            if self.l2.may_have(line) {
                self.snoop_nodes(line, to_own, &mut snoop);
            }
        }
        snoop
    }

    /// Asks every other node for a line, and records the answers of those that have it.
    #[inline(never)]
    fn snoop_nodes(&mut self, line: L2Line, to_own: bool, snoop: &mut Snoop) {
        for node in &Node::ALL[..self.plan.machine.nodes()] {
            if *node != self.node
                && let Some(slot) = self.l2.find(*node, line)
            {
                let answer = self.answer_snoop(*node, line, slot, to_own);
                snoop.answers[node.index()] = Some(answer);
                snoop.found = true;
                if matches!(answer, SnoopAnswer::Modified | SnoopAnswer::Owned) {
                    snoop.owner = Some(*node);
                }
            }
        }
    }

    /// Completes a request to the other nodes: records it at the hub, and counts the line's moves.
    #[inline(always)]
    fn complete(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        snoop: &Snoop,
        request: NodeRequest,
    ) {
        if self.plan.machine.nodes() > 1 {
            let (ends, issued) = (self.now, self.issued);
            let plane = self.plane(line);
            plane.complete(line, snoop.begins, ends, issued);
            let is_first = self.moves.as_mut().is_some_and(|moves| moves.record(line, &request));
            if is_first {
                self.watch_line(line);
            }
            self.record_at_hub(line, line_units, request, snoop.met, snoop.waited);
        }
    }

    /// Answers another node's request for a line that `node` has. If `to_own` is set, `node` loses the line.
    #[inline(always)]
    fn answer_snoop(
        &mut self,
        node: Node,
        line: L2Line,
        slot: L2Slot,
        to_own: bool,
    ) -> SnoopAnswer {
        let (answer, shared) = match self.l2.state(slot) {
            LineState::Modified => (SnoopAnswer::Modified, LineState::Owned),
            LineState::Owned => (SnoopAnswer::Owned, LineState::Owned),
            LineState::Exclusive | LineState::Shared => (SnoopAnswer::Shared, LineState::Shared),
        };
        if to_own {
            let copies = self.l2.remove(node, slot);
            self.drop_copies(node, line, copies);
        } else {
            self.l2.set_state(slot, shared);
        }
        answer
    }

    #[inline(always)]
    fn read_memory(&mut self, line: L2Line, line_units: LineUnits) -> (Supplier, ServedBy) {
        // The first reference to a page misses all caches, so this call sees the first touch of each page.
        self.dram.interleave.touch(line, self.node);
        let (home, mcu) = self.dram.interleave.home(line);
        let channel = &mut self.dram.channels[home.index()][mcu.index()];
        let (done, held) = channel.read(line, self.now, &self.plan.variant.figures().timing);
        let queued = done - self.now;
        self.now = done + self.timing().memory;
        self.unit_records.read(line, line_units, (home, mcu), queued, held);
        let service = if home == self.node {
            ServedBy::Local
        } else {
            self.now += self.timing().remote;
            self.now = self.send(line, home, self.node, self.now);
            ServedBy::Remote
        };
        (Supplier::Memory(home), service)
    }

    /// Removes a line from the node's L2 cache. Writes it back if memory is stale.
    #[inline(always)]
    fn evict(&mut self, victim: Victim) {
        let Victim { line, state, copies } = victim;
        if copies != 0 {
            self.drop_copies(self.node, line, copies);
        }
        if state.is_dirty() {
            self.write_back(line);
        }
    }

    #[inline(never)]
    fn write_back(&mut self, line: L2Line) {
        let line_units = self.unit_records.line_units(line);
        let (home, mcu) = self.dram.interleave.home(line);
        let mut arrives = self.now;
        if home != self.node {
            let (_, asked) = self.serialize(line, arrives);
            let waited = asked - self.timing().serialize - arrives;
            arrives = self.send(line, self.node, home, asked);
            self.record_at_hub(line, line_units, NodeRequest::WriteBack { home }, false, waited);
        }
        let channel = &mut self.dram.channels[home.index()][mcu.index()];
        let queued = channel.write(line, arrives, &self.plan.variant.figures().timing) - arrives;
        self.unit_records.written(line, line_units, (home, mcu), queued);
    }

    /// Records a request at its line's hub. A machine without hubs counts no events. `met` is `true` if the request waited for
    /// another request for the same line. `waited` is the total number of cycles that the request waited for other requests and for
    /// the hub.
    #[inline(always)]
    fn record_at_hub(
        &mut self,
        line: L2Line,
        line_units: LineUnits,
        request: NodeRequest,
        met: bool,
        waited: u64,
    ) {
        let transaction = Transaction { requester: self.node, request, met, waited };
        let hub = self.dram.interleave.hub(line);
        let counts = self.plan.counting_hubs[hub.index()];
        if counts {
            self.hub_events[hub.index()].passed(&transaction);
        }
        self.unit_records.passed(line, line_units, hub, &transaction, counts);
    }

    /// Returns the time at which a line arrives at the node `to`, if it leaves the node `from` at the time `now`.
    #[inline(never)]
    fn send(&mut self, line: L2Line, from: Node, to: Node, now: u64) -> u64 {
        let timing = &self.plan.variant.figures().timing;
        self.plane(line).send(from, to, now, timing)
    }

    #[inline(always)]
    fn serialize(&mut self, line: L2Line, arrives: u64) -> (u64, u64) {
        let timing = &self.plan.variant.figures().timing;
        self.plane(line).serialize(line, arrives, timing)
    }

    #[inline(always)]
    fn plane(&mut self, line: L2Line) -> &mut Plane {
        &mut self.planes[self.dram.interleave.hub(line).index()]
    }
}

/// A request to the other nodes, and their answers.
struct Snoop {
    /// The time at which the hub began to serve the request.
    begins: u64,
    /// Whether the request waited for another request for the same line.
    met: bool,
    /// The number of cycles for which the request waited for another request and for the hub.
    waited: u64,
    answers: Answers,
    /// Whether another node had the line.
    found: bool,
    /// The node in which the line was modified or owned.
    owner: Option<Node>,
}
