//! The rules for assembly. A rule leaves an instruction out, swaps two instructions, negates a condition, adds one to a number, or reads
//! another source register. The rules apply to string literals, including those in macro bodies. Each line of a literal is an instruction,
//! which may follow a label.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};

use crate::mutant::{ASM_NEGATE, ASM_NOP, ASM_NUMBER, ASM_REGISTER, ASM_SWAP, Edit};

/// The mnemonics of instructions with operands. ([`WITHOUT_OPERANDS`] has those of instructions without operands.) A mnemonic may have a suffix after
/// a comma.
const WITH_OPERANDS: &str = "add and andcc andn be bg bge bgeu bgu bl ble bleu blu bne brgez brgz brlez brlz brnz brz ba call cas casa casx clr cmp dec inc \
     jmp jmpl ld lda ldsw ldub lduh lduw ldx ldxa membar mov movre movrnz movrz or orcc rd rdhpr rdpr set sll sllx sra srax srl srlx st sta \
     stb sth stw stx stxa sub subcc ta udivx wr wrhpr wrpr xnor xor";
const WITHOUT_OPERANDS: &str = "done retry retl saved restored flushw";

const OPPOSITES: [(&str, &str); 8] = [
    ("be", "bne"),
    ("bgeu", "blu"),
    ("bgu", "bleu"),
    ("bge", "bl"),
    ("bg", "ble"),
    ("brz", "brnz"),
    ("brgez", "brlz"),
    ("movrz", "movrnz"),
];

/// Returns all edits that the rules make to a file.
pub(crate) fn edits(text: &str) -> syn::Result<Vec<Edit>> {
    let mut instructions = Vec::new();
    find(text, text.parse()?, &mut instructions);
    let mut edits = Vec::new();
    for (number, instruction) in instructions.iter().enumerate() {
        instruction.edits(&mut edits);
        let Some(next) = instructions.get(number + 1) else { break };
        let between = &text[instruction.place().end..next.start];
        if is_nothing(between) && instruction.must_precede(next) {
            let range = instruction.start..next.place().end;
            let with = [next.text, between, instruction.text].concat();
            edits.push(Edit { rule: ASM_SWAP, range, with });
        }
    }
    Ok(edits)
}

/// Finds the instructions in string literals, and adds them to `found`. Skips attributes, which include documentation comments.
fn find<'a>(text: &'a str, tokens: TokenStream, found: &mut Vec<Instruction<'a>>) {
    let mut is_attribute = false;
    for token in tokens {
        match &token {
            TokenTree::Group(group) if !is_attribute => find(text, group.stream(), found),
            TokenTree::Literal(literal) => in_literal(text, literal.span().byte_range(), found),
            _ => {}
        }
        is_attribute = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
    }
}

fn in_literal<'a>(text: &'a str, literal: Range<usize>, found: &mut Vec<Instruction<'a>>) {
    let mut start = literal.start;
    for line in text[literal].split_inclusive('\n') {
        let code = line.split('!').next().unwrap_or(line).trim_end_matches(['"', '\n', ' ']);
        let code = code.split_once(':').map_or(code, |(_, code)| code);
        let code = code.trim_start_matches(['"', ' ']);
        let at = start + (code.as_ptr() as usize - line.as_ptr() as usize);
        let instruction = Instruction { start: at, text: code };
        if instruction.is_known() {
            found.push(instruction);
        }
        start += line.len();
    }
}

/// Returns whether there are only comments, and neither labels nor directives, in the text between two instructions.
fn is_nothing(between: &str) -> bool {
    let mut code = between.lines().flat_map(|line| line.split('!').next());
    code.all(|line| line.chars().all(|c| " \",".contains(c)))
}

struct Instruction<'a> {
    start: usize,
    text: &'a str,
}

impl<'a> Instruction<'a> {
    fn place(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// Returns the mnemonic without its suffixes.
    fn name(&self) -> &'a str {
        self.text.split([' ', ',']).next().unwrap_or_default()
    }

    fn is_known(&self) -> bool {
        let is_in = |list: &str, name| list.split_whitespace().any(|known| known == name);
        let is_sparc = self.text.contains(['%', '{']) || matches!(self.name(), "call" | "membar");
        is_in(WITHOUT_OPERANDS, self.text)
            || self.text.contains(' ') && is_in(WITH_OPERANDS, self.name()) && is_sparc
    }

    /// Returns the registers, each with its position in the text.
    fn registers(&self) -> Vec<(usize, &'a str)> {
        let starts = self.text.match_indices('%').map(|(at, _)| at);
        let ends = |at: usize| self.text[at + 1..].find(|c: char| !c.is_ascii_alphanumeric());
        starts
            .map(|at| (at, ends(at).map_or(&self.text[at..], |end| &self.text[at..=at + end])))
            .collect()
    }

    fn is_store(&self) -> bool {
        self.name().starts_with("st")
    }

    fn branches(&self) -> bool {
        self.name().starts_with(['b', 'j'])
            || matches!(self.name(), "call" | "done" | "retry" | "retl")
    }

    /// Returns the register that the instruction writes: its last operand.
    fn written(&self) -> Option<(usize, &'a str)> {
        let reads = self.is_store() || self.branches() || self.name() == "cmp";
        let last = self.registers().pop().filter(|_| !reads);
        last.filter(|(at, name)| at + name.len() == self.text.len())
    }

    /// Returns two answers: whether the instruction uses memory or the strand's state, and whether it changes memory or the strand's state.
    fn uses(&self) -> (bool, bool) {
        let begins = |with: &[&str]| with.iter().any(|with| self.name().starts_with(with));
        let changes = begins(&["st", "wr", "cas", "membar"]);
        (changes || begins(&["ld", "rd"]), changes)
    }

    /// Returns whether the order of two instructions matters. It matters if one writes a register that the other uses, if one is a branch,
    /// or if both use memory or the strand's state and one of them changes it. It does not matter for two stores with the same base
    /// register.
    fn must_precede(&self, next: &Self) -> bool {
        let writes_of = |one: &Self, other: &Self| {
            let written = one.written().map(|(_, name)| name);
            written.is_some_and(|name| other.registers().iter().any(|(_, used)| *used == name))
        };
        let base = |one: &Self| one.text.split_once('[').map(|(_, at)| at.get(..3));
        let to_one = self.is_store() && next.is_store() && base(self) == base(next);
        let ((uses, changes), (next_uses, next_changes)) = (self.uses(), next.uses());
        let acts = (changes && next_uses || uses && next_changes) && !to_one;
        let branches = self.branches() || next.branches();
        let writes = writes_of(self, next) || writes_of(next, self);
        self.text != next.text && (writes || acts || branches)
    }

    fn edits(&self, edits: &mut Vec<Edit>) {
        let mut add = |rule, at: usize, length, with: &str| {
            let with = [&self.text[..at], with, &self.text[at + length..]].concat();
            edits.push(Edit { rule, range: self.place(), with });
        };
        let name = self.name();
        add(ASM_NOP, 0, self.text.len(), "nop");
        for (one, other) in OPPOSITES {
            if name == one || name == other {
                add(ASM_NEGATE, 0, name.len(), if name == one { other } else { one });
            }
        }
        if let Some(Range { start, end }) = number(self.text) {
            let old = &self.text[start..end];
            // In an eight-byte load or store, the larger number selects the next word in memory.
            let by = if self.text.contains('[') && name.ends_with('x') { 8 } else { 1 };
            let value = match old.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => old.parse(),
            };
            let new = value.map_or_else(|_| format!("{old} + {by}"), |it| (it + by).to_string());
            add(ASM_NUMBER, start, old.len(), &new);
        }
        let sources = self.registers().into_iter().filter(|found| Some(*found) != self.written());
        let mut others = sources.filter_map(|(at, name)| Some((at, name, other(name)?)));
        if let Some((at, name, with)) = others.next() {
            add(ASM_REGISTER, at, name.len(), &with);
        }
    }
}

/// Returns the place of an instruction's first number: digits, or a named operand in braces.
fn number(text: &str) -> Option<Range<usize>> {
    let starts = text.match_indices([' ', '[', '(']).map(|(at, _)| at + 1);
    let mut numbers = starts.filter_map(|start| {
        let of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let rest = &text[start..];
        let length = match rest.strip_prefix('{') {
            Some(name) => {
                name.find(|c| !of_name(c)).filter(|end| name[*end..].starts_with('}'))? + 2
            }
            None => rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len()),
        };
        let is_label = rest[..length].ends_with(['f', 'b']) && !rest.starts_with("0x");
        let begins = rest.starts_with(|c: char| c == '{' || c.is_ascii_digit());
        (begins && !is_label).then_some(start..start + length)
    });
    numbers.next()
}

/// Returns another general register of the same kind.
fn other(register: &str) -> Option<String> {
    let (kind, number) = register.strip_prefix('%')?.split_at_checked(1)?;
    let number = number.parse::<u8>().ok()?;
    let next = match kind {
        "g" => number % 5 + 1,
        "o" => (number + 1) % 6,
        "l" | "i" => (number + 1) % 8,
        _ => return None,
    };
    Some(format!("%{kind}{next}"))
}

#[cfg(test)]
#[path = "tests/assembly.rs"]
mod tests;
