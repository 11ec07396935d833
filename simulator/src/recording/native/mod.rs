//! The recordings that `cargo xtask record` makes.

mod bytes;
mod cursor;
mod definitions;
mod encoder;
mod frame;
mod log;
mod predictor;
mod reader;
mod templates;

pub use definitions::{BlockDefinition, Definitions, Exit, MOST_INSTRUCTIONS, TooMuchCode};
pub use encoder::Encoder;
pub(super) use frame::MAGIC;
pub use frame::{FILE_HEADER, FRAME_HEADER, Frame, FrameKind, Program, Stored};
pub use log::Log;
pub(super) use reader::NativeReader;
