//! Runs QEMU's niagara machine, which logs its state before each instruction.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// A running machine, which is killed when this value is dropped.
pub(crate) struct Niagara {
    child: Child,
    log: BufReader<ChildStdout>,
}

/// The code at reset, 0x20 bytes into the ROM: `sethi %hi(0x80000000), %g1; jmp %g1 + %lo(entry); nop`.
const RESET: [u32; 3] = [0x0320_0000, 0x81c0_6000, 0x0100_0000];

/// ROM files that QEMU requires, but that the image does not use.
const EMPTY: &str = "nvram1 1up-md.bin 1up-hv.bin q.bin openboot.bin";

impl Niagara {
    /// Boots an image that is loaded at the start of the partition's memory. QEMU's files go to `directory`.
    pub(crate) fn boot(directory: &Path, image: &[u8]) -> Self {
        let write = |name: &str, bytes: &[u8]| {
            fs::write(directory.join(name), bytes).expect("a file");
        };
        write("image", image);
        write("reset.bin", &[&[0; 0x20][..], RESET.map(u32::to_be_bytes).as_flattened()].concat());
        EMPTY.split(' ').for_each(|name| write(name, &[0; 8]));
        let image = directory.join("image");
        let mut child = Command::new("qemu-system-sparc64")
            .args("-M niagara -nodefaults -m 128 -display none".split(' '))
            .args(["-monitor", "none", "-serial", "none", "-L"])
            .arg(directory)
            .arg("-device")
            .arg(format!("loader,file={},addr=0x80000000,force-raw=on", image.display()))
            .arg("-singlestep")
            .args(["-d", "cpu,nochain", "-D", "/dev/stdout"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("qemu-system-sparc64 (Debian's package qemu-system-sparc)");
        let log = BufReader::with_capacity(1 << 16, child.stdout.take().expect("a pipe"));
        Self { child, log }
    }

    /// Reads the next state. Returns `false` if QEMU has ended.
    pub(crate) fn next(&mut self, state: &mut String) -> bool {
        state.clear();
        loop {
            let begin = state.len();
            match self.log.read_line(state) {
                Ok(1..) if state[begin..] == *"\n" => {
                    state.truncate(begin);
                    return true;
                }
                Ok(1..) => {}
                _ => return false,
            }
        }
    }
}

impl Drop for Niagara {
    fn drop(&mut self) {
        // Killing fails only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
