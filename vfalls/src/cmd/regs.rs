//! `regs`: lists the 90 performance registers.

use crate::plain;
use std::io::Write;

use anyhow::anyhow;
use clap::ValueEnum;
use guest_abi::{HubUnit, McuRole, PerfReg, RegisterKind};
use platform::{PhysicalAddress, address};
use serde::Serialize;

use crate::cmd::machine::MachineArgs;
use crate::output;
use crate::table;
use simulator::nearest::unknown;

/// List the performance registers, and which of them a machine has
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  vfalls regs --machine maramba --nodes 1\n  \
                        vfalls regs --format json NODE0_MCU0_PCR ZAM2_LPU_C_PIC1")]
pub(crate) struct RegsArgs {
    #[command(flatten)]
    machine: MachineArgs,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,

    /// List only these registers, given by name or number
    #[arg(value_name = "NAME", value_parser = register)]
    names: Vec<PerfReg>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Format {
    /// Aligned columns, for reading
    Table,
    /// A list of objects
    Json,
    /// Comma-separated values with a header
    Csv,
}

fn register(text: &str) -> anyhow::Result<PerfReg> {
    let numbered = text.parse().ok().and_then(PerfReg::new);
    numbered.or_else(|| PerfReg::from_name(text)).ok_or_else(|| {
        anyhow!(unknown("register", text, PerfReg::ALL.into_iter().map(PerfReg::name)))
    })
}

/// A row of the list, in the form used for JSON and CSV. The addresses and the mask are
/// hexadecimal.
#[derive(Serialize)]
struct RegisterRow {
    id: u64,
    name: &'static str,
    kind: &'static str,
    local: Option<String>,
    global: Option<String>,
    write_mask: String,
    supported: bool,
}

const HEADER: &str = ">id|name|kind|>local|>global|>write_mask|supported";

impl RegisterRow {
    fn cells(&self) -> [String; 7] {
        [
            self.id.to_string(),
            self.name.to_owned(),
            self.kind.to_owned(),
            self.local.clone().unwrap_or_default(),
            self.global.clone().unwrap_or_default(),
            self.write_mask.clone(),
            self.supported.to_string(),
        ]
    }
}

pub(crate) fn run(args: RegsArgs) -> anyhow::Result<()> {
    let machine = args.machine.machine()?;
    let hex = |address: PhysicalAddress| format!("{:#x}", address.0);
    let wanted = |register: &PerfReg| args.names.is_empty() || args.names.contains(register);
    let rows = PerfReg::ALL.into_iter().filter(wanted).map(|register| RegisterRow {
        id: register.id(),
        name: register.name(),
        kind: kind(register),
        local: address::local(register).map(hex),
        global: address::global(register).map(hex),
        write_mask: format!("{:#x}", register.info().write_mask),
        supported: machine.has_register(register),
    });
    let mut output = plain::stdout();
    match args.format {
        Format::Table => {
            let mut table = table::with_header(HEADER);
            for row in rows {
                let mut cells = row.cells();
                cells[6] = if row.supported { "yes" } else { "no" }.to_owned();
                table.add_row(cells);
            }
            write!(output, "{}", table::text(&table))?;
        }
        Format::Json => {
            writeln!(output, "{}", output::json(&rows.collect::<Vec<_>>())?)?;
        }
        Format::Csv => {
            writeln!(output, "{}", HEADER.replace('>', "").replace('|', ","))?;
            for row in rows {
                writeln!(output, "{}", row.cells().join(","))?;
            }
        }
    }
    Ok(())
}

fn kind(register: PerfReg) -> &'static str {
    match register.kind() {
        RegisterKind::Strand => "strand-pcr",
        RegisterKind::L2 => "l2-perf-config",
        RegisterKind::Dram { role: McuRole::Pcr, .. } => "dram-pcr",
        RegisterKind::Dram { role: McuRole::Pic, .. } => "dram-pic",
        RegisterKind::Hub { unit, role, .. } => {
            let of_unit = match unit {
                HubUnit::Gpd => ["gpd-pcr", "gpd-pic0", "gpd-pic1"],
                HubUnit::Asu => ["asu-pcr", "asu-pic0", "asu-pic1"],
                _ => ["lpu-pcr", "lpu-pic0", "lpu-pic1"],
            };
            of_unit[role as usize]
        }
    }
}
