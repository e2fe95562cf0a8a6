//! The folders of a crate and which way they import.
//!
//! A room is a folder of `src`, or a file beside `lib.rs`. A path in `use` or in code that begins
//! with `crate`, `super` or `self` is an import from the room of the file that defines the name;
//! names that a `mod.rs` or `lib.rs` re-exports are followed to that file. Modules for tests are
//! left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::source::{code_only, files};

/// A module by its path from the crate's root.
type Module = Vec<String>;

/// Imports between the rooms of a crate.
pub(super) struct Rooms {
    /// From room to room, with an example: the file and the path that it names.
    arrows: BTreeMap<String, BTreeMap<String, String>>,
}

/// The tokens of code: names, `::`, and single characters.
fn tokens(code: &str) -> Vec<String> {
    let (mut tokens, mut chars) = (Vec::new(), code.chars().peekable());
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() || c == '_' {
            let mut word = c.to_string();
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                word.push(c);
            }
            tokens.push(word);
        } else if c == ':' && chars.next_if_eq(&':').is_some() {
            tokens.push("::".to_owned());
        } else if !c.is_whitespace() {
            tokens.push(c.to_string());
        }
    }
    tokens
}

/// Where the block that begins at an opening brace ends.
fn end_of_block(tokens: &[String], open: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    return i;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The tokens without modules for tests, and the names of test modules in files of their own.
fn without_tests(tokens: &[String]) -> (Vec<String>, BTreeSet<String>) {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut kept, mut test_files, mut i) = (Vec::new(), BTreeSet::new(), 0);
    while i < tokens.len() {
        let is_test = tokens[i..].iter().map(String::as_str).take(CFG_TEST.len()).eq(CFG_TEST);
        if is_test {
            let mut at = i + CFG_TEST.len();
            while tokens.get(at).is_some_and(|token| token == "#") {
                at += tokens[at..].iter().position(|token| token == "]").map_or(1, |n| n + 1);
            }
            if tokens.get(at).is_some_and(|token| token == "mod") {
                if let Some("{") = tokens.get(at + 2).map(String::as_str) {
                    i = end_of_block(tokens, at + 2) + 1;
                } else {
                    test_files.insert(tokens[at + 1].clone());
                    i = at + 3;
                }
                continue;
            }
        }
        kept.push(tokens[i].clone());
        i += 1;
    }
    (kept, test_files)
}

/// A path that code names, and the name that it gets.
struct Named {
    path: Vec<String>,
    name: String,
    /// It stands in `pub use`, so that others find the name here.
    exported: bool,
}

/// Reads a tree of `use` from `at` on and returns where it ends.
fn use_tree(
    tokens: &[String],
    mut at: usize,
    prefix: &[String],
    exported: bool,
    found: &mut Vec<Named>,
) -> usize {
    let mut path = prefix.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = use_tree(tokens, at, &path, exported, found);
                    if tokens.get(at).is_some_and(|token| token == ",") {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(name) => {
                let is_self = name == "self" && !path.is_empty();
                if !is_self {
                    path.push(name.to_owned());
                }
                at += 1;
                if tokens.get(at).is_some_and(|token| token == "::") {
                    at += 1;
                    continue;
                }
                let mut name = path.last().cloned().unwrap_or_default();
                if tokens.get(at).is_some_and(|token| token == "as") {
                    name.clone_from(&tokens[at + 1]);
                    at += 2;
                }
                found.push(Named { path, name, exported });
                return at;
            }
            None => return at,
        }
    }
}

/// All paths in code.
fn paths(tokens: &[String]) -> Vec<Named> {
    let (mut found, mut i) = (Vec::new(), 0);
    while i < tokens.len() {
        let exported = i > 0 && (tokens[i - 1] == "pub" || tokens[i - 1] == ")");
        if tokens[i] == "use" {
            i = use_tree(tokens, i + 1, &[], exported, &mut found);
            continue;
        }
        let begins = ["crate", "super"].contains(&tokens[i].as_str())
            && tokens.get(i + 1).is_some_and(|token| token == "::")
            && (i == 0 || tokens[i - 1] != "::");
        if begins {
            let mut path = vec![tokens[i].clone()];
            while tokens.get(i + 1).is_some_and(|token| token == "::") {
                match tokens.get(i + 2) {
                    Some(name) if name.starts_with(|c: char| c.is_alphabetic() || c == '_') => {
                        path.push(name.clone());
                        i += 2;
                    }
                    _ => break,
                }
            }
            let name = path.last().cloned().unwrap_or_default();
            found.push(Named { path, name, exported: false });
        }
        i += 1;
    }
    found
}

/// A path from the crate's root; `None` for paths into other crates.
fn absolute(module: &[String], path: &[String], modules: &BTreeMap<Module, String>) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first().map(String::as_str) {
        Some("crate") => (base, rest) = (Vec::new(), &rest[1..]),
        Some("self") => rest = &rest[1..],
        Some("super") => {}
        // A child of this module.
        Some(child) => {
            let mut path = base.clone();
            path.push(child.to_owned());
            modules.contains_key(&path).then_some(())?;
        }
        None => return None,
    }
    while rest.first().is_some_and(|part| part == "super") {
        base.pop();
        rest = &rest[1..];
    }
    base.extend_from_slice(rest);
    Some(base)
}

impl Rooms {
    /// Reads all files below a crate's `src`.
    pub(super) fn read(folder: &Path) -> Self {
        let mut sources = Vec::new();
        files(folder, "rs", &mut sources);
        let mut modules: BTreeMap<Module, String> = BTreeMap::new();
        let mut code: BTreeMap<Module, Vec<String>> = BTreeMap::new();
        let mut tests: BTreeSet<Module> = BTreeSet::new();
        for path in &sources {
            let place = path.strip_prefix(folder).expect("a file of the folder").with_extension("");
            let mut module: Module =
                place.iter().map(|part| part.to_str().expect("text").to_owned()).collect();
            let file = module.join("/");
            match module.last().map(String::as_str) {
                Some("mod") => drop(module.pop()),
                Some("lib" | "main") if module.len() == 1 => module.clear(),
                _ => {}
            }
            let all = tokens(&code_only(&fs::read_to_string(path).expect("a source file")));
            let (kept, test_files) = without_tests(&all);
            tests.extend(test_files.into_iter().map(|name| {
                let mut test = module.clone();
                test.push(name);
                test
            }));
            modules.insert(module.clone(), file);
            code.insert(module, kept);
        }
        code.retain(|module, _| !(1..=module.len()).any(|n| tests.contains(&module[..n])));
        let named: BTreeMap<&Module, Vec<Named>> =
            code.iter().map(|(module, tokens)| (module, paths(tokens))).collect();
        let mut exports: BTreeMap<(Module, String), Vec<String>> = BTreeMap::new();
        for (module, found) in &named {
            for one in found.iter().filter(|one| one.exported) {
                if let Some(path) = absolute(module, &one.path, &modules) {
                    exports.insert(((*module).clone(), one.name.clone()), path);
                }
            }
        }
        let mut rooms = Self { arrows: BTreeMap::new() };
        for (module, found) in &named {
            // What the root declares and re-exports is the crate's public face, not an import.
            if module.is_empty() {
                continue;
            }
            for one in found {
                let Some(mut path) = absolute(module, &one.path, &modules) else { continue };
                // A module that re-exports its own children imports nothing.
                if one.exported && path.starts_with(module) {
                    continue;
                }
                let target = loop {
                    let length = (0..=path.len()).rev().find(|&n| modules.contains_key(&path[..n]));
                    let (target, rest) = path.split_at(length.expect("the root is a module"));
                    let key = (target.to_vec(), rest.first().cloned().unwrap_or_default());
                    match exports.get(&key) {
                        Some(defined) if defined[..] != path[..] => {
                            path = defined.iter().chain(rest.iter().skip(1)).cloned().collect();
                        }
                        _ => break target.to_vec(),
                    }
                };
                if target.is_empty() {
                    continue;
                }
                let (from, to) = (room(&modules[*module]), room(&modules[&target]));
                if from != to {
                    let example = format!("{}.rs names {}", modules[*module], path.join("::"));
                    rooms.arrows.entry(from).or_default().entry(to).or_insert(example);
                }
            }
        }
        rooms
    }

    /// How many pairs of rooms import one from the other.
    pub(super) fn imports(&self) -> usize {
        self.arrows.values().map(BTreeMap::len).sum()
    }

    /// The rooms that can be reached from a room, with the way to each.
    fn ways(&self, start: &str) -> BTreeMap<String, Vec<String>> {
        let mut ways: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut open = vec![(start.to_owned(), Vec::new())];
        while let Some((room, way)) = open.pop() {
            for (to, example) in self.arrows.get(&room).into_iter().flatten() {
                if !ways.contains_key(to) {
                    let mut longer: Vec<String> = way.clone();
                    longer.push(format!("  {room} -> {to}: {example}"));
                    ways.insert(to.clone(), longer.clone());
                    open.push((to.clone(), longer));
                }
            }
        }
        ways
    }

    /// The circles, each as the imports that make it.
    pub(super) fn circles(&self) -> Vec<String> {
        let back = |start: &String| Some(self.ways(start).remove(start)?.join("\n"));
        self.arrows.keys().filter_map(|start| Some(format!("circle\n{}", back(start)?))).collect()
    }
}

/// A file's room: its folder, or the file itself beside `lib.rs`.
fn room(file: &str) -> String {
    file.rsplit_once('/').map_or(file, |(folder, _)| folder).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The circles of a made-up crate.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        static CRATES: AtomicUsize = AtomicUsize::new(0);
        let number = CRATES.fetch_add(1, Ordering::Relaxed);
        let name = format!("rooms-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let found = Rooms::read(&folder).circles();
        fs::remove_dir_all(folder).expect("it is there");
        found
    }

    #[test]
    fn a_circle_is_found_and_spelled_out() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b;"),
            ("a/mod.rs", "pub mod one;"),
            ("a/one.rs", "use crate::b::two::Two; pub struct One;"),
            ("b/mod.rs", "pub mod two;"),
            ("b/two.rs", "pub struct Two(crate::a::one::One);"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("a -> b: a/one.rs names b::two::Two"), "{found:?}");
        assert!(found[0].contains("b -> a: b/two.rs names a::one::One"), "{found:?}");
    }

    #[test]
    fn one_direction_is_no_circle() {
        let found = circles(&[
            ("lib.rs", "mod a; mod b; pub use a::one::One;"),
            ("a/mod.rs", "pub mod one; pub mod three;"),
            ("a/one.rs", "use crate::b::two::{self, Two}; use super::three::Three; pub struct One;"),
            ("a/three.rs", "pub struct Three; // crate::b is not code\nconst T: &str = \"crate::b\";"),
            ("b/mod.rs", "pub mod two;"),
            ("b/two.rs", "use std::fmt; pub struct Two; #[cfg(test)] mod tests { use crate::a::one::One; }"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn re_exports_are_followed() {
        let files = |b: &'static str| {
            [
                ("lib.rs", "mod a; mod b; mod error; pub use a::One;"),
                ("a/mod.rs", "mod one; pub use one::One;"),
                ("a/one.rs", "use crate::b::two::Two; pub struct One;"),
                ("b/mod.rs", "pub mod two;"),
                ("b/two.rs", b),
                ("error.rs", "pub struct Error;"),
            ]
        };
        assert_eq!(circles(&files("use crate::One; pub struct Two;")).len(), 2);
        assert_eq!(circles(&files("use crate::error::Error as E; pub struct Two(E);")).len(), 0);
        assert_eq!(circles(&files("pub use crate::a::one::One; pub struct Two;")).len(), 2);
    }

    #[test]
    fn files_beside_the_root_are_rooms() {
        let found = circles(&[
            ("lib.rs", "mod high; mod low;"),
            ("high.rs", "use crate::low::tool::Tool; pub struct High;"),
            ("low/mod.rs", "pub mod tool;"),
            ("low/tool.rs", "use crate::high::High; pub struct Tool;"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
