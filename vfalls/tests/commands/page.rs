//! Makes pages from a small run with round numbers.

use serde_json::{Value, json};
use simulator::run::Run;
use vfalls::page::{Page, SourceLine, SourceLines, profile};

use crate::program::with_input;

const REPORT: &str = include_str!("report.json");
const PROFILE: &str = include_str!("profile.json");

fn parsed(run: &str) -> Page {
    Page::new(&Run::parse(run.as_bytes()).unwrap()).unwrap()
}

fn page(run: &str) -> String {
    parsed(run).html()
}

fn figure<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, figure) = page.split_once(&format!("<figure id=\"{id}\"")).unwrap();
    figure.split_once("</figure>").unwrap().0
}

#[test]
fn what_was_run_is_said_and_what_stands_out() {
    let page = page(REPORT);
    for says in [
        "<h1>a &amp; b on batoka</h1>",
        "<code>./a '&lt;b&gt;'</code>",
        "l2.ways = 4 (not 16)",
        "2 threads on strands 0, 64",
        "250,000 references of 200,000 instructions",
        "1,000,000 cycles, 1.000 ms",
        "✗ 1 of 1 counters do not show what happened.",
        "the guest measured 70, the truth is 60",
        // The percentages are 900,000 of 1,400,000 cycles, 700,000 of 1,000,000 waiting cycles, and 620 of 1,000 lines.
        "<li>Threads spend 64% of their cycles waiting for memory of another node.</li>\
         <li>70% of all waiting is in the function 0x1000.</li>\
         <li>62% of node 1's misses are served by node 0's memory (620 of 1,000 lines).</li></ol>",
        "<li>the end of &lt;one&gt; thread is cut off</li>",
    ] {
        assert!(page.contains(says), "{says}");
    }
}

#[test]
fn marks_are_where_the_numbers_say() {
    let page = page(REPORT);
    let has = |id: &str, marks: &[&str]| {
        for mark in marks {
            assert!(figure(&page, id).contains(mark), "{id}: {mark}");
        }
    };
    // The threads take 4 and 10 cycles per instruction. The axis ends at 10, and extends from x = 92 to 328.
    has(
        "stacks",
        &[
            "<rect class=\"c0\" x=\"92\" y=\"7\" width=\"23.6\"",
            "<rect class=\"c1\" x=\"115.6\" y=\"7\" width=\"23.6\"",
            "<rect class=\"c2\" x=\"139.2\" y=\"7\" width=\"47.2\"",
            "<rect class=\"c3\" x=\"115.6\" y=\"26\" width=\"212.4\"",
            "<title>1 on strand 64: memory of another node, 900,000 cycles, 90%</title>",
        ],
    );
    // The measured rates are 40,000, 80,000, 0 and 160,000; the true fourth rate is 120,000. The scale ends at 200,000, and is 26 units
    // high. The chart extends from x = 112 to 354.
    has(
        "counter-0",
        &[
            "<path class=\"measured\" d=\"M112 32V26.8H172.5V21.6H233V32H293.5V11.2H354V32Z\"",
            "<path class=\"truth\" d=\"M112 26.8H172.5V21.6H233V32H293.5V16.4H354\"",
            "The guest's reading differs from the truth in 1 of them.",
            "<td>0.2500</td><td>10</td><td>10</td>",
            "<td>1.0000</td><td>40</td><td>30</td>",
            ">200 k/s<",
            "href=\"data:text/csv;charset=utf-8,%22until,%20ms%22,%22NODE0_MCU0,%20reading%22,%22NODE0_MCU0,%20truth%22%0A0.2500,10,10%0A",
        ],
    );
    // The channel moves 5 GB/s of at most 10 GB/s. It is busy half of the time, and later all of the time.
    has(
        "channels",
        &[
            "<path class=\"measured\" d=\"M112 32V32H172.5V19H233V19H293.5V32H354V32Z\"",
            "<path class=\"truth\" d=\"M112 32H172.5V19H233V6H293.5V32H354\"",
            "<path class=\"limit\" d=\"M112 6H354\"",
        ],
    );
    // The channels are busy 20% and 0.5% of the time. The links, which have two directions, are busy for 6,300 of 2,000,000 cycles.
    has(
        "map",
        &[
            "<rect class=\"edge s5\" ",
            "<title>MCU 0: busy for 20% of the time</title>",
            "<title>MCU 0: busy for 0.5% of the time</title>",
            "<title>link of node 1 and hub 0: busy for 0.3% of the time</title>",
        ],
    );
    has(
        "traffic",
        &["<title>lines from memory, from node 0 to node 1: 620 lines, 31% of all</title>"],
    );
    // The cell with 7 misses has the last colour. The cell with 1 miss has the first colour after the one for 0.
    has(
        "misses",
        &[
            "<path class=\"s7\" d=\"M225 6H354v12H225z\"",
            "<path class=\"s1\" d=\"M96 18H225v12H96z\"",
        ],
    );
    // The function has 980 of 2,000 misses.
    has(
        "functions",
        &[
            "<td class=\"w\">0x1000</td><td>49.0</td><td>300</td><td>600</td><td>80</td><td>700000</td>",
        ],
    );
    // The 64 bytes of a cache line are 242 units wide, and start at x = 112.
    has(
        "line-1",
        &[
            "<rect class=\"c4\" x=\"112\" y=\"26\" width=\"30.2\" height=\"6\"",
            "<rect class=\"c1\" x=\"142.2\" y=\"36\" width=\"30.2\" height=\"6\"",
            "<rect class=\"c1\" x=\"233\" y=\"36\" width=\"3.8\"",
        ],
    );
    has(
        "calls",
        &[
            "<title>measuring: get: 75 EOK</title>",
            "<title>measuring: get: 25 EWOULDBLOCK</title>",
            "76 of the 100 calls were made by the guest to read its counters for the charts over time: 3 samples, about 25 calls each.",
        ],
    );
    // The dots are at 10, 100 and 1,000 ns. The axis covers two decades, from x = 141.2 to 346. One of the parts is below 32 ns, and the
    // other starts at 992 ns.
    has(
        "latencies",
        &[
            "cx=\"141.2\"",
            "cx=\"243.6\"",
            "cx=\"346\"",
            "<rect class=\"c1\" x=\"141.2\" y=\"9\" width=\"51.7\" height=\"16\"",
            "<rect class=\"c1\" x=\"345.6\" y=\"24\" width=\"1.4\" height=\"1\"",
            "<td class=\"w\">0.0: 74; 992.0: 1</td>",
        ],
    );
    has("conflicts", &["7 conflicts in all", "<td>0.6000</td><td>0</td><td>4</td>"]);
    has("waits", &["<td>0</td><td>1000</td><td>2500</td><td>2.50</td>"]);
    has("events", &["get_perfreg (2)"]);
    // If no cache line moves between caches, there is no heat map of transfers.
    assert!(!page.contains("<figure id=\"transfers\""));
}

#[test]
fn events_of_one_name_are_apart_by_class() {
    let mut report: Value = serde_json::from_str(REPORT).unwrap();
    let counters = &mut report["details"]["series"]["counters"];
    let mut other = counters[0].clone();
    (other["class"], other["unit"]) = ("asu".into(), "ZAM0_ASU".into());
    counters.as_array_mut().unwrap().push(other);
    let page = page(&report.to_string());
    for (id, title, unit) in [
        ("counter-0", "<h3>dram:mem_reads over time</h3>", "NODE0_MCU0"),
        ("counter-1", "<h3>asu:mem_reads over time</h3>", "ZAM0_ASU"),
    ] {
        let figure = figure(&page, id);
        assert!(figure.contains(title), "{figure}");
        assert!(figure.contains(&format!(">{unit}</text>")), "{figure}");
        assert_eq!(figure.matches("<path class=\"measured\"").count(), 1);
    }
}

#[test]
fn a_report_without_details_says_how_to_get_them() {
    let mut report: Value = serde_json::from_str(REPORT).unwrap();
    report["details"] = Value::Null;
    let page = page(&report.to_string());
    assert!(page.contains("<h1>A run on batoka</h1>"));
    assert!(page.contains("The run has no details."));
    assert!(page.contains("<figure id=\"stacks\"") && !page.contains("<figure id=\"counter-0\""));
}

/// A picture is a separate file with its own colours and its own legend.
#[test]
fn a_picture_stands_alone() {
    let page = parsed(REPORT);
    let picture = page.picture("stacks").unwrap();
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
    assert!(picture.contains("<style>") && picture.contains(">busy</text>"));
    let names = page.picture("stack").unwrap_err();
    assert!(names.starts_with(&["stacks".to_owned(), "map".to_owned()]));
}

#[test]
fn a_profile_has_its_numbers() {
    let Run::Profile(run) = Run::parse(PROFILE.as_bytes()).unwrap() else {
        panic!("it is another kind of run");
    };
    let stacks = ["DC_miss;main 4", "DC_miss;main;sum<int> 6"].map(str::to_owned);
    let line = |line, text: Option<&str>, counts: [(u64, u64); 2]| SourceLine {
        line,
        text: text.map(str::to_owned),
        counts: counts.to_vec(),
    };
    let lines = SourceLines {
        function: "sum<int>".to_owned(),
        file: "/src/sum.c".to_owned(),
        rows: vec![
            line(4, Some("    sum += a[i] < 0;"), [(606, 550), (0, 300)]),
            line(9, None, [(0, 1), (0, 0)]),
        ],
    };
    let all = profile(&run, &stacks, &[lines]).html();
    for says in [
        "<h1>DC_miss, Instr_cnt in ./a &amp; b</h1>",
        "./a &amp; b, 2 threads: 5,000 instructions in 9,000 cycles",
        "sparc: 2 strands of a batoka",
        "l2.ways = 4 (not 16)",
        "<dt>DC_miss</dt><dd>10 samples, one for about 101, 1 lost; 1,010 ± 7 events counted, 1,000 in truth</dd>",
        "<dt>Instr_cnt</dt><dd>0 samples, one for about 1,009, 0 lost; 0 ± ? events counted, 900 in truth. \
         It is not modelled, and reads 0: nobody &lt;knows&gt;</dd>",
        "<li>the end of a thread is cut off</li>",
    ] {
        assert!(all.contains(says), "{says}");
    }
    // The two functions have 60% and 40% of the samples. Their true shares are 55% and 45%.
    for (id, mark) in [
        ("self-0", "sum&lt;int&gt; has 60% of the events, in truth 55%."),
        ("self-0", "20% apart (total variation); as many random events are 10% apart on average."),
        ("self-0", "<title>sum&lt;int&gt;: 6 samples, 60%</title>"),
        ("self-0", "<title>in truth: 450 events, 45% in truth</title>"),
        (
            "self-0",
            "<td class=\"w\">sum&lt;int&gt;</td><td>60.00</td><td>55.00</td><td>6</td><td>606</td><td>550</td>\
             <td class=\"w\">libsum.so</td><td class=\"w\">sum.c:3</td>",
        ),
        // Of the samples of `main` and its callees, 40% are in `main` itself.
        (
            "inclusive-0",
            "<td class=\"w\">main</td><td>100.00</td><td>100.00</td><td>40.00</td><td>45.00</td><td>10</td><td>1000</td>",
        ),
        // Each of the ten samples is a tenth of the width. The four rows (all, the event, main and
        // sum) are 18 units high each.
        (
            "flames",
            "<svg height=\"72\" role=\"img\" aria-label=\"Flame graph. 10 samples of 2 stacks.",
        ),
        (
            "flames",
            "<svg x=\"0.00%\" y=\"54\" width=\"100.00%\" height=\"18\"><title>all: 10 samples, 100%</title>",
        ),
        (
            "flames",
            "<svg x=\"0.00%\" y=\"18\" width=\"100.00%\" height=\"18\"><title>main: 10 samples, 100%</title>",
        ),
        (
            "flames",
            "<svg x=\"0.00%\" y=\"0\" width=\"60.00%\" height=\"18\"><title>sum&lt;int&gt;: 6 samples, 60%</title>",
        ),
        ("flames", "<td>6</td><td>60.00</td><td class=\"w\">DC_miss;main;sum&lt;int&gt;</td>"),
        ("lines-0", "The lines of /src/sum.c that this function has"),
        (
            "lines-0",
            "<td>4</td><td>606</td><td>550</td><td>0</td><td>300</td><td class=\"w\">sum += a[i] &lt; 0;</td>",
        ),
        ("lines-0", "<td>9</td><td>0</td><td>1</td><td>0</td><td>0</td><td class=\"w\"></td>"),
    ] {
        assert!(figure(&all, id).contains(mark), "{id}: {mark}\n{}", figure(&all, id));
    }
    // The page needs no other file, because it contains its script.
    assert!(!all.contains("http") && !all.contains(" src="));
    assert_eq!(all.matches("<script>").count(), 1);

    // The file that `--json` writes contains neither stacks nor source lines, so their figures are missing.
    let page = page(PROFILE);
    assert!(page.contains("<figure id=\"self-0\"") && !page.contains("<figure id=\"flames\""));
}

/// A long name is shortened in the middle; its tooltip shows the whole name.
#[test]
fn long_names_are_cut_in_the_middle() {
    let name = format!("Map<{}1>::find", "Key, ".repeat(40));
    let page = page(&PROFILE.replace("sum<int>", &name));
    let whole = name.replace('<', "&lt;").replace('>', "&gt;");
    // A label in this chart has at most 56 characters, a name in a sentence at most 64 characters, and a table cell at most 100.
    let label = "Map&lt;Key, Key, Key, Key, Key,…ey, Key, Key, Key, 1&gt;::find";
    let words = "Map&lt;Key, Key, Key, Key, Key, Key…y, Key, Key, Key, Key, 1&gt;::find";
    let cell = "Map&lt;Key, Key, Key, Key, Key, Key, Key, Key, Key, K… Key, Key, Key, Key, Key, Key, Key, Key, 1&gt;::find";
    for mark in [
        format!(">{label}<title>{whole}</title></text>"),
        format!("<td class=\"w\" title=\"{whole}\">{cell}</td><td>60.00</td>"),
        format!("<p>{words} has 60% of the events"),
        format!("<title>{whole}: 6 samples, 60%</title>"),
    ] {
        assert!(figure(&page, "self-0").contains(&mark), "{mark}");
    }
}

#[test]
fn what_has_no_page_is_refused_in_one_line() {
    let mut report: Value = serde_json::from_str(REPORT).unwrap();
    report["threads"][1]["strand"] = 128.into();
    let far = report.to_string();
    report["version"] = 999.into();
    let other_version = report.to_string();
    let empty = |kind: &str| json!({ "version": 1, "kind": kind }).to_string();
    // A scenario has most of the fields of a replay.
    let mut scenario: Value = serde_json::from_str(REPORT).unwrap();
    scenario["kind"] = "scenario".into();
    scenario["scenario"] = "a".into();
    for list in ["steps", "phases", "units"] {
        scenario[list] = json!([]);
    }
    for (input, says) in [
        ("", "error: -: is not JSON"),
        ("{}", "error: -: is not a run: it has no version"),
        (&empty("replay"), "error: -: is not a run: missing field `machine`"),
        (&empty("profile"), "error: -: is not a run: missing field `unit`"),
        (&empty("report"), "error: -: is not a run: unknown variant"),
        (&scenario.to_string(), "error: -: is the run of a scenario, which has no page"),
        (&far, "error: -: strand 128 is not in the machine"),
        (&other_version, "error: -: is a run of format version 999, expected version 1"),
    ] {
        with_input(&["page", "-"], input).assert_failure_without_output(says);
    }
}

/// Returns `true` if a page has the table of many strands.
fn has_many_strands(page: &str) -> bool {
    page.contains("<figure id=\"strands\" class=\"wide\">")
}

#[test]
fn a_run_that_executes_has_a_page() {
    const EXECUTED: &str = include_str!("executed.json");
    let page = page(EXECUTED);
    for says in [
        "<h1>primary, ldg1 on batoka</h1>",
        "primary: a&lt;b&gt;.elf, on strand 0; it has ended with code 3",
        "ldg1: the bundled guest, on strand 64; it has not ended",
        "500,000 instructions on 2 strands",
        "1,000,000 cycles, 1.000 ms",
        "<li>After 200,000 instructions: ldg1 is granted global; rejected: guests 0 and 1 both have global</li>",
        "<li>NODE0_MCU0 is out of service: an access failed, on strand 0 of guest 0</li>",
        "aria-label=\"Console of primary\">1 &lt; 2\n\u{fffd}bold\n</pre>",
    ] {
        assert!(page.contains(says), "{says}");
    }
    let has = |id: &str, text: &str| assert!(figure(&page, id).contains(text), "{id}: {text}");
    has("instructions", "<title>strand 0: 300,000 instructions of the guest</title>");
    has("cycles", "<title>strand 0: 400,000 cycles of the hypervisor</title>");
    has("cycles", ">CPI 5.0</text>");
    has(
        "cycles",
        "<td>0</td><td>0</td><td>300000</td><td>100000</td><td>600000</td><td>400000</td><td>2.50</td><td>12</td><td>1000</td>",
    );
    has("calls", "<title>primary: 10 ENOACCESS</title>");
    has("event-0", "In all, 100.");
    has("event-0", "<title>node 0: 75</title>");
    has("event-1", "<td>3</td><td>40</td>");
    // If nothing happened, an axis still ends above 0.
    has("event-2", ">1.0</text>");
    has("map", ">1 strand</text>");
    has("map", "<title>MCU 0: busy for 20% of the time</title>");
    has("waits", "<td>0</td><td>100</td><td>250</td><td>2.50</td>");
    assert!(!page.contains("no details"));

    // With more than 16 strands, each strand has a row, and each node a bar. Here, 16 more strands of node 0 execute the same as strand 0:
    // 300,000 guest instructions and 100,000 hypervisor instructions.
    let mut many: Value = serde_json::from_str(EXECUTED).unwrap();
    let strands = many["strands"].as_array_mut().unwrap();
    for number in 1..=16 {
        let mut strand = strands[0].clone();
        strand["strand"] = number.into();
        strands.push(strand);
    }
    let many = self::page(&many.to_string());
    assert!(!has_many_strands(&page) && has_many_strands(&many));
    for text in [
        "<td class=\"w\">node 0, 17 strands</td><td>5100000</td><td>1700000</td>",
        "<title>node 0, 17 strands: 5,100,000 instructions of the guest</title>",
        "<td class=\"w\">node 1, 1 strand</td>",
    ] {
        assert!(figure(&many, "instructions").contains(text), "{text}");
    }

    // Without a memory system, the page shows neither channels nor events.
    let mut plain: Value = serde_json::from_str(EXECUTED).unwrap();
    for part in ["traffic", "channels", "hubs", "links"] {
        plain.as_object_mut().unwrap().remove(part);
    }
    plain["events"] = Value::Array(Vec::new());
    let plain = self::page(&plain.to_string());
    assert!(plain.contains("<figure id=\"cycles\"") && !plain.contains("<figure id=\"map\""));
    let mut outside: Value = serde_json::from_str(EXECUTED).unwrap();
    outside["strands"][1]["strand"] = 128.into();
    let error = Run::parse(outside.to_string().as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "strand 128 is not in the machine");
}
