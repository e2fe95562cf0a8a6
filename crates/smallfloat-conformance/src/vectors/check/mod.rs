//! [`check`]: what a simulator or a library gave, compared with the defined results.

mod kept;
mod operands;
mod read;

use std::io::Read;

use sha2::{Digest, Sha256};
use smallfloat::{FlagOrder, FlagPolicy};
use smallfloat_kernels::parallel_map;

use self::kept::{KeptVectors, Thinning};
pub(crate) use self::operands::OperandFile;
use self::read::{LineReader, VectorLine, digest_in, excerpt, guess_layout, is_header, take_header};
use crate::error::Error;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::generate::{CANONICAL, hex};
use crate::vectors::header::{FlagSet, VectorHeader};
use crate::vectors::layout::{LineLayout, LineWriter};
use crate::vectors::outcome::{CallOutcome, Compared};

/// The caller's knowledge of a file; its header says the rest.
#[derive(Clone, Default, Debug)]
pub struct CheckOptions {
    /// What is under test; the header's operation if left out.
    pub unit: Option<VectorUnit>,
    /// The layout; the header's, or that of the first vector, if left out.
    pub layout: Option<LineLayout>,
    /// The flags that are compared; the header's, or those of the policy, if left out.
    pub flags: Option<FlagSet>,
    /// When flags are raised; if left out as the header says. A header that does not say means
    /// Tesla's rules, and without a header the unit's hold.
    pub policy: Option<FlagPolicy>,
    /// The order of the flags' bits; the header's, or `fflags`, if left out.
    pub order: Option<FlagOrder>,
    /// Any NaN is as good as another; the draft and IEEE 754 leave its code open in many places.
    pub any_nan: bool,
    /// How lines with results begin, for what a simulator prints among other lines: these are
    /// passed over, but for those of a header.
    pub prefix: Option<String>,
    /// How many mismatches are kept.
    pub show: usize,
}

/// One vector that differs.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The line in the input, from 1.
    pub line: u64,
    /// The operands.
    pub operands: Vec<u64>,
    /// What is right.
    pub expected: CallOutcome,
    /// What was given; nothing where it has unknown digits.
    pub given: Option<CallOutcome>,
}

/// The findings of a check; [`diagnose`](crate::diagnosis::diagnose) says what may have caused it.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// What was under test.
    pub unit: VectorUnit,
    /// What the header says.
    pub header: VectorHeader,
    /// The flags that were compared.
    pub flags: FlagSet,
    /// Whether flags were compared by other rules than the header's.
    pub has_other_flags: bool,
    /// Vectors read.
    pub vectors: u64,
    /// Vectors that differ.
    pub mismatches: u64,
    /// Vectors that differ in the flags alone.
    pub flags_only: u64,
    /// Vectors with unknown digits.
    pub unknown: u64,
    /// Vectors that agree but for the code of NaN, which [`CheckOptions::any_nan`] accepts.
    pub other_nan: u64,
    /// The first that differ.
    pub first: Vec<Mismatch>,
    /// What is compared.
    pub(crate) compared: Compared,
    /// The vectors that causes are tried on.
    pub(crate) kept: KeptVectors,
    /// SHA-256 of the vectors read, with the right results.
    pub sha256: String,
}

impl CheckReport {
    /// Returns whether there are as many vectors as the header says, and the digest if it was to
    /// follow them.
    pub fn is_complete(&self) -> bool {
        self.header.lines.is_none_or(|lines| lines == self.vectors) && !self.lacks_trailer()
    }

    /// Returns whether the digest is missing that the header promises in the last line.
    pub fn lacks_trailer(&self) -> bool {
        self.header.has_trailer && self.header.sha256.is_none()
    }

    /// Returns whether the operands are those that the header's digest was made of, in their order;
    /// `None` where there is no digest, and where flags are compared by other rules than those that
    /// it was made by.
    pub fn digest_matches(&self) -> Option<bool> {
        let digest = self.header.sha256.as_ref().filter(|_| !self.has_other_flags)?;
        Some(*digest == self.sha256)
    }

    /// Returns whether everything is right and complete.
    pub fn passes(&self) -> bool {
        self.mismatches == 0 && self.is_complete() && self.digest_matches() != Some(false)
    }
}

/// Bytes that a thread takes at once, and how many such pieces are read before threads share them:
/// a fixed number, since what is kept of a block depends on the blocks before it.
const BATCH: usize = 1 << 18;
const PIECES: usize = 64;
/// A line may not be longer.
pub(super) const LONGEST_LINE: usize = 1 << 20;

/// Reads vectors and compares them with the defined results, on all threads; findings do not depend
/// on their number.
///
/// # Errors
/// Lines that are not understood, with their numbers; a file that does not say what it tests, and
/// no unit given; no vector at all; what the reader refuses.
pub fn check(input: impl Read, options: &CheckOptions) -> Result<CheckReport, Error> {
    let mut blocks = Blocks::new(input, options);
    let mut block = blocks.next()?;
    let mut header = VectorHeader::default();
    let start = read_header(block.as_deref().unwrap_or(&[]), &mut header)?;
    let of_header = header.operation.is_some().then(|| header.flag_policy());
    let unit = match (&options.unit, options.policy.or(of_header)) {
        (Some(unit), Some(policy)) => unit.clone().with_flag_policy(policy, true),
        (Some(unit), None) => unit.clone(),
        (None, Some(policy)) => header.unit_with(policy)?,
        (None, None) => header.unit()?,
    };
    // Lines of other files, with other values of the ports, may follow.
    let unit = unit.widened()?;
    let given = options.flags.or(options.policy.map(FlagSet::of));
    // Files that name no policy had all flags of formats that are not Tesla's.
    let is_older = header.policy.is_none() && header.operation.is_some();
    let implied = match FlagPolicy::default_for(&unit.formats()) {
        FlagPolicy::TESLA => FlagSet::Idou,
        _ if is_older => FlagSet::All,
        _ => unit.flags(),
    };
    let flags = given.or(header.flags).unwrap_or(implied);
    let order = options.order.or(header.order).unwrap_or(FlagOrder::Fflags);
    let has_other_flags = of_header.is_some_and(|policy| unit.flag_policy().is_some_and(|own| own != policy))
        || header.flags.is_some_and(|of_header| of_header != flags);
    let first = block.as_deref().and_then(|block| block[start.byte..].split(|c| *c == b'\n').next());
    let first = first.map(|line| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
    let layout = options.layout.or(header.layout).unwrap_or_else(|| guess_layout(&first));
    let checker = Checker {
        reader: LineReader::new(&unit, layout, flags, order),
        writer: LineWriter::new(&unit, CANONICAL.0, flags.mask(), CANONICAL.1),
        compared: Compared { mask: flags.mask(), any_nan: options.any_nan },
        show: options.show,
        unit,
    };
    let mut findings = Findings::new(&checker, start.line);
    let mut from = start.byte;
    while let Some(bytes) = block {
        let thinning = findings.kept.thinning();
        let pieces = split(&bytes[from..]);
        let pieces: Vec<Piece> = parallel_map(pieces.len(), |at| checker.piece(pieces[at], thinning));
        for piece in pieces {
            findings.add(piece)?;
        }
        from = 0;
        block = blocks.next()?;
    }
    if findings.of.vectors == 0 {
        return Err(Error::Empty { lines: findings.of.lines, prefix: options.prefix.clone() });
    }
    let report = findings.report(&checker, header, flags);
    Ok(CheckReport { has_other_flags, ..report })
}

/// What some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Where vectors begin.
pub(super) struct Start {
    pub(super) byte: usize,
    pub(super) line: u64,
}

pub(super) fn read_header(block: &[u8], header: &mut VectorHeader) -> Result<Start, Error> {
    let mut start = Start { byte: 0, line: 0 };
    if block.starts_with(BYTE_ORDER_MARK) {
        let problem = "the input begins with a byte-order mark; save it as UTF-8 without one".to_owned();
        let first = block.split(|c| *c == b'\n').next().unwrap_or_default();
        return Err(Error::Vector {
            line: 1,
            text: excerpt(String::from_utf8_lossy(first).trim_end()),
            problem,
        });
    }
    for line in block.split_inclusive(|c| *c == b'\n') {
        let number = start.line + 1;
        let Ok(text) = str::from_utf8(line) else { break };
        let is_header = take_header(text, header).map_err(|problem| Error::Vector {
            line: number,
            text: excerpt(text.trim()),
            problem,
        })?;
        if !is_header {
            break;
        }
        start = Start { byte: start.byte + line.len(), line: number };
    }
    Ok(start)
}

/// The input in blocks of whole lines.
pub(super) struct Blocks<R> {
    input: R,
    prefix: Option<String>,
    rest: Vec<u8>,
    /// Lines delivered, for messages.
    line: u64,
    is_done: bool,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(input: R, options: &CheckOptions) -> Self {
        Self { input, prefix: options.prefix.clone(), rest: Vec::new(), line: 0, is_done: false }
    }

    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let size = BATCH * PIECES;
        let mut block = std::mem::take(&mut self.rest);
        while !self.is_done && block.len() < size {
            let wanted = (size - block.len()) as u64;
            let count = self.input.by_ref().take(wanted).read_to_end(&mut block);
            let count =
                count.map_err(|error| Error::Read { line: self.line + 1, cause: error.to_string() })?;
            self.is_done = count == 0;
        }
        if block.is_empty() {
            return Ok(None);
        }
        if !self.is_done {
            match block.iter().rposition(|c| *c == b'\n') {
                Some(end) => self.rest = block.split_off(end + 1),
                None => {
                    return Err(Error::Read { line: self.line + 1, cause: "a line of megabytes".into() });
                }
            }
        }
        self.line += block.split(|c| *c == b'\n').count() as u64 - 1;
        Ok(Some(match &self.prefix {
            Some(prefix) => without_other_lines(&block, prefix.as_bytes()),
            None => block,
        }))
    }
}

/// The lines that begin with a prefix, without it, and those of a header. All others are blank, so
/// that lines keep their numbers.
fn without_other_lines(block: &[u8], prefix: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(block.len());
    for line in block.split_inclusive(|c| *c == b'\n') {
        match line.strip_prefix(prefix) {
            Some(line) => kept.extend_from_slice(line),
            None if str::from_utf8(line).is_ok_and(is_header) => kept.extend_from_slice(line),
            None => kept.push(b'\n'),
        }
    }
    kept
}

/// A block in pieces of whole lines.
pub(super) fn split(mut block: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    while !block.is_empty() {
        let cut = block.len().min(BATCH);
        let end = block[cut..].iter().position(|c| *c == b'\n').map_or(block.len(), |at| cut + at + 1);
        let (piece, rest) = block.split_at(end);
        pieces.push(piece);
        block = rest;
    }
    pieces
}

struct Checker {
    unit: VectorUnit,
    reader: LineReader,
    writer: LineWriter,
    compared: Compared,
    show: usize,
}

/// What is counted, of a piece or of all of them.
#[derive(Clone, Copy, Default)]
struct Counts {
    lines: u64,
    vectors: u64,
    mismatches: u64,
    flags_only: u64,
    unknown: u64,
    other_nan: u64,
}

impl Counts {
    fn add(&mut self, other: Self) {
        self.lines += other.lines;
        self.vectors += other.vectors;
        self.mismatches += other.mismatches;
        self.flags_only += other.flags_only;
        self.unknown += other.unknown;
        self.other_nan += other.other_nan;
    }
}

/// What one piece of a block has.
#[derive(Default)]
struct Piece {
    of: Counts,
    first: Vec<Mismatch>,
    kept: KeptVectors,
    /// The vectors with the right results, as the testfloat layout has them.
    canonical: Vec<u8>,
    /// The digest, if it stands behind lines.
    sha256: Option<String>,
    error: Option<Error>,
}

impl Checker {
    /// Compares a piece; `thinning` says which vectors are kept. Line numbers count within the
    /// piece.
    fn piece(&self, bytes: &[u8], thinning: Thinning) -> Piece {
        let kept = KeptVectors::new(self.unit.operands().len(), thinning);
        let mut piece = Piece { kept, ..Piece::default() };
        for line in bytes.split_inclusive(|c| *c == b'\n') {
            piece.of.lines += 1;
            if let Err(problem) = self.line(line, &mut piece) {
                let text = String::from_utf8_lossy(&line[..line.len().min(400)]);
                let text = excerpt(text.trim());
                piece.error = Some(Error::Vector { line: piece.of.lines, text, problem });
                break;
            }
        }
        piece
    }

    fn line(&self, line: &[u8], piece: &mut Piece) -> Result<(), String> {
        if line.len() > LONGEST_LINE {
            return Err("a line of more than a megabyte".into());
        }
        let text = str::from_utf8(line).map_err(|_| "not text")?;
        let VectorLine::Vector { operands, given } = self.reader.read(text, line.ends_with(b"\n"))? else {
            piece.sha256 = digest_in(text)?.or(piece.sha256.take());
            return Ok(());
        };
        let expected = self.unit.evaluate(&operands).map_err(|error| error.to_string())?;
        piece.of.vectors += 1;
        self.writer.push(&mut piece.canonical, &operands, &expected);
        let same_codes = given.as_ref().is_some_and(|given| given.results() == expected.results());
        let same_results =
            given.as_ref().is_some_and(|given| self.unit.agree(&expected, given, self.compared.any_nan));
        let same_flags = given
            .as_ref()
            .is_some_and(|given| given.flags & self.compared.mask == expected.flags & self.compared.mask);
        if same_results && same_flags {
            piece.of.other_nan += u64::from(!same_codes);
            piece.kept.push_agreeing(&operands);
            return Ok(());
        }
        piece.of.mismatches += 1;
        piece.of.flags_only += u64::from(same_results);
        piece.of.unknown += u64::from(given.is_none());
        piece.kept.push_failing(&operands, given.as_ref());
        if piece.first.len() < self.show {
            piece.first.push(Mismatch { line: piece.of.lines, operands, expected, given });
        }
        Ok(())
    }
}

/// What all pieces up to now have.
struct Findings {
    of: Counts,
    first: Vec<Mismatch>,
    show: usize,
    kept: KeptVectors,
    digest: Sha256,
    /// The digest that stands behind the lines.
    sha256: Option<String>,
}

impl Findings {
    fn new(checker: &Checker, lines: u64) -> Self {
        Self {
            of: Counts { lines, ..Counts::default() },
            first: Vec::new(),
            show: checker.show,
            kept: KeptVectors::new(checker.unit.operands().len(), Thinning::default()),
            digest: Sha256::new(),
            sha256: None,
        }
    }

    /// Adds the piece that follows; an error in it is the first error of the input.
    fn add(&mut self, piece: Piece) -> Result<(), Error> {
        if let Some(mut error) = piece.error {
            if let Error::Vector { line, .. } = &mut error {
                *line += self.of.lines;
            }
            return Err(error);
        }
        let room = self.show.saturating_sub(self.first.len());
        let lines = self.of.lines;
        self.first.extend(
            piece
                .first
                .into_iter()
                .take(room)
                .map(|mismatch| Mismatch { line: mismatch.line + lines, ..mismatch }),
        );
        self.kept.add(piece.kept);
        self.digest.update(&piece.canonical);
        self.sha256 = piece.sha256.or(self.sha256.take());
        self.of.add(piece.of);
        Ok(())
    }

    fn report(self, checker: &Checker, header: VectorHeader, flags: FlagSet) -> CheckReport {
        CheckReport {
            unit: checker.unit.clone(),
            header: VectorHeader { sha256: self.sha256.or(header.sha256), ..header },
            flags,
            has_other_flags: false,
            vectors: self.of.vectors,
            mismatches: self.of.mismatches,
            flags_only: self.of.flags_only,
            unknown: self.of.unknown,
            other_nan: self.of.other_nan,
            first: self.first,
            compared: checker.compared,
            kept: self.kept,
            sha256: hex(&self.digest.finalize()),
        }
    }
}
