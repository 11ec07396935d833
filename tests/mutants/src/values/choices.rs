//! The places where a program can choose between the original code and a mutant of it.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

use crate::mutant::Edit;

/// How a program contains both the original code and a mutant. The ranges are those of the unchanged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// A statement inserted at this place returns the value.
    Return { at: usize, value: String },
    /// The match arm whose pattern ends at this place gets a guard.
    Guard { at: usize },
    /// The expression `whole` becomes a choice between itself and a copy in which `with` replaces `part`.
    Expression { whole: Range<usize>, part: Range<usize>, with: String },
}

/// The syntactic role of a range that cargo-mutants replaces.
#[derive(Clone)]
enum Role {
    Body,
    Arm(usize),
    /// The range is in this whole expression.
    In(Range<usize>),
}

/// The places in one file.
pub(crate) struct Roles(HashMap<Range<usize>, Role>);

impl Roles {
    pub(crate) fn parse(text: &str) -> syn::Result<Self> {
        let mut finder = Finder(HashMap::new());
        finder.visit_file(&syn::parse_file(text)?);
        Ok(Self(finder.0))
    }

    /// Returns the choice that represents an edit of cargo-mutants, or `None` if there is none: a constant, for example, has no choice at
    /// run time.
    pub(crate) fn choice(&self, edit: &Edit) -> Option<Choice> {
        let Edit { range, with, .. } = edit;
        Some(match self.0.get(range)? {
            Role::Body => Choice::Return { at: range.start, value: with.clone() },
            Role::Arm(at) => Choice::Guard { at: *at },
            Role::In(whole) if with.is_empty() && whole.end <= range.end => {
                // To remove an arm that has a guard, the guard becomes `false`.
                Choice::Expression {
                    whole: whole.clone(),
                    part: whole.clone(),
                    with: "false".to_owned(),
                }
            }
            Role::In(whole) => {
                Choice::Expression { whole: whole.clone(), part: range.clone(), with: with.clone() }
            }
        })
    }
}

struct Finder(HashMap<Range<usize>, Role>);

impl Finder {
    fn body(&mut self, block: &syn::Block) {
        if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
            let range = first.span().byte_range().start..last.span().byte_range().end;
            self.0.insert(range, Role::Body);
        }
    }

    fn inside(&mut self, part: &impl Spanned, whole: &impl Spanned) {
        self.0.insert(part.span().byte_range(), Role::In(whole.span().byte_range()));
    }
}

/// Skips what the compiler computes: constants, `const` functions, lengths, discriminants.
impl<'a> Visit<'a> for Finder {
    fn visit_item_const(&mut self, _: &'a syn::ItemConst) {}

    fn visit_item_static(&mut self, _: &'a syn::ItemStatic) {}

    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}

    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}

    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}

    fn visit_type(&mut self, _: &'a syn::Type) {}

    fn visit_item_enum(&mut self, _: &'a syn::ItemEnum) {}

    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_item_fn(&mut self, function: &'a syn::ItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a syn::ImplItemFn) {
        if function.sig.constness.is_none() {
            self.body(&function.block);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'a syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(block);
        }
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_binary(&mut self, binary: &'a syn::ExprBinary) {
        // The names that a `let` introduces would go out of scope at the end of the choice.
        if !has_let(&binary.left) && !has_let(&binary.right) {
            self.inside(&binary.op, binary);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a syn::ExprUnary) {
        self.inside(&unary.op, unary);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        match &arm.guard {
            Some((_, guard)) if has_let(guard) => {}
            Some((_, guard)) => {
                self.inside(arm, guard);
                self.inside(guard, guard);
            }
            None => {
                let place = Role::Arm(arm.pat.span().byte_range().end);
                self.0.insert(arm.span().byte_range(), place);
            }
        }
        visit::visit_arm(self, arm);
    }

    fn visit_expr_struct(&mut self, literal: &'a syn::ExprStruct) {
        for pair in literal.fields.pairs() {
            let field = pair.value().span().byte_range();
            let end = pair.punct().map_or(field.end, |comma| comma.span().byte_range().end);
            self.0.insert(field.start..end, Role::In(literal.span().byte_range()));
        }
        visit::visit_expr_struct(self, literal);
    }
}

fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) => {
            has_let(&binary.left) || has_let(&binary.right)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "tests/choices.rs"]
mod tests;
