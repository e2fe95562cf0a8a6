//! [`Text`]: characters of a text, each to be told from those before it.

use std::path::Path;

use crate::data::{Batch, Data, Digest, Input};
use crate::error::{Error, Result};
use crate::random::Sequence;

/// Evaluations: so many batches of so many windows.
const BATCHES: usize = 20;
const WINDOWS: usize = 64;

/// A text as tokens: its distinct characters in the order of their code points. The first nine
/// tenths are to learn from.
#[derive(Clone, Debug)]
pub struct Text {
    name: String,
    tokens: Vec<u16>,
    vocabulary: usize,
    split: usize,
    context: usize,
}

impl Text {
    /// Reads a UTF-8 file.
    ///
    /// # Errors
    /// A file that can't be read, is no UTF-8, or is too short for a window of `context` characters
    /// in its last tenth.
    pub fn read(path: &Path, context: usize) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(|e| Error::read(path, e))?;
        let text = String::from_utf8(bytes).map_err(|e| {
            Error::data(
                path,
                format!("byte {} is no UTF-8; convert the text first", e.utf8_error().valid_up_to()),
            )
        })?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self::new(name, &text, context).map_err(|e| Error::data(path, e.to_string()))
    }

    /// A text.
    ///
    /// # Errors
    /// As [`read`](Self::read), and more than 65,536 distinct characters.
    pub fn new(name: impl Into<String>, text: &str, context: usize) -> Result<Self> {
        let mut distinct: Vec<char> = text.chars().collect();
        let length = distinct.len();
        distinct.sort_unstable();
        distinct.dedup();
        let split = length / 10 * 9;
        if context == 0 || length - split < context + 1 {
            let what = format!(
                "{length} characters are too few: windows of {context} need {} at least",
                10 * (context.max(1) + 1)
            );
            return Err(Error::config(what));
        }
        let tokens = text
            .chars()
            .map(|c| distinct.binary_search(&c).ok().and_then(|at| u16::try_from(at).ok()))
            .collect::<Option<Vec<u16>>>()
            .ok_or_else(|| Error::config("more than 65,536 distinct characters"))?;
        Ok(Self { name: name.into(), tokens, vocabulary: distinct.len(), split, context })
    }

    /// The length of a window.
    pub fn context(&self) -> usize {
        self.context
    }

    fn windows(&self, starts: impl Iterator<Item = usize>) -> Batch {
        let (mut tokens, mut labels) = (Vec::new(), Vec::new());
        for start in starts {
            tokens.extend_from_slice(&self.tokens[start..start + self.context]);
            labels.extend_from_slice(&self.tokens[start + 1..=start + self.context]);
        }
        Batch { input: Input::Tokens(tokens), labels }
    }
}

impl Data for Text {
    fn batch(&self, seed: u64, step: u64, size: usize) -> Batch {
        let sequence = Sequence::new(seed, "batches");
        let places = self.split - self.context;
        self.windows((0..size as u64).map(|i| sequence.below(step * size as u64 + i, places)))
    }

    /// Windows spread evenly over the last tenth of the text, the same for all seeds.
    fn validation(&self) -> Vec<Batch> {
        let places = self.tokens.len() - self.split - self.context;
        let start = |i: usize| self.split + i * places / (BATCHES * WINDOWS);
        (0..BATCHES).map(|b| self.windows((b * WINDOWS..(b + 1) * WINDOWS).map(start))).collect()
    }

    fn classes(&self) -> usize {
        self.vocabulary
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for token in &self.tokens {
            digest.add(&token.to_le_bytes());
        }
        digest.0
    }
}
