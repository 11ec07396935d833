//! The metadata of a trace: its files, described in the Trace Stream Description Language.

use crate::text::line;
use std::collections::HashMap;
use std::fmt::Write;

use hv_core::trace::{Class, Field, Shown};

use super::Endian;
use super::header::Form;
use super::identity::Uuid;
use super::tsdl::{self, Block};
use super::types::Type;
use crate::events::layouts::LayoutName;
use crate::events::{DecodedEvent, Epoch, Trace};

/// The line by which this program recognizes its traces.
const TRACER: &str = "tracer_name = \"perfctr-service\";";

pub(super) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.trim() == TRACER)
}

pub(super) fn write(trace: &Trace, endian: Endian) -> String {
    let Trace { hz, layout, began, epoch, missed, guests, .. } = trace;
    let mut names = String::new();
    for (number, guest) in guests.iter().enumerate() {
        let _ = write!(names, "\n\tguest_{number} = {};", quoted(guest));
    }
    let uuid = Uuid::for_trace(trace);
    let Epoch { seconds, ticks } = epoch.unwrap_or_default();
    let mut text = format!(
        "/* CTF 1.8 */

typealias integer {{ size = 5; align = 1; signed = false; }} := uint5_t;
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;

trace {{
\tmajor = 1;
\tminor = 8;
\tuuid = \"{uuid}\";
\tbyte_order = {order};
\tpacket.header := struct {{ uint32_t magic; uint32_t stream_id; }};
}};

env {{
\thostname = \"sun4v\";
\tdomain = \"hypervisor\";
\t{TRACER}
\ttracer_major = 1;
\ttracer_minor = 0;
\tlayout = \"{layout}\";
\tbegan = {began};
\tmissed_events = {missed};{names}
}};

clock {{
\tname = \"stick\";
\tuuid = \"{clock}\";
\tdescription = \"%stick\";
\tfreq = {hz};
\tprecision = {resolution};
\toffset_s = {seconds};
\toffset = {ticks};
\tabsolute = {absolute};
}};

typealias integer {{ size = 27; align = 1; signed = false; map = clock.stick.value; }} := time27_t;
typealias integer {{ size = 32; align = 8; signed = false; map = clock.stick.value; }} := time32_t;
typealias integer {{ size = 64; align = 8; signed = false; map = clock.stick.value; }} := time_t;

stream {{
\tid = 0;
\tpacket.context := struct {{
\t\ttime_t timestamp_begin;
\t\ttime_t timestamp_end;
\t\tuint64_t content_size;
\t\tuint64_t packet_size;
\t\tuint64_t packet_seq_num;
\t\tuint64_t events_discarded;
\t\tuint32_t cpu_id;
\t}};
\tevent.header := {header};
}};
",
        order = endian.name(),
        layout = layout.name(),
        clock = uuid.for_clock(),
        resolution = layout.resolution(),
        absolute = epoch.is_some(),
        header = Form::for_layout(*layout).declaration(),
    );
    for class in DecodedEvent::classes() {
        let _ = write!(
            text,
            "\nevent {{\n\tname = \"hv:{}\";\n\tid = {};\n\tstream_id = 0;\n\tfields := struct {{\n",
            class.name, class.id
        );
        let fields = class.fields.iter();
        fields.for_each(|field| write_field(&mut text, field));
        text.push_str("\t};\n};\n");
    }
    text
}

fn write_field(text: &mut String, field: &Field) {
    let Field { name, bits, shown } = field;
    let _ = match shown {
        Shown::Number => writeln!(text, "\t\tuint{bits}_t {name};"),
        Shown::Hex => writeln!(
            text,
            "\t\tinteger {{ size = {bits}; align = 8; signed = false; base = hex; }} {name};"
        ),
        Shown::Names(names) => {
            let name_of = |(number, name): &(u64, &str)| format!("{name} = {number}");
            let names = names.iter().map(name_of).collect::<Vec<_>>().join(", ");
            writeln!(text, "\t\tenum : uint{bits}_t {{ {names} }} {name};")
        }
    };
}

/// Quotes a string and drops its control characters.
fn quoted(text: &str) -> String {
    let kept = text.chars().filter(|char| !char.is_control());
    let escaped = kept.flat_map(|char| {
        let escape = matches!(char, '"' | '\\').then_some('\\');
        escape.into_iter().chain([char])
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// The types of the packets and events of a trace.
pub(super) struct Format {
    pub(super) endian: Endian,
    pub(super) packet_header: Type,
    pub(super) packet_context: Type,
    pub(super) event_header: Type,
    /// The class and type of each event kind, by the kind's number in this trace.
    pub(super) events: HashMap<u64, (&'static Class, Type)>,
}

/// Reads metadata that [`write()`] wrote, or that a tool rewrote without changing the contents.
/// Returns the trace without its streams.
pub(super) fn read(text: &str) -> Result<(Trace, Format), String> {
    if !is_ours(text) {
        return Err(format!("not a trace of this program: the line {TRACER} is missing"));
    }
    let blocks = tsdl::parse(text)?;
    let of_kind = |kind: &'static str| blocks.iter().filter(move |block| block.kind == kind);
    let one = |kind| match &of_kind(kind).collect::<Vec<_>>()[..] {
        [block] => Ok(*block),
        blocks => Err(format!("found {} of {kind}, expected 1", blocks.len())),
    };
    let (trace, env, clock, stream) = (one("trace")?, one("env")?, one("clock")?, one("stream")?);
    let order = trace.text("byte_order")?;
    let endian = (Endian::ALL.into_iter())
        .find(|endian| endian.name() == order)
        .ok_or_else(|| format!("found '{order}' for byte_order, expected be or le"))?;
    let layout = env.text("layout")?;
    let layout = (LayoutName::ALL.iter())
        .find(|known| known.name() == layout)
        .ok_or_else(|| format!("found '{layout}' for layout, expected the name of one"))?;
    let guests = (0..).map_while(|number| env.get(&format!("guest_{number}")));
    let format = Format {
        endian,
        packet_header: trace.layout("packet.header")?.clone(),
        packet_context: stream.layout("packet.context")?.clone(),
        event_header: stream.layout("event.header")?.clone(),
        events: of_kind("event").map(event).collect::<Result<_, _>>()?,
    };
    let trace = Trace {
        hz: clock.number("freq")?,
        layout: *layout,
        began: env.number("began")?,
        epoch: match clock.text("absolute")? {
            "true" | "TRUE" => {
                Some(Epoch { seconds: clock.number("offset_s")?, ticks: clock.number("offset")? })
            }
            _ => None,
        },
        missed: env.number("missed_events")?,
        guests: guests.map(line).collect(),
        streams: Vec::new(),
    };
    if trace.hz == 0 {
        return Err("found 0 for freq, expected the rate of a clock".to_owned());
    }
    Ok((trace, format))
}

/// Returns the number, class and type of the event kind that a block declares. The kind is one of [`DecodedEvent::classes`].
fn event(block: &Block) -> Result<(u64, (&'static Class, Type)), String> {
    let name = block.text("name")?;
    let class = (name.strip_prefix("hv:"))
        .and_then(|name| DecodedEvent::classes().find(|class| class.name == name))
        .ok_or_else(|| format!("the event {name} is unknown"))?;
    let fields = block.layout("fields")?;
    let Type::Struct { fields: found, .. } = fields else {
        return Err(format!("the fields of {name} are not a struct"));
    };
    let same = |((name, of), field): (&(String, Type), &Field)| {
        *name == field.name && matches!(of, Type::Integer { bits, .. } if *bits == field.bits)
    };
    if found.len() != class.fields.len() || !found.iter().zip(class.fields).all(same) {
        let expected =
            class.fields.iter().map(|field| format!("{} of {} bits", field.name, field.bits));
        let expected = expected.collect::<Vec<_>>().join(", ");
        return Err(format!("{name} has other fields, expected {expected}"));
    }
    Ok((block.number("id")?, (class, fields.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(quoted("a \"b\"\\\n\u{e4}"), "\"a \\\"b\\\"\\\\\u{e4}\"");
    }
}
