//! [`Text`]: characters of a text, each to be told from those before it.

use std::path::Path;

use crate::data::file::{DataFile, MOST_BYTES};
use crate::data::{Batch, Dataset, Digest, Input};
use crate::error::{Error, Result};
use crate::random::RandomSequence;

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
    /// Reads a UTF-8 file of at most 1 GiB.
    ///
    /// # Errors
    /// What is no regular file or can't be read, is no UTF-8, or is too long, or too short for a
    /// window of `context` characters in its last tenth.
    pub fn read(path: impl AsRef<Path>, context: usize) -> Result<Self> {
        let path = path.as_ref();
        let text = DataFile::read_text(path, MOST_BYTES)?;
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self::new(name, &text, context).map_err(|e| Error::data(path, e.to_string()))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// A text that is too short, as with [`read`](Self::read), or has more than 65,536 distinct
    /// characters.
    pub fn new(name: impl Into<String>, text: &str, context: usize) -> Result<Self> {
        let mut is_there = vec![false; char::MAX as usize + 1];
        let mut length = 0;
        for c in text.chars() {
            is_there[c as usize] = true;
            length += 1;
        }
        let split = length / 10 * 9;
        if context == 0 {
            return Err(Error::config("windows of 0 characters: 1 is the least"));
        }
        if length - split <= context {
            let least = context.saturating_add(1).saturating_mul(10);
            let what = format!("{length} characters are too few: windows of {context} need {least} at least");
            return Err(Error::config(what));
        }
        let mut vocabulary = 0;
        let numbers: Vec<Option<u16>> = is_there
            .into_iter()
            .map(|is_there| {
                let number = is_there.then_some(vocabulary);
                vocabulary += usize::from(is_there);
                number.and_then(|number| u16::try_from(number).ok())
            })
            .collect();
        let tokens = text
            .chars()
            .map(|c| numbers[c as usize])
            .collect::<Option<Vec<u16>>>()
            .ok_or_else(|| Error::config("more than 65,536 distinct characters"))?;
        Ok(Self { name: name.into(), tokens, vocabulary, split, context })
    }

    /// Returns the length of a window.
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

impl Dataset for Text {
    fn batch(&self, seed: u64, step: u64, size: usize) -> Batch {
        let sequence = RandomSequence::new(seed, "batches");
        self.windows((0..size as u64).map(|i| sequence.below(step * size as u64 + i, self.examples())))
    }

    /// Windows spread evenly over the last tenth of the text, the same for all seeds.
    fn validation(&self) -> Box<dyn Iterator<Item = Batch> + '_> {
        let places = self.tokens.len() - self.split - self.context;
        let start = move |i: usize| self.split + i * places / (BATCHES * WINDOWS);
        Box::new((0..BATCHES).map(move |b| self.windows((b * WINDOWS..(b + 1) * WINDOWS).map(start))))
    }

    fn examples(&self) -> usize {
        self.split - self.context
    }

    fn validation_batch(&self) -> usize {
        WINDOWS
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_characters_in_order() {
        // Characters in the order of their code points: a, b, ü, €.
        let text = Text::new("letters", &"b€aü".repeat(5), 1).unwrap();
        assert_eq!((&text.tokens[..4], text.classes(), text.split), (&[1, 3, 0, 2][..], 4, 18));
        assert_eq!((text.examples(), text.validation().count()), (17, BATCHES));
        for context in [2, 30_000, usize::MAX] {
            let error = Text::new("letters", &"b€aü".repeat(5), context).unwrap_err().to_string();
            assert!(error.contains("20 characters are too few"), "{error}");
        }
        // U+10000 and the 65,536 after it.
        let many: String = (0x1_0000..=0x2_0000).filter_map(char::from_u32).collect();
        assert!(Text::new("many", &many, 1).unwrap_err().to_string().contains("65,536 distinct"));
        assert_eq!(Text::new("fewer", &many[4..], 1).unwrap().classes(), 65_536);
    }
}
