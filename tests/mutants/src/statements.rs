//! The rules for Rust code: swap two statements, leave a statement out, or weaken an atomic ordering.
//!
//! These rules do not change statements in macro bodies.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, Local, Pat, Stmt};

use crate::mutant::{DROP, Edit, Rule, SWAP, WEAKEN};

/// Returns all edits that the rules make to a file.
pub(crate) fn edits(text: &str) -> syn::Result<Vec<Edit>> {
    let mut finder = Finder { text, found: Vec::new() };
    finder.visit_file(&syn::parse_file(text)?);
    Ok(finder.found)
}

/// Methods that read or change some state. The position of a `let` statement can matter only if the statement calls such a method or may
/// return early. The position of any other statement can always matter.
const ACTS: [&str; 19] = [
    "load",
    "store",
    "swap",
    "take",
    "replace",
    "set",
    "get",
    "push",
    "pop",
    "lock",
    "try_lock",
    "read",
    "write",
    "fetch_add",
    "fetch_sub",
    "fetch_or",
    "fetch_and",
    "compare_exchange",
    "compare_exchange_weak",
];

struct Finder<'a> {
    text: &'a str,
    found: Vec<Edit>,
}

impl Finder<'_> {
    fn add(&mut self, rule: Rule, range: Range<usize>, with: String) {
        self.found.push(Edit { rule, range, with });
    }

    /// Returns `false` for code that is used only by tests, model checkers or models of devices.
    fn ships(&self, node: &impl Spanned) -> bool {
        let lines = self.text[node.span().byte_range()].lines().map(str::trim_start);
        let attributes = lines.take_while(|line| line.starts_with(['#', '/']));
        let mut conditions = attributes.filter_map(|line| line.strip_prefix("#[cfg("));
        let others = ["test", "loom", "shuttle", "\"steps\"", "\"models\""];
        conditions.all(|it| it.starts_with("not") || !others.iter().any(|name| it.contains(name)))
    }

    fn swap(&mut self, first: &Stmt, second: &Stmt) {
        if !acts(first) || !acts(second) || names(first).iter().any(|name| uses(second, name)) {
            return;
        }
        let (a, b) = (first.span().byte_range(), second.span().byte_range());
        let [before, between, behind] =
            [a.clone(), a.end..b.start, b.clone()].map(|at| &self.text[at]);
        if before != behind {
            self.add(SWAP, a.start..b.end, [behind, between, before].concat());
        }
    }

    /// Leaves a statement out. The lines after it keep their numbers, because panic messages contain line numbers.
    fn drop_statement(&mut self, statement: &Stmt) {
        let does = match statement {
            Stmt::Expr(expression, Some(_)) => is_effect(expression),
            Stmt::Local(Local { pat: Pat::Wild(_), init: Some(init), .. }) => is_effect(&init.expr),
            _ => false,
        };
        if does {
            let range = statement.span().byte_range();
            let lines = self.text[range.clone()].matches('\n').count();
            self.add(DROP, range, "\n".repeat(lines));
        }
    }

    /// Weakens the orderings among a call's arguments.
    fn weaken(&mut self, call: Range<usize>, function: &str, argument: &Expr) {
        let Expr::Path(path) = argument else { return };
        let Some(last) = path.path.segments.last() else { return };
        let is_fence = matches!(function, "fence" | "compiler_fence");
        let weaker: &[&str] = match (&*last.ident.to_string(), is_fence) {
            ("AcqRel", _) => &["Acquire", "Release"],
            ("SeqCst", true) => &["AcqRel"],
            ("Acquire" | "Release" | "SeqCst", false) => &["Relaxed"],
            _ => &[],
        };
        for name in weaker {
            // The source may not import the name of the weaker ordering, so a plain name is replaced with a full path.
            let (place, with) = match path.path.segments.len() {
                1 => (path.span(), format!("core::sync::atomic::Ordering::{name}")),
                _ => (last.ident.span(), (*name).to_owned()),
            };
            let (before, behind) =
                (call.start..place.byte_range().start, place.byte_range().end..call.end);
            let with = [&self.text[before], &with, &self.text[behind]].concat();
            self.add(WEAKEN, call.clone(), with);
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item(&mut self, item: &'a syn::Item) {
        if self.ships(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if self.ships(item) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if self.ships(statement) {
            visit::visit_stmt(self, statement);
        }
    }

    /// Finds nothing here, because constants are computed by the compiler.
    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}

    fn visit_block(&mut self, block: &'a Block) {
        // A block's last expression is its value.
        let is_value = matches!(block.stmts.last(), Some(Stmt::Expr(_, None)));
        let statements = &block.stmts[..block.stmts.len() - usize::from(is_value)];
        statements.windows(2).for_each(|pair| self.swap(&pair[0], &pair[1]));
        statements.iter().for_each(|statement| self.drop_statement(statement));
        visit::visit_block(self, block);
    }

    fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
        let (place, name) = (call.span().byte_range(), call.method.to_string());
        call.args.iter().for_each(|argument| self.weaken(place.clone(), &name, argument));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'a syn::ExprCall) {
        let text = &self.text[call.func.span().byte_range()];
        let name = text.rsplit("::").next().unwrap_or(text);
        let place = call.span().byte_range();
        call.args.iter().for_each(|argument| self.weaken(place.clone(), name, argument));
        visit::visit_expr_call(self, call);
    }
}

/// Returns whether an expression can have an effect when its value is not used.
fn is_effect(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::Unsafe(_) => true,
        Expr::Binary(binary) => !matches!(binary.op, syn::BinOp::Or(_) | syn::BinOp::And(_)),
        Expr::Try(tried) => is_effect(&tried.expr),
        _ => false,
    }
}

/// Returns whether the position of a statement among other statements can matter.
fn acts(statement: &Stmt) -> bool {
    struct Acts(bool);
    impl<'a> Visit<'a> for Acts {
        fn visit_expr_method_call(&mut self, call: &'a syn::ExprMethodCall) {
            self.0 |= ACTS.iter().any(|name| call.method == name);
            visit::visit_expr_method_call(self, call);
        }

        fn visit_expr_try(&mut self, _: &'a syn::ExprTry) {
            self.0 = true;
        }
    }
    match statement {
        Stmt::Item(_) | Stmt::Macro(_) | Stmt::Expr(Expr::Macro(_), _) => false,
        Stmt::Expr(..) => true,
        Stmt::Local(local) => {
            let mut acts = Acts(local.init.as_ref().is_some_and(|init| init.diverge.is_some()));
            acts.visit_local(local);
            acts.0
        }
    }
}

/// Returns the names that a statement introduces.
fn names(statement: &Stmt) -> Vec<String> {
    struct Names(Vec<String>);
    impl<'a> Visit<'a> for Names {
        fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
            self.0.push(pattern.ident.to_string());
        }
    }
    let mut names = Names(Vec::new());
    if let Stmt::Local(local) = statement {
        names.visit_pat(&local.pat);
    }
    names.0
}

/// Returns whether a statement contains this name.
fn uses(statement: &Stmt, name: &str) -> bool {
    let text = statement.span().source_text().unwrap_or_default();
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[cfg(test)]
#[path = "tests/statements.rs"]
mod tests;
