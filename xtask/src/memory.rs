//! The peak memory of processes, as Linux reports it.

use std::fmt::Display;
use std::fs;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context;

/// The pause between two looks at a process. Memory that a process takes only during the last pause goes unnoticed.
const PAUSE: Duration = Duration::from_millis(1);

/// Returns the peak memory of a process so far, in KB. `process` is the process id, or `self`. Returns `None` if the system does not report
/// the peak, or if the process has ended.
fn peak(process: impl Display) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Runs a command to its end. Returns its exit status and its peak memory in KB.
pub fn peak_of(command: &mut Command) -> anyhow::Result<(ExitStatus, u64)> {
    let child = command.spawn();
    let name = || format!("{} cannot be run", command.get_program().display());
    let mut child = child.with_context(name)?;
    let mut most = 0;
    loop {
        most = peak(child.id()).unwrap_or(0).max(most);
        if let Some(status) = child.try_wait()? {
            return Ok((status, most));
        }
        sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_peak_stays_when_memory_is_returned() {
        let memory = vec![1_u8; 50_000_000];
        assert!(memory.iter().all(|byte| *byte == 1));
        drop(memory);
        assert!(peak("self").unwrap() > 50_000);
        assert_eq!(peak("no process"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_status_and_the_peak_of_a_command_are_returned() {
        let (status, most) = peak_of(Command::new("sleep").arg("0.1")).unwrap();
        assert!(status.success() && (100..50_000).contains(&most), "{most}");
        let (status, _) = peak_of(&mut Command::new("false")).unwrap();
        assert_eq!(status.code(), Some(1));
        assert!(peak_of(&mut Command::new("/no/program")).is_err());
    }
}
