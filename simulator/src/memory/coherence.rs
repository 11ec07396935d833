//! Coherence between nodes: MOESI between the L2 caches, with the memory of the home node.

use std::ops::DerefMut;

use guest_abi::{Mcu, Node};
use platform::models::MemoryController;

use super::access::Access;
use super::broken::{Map, mapped};
use super::figures::Variant;
use super::geometry::L2Line;
use super::l2::{L2Slot, LineState, Victim};
use super::plane::Plane;
use super::traffic::{Answers, NodeRequest, SnoopAnswer, Supplier, Transaction};
use super::truth::ServedBy;

impl<V: Variant> Access<'_, V> {
    /// Brings a missing line into the node's L2 cache. If `state` is modified, the node becomes the
    /// line's only holder. Returns the line's slot and what served the request.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&mut self, line: L2Line, state: LineState) -> (L2Slot, ServedBy) {
        let to_own = state == LineState::Modified;
        self.unit_records.missed(line, self.core, self.node, line.bank());
        let snoop = self.snoop(line, to_own);
        let answers = snoop.answers;
        let dirty = |answer: &Option<SnoopAnswer>| {
            matches!(answer, Some(SnoopAnswer::Modified | SnoopAnswer::Owned))
        };
        let alone = !answers.iter().flatten().any(|answer| answer.has());
        let (source, service) = match answers.iter().position(dirty) {
            Some(owner) => {
                let owner = Node::ALL[owner];
                self.now += self.timing().cache_to_cache;
                self.now = self.send(line, owner, self.node, self.now);
                (Supplier::Cache(owner), ServedBy::CacheToCache)
            }
            None => self.read_memory(line),
        };
        let request = NodeRequest::Read { to_own, source, answers };
        self.complete(line, &snoop, request);
        let state = if !to_own && alone { LineState::Exclusive } else { state };
        let arrives = self.now;
        let (slot, victim) = self.l2().fill(line, state, arrives);
        if let Some(victim) = victim {
            self.evict(victim);
        }
        (slot, service)
    }

    /// Makes the node the only holder of a line, so that the node can write to the line.
    #[inline(always)]
    pub(super) fn own(&mut self, line: L2Line, slot: L2Slot) {
        match self.l2().state(slot) {
            LineState::Modified => {}
            LineState::Exclusive => self.l2().set_state(slot, LineState::Modified),
            LineState::Shared | LineState::Owned => {
                self.l2().set_state(slot, LineState::Modified);
                let snoop = self.snoop(line, true);
                let answers = snoop.answers;
                self.complete(line, &snoop, NodeRequest::Invalidate { answers });
            }
        }
    }

    /// Asks the other nodes for a line. If `to_own` is set, these nodes lose the line.
    fn snoop(&mut self, line: L2Line, to_own: bool) -> Snoop {
        let nodes = self.plan.machine.nodes();
        let arrives = self.now;
        let (mut begins, mut waited) = (arrives, 0);
        if nodes > 1 {
            let asked;
            (begins, asked) = self.serialize(line, arrives);
            waited = asked - self.timing().serialize - arrives;
            self.now = asked + self.timing().snoop;
        }
        let mut answers = [None; Node::ALL.len()];
        for (node, answer) in Node::ALL.iter().zip(&mut answers).take(nodes) {
            if *node != self.node {
                *answer = Some(self.ask(*node, line, to_own));
            }
        }
        Snoop { begins, met: begins > arrives, waited, answers }
    }

    /// Completes a request to the other nodes: records it at the hub, and counts the moves of the
    /// line.
    fn complete(&mut self, line: L2Line, snoop: &Snoop, request: NodeRequest) {
        if self.plan.machine.nodes() > 1 {
            let (ends, issued) = (self.now, self.issued);
            let plane = self.plane(line);
            plane.complete(line, snoop.begins, ends, issued);
            if let Some(moves) = &mut self.moves {
                moves.note(line, &request);
            }
            self.tell_hub(line, request, snoop.met, snoop.waited);
        }
    }

    fn ask(&mut self, node: Node, line: L2Line, to_own: bool) -> SnoopAnswer {
        let l2 = &mut self.l2s[node.index()];
        let Some(slot) = l2.find(line) else {
            return SnoopAnswer::Miss;
        };
        let (answer, shared) = match l2.state(slot) {
            LineState::Modified => (SnoopAnswer::Modified, LineState::Owned),
            LineState::Owned => (SnoopAnswer::Owned, LineState::Owned),
            LineState::Exclusive | LineState::Shared => (SnoopAnswer::Shared, LineState::Shared),
        };
        if !to_own {
            l2.set_state(slot, shared);
        } else if let Some(lost) = l2.take(slot) {
            self.drop_copies(node, line, lost.copies);
        }
        answer
    }

    fn read_memory(&mut self, line: L2Line) -> (Supplier, ServedBy) {
        // The first reference to a page misses all caches, so this sees the first touch of each page.
        self.dram.interleave.touch(line, self.node);
        let (home, mcu) = self.dram.interleave.home(line);
        let channel = &mut self.dram.channels[home.index()][mcu.index()];
        let (done, held) = channel.read(line, self.now, &self.plan.variant.figures().timing);
        let queued = done - self.now;
        self.now = done + self.timing().memory;
        self.unit_records.read(line, (home, mcu), queued, held);
        let mut controller = self.controller(home, mcu);
        controller.line_read(queued as u32);
        if held {
            controller.read_held_back();
        }
        drop(controller);
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
    fn evict(&mut self, victim: Victim) {
        let Victim { line, state, copies } = victim;
        self.drop_copies(self.node, line, copies);
        if !state.is_dirty() {
            return;
        }
        let (home, mcu) = self.dram.interleave.home(line);
        let mut arrives = self.now;
        if home != self.node {
            let (_, asked) = self.serialize(line, arrives);
            let waited = asked - self.timing().serialize - arrives;
            arrives = self.send(line, self.node, home, asked);
            self.tell_hub(line, NodeRequest::WriteBack { home }, false, waited);
        }
        let channel = &mut self.dram.channels[home.index()][mcu.index()];
        let queued = channel.write(line, arrives, &self.plan.variant.figures().timing) - arrives;
        self.unit_records.written(line, (home, mcu), queued);
        let mut controller = self.controller(home, mcu);
        controller.line_written(queued as u32);
    }

    /// Records a request at the hub of its line. A machine without hubs counts no events. `met` is `true` if the request waited for
    /// another request for the same line. `waited` is the number of cycles that the request waited for the other request and the hub.
    fn tell_hub(&mut self, line: L2Line, request: NodeRequest, met: bool, waited: u64) {
        let transaction = Transaction { requester: self.node, request, met, waited };
        let hub = self.dram.interleave.hub(line);
        let counts = self.plan.machine.model().has_hub(hub);
        let counts = mapped(Map::CountingHubs, counts.into()) != 0;
        if counts {
            self.hub_events[hub.index()].passed(&transaction);
        }
        self.unit_records.passed(line, hub, &transaction, counts);
    }

    /// Returns the model of a channel's memory controller, which contains the channel's counters.
    fn controller(&self, node: Node, mcu: Mcu) -> impl DerefMut<Target = MemoryController> {
        let mcu = Mcu::ALL[mapped(Map::ChannelRegisters, mcu.index())];
        self.devices.memory_controller(node, mcu)
    }

    /// Returns the time at which a line arrives at the node `to`, if it leaves the node `from` at the time `now`.
    fn send(&mut self, line: L2Line, from: Node, to: Node, now: u64) -> u64 {
        let timing = &self.plan.variant.figures().timing;
        self.plane(line).send(from, to, now, timing)
    }

    fn serialize(&mut self, line: L2Line, arrives: u64) -> (u64, u64) {
        let timing = &self.plan.variant.figures().timing;
        self.plane(line).serialize(line, arrives, timing)
    }

    fn plane(&mut self, line: L2Line) -> &mut Plane {
        &mut self.planes[self.dram.interleave.hub(line).index()]
    }
}

/// A request to the other nodes, with their answers.
struct Snoop {
    /// The time at which the hub began to serve the request.
    begins: u64,
    /// Whether the request waited for another request for the same line.
    met: bool,
    /// How many cycles the request waited for another request and for the hub.
    waited: u64,
    answers: Answers,
}
