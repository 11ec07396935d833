//! The terminal, which is as it was when the view ends: however it ends, but for SIGKILL.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use crate::interrupt;
use ratatui::Frame;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::prelude::{CrosstermBackend, Terminal};

/// Whether the terminal shows the view.
static OPEN: AtomicBool = AtomicBool::new(false);

/// Locked while the terminal is written to.
static WRITING: Mutex<()> = Mutex::new(());

/// The view's terminal.
pub struct Screen(Terminal<CrosstermBackend<BufWriter<File>>>);

impl Screen {
    /// Keeps what the terminal shows, and clears it for the view. A panic gives it back before it is reported, and an interrupt
    /// before it ends the process.
    ///
    /// # Errors
    /// Standard output is no terminal, or interrupts cannot be caught.
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

    /// Draws the view, unless the terminal has been given back.
    ///
    /// # Errors
    /// The terminal cannot be written to.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        match lock() {
            Some(_) if OPEN.load(Ordering::SeqCst) => self.0.draw(view).map(drop),
            _ => Ok(()),
        }
    }

    /// Gives the terminal back while `meanwhile` lasts.
    ///
    /// # Errors
    /// The terminal cannot be written to.
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

/// Returns standard output without the lock and the buffer that the process shares: a thread that holds them may be the one
/// that is ended.
fn output() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Waits until nobody else writes to the terminal. `None` if that takes too long: whoever does may be ended, or be this thread.
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

/// Has the terminal show the view.
fn show() -> io::Result<()> {
    let _writing = lock();
    enable_raw_mode()?;
    OPEN.store(true, Ordering::SeqCst);
    execute!(output()?, EnterAlternateScreen)
}

/// Gives the terminal back, if it shows the view. An error is ignored: there is nothing else to be done.
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
