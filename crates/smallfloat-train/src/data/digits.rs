//! [`digits`]: 1,797 handwritten digits of 8 × 8 pixels, and [`digit_pixels`]: the same as a text.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::data::images::Images;
use crate::data::text::Text;
use crate::error::{Error, Result};

/// "Optical recognition of handwritten digits" of the UCI repository (E. Alpaydin, C. Kaynak,
/// 1998), as scikit-learn packs it; `digits-licence.txt` beside it has the licence.
const PACKED: &[u8] = include_bytes!("../../data/digits.csv.gz");
/// Images to learn from; the rest judges.
const TRAIN: usize = 1437;
/// Numbers of a line: pixels from 0 to 16, and the label.
const NUMBERS: usize = 65;
/// The largest number of a pixel.
const DARKEST: u8 = 16;

/// Returns the digits; the first 1,437 are to learn from.
///
/// # Errors
/// Never as the crate is built; the file that comes with it is checked as any other.
pub fn digits() -> Result<Images> {
    let mut parts = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for (number, (pixels, label)) in lines()?.into_iter().enumerate() {
        let part = &mut parts[usize::from(number >= TRAIN)];
        part.0.extend(pixels);
        part.1.push(label);
    }
    Images::new("digits", [8, 8], parts)
}

/// Returns the digits as a text for the transformer, which is to tell each pixel from those before
/// it: pixels row by row, `a` (0) to `q` (16), and a line break after each image.
///
/// # Errors
/// Windows of 0 characters, or of more than a tenth of the text.
pub fn digit_pixels(context: usize) -> Result<Text> {
    let mut text = String::new();
    for (pixels, _) in lines()? {
        text.extend(pixels.into_iter().map(|pixel| char::from(b'a' + pixel)));
        text.push('\n');
    }
    Text::new("digit-pixels", &text, context)
}

/// Pixels and label of each image.
fn lines() -> Result<Vec<(Vec<u8>, u8)>> {
    let mut text = String::new();
    GzDecoder::new(PACKED).read_to_string(&mut text).map_err(|e| Error::read("digits.csv.gz", e))?;
    let line = |(number, line): (usize, &str)| {
        let numbers: Vec<u8> = line.split(',').filter_map(|n| n.trim().parse().ok()).collect();
        match numbers.split_last() {
            Some((label, pixels)) if numbers.len() == NUMBERS && pixels.iter().all(|p| *p <= DARKEST) => {
                Ok((pixels.to_vec(), *label))
            }
            _ => {
                let what =
                    format!("line {}: {NUMBERS} numbers are wanted, pixels up to {DARKEST}", number + 1);
                Err(Error::data("digits.csv.gz", what))
            }
        }
    };
    text.lines().enumerate().map(line).collect()
}
