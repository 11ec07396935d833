//! The state of the recorded process that all its threads share.

mod threads;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use refs::{Definitions, Describe, Frame};

use crate::decode::Architecture;
use crate::functions::Functions;
use crate::lock;
use crate::lock_call::{BlockFacts, Shared};
use crate::mappings::Mappings;
use crate::objects::Objects;
use crate::only::OnlyFunction;
use crate::order::Orders;
use crate::output::Output;

/// The recorded process.
pub(crate) struct Process {
    pub(crate) target: Architecture,
    pub(crate) definitions: Mutex<Definitions>,
    pub(crate) orders: Orders,
    pub(crate) output: Output,
    objects: Objects,
    /// The function that is recorded alone; `None` if everything is recorded.
    pub(crate) only: Option<OnlyFunction>,
    /// Returns the kernel's id of the calling thread.
    tid: fn() -> u32,
    describe: Describe,
    mappings: Mutex<Mappings>,
    functions: Mutex<Functions>,
    /// Whether the program may have mapped files with code since the mappings were last read.
    maps: AtomicBool,
    threads: AtomicU32,
}

/// The maximum number of threads in a recording.
pub(crate) const MAX_THREADS: u32 = 1 << 16;

impl Process {
    /// Returns the state of this process. Must be called before the emulator loads the program.
    pub(crate) fn new(
        target: Architecture,
        output: Output,
        only: Option<OnlyFunction>,
        tid: fn() -> u32,
        describe: Describe,
    ) -> Self {
        Self {
            target,
            definitions: Mutex::new(Definitions::default()),
            orders: Orders::default(),
            output,
            objects: Objects::default(),
            only,
            tid,
            describe,
            mappings: Mutex::new(Mappings::before_the_program()),
            functions: Mutex::default(),
            maps: AtomicBool::new(true),
            threads: AtomicU32::new(0),
        }
    }

    /// Defines a block of instructions. Ends the program if there are too many blocks.
    pub(crate) fn block(&self, address: u64, instructions: &[&[u8]]) -> BlockFacts {
        self.update_mappings();
        let block = self.target.block(address, instructions);
        let leave = self.target.leave(&block.exit, instructions);
        let number = lock(&self.definitions).block(block);
        let number = number.unwrap_or_else(|error| self.output.stop("ends", &error.to_string()));
        let enters = lock(&self.functions).at(address);
        BlockFacts::new(number, instructions.len(), leave, enters)
    }

    pub(crate) fn shared(&self) -> Shared<'_> {
        let Self { objects, orders, definitions, target, tid, .. } = self;
        Shared { objects, orders, definitions, target: *target, tid: *tid }
    }

    /// Notes that the program has exited. Must be called after all threads have written their references.
    pub(crate) fn exited(&self) {
        self.maps.store(true, Ordering::Relaxed);
        self.update_mappings();
        self.output.notify("exits", "");
    }

    /// Writes the mappings of files that have appeared since the previous call.
    pub(crate) fn update_mappings(&self) {
        if self.maps.swap(false, Ordering::Relaxed) {
            let new = lock(&self.mappings).take_new();
            if !new.is_empty() {
                lock(&self.functions).add(&new);
                self.only.iter().for_each(|only| only.add(&new));
                self.output.frame(&Frame::mappings(&new));
            }
        }
    }
}
