//! Tests malicious inputs.

mod memory;
mod names;
mod paths;

use std::sync::Mutex;

use refs::{
    BlockDefinition, Definitions, Encoder, Exit, FILE_HEADER, Frame, Log, Mapping, Program, Stored,
};

/// Returns a recording of a single-threaded program. The thread executes an instruction at 0x1000 a hundred times, and each time loads from
/// 0x9000.
fn recording(command: &str, mapped: &str, notes: &[&str]) -> Vec<u8> {
    let definitions = Mutex::new(Definitions::default());
    let (sizes, exit, classes) = (vec![4], Exit::None, vec![]);
    let block = BlockDefinition { address: 0x1000, sizes, exit, classes };
    let block = definitions.lock().unwrap().block(block).unwrap();
    let mut log = Log::default();
    for _ in 0..100 {
        log.block(block);
        log.access(0, false, 3, 0x9000);
    }
    let (mut defined, mut referred) = (Frame::default(), Frame::default());
    Encoder::new(0).encode(&mut log, true, &definitions, &mut referred).unwrap();
    definitions.lock().unwrap().take(&mut defined);
    let program = Program { target: "x86_64".to_owned(), command: vec![command.to_owned()] };
    let path = mapped.to_owned();
    let mapping = Mapping { start: 0x1000, end: 0xa000, offset: 0, path, build_id: Vec::new() };
    let mut frames = vec![Frame::program(&program), Frame::mappings(&[mapping])];
    frames.extend(notes.iter().map(|note| Frame::note(note)));
    let end = Frame::end(referred.references, Some(0));
    frames.extend([defined, referred, end]);
    let mut file = FILE_HEADER.to_vec();
    for frame in frames {
        file.extend(frame.header(Stored::Plain, &frame.content));
        file.extend(frame.content);
    }
    file
}
