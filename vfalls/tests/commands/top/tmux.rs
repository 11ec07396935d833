//! A real terminal for tests, provided by tmux.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::program::TestDirectory;

/// A terminal that runs a shell, in its own tmux server. Dropping this value ends the server.
pub(crate) struct Terminal {
    place: TestDirectory,
}

impl Terminal {
    pub(crate) fn new(name: &str, width: usize, height: usize) -> Self {
        let terminal = Self { place: TestDirectory::new(name) };
        let size = [width.to_string(), height.to_string()];
        let shell = "PS1='ready$ ' exec sh";
        terminal.tmux(&["new-session", "-d", "-x", &size[0], "-y", &size[1], shell]);
        terminal.wait(|screen| screen.starts_with("ready$"));
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-f", "/dev/null", "-S", "socket"])
            .args(arguments)
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .current_dir(self.place.path())
            .output()
            .expect("tmux");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys. `keys` contains tmux's key names, such as `Right`.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a line, and presses Enter.
    pub(crate) fn line(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.keys(&["Enter"]);
    }

    pub(crate) fn resize(&self, width: usize, height: usize) {
        let size = [width.to_string(), height.to_string()];
        self.tmux(&["resize-window", "-x", &size[0], "-y", &size[1]]);
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Returns the screen, and the lines that have scrolled off it.
    pub(crate) fn history(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-S", "-"])
    }

    /// Returns the screen, including the escape sequences for its colours.
    pub(crate) fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-e", "-p"])
    }

    /// Waits for at most half a minute until `so` returns `true` for the screen. Returns the
    /// screen.
    pub(crate) fn wait(&self, so: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if so(&screen) {
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{screen}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns two tmux flags: whether the alternate screen is on, and whether the cursor is visible.
    pub(crate) fn state(&self) -> String {
        self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"])
    }

    pub(crate) fn title(&self) -> String {
        self.tmux(&["display-message", "-p", "#{pane_title}"])
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let mut kill = Command::new("tmux");
        kill.args(["-S", "socket", "kill-server"]);
        let _ = kill.current_dir(self.place.path()).status();
    }
}
