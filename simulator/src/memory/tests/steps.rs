//! Tests that executing shapes step by step gives the same results as executing one reference at a time.

use proptest::prelude::*;

use super::stream::{CLASSES, FLOWS};
use super::*;
use std::collections::BTreeMap;

use crate::counts::Counts;
use crate::memory::geometry::LINE_SHIFT;
use crate::memory::{MovedLines, Served, Watch, Work};
use crate::recording::{CodeImage, Position};

/// Returns the fetch of a 4-byte instruction.
fn fetch(address: u64, kind: Kind) -> Reference {
    Reference::new(address, 4, kind)
}

fn data(kind: Kind) -> Reference {
    Reference::new(0, 8, kind)
}

impl<V: Variant> Bench<V> {
    /// Executes references of a chunk from a position on, until the time `until`, but no more than `most` references.
    pub(super) fn part(
        &mut self,
        strand: usize,
        place: (&Chunk, &mut Position),
        begins: u64,
        until: u64,
        most: usize,
    ) -> Executed {
        self.part_by(strand, place, begins, until, most, |work, quantum| work.replay(quantum))
    }

    fn part_by(
        &mut self,
        strand: usize,
        (chunk, at): (&Chunk, &mut Position),
        begins: u64,
        until: u64,
        most: usize,
        by: impl FnOnce(&mut Work<'_, V>, &Quantum<'_>) -> Executed,
    ) -> Executed {
        let quantum = Quantum {
            strand: id(strand),
            offset: 0,
            image: CodeImage::default(),
            begins,
            until,
            data_alone: false,
            references: chunk.from(at, most),
        };
        let executed = by(&mut self.system.work(&self.devices), &quantum);
        at.advance(chunk, executed.references);
        executed
    }
}

/// The first instruction of a line stores into that line or into the next one. Only a store into its own line causes a second miss.
#[test]
fn a_line_that_the_strand_itself_writes_is_fetched_again() {
    let shape = vec![
        fetch(0x1000, Kind::FetchStore),
        data(Kind::Store),
        fetch(0x1004, Kind::FetchOther),
        fetch(0x1008, Kind::FetchOther),
    ];
    for (address, misses) in [(0x1010, 2), (0x1020, 1)] {
        let mut bench = Bench::new(Model::Maramba, 1);
        let chunk = Chunk::executing(std::slice::from_ref(&shape), &[(0, vec![address])]);
        let whole = (&chunk, &mut Position::default());
        let executed = bench.part(0, whole, 0, u64::MAX, usize::MAX);
        assert_eq!((executed.references, executed.instructions), (4, 3));
        let missed = bench.strand(0, SparcEvent::InstructionCacheMisses);
        assert_eq!(missed, misses, "{address:#x}");
    }
}

/// After a line's first instruction, another strand of the core fetches eight lines of the same set, so the second instruction
/// misses.
#[test]
fn a_line_that_another_strand_drives_out_is_fetched_again() {
    let shape = vec![
        fetch(0x1000, Kind::FetchOther),
        fetch(0x1004, Kind::FetchOther),
        fetch(0x1008, Kind::FetchOther),
    ];
    let mut bench = Bench::new(Model::Maramba, 1);
    let chunk = Chunk::executing(&[shape], &[(0, vec![])]);
    let mut at = Position::default();
    let executed = bench.part(0, (&chunk, &mut at), 0, 1, usize::MAX);
    assert_eq!(executed.references, 1);
    // The instruction cache has 64 sets of 32-byte lines, so addresses 2 KB apart share a set.
    let others: Vec<_> = (1..=8).map(|n| fetch(0x1000 + 0x800 * n, Kind::FetchOther)).collect();
    bench.replay(1, 0, &others);
    let begins = bench.truth().cycles();
    let executed = bench.part(0, (&chunk, &mut at), begins, u64::MAX, usize::MAX);
    assert_eq!(executed.references, 2);
    assert_eq!(bench.strand(0, SparcEvent::InstructionCacheMisses), 2);
}

/// The instructions of a shape. Each one has the gap in bytes before it, its size, a number that selects its flow, and its data
/// accesses, each with its kind and size.
type Instructions = Vec<(u64, u16, usize, Vec<(usize, u16)>)>;

/// Generates shapes in a small number of lines, which share cache sets.
fn shape() -> impl Strategy<Value = Vec<Reference>> {
    let data = prop::collection::vec((0..3_usize, 1..40_u16), 0..3);
    let instruction = (0..4_u64, 1..60_u16, 0..=FLOWS.len(), data);
    let instructions: BoxedStrategy<Instructions> =
        prop::collection::vec(instruction, 0..9).boxed();
    (0..4_u64, 0..80_u64, instructions).prop_map(|(place, offset, instructions)| {
        let mut address = 0x1000 + place * 0x40000 + offset;
        let mut references = Vec::new();
        for (gap, size, flow, accesses) in instructions {
            address += gap;
            let kinds = accesses.iter().fold(0, |kinds, (kind, _)| kinds | (kind + 1));
            let kind = Kind::FETCHES[kinds];
            references.push(Reference {
                flow: FLOWS[flow.saturating_sub(1)],
                class: CLASSES[usize::from(size) % CLASSES.len()],
                ..Reference::new(address, size, kind)
            });
            address += u64::from(size);
            references.extend(accesses.iter().map(|(kind, size)| {
                let kind = [Kind::Load, Kind::Store, Kind::Modify][*kind];
                Reference::new(0, *size, kind)
            }));
        }
        // A shape needs at least one reference.
        if references.is_empty() {
            references.push(Reference::new(0, 8, Kind::Load));
        }
        references
    })
}

/// Executions of shapes: the shape's number, and the addresses of its data.
type Executions = Vec<(u32, Vec<u64>)>;

/// Generates shapes and their executions.
pub(super) fn program() -> impl Strategy<Value = (Vec<Vec<Reference>>, Executions)> {
    let execution = (any::<prop::sample::Index>(), prop::collection::vec(address(), 30));
    let executed = prop::collection::vec(execution, 1..60);
    (prop::collection::vec(shape(), 1..5), executed).prop_map(|(shapes, executed)| {
        let execution = |(shape, mut addresses): (prop::sample::Index, Vec<u64>)| {
            let shape = shape.index(shapes.len());
            addresses.truncate(shapes[shape].iter().filter(|one| !one.kind.is_fetch()).count());
            (shape as u32, addresses)
        };
        let executions = executed.into_iter().map(execution).collect();
        (shapes, executions)
    })
}

/// Generates data addresses in the shapes' lines, and in other lines that replace the shapes' lines in the L2 cache.
fn address() -> impl Strategy<Value = u64> {
    (0..40_u64, 0..160_u64).prop_map(|(place, offset)| 0x1000 + place * 0x40000 + offset)
}

/// A watch that records everything that is reported to it about each strand and instruction.
#[derive(Debug, Default, PartialEq)]
struct Told {
    strand: usize,
    /// Each strand's latest instruction.
    instructions: BTreeMap<usize, u64>,
    /// Each instruction's requests, and the number of cycles for which it waited.
    waited: BTreeMap<(usize, Option<u64>), (Served, u64)>,
    /// For each reference that missed: its strand, its instruction, the reference itself, the time, and what it requested and
    /// waited for.
    missed: Vec<(usize, Option<u64>, Reference, u64, Served, u64)>,
    /// How often a reference used a line that had moved.
    used: BTreeMap<(usize, Option<u64>, u64, u16), u64>,
}

impl Told {
    fn at(&self) -> (usize, Option<u64>) {
        (self.strand, self.instructions.get(&self.strand).copied())
    }
}

impl Watch for Told {
    fn begins(&mut self, instruction: u64) {
        self.instructions.insert(self.strand, instruction);
    }

    fn stored(&mut self, instruction: u64) {
        self.waited.entry((self.strand, Some(instruction))).or_default().0.l2 += 1;
    }

    fn waited(&mut self, reference: &Reference, now: u64, served: &Served, cycles: u64) {
        let (strand, instruction) = self.at();
        let waited = self.waited.entry(self.at()).or_default();
        waited.0.add(served);
        waited.1 += cycles;
        if served.misses() > 0 {
            self.missed.push((strand, instruction, *reference, now, *served, cycles));
        }
    }

    fn used(&mut self, reference: &Reference, moved: &MovedLines) {
        let last = reference.address + u64::from(reference.size) - 1;
        let mut lines = reference.address >> LINE_SHIFT..=last >> LINE_SHIFT;
        if lines.any(|line| moved.get(line).is_some()) {
            let (strand, instruction) = self.at();
            let used = (strand, instruction, reference.address, reference.size);
            *self.used.entry(used).or_default() += 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn steps_are_what_the_references_are(
        (shapes, executions) in program(),
        turns in prop::collection::vec((0..3_usize, prop_oneof![0..8_u64, 0..3000_u64, Just(1 << 40)], prop_oneof![1..9_usize, Just(usize::MAX)]), 1..40),
    ) {
        let by_steps = Chunk::executing(&shapes, &executions);
        let without_steps = Chunk::executing(&shapes, &executions).without_steps();
        prop_assert!(by_steps.references().iter().eq(without_steps.references().iter()));
        prop_assert_eq!(by_steps.len(), without_steps.len());
        let run = |chunk: &Chunk, by: &mut dyn FnMut(&mut Work<'_>, &Quantum<'_>) -> Executed| {
            let mut bench = Bench::new(Model::Batoka, 2);
            bench.system.track_moves();
            // Two strands of one core and one strand of another node each execute the whole chunk.
            let mut places = [Position::default(); 3];
            let (mut now, mut all) = (0, Vec::new());
            for (strand, cycles, most) in turns.iter().cycle().take(200) {
                let at = &mut places[*strand];
                if at.passed() == chunk.len() {
                    continue;
                }
                let strand = [0, 1, 64][*strand];
                let executed = bench.part_by(strand, (chunk, at), now, now + cycles, *most, &mut *by);
                now = now.max(executed.issued).max(executed.ends);
                all.push(executed);
            }
            bench.system.work(&bench.devices).finish(now).unwrap();
            let cores = format!("{:?}", [&bench.system.cores[0], &bench.system.cores[8]]);
            let strands = [0, 1, 64].map(|strand| {
                let unit = bench.devices.strand_unit(id(strand));
                format!("{:?} {:?}", bench.system.strands[strand], *unit)
            });
            (all, bench.system.truth.clone(), strands, cores)
        };
        let watch = |chunk: &Chunk| {
            let mut told = Told::default();
            let run = run(chunk, &mut |work: &mut Work<'_>, quantum: &Quantum<'_>| {
                told.strand = quantum.strand.index();
                work.replay_watched(quantum, &mut told)
            });
            (run, told)
        };
        let (watched, told) = watch(&by_steps);
        let (watched_one_by_one, told_one_by_one) = watch(&without_steps);
        // All requests and waits have been reported to the watch.
        let (mut all, mut truth) = <((Served, u64), (Served, u64))>::default();
        for (served, cycles) in told.waited.values() {
            all.0.add(served);
            all.1 += cycles;
        }
        for strand in [0, 1, 64] {
            let waited = watched.1.waited(id(strand));
            truth.0.add(&waited.served);
            truth.1 += waited.cycles();
        }
        prop_assert_eq!(all, truth);
        prop_assert_eq!(told, told_one_by_one);
        let mut replay = |work: &mut Work<'_>, quantum: &Quantum<'_>| work.replay(quantum);
        let by_steps = run(&by_steps, &mut replay);
        for other in [run(&without_steps, &mut replay), watched, watched_one_by_one] {
            prop_assert_eq!(&by_steps.0, &other.0);
            prop_assert_eq!(&by_steps.1, &other.1);
            prop_assert_eq!(&by_steps.2, &other.2);
            prop_assert_eq!(&by_steps.3, &other.3);
        }
    }

    #[test]
    fn instructions_are_what_their_references_are(
        shapes in prop::collection::vec(shape(), 1..20),
        addresses in prop::collection::vec(address(), 200),
    ) {
        let mut addresses = addresses.into_iter();
        let references = shapes.into_iter().flatten().map(|reference| match reference.kind.is_fetch() {
            true => reference,
            false => Reference { address: addresses.next().unwrap(), ..reference },
        });
        let references: Vec<_> = references.skip_while(|reference| !reference.kind.is_fetch()).collect();
        prop_assume!(!references.is_empty());

        let mut replayed = Bench::new(Model::Batoka, 2);
        replayed.replay(0, 0, &references);

        let mut bench = Bench::new(Model::Batoka, 2);
        let mut work = bench.system.work(&bench.devices);
        let mut now = 0;
        for instruction in references.chunk_by(|_, next| !next.kind.is_fetch()) {
            let executed = work.instruction(id(0), now, &instruction[0], &instruction[1..]);
            prop_assert_eq!((executed.issued, executed.instructions), (now, 1));
            now = executed.ends;
        }
        work.finish(now).unwrap();
        prop_assert_eq!(bench.truth(), replayed.truth());
        let counters = |bench: &Bench| format!("{:?}", *bench.devices.strand_unit(id(0)));
        prop_assert_eq!(counters(&bench), counters(&replayed));
    }
}
