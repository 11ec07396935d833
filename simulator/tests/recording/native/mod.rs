mod damage;
mod exhaustive;
mod layout;
mod round_trip;
mod waiting;

use std::sync::Mutex;

use refs::{BlockDefinition, Class, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Stored};
use simulator::recording::{Cause, Order, RecordingError};

use crate::{Thread, open, threads, zstd};

/// Writes files as the recorder writes them.
struct Recorder {
    file: Vec<u8>,
    stored: Stored,
    definitions: Mutex<Definitions>,
    references: u64,
}

impl Recorder {
    fn new(stored: Stored) -> Self {
        Self {
            file: FILE_HEADER.to_vec(),
            stored,
            definitions: Mutex::new(Definitions::default()),
            references: 0,
        }
    }

    fn block(&self, address: u64, sizes: &[u8], exit: Exit) -> u32 {
        self.block_of(address, sizes, exit, &[])
    }

    fn block_of(&self, address: u64, sizes: &[u8], exit: Exit, classes: &[(u16, Class)]) -> u32 {
        let (sizes, classes) = (sizes.to_vec(), classes.to_vec());
        let definition = BlockDefinition { address, sizes, exit, classes };
        self.definitions.lock().unwrap().block(definition).unwrap()
    }

    fn write(&mut self, frame: &Frame) {
        let data = match self.stored {
            Stored::Plain => frame.content.clone(),
            Stored::Zstd => zstd(&frame.content),
        };
        self.file.extend(frame.header(self.stored, &data));
        self.file.extend(data);
    }

    /// Encodes a part of the log or, if the thread has ended, the whole log.
    fn encode(&mut self, encoder: &mut Encoder, log: &mut Log, ended: bool) {
        let mut frame = Frame::default();
        let any = encoder.encode(log, ended, &self.definitions, &mut frame);
        let mut definitions = Frame::default();
        let any_new = self.definitions.lock().unwrap().take(&mut definitions);
        if any_new {
            self.write(&definitions);
        }
        if any.unwrap().is_some() {
            self.references += frame.references;
            self.write(&frame);
        }
    }

    fn end(mut self) -> Vec<u8> {
        self.write(&Frame::end(self.references, Some(0)));
        self.file
    }
}

fn read(file: &[u8]) -> Result<Vec<Thread>, RecordingError> {
    threads(&mut open(file)?)
}

/// Returns a recording of a small program with two threads.
fn small(stored: Stored) -> Vec<u8> {
    let mut recorder = Recorder::new(stored);
    recorder.write(&Frame::note("It is small"));
    let branch = Exit::Conditional { instruction: 1, next: 0x1006 };
    let first = recorder.block(0x1000, &[4, 2], branch);
    let second = recorder.block(0x2000, &[5], Exit::Return { instruction: 0 });
    for thread in 0..2 {
        let mut encoder = Encoder::new(thread);
        let mut log = Log::default();
        if thread == 1 {
            log.order(Order::Wait(Cause::Wake, 7));
        }
        for at in 0..20 {
            log.block(first);
            log.access(0, false, 3, 0x9000 + at * at);
            if at % 7 == 3 {
                log.block(second);
                log.access(0, true, 2, 0xffff_8000_0000_0000 + 64 * at);
            }
            if at == 10 {
                recorder.encode(&mut encoder, &mut log, false);
            }
        }
        if thread == 0 {
            log.order(Order::Signal(7));
        }
        recorder.encode(&mut encoder, &mut log, true);
    }
    recorder.end()
}
