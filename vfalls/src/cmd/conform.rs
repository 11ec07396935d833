//! `conform`: checks a hypervisor image against the contract.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use indicatif::ProgressBar;
use perfctr_service::GuestConfig;
use simulator::conform::{self, CheckError, Omission, Options, Report};
use simulator::execute::map;
use simulator::machine::description::{self, Described};

use crate::cmd::boot::elf;
use crate::cmd::boot::images::ImageFile;
use crate::exit::Mismatch;
use crate::interrupt::{self, Interrupted};
use crate::output::{self, Force};
use crate::plain::{self, raw_stderr};
use crate::table;

/// Check a hypervisor image against the contract of the performance counter service
///
/// The image boots on simulated machines. Guests make some hundreds of thousands of calls by real
/// traps. The calls cover every register, every right and every version. They check statuses,
/// values, and the registers that a call must leave unchanged. They also use broken units, and hubs
/// for which many strands ask. Each answer is compared with the answer of a reference model. The
/// report lists the differences, the parts that were not checked, and the number of instructions
/// that calls take. The exit status is 1 if the image differs.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  \
                  vfalls conform --hypervisor mine.elf\n  \
                  vfalls conform --hypervisor mine.elf --without hubs,1.1   # it leaves these out on purpose\n  \
                  vfalls conform --hypervisor mine.elf --md mine.toml       # its machine and guests are built in\n  \
                  vfalls conform                                            # the bundled hypervisor\n\n\
                  An image needs nothing but the traps. If it reads the machine description, it is checked on several machines with \
                  several guests; otherwise with the guests of --md, or one with every right on strand 0 of a T5440.")]
pub(crate) struct ConformArgs {
    /// The hypervisor: an ELF file for SPARC V9, linked at 0x100000 [default: the bundled one]
    #[arg(long, value_name = "FILE")]
    hypervisor: Option<PathBuf>,

    /// What the image leaves out on purpose
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    without: Vec<Without>,

    /// The machine and the guests of an image that does not read a machine description, binary or source (.toml)
    #[arg(long, value_name = "FILE")]
    md: Option<PathBuf>,

    /// Perform only these checks
    #[arg(long, value_name = "LIST", value_parser = conform::CHECKS, value_delimiter = ',')]
    only: Vec<String>,

    /// Take only one of every seven configurations (machine, guests and prior state) of each sweep
    #[arg(long)]
    quick: bool,

    /// Write the result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    #[command(flatten)]
    force: Force,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Without {
    /// Version 1.1: a guest that asks for it gets 1.0
    #[value(name = "1.1")]
    Minor1,
    /// The registers of hubs, 18 to 89
    Hubs,
    /// Register 1, L2 control
    L2,
}

impl From<Without> for Omission {
    fn from(without: Without) -> Self {
        match without {
            Without::Minor1 => Self::Minor1,
            Without::Hubs => Self::Hubs,
            Without::L2 => Self::L2,
        }
    }
}

pub(crate) fn run(args: ConformArgs) -> anyhow::Result<()> {
    let json = args.force.create_if_wanted(args.json.as_ref())?;
    let image = match &args.hypervisor {
        Some(path) => ImageFile::read(path, &map::HYPERVISOR)?,
        None => ImageFile::bundled_hypervisor()?,
    };
    let options = Options {
        omissions: args.without.into_iter().map(Omission::from).collect(),
        own: args.md.as_deref().map(own).transpose()?,
        only: args.only,
        quick: args.quick,
    };
    let ours = loaded(&ImageFile::bundled_hypervisor()?)?;
    interrupt::catch()?;
    let bar = if raw_stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
    let report = conform::check(&loaded(&image)?, &ours, &options, &mut |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        !interrupt::happened()
    });
    bar.finish_and_clear();
    let report = report.map_err(|fault| match fault {
        CheckError::Interrupted => Interrupted.into(),
        fault => anyhow::Error::new(fault).context(image.name.clone()),
    })?;
    print(&image.name, &report)?;
    output::complete_json(json, &report)?;
    match report.rows.len() {
        0 => Ok(()),
        1 => bail!(Mismatch(format!("{} differs from the contract", image.name))),
        rows => bail!(Mismatch(format!("{} differs from the contract in {rows} ways", image.name))),
    }
}

fn loaded(image: &ImageFile) -> anyhow::Result<conform::Image> {
    let text = elf::text(&elf::parse(&image.bytes).with_context(|| image.name.clone())?);
    let (segments, interfaces) = (elf::loaded(&image.bytes)?, image.interfaces()?);
    Ok(conform::Image { segments, text, interfaces })
}

/// Reads the machine and the guests of a description.
fn own(path: &Path) -> anyhow::Result<conform::Configuration> {
    let name = || path.display().to_string();
    let described = Described::new(&description::load(path)?).with_context(name)?;
    let Some(machine) = described.machine else {
        bail!("{}: describes no machine with Victoria Falls processors", name());
    };
    let mut guests = [GuestConfig::default(); conform::GUESTS];
    let found = described.guests.len();
    ensure!(
        (1..=guests.len()).contains(&found),
        "{}: has {found} guests, expected 1 to {}",
        name(),
        guests.len()
    );
    for (place, guest) in guests.iter_mut().zip(described.guests) {
        *place = guest.config;
    }
    Ok(conform::Configuration { machine, guests })
}

fn print(name: &str, report: &Report) -> anyhow::Result<()> {
    let mut output = plain::stdout();
    let differences = match report.rows.len() {
        0 => "no difference from the contract".to_owned(),
        _ => format!("{} differences from the contract", report.differences.len()),
    };
    writeln!(output, "{name}: {} calls, {differences}", report.calls)?;
    if !report.rows.is_empty() {
        let mut rows =
            table::with_header("call|of|rights|version|expected|found|>times|for example");
        for row in &report.rows {
            rows.add_row([
                row.call,
                &row.subjects,
                &table::cut(&row.rights, 40),
                &row.versions,
                &row.expected,
                &row.found,
                &row.count.to_string(),
                &row.example,
            ]);
        }
        write!(output, "\n{}", table::text(&rows))?;
    }
    for (title, lines) in
        [("Served in addition to the contract", &report.served), ("Not checked", &report.unchecked)]
    {
        if !lines.is_empty() {
            writeln!(output, "\n{title}:")?;
            for line in lines {
                writeln!(output, "  {line}")?;
            }
        }
    }
    let mut counts = table::with_header("instructions, trap to done|>here|>ours|>Sun's");
    let text = |count: Option<u64>| count.map_or("-".to_owned(), |count| count.to_string());
    for count in &report.instructions {
        let numbers = [count.image, count.ours, count.sun].map(text);
        let [here, ours, sun] = numbers;
        counts.add_row([count.call.to_owned(), here, ours, sun]);
    }
    write!(output, "\n{}", table::text(&counts))?;
    output.flush()?;
    Ok(())
}
