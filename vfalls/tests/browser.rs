//! Shows the page of the bundled recording in a real browser.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;

use platform::{Machine, Model};
use serde_json::{Value, json};
use simulator::recording::bundled;
use simulator::replay::{Selection, Setup};
use simulator::run::Run;
use tests::program::TestDirectory;
use vfalls::page::{Page, profile};
use xtask::tools::CHROMIUM;

/// A script that is added at the end of a page. It writes what a reader of the page sees.
const PROBE: &str = r#"
  const width = document.documentElement.clientWidth;
  const clipped = [];
  for (const svg of document.querySelectorAll("figure > svg")) {
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const t = text.getBoundingClientRect();
      // A name in a flame graph is within its own box.
      const own = text.ownerSVGElement == svg ? box : text.ownerSVGElement.querySelector("rect").getBoundingClientRect();
      if (t.left < own.left - 1 || t.right > own.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1)
        clipped.push(svg.closest("figure").id + ": " + text.textContent);
    }
  }
  const figures = {};
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg"), style = getComputedStyle(figure);
    figures[figure.id] = {
      room: figure.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight),
      rows: [...figure.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent)),
      marks: svg ? svg.querySelectorAll("rect, path, circle").length : 0,
      width: svg ? svg.getBoundingClientRect().width : 0,
      role: svg ? svg.getAttribute("role") : "",
      label: svg ? svg.getAttribute("aria-label") : "",
      bars: svg ? [...svg.querySelectorAll("rect")].map(bar => [bar.className.baseVal, bar.getBoundingClientRect().width]) : [],
    };
  }
  const box = element => element.getBoundingClientRect();
  const sections = [...document.querySelectorAll(".charts")].map(charts => {
    const cards = [...charts.querySelectorAll("figure")].sort((one, other) => box(one).top - box(other).top), columns = Object.values(Object.groupBy(cards, card => box(card).left));
    return {
      highest: Math.max(...cards.map(card => box(card).height)),
      columns: columns.map(cards => ({
        width: box(cards[0]).width,
        height: box(cards.at(-1)).bottom - box(charts).top,
        gaps: cards.slice(1).map((card, above) => box(card).top - box(cards[above]).bottom),
      })),
    };
  });
  const wide = [...document.querySelectorAll(".wide")].map(card => box(card).width);
  write({
    width, overflow: document.documentElement.scrollWidth - width, clipped, figures, sections, wide,
    background: getComputedStyle(document.body).backgroundColor,
    loads: performance.getEntriesByType("resource").length,
  });
"#;

fn run() -> Run {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let setup = Setup::new(machine, bundled())
        .selection(Selection::parse("dram:mem_reads,lpu:cycles_cache_hit,pic:Instr_cnt").unwrap())
        .details(true);
    setup.check().unwrap().run(|_| ControlFlow::Continue(())).unwrap().into()
}

/// A script that is added at the end of a page. It sorts and searches the thread table as a reader does, and writes the threads that the
/// table then shows.
const READER: &str = r#"
  const threads = document.getElementById("threads");
  const shown = () => [...threads.querySelectorAll("tbody tr")].filter(row => row.checkVisibility()).map(row => row.cells[0].textContent);
  const click = name => [...threads.querySelectorAll("th button")].find(button => button.textContent == name).click();
  const search = text => {
    const input = threads.querySelector("input");
    input.value = text;
    input.dispatchEvent(new Event("input"));
    return [shown(), threads.querySelector("output").textContent];
  };
  const said = {first: shown().slice(0, 3), all: shown().length};
  click("cycles"); said.falls = shown().slice(0, 3);
  click("cycles"); said.rises = shown().slice(0, 3);
  click("thread"); click("thread"); said.threads = shown().slice(0, 3);
  said.sorted = [...threads.querySelectorAll("[aria-sort]")].map(head => head.textContent + " " + head.ariaSort);
  said.node = search("node=3"); said.both = search("node=3 cycles>2000"); said.text = search("2990"); said.none = search("mango");
  said.again = search("")[0].length;
  write(said);
"#;

/// The function with which a script at the end of a page writes a value.
const WRITE: &str = r#"
  const write = value => parent.document.getElementById("written").textContent = JSON.stringify(value)
    .replace(/[<>&\u0080-\uffff]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
"#;

/// Opens a page that is `width` pixels wide, and runs a script at the page's end. Returns the value that the script wrote. The page is in a
/// frame of this width, because a browser window is at least 500 pixels wide.
fn open(place: &TestDirectory, page: &str, script: &str, width: u32, dark: bool) -> Value {
    let page = page.replace("</body>", &format!("<script>{WRITE}{script}</script></body>"));
    let page = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = format!(
        "<!DOCTYPE html><meta charset=utf-8><meta name=color-scheme content='light dark'><iframe srcdoc=\"{page}\" style='border: 0; width: {width}px; height: 1000px'></iframe>\
         <pre id=\"written\"></pre>"
    );
    let file = place.file("page.html", frame);
    let mut browser = Command::new(CHROMIUM.find().unwrap());
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    browser.args(["--enable-logging=stderr", "--v=0", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", place.at("browser")));
    browser.arg("--window-size=1700,1100");
    if dark {
        browser.args(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]);
    }
    let output = browser.arg(format!("file://{file}")).output().unwrap();
    let [document, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(!said.contains("CONSOLE"), "{said}");
    let written = document.split_once("<pre id=\"written\">");
    let written = written.and_then(|(_, rest)| rest.split_once("</pre>"));
    let (written, _) = written.unwrap_or_else(|| panic!("{said}"));
    serde_json::from_str(written).unwrap_or_else(|_| panic!("{said}"))
}

/// A script that is added at the end of a page that lists runs. It sorts the rows in several ways, and writes the first cells from top to
/// bottom.
const SORTS: &str = r#"
  const top_down = () => [...document.querySelectorAll("tbody tr")]
    .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
    .map(row => row.cells[0].textContent);
  const click = text => [...document.querySelectorAll("label")].find(label => label.textContent == text).click();
  const found = { given: top_down() };
  for (const name of ["placement", "cycles", "reversed", "as given"]) {
    click(name);
    found[name] = top_down();
  }
  const [head, row] = ["thead tr", "tbody tr"].map(row => [...document.querySelector(row).cells].map(cell => cell.getBoundingClientRect()));
  found.aligned = head.every((cell, at) => cell.left == row[at].left && cell.right == row[at].right);
  const shade = cell => getComputedStyle(cell).backgroundImage;
  found.shaded = [...document.querySelectorAll("td.part")].every(cell => shade(cell).startsWith("linear-gradient"));
  found.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  write(found);
"#;

#[test]
#[ignore = "needs a browser"]
fn a_browser_sorts_runs() {
    let place = TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), "runs-in-browser");
    let report = include_str!("commands/report.json");
    for (name, placement, cycles) in
        [("a", "spread", "80"), ("b", "pack", "9"), ("c", "pack", "1000")]
    {
        let run = report.replace("\"spread\"", &format!("\"{placement}\""));
        place.file(
            &format!("{name}.json"),
            run.replacen("\"cycles\": 1000000", &format!("\"cycles\": {cycles}"), 1),
        );
    }
    let vfalls = Command::new(env!("CARGO_BIN_EXE_vfalls"));
    let ended = place.run(vfalls, "table a.json b.json c.json --html page.html");
    assert_eq!(ended.status, 0, "{}", ended.stderr);
    let page = std::fs::read_to_string(place.at("page.html")).unwrap();
    for width in [400, 1600] {
        let shown = open(&place, &page, SORTS, width, false);
        let expected = serde_json::json!({
            "given": ["a", "b", "c"],
            "placement": ["b", "c", "a"],
            "cycles": ["b", "a", "c"],
            "reversed": ["c", "a", "b"],
            "as given": ["c", "b", "a"],
            "aligned": true,
            "shaded": true,
            "overflow": 0,
        });
        assert_eq!(shown, expected, "{width}");
    }
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Shows a page with the probe, and checks the properties that every page must have. Returns the probe's JSON.
fn legible(place: &TestDirectory, page: &str, width: u32, dark: bool) -> Value {
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(!page.contains("http://") && !page.contains("https://"));
    let shown = open(place, page, PROBE, width, dark);
    assert_eq!((&shown["overflow"], &shown["loads"]), (&0.into(), &0.into()), "{width}");
    assert_eq!(shown["clipped"], json!([]), "{width}");
    assert_eq!(shown["width"], width);
    // Figures for source lines, threads, waits and locks have a table but no chart.
    let alone =
        |id: &str| id.starts_with("lines-") || ["threads", "who-waits", "locks"].contains(&id);
    let figures = shown["figures"].as_object().unwrap().iter();
    for (id, figure) in figures.filter(|(id, _)| !alone(id)) {
        assert!(figure["marks"].as_u64().unwrap() > 0, "{id}");
        assert_eq!(figure["role"], "img", "{id}");
        assert!(figure["label"].as_str().unwrap().len() > 20, "{id}");
        // A chart's text is legible if the chart fills most of a narrow window. A chart must not be wider than the window. A flame graph is
        // as wide as its card.
        let [drawn, room] = ["width", "room"].map(|of| figure[of].as_f64().unwrap());
        match &**id {
            "flames" => assert!((drawn - room).abs() < 1.0, "{drawn} of {room}"),
            _ => assert!((330.0..=620.0).contains(&drawn), "{id}: {drawn}"),
        }
    }
    without_gaps(&shown, width);
    shown
}

/// Asserts that the cards of a page leave no gaps.
fn without_gaps(shown: &Value, width: u32) {
    // The page has a margin on both sides.
    let (most_columns, page) = match width {
        400 => (1, 384.0),
        1280 => (2, 1248.0),
        1600 => (3, 1568.0),
        width => panic!("{width}"),
    };
    let is_about = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1.0;
    for section in shown["sections"].as_array().unwrap() {
        let columns = section["columns"].as_array().unwrap();
        let cards = columns.iter().map(|column| column["gaps"].as_array().unwrap().len() + 1);
        let cards: usize = cards.sum();
        assert_eq!(columns.len(), cards.min(most_columns), "{section}");
        // There are 16 pixels between two columns, and between two cards.
        let between = 16.0 * (columns.len() - 1) as f64;
        for column in columns {
            assert!(
                is_about(&column["width"], (page - between) / columns.len() as f64),
                "{section}"
            );
            for gap in column["gaps"].as_array().unwrap() {
                assert!(is_about(gap, 16.0), "{section}");
            }
        }
        // In a wide window, the columns end at the same height. In a narrower window, the browser balances them, so one column is longer
        // than the other by at most one card's height.
        let heights = columns.iter().map(|column| column["height"].as_f64().unwrap());
        let (least, most) = heights.fold((f64::MAX, 0.0_f64), |(least, most), height| {
            (least.min(height), most.max(height))
        });
        let highest = section["highest"].as_f64().unwrap();
        let allowed = if width == 1600 { 1.0 } else { highest };
        assert!(most - least <= allowed, "{width}: {section}");
    }
    for card in shown["wide"].as_array().unwrap() {
        assert!(is_about(card, page), "{card}");
    }
}

#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_the_numbers_of_the_report() {
    let place = TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), "page-in-browser");
    let run = run();
    let report = serde_json::to_value(&run).unwrap();
    let page = Page::new(&run).unwrap();
    let picture = page.picture("line-1").unwrap();
    assert!(
        picture == include_str!("../../simulator/images/false-sharing.svg"),
        "simulator/README.md says how its pictures are made"
    );
    let page = page.html();
    let mut backgrounds = BTreeMap::new();
    for (width, dark) in [(400, false), (1280, false), (1600, false), (400, true), (1600, true)] {
        let shown = legible(&place, &page, width, dark);
        backgrounds.insert((width, dark), shown["background"].clone());
        compare(&report, &shown["figures"]);
    }
    assert_eq!(backgrounds[&(400, false)], "rgb(255, 255, 255)");
    assert_eq!(backgrounds[&(1600, true)], "rgb(13, 17, 23)");
    // A flame graph fits into all widths, even with long names.
    let name = format!("Map<{}1>::find", "Key, ".repeat(40));
    let sampled = include_str!("commands/profile.json").replace("sum<int>", &name);
    let Run::Profile(sampled) = Run::parse(sampled.as_bytes()).unwrap() else {
        panic!("expected a profile");
    };
    let stacks = ["DC_miss;main 4".to_owned(), format!("DC_miss;main;{name} 6")];
    let page = profile(&sampled, &stacks, &[]).html();
    for (width, dark) in [(400, true), (1280, false), (1600, true)] {
        let shown = legible(&place, &page, width, dark);
        assert_eq!(shown["figures"]["flames"]["rows"][0][0], "6");
    }
    let executed = page_of(include_bytes!("commands/executed.json"));
    for (width, dark) in [(400, true), (1600, false)] {
        let shown = legible(&place, &executed, width, dark);
        assert_eq!(shown["figures"]["cycles"]["rows"][1][4], "500000");
    }
}

/// Returns a run of `threads` threads on four nodes. Thread i executes 1,000 instructions on strand i, and takes 1,000 + 10 * (100 * i mod
/// 201) cycles.
fn run_of(threads: u64) -> Run {
    let mut run: Value = serde_json::from_slice(include_bytes!("commands/report.json")).unwrap();
    run["nodes"] = 4.into();
    let thread = |thread: u64| {
        let cycles = 1000 + 10 * (100 * thread % 201);
        let mut one = run["threads"][1].clone();
        one["thread"] = thread.into();
        one["strand"] = thread.into();
        one["instructions"] = 1000.into();
        one["cycles"] = cycles.into();
        one["stack"]["busy"] = 1000.into();
        one["stack"]["remote"] = (cycles - 1000).into();
        one["states"] = json!({
            "running": cycles, "ready": 0, "lock": 0, "condition": 0, "barrier": 0, "semaphore": 0,
            "thread": 0, "sleep": 0, "recorded": 0, "not_begun": 0, "ended": 10_000 - cycles,
        });
        one
    };
    let all: Vec<_> = (0..threads).map(thread).collect();
    run["threads"] = all.into();
    run["details"]["programs"][0]["threads"] = threads.into();
    Run::parse(run.to_string().as_bytes()).unwrap()
}

#[test]
#[ignore = "needs a browser"]
fn few_threads_are_bars_and_many_are_a_table() {
    let place = TestDirectory::new_in(env!("CARGO_TARGET_TMPDIR"), "page-of-threads");
    let few = Page::new(&run_of(8)).unwrap().html();
    let many = Page::new(&run_of(201)).unwrap().html();
    for width in [400, 1280, 1600] {
        let shown = legible(&place, &few, width, false);
        assert_eq!(shown["figures"]["stacks"]["rows"].as_array().unwrap().len(), 8);
        assert_eq!(shown["figures"].get("threads"), None);
        let shown = legible(&place, &many, width, false);
        let figures = &shown["figures"];
        assert_eq!(figures["threads"]["rows"].as_array().unwrap().len(), 201);
        // Each node has a bar. Nodes 0, 1 and 2 have 64 threads each. Node 3 has 9 threads, with 9,000 instructions in 9,000 + 10 * (105 +
        // 4 + 104 + 3 + 103 + 2 + 102 + 1 + 101) cycles.
        let nodes = figures["stacks"]["rows"].as_array().unwrap();
        assert_eq!(nodes.len(), 4);
        let node = &nodes[3].as_array().unwrap()[..4];
        assert_eq!(node, ["node 3, 9 threads", "9000", "14250", "1.58"]);
        assert_eq!(figures["states"]["rows"].as_array().unwrap().len(), 4);
    }
    let shown = open(&place, &many, READER, 1280, false);
    // 100 * i mod 201 is 200 for thread 2, 199 for thread 4 and 198 for thread 6; it is 0 for thread 0, 1 for thread 199 and 2 for
    // thread 197.
    let expected = json!({
        "first": ["0", "1", "2"],
        "all": 201,
        "falls": ["2", "4", "6"],
        "rises": ["0", "199", "197"],
        "threads": ["0", "1", "2"],
        "sorted": ["thread ascending"],
        "node": [["192", "193", "194", "195", "196", "197", "198", "199", "200"], "9 of 201 rows"],
        "both": [["192", "194", "196", "198", "200"], "5 of 201 rows"],
        "text": [["4"], "1 of 201 rows"],
        "none": [[], "0 of 201 rows"],
        "again": 201,
    });
    assert_eq!(shown, expected);
}

fn page_of(json: &[u8]) -> String {
    Page::new(&Run::parse(json).unwrap()).unwrap().html()
}

/// Asserts that the charts show the report's numbers.
fn compare(report: &Value, figures: &Value) {
    let rows = |id: &str| -> Vec<Vec<String>> {
        serde_json::from_value(figures[id]["rows"].clone()).unwrap()
    };
    let number = |row: &[String], column: usize| row[column].parse::<u64>().unwrap();
    // The table shows the parts of each thread's cycles. The lengths of the bars are proportional to these numbers.
    let parts =
        ["busy", "l2", "local", "remote", "c2c", "arriving", "stores", "atomics", "pipeline"];
    let bars: Vec<(String, f64)> =
        serde_json::from_value(figures["stacks"]["bars"].clone()).unwrap();
    let (mut unit, mut bars) = (None, bars.into_iter());
    for (thread, row) in report["threads"].as_array().unwrap().iter().zip(rows("stacks")) {
        assert_eq!(thread["cycles"], number(&row, 4));
        let instructions = thread["instructions"].as_f64().unwrap();
        for (part, name) in parts.iter().enumerate() {
            let cycles = thread["stack"][name].as_u64().unwrap();
            assert_eq!(cycles, number(&row, 6 + part), "{name}");
            if cycles > 0 {
                let (class, width) = bars.next().unwrap();
                assert_eq!(class, format!("c{part}"));
                let cpi = cycles as f64 / instructions;
                let unit = *unit.get_or_insert(width / cpi);
                assert!((width - cpi * unit).abs() < 0.02 * unit + 0.2, "{name}: {width}");
            }
        }
    }
    assert_eq!(bars.next(), None);
    // The state table has the report's numbers. It has no columns for states that do not occur.
    let states = |thread: &Value| -> Vec<u64> {
        let names = ["running", "ready", "lock", "condition", "barrier", "semaphore", "thread"];
        let names = names.iter().chain(&["sleep", "recorded", "not_begun", "ended"]);
        names.map(|name| thread["states"][*name].as_u64().unwrap()).collect()
    };
    let threads: Vec<_> = report["threads"].as_array().unwrap().iter().map(states).collect();
    let occurs = |state: &usize| threads.iter().any(|thread| thread[*state] > 0);
    let occurring: Vec<_> = (0..11).filter(occurs).collect();
    for (thread, row) in threads.iter().zip(rows("states")) {
        let expected: Vec<_> = occurring.iter().map(|state| thread[*state]).collect();
        assert_eq!((3..row.len()).map(|column| number(&row, column)).collect::<Vec<_>>(), expected);
    }
    // The time line has a row for each time column.
    let ends = report["details"]["timeline"]["cycles"].as_array().unwrap();
    assert_eq!(rows("time-line").len(), ends.len());
    // The table has a column for each counter. The values that the guest reads equal the true values.
    let series = &report["details"]["series"];
    let counters = series["counters"].as_array().unwrap();
    let mut compared = 0;
    for (number, event) in ["mem_reads", "cycles_cache_hit", "Instr_cnt"].iter().enumerate() {
        let rows = rows(&format!("counter-{number}"));
        let of_event = counters.iter().filter(|counter| counter["event"] == *event);
        for (column, counter) in (1..).zip(of_event) {
            let shown: Vec<u64> = rows.iter().map(|row| row[column].parse().unwrap()).collect();
            assert_eq!(
                (&shown, &shown),
                (&numbers(&counter["measured"]), &numbers(&counter["truth"]))
            );
            compared += 1;
        }
    }
    // The machine has two channels on each of four nodes, and four ports on each of four hubs. The program has eight threads.
    assert_eq!((compared, counters.len()), (32, 32));
    let channels = rows("channels");
    for (place, channel) in series["channels"].as_array().unwrap().iter().enumerate() {
        let column = |column: usize| -> Vec<u64> {
            channels.iter().map(|row| row[column].parse().unwrap()).collect()
        };
        assert_eq!(column(1 + 2 * place), numbers(&channel["bytes"]));
        assert_eq!(column(2 + 2 * place), numbers(&channel["busy"]));
    }
    for (traffic, row) in report["traffic"].as_array().unwrap().iter().zip(rows("traffic")) {
        let shown = [1, 2, 3].map(|column| number(&row, column));
        assert_eq!(["from", "to", "lines"].map(|name| traffic[name].as_u64().unwrap()), shown);
    }
    let heat = report["details"]["heat"]["misses"].as_array().unwrap();
    let shown = rows("misses");
    assert_eq!(shown.len(), heat.len());
    for (row, shown) in heat.iter().zip(shown) {
        let shown: Vec<u64> = shown[2..].iter().map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(numbers(row), shown);
    }
    // The first row is the cache line that contains all eight clerks' counters, as the bundled program's README explains.
    assert_eq!(rows("lines")[0][6], "false sharing");
    let clerks = rows("line-1");
    let stores = clerks.iter().filter(|row| row[3] == "store" && row[5] == "count_in_one_line");
    // Each clerk stores 2,500 times to its own 8 bytes. The table omits the stores before the line moves for the first time. The first
    // clerk executes about a hundred such stores while the other clerks leave the barrier.
    let mut bytes: Vec<_> = stores
        .inspect(|row| assert!((2380..=2500).contains(&number(row, 4)), "{row:?}"))
        .map(|row| &*row[0])
        .collect();
    bytes.sort_unstable();
    assert_eq!(bytes, ["0-7", "16-23", "24-31", "32-39", "40-47", "48-55", "56-63", "8-15"]);
    let others = "map transfers functions instructions links calls latencies conflicts waits call-rate events";
    for id in others.split(' ') {
        assert!(!rows(id).is_empty(), "{id}");
    }
}
