//! What nodes do for each other: MOESI between their L2 caches, and home memories.

use guest_abi::Node;

use super::access::Access;
use super::figures::Variant;
use super::geometry::Line;
use super::l2::{Slot, State, Victim};
use super::plane::Plane;
use super::traffic::{Answer, Answers, Request, Source, Transaction};
use super::truth::Service;

impl<V: Variant> Access<'_, V> {
    /// Gets a line that the node's L2 cache does not have, to write it if `state` is modified. Says where it is
    /// and what served it.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&mut self, line: Line, state: State) -> (Slot, Service) {
        let to_own = state == State::Modified;
        let snoop = self.snoop(line, to_own);
        let answers = snoop.answers;
        let dirty =
            |answer: &Option<Answer>| matches!(answer, Some(Answer::Modified | Answer::Owned));
        let alone = !answers.iter().flatten().any(|answer| answer.has());
        let (source, service) = match answers.iter().position(dirty) {
            Some(owner) => {
                let owner = Node::ALL[owner];
                self.now += self.timing().cache_to_cache;
                self.now = self.send(line, owner, self.node, self.now);
                (Source::Cache(owner), Service::CacheToCache)
            }
            None => self.read_memory(line),
        };
        let request = Request::Read {
            to_own,
            source,
            answers,
        };
        self.complete(line, &snoop, request);
        let state = if !to_own && alone {
            State::Exclusive
        } else {
            state
        };
        let arrives = self.now;
        let (slot, victim) = self.l2().fill(line, state, arrives);
        if let Some(victim) = victim {
            self.evict(victim);
        }
        (slot, service)
    }

    /// Makes the node the only one that has a line, to write it.
    #[inline(always)]
    pub(super) fn own(&mut self, line: Line, slot: Slot) {
        match self.l2().state(slot) {
            State::Modified => {}
            State::Exclusive => self.l2().set_state(slot, State::Modified),
            State::Shared | State::Owned => {
                self.l2().set_state(slot, State::Modified);
                let snoop = self.snoop(line, true);
                let answers = snoop.answers;
                self.complete(line, &snoop, Request::Invalidate { answers });
            }
        }
    }

    /// Asks the other nodes of the machine for a line, and takes it from them if it is to be owned.
    fn snoop(&mut self, line: Line, to_own: bool) -> Snoop {
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
        Snoop {
            begins,
            met: begins > arrives,
            waited,
            answers,
        }
    }

    /// A request to the other nodes is complete.
    fn complete(&mut self, line: Line, snoop: &Snoop, request: Request) {
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

    fn ask(&mut self, node: Node, line: Line, to_own: bool) -> Answer {
        let l2 = &mut self.l2s[node.index()];
        let Some(slot) = l2.find(line) else {
            return Answer::Miss;
        };
        let (answer, shared) = match l2.state(slot) {
            State::Modified => (Answer::Modified, State::Owned),
            State::Owned => (Answer::Owned, State::Owned),
            State::Exclusive | State::Shared => (Answer::Shared, State::Shared),
        };
        if !to_own {
            l2.set_state(slot, shared);
        } else if let Some(lost) = l2.take(slot) {
            self.drop_copies(node, line, lost.copies);
        }
        answer
    }

    fn read_memory(&mut self, line: Line) -> (Source, Service) {
        let (home, mcu) = self.plan.interleave.home(line);
        let channel = &mut self.channels[home.index()][mcu.index()];
        let (done, held) = channel.read(line, self.now, &self.plan.variant.figures().timing);
        let queued = done - self.now;
        self.now = done + self.timing().memory;
        let truth = &mut self.channel_records[home.index()][mcu.index()];
        truth.lines_read += 1;
        truth.cycles_to_read += queued;
        truth.held_back += u64::from(held);
        let mut controller = self.devices.memory_controller(home, mcu);
        controller.line_read(queued as u32);
        if held {
            controller.read_held_back();
        }
        drop(controller);
        let service = if home == self.node {
            Service::Local
        } else {
            self.now += self.timing().remote;
            self.now = self.send(line, home, self.node, self.now);
            Service::Remote
        };
        (Source::Memory(home), service)
    }

    /// A line leaves the L2 cache of the node for another.
    fn evict(&mut self, victim: Victim) {
        let Victim {
            line,
            state,
            copies,
        } = victim;
        self.drop_copies(self.node, line, copies);
        if !state.is_dirty() {
            return;
        }
        let (home, mcu) = self.plan.interleave.home(line);
        let mut arrives = self.now;
        if home != self.node {
            let (_, asked) = self.serialize(line, arrives);
            let waited = asked - self.timing().serialize - arrives;
            arrives = self.send(line, self.node, home, asked);
            self.tell_hub(line, Request::WriteBack { home }, false, waited);
        }
        let channel = &mut self.channels[home.index()][mcu.index()];
        let queued = channel.write(line, arrives, &self.plan.variant.figures().timing) - arrives;
        let truth = &mut self.channel_records[home.index()][mcu.index()];
        truth.lines_written += 1;
        truth.cycles_to_write += queued;
        let mut controller = self.devices.memory_controller(home, mcu);
        controller.line_written(queued as u32);
    }

    /// A request passes the hub of its line, or what takes its place where nodes are linked directly; there is another node.
    /// `waited` are the cycles that it waited there, and `met` says that it did so for another request for the same line.
    fn tell_hub(&mut self, line: Line, request: Request, met: bool, waited: u64) {
        let transaction = Transaction {
            hub: line.hub(),
            requester: self.node,
            request,
            met,
            waited,
        };
        self.hub_records[transaction.hub.index()].record(&transaction);
        if self.plan.machine.model().has_hubs() {
            self.hub_events[transaction.hub.index()].passed(&transaction);
        }
    }

    /// Returns when a line that leaves a node at the time `now` arrives at another.
    fn send(&mut self, line: Line, from: Node, to: Node, now: u64) -> u64 {
        let timing = &self.plan.variant.figures().timing;
        self.planes[line.hub().index()].send(from, to, now, timing)
    }

    /// A request for a line arrives at its hub; see [`Plane::serialize`].
    fn serialize(&mut self, line: Line, arrives: u64) -> (u64, u64) {
        let timing = &self.plan.variant.figures().timing;
        self.planes[line.hub().index()].serialize(line, arrives, timing)
    }

    fn plane(&mut self, line: Line) -> &mut Plane {
        &mut self.planes[line.hub().index()]
    }
}

/// What the other nodes answered.
struct Snoop {
    /// When it was the turn of the request.
    begins: u64,
    /// Whether the request had to wait for another.
    met: bool,
    /// The cycles that it waited for this and for the hub.
    waited: u64,
    answers: Answers,
}
