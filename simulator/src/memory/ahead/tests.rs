use platform::{Machine, Model};

use super::*;
use crate::memory::T2Plus;

#[test]
fn a_core_may_lose_an_avoided_line_if_it_has_not_changed_the_set() {
    let machine = Machine::new(Model::Maramba, 1).unwrap();
    let mut system: MemorySystem<T2Plus> = MemorySystem::new(&machine).unwrap();
    let core = &mut system.cores[0];
    // Line 128 of the data cache is in set 0, and in L2 line 32.
    let (line, copy) = (L2Line(32), Copy::Data { core: 0, line: 128 });
    assert!(core.is_copy_in_use(copy, line));
    core.ahead.avoided.add(line);
    assert!(!core.is_copy_in_use(copy, line));
    // Another set of the data cache, and set 0 of the instruction cache.
    for (line, is_data) in [(129, true), (256, false)] {
        core.ahead.renewed.push(Renewed { line, from: 1, is_data });
    }
    assert!(!core.is_copy_in_use(copy, line));
    core.ahead.renewed.push(Renewed { line: 256, from: 1, is_data: true });
    assert!(core.is_copy_in_use(copy, line));
    core.ahead.renewed.clear();
    assert!(core.is_copy_in_use(Copy::Instructions { core: 0, line: 64 }, line));
}
