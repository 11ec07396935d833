//! Executes a debugger's commands, and answers its packets.

use guest_abi::StrandId;
use simulator::execute::Stop;

use super::machine::{self, DebuggedMachine, PointKind, Resume, StopReason, Watchpoint};
use super::packets::{self, MAX_PACKET_BYTES, Packets, Received, bytes, digits, number};
use super::registers;

/// A machine that a debugger controls or can connect to. A new machine waits for a debugger.
pub struct Debugger<'a> {
    pub(super) machine: DebuggedMachine<'a>,
    packets: Packets,
    /// The latest packet that was sent. The debugger may ask for it again.
    sent: Vec<u8>,
    /// `true` if a debugger is connected: it has sent a packet, and has neither detached nor
    /// disconnected since.
    attached: bool,
    killed: bool,
    /// The strand whose registers and memory the packets read and write.
    selected: StrandId,
    /// The only strand that the packets `c` and `s` resume; `None` if they resume all strands.
    resumed: Option<StrandId>,
    /// How the machine executes; `None` while the machine waits.
    runs: Option<Resume>,
    /// The reason why execution cannot continue although the machine is on; `None` if execution can
    /// continue.
    failed: Option<Stop>,
}

/// The error for an invalid packet. The debugger receives `E01`, and the session continues.
struct BadPacket;

enum Response {
    Text(String),
    /// No answer yet, because the machine is executing or ending.
    Later,
}

/// The answer to a packet that this module does not support.
const UNKNOWN: &str = "";
const OK: &str = "OK";
const WRONG: &str = "E01";

/// The protocol's signal numbers. They say why the machine stopped.
const NO_SIGNAL: u8 = 0;
const SIGINT: u8 = 2;
const SIGTRAP: u8 = 5;
const SIGABRT: u8 = 6;

impl<'a> Debugger<'a> {
    /// Returns a machine without a debugger. The first debugger starts with strand `selected`.
    pub fn new(machine: DebuggedMachine<'a>, selected: StrandId) -> Self {
        Self {
            machine,
            packets: Packets::default(),
            sent: Vec::new(),
            attached: false,
            killed: false,
            selected,
            resumed: None,
            runs: None,
            failed: None,
        }
    }

    /// Returns `true` while the machine executes.
    pub fn runs(&self) -> bool {
        self.runs.is_some()
    }

    /// Returns `true` if a debugger has sent a packet, and has neither detached nor disconnected
    /// since.
    pub fn is_attached(&self) -> bool {
        self.attached
    }

    /// Returns `true` if a debugger has ended the execution.
    pub fn is_killed(&self) -> bool {
        self.killed
    }

    /// Handles a byte from the debugger. If the byte completes a packet with an answer, adds the
    /// answer to `answers`.
    pub fn receive(&mut self, byte: u8, answers: &mut Vec<u8>) {
        match self.packets.push(byte) {
            Some(Received::Invalid) => answers.push(b'-'),
            Some(Received::Again) => answers.extend(&self.sent),
            Some(Received::Interrupt) if self.attached && self.runs() => {
                self.runs = None;
                self.stopped(SIGINT, self.selected, "", answers);
            }
            None | Some(Received::Interrupt) => {}
            Some(Received::Packet(packet)) => {
                answers.push(b'+');
                if !self.attached {
                    (self.attached, self.runs) = (true, None);
                }
                match self.answer(&packet) {
                    Ok(Response::Text(text)) => self.send(&text, answers),
                    Ok(Response::Later) => {}
                    Err(BadPacket) => self.send(WRONG, answers),
                }
            }
        }
    }

    /// Executes about `most` instructions. Executes fewer if the machine stops, and none if it
    /// waits. If the machine stops under a debugger's control, adds the packet that reports this to
    /// `answers`. Returns the stop if execution cannot continue.
    pub fn execute(&mut self, most: u64, answers: &mut Vec<u8>) -> Option<Stop> {
        let resume = self.runs.as_mut()?;
        if self.failed.is_some() {
            return self.failed;
        }
        let (signal, strand, reason) = match self.machine.execute(resume, most) {
            StopReason::Stop(Stop::Limit) => return None,
            StopReason::Stop(stop @ (Stop::Ended | Stop::Off | Stop::Stray(_))) => {
                return Some(stop);
            }
            StopReason::Stop(stop @ Stop::ErrorState { strand, .. }) => {
                self.failed = Some(stop);
                if !self.attached {
                    return self.failed;
                }
                (SIGABRT, strand, String::new())
            }
            StopReason::Stop(Stop::Breakpoint(strand)) | StopReason::Stepped(strand) => {
                (SIGTRAP, strand, String::new())
            }
            StopReason::Stop(Stop::Watched(access)) => {
                let reason = |point: &Watchpoint| {
                    let kind = match point.kind {
                        machine::STORES => "watch",
                        machine::LOADS => "rwatch",
                        _ => "awatch",
                    };
                    format!("{kind}:{:x};", point.addresses.start)
                };
                let point = self.machine.watchpoint(&access);
                (SIGTRAP, access.strand, point.map(reason).unwrap_or_default())
            }
            StopReason::Waits(strand) => (NO_SIGNAL, strand, String::new()),
        };
        self.runs = None;
        self.stopped(signal, strand, &reason, answers);
        None
    }

    /// Tells the debugger that the machine has ended with the exit code `code`.
    pub fn end(&mut self, code: u8, answers: &mut Vec<u8>) {
        if self.attached {
            self.send(&format!("W{code:02x}"), answers);
        }
    }

    /// Handles the end of a connection. If the debugger has not detached, stops the machine, which
    /// then waits for the next debugger.
    pub fn disconnect(&mut self) {
        self.packets = Packets::default();
        if self.attached {
            self.runs = None;
            self.detach();
        }
    }

    fn detach(&mut self) {
        self.attached = false;
        self.resumed = None;
        self.machine.ignore_all();
    }

    fn send(&mut self, text: &str, answers: &mut Vec<u8>) {
        self.sent = packets::packet(text);
        answers.extend(&self.sent);
    }

    fn stopped(&mut self, signal: u8, strand: StrandId, reason: &str, answers: &mut Vec<u8>) {
        self.selected = strand;
        let text = format!("T{signal:02x}thread:{};{reason}", thread(strand));
        self.send(&text, answers);
    }

    fn answer(&mut self, packet: &[u8]) -> Result<Response, BadPacket> {
        if self.runs() {
            return Err(BadPacket);
        }
        let text = str::from_utf8(packet).map_err(|_| BadPacket)?;
        let (letter, rest) = text.split_at_checked(1).unwrap_or_default();
        let strand = self.selected;
        Ok(Response::Text(match letter {
            "?" => format!("T{SIGTRAP:02x}thread:{};", thread(strand)),
            "g" => digits(&registers::read(self.machine.execution.strand(strand))),
            "G" => {
                let registers = bytes(rest).ok_or(BadPacket)?;
                let strand = self.machine.execution.strand_mut(strand);
                done(registers::write(strand, &registers))?
            }
            "m" => {
                let (address, size) = pair(rest)?;
                let size = usize::try_from(size).ok().filter(|size| *size <= MAX_PACKET_BYTES / 2);
                let read = self.machine.read(strand, address, size.ok_or(BadPacket)?);
                digits(&read.ok_or(BadPacket)?)
            }
            "M" => {
                let (place, data) = rest.split_once(':').ok_or(BadPacket)?;
                let ((address, size), data) = (pair(place)?, bytes(data).ok_or(BadPacket)?);
                if data.len() as u64 != size {
                    return Err(BadPacket);
                }
                done(self.machine.write(strand, address, &data))?
            }
            "H" => {
                let (for_what, id) = rest.split_at_checked(1).ok_or(BadPacket)?;
                let strand = self.strand(id)?;
                match for_what {
                    "g" => self.selected = strand.unwrap_or(self.selected),
                    "c" => self.resumed = strand,
                    _ => return Err(BadPacket),
                }
                OK.to_owned()
            }
            "T" => self.strand(rest).map(|_| OK.to_owned())?,
            "Z" | "z" => self.point(rest, letter == "Z")?.to_owned(),
            "c" | "s" if !rest.is_empty() => return Err(BadPacket),
            "c" | "s" => {
                let alone = self.resumed.is_some();
                let strand = self.resumed.unwrap_or(strand);
                return Ok(self.resume(match (letter, alone) {
                    ("s", _) => self.stepping(strand, alone),
                    (_, true) => Resume::Only { strands: vec![strand], begun: false },
                    (_, false) => Resume::All,
                }));
            }
            "D" => {
                self.detach();
                self.runs = Some(Resume::All);
                OK.to_owned()
            }
            "k" if rest.is_empty() => {
                self.killed = true;
                return Ok(Response::Later);
            }
            "q" => self.query(rest)?,
            "v" => match rest.strip_prefix("Cont") {
                Some("?") => "vCont;c;C;s;S".to_owned(),
                Some(actions) => {
                    let resume = self.actions(actions.strip_prefix(';').ok_or(BadPacket)?)?;
                    return Ok(self.resume(resume));
                }
                None if rest.starts_with("Kill;") => {
                    self.killed = true;
                    OK.to_owned()
                }
                None => UNKNOWN.to_owned(),
            },
            _ => UNKNOWN.to_owned(),
        }))
    }

    /// Answers a packet whose first character is `q`.
    fn query(&self, question: &str) -> Result<String, BadPacket> {
        let (name, rest) = question.split_once([':', ',']).unwrap_or((question, ""));
        Ok(match name {
            "Supported" => {
                format!("PacketSize={MAX_PACKET_BYTES:x};qXfer:features:read+;vContSupported+")
            }
            "C" => format!("QC{}", thread(self.selected)),
            // This answer makes gdb detach when it quits. After any other answer, gdb would kill
            // the machine.
            "Attached" => "1".to_owned(),
            "fThreadInfo" => {
                let threads: Vec<String> = self.machine.strands().map(thread).collect();
                format!("m{}", threads.join(","))
            }
            "sThreadInfo" => "l".to_owned(),
            "ThreadExtraInfo" => {
                let strand = self.strand(rest)?.ok_or(BadPacket)?;
                digits(self.machine.describe(strand).as_bytes())
            }
            "Xfer" => match rest.strip_prefix("features:read:target.xml:") {
                Some(part) => {
                    let (offset, size) = pair(part)?;
                    let rest = registers::DESCRIPTION.get(offset as usize..).ok_or(BadPacket)?;
                    match rest.get(..size as usize) {
                        Some(some) if some.len() < rest.len() => format!("m{some}"),
                        _ => format!("l{rest}"),
                    }
                }
                None => UNKNOWN.to_owned(),
            },
            _ => UNKNOWN.to_owned(),
        })
    }

    /// Returns the strand of a thread id. Returns `None` for the ids 0 (any thread) and -1 (all
    /// threads).
    fn strand(&self, id: &str) -> Result<Option<StrandId>, BadPacket> {
        if matches!(id, "-1" | "0") {
            return Ok(None);
        }
        let number = number(id).and_then(|id| id.checked_sub(1)).ok_or(BadPacket)?;
        self.machine.strand(number).map(Some).ok_or(BadPacket)
    }

    /// Sets or removes a breakpoint or a watchpoint.
    fn point(&mut self, text: &str, set: bool) -> Result<&'static str, BadPacket> {
        let (kind, place) = text.split_once(',').ok_or(BadPacket)?;
        let (kind, (address, size)): (PointKind, _) =
            (number(kind).ok_or(BadPacket)?, pair(place)?);
        match kind {
            0 | 1 if set => {
                self.machine.execution.breakpoints().insert(address);
            }
            0 | 1 => {
                self.machine.execution.breakpoints().remove(&address);
            }
            machine::STORES..=machine::ACCESSES => {
                let end = address.checked_add(size).ok_or(BadPacket)?;
                let watchpoint = Watchpoint { kind, addresses: address..end };
                if set {
                    self.machine.watch(watchpoint).ok_or(BadPacket)?;
                } else {
                    self.machine.ignore(&watchpoint);
                }
            }
            _ => return Ok(UNKNOWN),
        }
        Ok(OK)
    }

    fn stepping(&self, strand: StrandId, alone: bool) -> Resume {
        Resume::Step { strand, from: self.machine.execution.strand(strand).level(), alone }
    }

    fn resume(&mut self, resume: Resume) -> Response {
        self.runs = Some(resume);
        Response::Later
    }

    /// Parses the actions of a `vCont` packet. Fails if more than one strand would step.
    fn actions(&self, actions: &str) -> Result<Resume, BadPacket> {
        let (mut step, mut strands, mut all) = (None, Vec::new(), false);
        for action in actions.split(';') {
            let (action, strand) = match action.split_once(':') {
                Some((action, id)) => (action, self.strand(id)?),
                None => (action, None),
            };
            let (letter, signal) = action.split_at_checked(1).ok_or(BadPacket)?;
            let has_signal = !signal.is_empty() && number(signal).is_some();
            match (letter, strand) {
                ("c" | "s", _) if !signal.is_empty() => return Err(BadPacket),
                ("C" | "S", _) if !has_signal => return Err(BadPacket),
                ("s" | "S", _) if step.is_none() => step = Some(strand.unwrap_or(self.selected)),
                ("c" | "C", None) => all = true,
                ("c" | "C", Some(strand)) if strands.contains(&strand) => {}
                ("c" | "C", Some(strand)) => strands.push(strand),
                _ => return Err(BadPacket),
            }
        }
        Ok(match step {
            Some(strand) => self.stepping(strand, !all && strands.is_empty()),
            None if all => Resume::All,
            None => Resume::Only { strands, begun: false },
        })
    }
}

/// Returns the thread id of a strand, in hexadecimal. Thread ids begin at 1.
fn thread(strand: StrandId) -> String {
    format!("{:x}", strand.index() + 1)
}

/// Parses two hexadecimal numbers that a comma separates.
fn pair(text: &str) -> Result<(u64, u64), BadPacket> {
    let (first, second) = text.split_once(',').ok_or(BadPacket)?;
    number(first).zip(number(second)).ok_or(BadPacket)
}

fn done(done: Option<()>) -> Result<String, BadPacket> {
    done.map(|()| OK.to_owned()).ok_or(BadPacket)
}
