//! `top` as a person runs it, or a pipe.

#[path = "../../../tests/commands/program.rs"]
#[allow(dead_code, reason = "the tests of xtask use the rest")]
mod program;
#[path = "../../src/screen.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
mod screen;
mod terminal;
mod text;
mod tmux;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_top");

/// Two threads on two nodes, of 500 instructions each: they read memory of their own, and write to different bytes of one line.
fn two_threads() -> String {
    let turn = |number: u64| {
        let (one, other) = (0x10_0000 + number * 64, 0x90_0000 + number * 64);
        format!(
            "0 i 0x40000\n0 r {one:#x}\n64 i 0x40000\n64 r {other:#x}\n\
             0 i 0x40004\n0 w 0x1000\n64 i 0x40004\n64 w 0x1008\n"
        )
    };
    (0..250).map(turn).collect()
}
