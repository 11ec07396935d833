//! What a person runs.
