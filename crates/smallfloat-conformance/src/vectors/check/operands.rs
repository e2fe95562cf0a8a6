//! [`OperandFile`]: the operands of a file of vectors, whatever its results are.

use std::io::Read;

use smallfloat::FlagOrder;
use smallfloat_kernels::parallel_map;

use crate::error::Error;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::check::read::{LineReader, VectorLine, excerpt, guess_layout};
use crate::vectors::check::{Blocks, CheckOptions, LONGEST_LINE, Start, read_header, split};
use crate::vectors::header::{FlagSet, VectorHeader};

/// What the lines of a piece have: operands, one line after the other, and how many lines there
/// are.
struct Piece {
    operands: Vec<u64>,
    lines: u64,
    error: Option<Error>,
}

/// A file of vectors whose operands are read.
pub(crate) struct OperandFile<R> {
    /// What is under test: the unit of the options, or that of the header.
    pub(crate) unit: VectorUnit,
    reader: LineReader,
    blocks: Blocks<R>,
    block: Option<Vec<u8>>,
    start: Start,
    prefix: Option<String>,
}

impl<R: Read> OperandFile<R> {
    /// Reads the header. One that names another operation than that of the options is refused.
    ///
    /// # Errors
    /// A header that is not understood, that is of another unit, or that names none while the
    /// options do not either.
    pub(crate) fn open(input: R, options: &CheckOptions) -> Result<Self, Error> {
        let mut blocks = Blocks::new(input, options);
        let block = blocks.next()?;
        let mut header = VectorHeader::default();
        let start = read_header(block.as_deref().unwrap_or(&[]), &mut header)?;
        let unit = match &options.unit {
            Some(unit) => unit.clone(),
            None => header.unit()?,
        };
        if header.operation.is_some() {
            let text = |unit: &VectorUnit| {
                let ports = unit.ports().map(|ports| format!(", ports {ports}")).unwrap_or_default();
                let flags = unit.flag_policy().map(|policy| format!(" with {policy} flags"));
                format!("{unit}{}{ports}", flags.unwrap_or_default())
            };
            let (given, expected) = (text(&header.unit()?), text(&unit));
            if given != expected {
                return Err(Error::OtherUnit { given, expected });
            }
        }
        let flags = options.flags.or(header.flags).unwrap_or(FlagSet::None);
        let order = options.order.or(header.order).unwrap_or(FlagOrder::Fflags);
        let first = block.as_deref().and_then(|block| block[start.byte..].split(|c| *c == b'\n').next());
        let first = first.map(|line| String::from_utf8_lossy(line).into_owned()).unwrap_or_default();
        let layout = options.layout.or(header.layout).unwrap_or_else(|| guess_layout(&first));
        let reader = LineReader::new(&unit, layout, flags, order);
        Ok(Self { unit, reader, blocks, block, start, prefix: options.prefix.clone() })
    }

    /// Delivers the operands of all vectors, many lines at once, in their order.
    ///
    /// # Errors
    /// Lines that are not understood, with their numbers; no vector at all.
    pub(crate) fn read(mut self, mut deliver: impl FnMut(&[u64])) -> Result<(), Error> {
        let (mut lines, mut numbers, mut from) = (self.start.line, 0, self.start.byte);
        while let Some(bytes) = self.block {
            let pieces = split(&bytes[from..]);
            let pieces: Vec<Piece> =
                parallel_map(pieces.len(), |at| read_piece(&self.unit, &self.reader, pieces[at]));
            for piece in pieces {
                if let Some(mut error) = piece.error {
                    if let Error::Vector { line, .. } = &mut error {
                        *line += lines;
                    }
                    return Err(error);
                }
                lines += piece.lines;
                numbers += piece.operands.len();
                deliver(&piece.operands);
            }
            from = 0;
            self.block = self.blocks.next()?;
        }
        if numbers == 0 { Err(Error::Empty { lines, prefix: self.prefix }) } else { Ok(()) }
    }
}

fn read_piece(unit: &VectorUnit, reader: &LineReader, bytes: &[u8]) -> Piece {
    let mut piece = Piece { operands: Vec::new(), lines: 0, error: None };
    for line in bytes.split_inclusive(|c| *c == b'\n') {
        piece.lines += 1;
        let read = match str::from_utf8(line) {
            _ if line.len() > LONGEST_LINE => Err("a line of more than a megabyte".to_owned()),
            Ok(text) => reader.read(text, line.ends_with(b"\n")).and_then(|line| taken(unit, line)),
            Err(_) => Err("not text".to_owned()),
        };
        match read {
            Ok(VectorLine::Vector { operands, .. }) => piece.operands.extend(operands),
            Ok(VectorLine::Nothing) => {}
            Err(problem) => {
                let text = String::from_utf8_lossy(&line[..line.len().min(400)]);
                piece.error = Some(Error::Vector { line: piece.lines, text: excerpt(text.trim()), problem });
                break;
            }
        }
    }
    piece
}

/// A line whose operands the unit has a result for.
fn taken(unit: &VectorUnit, line: VectorLine) -> Result<VectorLine, String> {
    if let VectorLine::Vector { operands, .. } = &line {
        let refused = unit.operands().iter().zip(operands).any(|(field, code)| !unit.takes(field, *code));
        if let (true, Err(error)) = (refused, unit.evaluate(operands)) {
            return Err(error.to_string());
        }
    }
    Ok(line)
}
