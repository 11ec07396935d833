//! `bench`.

/// bench
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Runs it.
///
/// # Errors
/// None.
pub fn run(_: Args) -> anyhow::Result<()> {
    Ok(())
}
