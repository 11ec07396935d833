//! Finds the function and the source line of each code address in the registers that the hypervisor prints after a fatal trap.

use std::path::Path;
use std::process::Command;

use crate::cargo::{output, root};
use crate::tools::{self, SPARC_ADDR2LINE};
use vfalls::cmd::boot::fatal::addresses;

/// Returns a line for each code address in the registers that the hypervisor printed: the trap's address, and the call addresses in %o7 and
/// in each window's %i7. Omits addresses outside functions.
pub fn source_locations(console: &str, hypervisor: &Path, guest: &Path) -> anyhow::Result<String> {
    let Some((is_hypervisor, addresses)) = addresses(console) else {
        return Ok(String::new());
    };
    let program = if is_hypervisor { hypervisor } else { guest };
    let mut lines = String::new();
    for (register, address) in addresses {
        if let Some(place) = source_location(program, &address)? {
            lines += &format!("{register} {place}\n");
        }
    }
    Ok(lines)
}

/// Returns the functions and lines of a hexadecimal address, with inlined functions first; `None` if no function contains the address.
fn source_location(program: &Path, address: &str) -> anyhow::Result<Option<String>> {
    let mut addr2line = Command::new(tools::path(&SPARC_ADDR2LINE)?);
    let options = ["--addresses", "--functions", "--demangle", "--inlines", "--pretty-print"];
    addr2line.args(options).arg("--exe").arg(program);
    let found = output(addr2line.arg(address), "addr2line")?;
    let found = String::from_utf8_lossy(&found);
    let known = !found.contains(": ?? ??:");
    let sources = format!("{}/", root().display());
    Ok(known.then(|| found.trim_end().replace(&sources, "")))
}
