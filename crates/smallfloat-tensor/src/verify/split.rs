//! Whether the parts of a GGUF file that was split are all there.
//!
//! Source: llama.cpp's `gguf-split` and its loader. Every part names in its keys which it is, from
//! 0 on (`split.no`), how many there are (`split.count`), and how many tensors all of them have
//! (`split.tensors.count`).

use std::path::Path;

use crate::error::{Error, Result, quoted_path};
use crate::file::folder::incomplete;
use crate::stored::view::View;

/// Which part a file is.
struct Part {
    number: u64,
    count: u64,
    /// Of all parts.
    tensors: Option<u64>,
}

impl Part {
    /// `None` for a file that was not split.
    fn of(view: &View) -> Result<Option<Self>> {
        let path = view.source().path();
        let number = |key: &str| {
            let pair = view.source().metadata().iter().find(|(found, _)| found == key);
            let wrong = || Error::malformed(path, None, format!("its `{key}` is no whole number"));
            pair.map(|(_, text)| text.parse::<u64>().map_err(|_| wrong())).transpose()
        };
        let Some(count) = number("split.count")?.filter(|&count| count > 1) else { return Ok(None) };
        let part =
            Self { number: number("split.no")?.unwrap_or(0), count, tensors: number("split.tensors.count")? };
        if part.number >= count {
            let what = format!("its `split.no` is {}, and the parts are 0 to {}", part.number, count - 1);
            return Err(Error::malformed(path, None, what));
        }
        Ok(Some(part))
    }
}

/// Refuses a file that is one part of several.
///
/// # Errors
/// Such a file, and keys that are no numbers.
pub(crate) fn check_alone(view: &View) -> Result<()> {
    if view.source().gguf().is_none() {
        return Ok(());
    }
    let Some(Part { number, count, .. }) = Part::of(view)? else { return Ok(()) };
    let what = format!(
        "this is part {} of the {count} parts of a GGUF file that was split, and incomplete without the others: name \
         the folder that has all of them",
        number + 1
    );
    Err(Error::refused(Some(view.source().path()), None, what))
}

/// Checks the GGUF files of a folder: one that is whole, or all parts of one.
///
/// # Errors
/// A part that is missing or there twice, a file that is no part, and counts that differ.
pub(crate) fn check_together(folder: &Path, views: &[View]) -> Result<()> {
    let wrong = |what: String| Err(incomplete(folder, &what));
    let mut places: Vec<Option<&Path>> = Vec::new();
    let mut said = None;
    for view in views {
        let path = view.source().path();
        let Some(part) = Part::of(view)? else {
            if views.len() == 1 {
                return Ok(());
            }
            let (count, path) = (views.len(), quoted_path(path));
            return wrong(format!(
                "of its {count} GGUF files {path} is no part of a split one; name one file"
            ));
        };
        let &mut (count, tensors) = said.get_or_insert((part.count, part.tensors));
        if (part.count, part.tensors) != (count, tensors) {
            let (path, other) = (quoted_path(path), quoted_path(views[0].source().path()));
            return wrong(format!("{path} and {other} are parts of different GGUF files"));
        }
        // No folder has more files than were counted.
        let number = usize::try_from(part.number).unwrap_or(usize::MAX);
        if number >= views.len() {
            continue;
        }
        places.resize(views.len(), None);
        if let Some(other) = places[number].replace(path) {
            let (path, other) = (quoted_path(path), quoted_path(other));
            return wrong(format!("{path} and {other} are both part {}", number + 1));
        }
    }
    let Some((count, tensors)) = said else { return Ok(()) };
    if let Some(number) = (0..count).find(|&number| {
        let place = usize::try_from(number).ok().and_then(|number| places.get(number));
        place.is_none_or(Option::is_none)
    }) {
        return wrong(format!("of the {count} parts of its GGUF file number {} is missing", number + 1));
    }
    let found: u64 = views.iter().map(|view| view.source().tensors().len() as u64).sum();
    match tensors.filter(|&said| said != found) {
        Some(said) => wrong(format!("its parts have {found} tensors, and `split.tensors.count` is {said}")),
        None => Ok(()),
    }
}
