//! Executes whole shapes. A *shape* is one of the ways in which a block of the program's code can execute.

use guest_abi::Node;
use platform::address::L2_BANKS;

use super::{Access, CoreRequest, NO_LINE, ServedBy, StrandEvent};
use crate::memory::figures::{Figures, Variant};
use crate::memory::l2::L2Caches;
use crate::memory::queue::Queue;
use crate::memory::system::StrandState;
use crate::memory::timing::Timing;
use crate::memory::truth::StrandRecord;
use crate::memory::watch::Watch;
use crate::recording::{ByKind, Done, Kind, References, ShapeStep, StepAction, Whole};

impl<V: Variant> Access<'_, V> {
    /// Executes shapes step by step, removes the executed references from `rest`, and reports to `watch` what they do. Begins a
    /// shape only if, without misses, it would end before the time `until`. If misses delay a shape beyond this time, stops in the
    /// middle of it.
    ///
    /// Every instruction whose line has moved between nodes must be reported to a watch. So if there is a watch, execution stops
    /// before a shape that contains such an instruction.
    pub(in crate::memory) fn shapes<W: Watch>(
        &mut self,
        rest: &mut References<'_>,
        until: u64,
        watch: &mut W,
    ) {
        let began = self.now;
        (self.until, self.fetched) = (until, NO_LINE);
        self.by_kind = ByKind::default();
        // The time at which the current shape began, plus the shape's stalls so far.
        let mut begins = self.now;
        // The number of the shape's instructions that had begun when `self.issued` was last written.
        let mut begun = 0;
        // The value of `divided` in the step at which `self.turn` was last written.
        let mut divided = ShapeStep::UNDIVIDED;
        let mut latest = None;
        let mut left = None;
        let mut whole = rest.whole();
        let mut moved = self.moved();
        let timing = self.timing();
        let (data_shift, instruction_shift) = self.line_shifts();
        let data_line = 1 << data_shift;
        let is_in_line = |address: u64, step: &ShapeStep| {
            address % data_line + u64::from(step.further) < data_line
        };
        'shapes: while let Some((shape, steps)) = whole.peek() {
            // The longest time that the shape can take without a miss.
            let longest = u64::from(shape.count) * timing.longest();
            if steps.is_empty() || begins + longest >= until {
                break;
            }
            if W::WATCHES && self.has_moved_code(shape, steps) {
                break;
            }
            whole.take(shape);
            begun = 0;
            let all_steps = steps;
            let mut steps = steps.iter();
            'steps: while let Some(mut step) = steps.next() {
                let mut address = match step.action {
                    StepAction::Fetch => {
                        let address = shape.address.wrapping_add_signed(step.offset.into());
                        let line = self.line(instruction_shift, address);
                        if self.cores.own.instructions.touch(line) {
                            continue;
                        }
                        line
                    }
                    access => {
                        let Some(&address) = whole.data.next() else {
                            break;
                        };
                        let is_in_line = is_in_line(address, step);
                        let line = self.line(data_shift, address);
                        let is_done = match access {
                            StepAction::Load => is_in_line && self.cores.own.data.touch(line),
                            StepAction::Store => {
                                let now = begins + timing.elapsed(&step.done);
                                is_in_line && self.try_quick_store(line, now)
                            }
                            _ => false,
                        };
                        if is_done {
                            if W::WATCHES {
                                self.report_quick_step(
                                    (&whole, shape, step),
                                    address,
                                    moved,
                                    watch,
                                );
                            }
                            continue;
                        }
                        address
                    }
                };
                loop {
                    self.now = begins + timing.elapsed(&step.done);
                    if step.done.begun != begun {
                        self.issued = begins + timing.issued(&step.done);
                        self.turn = self.issued;
                        (begun, divided) = (step.done.begun, ShapeStep::UNDIVIDED);
                    }
                    if step.divided != divided {
                        divided = step.divided;
                        self.turn = begins + timing.elapsed(&Done { loads: divided, ..step.done });
                    }
                    let size = step.further + 1;
                    let loaded = match step.action {
                        StepAction::Fetch => {
                            self.fetch_line(address);
                            0
                        }
                        StepAction::Load if is_in_line(address, step) => {
                            // The line is not in the cache.
                            self.now += timing.load;
                            self.load_line(CoreRequest::Load, self.line(data_shift, address));
                            timing.load
                        }
                        StepAction::Load => {
                            self.data(Kind::Load, address, size);
                            timing.load
                        }
                        StepAction::Store => {
                            self.data(Kind::Store, address, size);
                            0
                        }
                        StepAction::Modify => {
                            self.data(Kind::Modify, address, size);
                            timing.load
                        }
                    };
                    begins = self.now - timing.elapsed(&step.done) - loaded;
                    let is_in_time = begins + longest < self.until;
                    if W::WATCHES {
                        // A fetch can take several steps. It is reported to the watch once, after the last step.
                        if !step.is_within {
                            self.report_step((&whole, shape, step), address, watch);
                            let before = std::mem::replace(&mut moved, self.moved());
                            let unmoved = before == moved || !self.has_moved_code(shape, all_steps);
                            if is_in_time && unmoved {
                                continue 'steps;
                            }
                        }
                    } else if is_in_time {
                        continue 'steps;
                    }
                    // The rest of the shape may now end too late, or may have to fetch a line again. So finish the current fetch
                    // and stop.
                    if !step.is_within {
                        if W::WATCHES {
                            watch.begins(whole.instruction(shape, step.next.into()));
                        }
                        left = Some(usize::from(step.next));
                        break 'shapes;
                    }
                    step = steps.next().expect("the instruction goes on");
                    let further = shape.address.wrapping_add_signed(step.offset.into());
                    address = self.line(instruction_shift, further);
                }
            }
            begins += timing.elapsed(&shape.done);
            self.by_kind.add(&shape.by_kind);
            latest = Some(shape);
        }
        if left.is_none()
            && let Some(shape) = latest
        {
            if W::WATCHES {
                watch.begins(whole.instruction(shape, shape.count as usize));
            }
            self.now = begins;
            if shape.done.begun != begun {
                self.issued = begins - timing.elapsed(&shape.done) + timing.issued(&shape.done);
            }
        }
        let by_kind = self.by_kind;
        let instructions = by_kind.total();
        if instructions > 0 || left.is_some() {
            if self.issues == 0 {
                self.first_issued = began;
            }
            self.issues += instructions;
            self.instructions += instructions;
            self.strand.events.instructions(&by_kind);
            self.strand_record.instructions(&by_kind);
            match left {
                None => rest.pass(whole),
                Some(references) => self.leave(rest, whole, references),
            }
        }
    }

    /// Removes the executed references from `rest`. These belong to the shape executions that the caller has taken from `taken`.
    /// The last of these executions was left after its first `references` references; the others are complete. Counts the
    /// instructions that the last execution did complete.
    #[cold]
    #[inline(never)]
    fn leave<'a>(&mut self, rest: &mut References<'a>, taken: Whole<'a>, references: usize) {
        rest.pass_but_last(taken, references);
        let executed = rest.up_to(references);
        for fetch in executed.iter().filter(|one| one.kind.is_fetch()) {
            self.issues += 1;
            self.count(&fetch);
        }
        rest.skip(references);
    }

    /// Executes a store to a data cache line at the time `now`, but only if the store changes no cache and causes no wait. Returns
    /// `true` if the store was executed; otherwise nothing has changed.
    #[inline(always)]
    fn try_quick_store(&mut self, part: u64, now: u64) -> bool {
        let figures = self.figures();
        let (strand, caches) =
            ((&mut *self.strand, &mut *self.strand_record), (&*self.l2, &mut *self.banks));
        try_quick_store(figures, strand, caches, (self.node, self.core_in_node), part, now)
    }
}

/// Executes a strand's store to a data cache line at the time `now`, but only if the store changes no cache and causes no wait.
/// `place` is the strand's node and the core's number in that node. Returns `true` if the store was executed; otherwise nothing has
/// changed. The caller reports the request to the watch.
#[inline(always)]
pub(in crate::memory) fn try_quick_store<V: Variant>(
    figures: &Figures,
    (strand, record): (&mut StrandState, &mut StrandRecord),
    (caches, banks): (&L2Caches<V>, &mut [Queue; L2_BANKS]),
    (node, core): (Node, usize),
    part: u64,
    now: u64,
) -> bool {
    let line = figures.line_of_data(part);
    let stale = figures.stale_after_store(core, part);
    let Some(arrives) = caches.modified_arrival(node, line, stale) else {
        return false;
    };
    if strand.stores.room() > now {
        return false;
    }
    let Timing { bank, l2, stores: most, .. } = figures.timing;
    let done = banks[line.bank()].enter(now, bank) - bank + l2;
    strand.stores.enter(done.max(arrives), most);
    strand.events.count(StrandEvent::CrossbarStore);
    record.served(CoreRequest::Store, ServedBy::Hit);
    true
}
