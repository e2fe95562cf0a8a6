//! Every truncation and every flipped bit of the headers of 40 safetensors files and 8 `.npy`
//! files: no panic, no memory that the file's size does not justify, and never a tensor that the
//! reference reader sees otherwise.
//!
//! All files live in memory, and one test runs at a time, since the allocator that counts is the
//! process's. With `SMALLFLOAT_EXTENSIVE=1` every header byte takes every other value too.

mod common;
mod corpus;

use std::sync::{Mutex, PoisonError};

use common::Random;
use corpus::agree::{same_as_reference, show, whole_array};
use peak_alloc::PeakAlloc;
use smallfloat_tensor::{Dtype, Error, Source};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Held by the test that runs.
static TURN: Mutex<()> = Mutex::new(());

/// Bytes of heap that opening a file may take beside the file itself: a constant for messages and
/// small tables, and a multiple of the file's length for names (held twice while duplicates are
/// sought), shapes and texts.
fn allowance(len: usize) -> usize {
    4 * 1024 + 40 * len
}

/// What was seen.
#[derive(Default, Debug)]
struct Tally {
    files: u64,
    read: u64,
    /// Refused here and read by the reference reader.
    stricter: u64,
    /// The most heap a file took, over its allowance.
    heaviest: f64,
}

impl Tally {
    /// Opens a file, counts what it took, and holds what was read against the reference.
    fn see(&mut self, bytes: Vec<u8>, reference: impl FnOnce(&[u8], Option<&Source>) -> bool) {
        let (len, copy) = (bytes.len(), bytes.clone());
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        let answer = Source::from_bytes("case.bin", bytes);
        let taken = HEAP.peak_usage().saturating_sub(before);
        assert!(taken <= allowance(len), "{taken} bytes of heap for {len} bytes: {}", show(&copy));
        #[expect(clippy::cast_precision_loss, reason = "a ratio")]
        let part = taken as f64 / allowance(len) as f64;
        self.heaviest = self.heaviest.max(part);
        self.files += 1;
        let source = answer.as_ref().ok();
        let read_there = reference(&copy, source);
        match answer {
            Ok(_) => {
                assert!(read_there, "read here and not there: {}", show(&copy));
                self.read += 1;
            }
            Err(error) => {
                assert!(error.is_malformed() || error.is_unsupported(), "{error}");
                assert!(
                    error.is_unsupported() || error.offset().is_some_and(|at| at <= len as u64),
                    "{error}"
                );
                self.stricter += u64::from(read_there);
            }
        }
    }
}

/// A safetensors file of several tensors, with the spacing, order, texts and padding that the
/// number chooses, and where its data begins.
fn seed(number: u64) -> (Vec<u8>, usize) {
    let mut random = Random(number);
    let mut below = |n: usize| usize::try_from(random.next() % n as u64).unwrap();
    let (space, line) = [("", ""), (" ", ""), (" ", "\n  "), ("", "\t")][below(4)];
    let (mut entries, mut end) = (Vec::new(), 0);
    for i in 0..6 + below(7) {
        let dtype = Dtype::ALL[below(Dtype::ALL.len())];
        let shape: Vec<u64> = match below(6) {
            0 if dtype.bits() >= 8 => vec![],
            0 | 1 => vec![0, 1 + below(30) as u64],
            2 => vec![4],
            3 => vec![1, 4, 1, 2],
            _ => vec![1 + below(3) as u64, 4],
        };
        let len = dtype.byte_len(shape.iter().product()).unwrap();
        let name = [
            format!("model.layers.{i}.weight"),
            format!("../é/{i}"),
            format!("\\u00e9\\n\\\"{i}"),
            format!("{i}"),
        ][below(4)]
        .clone();
        let shape = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(&format!(",{space}"));
        let mut fields = [
            format!("\"dtype\":{space}\"{dtype}\""),
            format!("\"shape\":{space}[{shape}]"),
            format!("\"data_offsets\":{space}[{end},{space}{}]", end + len),
        ];
        fields.rotate_left(below(3));
        entries.push(format!("\"{name}\":{space}{{{}}}", fields.join(&format!(",{space}"))));
        end += len;
    }
    entries.rotate_left(below(2));
    if below(3) > 0 {
        let text =
            format!("\"__metadata__\":{space}{{\"format\":{space}\"pt\",{space}\"k{number}\":\"\\u0001v\"}}");
        entries.insert(below(entries.len()), text);
    }
    let header = format!("{{{line}{}{line}}}{}", entries.join(&format!(",{line}")), " ".repeat(below(9)));
    let mut bytes = corpus::safetensors::file(&header, 0);
    let start = bytes.len();
    bytes.extend((0..end).map(|i| (i * 31 + number).to_le_bytes()[0]));
    (bytes, start)
}

/// An `.npy` file of one version or another, with the spelling that the number chooses, and where
/// its data begins.
fn npy_seed(number: usize) -> (Vec<u8>, usize) {
    let (descr, size) = [("<f4", 4), ("|u1", 1), ("<f8", 8), ("<i2", 2)][number % 4];
    let (shape, count) = [("(2, 3)", 6), ("()", 1), ("(5,)", 5), ("(0, 7)", 0)][number / 2 % 4];
    let quote = ['\'', '"'][number % 2];
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}     \n")
        .replace('\'', &quote.to_string());
    let version = [[1, 0], [2, 0], [3, 0]][number % 3];
    let bytes = corpus::npy::file(version, header.as_bytes(), size * count);
    let start = bytes.len() - size * count;
    (bytes, start)
}

/// Every truncation, every flipped bit of the first `header` bytes, and if asked every other value
/// of each.
fn mutate(bytes: &[u8], header: usize, extensive: bool, each: &mut dyn FnMut(Vec<u8>)) {
    for len in 0..bytes.len() {
        each(bytes[..len].to_vec());
    }
    for (at, &byte) in bytes[..header].iter().enumerate() {
        for change in 1..=255_u8 {
            if extensive || change.is_power_of_two() {
                let mut changed = bytes.to_vec();
                changed[at] = byte ^ change;
                each(changed);
            }
        }
    }
}

#[test]
fn no_truncation_and_no_flipped_bit_panics_or_lies() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let mut tally = Tally::default();
    for number in 0..40 {
        let (bytes, start) = seed(number);
        assert!(same_as_reference(&bytes, Some(&Source::from_bytes("seed", bytes.clone()).unwrap())));
        let end = bytes.len();
        mutate(&bytes, start, extensive, &mut |changed| {
            let (truncated, before) = (changed.len() < end, tally.read);
            tally.see(changed, same_as_reference);
            assert!(!truncated || tally.read == before, "a truncated file was read");
        });
    }
    eprintln!("safetensors: {tally:?}");
    assert!(tally.files >= 250_000, "{tally:?}");
    // Other names and texts, another type of the same size: these can't be told from what was
    // meant.
    assert!(tally.read > 10_000 && tally.stricter > 10, "{tally:?}");

    let mut tally = Tally::default();
    for number in 0..8 {
        let (bytes, start) = npy_seed(number);
        assert!(whole_array(&bytes, Some(&Source::from_bytes("seed", bytes.clone()).unwrap())));
        mutate(&bytes, start, extensive, &mut |changed| tally.see(changed, whole_array));
    }
    eprintln!("npy: {tally:?}");
    assert!(tally.files >= 5_000 && tally.read > 5, "{tally:?}");
}

/// Lengths, counts and shapes that promise far more than the file has allocate nothing of it, and
/// headers made of the smallest parts take no more than their length justifies.
#[test]
fn promises_allocate_nothing() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let safetensors = |header: String| corpus::safetensors::file(header, 0);
    let shape = |shape: &str| {
        safetensors(format!(r#"{{"t":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}}}"#))
    };
    let many = |entry: &dyn Fn(u32) -> String| (0..20_000).map(entry).collect::<Vec<_>>().join(",");
    let empty = |i| format!(r#""{i:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
    let files = [
        (false, 99_999_999u64.to_le_bytes().to_vec()),
        (false, shape("99999999999")),
        (false, shape("0,4294967296,4294967296")),
        (false, shape(&many(&|_| "1".into()))),
        (false, shape(&many(&|_| "0".into()))),
        (true, safetensors(format!("{{{}}}", many(&empty)))),
        (true, safetensors(format!(r#"{{"__metadata__":{{{}}}}}"#, many(&|i| format!(r#""{i:x}":"""#))))),
        (false, safetensors(many(&|_| "[".into()))),
        (false, safetensors(format!("{{\"{}", "x".repeat(100_000)))),
        (false, safetensors(format!("{{\"a\":{}", "[".repeat(100_000)))),
        (false, corpus::npy::file([2, 0], format!("{{'shape': ({}", "1,".repeat(50_000)).as_bytes(), 0)),
        (
            false,
            corpus::npy::file(
                [1, 0],
                b"{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999,)}\n",
                0,
            ),
        ),
    ];
    for (read, bytes) in files {
        let (len, start) = (bytes.len(), show(&bytes[..bytes.len().min(80)]));
        HEAP.reset_peak_usage();
        let before = HEAP.current_usage();
        let answer: Result<Source, Error> = Source::from_bytes("case", bytes);
        let taken = HEAP.peak_usage().saturating_sub(before);
        eprintln!("{taken} bytes of heap for {len} bytes: {start}");
        assert!(taken <= allowance(len), "{taken} bytes of heap for {len} bytes: {start}");
        assert_eq!(answer.is_ok(), read, "{start}");
    }
}
