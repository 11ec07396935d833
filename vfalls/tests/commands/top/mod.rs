//! Tests `top` in a terminal and in a pipe.

mod terminal;
mod text;
pub(crate) mod tmux;

/// Returns a program with two threads on two nodes. Each thread has 500 instructions. The threads
/// read different memory, and write to different bytes of one line.
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
