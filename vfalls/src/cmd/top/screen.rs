//! Manages the terminal that shows the view. The terminal is restored when the view ends, unless
//! SIGKILL ends the process.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use crate::interrupt;
use crate::plain::raw_stdout;
use ratatui::Frame;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::prelude::{CrosstermBackend, Terminal};

/// Whether the terminal shows the view and has to be restored.
static OPEN: AtomicBool = AtomicBool::new(false);

/// The lock that a thread holds while it writes to the terminal.
static WRITING: Mutex<()> = Mutex::new(());

/// The terminal while it shows the view.
pub struct Screen(Terminal<CrosstermBackend<BufWriter<File>>>);

impl Screen {
    /// Saves the content of the terminal, and clears the terminal for the view. The terminal is
    /// restored before a panic is reported, and before an interrupt ends the process.
    pub fn open() -> anyhow::Result<Self> {
        interrupt::clean_up()?;
        interrupt::before_end(close);
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |report| {
            close();
            before(report);
        }));
        show()?;
        let output = BufWriter::new(output()?);
        Ok(Self(Terminal::new(CrosstermBackend::new(output))?))
    }

    /// Draws the view. Does nothing if the terminal has been restored.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        match lock() {
            Some(_) if OPEN.load(Ordering::SeqCst) => self.0.draw(view).map(drop),
            _ => Ok(()),
        }
    }

    /// Restores the terminal while `meanwhile` runs, and then shows the view again.
    pub fn without(&mut self, meanwhile: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        close();
        meanwhile()?;
        show()?;
        self.0.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        close();
    }
}

/// Returns standard output without the lock and buffer that the standard library shares between
/// threads. A thread that has ended may still hold that lock.
fn output() -> io::Result<File> {
    Ok(raw_stdout().as_fd().try_clone_to_owned()?.into())
}

/// Locks the terminal for writing. Returns `None` after 100 ms, because the lock may be held by the
/// calling thread, or by a thread that has ended.
fn lock() -> Option<MutexGuard<'static, ()>> {
    for _ in 0..100 {
        match WRITING.try_lock() {
            Ok(writing) => return Some(writing),
            Err(TryLockError::Poisoned(writing)) => return Some(writing.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
        }
    }
    None
}

fn show() -> io::Result<()> {
    let _writing = lock();
    enable_raw_mode()?;
    OPEN.store(true, Ordering::SeqCst);
    execute!(output()?, EnterAlternateScreen)
}

/// Restores the terminal if it shows the view. Ignores errors, because nobody can act on them.
fn close() {
    let _writing = lock();
    if !OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let _ = disable_raw_mode();
    let mut bytes = Vec::new();
    let _ = execute!(bytes, LeaveAlternateScreen, Show);
    let _ = output().and_then(|mut output| output.write_all(&bytes));
}
