//! References as lackey writes them.

use std::io::{self, Write};

use super::{Kind, Reference};

/// Writes references as text, one line each. What a fetch says of its instruction's data is not written: the data
/// says it.
pub struct RecordingWriter<W> {
    output: W,
    text: Vec<u8>,
}

impl<W: Write> RecordingWriter<W> {
    /// Writes to `output`, in pieces of the size of the blocks that it is given.
    pub fn new(output: W) -> Self {
        Self {
            output,
            text: Vec::new(),
        }
    }

    /// Writes `references`.
    ///
    /// # Errors
    /// What `output` fails with.
    pub fn write(&mut self, references: &[Reference]) -> io::Result<()> {
        self.text.clear();
        for reference in references {
            self.text.extend_from_slice(match reference.kind {
                Kind::FetchOther | Kind::FetchLoad | Kind::FetchStore | Kind::FetchModify => b"I  ",
                Kind::Load => b" L ",
                Kind::Store => b" S ",
                Kind::Modify => b" M ",
            });
            let digits = (16 - reference.address.leading_zeros() / 4).max(8);
            self.text.extend((0..digits).rev().map(|at| {
                let digit = (reference.address >> (4 * at) & 15) as usize;
                b"0123456789abcdef"[digit]
            }));
            writeln!(self.text, ",{}", reference.size)?;
        }
        self.output.write_all(&self.text)
    }

    /// Gives the output back.
    pub fn into_inner(self) -> W {
        self.output
    }
}
