//! Levels of privilege (UltraSPARC Architecture 2007, chapter 3).

/// The privilege with which a strand executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nonprivileged software.
    User,
    /// An operating system.
    Privileged,
    /// A hypervisor.
    Hyperprivileged,
}
