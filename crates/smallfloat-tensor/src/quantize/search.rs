//! [`Searcher`]: the scale of a group by least squared error.
//!
//! Scales are no powers of two in general, so elements do not fall into classes that round alike:
//! each candidate is tried on every element. The candidates around the scale that just holds the
//! largest magnitude:
//!
//! * in formats of powers of two: that of `rceil`, one binade above it and four below;
//! * in all others: k/100 of amax / max for k = 10, 11, … 120, to nearest even. These are the 111
//!   clipping values that Kuzmin et al. try ("FP8 Quantization: The Power of the Exponent", arXiv
//!   2208.09225, section 4, and the code that goes with it), and each scale once.
//!
//! `four-over-six` tries amax / 6 and amax / 4.
//!
//! Errors are summed in f64 in the order of the elements, those of a large group piece by piece, so
//! that the choice is the same on every machine and for any number of threads.

use smallfloat::Rounding;
use smallfloat_kernels::{Decoder, Encoder};

use crate::error::{Result, refuse};
use crate::file::pipeline::ordered;
use crate::layout::grid::{Grid, PIECE_ELEMENTS, Tile, index};
use crate::options::Options;
use crate::progress::Progress;
use crate::quantize::loader::{Loader, Room};
use crate::scale::rule::{Divisor, Extent, Scale, ScaleRule, ScaleSpec, ScaledElement};
use crate::stored::view::f64_decoder;

/// Binades below and above the scale of `rceil`.
const BINADES: std::ops::RangeInclusive<i32> = -4..=1;
/// Hundredths of amax / max.
const HUNDREDTHS: std::ops::RangeInclusive<u32> = 10..=120;

/// What all searches of a job have in common.
pub(crate) struct Searcher {
    spec: ScaleSpec,
    element: ScaledElement,
    encoder: Encoder<f64>,
    decoder: Decoder<f64>,
}

impl Searcher {
    /// `None` if the options' rule needs no search. Errors are those of rounding to nearest even
    /// where the options round stochastically.
    pub(crate) fn new(options: &Options) -> Result<Option<Self>> {
        let Some(spec) =
            options.scale.filter(|spec| matches!(spec.rule, ScaleRule::LeastError | ScaleRule::FourOverSix))
        else {
            return Ok(None);
        };
        let element = options.layout()?;
        let mut projection = options.projection(&element);
        if projection.rounding.is_stochastic() {
            projection = projection.with_rounding(Rounding::NearestEven);
        }
        let encoder = Encoder::new(&element, &projection).map_err(refuse)?;
        Ok(Some(Self {
            spec,
            element: ScaledElement::new(&element),
            encoder,
            decoder: f64_decoder(&element, usize::MAX)?,
        }))
    }

    /// A search for elements of this extent; `global` is 1 where there is none.
    pub(crate) fn search(&self, extent: &Extent, global: f64) -> Search<'_> {
        let base = self.spec.choose(&self.element, extent, global);
        let mut scales = vec![base];
        if base.value.is_finite() && extent.amax > 0.0 {
            scales = if self.spec.rule == ScaleRule::FourOverSix {
                vec![base, self.spec.nearest(extent.over(4.0, global), global)]
            } else if self.spec.format.precision() == 1 {
                BINADES.map(|k| self.spec.nearest(base.unit * f64::from(k).exp2(), global)).collect()
            } else {
                let just = extent.over_max(&self.element, global);
                HUNDREDTHS.map(|k| self.spec.nearest(just * f64::from(k) / 100.0, global)).collect()
            };
        }
        scales.dedup_by_key(|scale| scale.code);
        Search { of: self, errors: vec![0.0; scales.len()], candidates: scales, scratch: Scratch::default() }
    }
}

/// The candidates for one group, ascending, and their errors so far.
pub(crate) struct Search<'a> {
    of: &'a Searcher,
    candidates: Vec<Scale>,
    errors: Vec<f64>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    quotients: Vec<f64>,
    codes: Vec<u16>,
}

impl Searcher {
    /// Σ weight · (x − q)² for each candidate.
    fn errors(
        &self,
        candidates: &[Scale],
        scratch: &mut Scratch,
        values: &[f64],
        weight: impl Fn(usize) -> u32,
    ) -> Vec<f64> {
        let Scratch { quotients, codes } = scratch;
        codes.resize(values.len(), 0);
        let error = |scale: &Scale| {
            let divisor = Divisor::of(scale);
            quotients.clear();
            quotients.extend(values.iter().map(|&x| divisor.apply(x)));
            self.encoder.encode(quotients, codes);
            let mut sum = 0.0;
            for (i, (&x, &code)) in values.iter().zip(&*codes).enumerate() {
                let error = x - scale.times(self.decoder.value(usize::from(code)), false);
                // NaN and infinities don't count.
                sum += if error.is_finite() { f64::from(weight(i)) * error * error } else { 0.0 };
            }
            sum
        };
        candidates.iter().map(error).collect()
    }
}

impl Search<'_> {
    /// Adds the errors of elements, each with its weight.
    pub(crate) fn add(&mut self, values: &[f64], weight: impl Fn(usize) -> u32) {
        if self.candidates.len() > 1 {
            let errors = self.of.errors(&self.candidates, &mut self.scratch, values, weight);
            add_all(&mut self.errors, &errors);
        }
    }

    /// Adds the elements of a tile as they are in the file, piece by piece on all threads.
    pub(crate) fn read(
        &mut self,
        tensor: &Loader<'_>,
        tile: Tile,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        if self.candidates.len() == 1 {
            return Ok(());
        }
        let pieces: Vec<Tile> = Grid::pieces(tile, PIECE_ELEMENTS).collect();
        let (of, candidates, all) = (self.of, &self.candidates, &mut self.errors);
        ordered(
            pieces.len() as u64,
            <(Room<f64>, Scratch)>::default,
            |(room, scratch), i| {
                let piece = &pieces[index(i)];
                let values = tensor.load(piece, room)?;
                let errors = of.errors(candidates, scratch, values, |i| tensor.weight(piece, i));
                Ok((tensor.share(piece.elements()), errors))
            },
            |(bytes, errors)| {
                add_all(all, &errors);
                progress(Progress::Bytes(bytes));
                Ok(())
            },
        )?;
        Ok(())
    }

    /// The candidate with the least error, of equals the smallest.
    pub(crate) fn best(&self) -> Scale {
        let mut best = 0;
        for (i, error) in self.errors.iter().enumerate() {
            if *error < self.errors[best] {
                best = i;
            }
        }
        self.candidates[best]
    }
}

fn add_all(sums: &mut [f64], more: &[f64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
