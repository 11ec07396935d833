//! A map that finds a value in a few instructions.

/// A key of a [`Lookup`].
pub(crate) trait Key: Copy + Eq {
    /// Returns a number into which [`mix`] has mixed all parts of the key.
    fn hash_value(&self) -> u64;
}

impl Key for u64 {
    #[inline(always)]
    fn hash_value(&self) -> u64 {
        mix(*self, 0)
    }
}

/// Mixes two numbers. All bits of the result depend on all bits of both numbers.
#[inline(always)]
pub(crate) const fn mix(one: u64, other: u64) -> u64 {
    let one = (one ^ 0x9e37_79b9_7f4a_7c15) as u128;
    let product = one * (other ^ 0xbf58_476d_1ce4_e5b9) as u128;
    (product >> 64) as u64 ^ product as u64
}

/// The number of slots in a new table, and the number that marks a free slot.
const MIN_SLOTS: usize = 16;
const FREE: u32 = u32::MAX;

/// A map whose keys are never removed one by one. It keeps its entries in the order in which they were added.
#[derive(Clone, Debug)]
pub(crate) struct Lookup<K, V> {
    entries: Vec<(K, V)>,
    /// The slots of the hash table. A used slot holds an entry's index. The index is in the slot that the entry's mixed key selects, or in
    /// one of the next slots. At least half of the slots are free.
    slots: Box<[u32]>,
}

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self { entries: Vec::new(), slots: Box::new([FREE; MIN_SLOTS]) }
    }
}

impl<K: Key, V> Lookup<K, V> {
    /// Returns a key's slot, with the index of the key's entry. If the key is missing, returns a free slot and [`FREE`].
    #[inline(always)]
    fn find(&self, key: &K) -> (usize, u32) {
        let mask = self.slots.len() - 1;
        let mut slot = key.hash_value() as usize & mask;
        loop {
            let number = self.slots[slot];
            if number == FREE || self.entries[number as usize].0 == *key {
                return (slot, number);
            }
            slot = (slot + 1) & mask;
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        let (_, number) = self.find(key);
        self.entries.get(number as usize).map(|(_, value)| value)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (_, number) = self.find(key);
        self.entries.get_mut(number as usize).map(|(_, value)| value)
    }

    /// Returns a key's value. If the key is missing, adds it with the value that `new` returns.
    #[inline]
    pub(crate) fn or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        let (slot, mut number) = self.find(&key);
        if number == FREE {
            number = self.insert(slot, key, new());
        }
        &mut self.entries[number as usize].1
    }

    /// Returns the index of a key's entry, or an index that no entry has.
    pub(crate) fn number(&self, key: &K) -> u32 {
        self.find(key).1
    }

    /// Returns the value of the entry with this index, if the entry has this key. An entry's index changes only when other entries are
    /// removed.
    #[inline(always)]
    pub(crate) fn at(&mut self, number: u32, key: &K) -> Option<&mut V> {
        let (known, value) = self.entries.get_mut(number as usize)?;
        (known == key).then_some(value)
    }

    #[inline(never)]
    fn insert(&mut self, slot: usize, key: K, value: V) -> u32 {
        let number = self.entries.len();
        self.slots[slot] = number as u32;
        self.entries.push((key, value));
        if self.entries.len() * 2 > self.slots.len() {
            self.renew(self.slots.len() * 2);
        }
        number as u32
    }

    fn renew(&mut self, slots: usize) {
        self.slots = vec![FREE; slots].into();
        for number in 0..self.entries.len() {
            let (slot, _) = self.find(&self.entries[number].0);
            self.slots[slot] = number as u32;
        }
    }

    /// Removes all entries for which `keep` returns `false`.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&K, &V) -> bool) {
        self.entries.retain(|(key, value)| keep(key, value));
        self.renew(self.slots.len());
    }

    /// Removes and returns all entries.
    pub(crate) fn take(&mut self) -> Vec<(K, V)> {
        self.slots.fill(FREE);
        std::mem::take(&mut self.entries)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.entries.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_lookup_is_a_map() {
        let mut lookup = Lookup::default();
        let mut map = HashMap::new();
        for number in 0..10_000_u64 {
            let key = (number * number % 3001) << (number % 40);
            *lookup.or_insert_with(key, || 0) += number;
            *map.entry(key).or_insert(0) += number;
            if number % 4_000 == 3_999 {
                lookup.retain(|key, _| key % 3 != 0);
                map.retain(|key, _| key % 3 != 0);
            }
        }
        assert_eq!(lookup.len(), map.len());
        assert!(map.iter().all(|(key, value)| lookup.get(key) == Some(value)));
        let number = lookup.number(&1);
        assert_eq!(lookup.at(number, &1).copied(), lookup.get(&1).copied());
        assert_eq!(lookup.at(number, &2), None);
        assert_eq!(lookup.at(FREE, &1), None);
        assert!(lookup.iter().all(|(key, value)| map.get(key) == Some(value)));
        assert_eq!(lookup.get(&u64::MAX), None);
        assert_eq!(lookup.get_mut(&u64::MAX), None);
        assert_eq!(lookup.take().len(), map.len());
        assert_eq!((lookup.len(), lookup.get(&1)), (0, None));
    }
}
