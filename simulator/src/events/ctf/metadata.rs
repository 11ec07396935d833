//! Writes and reads a trace's metadata, which describe the trace's files in the Trace Stream Description Language.

use crate::text::line;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use super::header::Form;
use super::identity::Uuid;
use super::tsdl::{self, Block};
use super::types::Type;
use super::{Endian, Format, Types};
use crate::events::kinds::{EventKind, EventKinds, KindField, ShownAs, is_name};
use crate::events::layouts::LayoutName;
use crate::events::{Epoch, Trace};

/// The line that marks a trace as this program's.
const TRACER: &str = "tracer_name = \"perfctr-service\";";

pub(super) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.trim() == TRACER)
}

pub(super) fn write(trace: &Trace, endian: Endian) -> String {
    let Trace { hz, layout, began, epoch, missed, guests, kinds, .. } = trace;
    let mut names = String::new();
    for (number, guest) in guests.iter().enumerate() {
        let _ = write!(names, "\n\tguest_{number} = {};", quoted(guest));
    }
    let (uuid, form) = (Uuid::for_trace(trace), Form::for_layout(*layout));
    let Epoch { seconds, ticks } = epoch.unwrap_or_default();
    let mut text = format!(
        "/* CTF 1.8 */

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
        header = form.declaration(),
    );
    for (id, kind) in kinds.iter() {
        let _ = write!(
            text,
            "\nevent {{\n\tname = \"hv:{}\";\n\tid = {};\n\tstream_id = 0;\n\tfields := struct {{\n",
            kind.name,
            form.first() + u64::from(id)
        );
        let fields = kind.fields.iter();
        fields.for_each(|field| write_field(&mut text, field));
        // Without the alignment, an event without fields would end before the last bits of its header.
        text.push_str("\t} align(8);\n};\n");
    }
    text
}

fn write_field(text: &mut String, field: &KindField) {
    let KindField { name, bits, shown } = field;
    // A name that is not an identifier gets an underscore in front. Readers drop this underscore.
    let prefix = if is_identifier(name) { "" } else { "_" };
    let name = format!("{prefix}{name}");
    let _ = match shown {
        ShownAs::Number => writeln!(text, "\t\tuint{bits}_t {name};"),
        ShownAs::Hex => writeln!(
            text,
            "\t\tinteger {{ size = {bits}; align = 8; signed = false; base = hex; }} {name};"
        ),
        ShownAs::Names(names) => {
            let name_of = |(number, name): &(u64, Cow<'static, str>)| match is_identifier(name) {
                true => format!("{name} = {number}"),
                false => format!("{} = {number}", quoted(name)),
            };
            let names = names.iter().map(name_of).collect::<Vec<_>>().join(", ");
            writeln!(text, "\t\tenum : uint{bits}_t {{ {names} }} {name};")
        }
    };
}

/// Returns `true` if metadata can contain the name as it is. Returns `false` for a keyword of the language, for a name with a colon, and
/// for a name that begins with an underscore, which readers would drop.
fn is_identifier(name: &str) -> bool {
    const WORDS: [&str; 28] = [
        "align",
        "callsite",
        "char",
        "clock",
        "const",
        "double",
        "enum",
        "env",
        "event",
        "float",
        "floating_point",
        "int",
        "integer",
        "long",
        "short",
        "signed",
        "stream",
        "string",
        "struct",
        "trace",
        "typealias",
        "typedef",
        "unsigned",
        "variant",
        "void",
        "_Bool",
        "_Complex",
        "_Imaginary",
    ];
    !WORDS.contains(&name) && !name.starts_with('_') && !name.contains(':')
}

/// Quotes a string, without its control characters.
fn quoted(text: &str) -> String {
    let kept = text.chars().filter(|char| !char.is_control());
    let escaped = kept.flat_map(|char| {
        let escape = matches!(char, '"' | '\\').then_some('\\');
        escape.into_iter().chain([char])
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Reads metadata that [`write()`] wrote, or that a tool rewrote without changing the content. Returns the trace without its streams.
pub(super) fn read(text: &str) -> Result<(Trace, Format), String> {
    if !is_ours(text) {
        return Err(format!("not a trace that vfalls wrote: the line {TRACER} is missing"));
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
    let (kinds, events) = kinds(of_kind("event"), Form::for_layout(*layout).first())?;
    let format = Format {
        endian,
        packet_header: trace.layout("packet.header")?.clone(),
        packet_context: stream.layout("packet.context")?.clone(),
        event_header: stream.layout("event.header")?.clone(),
        events,
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
        kinds,
        streams: Vec::new(),
    };
    if trace.hz == 0 {
        return Err("found 0 for freq, expected the rate of a clock".to_owned());
    }
    Ok((trace, format))
}

/// Returns the event kinds that the blocks declare, each with a new number. Also returns a map from a kind's number in this trace to the
/// new number and the payload's type.
///
/// Another program may have renumbered the kinds in this trace. So a kind that equals a default kind gets the default kind's number. The
/// new number of any other kind is its number in this trace minus `first`. If this number is taken or out of range, the kind gets the
/// lowest free number.
fn kinds<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    first: u64,
) -> Result<(EventKinds, Types), String> {
    let known = EventKinds::default();
    let (mut kinds, mut types, mut others) = (BTreeMap::new(), HashMap::new(), Vec::new());
    for block in blocks {
        let (kind, of) = kind(block)?;
        let number = block.number("id")?;
        match known.iter().find(|(_, known)| **known == kind) {
            Some((id, _)) => {
                kinds.insert(id, kind);
                types.insert(number, (id, of));
            }
            None => others.push((number, kind, of)),
        }
    }
    for (number, kind, of) in others {
        let taken = |id: &u16| known.get(*id).is_some() || kinds.contains_key(id);
        let same = number.checked_sub(first).and_then(|id| u16::try_from(id).ok());
        let same = same.filter(|id| *id > 0 && !taken(id));
        let id = same.or_else(|| (1..1 << 15).find(|id| !taken(id)));
        let id =
            id.ok_or_else(|| format!("there are too many kinds of events for {}", kind.name))?;
        kinds.insert(id, kind);
        types.insert(number, (id, of));
    }
    Ok((EventKinds(kinds), types))
}

/// Returns the event kind that an event block declares, and the type of the kind's payload.
fn kind(block: &Block) -> Result<(EventKind, Type), String> {
    let text = block.text("name")?;
    let name = text.strip_prefix("hv:").filter(|name| is_name(name));
    let name = name.ok_or_else(|| format!("the event {} is unknown", line(text)))?;
    let of = block.layout("fields")?;
    let Type::Struct { fields, .. } = of else {
        return Err(format!("the fields of {name} are not a struct"));
    };
    let fields = fields.iter().map(|(field, of)| {
        let Type::Integer { bits: bits @ (8 | 16 | 32 | 64), hex, names, .. } = of else {
            return Err(format!("the field {field} of {name} does not have 8, 16, 32 or 64 bits"));
        };
        let names: Vec<_> =
            names.iter().map(|(name, range)| (*range.start(), name.clone().into())).collect();
        let shown = match (names.is_empty(), hex) {
            (false, _) => ShownAs::Names(names),
            (true, true) => ShownAs::Hex,
            (true, false) => ShownAs::Number,
        };
        Ok(KindField { name: field.clone().into(), bits: *bits, shown })
    });
    let kind =
        EventKind { name: name.to_owned().into(), fields: fields.collect::<Result<_, _>>()? };
    if !kind.fits() {
        return Err(format!("the fields of {name} do not fill words of 32 bits"));
    }
    Ok((kind, of.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(quoted("a \"b\"\\\n\u{e4}"), "\"a \\\"b\\\"\\\\\u{e4}\"");
    }
}
