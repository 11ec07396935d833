//! `bundle`: builds the hypervisor and the guest that `vfalls` contains.

use crate::qemu::bundle;

/// Rebuild the bundled hypervisor and guest
///
/// The bundled files are the same, byte for byte, in any directory. A file beside them names the toolchain that builds them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask bundle")]
pub struct BundleArgs {
    /// Pin the toolchain that is installed here: from now on it builds the bundled files
    #[arg(long)]
    pin: bool,
}

pub fn run(args: BundleArgs) -> anyhow::Result<()> {
    bundle::make(args.pin)
}
