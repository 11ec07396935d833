//! Prints the function and source line of each address in the message of a fatal trap.

use std::io::{self, Write};

use object::read::elf::ProgramHeader;
use object::{BigEndian, Object};

use crate::cmd::boot::consoles::Consoles;
use crate::cmd::boot::description::CompleteDescription;
use crate::cmd::boot::images::ImageFile;
use crate::cmd::boot::{elf, fatal};
use crate::disassembly::sparc::disassembly;
use crate::symbols::debugging::DebugInfo;

/// Looks for consoles that end with the message of a fatal trap. Prints the function and the source
/// line of each address in such a message, and the instruction at %tpc.
pub(crate) fn print(
    output: &mut impl Write,
    consoles: &Consoles,
    hypervisor: &ImageFile,
    complete: &CompleteDescription,
) -> io::Result<()> {
    for (number, (guest, image)) in complete.guests.iter().zip(&complete.images).enumerate() {
        let text = String::from_utf8_lossy(consoles.text(number));
        let Some((is_hypervisor, addresses)) = fatal::addresses(&text) else {
            continue;
        };
        let image = if is_hypervisor { hypervisor } else { image };
        for (register, address) in addresses {
            let address = u64::from_str_radix(&address, 16).unwrap_or(0);
            let location = image.location(address);
            let instruction = match register {
                "%tpc" => image.word(address).map(|word| {
                    let instruction = disassembly(word);
                    let instruction = instruction.as_deref().unwrap_or("no instruction");
                    format!("{word:#010x} ({instruction})")
                }),
                _ => None,
            };
            if location.is_some() || instruction.is_some() {
                let found = [location, instruction].into_iter().flatten();
                let found = found.collect::<Vec<_>>().join(": ");
                writeln!(output, "{}: {register} {address:#x} {found}", guest.name)?;
            }
        }
    }
    Ok(())
}

impl ImageFile {
    /// Reads the word at a virtual address in the image file.
    fn word(&self, address: u64) -> Option<u32> {
        let elf = elf::parse(&self.bytes).ok()?;
        let mut parts = elf.elf_program_headers().iter();
        parts.find_map(|part| {
            let offset = address.checked_sub(part.p_vaddr(BigEndian))?;
            let bytes = part.data(BigEndian, elf.data()).ok()?;
            let word = bytes.get(offset as usize..)?.first_chunk()?;
            Some(u32::from_be_bytes(*word))
        })
    }

    /// Returns the function and the source line of an address. Without debugging information,
    /// returns the function alone.
    fn location(&self, address: u64) -> Option<String> {
        if let Some(location) = location(&self.bytes, address) {
            return Some(location);
        }
        let elf = elf::parse(&self.bytes).ok()?;
        let symbols = elf.symbol_map();
        let name = symbols.before(address)?.name().to_owned();
        Some(addr2line::demangle_auto(name.into(), None).into_owned())
    }
}

/// Returns the function and the source line of an address; `None` if the file has no debugging
/// information for it.
fn location(elf: &[u8], address: u64) -> Option<String> {
    let debugging = DebugInfo::new(elf, None).ok()?;
    let mut frames = debugging.frames(address)?;
    let frame = frames.next().ok()??;
    let function = frame.function.as_ref();
    let function = function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
    let line = frame.location.map(|location| {
        let (file, line) = (location.file.unwrap_or("?"), location.line.unwrap_or(0));
        format!("{file}:{line}")
    });
    let found = [function, line].into_iter().flatten();
    Some(found.collect::<Vec<_>>().join(" at "))
}
