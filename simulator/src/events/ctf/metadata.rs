//! The metadata, in the Trace Stream Description Language: the layout of the files.

use std::fmt::Write;

use hv_core::trace::{Field, Shown};

use super::Endian;
use crate::events::{Event, Trace};

/// The line that names the program that wrote the trace.
const TRACER: &str = "tracer_name = \"perfctr-service\";";

pub(super) fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.trim() == TRACER)
}

/// Returns the metadata of a trace.
pub(super) fn write(trace: &Trace, endian: Endian) -> String {
    let Trace {
        hz,
        resolution,
        began,
        missed,
        guests,
        ..
    } = trace;
    let mut names = String::new();
    for (number, guest) in guests.iter().enumerate() {
        let _ = write!(names, "\n\tguest_{number} = {};", quoted(guest));
    }
    let mut text = format!(
        "/* CTF 1.8 */

typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;

trace {{
\tmajor = 1;
\tminor = 8;
\tbyte_order = {order};
\tpacket.header := struct {{ uint32_t magic; uint32_t stream_id; }};
}};

env {{
\thostname = \"sun4v\";
\tdomain = \"hypervisor\";
\t{TRACER}
\ttracer_major = 1;
\ttracer_minor = 0;
\tbegan = {began};
\tmissed_events = {missed};{names}
}};

clock {{
\tname = \"stick\";
\tdescription = \"%stick\";
\tfreq = {hz};
\tprecision = {resolution};
\toffset_s = 0;
\toffset = 0;
\tabsolute = false;
}};

typealias integer {{ size = 64; align = 8; signed = false; map = clock.stick.value; }} := stick_t;

stream {{
\tid = 0;
\tpacket.context := struct {{
\t\tstick_t timestamp_begin;
\t\tstick_t timestamp_end;
\t\tuint64_t content_size;
\t\tuint64_t packet_size;
\t\tuint64_t packet_seq_num;
\t\tuint64_t events_discarded;
\t\tuint32_t cpu_id;
\t}};
\tevent.header := struct {{ uint16_t id; stick_t timestamp; }};
}};
",
        order = endian.name(),
    );
    for class in Event::classes() {
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

/// Returns a text in quotes, without control characters.
fn quoted(text: &str) -> String {
    let kept = text.chars().filter(|char| !char.is_control());
    let escaped = kept.flat_map(|char| {
        let escape = matches!(char, '"' | '\\').then_some('\\');
        escape.into_iter().chain([char])
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut chars = inner.chars();
    let next = || match chars.next() {
        Some('\\') => chars.next(),
        char => char,
    };
    Some(std::iter::from_fn(next).collect())
}

/// Reads metadata that [`write`] wrote: a trace without streams, and the byte order.
pub(super) fn read(text: &str) -> Result<(Trace, Endian), String> {
    if !is_ours(text) {
        return Err(format!(
            "not a trace of this program: the line {TRACER} is missing"
        ));
    }
    let value = |key: &str| -> Result<&str, String> {
        let mut values = text.lines().filter_map(|line| {
            line.trim()
                .strip_prefix(key)?
                .strip_prefix(" = ")?
                .strip_suffix(';')
        });
        values.next().ok_or_else(|| format!("there is no {key}"))
    };
    let number = |key: &str| -> Result<u64, String> {
        let text = value(key)?;
        text.parse()
            .map_err(|_| format!("found '{text}' for {key}, expected a number"))
    };
    let order = value("byte_order")?;
    let endian = (Endian::ALL
        .into_iter()
        .find(|endian| endian.name() == order))
    .ok_or_else(|| format!("found '{order}' for byte_order, expected be or le"))?;
    let guests = (0..).map_while(|number| value(&format!("guest_{number}")).ok());
    let trace = Trace {
        hz: number("freq")?,
        resolution: number("precision")?,
        began: number("began")?,
        missed: number("missed_events")?,
        guests: guests
            .map(|name| unquoted(name).ok_or_else(|| format!("found {name}, expected a text")))
            .collect::<Result<_, _>>()?,
        streams: Vec::new(),
    };
    if trace.hz == 0 {
        return Err("found 0 for freq, expected the rate of a clock".to_owned());
    }
    // All else is as this program writes it, or the streams cannot be understood.
    let expected = write(&trace, endian);
    let mut lines = (1..).zip(text.lines().zip(expected.lines()));
    if let Some((line, (found, expected))) = lines.find(|(_, (found, expected))| found != expected)
    {
        let (found, expected) = (found.trim(), expected.trim());
        return Err(format!(
            "line {line}: found '{found}', expected '{expected}'"
        ));
    }
    if text.len() != expected.len() {
        let (found, expected) = (text.lines().count(), expected.lines().count());
        return Err(format!("found {found} lines, expected {expected}"));
    }
    Ok((trace, endian))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(quoted("a \"b\"\\\n\u{e4}"), "\"a \\\"b\\\"\\\\\u{e4}\"");
        assert_eq!(unquoted("\"a \\\"b\\\"\\\\\"").unwrap(), "a \"b\"\\");
        assert_eq!(unquoted("a"), None);
    }
}
