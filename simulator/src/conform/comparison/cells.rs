//! Compares the machine's registers with the model's registers.

use conform::Cell;
use conform::oracle;
use conform::translated::cell_of;
use guest_abi::{PerfReg, StrandId};

use super::super::caller::Request;
use super::super::differences::Subject;
use super::compare::{CallDescription, describe_call};
use super::{Comparison, SET};

impl Comparison {
    /// Compares the registers that a call may have changed, and copies their contents from the machine to the model.
    pub(super) fn compare_cells(
        &mut self,
        about: &CallDescription,
        request: Request,
        strand: StrandId,
        id: u64,
        is_known: bool,
    ) {
        let mut wrong = Vec::new();
        if id == 0 {
            let (number, found) = (u16::from(strand.number()), self.machine.pcr(strand));
            let expected = self.world.pcr_of(number);
            if found != expected {
                wrong.push((expected, found));
                self.world.pcr.insert(number, found);
            }
        }
        let banks = (0..8).map(|bank| Cell::L2(strand.node(), bank));
        let register = PerfReg::new(id);
        let cells: Vec<Cell> = match id {
            0 => Vec::new(),
            1 => banks.collect(),
            _ => register.map(Cell::Register).into_iter().collect(),
        };
        for cell in cells {
            wrong.extend(self.adopt(cell));
        }
        if let Some((expected, found)) = wrong.first().copied().filter(|_| is_known) {
            let (right, wrong) = match (request.registers[5], id) {
                (SET, 1) if (expected ^ found) & !oracle::call::PERF_CONFIG != 0 => {
                    ("L2 control's other bits kept", "changed")
                }
                (SET, _) => ("stores the value's bits", "stores others"),
                _ => ("stores nothing", "stores"),
            };
            self.note_difference(about, right, wrong, || {
                format!("{}: {found:#x} there, not {expected:#x}", describe_call(request, None))
            });
        }
    }

    /// Copies a register's content from the machine to the model. If the contents differed, returns the content in the model and
    /// the content in the machine. Returns `None` if the contents were equal, if the register faults, or if the register's unit
    /// must still be scrubbed.
    pub(super) fn adopt(&mut self, cell: Cell) -> Option<(u64, u64)> {
        let found = self.machine.held(cell)?;
        let cell = cell_of(cell);
        let expected = self.world.holds(cell);
        if found == expected || self.world.faults.contains_key(&cell) {
            return None;
        }
        self.world.devices.insert(cell, found);
        let is_clean = !self.world.transfer.unclean.contains(&cell.unit());
        is_clean.then_some((expected, found))
    }

    /// Returns the counters that count cycles in register `id`'s part of a hub. These counters change even without traffic.
    pub(super) fn counting(&self, id: u64) -> Vec<PerfReg> {
        let Some(first) = id.checked_sub(18).filter(|_| id < 90).map(|above| id - above % 3) else {
            return Vec::new();
        };
        let selects = self.world.holds(oracle::Cell::Register(first));
        let pics = [(first + 1, selects & 0xff), (first + 2, selects >> 8 & 0xff)];
        let counting = pics.into_iter().filter(|(_, select)| *select == 1);
        counting.filter_map(|(id, _)| PerfReg::new(id)).collect()
    }

    /// Copies the current values of these counters to the model.
    pub(super) fn adopt_counts(&mut self, counting: &[PerfReg]) {
        for register in counting {
            self.adopt(Cell::Register(*register));
        }
    }

    /// Returns two texts for reports about registers that no call has just set: what the contract requires of the registers, and
    /// what is wrong if a register's content differs.
    fn demands_of_state(&self) -> (&'static str, &'static str) {
        match self.check {
            "rights" => ("scrubbed when rights move", "keeps a value"),
            _ => ("unchanged", "changed"),
        }
    }

    /// Compares all registers of the machine with those of the model.
    pub(super) fn compare_all(&mut self) {
        for cell in Cell::all() {
            let id = match cell {
                Cell::L2(..) => 1,
                Cell::Register(register) => register.id(),
            };
            if let Some((expected, found)) = self.adopt(cell)
                && self.counting(id).iter().all(|register| register.id() != id)
            {
                let (right, wrong) = self.demands_of_state();
                self.note_difference_at("the machine", Subject::Register(id), right, wrong, || {
                    format!("{cell:?} is {found:#x}, not {expected:#x}")
                });
            }
        }
        for strand in self.machine.begun.iter() {
            let number = u16::from(strand.number());
            let (expected, found) = (self.world.pcr_of(number), self.machine.pcr(strand));
            if expected != found {
                self.world.pcr.insert(number, found);
                let (right, wrong) = self.demands_of_state();
                self.note_difference_at("the machine", Subject::Register(0), right, wrong, || {
                    format!("%pcr of strand {strand} is {found:#x}, not {expected:#x}")
                });
            }
        }
    }
}
