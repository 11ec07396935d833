//! Writes the header's numbers, which come from the tables of guest-abi.

use std::fmt::{Display, Write};

use guest_abi::event::{AsuEvent, DramEvent, GpdEvent, LpuEvent, SparcEvent};
use guest_abi::kernel;
use guest_abi::layout::{
    AsuPcr, DramPcr, DramPic, EventSelect, GpdPcr, LpuPcr, PerfConfig, SparcPcr, SparcPic,
    SparcSelect,
};
use guest_abi::status::EOK;
use guest_abi::trap::{
    API_GET_VERSION, API_SET_VERSION, CONS_BREAK, CONS_PUTCHAR, EXIT, PerfFunction,
};
use guest_abi::{ApiGroup, Counter, HvError, PerfReg, Pmu, Trap};

use crate::event;

/// Returns all definitions and enumerations, in the order of the header.
pub(crate) fn tables() -> String {
    let mut text = Text::default();
    numbers(&mut text);
    sparc(&mut text);
    text.define_bits(
        "L2_PERF_CONFIG_WRITABLE",
        PerfConfig::WRITABLE,
        "PERF_CONFIG: the bits that exist.",
    );
    selects::<DramPcr>(&mut text, "DRAM", "the bits that exist.");
    let width = "DRAM PIC: bits of a counter. Counter 0 is in bits 62:32, counter 1 in bits 30:0.";
    text.define("DRAM_PIC_WIDTH", DramPic::WIDTH, width);
    for counter in Counter::ALL {
        let (number, flag) = (counter.index(), DramPic::new().with_wrapped((*counter).into()));
        let bit = u64::from(flag).trailing_zeros();
        let comment = format!(
            "DRAM PIC bit {bit}: counter {number} has wrapped. Only a write of the register clears it."
        );
        text.define_bits(&format!("DRAM_PIC_WRAPPED{number}"), flag.into(), &comment);
    }
    text.define_bits("DRAM_PIC_WRITABLE", DramPic::WRITABLE, "DRAM PIC: the bits that exist.");
    let wide = "the bits that exist. The counters have 64 bits.";
    selects::<LpuPcr>(&mut text, "LPU", wide);
    selects::<GpdPcr>(&mut text, "GPD", wide);
    selects::<AsuPcr>(&mut text, "ASU", wide);
    statuses(&mut text);
    registers(&mut text);
    units(&mut text);
    perf_config(&mut text);
    events(&mut text);
    text.0.trim_end().to_owned()
}

/// The part of the header that has been written so far.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.0, "{line}");
    }

    fn define(&mut self, name: &str, value: impl Display, comment: &str) {
        self.line(format_args!("// {comment}\n#define VFPERF_{name} {value}\n"));
    }

    fn define_bits(&mut self, name: &str, value: u64, comment: &str) {
        self.define(name, format_args!("{value:#x}ull"), comment);
    }

    /// Writes an enumeration. Each member is a name, a value and a comment, which may be empty.
    fn enumeration<N: Display, V: Display, C: AsRef<str>>(
        &mut self,
        name: &str,
        comment: &str,
        members: impl IntoIterator<Item = (N, V, C)>,
    ) {
        self.line(format_args!("// {comment}\nenum vfperf_{name} {{"));
        for (name, value, comment) in members {
            let mark = if comment.as_ref().is_empty() { "" } else { " // " };
            self.line(format_args!("  VFPERF_{name} = {value},{mark}{}", comment.as_ref()));
        }
        self.line("};\n");
    }
}

fn numbers(text: &mut Text) {
    let fast = "`ta 0x80`: hypercalls of the API groups.";
    text.define_bits("FAST_TRAP", Trap::Fast.number().into(), fast);
    let core = "`ta 0xff`: calls that every guest can make, whatever it has negotiated.";
    text.define_bits("CORE_TRAP", Trap::Core.number().into(), core);
    for function in PerfFunction::ALL {
        fast_function(text, function.name(), function.number(), function.description());
    }

    let set = "CORE_TRAP: negotiates a version of an API group.";
    text.define("API_SET_VERSION", API_SET_VERSION, set);
    let putchar = "CORE_TRAP: writes a character (0 to 255) to the console, or sends a break.";
    text.define("CONS_PUTCHAR", CONS_PUTCHAR, putchar);
    let send_break = "The argument of CONS_PUTCHAR for a break.";
    text.define_bits("CONS_BREAK", CONS_BREAK, send_break);
    text.define("EXIT", EXIT, "CORE_TRAP: stops the guest.");
    let get = "CORE_TRAP: returns the negotiated version of an API group.";
    text.define("API_GET_VERSION", API_GET_VERSION, get);

    for (name, number, comment) in kernel::FUNCTIONS {
        fast_function(text, &format!("FAST_{name}"), *number, comment);
    }

    for (name, group, comment) in ApiGroup::NAMED {
        text.define_bits(&format!("GROUP_{name}"), group.0, &format!("API group. {comment}"));
    }
}

fn fast_function(text: &mut Text, name: &str, number: u64, comment: &str) {
    let (first, rest) = comment.split_at(1);
    text.define_bits(name, number, &format!("FAST_TRAP: {}{rest}", first.to_lowercase()));
}

fn sparc(text: &mut Text) {
    let none = SparcPcr::new();
    for (name, pcr, comment) in [
        ("PRIV", none.with_privileged(true), "user code may neither read nor write the counters"),
        ("ST", none.with_system(true), "count in privileged mode"),
        ("UT", none.with_user(true), "count in user mode"),
        (
            "HT",
            none.with_hypervisor(true),
            "count in hyperprivileged mode. Only the hypervisor can set it",
        ),
        ("TOE0", none.with_traps(Counter::Pic0.into()), "trap when counter 0 overflows"),
        ("TOE1", none.with_traps(Counter::Pic1.into()), "trap when counter 1 overflows"),
        ("OV0", none.with_overflows(Counter::Pic0.into()), "counter 0 has overflowed"),
        ("OV1", none.with_overflows(Counter::Pic1.into()), "counter 1 has overflowed"),
        (
            "HOLDOV0",
            none.with_holds(Counter::Pic0.into()),
            "a write with this bit does not change OV0. Reads as 0",
        ),
        (
            "HOLDOV1",
            none.with_holds(Counter::Pic1.into()),
            "a write with this bit does not change OV1. Reads as 0",
        ),
    ] {
        let bits = u64::from(pcr);
        let comment = format!("SPARC PCR bit {}: {comment}.", bits.trailing_zeros());
        text.define_bits(&format!("SPARC_PCR_{name}"), bits, &comment);
    }
    let off = "SPARC: the event of a counter that is off. (Event 0 counts idle clocks.)";
    text.define_bits("SPARC_OFF", SparcSelect::OFF.code().into(), off);
    let off =
        "SPARC PCR: both counters off, and no mode enabled. Build values from it, not from 0.";
    text.define_bits("SPARC_PCR_OFF", SparcPcr::OFF.into(), off);
    selects::<SparcPcr>(text, "SPARC", "the bits that can be written. HOLDOV reads as 0.");
    let width = "SPARC PIC: bits of a counter. Counter 0 is in bits 31:0, counter 1 in bits 63:32.";
    text.define("SPARC_PIC_WIDTH", SparcPic::WIDTH, width);
}

/// Defines the masks and shifts of a control register's selects. Also defines the mask of all other bits, which `busstat` uses.
fn selects<P: EventSelect>(text: &mut Text, name: &str, writable: &str) {
    for counter in Counter::ALL {
        let (field, number) = (P::field(*counter), counter.index());
        let (low, high) = (field.trailing_zeros(), field.ilog2());
        let select = format!("{name}_PCR_SELECT{number}");
        let comment = format!("{name} PCR: event of counter {number}, bits {high}:{low}.");
        text.define_bits(&select, field, &comment);
        let comment = format!("{name} PCR: lowest bit of the event of counter {number}.");
        text.define(&format!("{select}_SHIFT"), low, &comment);
        let comment = format!("{name} PCR: all bits except the event of counter {number}.");
        let clear = format!("{name}_PCR_CLEAR_PIC{number}");
        text.define_bits(&clear, P::clearing_mask(*counter), &comment);
    }
    let comment = format!("{name} PCR: {writable}");
    text.define_bits(&format!("{name}_PCR_WRITABLE"), P::WRITABLE, &comment);
}

fn statuses(text: &mut Text) {
    let errors =
        HvError::NAMED.iter().map(|error| (error.to_string(), error.number(), error.description()));
    text.enumeration(
        "status",
        "The status of a call, in %o0 (sun4v specification, \"error codes\"). A hypervisor may return other numbers too.",
        [("EOK".to_owned(), EOK, "Success.")].into_iter().chain(errors),
    );
}

fn registers(text: &mut Text) {
    let register = |register: PerfReg| (format!("REG_{register}"), register.id(), "");
    text.enumeration(
        "reg",
        "Performance registers (FWARC/2007/529 section 3.1): the PCR of the calling strand, PERF_CONFIG of its node, and the registers of units.",
        PerfReg::ALL.into_iter().map(register).chain([("REGS".to_owned(), PerfReg::COUNT as u64, "The number of registers. No register has this number.")]),
    );
}

fn units(text: &mut Text) {
    let unit = |unit: Pmu| (format!("UNIT_{unit}"), unit.index(), "");
    text.enumeration(
        "unit",
        "Units, each with a control register and two counters, in the order in which illumos probes them.",
        Pmu::ALL.into_iter().map(unit).chain([("UNITS".to_owned(), Pmu::COUNT, "The number of units.")]),
    );
    text.enumeration(
        "counter",
        "The counters of a unit or a strand.",
        Counter::ALL.iter().map(|counter| (counter.text(), counter.index(), "")),
    );
}

fn perf_config(text: &mut Text) {
    let config = |name, config: PerfConfig, comment| (name, config.value(), comment);
    text.enumeration(
        "perf_config",
        "PERF_CONFIG: which L2 misses the strands of a node count (FWARC/2007/529 section 2.3).",
        [
            config("PERF_CONFIG_ALL", PerfConfig::All, "All misses."),
            config(
                "PERF_CONFIG_LOCAL",
                PerfConfig::Local,
                "Misses served by the memory of the node itself.",
            ),
            config(
                "PERF_CONFIG_REMOTE",
                PerfConfig::Remote,
                "Misses served by the memory of another node.",
            ),
            config(
                "PERF_CONFIG_CACHE_TO_CACHE",
                PerfConfig::CacheToCache,
                "Misses served by the cache of another node.",
            ),
        ],
    );
}

fn events(text: &mut Text) {
    let sparc = SparcEvent::ALL
        .iter()
        .map(|event| event_member("SPARC", event.name(), event.code().into(), event.description()));
    let about = "Events of the SPARC counters: SL in bits 11:8, MASK in bits 7:0 (FWARC/2007/529 section 2.1). Other selects can be cast.";
    text.enumeration("sparc_event", about, sparc);
    let mut members = Vec::new();
    macro_rules! events {
        ($($kind:ident $type:ident;)*) => { $(
            let unit = Pmu::ALL.into_iter().find(|unit| matches!(unit, Pmu::$kind(_)));
            let kind = unit.map_or(0, event::kind);
            let name = stringify!($kind).to_uppercase();
            members.extend($type::ALL.iter().map(|event| {
                event_member(&name, event.name(), kind | u32::from(event.code()), event.description())
            }));
        )* };
    }
    events! { Dram DramEvent; Lpu LpuEvent; Gpd GpdEvent; Asu AsuEvent; }
    let about = "Events of the units (FWARC/2007/529 sections 2.2 and 2.4 to 2.6): the kind of unit, and the code in the control register in bits 7:0. \
                 X, Y and Z are the three other ports of a hub.";
    text.enumeration("unit_event", about, members);
}

/// Returns the name, number and comment of an event in the header. The name begins with the unit.
fn event_member(
    unit: &str,
    name: &str,
    number: u32,
    description: &str,
) -> (String, String, String) {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    let constant: String = name.chars().map(letter).collect();
    let own = constant.strip_prefix(&format!("{unit}_")).unwrap_or(&constant);
    (format!("{unit}_{own}"), format!("{number:#x}"), format!("{description} `{name}`."))
}
