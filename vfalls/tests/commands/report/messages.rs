//! Tests the lists, help and error messages of `report`.

use guest_abi::event::SparcEvent;

use crate::program::{ProgramOutput, TestDirectory, squeezed};
use crate::report::run;
use crate::stat::program;

#[test]
fn what_is_not_modelled_says_so() {
    let place = TestDirectory::new("profile-not-modelled");
    let refs = place.file("refs.txt", program(1_000));
    for (unit, event, absence) in [
        ("sparc", "ITLB_miss", "addresses are not translated, so there are no TLBs"),
        (
            "r10000",
            "mispredicted_branches",
            "the recording does not tell branches from other instructions",
        ),
    ] {
        let ended = run(&[&refs, "--unit", unit, "-e", event]);
        assert_eq!(ended.status, 0);
        assert_eq!(
            ended.stderr,
            format!("note: {event} is not modelled, and reads 0: {absence}\n")
        );
        assert!(ended.stdout.contains(&format!("# Samples: 0 of event '{event}'")));
        assert!(ended.stdout.contains("# Event count: 0, in truth: 0\n"));
    }
}

/// With `--all`, the report has a row for each of the 32 events, as `perfex -a` does. No event is counted in the modes kernel and
/// supervisor.
#[test]
fn all_events_of_an_r10000_are_counted() {
    let place = TestDirectory::new("profile-all");
    let refs = place.file("refs.txt", program(1_000));
    let all = run(&[&refs, "--unit", "r10000", "--all"]);
    assert_eq!((all.status, &*all.stderr), (0, ""));
    let lines: Vec<String> = all.stdout.lines().map(squeezed).collect();
    let header = lines.iter().position(|line| line == "Number Event Count Error In truth Remark");
    let rows = &lines[header.unwrap_or_else(|| panic!("{lines:?}")) + 1..];
    assert_eq!(rows.len(), 32);
    assert!(rows[0].starts_with("0 cycles ") && rows[31].starts_with("31 store_prefetch"));
    let ended = run(&[&refs, "--unit", "r10000", "--modes", "kernel,supervisor"]);
    assert!(
        ended.stderr.contains("note: all counts are 0: a recorded program executes in user mode")
    );
    assert!(ended.stdout.contains("# Event count: 0, in truth: 0\n"), "{}", ended.stdout);
}

/// The list says which events a recording cannot cause, and what limits the others.
#[test]
fn the_list_says_what_a_recording_cannot_cause() {
    let place = TestDirectory::new("profile-list");
    for (unit, events, occur, lines) in [
        (
            "r10000",
            32,
            30,
            &[
                " 2 issued_loads yes again after an interrupt or a TLB miss; the recording lacks what issues after a mispredicted branch",
                "24 mispredicted_branches yes needs a recording that marks branches, such as one made by record",
                "23 tlb_misses yes those of the program; those in the refill handler with --modes user,exception",
                "12 external_interventions yes with --processors: another processor misses the block in its secondary cache",
                "15 graduated_instructions yes integer multiplications and divisions count twice, and so do atomic instructions",
                "20 graduated_store_conditionals yes an atomic instruction counts as a load linked and a store conditional",
                "8 correctable_scache_data_array_ecc_errors no memory is without fault",
                "14 virtual_coherency_conditions no no two addresses of a recording map to the same memory",
                "25 primary_data_cache_misses yes",
            ][..],
        ),
        (
            "sparc",
            40,
            17,
            &[
                "cycles yes Cycles for which strands execute threads or wait for memory, by the simulator's clock. %pic has no such event.",
                "Instr_FGU_arithmetic yes Floating-point and graphics arithmetic instructions.",
                "Instr_sw no a recording does not tell such instructions from others",
                "DTLB_miss no addresses are not translated, so there are no TLBs",
                "AES_op no there are no stream processing units",
                "DC_miss yes Misses of the data cache, by loads.",
            ],
        ),
    ] {
        let list = place.run(&format!("report --list --unit {unit}")).assert_success();
        let list: Vec<String> = list.lines().map(squeezed).collect();
        assert_eq!((&*list[0], list.len()), ("event occurs about", 1 + events));
        let yes = |line: &&String| line.contains(" yes");
        assert_eq!(list.iter().filter(yes).count(), occur, "{unit}");
        for line in lines {
            assert!(list.contains(&squeezed(line)), "{line}: {list:?}");
        }
    }
    for output in ["json", "svg", "folded", "html"] {
        let ended = place.run(&format!("report --list --{output} list"));
        ended.assert_failure("cannot be used with");
        assert!(!place.path().join("list").exists(), "{output}");
    }
}

#[test]
fn bad_input_gets_one_line() {
    let place = TestDirectory::new("profile-bad");
    let refs = place.file("refs.txt", program(10));
    let data = place.file("data.txt", " L 1000,8\n");
    let broken = place.file("broken.txt", "I  04001090,3\n L zzz,8\n");
    let nearly = place.file("nearly.elf", "\x7fELF");
    let json = place.at("out.json");
    let all = SparcEvent::ALL.iter().map(|event| event.name()).collect::<Vec<_>>().join(",");
    for (arguments, says) in [
        (&["-e", "Instr_cn"][..], "there is no SPARC event 'Instr_cn'; did you mean Instr_cnt?"),
        (
            &["--unit", "r10000", "-e", "graduated_lods"],
            "there is no R10000 event 'graduated_lods'; did you mean graduated_loads",
        ),
        (&["--unit", "r10000", "-e", "32"], "found event 32, expected 0 to 31"),
        (&["--modes", "user"], "--modes is for --unit r10000"),
        (&["--unit", "r10000", "--modes", "usr"], "there is no mode 'usr'; did you mean user?"),
        (&["--processors", "2"], "--processors is for --unit r10000"),
        (&["--unit", "r10000", "--processors", "5"], "found 5 processors, expected 1 to 4"),
        (&["--all"], "--all is for --unit r10000"),
        (&["--unit", "r1000"], "there is no unit 'r1000'; did you mean r10000?"),
        (&["-e", "Instr_ld,"], "found 'Instr_ld,', expected EVENT[,EVENT]..."),
        (&["-e", "Instr_ld,instr_ld"], "the event Instr_ld is named twice"),
        (&["-e", &all], "39 events, expected at most 16 for each of the two counters"),
        (&["-c", "0"], "found '0', expected a period of 1 to 2147483648 events"),
        (&["-c", "2147483649"], "found '2147483649', expected a period"),
        (&["-c", "often"], "found 'often', expected a period"),
        (&["-e", "cycle"], "there is no SPARC event 'cycle'; did you mean cycles?"),
        (&["-e", "cycles,cycles"], "the event cycles is named twice"),
        (
            &["-e", "DC_miss", "--waits"],
            "waits are counted as cycles, but the event cycles is not sampled",
        ),
        (&["--unit", "r10000", "--waits"], "--waits is for --unit sparc"),
        (&["--seed", "3"], "--randomise"),
        (&["--load-address", "0x1000"], "--symbols"),
        (&["--symbols", &nearly, "--load-address", "10g0"], "found '10g0', expected an address"),
        (&["/nowhere/refs"], "/nowhere/refs"),
        (&[&broken], "broken.txt:2: found"),
        (&[&data], "data.txt: found no instruction, expected at least one"),
        (&["--symbols", "/nowhere/elf"], "/nowhere/elf: cannot be read"),
        (&["--symbols", &refs], "refs.txt: found no ELF file"),
        (&["--symbols", &nearly], "nearly.elf: "),
        (&["--folded", "/nowhere/folded"], "/nowhere/folded"),
        (&["--html", "/nowhere/page"], "/nowhere/page"),
        (&["-e", "ITLB_miss", "--svg", &format!("{json}.svg")], "no sample was taken"),
    ] {
        let mut all = vec!["--json", &*json];
        if arguments[0].starts_with('-') {
            all.push(&refs);
        }
        all.extend(arguments);
        let ended = run(&all);
        let notes = ended.stderr.lines().filter(|line| !line.starts_with("note: "));
        let errors = notes.fold(String::new(), |all, line| all + line + "\n");
        ProgramOutput { stderr: errors, ..ended }.assert_failure(says);
        assert_eq!(place.names(".").len(), 4, "{arguments:?} leaves a file");
    }
}
