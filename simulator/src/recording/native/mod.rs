//! The reader of recordings in the format of [`refs`].

mod cursor;
mod frame;
mod reader;
mod templates;

pub(super) use reader::NativeReader;
