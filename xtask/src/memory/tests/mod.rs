//! The memory system as a whole.
