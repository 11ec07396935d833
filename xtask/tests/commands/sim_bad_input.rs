//! The messages of `sim` for bad input.

use crate::program::{Place, xtask};
use crate::sim::program;

#[test]
fn one_line_each() {
    let place = Place::new("sim-bad");
    let refs = place.file("refs.txt", program(10));
    let broken = place.file("broken.txt", "I  04001090,3\n L zzz,8\n");
    let guests = |name, text: &str| place.file(name, text);
    let two_globals = guests(
        "globals.toml",
        "[[guest]]\nname = \"a\"\nstrands = \"0\"\ngrant = \"global\"\n[[guest]]\nname = \"b\"\nstrands = \"1\"\ngrant = \"global\"\n",
    );
    let no_grant = guests(
        "grant.toml",
        "[[guest]]\nname = \"a\"\nstrands = \"0\"\ngrant = \"root\"\n",
    );
    let elsewhere = guests(
        "strands.toml",
        "[[guest]]\nname = \"a\"\nstrands = \"0-7\"\ngrant = \"none\"\n",
    );
    let json = place.path().join("results.json");
    for (arguments, says) in [
        (
            &["--machine", "t5440"][..],
            "there is no machine 't5440'; did you mean",
        ),
        (&["--nodes", "5"], "a batoka has 1 to 4 nodes, not 5"),
        (
            &["-e", "dram:mem_raeds"],
            "there is no dram event 'mem_raeds'; did you mean mem_reads?",
        ),
        (
            &["--machine", "maramba", "-e", "lpu:none"],
            "a maramba has no hubs",
        ),
        (
            &["--strands", "0,256"],
            "found '256', expected strands 0 to 255",
        ),
        (
            &["--nodes", "2", "--strands", "128"],
            "there is no strand 128; this machine has strands 0 to 127",
        ),
        (
            &["--strands", "0,255"],
            "belong to two guests, measuring and other",
        ),
        (&["/nowhere/refs"], "/nowhere/refs"),
        (&[&broken], "broken.txt:2: found"),
        (
            &["-", "-"],
            "standard input is named 2 times, expected once at most",
        ),
        (&["--interval", "0"], "0"),
        (
            &["--guests", &two_globals],
            "guests 0 and 1 both have global",
        ),
        (
            &["--guests", &no_grant],
            "grant.toml:4: found 'root', expected none, strand",
        ),
        (
            &["--guests", &elsewhere, "--strands", "9"],
            "strand 9 belongs to no guest",
        ),
        (
            &["--json", "/nowhere/results.json"],
            "/nowhere/results.json",
        ),
    ] {
        let mut all = vec!["sim"];
        if !["/nowhere/refs", &broken, "-"].contains(&arguments[0]) {
            all.push(&refs);
        }
        if !arguments.contains(&"--json") {
            all.extend(["--json", json.to_str().unwrap()]);
        }
        all.extend(arguments);
        xtask(&all).badly(says);
        assert!(!json.exists(), "{arguments:?} leaves a file");
    }
}
