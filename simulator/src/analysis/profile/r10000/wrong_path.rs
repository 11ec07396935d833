//! The instructions that are decoded after a mispredicted branch, until the branch has executed.

use std::collections::HashMap;

use crate::recording::{Flow, Reference};

/// The code that the processor has executed so far. A recording lacks the instructions of mispredicted paths, but the processor
/// has often executed them before.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownCode {
    instructions: HashMap<u64, Known>,
    /// The latest branch that went elsewhere, until its target is known: the branch's address, and the address immediately after the
    /// branch. `None` if no branch's target is awaited.
    branch: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) size: u16,
    pub(super) is_branch: bool,
    pub(super) is_conditional: bool,
    /// The address to which the branch went when it was last taken; `None` if it was never taken.
    pub(super) target: Option<u64>,
}

impl KnownCode {
    /// Notes an executed instruction. Must be called in program order.
    pub(super) fn note(&mut self, fetch: &Reference) {
        if let Some((branch, after)) = self.branch.take() {
            if fetch.address == after {
                // The fetched instruction is the branch's delay slot. The branch's target comes next.
                self.branch = Some((branch, u64::MAX));
            } else if let Some(known) = self.instructions.get_mut(&branch) {
                known.target = Some(fetch.address);
            }
        }
        let is_branch = !matches!(fetch.flow, Flow::Next | Flow::Trap);
        let known = self.instructions.entry(fetch.address).or_default();
        known.size = fetch.size;
        known.is_branch |= is_branch;
        known.is_conditional |= matches!(fetch.flow, Flow::Taken | Flow::NotTaken);
        if fetch.flow.is_elsewhere() && fetch.flow != Flow::Trap {
            let after = fetch.address.wrapping_add(fetch.size.into());
            self.branch = Some((fetch.address, after));
        }
    }

    pub(super) fn at(&self, address: u64) -> Option<Known> {
        self.instructions.get(&address).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Kind;

    fn executed(instructions: &[(u64, Flow)]) -> KnownCode {
        let mut code = KnownCode::default();
        for &(address, flow) in instructions {
            code.note(&Reference { flow, ..Reference::new(address, 4, Kind::FetchOther) });
        }
        code
    }

    #[test]
    fn a_branch_has_the_target_that_it_had_last() {
        let code = executed(&[
            (0x1000, Flow::NotTaken),
            (0x1004, Flow::Next),
            (0x1000, Flow::Taken),
            (0x2000, Flow::Next),
        ]);
        let branch = Known { size: 4, is_branch: true, is_conditional: true, target: Some(0x2000) };
        assert_eq!(code.at(0x1000), Some(branch));
        assert_eq!(code.at(0x1004), Some(Known { size: 4, ..Known::default() }));
        assert_eq!(code.at(0x1008), None);
    }

    #[test]
    fn the_target_follows_the_delay_slot() {
        let code = executed(&[(0x1000, Flow::Jump), (0x1004, Flow::Next), (0x2000, Flow::Next)]);
        assert_eq!(code.at(0x1000).unwrap().target, Some(0x2000));
        assert!(!code.at(0x1000).unwrap().is_conditional);
    }
}
