//! Physical memory, and the decoded instructions in it.

use std::ops::Range;

use crate::interpreter::Instruction;

/// The binary logarithm of the page size. The hardware translates no smaller page.
pub(super) const PAGE_SHIFT: u32 = 13;
pub(super) const PAGE: usize = 1 << PAGE_SHIFT;

/// There is no memory at this physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no memory at the physical address {0:#x}")]
pub struct NoMemoryAt(pub u64);

/// Memory at some ranges of physical addresses. A page is allocated, filled with zeros, when it is first used.
#[derive(Clone, Debug)]
pub(super) struct Physical {
    ranges: Vec<MemoryRange>,
    pages: Vec<Page>,
}

/// A range of addresses. For each page of the range, `pages` has the page's index in [`Physical::pages`] plus 1, or 0 if the page is not
/// allocated yet.
#[derive(Clone, Debug)]
struct MemoryRange {
    range: Range<u64>,
    pages: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Page {
    bytes: Box<[u8; PAGE]>,
    /// The decoded instructions; `None` until an instruction in the page has been executed.
    instructions: Option<Box<[Instruction; PAGE / 4]>>,
}

/// A page's index in [`Physical::pages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageNumber(u32);

impl Physical {
    /// Returns memory at the given ranges of whole pages.
    pub(super) fn new(ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let memory = |range: Range<u64>| MemoryRange {
            pages: vec![0; (range.end - range.start) as usize >> PAGE_SHIFT],
            range,
        };
        Self { ranges: ranges.into_iter().map(memory).collect(), pages: Vec::new() }
    }

    /// Returns whether there is memory at an address.
    pub(super) fn has(&self, physical: u64) -> bool {
        let mut ranges = self.ranges.iter();
        ranges.any(|memory| memory.range.contains(&physical))
    }

    /// Returns the allocated pages, each with its address.
    pub(super) fn pages(&self) -> Vec<(u64, &[u8])> {
        let mut allocated = Vec::with_capacity(self.pages.len());
        for MemoryRange { range, pages } in &self.ranges {
            for (address, number) in range.clone().step_by(PAGE).zip(pages) {
                if let Some(page) = number.checked_sub(1) {
                    allocated.push((address, &self.pages[page as usize].bytes[..]));
                }
            }
        }
        allocated
    }

    /// Returns the page that contains an address; `None` if there is no memory at the address.
    pub(super) fn page(&mut self, physical: u64) -> Option<PageNumber> {
        let mut ranges = self.ranges.iter_mut();
        let memory = ranges.find(|memory| memory.range.contains(&physical))?;
        let number = &mut memory.pages[(physical - memory.range.start) as usize >> PAGE_SHIFT];
        if *number == 0 {
            self.pages.push(Page::new());
            *number = self.pages.len() as u32;
        }
        Some(PageNumber(*number - 1))
    }

    /// Returns the 64-bit word at an address that is a multiple of 8; `None` if there is no memory.
    pub(super) fn peek(&self, physical: u64) -> Option<u64> {
        let memory = self.ranges.iter().find(|memory| memory.range.contains(&physical))?;
        let number = memory.pages[(physical - memory.range.start) as usize >> PAGE_SHIFT];
        let allocated = number.checked_sub(1).map(PageNumber);
        Some(allocated.map_or(0, |page| self.read(page, physical, 3)))
    }

    /// Reads a value of `1 << shift` bytes. Only the address's offset in the page is used. The address must be a multiple of the size.
    #[inline(always)]
    pub(super) fn read(&self, page: PageNumber, address: u64, shift: u8) -> u64 {
        self.pages[page.0 as usize].read(address as usize % PAGE, shift)
    }

    /// Writes the low `1 << shift` bytes of a value.
    #[inline(always)]
    pub(super) fn write(&mut self, page: PageNumber, address: u64, shift: u8, value: u64) {
        let page = &mut self.pages[page.0 as usize];
        let at = address as usize % PAGE;
        let bytes = value.to_be_bytes();
        // Each branch has a constant number of bytes to copy, which the compiler knows.
        match shift {
            0 => page.write(at, &bytes[7..]),
            1 => page.write(at, &bytes[6..]),
            2 => page.write(at, &bytes[4..]),
            _ => page.write(at, &bytes),
        }
    }

    /// Returns the instruction at an address. Only the address's offset in the page is used.
    #[inline(always)]
    pub(super) fn instruction(&mut self, page: PageNumber, address: u64) -> Instruction {
        self.pages[page.0 as usize].instruction(address as usize % PAGE)
    }

    /// Writes bytes, up to the first address without memory.
    pub(super) fn load(&mut self, physical: u64, bytes: &[u8]) -> Result<(), NoMemoryAt> {
        self.page_by_page(physical, bytes.len(), |page, at, part| page.write(at, &bytes[part]))
    }

    /// Reads bytes, up to the first address without memory.
    pub(super) fn dump(&mut self, physical: u64, bytes: &mut [u8]) -> Result<(), NoMemoryAt> {
        self.page_by_page(physical, bytes.len(), |page, at, part| {
            let part = &mut bytes[part];
            part.copy_from_slice(&page.bytes[at..at + part.len()]);
        })
    }

    /// Calls `access` for each page that `length` bytes occupy, up to the first address without memory. The arguments are the page, the
    /// offset in the page, and the range of bytes.
    fn page_by_page(
        &mut self,
        physical: u64,
        length: usize,
        mut access: impl FnMut(&mut Page, usize, Range<usize>),
    ) -> Result<(), NoMemoryAt> {
        let mut done = 0;
        while done < length {
            let address = physical.wrapping_add(done as u64);
            let page = self.page(address).ok_or(NoMemoryAt(address))?;
            let at = address as usize % PAGE;
            let end = length.min(done + PAGE - at);
            access(&mut self.pages[page.0 as usize], at, done..end);
            done = end;
        }
        Ok(())
    }
}

impl Page {
    fn new() -> Self {
        Self { bytes: Box::new([0; PAGE]), instructions: None }
    }

    #[inline(always)]
    fn read(&self, at: usize, shift: u8) -> u64 {
        let bytes = &self.bytes[at..at + (1 << shift)];
        match *bytes {
            [a] => a.into(),
            [a, b] => u16::from_be_bytes([a, b]).into(),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]).into(),
            [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
            _ => unreachable!("an access has 1, 2, 4 or 8 bytes"),
        }
    }

    #[inline(always)]
    fn write(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        if let Some(instructions) = &mut self.instructions {
            for word in at / 4..(at + bytes.len()).div_ceil(4) {
                instructions[word] = decoded(&self.bytes, word);
            }
        }
    }

    #[inline(always)]
    fn instruction(&mut self, at: usize) -> Instruction {
        let Self { bytes, instructions } = self;
        let instructions = instructions.get_or_insert_with(|| {
            let mut all = Box::new([Instruction::Illegal; PAGE / 4]);
            for (word, instruction) in all.iter_mut().enumerate() {
                *instruction = decoded(bytes, word);
            }
            all
        });
        instructions[at / 4 % (PAGE / 4)]
    }
}

fn decoded(bytes: &[u8; PAGE], word: usize) -> Instruction {
    let (words, _) = bytes.as_chunks();
    Instruction::decode(u32::from_be_bytes(words[word]))
}
