//! [`Quantizer`]: tensors in memory → codes with scales or biases, by the engines that quantize
//! files.

use std::borrow::Cow;
use std::sync::Arc;

use smallfloat::Format;
use smallfloat_kernels::{Element, Encoder, with_default_environment};

use crate::error::{Error, Result, refuse};
use crate::file::dtype::elements;
use crate::layout::grid::{Granularity, Grid, index};
use crate::layout::packing::Packing;
use crate::layout::scheme::NATIVE;
use crate::options::{Container, Options};
use crate::quantize::floats::SharedScales;
use crate::quantize::global::TensorScale;
use crate::quantize::loader::Loader;
use crate::quantize::output::Memory;
use crate::quantize::per_group::PerGroup;
use crate::quantize::per_tensor::{Decoders, PerTensor};
use crate::report::TensorReport;
use crate::stored::numbers::Numbers;
use crate::stored::quantized::{Quantized, Tables, wrong_length};

/// Quantizes tensors in memory, to the codes and scales that [`quantize`](crate::quantize()) writes
/// into files.
///
/// ```
/// use smallfloat_tensor::{Quantizer, Scheme};
///
/// let x: Vec<f32> = (0..64).map(|i| 0.1 * i as f32).collect();
/// let quantizer = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?;
/// let q = quantizer.quantize("w", &[2, 32], &x)?;
/// assert_eq!((q.codes().len(), q.scales()), (64, &[126, 127][..]));
/// let back: Vec<f32> = q.to_vec();
/// # assert_eq!(back.len(), 64);
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
///
/// Elements are codes of a format, or of a list of values ([`Options::codebook`]: NF4, INT8, …).
/// Numbers are slices of `f32`, `f64`, `f16` and `bf16`, and tensors that are [`Quantized`]: of
/// those each value is rounded once more, from code times scale. A tensor is seen as rows and
/// columns as in files ([`Granularity`]); one without dimensions, or with one, is a row. Blocks may
/// have any size.
///
/// Of the [`Options`] those about files are not asked: layout, packing (a code has a byte or two;
/// [`Quantized::packed`] packs them), which tensors, and what to do with outputs.
#[derive(Debug)]
pub struct Quantizer {
    options: Options,
    /// Where biases are data, at bias 0; of a list of values, what has as many bits.
    element: Format,
    decoders: Decoders,
    tables: Arc<Tables>,
    shared_scales: SharedScales,
    reports: bool,
}

impl Quantizer {
    /// Returns a quantizer with these options.
    ///
    /// # Errors
    /// Options that contradict each other, and containers other than the native one, which are
    /// files.
    pub fn new(options: Options) -> Result<Self> {
        let options = Options { packing: Packing::Bytes, layout: NATIVE, ..options };
        if options.container != Container::Native {
            let what =
                format!("the container {} is a file's: tensors in memory have none", options.container);
            return Err(Error::option(what));
        }
        options.check()?;
        let element = options.layout()?;
        let by_bias = options.scale.is_none() && options.format.has_free_bias();
        let element = if by_bias { element.with_bias(0).map_err(refuse)? } else { element };
        if options.codebook.is_none() {
            // Refuses what no encoder can do.
            Encoder::<f64>::for_length(&element, &options.projection(&element), 0).map_err(refuse)?;
        }
        Ok(Self {
            options,
            element,
            decoders: Decoders::default(),
            tables: Arc::default(),
            shared_scales: SharedScales::default(),
            reports: false,
        })
    }

    /// Returns this quantizer with reports: errors and counts of events, which take about as long
    /// as the codes.
    #[must_use]
    pub fn with_report(self) -> Self {
        Self { reports: true, ..self }
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns how many bytes codes and scales take.
    ///
    /// # Errors
    /// A shape of more elements than can be counted.
    pub fn lengths(&self, shape: &[u64]) -> Result<(usize, usize)> {
        let grid = self.grid(shape)?;
        let codes = grid.rows * grid.columns * (1 + u64::from(self.element.width() > 8));
        let scale = match &self.options.scale {
            Some(spec) => spec.code_size() as u64,
            None => u64::from(self.element.has_free_bias()),
        };
        let length = |bytes: u64| usize::try_from(bytes).map_err(refuse);
        Ok((length(codes)?, length(grid.group_rows * grid.group_columns * scale)?))
    }

    fn grid(&self, shape: &[u64]) -> Result<Grid> {
        // Two bytes per code, four per scale, of which there may be some without elements.
        let sizes: Vec<u64> = shape.iter().copied().filter(|&n| n > 0).collect();
        if elements(&sizes).and_then(|elements| elements.checked_mul(4)).is_none() {
            return Err(refuse(format!("the shape {shape:?} has more elements than can be counted")));
        }
        let grid = Grid::new(shape, self.options.granularity);
        grid.check_scales().map_err(|what| refuse(format!("the shape {shape:?} {what}")))?;
        Ok(grid)
    }

    /// Quantizes a tensor. Its name is for errors, for the stream of random words, and for the
    /// choice of its activations.
    ///
    /// # Errors
    /// Numbers of another count than the shape's, and values that the options refuse.
    pub fn quantize<'n>(
        &self,
        name: &str,
        shape: &[u64],
        numbers: impl Into<Numbers<'n>>,
    ) -> Result<Quantized<'static>> {
        let (codes, scales) = self.lengths(shape)?;
        let numbers = numbers.into();
        check_length(shape, &numbers)?;
        let (mut codes, mut scales) = (vec![0; codes], vec![0; scales]);
        let memory = Memory { codes: &mut codes, scales: &mut scales };
        let (global, report) =
            with_default_environment(|| self.run(name, shape, Packing::Bytes, numbers, memory))?;
        self.assemble(shape, codes.into(), scales.into(), global, report)
    }

    /// Quantizes a tensor into memory of the [right lengths](Self::lengths), which the result
    /// borrows.
    ///
    /// # Errors
    /// As [`quantize`](Self::quantize), and memory of other lengths.
    pub fn quantize_into<'n, 'a>(
        &self,
        name: &str,
        shape: &[u64],
        numbers: impl Into<Numbers<'n>>,
        codes: &'a mut [u8],
        scales: &'a mut [u8],
    ) -> Result<Quantized<'a>> {
        let numbers = numbers.into();
        self.check_lengths(shape, Packing::Bytes, codes, scales)?;
        check_length(shape, &numbers)?;
        let memory = Memory { codes: &mut *codes, scales: &mut *scales };
        let (global, report) =
            with_default_environment(|| self.run(name, shape, Packing::Bytes, numbers, memory))?;
        self.assemble(shape, Cow::Borrowed(codes), Cow::Borrowed(scales), global, report)
    }

    /// Returns how many bytes codes take as a file packs them: row by row, the last byte of a row
    /// filled up with zeros.
    ///
    /// # Errors
    /// A packing that is not for the format, and a shape of more elements than can be counted.
    pub fn packed_length(&self, shape: &[u64], packing: Packing) -> Result<usize> {
        packing.check(&self.element)?;
        let grid = self.grid(shape)?;
        Ok(index(packing.row_bytes(&self.element, grid.columns) * grid.rows))
    }

    /// Quantizes a tensor into memory for its [packed](Self::packed_length) codes and for its
    /// [scales](Self::lengths), and returns the F32 number that divides all scales, 1 where there
    /// is none, and the [report](Self::with_report).
    ///
    /// ```
    /// use smallfloat_tensor::{Packing, Quantizer, Scheme};
    ///
    /// let quantizer = Quantizer::new("mxfp4".parse::<Scheme>()?.options())?;
    /// let (mut bytes, mut scales) = ([0; 2], [0]);
    /// let x = [6.0_f32, 1.0, -0.5, 0.0];
    /// quantizer.quantize_packed("w", &[4], &x, Packing::NibblesLow, &mut bytes, &mut scales)?;
    /// assert_eq!((bytes, scales), ([0x27, 0x09], [127]));
    /// # Ok::<(), smallfloat_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`quantize`](Self::quantize), memory of other lengths, and a packing that is not for the
    /// format.
    pub fn quantize_packed<'n>(
        &self,
        name: &str,
        shape: &[u64],
        numbers: impl Into<Numbers<'n>>,
        packing: Packing,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<(f32, Option<TensorReport>)> {
        let numbers = numbers.into();
        self.check_lengths(shape, packing, codes, scales)?;
        check_length(shape, &numbers)?;
        let memory = Memory { codes, scales };
        let (global, report) = with_default_environment(|| self.run(name, shape, packing, numbers, memory))?;
        #[expect(clippy::cast_possible_truncation, reason = "a number of F32")]
        Ok((global as f32, report))
    }

    /// Returns the tensor of these codes and scales, such as [`Quantized::codes`] and
    /// [`Quantized::scales`] gave.
    ///
    /// # Errors
    /// Other lengths than the [right ones](Self::lengths), biases above 63, and a global scale that
    /// is no positive number.
    pub fn restore<'a>(
        &self,
        shape: &[u64],
        codes: impl Into<Cow<'a, [u8]>>,
        scales: impl Into<Cow<'a, [u8]>>,
        global_scale: f32,
    ) -> Result<Quantized<'a>> {
        let (codes, scales) = (codes.into(), scales.into());
        self.check_lengths(shape, Packing::Bytes, &codes, &scales)?;
        self.check_scales(&scales, global_scale)?;
        self.assemble(shape, codes, scales, f64::from(global_scale), None)
    }

    /// Fills `values` with those of packed codes and scales, such as
    /// [`quantize_packed`](Self::quantize_packed) gave: code times scale, rounded once, to nearest
    /// even, where `T` does not have it.
    ///
    /// # Errors
    /// As [`restore`](Self::restore), a packing that is not for the format, and a slice of another
    /// length than the tensor's.
    pub fn decode_packed<T: Element>(
        &self,
        shape: &[u64],
        packing: Packing,
        codes: &[u8],
        scales: &[u8],
        global_scale: f32,
        values: &mut [T],
    ) -> Result<()> {
        self.check_lengths(shape, packing, codes, scales)?;
        self.check_scales(scales, global_scale)?;
        let (unit, _) = packing.unit(&self.element);
        if !self.grid(shape)?.columns.is_multiple_of(unit) {
            let codes = self.unpacked(shape, packing, codes)?;
            return self.restore(shape, codes, scales, global_scale)?.decode_into(values);
        }
        let tensor = self.assemble(shape, codes.into(), scales.into(), global_scale.into(), None)?;
        Quantized { packing, ..tensor }.decode_into(values)
    }

    fn check_scales(&self, scales: &[u8], global_scale: f32) -> Result<()> {
        if !(global_scale > 0.0 && global_scale.is_finite()) {
            return Err(refuse(format!("the global scale {global_scale} is no positive number")));
        }
        let by_bias = self.options.scale.is_none() && self.element.has_free_bias();
        if let Some(bias) = scales.iter().find(|&&bias| by_bias && bias > 63) {
            return Err(refuse(format!("there is a bias {bias}, legal are 0 to 63")));
        }
        Ok(())
    }

    /// Returns the codes that [`Quantized::packed`] packed so.
    ///
    /// # Errors
    /// A packing that is not for the format, and bytes of another length.
    pub fn unpacked(&self, shape: &[u64], packing: Packing, bytes: &[u8]) -> Result<Vec<u8>> {
        let expected = self.packed_length(shape, packing)?;
        let (grid, length) = (self.grid(shape)?, self.lengths(shape)?.0);
        let row = packing.row_bytes(&self.element, grid.columns);
        if bytes.len() != expected {
            return Err(wrong_length("bytes of packed codes", shape, expected, bytes.len()));
        }
        let mut codes = vec![0; length];
        if packing == Packing::Bytes {
            codes.copy_from_slice(bytes);
        } else if length > 0 {
            let rows = codes.chunks_mut(index(grid.columns)).zip(bytes.chunks(index(row)));
            rows.for_each(|(codes, bytes)| packing.unpack_row(bytes, codes));
        }
        Ok(codes)
    }

    fn check_lengths(&self, shape: &[u64], packing: Packing, codes: &[u8], scales: &[u8]) -> Result<()> {
        let (of_codes, of_scales) = (self.packed_length(shape, packing)?, self.lengths(shape)?.1);
        if codes.len() != of_codes {
            let what = if packing == Packing::Bytes { "bytes of codes" } else { "bytes of packed codes" };
            return Err(wrong_length(what, shape, of_codes, codes.len()));
        }
        if scales.len() != of_scales {
            return Err(wrong_length("bytes of scales", shape, of_scales, scales.len()));
        }
        Ok(())
    }

    fn assemble<'a>(
        &self,
        shape: &[u64],
        codes: Cow<'a, [u8]>,
        scales: Cow<'a, [u8]>,
        global: f64,
        report: Option<TensorReport>,
    ) -> Result<Quantized<'a>> {
        Ok(Quantized {
            element: self.element,
            codebook: self.options.codebook,
            scale: self.options.scale,
            granularity: self.options.granularity,
            shape: shape.to_vec(),
            grid: self.grid(shape)?,
            codes,
            packing: Packing::Bytes,
            scales,
            global,
            report,
            tables: Arc::clone(&self.tables),
        })
    }

    /// Fills memory with codes and scales; what divides all scales, and the report.
    fn run(
        &self,
        name: &str,
        shape: &[u64],
        packing: Packing,
        numbers: Numbers<'_>,
        mut memory: Memory<'_>,
    ) -> Result<(f64, Option<TensorReport>)> {
        let packed;
        let options = if packing == Packing::Bytes {
            &self.options
        } else {
            packed = Options { packing, ..self.options.clone() };
            &packed
        };
        let mut report = TensorReport::copied(name, shape);
        report.format = Some(options.element_name()?);
        let progress = &mut |_: crate::Progress<'_>| ();
        let is_plain = options.scale.is_none() && options.granularity == Granularity::Tensor;
        let is_wide = numbers.dtype().is_some();
        let loader = Loader::new(name, shape, numbers, options)?;
        let mut global = 1.0;
        if is_plain && is_wide && packing == Packing::Bytes {
            let job = PerTensor { loader: &loader, options, decoders: &self.decoders, reports: self.reports };
            job.run(&mut memory, &mut report, progress)?;
        } else {
            let (whole, largest) = TensorScale::decide_by_groups(options, &loader, progress)?;
            global = whole.global;
            let job = PerGroup::new(loader, options, whole, self.reports, &self.shared_scales)?
                .with_largest(largest);
            job.run(&mut memory, &mut report, progress)?;
        }
        Ok((global, self.reports.then_some(report)))
    }
}

/// Refuses numbers of another count than the shape's, which can be counted.
fn check_length(shape: &[u64], numbers: &Numbers<'_>) -> Result<()> {
    let expected = index(shape.iter().product());
    if numbers.len() == expected {
        Ok(())
    } else {
        Err(wrong_length("elements", shape, expected, numbers.len()))
    }
}
