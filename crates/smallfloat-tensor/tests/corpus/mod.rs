//! Named files that break the rules, or look as if they did, with the verdict that each must get
//! here and the verdicts of the reference readers: `safetensors` in Rust (run by the tests),
//! `safetensors` and NumPy in Python (recorded in `data/reference-*.csv` by
//! `verification/reference-readers`, with the digest of the bytes they saw).

#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod agree;
pub(crate) mod npy;
pub(crate) mod safetensors;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest, Sha256};
use smallfloat_tensor::{Error, Source};

/// What a file must be answered with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// It is read.
    Read,
    /// It breaks the format: the tensor named, if one is, the byte of the fault, and a part of the
    /// message.
    Malformed { tensor: Option<String>, at: u64, part: &'static str },
    /// It keeps the format and holds what is not read; a part of the message.
    Unsupported { part: &'static str },
}

/// One named file.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) verdict: Verdict,
}

impl Case {
    /// The files of a table with lines of `name | tensor | data | at | header | answer`, `-` where
    /// there is nothing to say: `tensor` is the one that the message must name, `data` how many
    /// zero bytes follow the header (behind a version as in `2.0:4`), `answer` is `reads`,
    /// `unsupported: ` and a part of the message, or a part of the message.
    ///
    /// A fault lies `back` bytes before the mark `¦` in the header, or `at` bytes into the data.
    /// With `raw` as its data, the header is the whole file and `at` a byte of it. `«0a»` is a byte
    /// in hexadecimal, `«20×9»` nine of them, and `$U8` a tensor of two bytes.
    fn all(table: &'static str, back: usize, framed: impl Fn(Option<&str>, &[u8]) -> Vec<u8>) -> Vec<Self> {
        let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| Self::of_line(line, back, &framed)).collect()
    }

    fn of_line(line: &'static str, back: usize, framed: &impl Fn(Option<&str>, &[u8]) -> Vec<u8>) -> Self {
        let cells: Vec<&'static str> = line.split(" | ").collect();
        let [name, tensor, data, at, header, answer] = cells[..] else { panic!("six cells: {line}") };
        let (header, mark) = unmarked(&bytes_of(header));
        let offset = || at.trim_start_matches('+').parse::<usize>().unwrap_or_default();
        let (bytes, at) = if data == "raw" {
            (header, offset())
        } else {
            let (version, zeros) = data.split_once(':').map_or((None, data), |(v, zeros)| (Some(v), zeros));
            let mut bytes = framed(version, &header);
            let at = match mark {
                Some(mark) => bytes.len() - header.len() + mark - back,
                None => bytes.len() + offset(),
            };
            bytes.resize(bytes.len() + zeros.parse::<usize>().expect(line), 0);
            (bytes, at)
        };
        let tensor = (tensor != "-").then(|| String::from_utf8(bytes_of(tensor)).expect(line));
        let verdict = match (answer, answer.strip_prefix("unsupported: ")) {
            ("reads", _) => Verdict::Read,
            (_, Some(part)) => Verdict::Unsupported { part },
            (part, None) => Verdict::Malformed { tensor, at: at as u64, part },
        };
        Self { name, bytes, verdict }
    }

    /// What is wrong with the answer to this file, if anything.
    pub(crate) fn check(&self, answer: Result<Source, Error>) -> Option<String> {
        let wrong = |what: String| Some(format!("{}: {what}", self.name));
        let error = match (answer, &self.verdict) {
            (Ok(_), Verdict::Read) => return None,
            (Ok(_), verdict) => return wrong(format!("is read, expected {verdict:?}")),
            (Err(error), _) => error,
        };
        let message = error.to_string();
        let framed = message.starts_with("`case.") && !message.contains('\n');
        let right = match &self.verdict {
            Verdict::Read => false,
            Verdict::Malformed { tensor, at, part } => {
                let found = (error.is_malformed(), error.tensor(), error.offset());
                found == (true, tensor.as_deref(), Some(*at)) && message.contains(part)
            }
            Verdict::Unsupported { part } => error.is_unsupported() && message.contains(part),
        };
        if right && framed { None } else { wrong(format!("expected {:?}, got: {message}", self.verdict)) }
    }
}

/// The two bytes of `¦`, which marks in a header where the fault is to be reported.
const MARK: &[u8] = "¦".as_bytes();

/// A header without its mark, and where the mark was.
fn unmarked(text: &[u8]) -> (Vec<u8>, Option<usize>) {
    match text.windows(MARK.len()).position(|part| part == MARK) {
        Some(at) => ([&text[..at], &text[at + MARK.len()..]].concat(), Some(at)),
        None => (text.to_vec(), None),
    }
}

/// The bytes of a cell.
fn bytes_of(cell: &str) -> Vec<u8> {
    if cell == "-" {
        return Vec::new();
    }
    let cell = cell.replace("$U8", r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#);
    let parts = cell.split(['«', '»']).enumerate().map(|(i, part)| {
        if i % 2 == 0 {
            return part.as_bytes().to_vec();
        }
        let (digits, count) = part.split_once('×').unwrap_or((part, "1"));
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect(part);
        let unit: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        unit.repeat(count.parse().expect(part))
    });
    parts.collect::<Vec<_>>().concat()
}

/// The recorded verdicts of a Python reader: for each name the digest of the bytes that it saw, and
/// whether it read them in each of its ways.
pub(crate) fn recorded(table: &str) -> BTreeMap<&str, (&str, Vec<bool>)> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|line| {
        let mut fields = line.split(';');
        let (name, digest) = (fields.next().unwrap(), fields.next().unwrap());
        (name, (digest, fields.map(|field| field == "reads").collect()))
    })
    .collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Writes the files where `SMALLFLOAT_CORPUS` says, numbered, with an index of their names, for
/// other readers.
pub(crate) fn export(kind: &str, cases: &[Case]) {
    let Some(folder) = std::env::var_os("SMALLFLOAT_CORPUS") else { return };
    let folder = std::path::Path::new(&folder).join(kind);
    std::fs::create_dir_all(&folder).unwrap();
    let mut index = String::new();
    for (i, case) in cases.iter().enumerate() {
        std::fs::write(folder.join(format!("{i:03}")), &case.bytes).unwrap();
        writeln!(index, "{i:03};{}", case.name).unwrap();
    }
    std::fs::write(folder.join("index"), index).unwrap();
}

/// The names in the table of `docs/files.md` between two markers, one per row.
pub(crate) fn documented(marker: &str) -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/files.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (begin, end) = (format!("<!-- {marker} -->"), format!("<!-- end of {marker} -->"));
    let table = text.split(&begin).nth(1).and_then(|rest| rest.split(&end).next()).expect(marker);
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.filter_map(|line| line.split('|').nth(1)).map(|name| name.trim().to_owned()).collect()
}
