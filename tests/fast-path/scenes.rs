//! Lists executions of handlers. The tests prove that each execution does what the handler's documentation says. The executions cover all
//! situations in which a handler begins.

use std::collections::BTreeMap;

use super::call::Guest;
use super::functions::{AccessOutcome, Function};
use super::image::{Handlers, Image};
use super::late::{self, Interrupted, Late};
use super::scene::Machine;
use super::slow_path::{Entry, SlowPath, windows};
use super::state::Symbolic;
use super::strands::WordPairs;
use super::trapped::{Decision, Trapped};

/// An execution of one or more handlers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scene {
    SlowPath(SlowPath),
    Late(Late),
    Trapped(Trapped),
    Function(Function),
}

impl Scene {
    pub(crate) fn play<W: Symbolic>(&self, machine: &mut Machine<'_, W>) -> WordPairs<W> {
        match self {
            Self::SlowPath(scene) => scene.play(machine),
            Self::Late(scene) => scene.play(machine),
            Self::Trapped(scene) => scene.play(machine),
            Self::Function(scene) => scene.play(machine),
        }
    }

    /// Returns `true` if the execution has several paths, depending on conditions.
    pub(crate) fn has_paths(&self, image: &Image) -> bool {
        match self {
            Self::SlowPath(scene) => scene.entry == Entry::Core,
            Self::Late(scene) => {
                let Handlers { store_wait, .. } = image.handlers;
                matches!(scene.interrupted, Interrupted::Hypervisor(at, _) if at == store_wait)
            }
            Self::Trapped(_) => false,
            Self::Function(scene) => matches!(scene, Function::Miss(..)),
        }
    }
}

/// Returns traps in guests and in the hypervisor. The traps cover each [`Decision`] of the Rust handler.
fn trapped(image: &Image) -> Vec<Scene> {
    let mut all = Vec::new();
    let mut add = |guest, windows, at, number, decision| {
        all.push(Scene::Trapped(Trapped { guest, windows, at, number, decision }));
    };
    let decisions = [Decision::GoesOn, Decision::GoesOnWithOthers, Decision::Reflected];
    // Traps and interrupts of a guest at trap levels 0 to 2.
    for (guest, windows) in Guest::all().zip(windows().step_by(7)) {
        for number in [0x10, 0x34, 0x60] {
            for decision in decisions {
                add(guest, windows, None, number, decision);
            }
        }
        let guest = Guest { level: 2, ..guest };
        add(guest, windows, None, 0x5e, Decision::GoesOn);
        add(guest, windows, None, 0x60, Decision::GoesOn);
        add(guest, windows, None, 0x32, Decision::Ends);
    }
    for windows in windows() {
        add(Guest::KERNEL, windows, None, 0x5e, Decision::GoesOn);
    }
    // Traps of the hypervisor: at each instruction in the table of instructions that can fault, and at two instructions outside this table.
    let handlers = &image.handlers;
    let faults = handlers.faults.iter().map(|[at, _]| *at);
    for (at, windows) in faults.chain([handlers.late, image.rust.trap]).zip(windows().step_by(5)) {
        for level in 0..2 {
            let guest = Guest { level, ..Guest::KERNEL };
            for decision in [Decision::GoesOn, Decision::GoesOnWithOthers, Decision::Ends] {
                add(guest, windows, Some(at), 0x32, decision);
            }
        }
    }
    all
}

/// Returns the handler to which a trap's table entry branches.
fn handler(handlers: &Handlers, number: u16) -> Option<u64> {
    match number {
        0x07 => Some(handlers.late),
        // These traps have code of their own. Other scenes test them.
        0x3e | 0x3f | 0x60 | 0x80..=0xdf => None,
        0x180.. => None,
        _ => Some(handlers.trapped),
    }
}

pub(crate) fn functions(image: &Image) -> Vec<Scene> {
    use Function::{
        Abandon, Access, AllWindows, Enter, Fill, Goes, Miss, NoSpill, Software, Spill,
    };
    let handlers = &image.handlers;
    let mut all = Vec::new();
    let guests = [0, 1].map(|level| Guest { level, ..Guest::KERNEL });
    for guest in guests {
        for number in 0..handlers.accesses.len() {
            all.push(Access(number, AccessOutcome::Succeeds, guest));
        }
        let [load, store, load_word, store_word, halt] = handlers.accesses;
        let wait = handlers.store_wait;
        // The four-byte store is in the delay slot of its function's only branch.
        let traps = [
            (0, load),
            (1, store),
            (1, wait),
            (2, load_word),
            (3, store_word + 4),
            (3, wait),
            (4, halt),
        ];
        all.extend(traps.map(|(number, at)| Access(number, AccessOutcome::Traps(at), guest)));
        all.extend([1, 3].map(|number| Access(number, AccessOutcome::Reported, guest)));
        all.extend([Abandon(guest), Spill(guest), Fill(guest)]);
    }
    for window in 0..8 {
        let guest = Guest { window, ..guests[window % 2] };
        all.extend([Spill(guest), Fill(guest)]);
        all.extend(windows().step_by(3).map(|windows| AllWindows(guest, windows)));
        all.extend(windows().step_by(30).map(|windows| Enter(guest, windows)));
    }
    for number in 0x80..0xe0 {
        // Every fourth trap number is a spill or a fill: spill_n_normal (0x80 to 0x9f), spill_n_other (0xa0 to 0xbf) or fill_n_normal (0xc0
        // to 0xdf). The hypervisor has no code for fill_n_other (0xe0 to 0xff).
        if number % 4 == 0 {
            all.extend([0, 1, 2].map(|global| NoSpill(number, global)));
        }
    }
    for guest in Guest::all() {
        all.extend([0, 1].map(|number| Miss(number, guest)));
    }
    for number in 0x81..0xff {
        all.extend(Guest::all().take(3).map(|guest| Software(number, guest)));
    }
    for number in 0..0x180 {
        if let Some(to) = handler(handlers, number) {
            all.extend(guests.map(|guest| Goes(number, to, guest)));
        }
    }
    all.into_iter().map(Scene::Function).collect()
}

/// Which states of a guest's windows are tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum States {
    All,
    /// All states if the Rust code needs two windows. Otherwise, all states with the guest in one particular window, and every twentieth of
    /// the other states.
    Many,
    /// Every fortieth state. If the Rust code needs two or five windows, also all states with the guest in one particular window.
    Few,
}

/// Returns all executions of handlers. `states` selects the states of a guest's windows that are tested with the slow path.
pub(crate) fn scenes(image: &Image, states: States) -> Vec<Scene> {
    let mut all = Vec::new();
    for needed in 0..=6 {
        let is_taken = |(number, scene): &(usize, SlowPath)| {
            let is_one = scene.guest.window == Guest::KERNEL.window;
            match states {
                States::All => true,
                States::Many => needed == 2 || is_one || number % 20 == 0,
                States::Few => is_one && matches!(needed, 2 | 5) || number % 40 == 0,
            }
        };
        let states = SlowPath::all(Entry::General, needed).enumerate().filter(is_taken);
        all.extend(states.map(|(_, scene)| Scene::SlowPath(scene)));
    }
    let core = SlowPath::all(Entry::Core, 2).step_by(17).map(Scene::SlowPath);
    all.extend(core);
    let Handlers { all: addresses, windows, restarts, store_wait, .. } = &image.handlers;
    let around = restarts.iter().flat_map(|[first, end, _]| [first - 4, *first, end - 4, *end]);
    let addresses = addresses.clone().step_by(4).chain(windows.clone().step_by(4)).chain(around);
    all.extend(late::all(addresses, *store_wait).into_iter().map(Scene::Late));
    all.extend(trapped(image));
    all.extend(functions(image));
    all
}

/// Returns one execution of each kind, for tests that interrupt it with reports.
pub(crate) fn interrupted(image: &Image) -> Vec<Scene> {
    let mut kinds = BTreeMap::new();
    for scene in scenes(image, States::Many) {
        let kind = match &scene {
            // Among other things, the kind says whether the guest has at least two free windows, and which half of the windows contains the
            // guest's current window.
            Scene::SlowPath(scene) => {
                let SlowPath { entry, guest, windows, needed } = scene;
                let place = (guest.window / 4, guest.level);
                format!("{entry:?} {needed} {place:?} {}", windows.can_save >= 2)
            }
            Scene::Late(scene) => {
                let is_at_wait = matches!(scene.interrupted, Interrupted::Hypervisor(at, _) if at == image.handlers.store_wait);
                let is_guest = matches!(scene.interrupted, Interrupted::Guest(_));
                format!("{is_at_wait} {is_guest} {} {}", scene.kind, scene.noted.min(1))
            }
            Scene::Trapped(scene) => {
                let Trapped { guest, at, number, decision, .. } = scene;
                format!("{} {} {} {decision:?}", guest.level, at.is_some(), *number == 0x60)
            }
            Scene::Function(Function::Software(..) | Function::Goes(..)) => continue,
            // The function waits for its store before the strand sends another one, so no second store can fail.
            Scene::Function(Function::Access(_, AccessOutcome::Reported, _)) => continue,
            Scene::Function(Function::AllWindows(guest, _)) => format!("all {}", guest.level),
            Scene::Function(Function::Enter(guest, _)) => format!("enter {}", guest.level),
            Scene::Function(scene) => format!("{scene:?}"),
        };
        kinds.entry(kind).or_insert(scene);
    }
    kinds.into_values().collect()
}
