//! Executes a single instruction, which may need the whole machine.

use super::lane::Lane;
use crate::memory::figures::Variant;
use crate::memory::quantum::Executed;
use crate::memory::watch::{Unreported, Watch};
use crate::memory::work::Work;
use crate::recording::Kind;

impl<V: Variant> Work<'_, V> {
    /// Executes a strand's next instruction, or the rest of one, in a turn that begins at the time `begins`, and tells `watch` what it does.
    /// If the instruction loads and then stores in two steps, the turn can end before the store: other strands can use the line
    /// from the time `until` on.
    ///
    /// Turns must be passed in chronological order, together with [quanta](Self::replay).
    #[inline(never)]
    pub(crate) fn execute_single<W: Watch>(
        &mut self,
        lane: &mut Lane<'_>,
        begins: u64,
        until: u64,
        watch: &mut W,
    ) -> Executed {
        let mut unreported = Unreported::default();
        let mut access = self.access(lane.strand, lane.offset, begins);
        if W::WATCHES {
            access.unreported = Some(&mut unreported);
        }
        access.ends = until;
        let (mut executed, mut loaded) = (0, false);
        for reference in lane.part.iter() {
            if reference.kind.is_fetch() {
                if executed > 0 {
                    break;
                }
                access.issue();
            } else if loaded && reference.kind == Kind::Store && !access.begin_store() {
                break;
            }
            access.watched_reference(&reference, watch);
            executed += 1;
            loaded = reference.kind == Kind::Load;
        }
        let executed = access.finish(executed);
        lane.pass(executed.references);
        executed
    }
}
