//! Executes the instructions that the scheduler passes to a core.

use super::super::bus::Bus;
use super::super::instruction::{ActiveInstruction, Stage};
use super::super::true_counts::Happened;
use super::{ACTIVE, Core, WIDTH};
use crate::analysis::profile::error::ProfileError;
use crate::analysis::profile::processor::Truth;
use crate::analysis::profile::stacks::StackId;
use crate::memory::{Executed, Quantum};
use crate::recording::Reference;

impl Core {
    pub(in super::super) fn execute(
        &mut self,
        instruction: &Quantum<'_>,
        stack: StackId,
        bus: &mut Bus,
        truth: &mut Truth,
    ) -> Result<Executed, ProfileError> {
        let references = instruction.references;
        let moved = |reference: Reference| match reference.kind.is_fetch() {
            true => reference.in_image(instruction.image),
            // Each process has its own memory.
            false => Reference {
                address: reference.address.wrapping_add(instruction.offset),
                ..reference
            },
        };
        let fetch = moved(references.first().expect("an instruction has references"));
        // Even if two instructions issue in the same cycle, the scheduler lets the second begin one cycle after the first.
        if instruction.begins > self.now + 1 {
            // The thread has waited for a thread on another processor. Meanwhile, this processor has not executed any of the program's
            // instructions.
            self.drain(bus, truth)?;
            self.now = self.now.max(instruction.begins);
            self.decodes_at = self.decodes_at.map(|at| at.max(self.now));
        }
        if fetch.kind.is_fetch() {
            self.code.note(&fetch);
        }
        self.instructions.push_back(ActiveInstruction {
            fetch,
            stack,
            references: (self.passed + self.references.len() as u64, references.len()),
            stage: Stage::Fetched,
            fetched: None,
            accessed: None,
            linked: None,
            failed: false,
            mispredicted: false,
            untranslated: None,
            happened: Happened::default(),
            handled: Happened::default(),
        });
        self.references.extend(references.iter().map(moved));
        // One cycle needs at most as many instructions as the active list holds, plus `WIDTH` instructions to decode.
        while self.instructions.len() >= ACTIVE + WIDTH {
            self.cycle(bus, truth)?;
        }
        // Up to four instructions issue in one cycle, so the time need not advance between two of them. The scheduler is told that this
        // instruction was issued one cycle before `ends`, so that it lets the next instruction begin at `ends`.
        let ends = self.now.max(instruction.begins);
        Ok(Executed {
            references: references.len(),
            issued: ends.saturating_sub(1),
            ends,
            instructions: fetch.kind.is_fetch().into(),
        })
    }

    /// Executes all instructions that have not graduated.
    fn drain(&mut self, bus: &mut Bus, truth: &mut Truth) -> Result<(), ProfileError> {
        while !self.instructions.is_empty() {
            self.cycle(bus, truth)?;
        }
        Ok(())
    }

    /// Completes the program, and stops the counters. Returns the number of cycles.
    pub(in super::super) fn finish(
        &mut self,
        bus: &mut Bus,
        truth: &mut Truth,
    ) -> Result<u64, ProfileError> {
        self.drain(bus, truth)?;
        self.guest.stop(&mut self.unit, self.next, self.now);
        Ok(self.now)
    }
}
