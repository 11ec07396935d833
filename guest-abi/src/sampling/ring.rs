//! Where samples wait until they are taken.

/// Room for `N` entries, first in, first out. What comes when it is full is lost, and counted.
#[derive(Clone, Debug)]
pub struct Ring<T, const N: usize> {
    entries: [Option<T>; N],
    first: usize,
    len: usize,
    lost: u64,
}

impl<T: Copy, const N: usize> Ring<T, N> {
    /// With nothing in it.
    pub const fn new() -> Self {
        Self {
            entries: [None; N],
            first: 0,
            len: 0,
            lost: 0,
        }
    }

    /// Puts one in. Whether there was room.
    pub fn push(&mut self, entry: T) -> bool {
        let end = (self.first + self.len) % N.max(1);
        match self.entries.get_mut(end) {
            Some(place) if self.len < N => {
                *place = Some(entry);
                self.len += 1;
                true
            }
            _ => {
                self.lost += 1;
                false
            }
        }
    }

    /// Takes the oldest one out.
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.entries.get_mut(self.first)?.take()?;
        self.first = (self.first + 1) % N.max(1);
        self.len -= 1;
        Some(entry)
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many were lost because there was no room.
    pub const fn lost(&self) -> u64 {
        self.lost
    }
}

impl<T: Copy, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self::new()
    }
}
