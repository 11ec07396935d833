//! An interrupt in the middle of a run.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::program::{Place, command};

#[test]
fn an_interrupted_simulation_leaves_nothing() {
    let place = Place::new("interrupted-sim");
    let results = place.path().join("results.json");
    for signal in ["INT", "TERM"] {
        let mut child = command(&["sim", "-", "--json", results.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The program waits for more references as long as this is open.
        let mut trace = child.stdin.take().unwrap();
        trace.write_all(b"I  04001090,3\n").unwrap();
        while fs::read_dir(place.path()).unwrap().count() == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        let kill = format!("kill -{signal} {}", child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
