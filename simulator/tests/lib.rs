//! Tests of the simulator, and those beside its code (`units`). They are a separate package because the workspace's `Cargo.toml` optimises
//! the simulator: optimising its tests as well would take longer than running them.
