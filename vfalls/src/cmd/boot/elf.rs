//! ELF files for SPARC V9.

use std::ops::Range;

use anyhow::{Context, bail, ensure};
use hv_core::trace::description::SECTION;
use object::elf::{EM_SPARCV9, ET_CORE, ET_DYN, ET_EXEC, ET_REL, FileType, PT_LOAD, SHF_EXECINSTR};
use object::read::elf::{ElfFile64, ProgramHeader, SectionHeader};
use object::{BigEndian, Object, ObjectSection, ObjectSymbol};
use platform::interfaces::{Note, OWNER};
use simulator::events::kinds::EventKinds;
use simulator::execute::{Execution, Interfaces};

/// An ELF file for SPARC V9, which [`parse`] has checked.
pub type Elf<'a> = ElfFile64<'a, BigEndian>;

/// Parses the headers of an ELF file for SPARC V9. The error distinguishes a wrong format from a
/// truncated file.
pub fn parse(file: &[u8]) -> anyhow::Result<Elf<'_>> {
    // The fields e_ident, e_type and e_machine.
    let kind = file.get(..20).unwrap_or_default();
    ensure!(
        kind.starts_with(b"\x7fELF\x02\x02") && kind.ends_with(&EM_SPARCV9.0.to_be_bytes()),
        "expected an ELF file for SPARC V9"
    );
    let found = match FileType(u16::from_be_bytes([kind[16], kind[17]])) {
        ET_REL => "an object file, which has not been linked",
        ET_CORE => "a core file, which is a dump of a program's memory",
        ET_EXEC | ET_DYN => return Elf::parse(file).context("expected a whole ELF file"),
        _ => "another type",
    };
    bail!("expected a program that can be loaded, found {found}")
}

/// Returns the address where execution starts. Fails if a segment is outside `memory`, or if the
/// start address is in no segment.
pub fn entry(elf: &Elf<'_>, memory: &Range<u64>) -> anyhow::Result<u64> {
    let segments = segments(elf).context("expected a whole ELF file")?;
    let (first, last) = (memory.start, memory.end - 1);
    ensure!(
        !segments.is_empty(),
        "expected a program that loads at {first:#x} to {last:#x}, found none"
    );
    for segment in &segments {
        ensure!(
            memory.contains(&segment.start) && segment.end <= memory.end,
            "expected a program that loads at {first:#x} to {last:#x}, found one that loads at {:#x}",
            segment.start
        );
    }
    let entry = elf.entry();
    ensure!(
        segments.iter().any(|segment| segment.contains(&entry)) && entry.is_multiple_of(4),
        "expected the entry point at an instruction of the program, found {entry:#x}"
    );
    Ok(entry)
}

/// Returns the address ranges of the loadable segments. Returns `None` if a segment extends beyond
/// the end of the file, or if it has more bytes in the file than in memory.
fn segments(elf: &Elf<'_>) -> Option<Vec<Range<u64>>> {
    let mut segments = Vec::new();
    for header in elf.elf_program_headers() {
        let address = header.p_paddr(BigEndian);
        let size = header.p_memsz(BigEndian);
        if header.p_type(BigEndian) == PT_LOAD && size > 0 {
            let bytes = header.data(BigEndian, elf.data()).ok()?;
            if bytes.len() as u64 > size {
                return None;
            }
            segments.push(address..address.checked_add(size)?);
        }
    }
    Some(segments)
}

/// Returns the address range from the first executable section to the end of the last one.
#[must_use]
pub fn text(elf: &Elf<'_>) -> Range<u64> {
    let executable = elf
        .sections()
        .filter(|section| section.elf_section_header().sh_flags(BigEndian).contains(SHF_EXECINSTR));
    let ranges = executable
        .map(|section| (section.address(), section.address().saturating_add(section.size())));
    ranges.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))).map_or(0..0, |all| all.0..all.1)
}

/// Returns the physical address and the bytes of each loadable segment.
pub fn loaded(file: &[u8]) -> anyhow::Result<Vec<(u64, Vec<u8>)>> {
    let elf = parse(file)?;
    let parts = elf.elf_program_headers().iter().filter(|part| part.p_type(BigEndian) == PT_LOAD);
    Ok(parts
        .map(|part| {
            let bytes = part.data(BigEndian, elf.data()).unwrap_or_default();
            (part.p_paddr(BigEndian), bytes.to_vec())
        })
        .collect())
}

/// Loads an ELF file for SPARC V9. Each segment is loaded at its physical address plus `moved`.
pub fn load(file: &[u8], execution: &mut Execution, moved: u64) -> anyhow::Result<()> {
    for (address, bytes) in loaded(file)? {
        execution.load(address.wrapping_add(moved), &bytes)?;
    }
    Ok(())
}

/// Reads the interfaces of a hypervisor's image from its [notes](platform::interfaces).
pub fn interfaces(elf: &Elf<'_>) -> anyhow::Result<Interfaces> {
    let mut found = Vec::new();
    for part in elf.elf_program_headers() {
        let Some(mut notes) = part.notes(BigEndian, elf.data())? else {
            continue;
        };
        while let Some(note) = notes.next()? {
            if note.name() == OWNER.as_bytes() {
                found.extend(Note::parse(note.n_type(BigEndian).0, note.desc())?);
            }
        }
    }
    Ok(Interfaces::new(found)?)
}

/// Returns the kinds of events that an image [describes](hv_core::trace::description). If the image
/// describes no kinds, returns the project's kinds.
pub fn event_kinds(elf: &Elf<'_>) -> anyhow::Result<EventKinds> {
    match elf.section_by_name(SECTION) {
        Some(section) => Ok(EventKinds::parse(section.data()?)?),
        None => Ok(EventKinds::default()),
    }
}

/// Returns the address of a symbol. Fails if the file has no symbol with this name.
pub fn address(elf: &Elf<'_>, name: &str) -> anyhow::Result<u64> {
    let symbol = elf.symbol_by_name(name).map(|symbol| symbol.address());
    symbol.with_context(|| format!("the image has no symbol {name}"))
}

/// Returns the size of a section in bytes; 0 if there is no such section.
pub fn size(elf: &Elf<'_>, name: &str) -> u64 {
    elf.section_by_name(name).map_or(0, |section| section.size())
}

/// Returns all instructions in executable sections, each with its address.
pub fn instructions(elf: &Elf<'_>) -> anyhow::Result<Vec<(u64, u32)>> {
    let mut all = Vec::new();
    for section in elf.sections() {
        let flags = section.elf_section_header().sh_flags(BigEndian);
        if flags.contains(SHF_EXECINSTR) {
            let (words, _) = section.data()?.as_chunks();
            let codes = words.iter().map(|word| u32::from_be_bytes(*word));
            all.extend((section.address()..).step_by(4).zip(codes));
        }
    }
    Ok(all)
}

/// Returns an ELF file whose only segment contains these instructions. The file is loaded at
/// `address`, and execution starts there.
pub fn program(address: u64, instructions: &[u32]) -> Vec<u8> {
    const HEADERS: u64 = 64 + 56;
    let size = 4 * instructions.len() as u64;
    let mut file = b"\x7fELF\x02\x02\x01".to_vec();
    file.resize(16, 0);
    // The header of an executable for SPARC V9, with one program header and no sections.
    file.extend([2, EM_SPARCV9.0].map(u16::to_be_bytes).concat());
    file.extend(1_u32.to_be_bytes());
    file.extend([address, 64, 0].map(u64::to_be_bytes).concat());
    file.extend(0_u32.to_be_bytes());
    file.extend([64_u16, 56, 1, 64, 0, 0].map(u16::to_be_bytes).concat());
    // The flags of the segment are PF_R | PF_X.
    file.extend([PT_LOAD.0, 5].map(u32::to_be_bytes).concat());
    let part = [HEADERS, address, address, size, size, 4];
    file.extend(part.map(u64::to_be_bytes).concat());
    file.extend(instructions.iter().flat_map(|code| code.to_be_bytes()));
    file
}
