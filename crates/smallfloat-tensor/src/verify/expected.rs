//! [`ExpectedCodes`]: is a code the right one for a number, by the core and without the kernels
//! that wrote it?

use smallfloat::random::Philox;
use smallfloat::{Codebook, Format, Projection, RandomBits, Rounding};

use crate::layout::fp8_remap::Fp8Remap;
use crate::options::Options;
use crate::progress::stream_of_name;
use crate::scale::rule::{Divisor, Scale, multiply_to_odd};
use crate::verify::intervals::Intervals;

/// What the elements of a tensor should have become at given scales.
#[derive(Debug)]
pub(crate) struct ExpectedCodes {
    element: Format,
    /// The values of codes, where these are a list.
    codebook: Option<Codebook>,
    projection: Projection,
    infinities: Option<[u32; 2]>,
    /// The tables of a container that stores other codes of the same values, and which of the two
    /// scales is meant.
    relabel: Option<(Fp8Remap, bool)>,
    intervals: Intervals,
    zeros: [u64; 2],
}

/// Where random words come from: the seed, if it is known, and the place of the element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementPosition {
    generator: Option<Philox>,
    element: u64,
}

impl ElementPosition {
    /// The first element of a tensor.
    pub(crate) fn first(seed: Option<u64>, tensor: &str) -> Self {
        let stream = stream_of_name(tensor);
        Self { generator: seed.map(|seed| Philox { seed, stream }), element: 0 }
    }

    pub(crate) fn at(self, element: u64) -> Self {
        Self { element, ..self }
    }
}

/// The codes that are right: one, or for random words that are not known two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExpectedCode(pub(crate) [u64; 2]);

impl ExpectedCodes {
    pub(crate) fn new(element: &Format, options: &Options, relabel: Option<(Fp8Remap, bool)>) -> Self {
        let mut expected = Self {
            element: *element,
            codebook: options.codebook,
            projection: options.projection(element),
            infinities: options.infinities(element),
            relabel,
            intervals: Intervals::none(),
            zeros: [u64::MAX; 2],
        };
        if options.codebook.is_some() {
            return expected;
        }
        if !expected.projection.rounding.is_stochastic() {
            let codes = 1 << element.width();
            expected.intervals =
                Intervals::new(element, codes, |x| expected.label(expected.code(x, &expected.projection)));
        }
        expected.zeros = [0.0, -0.0].map(|zero| expected.label(expected.code(zero, &expected.projection)));
        expected
    }

    /// What a code stands for at the scale 1.
    pub(crate) fn value(&self, code: u64) -> f64 {
        match (self.codebook, u32::try_from(code)) {
            (Some(codebook), Ok(code)) => codebook.value(code).into(),
            _ => self.stored().decode_f64(code).value,
        }
    }

    /// The format that codes are in.
    pub(crate) fn stored(&self) -> &Format {
        self.relabel.as_ref().map_or(&self.element, |(relabel, _)| &relabel.to)
    }

    /// What stored scales are multiplied by to be those of the elements that were rounded.
    fn factor(&self) -> f64 {
        self.relabel.as_ref().map_or(1.0, |(relabel, lower)| relabel.table(*lower).to_bias_zero())
    }

    fn code(&self, quotient: f64, projection: &Projection) -> u64 {
        self.element.encode_f64(quotient, projection).value
    }

    fn label(&self, code: u64) -> u64 {
        let Some((relabel, lower)) = &self.relabel else { return code };
        u16::try_from(code).map_or(code, |code| u64::from(relabel.table(*lower).code(code).0))
    }

    /// The right codes of a number at a stored scale.
    pub(crate) fn expected_code(&self, x: f64, scale: &Scale, position: ElementPosition) -> ExpectedCode {
        let silent = scale.value.is_nan() && !self.element.has_nan();
        let scale = Scale::new(scale.code, scale.unit * self.factor(), scale.over);
        let divisor = if silent { Divisor::Silent } else { Divisor::of(&scale) };
        if let (Some(infinities), true) = (self.infinities, x.is_infinite()) {
            return ExpectedCode([self.label(infinities[usize::from(x < 0.0)].into()); 2]);
        }
        let quotient = divisor.apply(x);
        if let Some(codebook) = self.codebook {
            // Nothing is right for NaN.
            return ExpectedCode([codebook.encode_f64(quotient).map_or(u64::MAX, u64::from); 2]);
        }
        let code = |rounding| self.label(self.code(quotient, &self.projection.with_rounding(rounding)));
        match (self.projection.rounding.random_bits(), position.generator) {
            (None, _) => ExpectedCode([code(self.projection.rounding); 2]),
            (Some(bits), Some(generator)) => {
                let word = generator.word(position.element);
                let bits = RandomBits::from_word32(bits.count(), word).expect("as many bits as before");
                ExpectedCode([code(self.projection.rounding.with_random_bits(bits)); 2])
            }
            (Some(_), None) => ExpectedCode([Rounding::TowardNegative, Rounding::TowardPositive].map(code)),
        }
    }

    /// Calls `wrong` with the place and the right codes of each number whose code is another.
    pub(crate) fn each_wrong(
        &self,
        (numbers, codes): (&[f64], &[u16]),
        scale: &Scale,
        first: ElementPosition,
        mut wrong: impl FnMut(usize, ExpectedCode),
    ) {
        let (exact, factor) = (scale.is_exact(), self.factor());
        let unit = factor * if exact { scale.value } else { scale.unit };
        let suits = self.intervals.suit(unit);
        for (i, (&x, &code)) in numbers.iter().zip(codes).enumerate() {
            let y = if exact { x } else { multiply_to_odd(x, scale.over) };
            if suits && self.intervals.hold(code, y, unit) {
                continue;
            }
            // Ends of intervals, zeros, what is not finite, scales that are no numbers, random
            // words.
            let code = u64::from(code);
            if suits && x == 0.0 && code == self.zeros[usize::from(x.is_sign_negative())] {
                continue;
            }
            let expected_code = self.expected_code(x, scale, first.at(first.element + i as u64));
            if !expected_code.0.contains(&code) {
                wrong(i, expected_code);
            }
        }
    }
}
