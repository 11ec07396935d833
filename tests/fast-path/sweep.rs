//! Tries every change of one field in a handler's instruction, and decides whether the change is found or changes nothing.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use simulator::interpreter::Instruction;
use tests::random::Random;

use super::change::{self, Change, Changed};
use super::handlers::{Mismatch, prove};
use super::image::Image;
use super::paths;
use super::scene::{Machine, Numbers, Source as _, Terms};
use super::scenes::Scene;
use super::solver::Solver;
use super::state::{LAYOUT, State};
use super::term::{Model, Term, UNKNOWN};
use super::{Counts, solver};

/// A state made of numbers, and the numbers for all other words.
struct Numbered {
    state: Rc<State<u64>>,
    numbers: Numbers,
}

impl Numbered {
    /// Returns random numbers, except where a model gives them. If `small` is set, the registers hold small numbers.
    fn new(model: Option<&Model>, small: bool, random: &mut Random) -> Self {
        let mut names = HashMap::new();
        if small {
            names.extend([("o0", 1), ("o1", 2), ("o5", 1)]);
        }
        if let Some(model) = model {
            names.clone_from(&model.names);
            names.extend(LAYOUT);
        }
        loop {
            let seed = random.next_u64();
            let mut numbers = Numbers { seed, names: names.clone(), small: false };
            let mut state = State::new(|name, zeros| numbers.named(name, zeros));
            // Random structures rarely overlap. If they do, all words are drawn again.
            if state.assumptions.iter().all(|holds| *holds == 1) {
                state.others = model.map(|model| model.memory.clone()).unwrap_or_default();
                numbers.small = small;
                return Self { state: Rc::new(state), numbers };
            }
        }
    }
}

/// The maximum number of changes that the solver decides for one kind of field of one instruction. All further changes of these fields are
/// omitted; the random numbers choose which. Without a limit, a comparison with a number would take an hour, because most other numbers have
/// the same effect.
const MAX_DECIDED: usize = 64;

/// The maximum number of changes of one kind of field that are tried. Only the immediate of a SETHI, with 22 bits, has more. The random
/// numbers choose which are tried, and all others are omitted.
const MAX_TRIED: usize = 8192;

/// The maximum number of sets of random numbers that are drawn for a change whose difference no model shows.
const MAX_DRAWN: usize = 16;

/// The proved executions of the handlers with terms, and their executions with numbers.
pub(crate) struct Sweep {
    image: Image,
    state: Rc<State<Term>>,
    solver: Option<Solver>,
    scenes: Vec<Scene>,
    numbered: Vec<Numbered>,
    /// The executions with numbers: for each, the index of its scene and of its numbers.
    inputs: Vec<(usize, usize)>,
    /// For each instruction, the scenes with terms and the executions with numbers that execute it.
    reached: BTreeMap<u64, [Vec<usize>; 2]>,
}

impl Sweep {
    /// Executes all scenes with numbers. The scenes must be proved.
    pub(crate) fn new(image: Image, scenes: Vec<Scene>, random: &mut Random) -> Self {
        let state = Rc::new(State::any());
        let mut new = Self {
            solver: Some(solver(&state)),
            numbered: Vec::new(),
            inputs: Vec::new(),
            reached: BTreeMap::new(),
            image,
            state,
            scenes,
        };
        // An execution without conditions executes the same instructions with numbers as with terms.
        let with_paths: Vec<usize> = (0..new.scenes.len())
            .filter(|scene| new.scenes[*scene].has_paths(&new.image))
            .collect();
        for number in with_paths {
            let mut executed = Vec::new();
            let solver = new.solver.take().unwrap();
            let mut see = |machine: &Machine<'_, Term>| executed.extend(&machine.executed);
            let proved =
                prove(&new.image, &new.state, &new.scenes[number], solver, &|_| (), &mut see);
            new.solver = Some(proved.unwrap_or_else(|wrong| panic!("{:.1000}", wrong.differs)));
            new.reach(&executed, 0, number);
        }
        let models = new.solver.as_ref().unwrap().models.clone();
        let of_model = |model| Numbered::new(Some(model), false, random);
        new.numbered = models.iter().map(of_model).collect();
        new.numbered.extend([false, true].map(|small| Numbered::new(None, small, random)));
        let (models, all) = (models.len(), new.numbered.len());
        for scene in 0..new.scenes.len() {
            // The models' numbers are only for scenes with more than one path.
            let first = if new.scenes[scene].has_paths(&new.image) { 0 } else { models };
            for numbers in first..all {
                new.add(scene, numbers);
            }
        }
        new
    }

    fn reach(&mut self, executed: &[u64], kind: usize, number: usize) {
        for at in executed {
            let reached = &mut self.reached.entry(*at).or_default()[kind];
            if reached.last() != Some(&number) {
                reached.push(number);
            }
        }
    }

    /// Adds an execution with numbers. Asserts that it does what the contract says.
    fn add(&mut self, scene: usize, numbers: usize) {
        let Numbered { state, numbers: source } = &self.numbered[numbers];
        let mut machine = Machine::new(&self.image, state, source);
        let played = self.scenes[scene].play(&mut machine);
        let is_right = played.as_ref().is_ok_and(|pairs| pairs.iter().all(|(a, b)| a == b));
        assert!(is_right, "{:?}: {played:.1000?}", self.scenes[scene]);
        let executed = machine.executed;
        if !self.scenes[scene].has_paths(&self.image) {
            self.reach(&executed, 0, scene);
        }
        let number = self.inputs.len();
        self.inputs.push((scene, numbers));
        self.reach(&executed, 1, number);
    }

    /// Returns `true` if this change makes one of the executions with numbers violate the contract. Moves that execution to the front.
    fn is_found(&mut self, change: Change) -> bool {
        let Self { image, scenes, numbered, inputs, reached, .. } = self;
        let [_, with] = reached.get_mut(&change.at).unwrap();
        let found = with.iter().position(|input| {
            let (scene, numbers) = inputs[*input];
            let Numbered { state, numbers } = &numbered[numbers];
            let mut machine = Machine::new(image, state, numbers);
            machine.world.change = Some((change.at, change.word));
            let played = scenes[scene].play(&mut machine);
            !played.is_ok_and(|pairs| pairs.iter().all(|(a, b)| a == b))
        });
        if let Some(number) = found {
            with.swap(0, number);
        }
        found.is_some()
    }

    /// Returns `true` if this change makes a scene violate the contract with one of [`MAX_DRAWN`] sets of random numbers. A model need not
    /// show a difference: two effects differ as terms before anything is known of their values.
    fn is_found_by_chance(&mut self, change: Change, scene: usize, random: &mut Random) -> bool {
        (0..MAX_DRAWN).any(|_| {
            self.numbered.push(Numbered::new(None, false, random));
            self.add(scene, self.numbered.len() - 1);
            self.is_found(change)
        })
    }

    /// Returns those `words` that, in place of the instruction at an address, have the same effect in all scenes. Tests only `few` scenes,
    /// unless `few` is 0.
    fn same(&mut self, at: u64, words: Vec<u32>, few: usize) -> Vec<u32> {
        let Self { image, state, scenes, solver, reached, .. } = self;
        let mut words = Some(words);
        let [with, _] = &reached[&at];
        // The first and the last scene, and some between them.
        let step = if few == 0 { 1 } else { with.len().div_ceil(few) };
        for scene in with.iter().step_by(step) {
            let z3 = paths::for_each(solver.take().unwrap(), &[], || {
                let mut machine = Machine::new(image, state, &Terms);
                machine.probes = (at, words.take().unwrap());
                scenes[*scene].play(&mut machine).unwrap();
                words = Some(machine.probes.1);
                words.as_ref().is_some_and(|words| !words.is_empty())
            });
            *solver = Some(z3);
            if words.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        words.unwrap()
    }

    /// Proves that a change has no effect in any scene. If the change has an effect, returns a description of the difference, the index of
    /// the scene, and a model in which the difference occurs.
    fn changes_nothing(&mut self, change: Change) -> Result<(), Box<(String, usize, Model)>> {
        let prepare = |machine: &mut Machine<'_, Term>| {
            machine.world.change = Some((change.at, change.word));
        };
        let [with, _] = &self.reached[&change.at];
        for scene in with {
            let z3 = self.solver.take().unwrap();
            let proved =
                prove(&self.image, &self.state, &self.scenes[*scene], z3, &prepare, &mut |_| ());
            match proved {
                Ok(z3) => self.solver = Some(z3),
                Err(wrong) => {
                    let Mismatch { differs, conditions, solver: mut z3 } = *wrong;
                    let model = z3.model(&conditions);
                    self.solver = Some(z3);
                    return Err(Box::new((differs, *scene, model)));
                }
            }
        }
        Ok(())
    }

    /// Tries all changes of an instruction. Counts the changes by result, and returns descriptions of those that are neither found nor
    /// shown to change nothing.
    pub(crate) fn changes(
        &mut self,
        at: u64,
        counts: &mut BTreeMap<Changed, Counts>,
        random: &mut Random,
    ) -> Vec<String> {
        let original = self.image.instruction(at).unwrap();
        let is_near = |to| self.image.is_in_handler(to) || self.image.is_end(to);
        let all = change::changes(&self.image, at, is_near);
        let (same, mut others): (Vec<Change>, Vec<Change>) =
            all.into_iter().partition(|change| Instruction::decode(change.word) == original);
        for change in same {
            counts.entry(change.kind).or_default().same += change.number;
        }
        others.sort_by_cached_key(|_| random.next_u64());
        let mut tried = BTreeMap::<Changed, usize>::new();
        others.retain(|change| {
            let tried = tried.entry(change.kind).or_default();
            *tried += 1;
            if *tried > MAX_TRIED {
                counts.entry(change.kind).or_default().omitted += change.number;
            }
            *tried <= MAX_TRIED
        });
        let words = others.iter().map(|change| change.word).collect();
        let mut unchanged = self.same(at, words, 4);
        if !unchanged.is_empty() {
            unchanged = self.same(at, unchanged, 0);
        }
        let mut wrong = Vec::new();
        let mut decided = BTreeMap::<Changed, usize>::new();
        for change in others {
            let Change { kind, word, number, .. } = change;
            let counts = counts.entry(kind).or_default();
            if unchanged.contains(&word) {
                counts.unchanged += number;
                continue;
            }
            let decided = decided.entry(kind).or_default();
            if *decided == MAX_DECIDED {
                counts.omitted += number;
                continue;
            }
            if self.is_found(change) {
                counts.found += number;
                continue;
            }
            *decided += 1;
            if let Err(differs) = self.changes_nothing(change) {
                let (differs, scene, model) = *differs;
                counts.solved += number;
                self.numbered.push(Numbered::new(Some(&model), false, random));
                self.add(scene, self.numbered.len() - 1);
                let is_found =
                    self.is_found(change) || self.is_found_by_chance(change, scene, random);
                // z3 does not know what a division of terms is.
                let is_unknown = differs.starts_with(&format!("{UNKNOWN:?}")) || divides(word);
                if !is_found && is_unknown {
                    counts.solved -= number;
                    counts.undecided += number;
                } else if !is_found {
                    let changed = Instruction::decode(word);
                    wrong.push(format!("{at:#x}: {original:?} to {changed:?}: {differs:.300}"));
                }
            } else {
                counts.unchanged += number;
            }
        }
        wrong
    }
}

/// Returns `true` for UDIVX, UDIV, SDIV, UDIVcc, SDIVcc and SDIVX.
fn divides(word: u32) -> bool {
    word >> 30 == 2 && matches!(word >> 19 & 0x3f, 0x0d..=0x0f | 0x1e | 0x1f | 0x2d)
}
