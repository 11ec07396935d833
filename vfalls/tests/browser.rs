//! Shows the page of the bundled recording in a real browser.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;

use platform::{Machine, Model};
use serde_json::Value;
use simulator::recording::bundled;
use simulator::replay::{Selection, Setup};
use simulator::run::Run;
use tests::program::Place;
use vfalls::page::{Page, profile};
use xtask::tools::CHROMIUM;

/// A script for the end of the page. It writes what a reader of the page sees as JSON text, which
/// the browser prints.
const PROBE: &str = r#"<pre id="probe"></pre><script>
  const width = document.documentElement.clientWidth;
  const clipped = [];
  for (const svg of document.querySelectorAll("svg")) {
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const t = text.getBoundingClientRect();
      if (t.left < box.left - 1 || t.right > box.right + 1 || t.top < box.top - 1 || t.bottom > box.bottom + 1)
        clipped.push(svg.closest("figure").id + ": " + text.textContent);
    }
  }
  const figures = {};
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    figures[figure.id] = {
      rows: [...figure.querySelectorAll("tbody tr")].map(row => [...row.cells].map(cell => cell.textContent)),
      marks: svg ? svg.querySelectorAll("rect, path, circle").length : 0,
      width: svg ? svg.getBoundingClientRect().width : 0,
      role: svg ? svg.getAttribute("role") : "",
      label: svg ? svg.getAttribute("aria-label") : "",
      bars: svg ? [...svg.querySelectorAll("rect")].map(bar => [bar.className.baseVal, bar.getBoundingClientRect().width]) : [],
    };
  }
  document.getElementById("probe").textContent = JSON.stringify({
    width, overflow: document.documentElement.scrollWidth - width, clipped, figures,
    background: getComputedStyle(document.body).backgroundColor,
    loads: performance.getEntriesByType("resource").length,
  }).replace(/[<>&\u0080-\uffff]/g, c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
</script>"#;

fn run() -> Run {
    let machine = Machine::new(Model::Batoka, 4).unwrap();
    let setup = Setup::new(machine, bundled())
        .selection(Selection::parse("dram:mem_reads,lpu:cycles_cache_hit,pic:Instr_cnt").unwrap())
        .details(true);
    setup.check().unwrap().run(|_| ControlFlow::Continue(())).unwrap().into()
}

/// Opens a page in a window of `width` pixels. Returns the JSON that the probe wrote, and the
/// browser's messages.
fn probe(place: &Place, page: &str, width: u32, dark: bool) -> (Value, String) {
    let mut browser = Command::new(CHROMIUM.find().unwrap());
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    browser.args(["--enable-logging=stderr", "--v=0", "--hide-scrollbars"]);
    browser.arg(format!("--user-data-dir={}", place.at("browser")));
    browser.arg(format!("--window-size={width},1000"));
    if dark {
        browser.args(["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]);
    }
    let output = browser.arg(format!("file://{page}")).output();
    let output = output.unwrap();
    let [document, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let found =
        document.split_once("<pre id=\"probe\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| panic!("{said}"));
    (serde_json::from_str(found).unwrap(), said)
}

/// A script for the end of a page of runs. It sorts the rows in several ways, and writes the first cells from top to bottom.
const SORTS: &str = r#"<pre id="probe"></pre><script>
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
  document.getElementById("probe").textContent = JSON.stringify(found);
</script>"#;

#[test]
#[ignore = "needs a browser"]
fn a_browser_sorts_runs() {
    let place = Place::below(env!("CARGO_TARGET_TMPDIR"), "runs-in-browser");
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
    let file = place.file("probe.html", page.replace("</body>", &format!("{SORTS}</body>")));
    for width in [400, 1600] {
        let (shown, said) = probe(&place, &file, width, false);
        assert!(!said.contains("CONSOLE"), "{said}");
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

/// Shows a page with the probe, and asserts the properties that every page must have. Returns the
/// probe's JSON.
fn legible(place: &Place, page: &str, width: u32, dark: bool) -> Value {
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert!(!page.contains("http://") && !page.contains("https://"));
    let page = page.replace("</body>", &format!("{PROBE}</body>"));
    let file = place.file("page.html", page);
    let (shown, said) = probe(place, &file, width, dark);
    assert!(!said.contains("CONSOLE"), "{said}");
    assert_eq!((&shown["overflow"], &shown["loads"]), (&0.into(), &0.into()), "{width}");
    assert_eq!(shown["clipped"], serde_json::json!([]), "{width}");
    // Figures of source lines, waits and locks have a table but no chart.
    let alone = |id: &str| id.starts_with("lines-") || ["who-waits", "locks"].contains(&id);
    let figures = shown["figures"].as_object().unwrap().iter();
    for (id, figure) in figures.filter(|(id, _)| !alone(id)) {
        assert!(figure["marks"].as_u64().unwrap() > 0, "{id}");
        assert_eq!(figure["role"], "img", "{id}");
        assert!(figure["label"].as_str().unwrap().len() > 20, "{id}");
        // The text of a chart is legible if the chart fills most of a narrow window. A chart must
        // not be wider than the window.
        let drawn = figure["width"].as_f64().unwrap();
        assert!((330.0..=620.0).contains(&drawn), "{id}: {drawn}");
    }
    shown
}

#[test]
#[ignore = "needs a browser"]
fn a_browser_shows_the_numbers_of_the_report() {
    let place = Place::below(env!("CARGO_TARGET_TMPDIR"), "page-in-browser");
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
    for (width, dark) in [(400, false), (1600, false), (400, true), (1600, true)] {
        let shown = legible(&place, &page, width, dark);
        backgrounds.insert((width, dark), shown["background"].clone());
        compare(&report, &shown["figures"]);
    }
    assert_eq!(backgrounds[&(400, false)], "rgb(255, 255, 255)");
    assert_eq!(backgrounds[&(1600, true)], "rgb(13, 17, 23)");
    let Run::Profile(sampled) = Run::parse(include_bytes!("commands/profile.json")).unwrap() else {
        panic!("expected a profile");
    };
    let stacks = ["DC_miss;main 4", "DC_miss;main;sum<int> 6"].map(str::to_owned);
    let page = profile(&sampled, &stacks, &[]).html();
    let shown = legible(&place, &page, 400, true);
    assert_eq!(shown["figures"]["flames"]["rows"][0][0], "6");
    let executed = page_of(include_bytes!("commands/executed.json"));
    for (width, dark) in [(400, true), (1600, false)] {
        let shown = legible(&place, &executed, width, dark);
        assert_eq!(shown["figures"]["cycles"]["rows"][1][4], "500000");
    }
}

fn page_of(json: &[u8]) -> String {
    Page::new(&Run::parse(json).unwrap()).unwrap().html()
}

/// Asserts that the charts show the numbers of the report.
fn compare(report: &Value, figures: &Value) {
    let rows = |id: &str| -> Vec<Vec<String>> {
        serde_json::from_value(figures[id]["rows"].clone()).unwrap()
    };
    let number = |row: &[String], column: usize| row[column].parse::<u64>().unwrap();
    // The table shows the parts of each thread's cycles. The lengths of the bars are in proportion
    // to these numbers.
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
    // The table of states has the numbers of the report. It has no columns for states that do not occur.
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
    // The time line has a row for each column of time.
    let ends = report["details"]["timeline"]["cycles"].as_array().unwrap();
    assert_eq!(rows("time-line").len(), ends.len());
    // The table has a column for each counter. The values that the guest reads are equal to the
    // truth.
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
    // The machine has two channels on each of four nodes, and four ports on each of four hubs. The
    // program has eight threads.
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
    // The counters of all eight clerks are in this line, as the README of the bundled program
    // explains.
    assert_eq!(rows("lines")[0][6], "false sharing");
    let clerks = rows("line-1");
    let stores = clerks.iter().filter(|row| row[3] == "store" && row[5] == "count_in_one_line");
    // Each clerk stores 2,500 times to its own 8 bytes. The table leaves out the stores before the line moves for the first time. The
    // first clerk executes about a hundred such stores while the other clerks leave the barrier.
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
