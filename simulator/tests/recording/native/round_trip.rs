//! Tests that the reader returns exactly what the recorder wrote.

use std::fs::{self, OpenOptions};
use std::io::Write;

use proptest::prelude::*;
use proptest::sample::Index;
use refs::{
    BlockDefinition, Class, Definitions, Encoder, Exit, Frame, Log, Program, Stored, sign_extended,
};
use simulator::recording::{Cause, Flow, Kind, Mapping, Order, Recording, Reference};

use super::{Recorder, read, small};
use crate::{Thread, file, gzip, open, threads, zstd};

/// A block of a random program.
#[derive(Clone, Debug)]
struct Block {
    address: u64,
    sizes: Vec<u8>,
    /// The index of the instruction that leaves the block, and the kind of exit.
    exit: (Index, u8),
    next: u64,
    /// The classes of the first instructions. The other instructions have the class [`Class::Other`].
    classes: Vec<Class>,
}

/// An execution of a block. Each access consists of the instruction's index, `true` for a store, the binary logarithm of the size, and the
/// address.
#[derive(Clone, Debug)]
struct Step {
    block: Index,
    accesses: Vec<(Index, bool, u8, u64)>,
    order: Option<Order>,
    /// Whether the log is encoded before this execution.
    encoded: bool,
}

fn block() -> impl Strategy<Value = Block> {
    let address = prop_oneof![0x1000..0x1010_u64, any::<u64>()];
    let sizes = prop::collection::vec(1..16_u8, 1..6);
    let exit = (any::<Index>(), 0..6_u8);
    let class = prop_oneof![
        Just(Class::Other),
        Just(Class::Atomic),
        (0..9_u8).prop_map(|byte| Class::from_byte(byte).unwrap()),
    ];
    let classes = prop::collection::vec(class, 0..6);
    (address, sizes, exit, 0x1000..0x1010_u64, classes).prop_map(
        |(address, sizes, exit, next, classes)| Block { address, sizes, exit, next, classes },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let address = prop_oneof![
        3 => 0x8000..0x8004_u64,
        1 => 0..1_u64 << 47,
        1 => 0xffff_8000_0000_0000..=u64::MAX,
    ];
    let access = (any::<Index>(), any::<bool>(), 0..8_u8, address);
    let accesses = prop_oneof![
        9 => prop::collection::vec(access.clone(), 0..4),
        1 => prop::collection::vec(access, 0..30),
    ];
    let order = prop_oneof![
        8 => Just(None),
        1 => (0..1_u64 << 60).prop_map(|number| Some(Order::Signal(number))),
        1 => (0..1_u64 << 60).prop_map(|number| Some(Order::Wait(Cause::Condition, number))),
    ];
    let encoded = prop::bool::weighted(0.1);
    (any::<Index>(), accesses, order, encoded).prop_map(|(block, accesses, order, encoded)| Step {
        block,
        accesses,
        order,
        encoded,
    })
}

impl Block {
    fn exit(&self) -> Exit {
        let instruction = self.exit.0.index(self.sizes.len()) as u16;
        match self.exit.1 {
            0 => Exit::None,
            1 => Exit::Conditional { instruction, next: self.next },
            2 => Exit::Jump { instruction },
            3 => Exit::Call { instruction },
            4 => Exit::Return { instruction },
            _ => Exit::Trap { instruction },
        }
    }

    fn class(&self, instruction: usize) -> Class {
        self.classes.get(instruction).copied().unwrap_or_default()
    }

    fn classes(&self) -> Vec<(u16, Class)> {
        let all = (0..self.sizes.len()).map(|number| (number as u16, self.class(number)));
        all.filter(|(_, class)| *class != Class::Other).collect()
    }

    fn flow(&self, instruction: usize, next: Option<&Self>) -> Flow {
        let is_taken = next.is_some_and(|next| next.address != self.next);
        match (self.exit.0.index(self.sizes.len()) == instruction, self.exit.1) {
            (false, _) | (true, 0) => Flow::Next,
            (true, 1) if is_taken => Flow::Taken,
            (true, 1) => Flow::NotTaken,
            (true, 2) => Flow::Jump,
            (true, 3) => Flow::Call,
            (true, 4) => Flow::Return,
            (true, _) => Flow::Trap,
        }
    }
}

impl Step {
    /// Returns the accesses, sorted by instruction.
    fn sorted(&self, instructions: usize) -> Vec<(usize, bool, u8, u64)> {
        let mut sorted: Vec<_> = self
            .accesses
            .iter()
            .map(|(at, store, size, address)| (at.index(instructions), *store, *size, *address))
            .collect();
        sorted.sort_by_key(|access| access.0);
        sorted
    }
}

/// Returns an instruction's data references. In an atomic instruction, a load and the next store become one reference if they have the same
/// address.
fn data(
    accesses: &[(usize, bool, u8, u64)],
    instruction: usize,
    is_atomic: bool,
) -> Vec<Reference> {
    let mut data: Vec<Reference> = Vec::new();
    for &(at, store, size, address) in accesses {
        let size = 1 << size;
        if at != instruction {
            continue;
        }
        match data.last_mut() {
            Some(last)
                if is_atomic && store && *last == Reference::new(address, size, Kind::Load) =>
            {
                last.kind = Kind::Modify;
            }
            _ => {
                let kind = if store { Kind::Store } else { Kind::Load };
                data.push(Reference::new(address, size, kind));
            }
        }
    }
    data
}

/// Returns the references and orders that a reader must find.
fn expected(blocks: &[Block], steps: &[Step]) -> Thread {
    let (mut references, mut order) = (Vec::new(), Vec::new());
    let block = |step: &Step| &blocks[step.block.index(blocks.len())];
    for (at, step) in steps.iter().enumerate() {
        let (this, next) = (block(step), steps.get(at + 1).map(block));
        let accesses = step.sorted(this.sizes.len());
        let mut address = this.address;
        for (instruction, &size) in this.sizes.iter().enumerate() {
            let class = this.class(instruction);
            let data = data(&accesses, instruction, class == Class::Atomic);
            let any = |kinds: [Kind; 2]| data.iter().any(|data| kinds.contains(&data.kind));
            let kind = match (any([Kind::Load, Kind::Modify]), any([Kind::Store, Kind::Modify])) {
                (false, false) => Kind::FetchOther,
                (true, false) => Kind::FetchLoad,
                (false, true) => Kind::FetchStore,
                (true, true) => Kind::FetchModify,
            };
            references.push(Reference {
                flow: this.flow(instruction, next),
                class,
                ..Reference::new(address, u16::from(size), kind)
            });
            references.extend(data);
            address = address.wrapping_add(u64::from(size));
        }
        order.extend(step.order.map(|order| (references.len(), order)));
    }
    (references, order)
}

proptest! {
    #[test]
    fn what_is_recorded_reads_back(
        blocks in prop::collection::vec(block(), 1..8),
        steps in prop::collection::vec(prop::collection::vec(step(), 1..60), 1..4),
    ) {
        let (file, expected) = recorded(&blocks, &steps);
        prop_assert_eq!(read(&file).unwrap(), expected);
    }

    /// The encoder has a fast path for executions that resemble earlier ones. Here, a loop's addresses advance, except in some rounds, and
    /// in one round a random step replaces the first step.
    #[test]
    fn a_disturbed_loop_reads_back(
        blocks in prop::collection::vec(block(), 1..4),
        steps in prop::collection::vec(step(), 1..6),
        stride in prop_oneof![Just(0), Just(8), any::<u64>()],
        pause in 2..9_u64,
        (disturbed, round) in (step(), 0..40_usize),
    ) {
        let moved = |step: &Step, round: u64| {
            let mut step = step.clone();
            let by = (round - round / pause).wrapping_mul(stride);
            for (_, _, _, address) in &mut step.accesses {
                *address = sign_extended(address.wrapping_add(by));
            }
            step
        };
        let mut all: Vec<Step> =
            (0..40).flat_map(|round| steps.iter().map(move |step| (step, round))).map(|(step, round)| moved(step, round)).collect();
        all[round * steps.len()] = disturbed;
        let (file, expected) = recorded(&blocks, &[all]);
        prop_assert_eq!(read(&file).unwrap(), expected);
    }
}

/// Returns a recording of threads that take these steps, and what the reader must find in it.
fn recorded(blocks: &[Block], steps: &[Vec<Step>]) -> (Vec<u8>, Vec<Thread>) {
    let mut recorder = Recorder::new(Stored::Zstd);
    let numbers: Vec<u32> = (blocks.iter())
        .map(|block| recorder.block_of(block.address, &block.sizes, block.exit(), &block.classes()))
        .collect();
    for (thread, steps) in (0..).zip(steps) {
        let (mut encoder, mut log) = (Encoder::new(thread), Log::default());
        for step in steps {
            if step.encoded {
                recorder.encode(&mut encoder, &mut log, false);
            }
            let block = step.block.index(blocks.len());
            log.block(numbers[block]);
            for (at, store, size, address) in step.sorted(blocks[block].sizes.len()) {
                log.access(at as u16, store, size, address);
            }
            if let Some(order) = step.order {
                log.order(order);
            }
        }
        recorder.encode(&mut encoder, &mut log, true);
    }
    let expected = steps.iter().map(|steps| expected(blocks, steps)).collect();
    (recorder.end(), expected)
}

#[test]
fn a_loop_takes_next_to_nothing() {
    let mut recorder = Recorder::new(Stored::Zstd);
    let block = recorder.block(0x1000, &[4; 4], Exit::Jump { instruction: 3 });
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    for at in 0..100_000 {
        if log.len() >= Log::FULL {
            recorder.encode(&mut encoder, &mut log, false);
        }
        log.block(block);
        log.access(0, false, 3, 0x8000 + 8 * at);
        log.access(2, true, 3, 0x7f_8000_0000 - 16 * at);
    }
    recorder.encode(&mut encoder, &mut log, true);
    let file = recorder.end();
    assert!(file.len() < 400, "{} bytes", file.len());
    let (references, order) = &read(&file).unwrap()[0];
    assert_eq!((references.len(), order.len()), (600_000, 0));
    assert_eq!(references[599_995], Reference::new(0x8000 + 8 * 99_999, 8, Kind::Load));
    assert_eq!(references[599_998].address, 0x7f_8000_0000 - 16 * 99_999);
}

#[test]
fn an_instruction_with_very_much_data_is_parted() {
    let mut recorder = Recorder::new(Stored::Zstd);
    let block = recorder.block(0x1000, &[4], Exit::None);
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    log.access(0, true, 3, 0x10);
    log.block(block);
    for at in 0..5000 {
        log.access(0, false, 3, 8 * at);
    }
    recorder.encode(&mut encoder, &mut log, true);
    let data = |address| Reference::new(address, 8, Kind::Load);
    let before = Reference::new(0x10, 8, Kind::Store);
    let fetch = Reference::new(0x1000, 4, Kind::FetchLoad);
    let expected: Vec<Reference> =
        [before, fetch].into_iter().chain((0..5000).map(|at| data(8 * at))).collect();
    assert_eq!(read(&recorder.end()).unwrap(), [(expected, vec![])]);
}

#[test]
fn blocks_are_defined_once() {
    let mut definitions = Definitions::default();
    let definition = |address, next| BlockDefinition {
        address,
        sizes: vec![4],
        exit: Exit::Conditional { instruction: 0, next },
        classes: vec![],
    };
    let first = definitions.block(definition(0, 4)).unwrap();
    let second = definitions.block(definition(0, 8)).unwrap();
    assert_ne!(first, second);
    assert_eq!(definitions.block(definition(0, 4)), Ok(first));
    let mut frame = Frame::default();
    assert!(definitions.take(&mut frame));
    assert_eq!(definitions.block(definition(0, 8)), Ok(second));
    assert!(!definitions.take(&mut frame));
}

/// `addq $3,(mem)` loads and stores as `mov`, `add` and `mov` do. Only `lock addq $3,(mem)` does both in one step.
#[test]
fn only_atomic_instructions_load_and_store_in_one_step() {
    let mut recorder = Recorder::new(Stored::Plain);
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    let classes = [(1, Class::Atomic), (2, Class::Multiply)];
    log.block(recorder.block_of(0x1000, &[4, 5, 4], Exit::None, &classes));
    for instruction in 0..2 {
        log.access(instruction, false, 3, 0x8000);
        log.access(instruction, true, 3, 0x8000);
    }
    recorder.encode(&mut encoder, &mut log, true);
    let fetch =
        |address, size, kind, class| Reference { class, ..Reference::new(address, size, kind) };
    let expected = vec![
        fetch(0x1000, 4, Kind::FetchModify, Class::Other),
        Reference::new(0x8000, 8, Kind::Load),
        Reference::new(0x8000, 8, Kind::Store),
        fetch(0x1004, 5, Kind::FetchModify, Class::Atomic),
        Reference::new(0x8000, 8, Kind::Modify),
        fetch(0x1009, 4, Kind::FetchOther, Class::Multiply),
    ];
    assert_eq!(read(&recorder.end()).unwrap(), [(expected, vec![])]);
}

/// An atomic instruction has one reference or two, depending on whether its load and its store have the same address. In both cases, the
/// words in the log are the same except for an address.
#[test]
fn an_atomic_instruction_has_one_location_or_two() {
    let mut recorder = Recorder::new(Stored::Plain);
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    let block = recorder.block_of(0x1000, &[4], Exit::None, &[(0, Class::Atomic)]);
    let fetch = Reference { class: Class::Atomic, ..Reference::new(0x1000, 4, Kind::FetchModify) };
    let mut expected = Vec::new();
    for store in [0x9000, 0x9000, 0x8000, 0x8000, 0x9000] {
        log.block(block);
        log.access(0, false, 3, 0x8000);
        log.access(0, true, 3, store);
        expected.push(fetch);
        match store {
            0x8000 => expected.push(Reference::new(0x8000, 8, Kind::Modify)),
            _ => {
                expected.push(Reference::new(0x8000, 8, Kind::Load));
                expected.push(Reference::new(store, 8, Kind::Store));
            }
        }
    }
    recorder.encode(&mut encoder, &mut log, true);
    assert_eq!(read(&recorder.end()).unwrap(), [(expected, vec![])]);
}

#[test]
fn blocks_that_come_later_are_at_their_addresses() {
    let mut recorder = Recorder::new(Stored::Plain);
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    let addresses = [0x40_0000_1000, 0x1000, 0x40_0000_2000];
    for address in addresses {
        log.block(recorder.block(address, &[4], Exit::None));
        recorder.encode(&mut encoder, &mut log, true);
    }
    let fetch = |address| Reference::new(address, 4, Kind::FetchOther);
    let expected = addresses.map(fetch).to_vec();
    assert_eq!(read(&recorder.end()).unwrap(), [(expected, vec![])]);
}

#[test]
fn a_recording_ends_after_any_number_of_references() {
    let mut recorder = Recorder::new(Stored::Plain);
    let (mut encoder, mut log) = (Encoder::new(0), Log::default());
    log.block(recorder.block(0x1000, &[4], Exit::None));
    recorder.encode(&mut encoder, &mut log, true);
    recorder.references = 1_000_000_000_000;
    let fetch = Reference::new(0x1000, 4, Kind::FetchOther);
    assert_eq!(read(&recorder.end()).unwrap(), [(vec![fetch], vec![])]);
}

#[test]
fn a_program_can_have_too_much_code() {
    let mut definitions = Definitions::default();
    let mut define = |at| {
        definitions.block(BlockDefinition {
            address: 4096 * at,
            sizes: vec![4; 1024],
            exit: Exit::None,
            classes: vec![],
        })
    };
    let defined = (0..40_000_u64).take_while(|at| define(*at).is_ok()).count();
    // The size of each block is 1025: its number of instructions plus 1. The limit on the total is 2^25.
    assert_eq!(defined, (1 << 25) / 1025);
}

#[test]
fn what_is_said_of_the_program_reads_back() {
    let mut recorder = Recorder::new(Stored::Zstd);
    recorder.write(&Frame::program(&Program {
        target: "sparc64".into(),
        command: vec!["./a.out".into(), "it's".into(), String::new(), "x\ny".into()],
    }));
    let mapping = Mapping {
        start: 0x10_0000,
        end: 0x20_0000,
        offset: 0x2000,
        path: "/usr/lib/libc.so.6".into(),
        build_id: vec![1, 2, 3],
    };
    recorder.write(&Frame::mappings(std::slice::from_ref(&mapping)));
    recorder.write(&Frame::mappings(&[]));
    recorder.write(&Frame::note("The program starts /bin/true\u{1b}"));
    recorder.file.extend_from_slice(&small(Stored::Plain)[16..]);
    let recording = open(recorder.file).unwrap();
    assert_eq!(recording.target(), Some("sparc64"));
    assert_eq!(recording.command(), Some(r"./a.out 'it'\''s' '' 'x\ny'"));
    assert_eq!(recording.mappings(), [mapping]);
    assert_eq!(recording.notes(), ["The program starts /bin/true\\u{1b}", "It is small"]);
    assert_eq!(recording.strand_of(0), None);
}

#[test]
fn files_and_streams_are_read_alike() {
    let plain = small(Stored::Zstd);
    let expected = read(&plain).unwrap();
    assert_eq!(expected.len(), 2);
    assert_eq!(read(&gzip(&plain)).unwrap(), expected);
    assert_eq!(read(&zstd(&plain)).unwrap(), expected);
    let path = file("native", &plain);
    let mut recording = Recording::open(&path).unwrap();
    assert_eq!(recording.name(), path.to_str().unwrap());
    let total = recording.progress().total;
    assert_eq!(total, Some(plain.len() as u64));
    assert!(recording.progress().read < plain.len() as u64);
    assert_eq!(threads(&mut recording).unwrap(), expected);
    assert_eq!(recording.progress().read, plain.len() as u64);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_file_that_grows_is_read_as_it_was() {
    let whole = small(Stored::Zstd);
    // The file ends with a single frame: a header of 32 bytes, and one byte that zstd has compressed.
    let end = 32 + zstd(&[0]).len();
    let path = file("grows", &whole[..whole.len() - end]);
    let mut recording = Recording::open(&path).unwrap();
    let mut grows = OpenOptions::new().append(true).open(&path).unwrap();
    grows.write_all(&whole[whole.len() - end..]).unwrap();
    let name = path.to_str().unwrap();
    let note = format!("{name} has no end: the recorder is still running or was killed");
    assert_eq!(recording.notes(), ["It is small", &note]);
    assert_eq!(threads(&mut recording).unwrap(), read(&whole).unwrap());
    assert_eq!(Recording::open(&path).unwrap().notes(), ["It is small"]);
    fs::remove_file(path).unwrap();
}
