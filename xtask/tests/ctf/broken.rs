//! Traces that are broken.
