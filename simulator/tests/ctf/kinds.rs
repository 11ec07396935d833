//! Tests event kinds that this project does not define.

use hv_core::trace::description;
use simulator::events::ctf::{self, Endian};
use simulator::events::kinds::EventKinds;
use simulator::events::layouts::LayoutName;
use simulator::events::summary::Summary;
use simulator::events::{Stream, StreamEntry, Trace, TracedEvent};
use tempfile::tempdir;

use crate::babeltrace::babeltrace;
use crate::{strand, trace, write_trace};

hv_core::events! {
    /// The events of a lamp: an example of a device that this project does not have.
    pub enum LampEvent {
        /// The lamp was switched. The names `event` and `struct` are keywords of the metadata language.
        40 Switched "lamp_switched" {
            event: u8 = Names(&[(0, "off"), (1, "struct")]),
            by: u8 = Number,
            code: u16 = Hex,
        }
        /// An event whose name contains a colon.
        41 Lit "lamp:lit" {}
        /// An event whose name is a keyword of the metadata language.
        42 Event "event" {}
    }
}

/// A viewer and the summary show an image's events with the names and fields that the image describes.
#[test]
fn kinds_of_an_image_have_their_own_names_and_fields() {
    const SECTION: [u8; description::length(LampEvent::CLASSES)] =
        description::bytes(LampEvent::CLASSES);
    let event = TracedEvent { time: 5000, id: 40, payload: [0xabcd_0701][..].into() };
    for layout in LayoutName::ALL {
        let bare = |id| TracedEvent { time: 6000, id, payload: Default::default() };
        let entries = [event.clone(), bare(41), bare(42)].map(StreamEntry::Event).to_vec();
        let kinds = EventKinds::parse(&SECTION).unwrap();
        let streams = vec![Stream { strand: strand(3), entries }];
        let trace = Trace { kinds, ..trace(*layout, streams) };
        for endian in Endian::ALL {
            let place = tempdir().unwrap();
            let path = write_trace(&place, &trace, endian);
            let (well, shown, stderr) = babeltrace(&["--clock-cycles", "--no-delta"], &[&path]);
            assert!(well && stderr.is_empty(), "{layout:?}: {stderr}");
            let expected = [
                "[00000000000000005000] sun4v hv:lamp_switched: { cpu_id = 3 }, \
                 { event = ( \"struct\" : container = 1 ), by = 7, code = 0xABCD }",
                "[00000000000000006000] sun4v hv:lamp:lit: { cpu_id = 3 }, { }",
                "[00000000000000006000] sun4v hv:event: { cpu_id = 3 }, { }",
            ];
            let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
            assert_eq!(shown, expected);
            assert_eq!(ctf::read(&path).unwrap(), trace, "{layout:?}");
        }
        let others = Summary::new(&trace).others;
        assert_eq!(
            others,
            ["event", "lamp:lit", "lamp_switched"].map(|name| (name.to_owned(), 1)).into()
        );
    }
}
