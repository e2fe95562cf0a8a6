//! Source files, and their code without comments and literals.

use std::fs;
use std::path::{Path, PathBuf};

/// All files with an ending, build output and hidden folders left out.
pub(super) fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
}

/// The length of a character literal that starts here, or 1 for a lifetime.
fn character_length(rest: &[char]) -> usize {
    match rest {
        ['\'', '\\', _, tail @ ..] => 3 + tail.iter().position(|&c| c == '\'').map_or(0, |at| at + 1),
        ['\'', _, '\'', ..] => 3,
        _ => 1,
    }
}

/// The length of a raw string that starts here, if one does.
fn raw_string_length(rest: &[char]) -> Option<usize> {
    let start = usize::from(rest.first() == Some(&'b'));
    if rest.get(start) != Some(&'r') {
        return None;
    }
    let hashes = rest[start + 1..].iter().take_while(|&&c| c == '#').count();
    let open = start + 1 + hashes;
    if rest.get(open) != Some(&'"') {
        return None;
    }
    let close = |at: &usize| {
        rest[*at] == '"' && rest[at + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
    };
    Some((open + 1..rest.len()).find(close).map_or(rest.len(), |at| at + 1 + hashes))
}

/// The source without comments and the contents of literals.
pub(super) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let (mut code, mut i) = (String::new(), 0);
    while i < chars.len() {
        let rest = &chars[i..];
        let in_word = i > 0 && (chars[i - 1].is_alphanumeric() || chars[i - 1] == '_');
        if rest.starts_with(&['/', '/']) {
            i += rest.iter().position(|&c| c == '\n').unwrap_or(rest.len());
        } else if rest.starts_with(&['/', '*']) {
            let mut depth = 0;
            while i < chars.len() {
                let here = &chars[i..];
                let step = if here.starts_with(&['/', '*']) {
                    depth += 1;
                    2
                } else if here.starts_with(&['*', '/']) {
                    depth -= 1;
                    2
                } else {
                    1
                };
                i += step;
                if depth == 0 {
                    break;
                }
            }
        } else if let Some(length) = raw_string_length(rest).filter(|_| !in_word) {
            i += length;
        } else if rest[0] == '"' {
            i += 1;
            while i < chars.len() && chars[i] != '"' {
                i += if chars[i] == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if rest[0] == '\'' {
            i += character_length(rest);
        } else {
            code.push(rest[0]);
            i += 1;
            continue;
        }
        code.push(' ');
    }
    code
}
