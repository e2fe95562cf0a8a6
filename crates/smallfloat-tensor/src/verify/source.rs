//! [`verify_against`]: is every code of a quantized file the one that its source gives?
//!
//! A file says in which format, at which bias or scale and with which rounding its codes were made,
//! so that for each number of the source one code is right: the number divided by the scale,
//! rounded once. With stochastic rounding and a seed that is known it is still one; without the
//! seed it is one of the two neighbours. Scales are taken as they are, so that this bounds the
//! error of every element, and says nothing of whether another scale would have been better.
//!
//! Pieces of a tensor are judged by all threads; memory is that of a few pieces a thread.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use smallfloat::{Format, FormatSpec, Preset, Projection, Rounding, Saturation};

use crate::error::{Result, refuse};
use crate::file::input::chunk_buffer;
use crate::file::pipeline::ordered;
use crate::file::stream::code_at;
use crate::layout::container::rounding;
use crate::layout::convention::Order;
use crate::layout::fp8_remap::Fp8Remap;
use crate::layout::grid::{Granularity, Grid, PIECE_ELEMENTS, Tile, index};
use crate::options::{Negative, Options};
use crate::progress::{Progress, share_of};
use crate::scale::rule::Scale;
use crate::stored::numbers::Numbers;
use crate::stored::open::open_checkpoint;
use crate::stored::scaled::Scaled;
use crate::stored::view::{Stored, TensorView, View, nothing_quantized};
use crate::verify::expected::{ElementPosition, ExpectedCode, ExpectedCodes};

/// The options of quantizing that files do not record, with the defaults of [`Options::new`].
#[derive(Clone, Default, Debug)]
pub struct QuantizedAs {
    /// The format whose values the FP8 codes of the container `fp8` stand for; by default the codes
    /// stand for themselves.
    pub format: Option<FormatSpec>,
    /// The rounding of files in layouts of other programs. Native containers name theirs, and this
    /// is not asked.
    pub rounding: Option<Rounding>,
    /// The seed of a stochastic rounding, of which the same is true.
    pub seed: Option<u64>,
    /// The preset.
    pub preset: Option<Preset>,
    /// The saturation mode.
    pub saturation: Option<Saturation>,
    /// Negative values in an unsigned format.
    pub negative: Negative,
}

/// A tensor that is not what the source gives.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Disagreement {
    /// Its name.
    pub tensor: String,
    /// `code`, `data` of a copied tensor, `dtype`, `shape`, `missing` in the file, or `extra` in
    /// it.
    pub kind: &'static str,
    /// How many codes are wrong; 1 for other kinds.
    pub count: u64,
    /// The first wrong element in row-major order, of data the first byte.
    pub element: Option<u64>,
    /// Its number in the source.
    pub value: Option<f64>,
    /// Its code.
    pub code: Option<u64>,
    /// The codes that would be right: one, or two for random words that are not known.
    #[serde(rename = "right")]
    pub expected: Vec<u64>,
    /// All of it in words.
    pub what: String,
}

/// The counts of [`verify_against`].
#[derive(Clone, PartialEq, Default, Debug, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// Tensors whose codes were judged.
    pub tensors: u64,
    /// Their elements.
    pub elements: u64,
    /// Tensors that are stored as they were, and were compared byte for byte.
    pub copied: u64,
    /// Codes that are wrong, in all tensors together.
    pub wrong_codes: u64,
    /// The tensors that disagree, in the order of the file.
    pub disagreements: Vec<Disagreement>,
}

/// Holds a quantized file or checkpoint folder against the file or folder it was made from: each
/// code must be the right one, each copied tensor the same bytes, and no tensor may be missing or
/// new. Files may be parted differently on both sides.
///
/// The structure and the digests are [`verify`](crate::verify)'s part. BF16 values of CFloat8 (the
/// container `bf16`) have no codes to judge.
///
/// # Errors
/// What can't be opened or read, a file with nothing quantized, and a declared format that has no
/// FP8 codes. Disagreements are no errors: they are in the result.
pub fn verify_against(
    path: impl AsRef<Path>,
    source: impl AsRef<Path>,
    declared: &QuantizedAs,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Agreement> {
    verify_path(path.as_ref(), source.as_ref(), declared, progress)
}

fn verify_path(
    path: &Path,
    source: &Path,
    declared: &QuantizedAs,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Agreement> {
    let (views, sources) = (open_checkpoint(path)?, open_checkpoint(source)?);
    if !views.iter().any(View::is_quantized) {
        return Err(nothing_quantized(path));
    }
    let mut originals: HashMap<&str, (&View, &TensorView)> = HashMap::new();
    for view in &sources {
        originals.extend(view.tensors().iter().map(|tensor| (&*tensor.info.name, (view, tensor))));
    }
    let bytes = originals.values().map(|(_, tensor)| tensor.info.len).fold(0, u64::saturating_add);
    progress(Progress::Start(bytes));
    let mut comparison = Comparison { declared, expected: None };
    let mut agreement = Agreement::default();
    for view in &views {
        for tensor in view.tensors() {
            progress(Progress::Tensor(&tensor.info.name));
            let found = match originals.remove(&*tensor.info.name) {
                Some(original) => comparison.tensor((view, tensor), original, &mut agreement, progress)?,
                None => Some(odd(tensor, "extra", "is not in the source".to_owned())),
            };
            agreement.disagreements.extend(found);
        }
    }
    let mut missing: Vec<&TensorView> = originals.into_values().map(|(_, tensor)| tensor).collect();
    missing.sort_by(|a, b| a.info.name.cmp(&b.info.name));
    let what = "is in the source and not in the file";
    agreement.disagreements.extend(missing.into_iter().map(|tensor| odd(tensor, "missing", what.to_owned())));
    let wrong = agreement.disagreements.iter().filter(|found| found.kind == "code");
    agreement.wrong_codes = wrong.map(|found| found.count).sum();
    Ok(agreement)
}

fn odd(tensor: &TensorView, kind: &'static str, what: String) -> Disagreement {
    let tensor = tensor.info.name.clone();
    Disagreement {
        tensor,
        kind,
        count: 1,
        element: None,
        value: None,
        code: None,
        expected: Vec::new(),
        what,
    }
}

/// The judges that the tensors of a job have in common, most often.
type Judges = ([Format; 2], Projection, Arc<[ExpectedCodes]>);

struct Comparison<'a> {
    declared: &'a QuantizedAs,
    expected: Option<Judges>,
}

/// A tensor with its file.
type InFile<'a> = (&'a View, &'a TensorView);

impl Comparison<'_> {
    fn tensor(
        &mut self,
        (view, tensor): InFile<'_>,
        (source, original): InFile<'_>,
        agreement: &mut Agreement,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Option<Disagreement>> {
        let (info, of) = (&tensor.info, &original.info);
        if info.shape != of.shape {
            let what = format!("has the shape {:?}, in the source {:?}", info.shape, of.shape);
            return Ok(Some(odd(tensor, "shape", what)));
        }
        let Some(format) = tensor.format() else {
            agreement.copied += 1;
            if (info.dtype, &tensor.stored) != (of.dtype, &original.stored) {
                let what = format!("is {} and not quantized, in the source {}", info.dtype, of.dtype);
                return Ok(Some(odd(tensor, "dtype", what)));
            }
            return same_bytes((view, tensor), (source, original), progress);
        };
        if !original.has_numbers() {
            let what = format!("is quantized, in the source it is {}, which has no numbers", of.dtype);
            return Ok(Some(odd(tensor, "dtype", what)));
        }
        let list = tensor.scaled().and_then(|scaled| scaled.codebook.as_ref());
        if let (Some(scaled), Some(None)) = (tensor.scaled(), list.map(|list| list.codebook)) {
            let what = format!(
                "is in the layout {} with values of its own, to which no rounding is known: `compare` tells the errors",
                scaled.layout().unwrap_or("native")
            );
            return Err(crate::error::Error::refused(Some(view.source().path()), Some(&info.name), what));
        }
        agreement.tensors += 1;
        agreement.elements += info.elements();
        let mut options = self.options(tensor, format)?;
        let (element, scale) = match &tensor.stored {
            // All biases of a format have the same codes, and the bias is a scale.
            Stored::Codes(_) if format.has_free_bias() => {
                (options.format.with_bias(0).map_err(refuse)?, Scale::of_bias(format.bias()))
            }
            _ => (*format, Scale::new(0, 1.0, 1.0)),
        };
        options.codebook = list.and_then(|list| list.codebook);
        let expected = if options.codebook.is_some() {
            [ExpectedCodes::new(&element, &options, None)].into()
        } else {
            self.expected(&element, &options)?
        };
        let granularity = tensor.scaled().map_or(Granularity::Tensor, |scaled| scaled.granularity);
        let order = tensor.scaled().map_or(Order::Rows, Scaled::order);
        let job = Job {
            view,
            tensor,
            original: Numbers::ordered(source.reader(original)?.rounding_to_odd(), order, &info.shape),
            grid: tensor.scaled().map_or_else(|| Grid::new(&info.shape, granularity), |scaled| scaled.grid),
            order,
            scale,
            expected: &expected,
            position: ElementPosition::first(options.seed, &info.name),
        };
        let worst = job.run(&mut |elements| progress(Progress::Bytes(share_of(of, elements))))?;
        Ok((worst.count > 0).then(|| job.disagreement(worst)))
    }

    /// How a tensor was quantized: what its entry says, and what was declared.
    fn options(&self, tensor: &TensorView, format: &Format) -> Result<Options> {
        let declared = self.declared;
        let mut options = Options::new(match tensor.entry() {
            Some(entry) => entry.encoding.spec().map_err(refuse)?,
            None => FormatSpec::from(*format),
        });
        (options.rounding, options.seed) = (declared.rounding, declared.seed);
        if let Some(entry) = tensor.entry() {
            let encoding = &entry.encoding;
            let known = rounding(&encoding.rounding, encoding.random_bits)?;
            let unknown = || refuse(format!("the rounding `{}` is not known", encoding.rounding));
            (options.rounding, options.seed) = (Some(known.ok_or_else(unknown)?), encoding.seed);
        } else if let Some(spec) = &declared.format {
            options.format = *spec;
        }
        (options.preset, options.saturation) = (declared.preset, declared.saturation);
        options.negative = declared.negative;
        Ok(options)
    }

    /// The judge of a format's codes, or those of the two scales that the container `fp8` may have
    /// taken.
    fn expected(&mut self, stored: &Format, options: &Options) -> Result<Arc<[ExpectedCodes]>> {
        let relabelled = options.format.has_free_bias() && !stored.has_free_bias();
        let element = if relabelled { options.format.with_bias(0).map_err(refuse)? } else { *stored };
        let projection = options.projection(&element);
        let formats = [*stored, element];
        if let Some((of, with, expected)) = &self.expected
            && (of, with) == (&formats, &projection)
        {
            return Ok(Arc::clone(expected));
        }
        let expected: Arc<[ExpectedCodes]> = if relabelled {
            let tables = [false, true].map(|lower| Ok((Fp8Remap::new(&element)?, lower)));
            let tables = tables.into_iter().collect::<Result<Vec<_>>>()?;
            tables.into_iter().map(|table| ExpectedCodes::new(&element, options, Some(table))).collect()
        } else {
            [ExpectedCodes::new(&element, options, None)].into()
        };
        if let Some(expected) = expected.iter().find(|expected| expected.stored() != stored) {
            let what = format!("its codes are {stored}; those that hold {element} are {}", expected.stored());
            return Err(refuse(what));
        }
        self.expected = Some((formats, projection, Arc::clone(&expected)));
        Ok(expected)
    }
}

fn same_bytes(
    (view, tensor): InFile<'_>,
    (source, original): InFile<'_>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Option<Disagreement>> {
    let (mut buffer, mut other, mut first) = (chunk_buffer(tensor.info.len), Vec::new(), None);
    let mut at = 0;
    view.source().read_chunks(&tensor.info, &mut buffer, |_, bytes| {
        progress(Progress::Bytes(bytes.len() as u64));
        if first.is_none() {
            other.resize(bytes.len(), 0);
            source.source().read_bytes(&original.info, at, &mut other)?;
            first = bytes.iter().zip(&other).position(|(a, b)| a != b).map(|i| at + i as u64);
        }
        at += bytes.len() as u64;
        Ok(())
    })?;
    Ok(first.map(|byte| {
        let what = format!("is copied, and its byte {byte} is not that of the source");
        Disagreement { element: Some(byte), ..odd(tensor, "data", what) }
    }))
}

/// Wrong codes of some elements, as one judge sees them.
#[derive(Clone, Copy, Default, Debug)]
struct Mismatches {
    count: u64,
    first: Option<First>,
}

#[derive(Clone, Copy, Debug)]
struct First {
    element: u64,
    value: f64,
    code: u16,
    expected_code: ExpectedCode,
    scale: Scale,
}

impl Mismatches {
    fn then(self, later: Self) -> Self {
        Self { count: self.count + later.count, first: self.first.or(later.first) }
    }

    /// Of what several judges see the least.
    fn least(all: [Self; 2]) -> Self {
        if all[1].count < all[0].count { all[1] } else { all[0] }
    }
}

/// What the judges say of a piece.
struct Judged {
    elements: u64,
    /// For each of its groups, by row and column, what each judge finds wrong.
    groups: Vec<((u64, u64), [Mismatches; 2])>,
}

/// The work on one tensor.
struct Job<'a> {
    view: &'a View,
    tensor: &'a TensorView,
    original: Numbers<'a>,
    grid: Grid,
    /// In which order the file has the elements.
    order: Order,
    /// The scale, where none is stored.
    scale: Scale,
    expected: &'a [ExpectedCodes],
    position: ElementPosition,
}

impl Job<'_> {
    fn run(&self, progress: &mut dyn FnMut(u64)) -> Result<Mismatches> {
        let (mut all, mut open) = (Mismatches::default(), None::<((u64, u64), [Mismatches; 2])>);
        ordered(
            self.grid.piece_count(),
            || Vec::with_capacity(index(PIECE_ELEMENTS)),
            |numbers, i| self.piece(&self.grid.piece(i), numbers),
            |judged| {
                progress(judged.elements);
                for (group, wrong) in judged.groups {
                    // Judges are chosen for whole groups: pieces of one follow each other, where
                    // they are long.
                    match &mut open {
                        Some((same, sum)) if *same == group => {
                            *sum = [sum[0].then(wrong[0]), sum[1].then(wrong[1])];
                        }
                        _ => {
                            let done = open.replace((group, wrong));
                            all = all.then(
                                done.map_or_else(Mismatches::default, |(_, sum)| Mismatches::least(sum)),
                            );
                        }
                    }
                }
                Ok(())
            },
        )?;
        Ok(all.then(open.map_or_else(Mismatches::default, |(_, sum)| Mismatches::least(sum))))
    }

    fn piece(&self, piece: &Tile, numbers: &mut Vec<f64>) -> Result<Judged> {
        let (source, count) = (self.view.source(), index(piece.elements()));
        let first = piece.row * self.grid.columns + piece.column;
        numbers.resize(count, 0.0);
        self.original.fill(first, numbers, &mut Vec::new())?;
        let groups = self.grid.groups_of(piece);
        let (codes, scales) = if let Some(scaled) = self.tensor.scaled() {
            let Tile { row, rows, column, columns } = groups;
            (
                scaled.read_codes(source, first, count)?,
                scaled.read_scales(source, row, rows, column, columns)?,
            )
        } else {
            let size = index(u64::from(self.tensor.info.dtype.bits() / 8));
            let mut bytes = vec![0; count * size];
            source.read_range(&self.tensor.info, first, &mut bytes)?;
            (bytes.chunks_exact(size).map(code_at).collect(), vec![self.scale])
        };
        let mut wrong = vec![[Mismatches::default(); 2]; scales.len()];
        self.grid.each_group(piece, &groups, |group, range| {
            let (numbers, codes) = (&numbers[range.clone()], &codes[range.clone()]);
            let begin = first + range.start as u64;
            for (expected, wrong) in self.expected.iter().zip(&mut wrong[group]) {
                expected.each_wrong(
                    (numbers, codes),
                    &scales[group],
                    self.position.at(begin),
                    |i, expected_code| {
                        let (value, code, scale) = (numbers[i], codes[i], scales[group]);
                        let first = First { element: begin + i as u64, value, code, expected_code, scale };
                        *wrong = wrong.then(Mismatches { count: 1, first: Some(first) });
                    },
                );
            }
            if self.expected.len() == 1 {
                wrong[group][1] = wrong[group][0];
            }
        });
        let position =
            |i: usize| (groups.row + i as u64 / groups.columns, groups.column + i as u64 % groups.columns);
        let groups = wrong.into_iter().enumerate().map(|(i, wrong)| (position(i), wrong)).collect();
        Ok(Judged { elements: piece.elements(), groups })
    }

    /// The place of an element in the tensor, by its place in the file.
    fn row_major(&self, element: u64) -> u64 {
        let (Order::Transposed, [.., down, across]) = (self.order, &self.tensor.info.shape[..]) else {
            return element;
        };
        let (matrix, within) = (element / (down * across), element % (down * across));
        matrix * down * across + within % down * across + within / down
    }

    fn disagreement(&self, wrong: Mismatches) -> Disagreement {
        let Some(First { element, value, code, expected_code, scale }) = wrong.first else {
            return odd(self.tensor, "code", String::new());
        };
        let element = self.row_major(element);
        let said = |code: u64| {
            let value = scale.times(self.expected[0].value(code), false);
            format!("{code:#04x}, which is {value:e}")
        };
        let mut codes: Vec<u64> = expected_code.0.to_vec();
        codes.dedup();
        let right_codes: Vec<String> = codes.iter().map(|&code| said(code)).collect();
        let what = format!(
            "element {element} is {value:e} in the source and has the code {}; right would be {}",
            said(code.into()),
            right_codes.join(" or ")
        );
        Disagreement {
            kind: "code",
            count: wrong.count,
            element: Some(element),
            value: Some(value),
            code: Some(code.into()),
            expected: codes,
            ..odd(self.tensor, "code", what)
        }
    }
}
