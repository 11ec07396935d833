//! `bundle`: the hypervisor and the guest that the tool has inside.

use crate::qemu::bundle;

/// Make the bundled hypervisor and guest anew
///
/// They are the same, byte for byte, in any directory. The toolchain that makes them is named in a file beside them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:\n  cargo xtask bundle")]
pub struct BundleArgs {
    /// From now on the toolchain that is installed here makes them
    #[arg(long)]
    pin: bool,
}

/// Makes them.
///
/// # Errors
/// See [`bundle::make`].
pub fn run(args: BundleArgs) -> anyhow::Result<()> {
    bundle::make(args.pin)
}
