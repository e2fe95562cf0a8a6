//! Writes all mutants of a file into it, each behind a switch, so that one build holds them all.
//!
//! `a + b` becomes `(if on(1) { a - b } else if on(2) { a * b } else { a + b })`, where operands of
//! the last alternative alone hold switches of their own: one mutant is on at a time. A function
//! that returns a constant does so in its first statement, and an arm that is deleted has a guard
//! that refuses.

use std::{
    cmp::Reverse,
    fmt::{self, Write as _},
    ops::Range,
};

use anyhow::{Context, Result};
use syn::{
    Arm, Block, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, File, ImplItemFn, ItemFn, ReturnType,
    Signature, TraitItemFn, Type,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::list::{Genre, Mutant};

/// A file with switches.
pub(crate) struct Switched {
    /// Its text.
    pub(crate) text: String,
    /// What its stretches hold, so that an error of the compiler tells which mutants can't be
    /// built.
    pub(crate) regions: Vec<Region>,
    /// The mutants that are in the text.
    pub(crate) held: Vec<u32>,
}

/// A stretch of a file with switches.
pub(crate) struct Region {
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// The mutants that are gone if it can't be built.
    pub(crate) ids: Vec<u32>,
    /// Whether it is the text of a mutant, or a place with all of its mutants.
    pub(crate) alternative: bool,
}

/// A place of the source that holds switches.
struct Place {
    range: Range<usize>,
    kind: Kind,
}

enum Kind {
    /// An expression and what stands for it under some mutants.
    Expression(Vec<(u32, String)>),
    /// A guard, and the mutant that deletes its arm.
    Guard(Vec<(u32, String)>, Option<u32>),
    /// An arm without a guard, after its pattern.
    Arm(u32),
    /// The beginning of a function's body.
    Body(Vec<(u32, String)>),
    /// A match, and the mutants that delete arms of it: with them all behind switches it may have
    /// too few arms.
    Match(Vec<u32>),
}

/// Puts the mutants of one file into it.
pub(crate) fn switched(source: &str, mutants: &[&Mutant]) -> Result<Switched> {
    let file: File = syn::parse_file(source).context("parsing")?;
    let mut finder = Finder {
        source,
        mutants: mutants
            .iter()
            .map(|&m| (m.span.start.offset(source)..m.span.end.offset(source), m))
            .collect(),
        places: Vec::new(),
    };
    finder.visit_file(&file);
    let mut places = finder.places;
    // Outer places before inner ones; of equal ones the outer was met first.
    places.sort_by_key(|place| (place.range.start, Reverse(place.range.end)));
    let mut writer = Writer { source, out: String::new(), regions: Vec::new(), held: Vec::new() };
    writer.stretch(0..source.len(), &places);
    Ok(Switched { text: writer.out, regions: writer.regions, held: writer.held })
}

struct Finder<'a> {
    source: &'a str,
    mutants: Vec<(Range<usize>, &'a Mutant)>,
    places: Vec<Place>,
}

impl Finder<'_> {
    /// The mutants of a genre at a stretch of the source.
    fn at(&self, genre: Genre, place: &Range<usize>) -> Vec<(u32, String)> {
        let found = self.mutants.iter().filter(|(range, m)| m.genre == genre && range == place);
        found.map(|(_, m)| (m.id, m.replacement.clone())).collect()
    }

    /// An expression of which a part is exchanged.
    fn exchange(&mut self, genre: Genre, whole: Range<usize>, part: &Range<usize>) {
        let source = self.source;
        let with = |(id, replacement): (u32, String)| {
            (id, [&source[whole.start..part.start], &replacement, &source[part.end..whole.end]].concat())
        };
        let alternatives: Vec<_> = self.at(genre, part).into_iter().map(with).collect();
        self.push(whole, Kind::Expression(alternatives));
    }

    fn push(&mut self, range: Range<usize>, kind: Kind) {
        let empty = match &kind {
            Kind::Expression(all) | Kind::Body(all) | Kind::Guard(all, None) => all.is_empty(),
            Kind::Match(ids) => ids.is_empty(),
            Kind::Guard(..) | Kind::Arm(_) => false,
        };
        if !empty {
            self.places.push(Place { range, kind });
        }
    }

    fn body(&mut self, signature: &Signature, block: &Block) {
        // All returns of an `impl Trait` have one type.
        if matches!(&signature.output, ReturnType::Type(_, kind) if matches!(**kind, Type::ImplTrait(_))) {
            return;
        }
        let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) else { return };
        let statements = bytes(first).start..bytes(last).end;
        let start = block.brace_token.span.open().byte_range().end;
        let alternatives = self.at(Genre::FnValue, &statements);
        self.push(start..start, Kind::Body(alternatives));
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_expr_binary(&mut self, binary: &'a ExprBinary) {
        // The parts of a condition with `let` are no expressions.
        if !has_let(&binary.left) && !has_let(&binary.right) {
            self.exchange(Genre::BinaryOperator, bytes(binary), &bytes(&binary.op));
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'a ExprUnary) {
        self.exchange(Genre::UnaryOperator, bytes(unary), &bytes(&unary.op));
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_struct(&mut self, structure: &'a ExprStruct) {
        let whole = bytes(structure);
        let fields: Vec<usize> = structure.fields.iter().map(|field| bytes(field).start).collect();
        // What is deleted has the field's comma too.
        let deleted = |(range, m): &(Range<usize>, &Mutant)| {
            let rest =
                || [&self.source[whole.start..range.start], &self.source[range.end..whole.end]].concat();
            (m.genre == Genre::StructField && fields.contains(&range.start)).then(|| (m.id, rest()))
        };
        let alternatives = self.mutants.iter().filter_map(deleted).collect();
        self.push(whole, Kind::Expression(alternatives));
        visit::visit_expr_struct(self, structure);
    }

    fn visit_expr_match(&mut self, all: &'a ExprMatch) {
        let arms = all.arms.iter().flat_map(|arm| self.at(Genre::MatchArm, &bytes(arm)));
        let ids = arms.map(|(id, _)| id).collect();
        self.push(bytes(all), Kind::Match(ids));
        visit::visit_expr_match(self, all);
    }

    fn visit_arm(&mut self, arm: &'a Arm) {
        let delete = self.at(Genre::MatchArm, &bytes(arm)).first().map(|&(id, _)| id);
        let pattern = bytes(&arm.pat).end;
        match &arm.guard {
            Some((_, guard)) if !has_let(guard) => {
                let guard = bytes(guard);
                let alternatives = self.at(Genre::MatchArmGuard, &guard);
                self.push(guard, Kind::Guard(alternatives, delete));
            }
            None => {
                self.places.extend(delete.map(|id| Place { range: pattern..pattern, kind: Kind::Arm(id) }));
            }
            Some(_) => {}
        }
        visit::visit_arm(self, arm);
    }

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        self.body(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        self.body(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'a TraitItemFn) {
        if let Some(block) = &function.default {
            self.body(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}

fn bytes(node: &impl Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// Returns whether it is a condition with `let`.
fn has_let(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

struct Writer<'a> {
    source: &'a str,
    out: String,
    regions: Vec<Region>,
    held: Vec<u32>,
}

impl Writer<'_> {
    /// A stretch of the source with the places in it, the outermost of which come first.
    fn stretch(&mut self, range: Range<usize>, mut places: &[Place]) {
        let mut at = range.start;
        while let Some((place, rest)) = places.split_first() {
            let inner = rest
                .iter()
                .take_while(|p| p.range.end <= place.range.end && p.range.start < place.range.end)
                .count();
            let (inner, rest) = rest.split_at(inner);
            self.out.push_str(&self.source[at..place.range.start]);
            self.place(place, inner);
            at = place.range.end;
            places = rest;
        }
        self.out.push_str(&self.source[at..range.end]);
    }

    fn place(&mut self, place: &Place, inner: &[Place]) {
        let start = self.out.len();
        let mut ids: Vec<u32> = Vec::new();
        match &place.kind {
            Kind::Expression(alternatives) | Kind::Guard(alternatives, _) => {
                if let Kind::Guard(_, Some(id)) = place.kind {
                    self.put(format_args!("!{ON}({id}) && "));
                    ids.push(id);
                }
                self.out.push('(');
                for (id, text) in alternatives {
                    self.put(format_args!("if {ON}({id}) {{ "));
                    self.alternative(*id, text);
                    self.out.push_str(" } else ");
                    ids.push(*id);
                }
                // A comment may end the source's last line.
                self.out.push('{');
                self.stretch(place.range.clone(), inner);
                self.out.push_str("\n})");
            }
            Kind::Arm(id) => {
                self.put(format_args!(" if !{ON}({id})"));
                ids.push(*id);
            }
            Kind::Match(all) => {
                ids.extend(all);
                self.stretch(place.range.clone(), inner);
            }
            Kind::Body(alternatives) => {
                for (id, text) in alternatives {
                    self.put(format_args!(" if {ON}({id}) {{ return "));
                    self.alternative(*id, text);
                    self.out.push_str("; }");
                    ids.push(*id);
                }
            }
        }
        // The arms of a match hold their own.
        if !matches!(place.kind, Kind::Match(_)) {
            self.held.extend(&ids);
        }
        self.regions.push(Region { range: start..self.out.len(), ids, alternative: false });
    }

    fn put(&mut self, words: fmt::Arguments<'_>) {
        self.out.write_fmt(words).expect("a string takes all");
    }

    fn alternative(&mut self, id: u32, text: &str) {
        let start = self.out.len();
        self.put(format_args!("({text}\n)"));
        self.regions.push(Region { range: start..self.out.len(), ids: vec![id], alternative: true });
    }
}

/// The function that says whether a mutant is on.
const ON: &str = "crate::__mutants::on";

/// What comes at the beginning of the first file of a crate.
pub(crate) const FEATURES: &str =
    "#![feature(core_intrinsics, const_eval_select)]\n#![allow(internal_features)]\n";

/// The module of [`ON`], for the end of the first file of a crate. What the compiler evaluates is
/// as it was: a mutant is on at run time alone.
pub(crate) fn module(last: u32) -> String {
    include_str!("on.rs").replace("COUNT", &format!("{}", last + 1))
}

#[cfg(test)]
mod tests {
    use super::switched;
    use crate::list::Mutant;

    /// A mutant of what follows some words of a source of one line.
    fn mutant(source: &str, id: u32, genre: &str, before: &str, part: &str, replacement: &str) -> Mutant {
        let start = source.find(before).expect("the words") + before.len();
        assert!(source[start..].starts_with(part));
        let place = |column: usize| serde_json::json!({"line": 1, "column": column + 1});
        let text = serde_json::json!({
            "name": "", "file": "", "genre": genre, "replacement": replacement,
            "span": {"start": place(start), "end": place(start + part.len())},
        });
        Mutant { id, ..serde_json::from_value(text).expect("a mutant") }
    }

    /// What `source` with the mutants is, without white space.
    fn text(source: &str, mutants: &[Mutant]) -> String {
        let switched = switched(source, &mutants.iter().collect::<Vec<_>>()).expect("Rust");
        assert_eq!(switched.held.len(), mutants.len());
        switched.text.replace("crate::__mutants::", "").split_whitespace().collect()
    }

    #[test]
    fn operators_within_operators() {
        let source = "fn f(a: i32, b: i32) -> i32 { (a + b) * -b }";
        let inner = mutant(source, 1, "BinaryOperator", "(a ", "+", "-");
        let outer = mutant(source, 2, "BinaryOperator", "b) ", "*", "/");
        let sign = mutant(source, 3, "UnaryOperator", "* ", "-", "");
        assert_eq!(
            text(source, &[inner, outer, sign]),
            "fnf(a:i32,b:i32)->i32{(ifon(2){((a+b)/-b)}else{((ifon(1){(a-b)}else{a+b}))*(ifon(3){(b)}else{-b})})}"
        );
    }

    #[test]
    fn arms_guards_bodies_and_fields() {
        let source = "fn f(x: S) -> S { match x.a { 1 => x, n if n > 2 => S { a: 2, ..x }, _ => x } }";
        let body = &source[18..source.len() - 2];
        let mutants = [
            mutant(source, 1, "FnValue", "S { ", body, "x"),
            mutant(source, 2, "MatchArm", "x.a { ", "1 => x,", ""),
            mutant(source, 3, "MatchArm", "x, ", "n if n > 2 => S { a: 2, ..x },", ""),
            mutant(source, 4, "MatchArmGuard", "n if ", "n > 2", "true"),
            mutant(source, 5, "BinaryOperator", "if n ", ">", "<"),
            mutant(source, 6, "StructField", "=> S { ", "a: 2,", ""),
        ];
        assert_eq!(
            text(source, &mutants),
            "fnf(x:S)->S{ifon(1){return(x);}matchx.a{1if!on(2)=>x,nif!on(3)&&(ifon(4){(true)}else{(ifon(5){(n<2)}\
             else{n>2})})=>(ifon(6){(S{..x})}else{S{a:2,..x}}),_=>x}}"
        );
    }
}
