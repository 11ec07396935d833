use std::io::Cursor;
use std::ops::ControlFlow;

use platform::{Machine, Model};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use simulator::memory::{Cache, Config};
use simulator::recording::Recording;
use simulator::replay::{Progress, Setup, Stage};

use super::*;
use crate::cmd::top::names::Names;

/// Returns the view at the end of a program with three threads. Threads with higher numbers execute
/// more instructions.
fn app(model: Model, nodes: usize) -> App {
    app_with(model, nodes, Config::T2_PLUS)
}

fn app_with(model: Model, nodes: usize, memory: Config) -> App {
    let machine = Machine::new(model, nodes).unwrap();
    let program: String = [0, 1, 1, 8, 8, 8]
        .iter()
        .flat_map(|strand| {
            (0..9).map(move |line| {
                format!("{strand} i {:#x}\n{strand} r {:#x}\n", 4 * line, 64 * line)
            })
        })
        .collect();
    let program = Recording::from_reader("test", Cursor::new(program), None).unwrap();
    let setup =
        Setup::new(machine, program).interval(Some(5)).details(memory.l2.line == 64).memory(memory);
    let about = ReplayInfo {
        machine,
        line: memory.l2.line,
        names: Names::new(&setup.programs, false),
        title: "a test".to_owned(),
        before: Progress::new(0, setup.programs.iter()),
        colours: true,
    };
    let mut app = App::new(about, Pace::new(false));
    let run = setup.check().unwrap().run(|progress| {
        if let Stage::Sample { now, .. } = progress {
            app.sample(LiveSample::new(now));
        }
        ControlFlow::Continue(())
    });
    app.end(&run.unwrap());
    app
}

fn press(app: &mut App, key: char) -> KeyAction {
    app.key(KeyCode::Char(key).into())
}

fn screen(app: &mut App, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| app.draw(frame)).unwrap();
    let cells = terminal.backend().buffer().content.chunks(width.into());
    let text = |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect();
    cells.map(text).collect()
}

#[test]
fn every_view_has_something_to_show_in_any_size() {
    for (model, nodes) in [(Model::Batoka, 4), (Model::Maramba, 1)] {
        let mut app = app(model, nodes);
        for view in '1'..='8' {
            press(&mut app, view);
            press(&mut app, 't');
            screen(&mut app, 80, 24);
            press(&mut app, 't');
            let rows = screen(&mut app, 80, 24);
            assert_ne!(rows[5].trim(), "", "{view}: {rows:?}");
            for (width, height) in [(1, 1), (3, 5), (20, 6), (60, 10), (300, 90)] {
                screen(&mut app, width, height);
                press(&mut app, '?');
                screen(&mut app, width, height);
            }
        }
    }
}

#[test]
fn rows_are_sorted_by_the_column_that_is_asked_for() {
    let mut app = app(Model::Batoka, 1);
    press(&mut app, '2');
    let mut strands = |keys: &str| -> Vec<String> {
        for key in keys.chars() {
            press(&mut app, key);
        }
        let rows = screen(&mut app, 80, 24).into_iter().skip(5).take(3);
        rows.map(|row| row.split_whitespace().nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(strands(""), ["0", "1", "8"]);
    assert_eq!(strands("oo"), ["8", "1", "0"], "by instructions");
    assert_eq!(strands("OO"), ["0", "1", "8"]);
}

#[test]
fn what_does_not_fit_is_scrolled() {
    let mut app = app(Model::Batoka, 4);
    press(&mut app, '3');
    let rows = screen(&mut app, 80, 24);
    // The 51 rows are 8 channels, 4 hubs, 16 links, 16 pairs of nodes, 4 headers and 3 empty lines.
    // The screen shows 18 rows, and a last line about the rest.
    assert_eq!(rows[22].trim_end(), "... 33 more; the down key scrolls");
    app.key(KeyCode::Down.into());
    assert_eq!(screen(&mut app, 80, 24)[22].trim_end(), "... 32 more; the down key scrolls");
    for _ in 0..9 {
        app.key(KeyCode::PageDown.into());
    }
    assert!(screen(&mut app, 80, 24)[22].starts_with("node 3      node 3"));
    app.key(KeyCode::Home.into());
    assert_eq!(screen(&mut app, 80, 24), rows);
}

#[test]
fn keys_ask_for_a_pace() {
    let mut app = app(Model::Batoka, 1);
    assert_eq!((press(&mut app, ' '), app.pace.paused), (KeyAction::Pace(0), true));
    assert_eq!((press(&mut app, 's'), app.pace.paused), (KeyAction::Pace(1), true));
    assert_eq!((press(&mut app, ' '), app.pace.paused), (KeyAction::Pace(0), false));
    assert_eq!(app.pace.rate(), Some(10));
    assert_eq!((press(&mut app, '+'), app.pace.rate()), (KeyAction::Pace(0), Some(20)));
    for _ in 0..9 {
        press(&mut app, '+');
    }
    assert_eq!(app.pace.rate(), None, "as fast as it goes");
    for _ in 0..9 {
        press(&mut app, '-');
    }
    assert_eq!(app.pace.rate(), Some(1));
    assert_eq!(press(&mut app, 'q'), KeyAction::Quit);
}

/// Rates are in bytes per second, so they depend on the size of a cache line.
#[test]
fn rates_are_of_lines_of_any_size() {
    for line in [64, 32] {
        let l2 = Cache { line, ..Config::T2_PLUS.l2 };
        let mut app = app_with(Model::Batoka, 1, Config { l2, ..Config::T2_PLUS });
        press(&mut app, '3');
        let rows = screen(&mut app, 80, 24);
        let seconds = app.now.as_ref().unwrap().run.cycles as f64 / 1_165_379_275.0;
        let channel = rows[5].strip_prefix("node 0 channel 0").unwrap();
        let cells: Vec<f64> =
            (channel.split_whitespace().take(3)).map(|cell| cell.parse().unwrap()).collect();
        let [read, written, rate] = cells[..] else { panic!("{channel}") };
        let expected = (read + written) * line as f64 / seconds / 1e9;
        assert!(read > 0.0 && (rate - expected).abs() < 0.01, "{channel}");
    }
}
