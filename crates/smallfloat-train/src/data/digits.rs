//! [`digits`]: 1,797 handwritten digits of 8 × 8 pixels.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::data::images::Images;
use crate::error::{Error, Result};

/// "Optical recognition of handwritten digits" of the UCI repository (E. Alpaydin, C. Kaynak,
/// 1998), as scikit-learn packs it; `digits-licence.txt` beside it has the licence.
const PACKED: &[u8] = include_bytes!("../../data/digits.csv.gz");
/// Images to learn from; the rest judges.
const TRAIN: usize = 1437;
/// Numbers of a line: pixels from 0 to 16, and the label.
const NUMBERS: usize = 65;

/// Returns the digits; the first 1,437 are to learn from.
///
/// # Errors
/// Never as the crate is built; the file that comes with it is checked as any other.
pub fn digits() -> Result<Images> {
    let mut text = String::new();
    GzDecoder::new(PACKED).read_to_string(&mut text).map_err(|e| Error::read("digits.csv.gz", e))?;
    let mut parts = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for (number, line) in text.lines().enumerate() {
        let numbers: Vec<u8> = line.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        let (pixels, label) = match numbers.split_last() {
            Some((label, pixels)) if numbers.len() == NUMBERS => (pixels, *label),
            _ => {
                let what = format!("line {}: {NUMBERS} numbers are wanted", number + 1);
                return Err(Error::data("digits.csv.gz", what));
            }
        };
        let part = &mut parts[usize::from(number >= TRAIN)];
        part.0.extend_from_slice(pixels);
        part.1.push(label);
    }
    Images::new("digits", [8, 8], parts)
}
