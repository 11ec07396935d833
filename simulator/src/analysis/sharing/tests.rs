use guest_abi::Node;
use platform::{Machine, Model};

use super::apart::Apart;
use super::*;

fn report(text: &str) -> SharingReport {
    placed(text, None)
}

/// Examines a handwritten recording on a four-node Batoka machine.
fn placed(text: &str, placement: Option<&str>) -> SharingReport {
    let open = || std::io::Cursor::new(text.to_owned());
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let job = Job::new(machine).placement(placement.map(|placement| placement.parse().unwrap()));
    let open = || Recording::from_reader("by hand", open(), None);
    let report = job.run(open, |_, _| ControlFlow::Continue(())).unwrap();
    let json = serde_json::to_string(&report).unwrap();
    let read: SharingReport = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    report
}

#[test]
fn a_search_that_is_stopped_reports_what_it_knows() {
    let run = |last: usize| {
        let open = || Recording::from_reader("by hand", std::io::Cursor::new(FALSE), None);
        let mut told = Vec::new();
        let report = Job::new(Machine::new(Model::Batoka, 4).unwrap()).run(open, |replay, at| {
            told.push((replay, at.references, at.total));
            if replay < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        (report.unwrap(), told)
    };
    let (whole, told) = run(3);
    assert_eq!(told, [(0, 4, Some(4)), (1, 4, Some(4)), (2, 4, Some(4))]);
    assert!(!whole.stopped && whole.notes.is_empty());
    // In the first case, the job stops after the replay that finds the lines. In the second case, it stops after the replay that finds the
    // lines' users.
    for (last, users) in [(0, 0), (1, 2)] {
        let (part, told) = run(last);
        assert_eq!(told.len(), last + 1);
        assert!(part.stopped && part.apart.is_none() && part.notes.len() == 1);
        assert_eq!((part.cost, only(&part).users.len()), (whole.cost, users));
    }
}

fn only(report: &SharingReport) -> &SharedLine {
    let [line] = &report.lines[..] else { panic!("{:?}", report.lines) };
    line
}

const fn moves(transfers: u64, invalidations: u64) -> Moves {
    Moves { transfers, invalidations }
}

/// Strands 0 and 64 are on nodes 0 and 1. They alternately write to the same line. Each write except
/// the first one moves the line.
const FALSE: &str = "0 w 1000\n64 w 1008\n0 w 1000\n64 w 1008\n";

#[test]
fn nodes_that_use_different_bytes_share_falsely() {
    let report = report(FALSE);
    let line = only(&report);
    assert_eq!(line.address, 0x1000);
    // Bits 38:9 of the address are 8. Memory interleaves among four nodes, so the home is node 8 modulo 4, which is node 0.
    assert_eq!(line.home, Node::Node0);
    assert_eq!(line.moves, moves(3, 3));
    assert_eq!(line.sharing, Sharing::False);
    let users: Vec<_> = (line.users.iter())
        .map(|user| (user.thread, user.strand.index(), user.what, user.bytes, user.times))
        .collect();
    assert_eq!(users, [(0, 0, Use::Store, 0xff, 2), (1, 64, Use::Store, 0xff00, 2)]);
    assert_eq!((report.cost.transfers, report.cost.invalidations), (3, 3));
    let Separated { lines, cost: apart } = report.apart.unwrap();
    assert_eq!((lines, apart.transfers, apart.invalidations), (1, 0, 0));
}

#[test]
fn nodes_that_use_the_same_byte_share_truly() {
    // The first strand writes bytes 0 to 7, and the second strand writes bytes 4 to 11.
    let report = report("0 w 1000\n64 w 1004\n");
    assert_eq!(report.lines[0].sharing, Sharing::True);
    assert_eq!(report.lines[0].moves, moves(1, 1));
    assert_eq!(report.apart, None);
}

/// Node 0 clears the line. Then strands of nodes 1 and 2 alternately increment their counters. At the
/// end, node 0 reads both counters, which causes only a few of the moves.
#[test]
fn counters_that_are_read_at_the_end_are_falsely_shared() {
    let count = "64 m 1000\n128 m 1008\n".repeat(100);
    let text = format!("0 w 1000 64\n{count}0 r 1000\n0 r 1008\n");
    let report = report(&text);
    let line = only(&report);
    assert_eq!(line.sharing, Sharing::False);
    // The first increment takes the line from node 0. Each later increment takes the line from the node that made the previous one. Node
    // 0's read takes the line back.
    assert_eq!(line.moves, moves(201, 200));
    // With separate lines, each counter has its own line. Node 0 clears and reads both lines. Each counter is incremented by its
    // own node.
    let apart = report.apart.unwrap().cost;
    assert_eq!((apart.transfers, apart.invalidations), (3, 1));
}

/// Each read by one node takes the line from the node that writes to it.
#[test]
fn a_line_that_moves_when_it_is_read_is_truly_shared() {
    let text = "0 w 1000\n0 w 1000\n0 w 1000\n0 w 1000\n64 r 1000\n".repeat(10);
    let report = report(&text);
    assert_eq!(report.lines[0].sharing, Sharing::True);
    assert_eq!(report.apart, None);
}

#[test]
fn what_is_only_read_in_common_is_shared_falsely_with_what_is_written() {
    // Both nodes read bytes 0 to 7, which no node writes. Node 1 writes bytes 32 to 39.
    let report = report("0 r 1000\n64 r 1000\n64 w 1020\n0 r 1000\n");
    let line = only(&report);
    // The write takes the line from node 0. Node 0's second read takes the line back.
    assert_eq!(line.moves, moves(1, 1));
    assert_eq!(line.sharing, Sharing::False);
    let apart = report.apart.unwrap().cost;
    assert_eq!((apart.transfers, apart.invalidations), (0, 0));
    // With separate lines, the last read hits in the data cache, so it does not wait for the other
    // node.
    assert!(apart.cycles < report.cost.cycles);
}

/// A thread executes 3,072 stores to one line, which are dealt to strands 0 and 64, 1,024 stores at a time.
#[test]
fn strands_to_which_a_thread_is_dealt_execute_that_thread() {
    let report = placed(&"0 w 1000\n".repeat(3 * Placement::DEAL_LENGTH), Some("deal:0,64"));
    let users: Vec<_> = (report.lines[0].users.iter())
        .map(|user| (user.thread, user.strand.index(), user.times))
        .collect();
    assert_eq!(users, [(0, 0, 2048), (0, 64, 1024)]);
}

#[test]
fn strands_of_a_node_take_nothing_from_each_other() {
    let report = report("0 w 1000\n8 w 1008\n0 w 1000\n");
    assert_eq!((report.lines_moved, report.lines.len()), (0, 0));
    assert_eq!(report.apart, None);
}

#[test]
fn the_lines_that_move_most_come_first_and_have_the_instructions_that_use_them() {
    let report = report(
        "0 i 40000\n0 w 2000 4\n64 i 40010\n64 r 2000 4\n0 i 40000\n0 w 2000 4\n0 i 40004\n0 w 303c 8\n64 i 40014\n64 a 3040 1\n",
    );
    let found: Vec<_> =
        (report.lines.iter()).map(|line| (line.address, line.moves, line.sharing)).collect();
    assert_eq!(
        found,
        [
            // Strand 64 reads the line from node 0's cache. Then strand 0 writes to the line again.
            (0x2000, moves(1, 1), Sharing::True),
            // A store writes bytes 60 to 63 of line 3000, and bytes 0 to 3 of line 3040. Only line
            // 3040 moves.
            (0x3040, moves(1, 1), Sharing::True),
        ]
    );
    let users: Vec<_> = (report.lines[1].users.iter())
        .map(|user| (user.instruction, user.what, user.bytes))
        .collect();
    assert_eq!(users, [(Some(0x4_0004), Use::Store, 0xf), (Some(0x4_0014), Use::Modify, 0x1)]);
    assert_eq!(report.lines_moved, 2);
}

/// A byte that gets a new address keeps its home, hub, channel and bank. The two addresses have the same bits 8:0. The other bits of the
/// two addresses are congruent modulo the number of homes.
#[test]
fn bytes_apart_have_the_same_home() {
    let line = report(FALSE).lines.remove(0);
    for (homes, address) in [(4, 0x1000), (3, 0x1ac0), (1, 0x7f_ffff_ffc0)] {
        let line = SharedLine { address, ..line.clone() };
        let apart = Apart::new([(address >> 6, &line)].into_iter(), homes, Some(0x1_0000_0000));
        let (one, other) = (apart.address(address), apart.address(address + 8));
        assert_ne!(one >> 6, other >> 6);
        for (found, real) in [(one, address), (other, address + 8)] {
            assert!((0x1_0000_0000..0x1_0100_0000).contains(&found), "{found:#x}");
            assert_eq!(found % 512, real % 512);
            assert_eq!((found >> 9) % homes, (real >> 9) % homes);
        }
        // Unused bytes do not move.
        assert_eq!(apart.address(address + 16), address + 16);
        assert_eq!(apart.address(address + 64), address + 64);
    }
}

#[test]
fn lists_of_bytes() {
    assert_eq!(byte_list(0), "");
    assert_eq!(byte_list(1), "0");
    assert_eq!(byte_list(0xff00_0000_0000_0001), "0,56-63");
    assert_eq!(byte_list(u64::MAX), "0-63");
    assert_eq!(byte_list(0b1011_0110), "1-2,4-5,7");
}
