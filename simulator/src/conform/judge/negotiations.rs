//! Judges negotiations that several of a guest's strands make at the same time.

use conform::oracle::Trap;
use conform::oracle::negotiation::Versions;

use super::{Judge, VERSIONS, require};
use crate::conform::callers::CompletedCall;

impl Judge {
    /// Looks for an order of the guest's negotiations in which the model answers as the image did. Also checks the guest's other calls.
    /// The answer to a call that overlaps negotiations must be right for one of the versions that the guest had before, during or after
    /// them.
    pub(super) fn check_negotiations(
        &mut self,
        guest: usize,
        made: &[CompletedCall],
        possible: &[[bool; VERSIONS.len()]],
    ) -> Result<(), String> {
        let strands = self.world.guests[guest].strands.clone();
        let calls = (0..made.len())
            .filter(|call| strands.contains(&u16::from(made[*call].strand.number())));
        let (negotiations, others): (Vec<_>, Vec<_>) =
            calls.partition(|call| made[*call].request.is_negotiation());
        let mut events: Vec<(usize, bool, usize)> = Vec::new();
        for call in negotiations {
            events.push((made[call].turns.start, true, call));
            events.push((made[call].turns.end, false, call));
        }
        events.sort_unstable();
        // Each entry is a state that the model may be in: the versions, and the negotiations that it has answered already, although the
        // image has not returned from them yet.
        let mut states: Vec<(Versions, Vec<usize>)> =
            vec![(self.world.guests[guest].versions.clone(), Vec::new())];
        let mut pending = Vec::new();
        // For each negotiation, the turns from its start to its return, and the versions that are possible after it. The first entry has
        // the versions before all negotiations.
        let mut had = vec![(0..0, vec![states[0].0.perf_minor()])];
        let mut had_by = vec![None];
        for (_, begins, call) in events {
            if begins {
                pending.push(call);
                continue;
            }
            let mut next = Vec::new();
            while let Some((versions, mut done)) = states.pop() {
                if let Some(place) = done.iter().position(|one| *one == call) {
                    done.remove(place);
                    if !next.contains(&(versions.clone(), done.clone())) {
                        next.push((versions, done));
                    }
                    continue;
                }
                for one in pending.iter().filter(|one| !done.contains(one)) {
                    if let Some(after) = self.answers(guest, &made[*one], &versions) {
                        let mut done = done.clone();
                        done.push(*one);
                        states.push((after, done));
                    }
                }
            }
            require!(
                !next.is_empty(),
                "{:x?}: no order of the negotiations of guest {guest}",
                made[call]
            );
            states = next;
            pending.retain(|one| *one != call);
            let minors = states.iter().map(|(versions, _)| versions.perf_minor());
            had.push((made[call].turns.clone(), minors.collect()));
            had_by.push(Some(u16::from(made[call].strand.number())));
        }
        self.world.guests[guest].versions = states[0].0.clone();
        let by_strand = strands.iter().map(|strand| -> Vec<usize> {
            let own = |place: &usize| had_by[*place] == Some(*strand);
            (0..had.len()).filter(own).collect()
        });
        let by_strand: Vec<_> = by_strand.collect();
        for call in others {
            let turns = &made[call].turns;
            // Calls by the same strand do not overlap, so a strand's negotiations, which are sorted by their ends, are also sorted by
            // their starts.
            let meanwhile = by_strand.iter().flat_map(|own| {
                let after = own.partition_point(|place| had[*place].0.end <= turns.start);
                let meanwhile = own[after..].iter();
                meanwhile.take_while(|place| had[**place].0.start < turns.end)
            });
            let starts = meanwhile.clone().map(|place| had[*place].0.start);
            let first = starts.chain([turns.start]).min().unwrap_or_default();
            let ended_by = |turn| had.partition_point(|(during, _)| during.end <= turn);
            let earlier = &had[ended_by(first) - 1..ended_by(turns.start)];
            let mut versions = earlier.iter().chain(meanwhile.map(|place| &had[*place]));
            let is_right = |(_, minors): &(_, Vec<_>)| {
                let mut answered = VERSIONS.iter().zip(possible[call]);
                answered.any(|(version, right)| right && minors.contains(version))
            };
            require!(versions.any(is_right), "{:x?}: answered as with another version", made[call]);
        }
        Ok(())
    }

    /// Returns the versions after a call; `None` if the model's answer differs from the image's.
    fn answers(
        &mut self,
        guest: usize,
        call: &CompletedCall,
        versions: &Versions,
    ) -> Option<Versions> {
        self.world.guests[guest].versions = versions.clone();
        let number = call.strand.number().into();
        let outcome = self.world.call(number, Trap::Core, call.request.registers);
        (outcome.regs == call.after).then(|| self.world.guests[guest].versions.clone())
    }
}
