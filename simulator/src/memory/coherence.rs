//! What nodes do for each other: MOESI between their L2 caches, and home memories.

use guest_abi::Node;

use super::access::Access;
use super::geometry::Line;
use super::l2::{Slot, State, Victim};
use super::timing;
use super::traffic::{Answer, Answers, Request, Source, Transaction};
use super::truth::Service;

impl Access<'_> {
    /// Gets a line that the node's L2 cache does not have, to write it if `state` is modified. Says where it is
    /// and what served it.
    #[cold]
    #[inline(never)]
    pub(super) fn miss(&mut self, line: Line, state: State) -> (Slot, Service) {
        let to_own = state == State::Modified;
        let answers = self.snoop(line, to_own);
        let dirty =
            |answer: &Option<Answer>| matches!(answer, Some(Answer::Modified | Answer::Owned));
        let found = |answer: &Option<Answer>| !matches!(answer, None | Some(Answer::Miss));
        let alone = !answers.iter().any(found);
        let (source, service) = match answers.iter().position(dirty) {
            Some(owner) => {
                self.now += timing::CACHE_TO_CACHE;
                (Source::Cache(Node::ALL[owner]), Service::CacheToCache)
            }
            None => self.read_memory(line),
        };
        let request = Request::Read {
            to_own,
            source,
            answers,
        };
        self.tell_hub(line, request);
        let state = if !to_own && alone {
            State::Exclusive
        } else {
            state
        };
        let (slot, victim) = self.l2().fill(line, state);
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
                let answers = self.snoop(line, true);
                self.tell_hub(line, Request::Invalidate { answers });
            }
        }
    }

    /// Asks the other nodes of the machine for a line, and takes it from them if it is to be owned.
    fn snoop(&mut self, line: Line, to_own: bool) -> Answers {
        let nodes = self.system.machine.nodes();
        if nodes > 1 {
            self.now += timing::SNOOP;
        }
        let mut answers = [None; Node::ALL.len()];
        for (node, answer) in Node::ALL.iter().zip(&mut answers).take(nodes) {
            if *node != self.node {
                *answer = Some(self.ask(*node, line, to_own));
            }
        }
        answers
    }

    fn ask(&mut self, node: Node, line: Line, to_own: bool) -> Answer {
        let l2 = &mut self.system.l2[node.index()];
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
        let (home, mcu) = self.system.interleave.home(line);
        let now = self.now;
        self.now += timing::MEMORY;
        let truth = &mut self.system.truth.channels[home.index()][mcu.index()];
        let (queued, held) = self.system.channels[home.index()][mcu.index()].read(line, now);
        self.now += queued;
        truth.lines_read += 1;
        truth.cycles_to_read += queued;
        truth.held_back += u64::from(held);
        let mut channel = self.wires.channel(home, mcu);
        channel.line_read(queued as u32);
        if held {
            channel.read_held_back();
        }
        drop(channel);
        let service = if home == self.node {
            Service::Local
        } else {
            self.now += timing::REMOTE;
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
        let (home, mcu) = self.system.interleave.home(line);
        let queued = self.system.channels[home.index()][mcu.index()].write(line, self.now);
        let truth = &mut self.system.truth.channels[home.index()][mcu.index()];
        truth.lines_written += 1;
        truth.cycles_to_write += queued;
        self.wires.channel(home, mcu).line_written(queued as u32);
        if home != self.node {
            self.tell_hub(line, Request::WriteBack { home });
        }
    }

    /// A request passes the hub of its line, where nodes are linked by hubs and there is another node.
    fn tell_hub(&mut self, line: Line, request: Request) {
        let machine = self.system.machine;
        if machine.model().has_hubs() && machine.nodes() > 1 {
            let transaction = Transaction {
                hub: line.hub(),
                requester: self.node,
                request,
            };
            self.system.truth.record(&transaction);
            self.wires.hub(&transaction);
        }
    }
}
