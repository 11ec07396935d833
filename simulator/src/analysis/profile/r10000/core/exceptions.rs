//! Simulates exceptions: the TLB miss handler, and interrupts.

use platform::models::r10000::{Cycle, Operation, R10000Mode};

use super::super::instruction::Stage;
use super::super::tlb::Tlb;
use super::super::true_counts::Happened;
use super::Core;
use crate::analysis::profile::error::ProfileError;
use crate::analysis::profile::guest::TICK;
use crate::recording::{Class, DataAccess};

/// The TLB miss handler, which loads both halves of a page table entry. Its instructions graduate one by one.
const REFILL_HANDLER: [Operation; 7] = {
    let mut handler = [Operation::Other; 7];
    handler[1] = Operation::Load;
    handler[2] = Operation::Load;
    handler
};

impl Core {
    /// Empties the active list. The instructions in it will be decoded again.
    pub(super) fn flush(&mut self) {
        for one in self.instructions.iter_mut().take(self.active + 1) {
            one.stage = Stage::Fetched;
            one.mispredicted = false;
            one.untranslated = None;
        }
        self.active = 0;
        self.decodes_at = Some(self.now);
        (self.wrong_path, self.nullified) = (None, 0);
    }

    /// Executes the TLB miss handler for an address. The page table's address is also translated, so if the TLB lacks its page,
    /// the handler itself causes a TLB miss.
    pub(super) fn refill(&mut self, address: u64) {
        let mut happened = Happened::default();
        let table = Tlb::table_entry(address);
        if self.tlb.missing(table, 1).is_some() {
            self.step(R10000Mode::Exception, &Cycle::new().refill_tlb());
            happened.cycles += 1;
            happened.tlb_refills += 1;
            self.handle_refill(table, &mut happened);
        }
        self.handle_refill(address, &mut happened);
        if let Some(oldest) = self.instructions.front_mut() {
            oldest.handled += happened;
        }
    }

    fn handle_refill(&mut self, address: u64, happened: &mut Happened) {
        for operation in REFILL_HANDLER {
            let cycle = Cycle::new().issue(operation).graduate(operation);
            self.step(R10000Mode::Exception, &cycle);
            self.tlb.graduate();
            let data = match operation {
                Operation::Load => DataAccess::Load,
                _ => DataAccess::None,
            };
            happened.cycles += 1;
            happened.issue(data, Class::Other);
            happened.graduate(data, Class::Other, true);
        }
        self.tlb.write_random(address);
    }

    /// Lets the guest handle pending interrupts before the oldest instruction. One handler serves the counters and the timer.
    pub(super) fn interrupt(&mut self) -> Result<(), ProfileError> {
        if self.now >= self.next_tick {
            self.next_tick = self.now + TICK;
            self.unit.match_compare();
        }
        if !self.unit.ip7() {
            return Ok(());
        }
        self.flush();
        let next = self.next();
        let cause = self.guest.interrupt(&mut self.unit, next, self.now)?;
        if cause.timer {
            self.unit.write_compare();
            self.guest.tick(&mut self.unit, next, self.now)?;
        }
        Ok(())
    }
}
