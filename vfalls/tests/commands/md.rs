use std::fs;

use serde_json::{Value, json};

use crate::program::{TestDirectory, vfalls};
use crate::stat::{json as replayed, program};

fn source(name: &str) -> String {
    format!("{}/../simulator/machines/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn build_dump_and_check() {
    let place = TestDirectory::new("md");
    let file = &place.at("machine.md");
    let source = source("batoka-2");
    assert_eq!(vfalls(&["md", "build", &source, "-o", file]).assert_success(), "");
    assert_eq!(fs::read(file).unwrap()[..4], [0, 1, 0, 0]);

    let dump = vfalls(&["md", "dump", file]).assert_success();
    assert!(fs::read_to_string(&source).unwrap().ends_with(&format!("\n\n{dump}")));

    let check = vfalls(&["md", "check", file]).assert_success();
    assert_eq!(
        check,
        "nodes     20\n\
         platform  SUNW,T5440\n\
         machine   batoka with 2 nodes, 128 strands\n\
         \n\
         guest    resource_id  gid  grant   compatible  strands\n\
         primary            0    0  strand  no          0,8,64\n\
         ldg1               1    1  global  yes         72,80\n\
         ldg2               2    2  none    no          88\n"
    );
    // `md check` prints the same text for the source as for the binary description.
    assert_eq!(vfalls(&["md", "check", &source]).assert_success(), check);
}

#[test]
fn check_of_other_descriptions() {
    assert_eq!(
        vfalls(&["md", "check", &source("t1")]).assert_success(),
        "nodes     11\n\
         machine   describes no Victoria Falls machine\n\
         \n\
         guest   resource_id  gid  grant          compatible  strands\n\
         guest0            0    0  global+strand  no          0-3\n"
    );
    assert_eq!(
        vfalls(&["md", "check", &source("guest")]).assert_success(),
        "nodes     5\n\
         platform  SUNW,T5440\n\
         %stick    1414000000 Hz\n\
         machine   describes no Victoria Falls machine\n\
         guests    describes none\n"
    );
    let disabled = vfalls(&["md", "check", &source("batoka-4-disabled")]).assert_success();
    assert!(disabled.contains("\nmissing   NODE1_MCU0\n"), "{disabled}");
}

#[test]
fn check_as_json() {
    let check = |name| -> Value {
        let output = vfalls(&["md", "check", "--json", &source(name)]).assert_success();
        serde_json::from_str(&output).unwrap()
    };
    assert_eq!(
        check("maramba-1"),
        json!({
            "nodes": 14,
            "platform": "SUNW,Sun-Blade-T6340",
            "stick_frequency": null,
            "machine": { "model": "maramba", "nodes": 1, "strands": 64, "missing_channels": [] },
            "guests": [
                {
                    "name": "primary", "resource_id": 0, "gid": 0, "strands": [0, 8, 16],
                    "grant": "global+htstrand", "compatible": false
                },
                {
                    "name": "ldg1", "resource_id": 1, "gid": 1, "strands": [24],
                    "grant": "none", "compatible": false
                },
            ],
        })
    );
    assert_eq!(
        check("guest"),
        json!({
            "nodes": 5, "platform": "SUNW,T5440", "stick_frequency": 1_414_000_000, "machine": null, "guests": [],
        })
    );
    assert_eq!(check("batoka-4-disabled")["machine"]["missing_channels"], json!(["NODE1_MCU0"]));
}

#[test]
fn bad_input() {
    let place = TestDirectory::new("md-bad");
    place.file("garbage.md", [0xff; 40]);
    place.file("short.md", [0; 15]);
    place.file("text.toml", [0xff; 40]);
    place.file("wrong.toml", "[root]\nfwd = [\"guests\"]\n");
    place.file("good.toml", "[root]\n");
    place.file(
        "words.toml",
        "[root]\nfwd = [\"guests\"]\n[guests]\nfwd = [\"guest\"]\n[guest]\nresource_id = 0\n\
         perf-counters = \"strand,htstrand\"\n",
    );
    for (arguments, says) in [
        ("dump garbage.md", "garbage.md: offset 0x0: transport version 65535.65535, expected 1.0"),
        ("check short.md", "short.md: offset 0x0: shorter than a header of 16 bytes"),
        ("dump /nowhere/x.md", "/nowhere/x.md: cannot be read"),
        ("check /dev/zero", "/dev/zero: is longer than 16777216 bytes"),
        ("build text.toml -o out.md", "text.toml: is not UTF-8"),
        (
            "build wrong.toml -o out.md",
            "wrong.toml:2: there is no node 'guests'; did you mean root?",
        ),
        ("check wrong.toml", "wrong.toml:2: there is no node 'guests'"),
        (
            "check words.toml",
            "words.toml: offset 0x90: node guest: perf-counters has both strand and htstrand",
        ),
        ("build wrong.toml", "--output"),
        ("build good.toml -o /nowhere/x.md", "/nowhere/x.md: cannot be written"),
        ("chek", "chek"),
    ] {
        place.run(&format!("md {arguments}")).assert_failure_without_output(says);
        assert!(!place.path().join("out.md").exists());
    }
}

#[test]
fn stat_takes_machine_and_guests() {
    let place = TestDirectory::new("md-stat");
    place.file("refs.txt", program(3_000));
    for (name, machine, nodes, guests, counters) in [
        ("maramba-2", "maramba", 2, "primary global+strand, ldg1 htstrand", 10),
        ("batoka-4", "batoka", 4, "primary global+htstrand, ldg1 htstrand, ldg2 none", 58),
        // A disabled channel reduces the number of counters by two.
        ("batoka-4-disabled", "batoka", 4, "primary global+htstrand, ldg1 htstrand, ldg2 none", 56),
    ] {
        let results = replayed(&place, &format!("refs.txt --md {}", source(name)));
        assert_eq!((&results["machine"], &results["nodes"]), (&json!(machine), &json!(nodes)));
        let listed: Vec<String> = (results["guests"].as_array().unwrap().iter())
            .map(|guest| {
                let text = |key: &str| guest[key].as_str().unwrap().to_owned();
                format!("{} {}", text("name"), text("grant"))
            })
            .collect();
        assert_eq!(listed.join(", "), guests);
        let all = results["counters"].as_array().unwrap();
        assert_eq!(all.len(), counters, "{name}");
        let of_channel = all.iter().any(|counter| counter["name"] == "NODE1_MCU0_PIC");
        assert_eq!(of_channel, name != "batoka-4-disabled");
        assert_eq!(results["truth_matches"], true);
    }
}

#[test]
fn stat_refuses_unsuitable_descriptions() {
    let batoka = source("batoka-4");
    let (guest, t1) = (source("guest"), source("t1"));
    let place = TestDirectory::new("md-stat-bad");
    let nobody = place.file(
        "nobody.toml",
        "[root]\nfwd = [\"platform\", \"vf-nodes\"]\n[platform]\nname = \"SUNW,T5440\"\n\
         [vf-nodes]\nfwd = [\"vf-node\"]\n[vf-node]\nid = 0\n",
    );
    for (arguments, says) in [
        (
            &["--md", &batoka, "--machine", "batoka"][..],
            "'--md <FILE>' cannot be used with '--machine <M>'",
        ),
        (&["--nodes", "4", "--md", &batoka], "'--nodes <N>' cannot be used with '--md <FILE>'"),
        (
            &["--md", &batoka, "--guests", "guests.toml"],
            "'--md <FILE>' cannot be used with '--guests <FILE>'",
        ),
        (&["--md", &guest], "guest.toml: describes no Victoria Falls machine"),
        (&["--md", &t1], "t1.toml: describes no Victoria Falls machine"),
        (&["--md", &nobody], "nobody.toml: describes no guest"),
    ] {
        vfalls(&[&["stat"], arguments].concat()).assert_failure(says);
    }
}
