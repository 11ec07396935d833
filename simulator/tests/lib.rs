//! Tests of the simulator. They are a package of their own, because `Cargo.toml` of the workspace optimises the simulator, and to optimise
//! its tests takes longer than to run them.
