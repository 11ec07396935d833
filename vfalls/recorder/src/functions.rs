//! The C library's lock functions, and their addresses in the program.

use std::collections::HashMap;

use refs::Mapping;

use crate::elf::Elf;

/// A C library function that makes threads wait, or lets waiting threads continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Function {
    /// Takes a mutex or a spin lock.
    Lock = 1,
    /// Takes a mutex if no thread holds it. Does not wait.
    TryLock = 2,
    /// Takes a read-write lock for reading. Several threads can hold the lock for reading at the same time.
    ReadLock = 3,
    TryReadLock = 4,
    WriteLock = 5,
    TryWriteLock = 6,
    /// Releases a lock of any kind.
    Unlock = 7,
    /// Waits for a condition variable.
    Wait = 8,
    /// Waits for a condition variable, but not beyond a given time.
    TimedWait = 9,
    /// Wakes one thread that waits for a condition variable. `Broadcast` wakes all of them.
    Signal = 10,
    Broadcast = 11,
    Barrier = 12,
    /// Decrements a semaphore. Waits while the semaphore is 0.
    Take = 13,
    TryTake = 14,
    /// Increments a semaphore.
    Post = 15,
}

impl Function {
    const ALL: [Self; 15] = [
        Self::Lock,
        Self::TryLock,
        Self::ReadLock,
        Self::TryReadLock,
        Self::WriteLock,
        Self::TryWriteLock,
        Self::Unlock,
        Self::Wait,
        Self::TimedWait,
        Self::Signal,
        Self::Broadcast,
        Self::Barrier,
        Self::Take,
        Self::TryTake,
        Self::Post,
    ];

    /// Returns the function with this number; `None` for 0.
    pub(crate) fn numbered(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// Returns the function with this symbol. A C library can have several symbols for one function, such as `pthread_mutex_lock`,
    /// `__pthread_mutex_lock` and `__GI___pthread_mutex_lock`. A symbol may end with `@` and a version.
    fn named(symbol: &str) -> Option<Self> {
        let name = symbol.split('@').next()?.trim_start_matches('_');
        let name = name.strip_prefix("GI_").unwrap_or(name).trim_start_matches('_');
        let name = name.strip_prefix("new_").unwrap_or(name);
        Some(match name {
            "pthread_mutex_lock" | "pthread_spin_lock" => Self::Lock,
            "pthread_mutex_trylock" | "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
                Self::TryLock
            }
            "pthread_rwlock_rdlock" => Self::ReadLock,
            "pthread_rwlock_tryrdlock" => Self::TryReadLock,
            "pthread_rwlock_wrlock" => Self::WriteLock,
            "pthread_rwlock_trywrlock" => Self::TryWriteLock,
            "pthread_mutex_unlock" | "pthread_spin_unlock" | "pthread_rwlock_unlock" => {
                Self::Unlock
            }
            "pthread_cond_wait" => Self::Wait,
            "pthread_cond_timedwait" | "pthread_cond_clockwait" => Self::TimedWait,
            "pthread_cond_signal" => Self::Signal,
            "pthread_cond_broadcast" => Self::Broadcast,
            "pthread_barrier_wait" => Self::Barrier,
            "sem_wait" => Self::Take,
            "sem_trywait" => Self::TryTake,
            "sem_post" => Self::Post,
            _ => return None,
        })
    }
}

/// The lock functions that were found in the mapped files.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    /// The functions, by the address of their first instruction.
    found: HashMap<u64, Function>,
}

impl Functions {
    /// Adds the lock functions in the files of these mappings.
    pub(crate) fn add(&mut self, mappings: &[Mapping]) {
        for mapping in mappings {
            let symbols = Elf::open(&mapping.path).and_then(|elf| symbols(&elf, Function::named));
            for symbol in symbols.unwrap_or_default() {
                if let Some(address) = symbol.address_in(mapping) {
                    self.found.insert(address, symbol.function);
                }
            }
        }
    }

    /// Returns the lock function that begins at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<Function> {
        self.found.get(&address).copied()
    }
}

/// A function in the symbol table of an ELF file.
pub(crate) struct Symbol<F> {
    /// The position of the function in the file.
    offset: u64,
    function: F,
}

impl<F> Symbol<F> {
    /// Returns the address of the function in memory; `None` if it is not in this mapping of the file.
    pub(crate) fn address_in(&self, mapping: &Mapping) -> Option<u64> {
        let within = self.offset.wrapping_sub(mapping.offset);
        (within < mapping.end - mapping.start).then(|| mapping.start + within)
    }
}

/// Returns the functions in a file's symbol tables for which `named` returns a value, given the name. Returns `None` if the file is
/// malformed.
pub(crate) fn symbols<F>(elf: &Elf, named: impl Fn(&str) -> Option<F>) -> Option<Vec<Symbol<F>>> {
    const SYMBOLS: u64 = 2;
    const DYNAMIC_SYMBOLS: u64 = 11;
    const FUNCTION: u8 = 2;
    const SYMBOL_BYTES: usize = 24;
    let segments = elf.segments()?;
    let sections = elf.sections()?;
    let mut found = Vec::new();
    for section in &sections {
        if section.kind != SYMBOLS && section.kind != DYNAMIC_SYMBOLS {
            continue;
        }
        let names = sections.get(section.link as usize)?;
        let names = elf.bytes(names.offset, names.length)?;
        let table = elf.bytes(section.offset, section.length)?;
        for symbol in table.chunks_exact(SYMBOL_BYTES) {
            if symbol[4] & 0xf != FUNCTION {
                continue;
            }
            let name = names.get(elf.number(symbol, 0, 4)? as usize..)?;
            let name = name.split(|byte| *byte == 0).next().map(str::from_utf8);
            let Some(function) = name.and_then(Result::ok).and_then(&named) else {
                continue;
            };
            // The address is 0 if another file defines the function.
            let address = elf.number(symbol, 8, 8)?;
            let offset = segments.iter().find_map(|segment| segment.position(address));
            found.extend(offset.filter(|_| address != 0).map(|offset| Symbol { offset, function }));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn functions_have_several_symbols() {
        for (symbol, expected) in [
            ("pthread_mutex_lock", Some(Function::Lock)),
            ("___pthread_mutex_lock", Some(Function::Lock)),
            ("__GI___pthread_mutex_lock", Some(Function::Lock)),
            ("pthread_cond_wait@@GLIBC_2.3.2", Some(Function::Wait)),
            ("__new_sem_wait", Some(Function::Take)),
            ("pthread_mutex_lock_full", None),
            ("my_pthread_mutex_lock", None),
            ("pthread_spin_trylock", None),
            ("", None),
        ] {
            assert_eq!(Function::named(symbol), expected, "{symbol}");
        }
        assert_eq!(Function::numbered(0), None);
        assert!(Function::ALL.iter().all(|one| Function::numbered(*one as u8) == Some(*one)));
    }

    /// Returns an ELF file whose only segment maps offset 0x1000 to address 0x41000. The symbol `sem_post` is at 0x41040.
    fn file(is_big: bool) -> Vec<u8> {
        let mut bytes = vec![0; 0x200];
        let mut put = |at: usize, size: usize, value: u64| {
            let value = value.to_be_bytes();
            let mut value = value[8 - size..].to_vec();
            if !is_big {
                value.reverse();
            }
            bytes[at..at + size].copy_from_slice(&value);
        };
        // The header of the file. The table at 0x40 has one segment, and the table at 0x80 has three sections.
        for (at, size, value) in
            [(32, 8, 0x40), (40, 8, 0x80), (54, 2, 56), (56, 2, 1), (58, 2, 64), (60, 2, 3)]
        {
            put(at, size, value);
        }
        for (at, size, value) in [(0, 4, 1), (8, 8, 0x1000), (16, 8, 0x41000), (32, 8, 0x100)] {
            put(0x40 + at, size, value);
        }
        // Section 1 contains symbols, and section 2 contains their names.
        for (at, size, value) in [(4, 4, 2), (24, 8, 0x140), (32, 8, 48), (40, 4, 2)] {
            put(0xc0 + at, size, value);
        }
        for (at, size, value) in [(24, 8, 0x180), (32, 8, 10)] {
            put(0x100 + at, size, value);
        }
        for (at, size, value) in [(0, 4, 1), (4, 1, 0x12), (8, 8, 0x41040), (16, 8, 0x20)] {
            put(0x158 + at, size, value);
        }
        bytes[0x180..0x18a].copy_from_slice(b"\0sem_post\0");
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1 + u8::from(is_big)]);
        bytes
    }

    #[test]
    fn functions_are_found_where_files_are_mapped() {
        for is_big in [false, true] {
            let mut elf = tempfile::NamedTempFile::new().unwrap();
            elf.write_all(&file(is_big)).unwrap();
            let mapping = Mapping {
                start: 0x7000_1000,
                end: 0x7000_2000,
                offset: 0x1000,
                path: elf.path().to_str().unwrap().into(),
                build_id: Vec::new(),
            };
            let mut functions = Functions::default();
            functions.add(&[mapping]);
            assert_eq!(functions.at(0x7000_1040), Some(Function::Post));
            assert_eq!(functions.at(0x7000_1044), None);
        }
    }
}
