//! A tensor over the ranges of formats: its histogram by binade, and what each format would do to
//! it.

use serde::{Deserialize, Serialize};
use smallfloat::formats::BINARY64;
use smallfloat::{Class, Format, FormatSpec, Saturation};
use smallfloat_kernels::{ClassSums, Decoder, Encoder, ErrorSums, EventCounts};
use smallfloat_tensor::{BiasPolicy, Magnitudes, Source, Stored, TensorView, View};

use crate::explorer::compare::some_formats;
use crate::explorer::error::ExplorerError;
use crate::explorer::from_json;

/// A question about a file.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileQuestion {
    /// The file's name.
    pub file: String,
    /// The tensor; none for the largest.
    #[serde(default)]
    pub tensor: Option<String>,
    /// The formats.
    pub formats: Vec<String>,
}

/// A tensor and formats.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Overlap {
    /// The file's name as it was given.
    pub file: String,
    /// All tensors of the file.
    pub tensors: Vec<Listed>,
    /// The one that is shown.
    pub name: String,
    /// Its elements.
    pub elements: u64,
    /// How many of them are zero.
    pub zeros: u64,
    /// How many are NaN.
    pub nans: u64,
    /// How many are infinite.
    pub infinities: u64,
    /// max |x| of the finite ones.
    pub amax: f64,
    /// For each binade, ascending: e, and how many elements have 2^e ≤ |x| < 2^(e+1).
    pub binades: Vec<(i32, u64)>,
    /// What each format would do to it.
    pub formats: Vec<QuantizationPreview>,
}

/// A tensor of the file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its element type in the file.
    pub dtype: &'static str,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Whether it can be read as numbers.
    pub numbers: bool,
}

/// A preview of quantizing a tensor to a format under its default preset, with finite overflow
/// saturated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct QuantizationPreview {
    /// The format's name.
    pub format: String,
    /// Elements beyond the range, infinities included.
    pub saturated: u64,
    /// Numbers that would become NaN: negative ones in a format without sign, zeros in a format
    /// without zero.
    pub lost: u64,
    /// Elements that would become subnormal values.
    pub subnormal: u64,
    /// Elements other than zero that would become zero.
    pub underflowed: u64,
    /// 10·log10(Σx² / Σ(x − q)²) over the finite elements; none if all are exact.
    pub sqnr_db: Option<f64>,
    /// For formats whose bias is data: the bias with the least squared error, and the format with
    /// it.
    pub best: Option<(i32, String)>,
}

impl FileQuestion {
    /// A question has no more bytes.
    pub const MOST_BYTES: usize = 64 << 10;

    /// Splits a message into the question, a line of JSON, and the file that follows it.
    ///
    /// # Errors
    /// A message without such a line.
    pub fn split(mut message: Vec<u8>) -> Result<(Self, Vec<u8>), ExplorerError> {
        let Some(end) = message.iter().take(Self::MOST_BYTES).position(|&byte| byte == b'\n') else {
            let text = "the body must be a line of JSON and then the file";
            return Err(ExplorerError::Question { text: text.into() });
        };
        let question = from_json(&message[..end])?;
        message.drain(..=end);
        Ok((question, message))
    }

    /// Answers it: see [`overlap`].
    ///
    /// # Errors
    /// As there.
    pub fn answer(&self, file: Vec<u8>) -> Result<Overlap, ExplorerError> {
        overlap(&self.file, file, self.tensor.as_deref(), &self.formats)
    }
}

/// Elements that are worked on at once.
const PIECE: usize = 4 * ErrorSums::BLOCK;

/// Reads a `.safetensors` or `.npy` file from memory, and tells of one of its tensors what formats
/// would do to it: of the one named, or of the largest one.
///
/// # Errors
/// Files that are refused, tensors that are not there or hold no numbers, and format names that are
/// not understood.
pub fn overlap(
    file: &str,
    bytes: Vec<u8>,
    tensor: Option<&str>,
    formats: &[String],
) -> Result<Overlap, ExplorerError> {
    let formats = some_formats(formats)?;
    if let Some(format) = formats.iter().find(|format| format.is_wide()) {
        return Err(ExplorerError::TooWide { format: *format });
    }
    let view = View::from_source(Source::from_bytes(file, bytes)?)?;
    let numbers = |tensor: &TensorView| !matches!(tensor.stored, Stored::Other);
    let listed = view.tensors().iter().map(|tensor| Listed {
        name: tensor.info.name.clone(),
        dtype: tensor.info.dtype.name(),
        shape: tensor.info.shape.clone(),
        numbers: numbers(tensor),
    });
    let chosen = match tensor.filter(|name| !name.is_empty()) {
        Some(name) => view.tensors().iter().find(|tensor| tensor.info.name == name).ok_or_else(|| {
            ExplorerError::Unknown {
                what: "tensor",
                given: name.chars().take(200).collect(),
                known: format!("{} in this file", view.tensors().len()),
            }
        })?,
        // Of equals the first.
        None => view
            .tensors()
            .iter()
            .rev()
            .filter(|tensor| numbers(tensor))
            .max_by_key(|tensor| tensor.info.elements())
            .ok_or_else(|| ExplorerError::NoTensor { file: file.into() })?,
    };
    let tensors = listed.collect();
    let mut looks = formats.iter().map(Look::new).collect::<Result<Vec<_>, _>>()?;
    let mut all = ClassSums::<f64>::new(1);
    let mut amax = 0.0_f64;
    let (mut first, elements) = (0, chosen.info.elements());
    let mut values = Vec::new();
    while first < elements {
        let count = usize::try_from(elements - first).map_or(PIECE, |left| left.min(PIECE));
        values.resize(count, 0.0);
        view.read(chosen, first, &mut values)?;
        all.add(&values);
        amax = values.iter().map(|x| x.abs()).filter(|x| x.is_finite()).fold(amax, f64::max);
        for look in &mut looks {
            look.add(&values);
        }
        first += count as u64;
    }
    Ok(Overlap {
        file: file.into(),
        tensors,
        name: chosen.info.name.clone(),
        elements,
        zeros: all.zeros(),
        nans: all.nans(),
        infinities: all.infinities(),
        amax,
        binades: all.exponents(),
        formats: looks.into_iter().map(Look::finish).collect::<Result<_, _>>()?,
    })
}

/// What one format does, as elements go by.
struct Look {
    format: Format,
    encoder: Encoder<f64>,
    decoder: Decoder<f64>,
    is_subnormal: Vec<bool>,
    /// For the choice of a bias, where the format has one.
    cells: Option<ClassSums<f64>>,
    codes: Vec<u16>,
    decoded: Vec<f64>,
    events: EventCounts,
    sums: ErrorSums,
    lost: u64,
    subnormal: u64,
}

impl Look {
    fn new(format: &Format) -> Result<Self, ExplorerError> {
        let projection = format.default_projection().with_saturation(Saturation::SatFinite);
        Ok(Self {
            format: *format,
            encoder: Encoder::new(format, &projection)?,
            decoder: Decoder::new(format, Some(&BINARY64.default_projection()))?,
            is_subnormal: (0..=format.max_code())
                .map(|code| format.classify(code) == Class::Subnormal)
                .collect(),
            cells: format.has_free_bias().then(|| ClassSums::new(format.precision())),
            codes: Vec::new(),
            decoded: Vec::new(),
            events: EventCounts::default(),
            sums: ErrorSums::default(),
            lost: 0,
            subnormal: 0,
        })
    }

    fn add(&mut self, values: &[f64]) {
        self.codes.resize(values.len(), 0);
        self.decoded.resize(values.len(), 0.0);
        self.events = self.events.merge(self.encoder.encode(values, &mut self.codes));
        self.decoder.decode(&self.codes, &mut self.decoded);
        self.sums = self.sums.then(ErrorSums::of(values, &self.decoded));
        let lost = values.iter().zip(&self.decoded).filter(|(x, q)| x.is_finite() && !q.is_finite());
        self.lost += lost.count() as u64;
        let is_subnormal = |code: &&u16| self.is_subnormal[usize::from(**code)];
        self.subnormal += self.codes.iter().filter(is_subnormal).count() as u64;
        if let Some(cells) = &mut self.cells {
            cells.add(values);
        }
    }

    fn finish(self) -> Result<QuantizationPreview, ExplorerError> {
        let best = match &self.cells {
            None => None,
            Some(cells) => {
                let spec = FormatSpec::from(self.format);
                let best = BiasPolicy::LeastError.choose(&spec, Some(&Magnitudes::from(cells)))?;
                Some((best.bias(), best.to_string()))
            }
        };
        Ok(QuantizationPreview {
            format: self.format.to_string(),
            saturated: self.events.overflowed,
            lost: self.lost,
            subnormal: self.subnormal,
            underflowed: self.events.underflowed,
            sqnr_db: self.sums.sqnr_db(),
            best,
        })
    }
}
