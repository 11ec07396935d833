//! Functions and lines of the addresses in a fatal trap's registers.

use std::io::{self, Write};
use std::path::Path;

use xtask::qemu::fatal;

use crate::consoles::Consoles;
use crate::description::Guest;
use crate::images::Image;

/// Prints functions and lines after the registers of fatal traps that the hypervisor has printed.
///
/// # Errors
/// `output` cannot be written.
pub(crate) fn print(
    output: &mut impl Write,
    consoles: &Consoles,
    hypervisor: &Image,
    images: &[Image],
    guests: &[Guest],
) -> io::Result<()> {
    for (number, guest) in guests.iter().enumerate() {
        let text = String::from_utf8_lossy(consoles.text(number));
        let Some((is_hypervisor, addresses)) = fatal::addresses(&text) else {
            continue;
        };
        let image = if is_hypervisor {
            hypervisor
        } else {
            &images[number]
        };
        for (register, address) in addresses {
            let address = u64::from_str_radix(&address, 16).unwrap_or(0);
            if let Some(place) = image.path.as_deref().and_then(|path| place(path, address)) {
                writeln!(output, "{}: {register} {address:#x} {place}", guest.name)?;
            }
        }
    }
    Ok(())
}

/// Returns the function and the line that an address belongs to.
fn place(path: &Path, address: u64) -> Option<String> {
    let loader = addr2line::Loader::new(path).ok()?;
    let mut frames = loader.find_frames(address).ok()?;
    if let Ok(Some(frame)) = frames.next() {
        let function = frame
            .function
            .as_ref()
            .and_then(|name| name.demangle().ok())
            .map(|name| name.into_owned());
        let line = frame.location.map(|location| {
            format!(
                "{}:{}",
                location.file.unwrap_or("?"),
                location.line.unwrap_or(0)
            )
        });
        return Some(
            [function, line]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" at "),
        );
    }
    loader.find_symbol(address).map(str::to_owned)
}
