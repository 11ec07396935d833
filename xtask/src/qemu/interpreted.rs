//! The same run on the simulator's own interpreter: a second opinion on both.

use std::fs;
use std::time::Instant;

use anyhow::{Context, bail};
use object::BigEndian;
use object::elf::PT_LOAD;
use object::read::elf::ProgramHeader;
use simulator::interpreter::Strand;
use simulator::interpreter::board::{Board, RESET};

use super::console::Console;
use super::elf;
use super::machine::{self, Boot, End};
use crate::interrupt::{self, Interrupted};

/// How many instructions are executed before somebody looks at the console and at the clock.
const BATCH: usize = 1 << 16;

/// Boots, and returns what the guest writes, and how the run ends.
///
/// # Errors
/// A file cannot be read, the strand enters error state, or [`Interrupted`].
pub(super) fn run(boot: &Boot<'_>) -> anyhow::Result<(Vec<u8>, End)> {
    let deadline = Instant::now() + boot.timeout;
    let mut board = board(boot)?;
    let mut strand = Strand::reset(RESET);
    let mut console = Console::default();
    loop {
        for _ in 0..BATCH {
            if let Err(error) = strand.step(&mut board) {
                bail!("the strand enters error state: {error:?}");
            }
            board.tick();
        }
        console.push(&board.console());
        let end = console.ended().map(End::Code);
        if let Some(end) = end.or((Instant::now() >= deadline).then_some(End::TimeOut)) {
            return Ok((console.text().to_vec(), end));
        }
        if interrupt::happened() {
            bail!(Interrupted);
        }
    }
}

/// Returns a board with everything in its memory.
fn board(boot: &Boot<'_>) -> anyhow::Result<Board> {
    let mut board = Board::new();
    board.load_bytes(RESET, machine::RESET.map(u32::to_be_bytes).as_flattened());
    for path in [boot.hypervisor, boot.guest] {
        let name = || path.display().to_string();
        let file = fs::read(path).with_context(name)?;
        let elf = elf::parse(&file).with_context(name)?;
        for part in elf.elf_program_headers() {
            if part.p_type(BigEndian) == PT_LOAD {
                let bytes = part.data(BigEndian, elf.data()).unwrap_or_default();
                board.load_bytes(part.p_paddr(BigEndian), bytes);
            }
        }
    }
    for (address, word) in boot.words {
        board.load_bytes(*address, &word.to_be_bytes());
    }
    Ok(board)
}
