//! Holds the state of the interactive view, handles its keys, and draws it.

use std::time::Duration;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Clear, Paragraph};
use simulator::run::Replayed;

use crate::cmd::top::ReplayInfo;
use crate::cmd::top::grid::{meter, title};
use crate::cmd::top::live::{LiveSample, Pace};
use crate::cmd::top::view::{View, ViewContext, ViewPage};
use crate::numbers::count;
use crate::text::layouts::time;

/// What a key asks the caller to do. A key that only changes the view asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyAction {
    Nothing,
    /// Set a new pace. A paused replay goes on for this number of intervals.
    Pace(u64),
    /// Suspend the program, as Ctrl-Z does in a shell.
    Stop,
    Quit,
}

pub(crate) const KEYS: [(&str, &str); 12] = [
    ("space", "pause, continue"),
    ("s or right", "one interval, then pause"),
    ("+ or -", "faster, slower"),
    ("t", "numbers of the last interval, or since the start"),
    ("1 to 8, Tab", "the views; Shift-Tab goes back"),
    ("o, O", "sort by the next column, the previous one"),
    ("up, down", "scroll by a line"),
    ("PgUp, PgDn", "scroll by a screen"),
    ("Home", "back to the first line"),
    ("? or h", "this help"),
    ("Ctrl-Z", "suspend; the shell's fg resumes"),
    ("q or Ctrl-C", "end"),
];

pub(crate) struct App {
    about: ReplayInfo,
    pub(crate) pace: Pace,
    view: View,
    /// The index of each view's sort column.
    sort: [usize; View::ALL.len()],
    scroll: usize,
    /// `true` if the view shows totals since the start of the replay; `false` if it shows only the
    /// latest interval.
    whole: bool,
    help: bool,
    ended: bool,
    /// The latest sample. Its numbers are totals since the start of the replay.
    now: Option<LiveSample>,
    /// The difference between the latest two samples.
    last: Option<Replayed>,
    /// How many scrolling lines fitted on the screen when it was last drawn.
    room: usize,
}

impl App {
    pub(crate) fn new(about: ReplayInfo, pace: Pace) -> Self {
        Self {
            about,
            pace,
            view: View::Overview,
            sort: [0; View::ALL.len()],
            scroll: 0,
            whole: false,
            help: false,
            ended: false,
            now: None,
            last: None,
            room: 0,
        }
    }

    pub(crate) fn sample(&mut self, next: LiveSample) {
        let last = self.now.as_ref().map(|now| next.run.since(&now.run));
        // If the replay ends exactly at the end of an interval, the last sample contains no new
        // references. In this case, the view still shows the previous interval.
        if last.as_ref().is_none_or(|last| last.references > 0) {
            self.last = Some(last.unwrap_or_else(|| next.run.clone()));
        }
        self.now = Some(next);
    }

    /// Shows the totals of the replay after its end.
    pub(crate) fn end(&mut self, run: &Replayed) {
        let progress = self.now.as_ref().map_or(self.about.before, |now| now.progress);
        self.sample(LiveSample { run: run.clone(), progress });
        self.ended = true;
        self.whole = true;
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> KeyAction {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => KeyAction::Quit,
                KeyCode::Char('z') => KeyAction::Stop,
                _ => KeyAction::Nothing,
            };
        }
        let views = View::ALL.len();
        let number = self.view as usize;
        let help = std::mem::take(&mut self.help);
        match key.code {
            KeyCode::Char('q') => return KeyAction::Quit,
            KeyCode::Esc => {}
            KeyCode::Char('?' | 'h') => self.help = !help,
            KeyCode::Char(' ') => {
                self.pace.paused = !self.pace.paused;
                return KeyAction::Pace(0);
            }
            KeyCode::Char('s') | KeyCode::Right => {
                self.pace.paused = true;
                return KeyAction::Pace(1);
            }
            KeyCode::Char('+' | '=') => {
                self.pace.faster();
                return KeyAction::Pace(0);
            }
            KeyCode::Char('-') => {
                self.pace.slower();
                return KeyAction::Pace(0);
            }
            KeyCode::Char('t') => self.whole = !self.whole,
            KeyCode::Tab => self.show((number + 1) % views),
            KeyCode::BackTab => self.show((number + views - 1) % views),
            KeyCode::Char(digit @ '1'..='9') => self.show(digit as usize - '1' as usize),
            KeyCode::Char(order @ ('o' | 'O')) => {
                let columns = self.view.columns().max(1);
                let by = if order == 'o' { 1 } else { columns - 1 };
                self.sort[number] = (self.sort[number] + by) % columns;
            }
            KeyCode::Up => self.scroll = self.scroll.saturating_sub(1),
            KeyCode::Down => self.scroll += 1,
            KeyCode::PageUp => self.scroll = self.scroll.saturating_sub(self.room),
            KeyCode::PageDown => self.scroll += self.room,
            KeyCode::Home => self.scroll = 0,
            _ => self.help = help,
        }
        KeyAction::Nothing
    }

    fn show(&mut self, view: usize) {
        if let Some(view) = View::ALL.get(view) {
            self.view = *view;
            self.scroll = 0;
        }
    }

    pub(crate) fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let [head, body, foot] =
            Layout::vertical([Constraint::Length(4), Constraint::Min(0), Constraint::Length(1)])
                .areas(area);
        frame.render_widget(Text::from(self.head(usize::from(head.width))), head);
        self.body(frame, body);
        let keys = "space pause  s step  +/- speed  t whole/last  Tab view  o sort  ? help  q quit";
        frame.render_widget(Line::from(keys).reversed(), foot);
        if self.help {
            help(frame, area);
        }
        if !self.about.colours {
            for cell in &mut frame.buffer_mut().content {
                cell.set_fg(Color::Reset).set_bg(Color::Reset);
            }
        }
    }

    /// Returns the lines above all views: the title, the progress, the interval that is shown, and
    /// the names of the views.
    fn head(&self, width: usize) -> Vec<Line<'static>> {
        let state = match (self.ended, self.pace.paused, self.pace.rate()) {
            (true, ..) => "ENDED".to_owned(),
            (_, true, _) => "PAUSED".to_owned(),
            (_, _, Some(rate)) => format!("RUNNING, {rate} intervals/s"),
            (_, _, None) => "RUNNING, full speed".to_owned(),
        };
        let left = width.saturating_sub(state.len() + 1);
        let what = format!("{:<left$.left$} ", self.about.title);
        let first = Line::from(vec![Span::from(what), Span::from(state).bold()]).reversed();

        let (references, cycles, progress) = (self.now.as_ref())
            .map_or((0, 0.0, self.about.before), |now| {
                (now.run.references, now.run.time.seconds, now.progress)
            });
        let reached = format!("  {} references  {}", count(references), time(cycles));
        let second = match progress.done_of_all() {
            Some((done, all)) if !self.ended => {
                let width = width.saturating_sub(reached.len()).min(60);
                let mut line = meter(done, all, width);
                line.push_span(reached);
                line
            }
            _ => Line::from(reached.trim_start().to_owned()),
        };
        let shown = match (self.whole, &self.last) {
            (true, _) => "Shown: all since the start".to_owned(),
            (false, None) => "Shown: nothing yet".to_owned(),
            (false, Some(last)) => format!(
                "Shown: the last {} references, {}",
                count(last.references),
                time(last.time.seconds)
            ),
        };
        let mut views = Line::default();
        for (number, view) in (1..).zip(View::ALL) {
            let name = Span::from(format!("{number} {view}"));
            views.push_span(if view == self.view { name.reversed() } else { name });
            views.push_span(" ");
        }
        vec![first, second, Line::from(shown), views.style(Style::new().bold())]
    }

    fn body(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let shown = match self.whole {
            true => self.now.as_ref().map(|now| &now.run),
            false => self.last.as_ref(),
        };
        let look = ViewContext {
            machine: self.about.machine,
            line: self.about.line,
            names: &self.about.names,
            sort: self.sort[self.view as usize],
            width: usize::from(area.width),
        };
        let page = shown.as_ref().map(|shown| self.view.page(shown, look));
        let ViewPage { head, rows } = page.unwrap_or_default();
        self.room = usize::from(area.height).saturating_sub(head.len());
        self.scroll = self.scroll.min(rows.len().saturating_sub(self.room));
        let hidden = rows.len().saturating_sub(self.scroll + self.room);
        let mut lines = head;
        lines.extend(rows.into_iter().skip(self.scroll).take(self.room));
        if hidden > 0
            && let Some(last) = lines.last_mut()
        {
            *last = Line::from(format!("... {} more; the down key scrolls", hidden + 1)).italic();
        }
        frame.render_widget(Text::from(lines), area);
    }
}

/// Draws the list of keys in the middle of the screen, on top of the view.
fn help(frame: &mut Frame<'_>, area: Rect) {
    let keys = KEYS.map(|(key, does)| Line::from(format!(" {key:<14} {does} ")));
    let lines: Vec<_> = [title(" Keys"), Line::default()].into_iter().chain(keys).collect();
    let [middle] =
        Layout::horizontal([Constraint::Max(66)]).flex(ratatui::layout::Flex::Center).areas(area);
    let [middle] = Layout::vertical([Constraint::Max(lines.len() as u16)])
        .flex(ratatui::layout::Flex::Center)
        .areas(middle);
    frame.render_widget(Clear, middle);
    frame.render_widget(Paragraph::new(lines).reversed(), middle);
}

/// How long the view waits for a key before it looks for the next sample.
pub(crate) const PATIENCE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;
