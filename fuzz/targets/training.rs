//! What `train` reads: configurations in TOML, IDX images, and checkpoints of runs.
//!
//! The first byte chooses; the rest is the text, the four IDX files (parted by its first byte's
//! quarter), or a checkpoint with one stretch of bytes replaced.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use smallfloat_train::data::{Text, read_idx_folder};
use smallfloat_train::{Architecture, Config, RunOptions, Trainer};

const LIMIT: u64 = 64 << 20;

fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("smallfloat-fuzz-training-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    })
}

fn text() -> Text {
    // A text has a table of all characters while it is read, too large for every run.
    static TEXT: OnceLock<Text> = OnceLock::new();
    TEXT.get_or_init(|| Text::new("fuzz", &"small floats are small. ".repeat(40), 8).expect("a text")).clone()
}

/// A checkpoint of a run of one step.
fn checkpoint() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let config: Config = "".parse().expect("the defaults");
        let architecture = Architecture::CharTransformer { layers: 1, channels: 8, heads: 2, context: 8 };
        let options = RunOptions { batch: 2, steps: 2, ..RunOptions::new(architecture, config) };
        let mut trainer = Trainer::new(options, Box::new(text())).expect("a run");
        trainer.step().expect("a step");
        let path = folder().join("checkpoint");
        trainer.save(&path).expect("a checkpoint");
        std::fs::read(path).expect("it is there")
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    match choice % 3 {
        0 => {
            let Ok(text) = str::from_utf8(rest) else { return };
            if let Ok(config) = text.parse::<Config>() {
                let again: Config =
                    config.to_string().parse().expect("what was read can be written and read");
                assert_eq!(again.to_string(), config.to_string());
            }
        }
        1 => {
            let names = ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"];
            let size = rest.len().div_ceil(4).max(1);
            let mut parts = rest.chunks(size);
            for name in names {
                let bytes = parts.next().unwrap_or(&[]);
                std::fs::write(folder().join(format!("{name}-ubyte")), bytes).expect("a file");
            }
            if let Ok(images) = read_idx_folder(folder()) {
                assert!(!images.is_empty());
            }
        }
        _ => {
            let whole = checkpoint();
            let [high, low, new @ ..] = rest else { return };
            let at = usize::from(u16::from_be_bytes([*high, *low])) * whole.len() / (1 << 16);
            let mut bytes = whole.to_vec();
            let end = bytes.len().min(at + new.len());
            bytes[at..end].copy_from_slice(&new[..end - at]);
            let path = folder().join("changed");
            std::fs::write(&path, &bytes).expect("a file");
            let resumed = Trainer::resume(&path, Box::new(text()), LIMIT);
            assert!(resumed.is_err() || bytes == whole, "a changed checkpoint was resumed");
        }
    }
});
