//! Writes a generator's random words to standard output, for test suites:
//! `words philox|ars5 [SEED]`.
//!
//! For instance, with the dieharder suite: `words ars5 | dieharder -g 200 -a`.

use std::io::Write;

use smallfloat::random::Philox;
use smallfloat_kernels::{Ars5, Generator, Level};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let seed = arguments.next().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let generator: Generator = match name.as_str() {
        "philox" => Philox { seed, stream: 0 }.into(),
        "ars5" => Ars5 { seed, stream: 0 }.into(),
        _ => {
            eprintln!("usage: words philox|ars5 [SEED]");
            std::process::exit(2);
        }
    };
    let mut out = std::io::stdout().lock();
    let mut blocks = vec![[0; 4]; 1 << 14];
    let mut bytes = Vec::new();
    for first in (0..).step_by(blocks.len()) {
        generator.fill_blocks(Level::detected(), first, &mut blocks);
        bytes.clear();
        bytes.extend(blocks.as_flattened().iter().flat_map(|word: &u32| word.to_le_bytes()));
        // The reader decides when it has enough.
        if out.write_all(&bytes).is_err() {
            return;
        }
    }
}
