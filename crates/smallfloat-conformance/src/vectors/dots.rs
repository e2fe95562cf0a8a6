//! Dot products as accumulators compute them, for [`FixedUnit`](crate::vectors::FixedUnit).

use std::fmt;

use smallfloat::formats::{BINARY16, BINARY32, E2M1FN, E4M3FN};
use smallfloat::ops::Sum;
use smallfloat::{Datum, Exact, FlagPolicy, Format, Rounded, project};
use smallfloat_kernels::{Accumulate, Dot, Fused, FusedDot, Output, ScaledDot};

use crate::error::Error;
use crate::vectors::outcome::CallOutcome;
use crate::vectors::unit::Field;

/// Products of one sum, at most: they stand on one line.
const MOST: usize = 1024;

/// The name of the accumulator that a matrix unit begins with.
pub(super) const ACCUMULATOR: &str = "c";

/// The names of the scales of x and of y.
pub(super) const SCALES: [&str; 2] = ["s", "t"];

/// Scales of blocks, as MX formats and NVFP4 have them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockScales {
    /// The format of a scale: E8M0, or E4M3 whose sign is ignored.
    pub format: Format,
    /// How many elements share a scale.
    pub block: usize,
}

impl BlockScales {
    /// Returns scales of this format for blocks of the usual length: 16 with E4M3, as in NVFP4, and
    /// else 32, as in the MX formats.
    pub fn new(format: &Format) -> Self {
        Self { format: *format, block: if *format == E4M3FN { 16 } else { 32 } }
    }
}

/// A sum of so many products in an accumulator: Σ x·y, of a matrix unit c + Σ x·y, with block
/// scales c + Σ x·y·s·t.
#[derive(Clone, Debug)]
pub(crate) struct DotProduct {
    length: usize,
    formats: [Format; 2],
    accumulate: Accumulate,
    scales: Option<BlockScales>,
    adder: Adder,
}

/// The parameters by which a unit adds scaled products, in binary32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScaledSums {
    /// Products that are added to the accumulator at a time.
    pub(crate) k: usize,
    /// Products whose sum is exact before it is aligned by its scales' exponents; of 1 the product
    /// is aligned by its operands' exponents too.
    pub(crate) exact: usize,
    /// Fraction bits of what is aligned.
    pub(crate) fraction_bits: u32,
}

/// As parameters of a matrix unit.
impl fmt::Display for ScaledSums {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fused::aligned(self.k, self.fraction_bits, Output::Binary32).fmt(f)?;
        match self.exact {
            1 => Ok(()),
            exact => write!(f, "; sums of {exact} products are exact"),
        }
    }
}

#[derive(Clone, Debug)]
enum Adder {
    /// Which begins with an accumulator.
    MatrixUnit(FusedDot),
    /// Which does so, and takes block scales.
    Scaled(ScaledDot),
    /// Which begins at zero.
    Plain(Box<Dot>),
}

impl DotProduct {
    /// # Errors
    /// A length out of range; formats that the accumulator does not add.
    pub(crate) fn new(length: usize, formats: [Format; 2], accumulate: Accumulate) -> Result<Self, Error> {
        if !(1..=MOST).contains(&length) {
            return Err(Error::DotLength { length, most: MOST });
        }
        let [x, y] = &formats;
        let adder = match accumulate {
            Accumulate::Unit(unit) => Adder::MatrixUnit(unit.dot(x, y)?),
            Accumulate::Fused(fused) => Adder::MatrixUnit(FusedDot::new(x, y, fused)?),
            _ => match formats.iter().find(|format| format.width() > 8) {
                Some(format) => {
                    return Err(Error::DotWidth { accumulate: accumulate.to_string(), format: *format });
                }
                None => Adder::Plain(Box::new(Dot::new(x, y, accumulate)?)),
            },
        };
        Ok(Self { length, formats, accumulate, scales: None, adder })
    }

    /// # Errors
    /// A length out of range; formats, blocks or an accumulator that no unit with scales has.
    pub(crate) fn scaled(
        length: usize,
        formats: [Format; 2],
        accumulate: Accumulate,
        scales: BlockScales,
    ) -> Result<Self, Error> {
        if !(1..=MOST).contains(&length) {
            return Err(Error::DotLength { length, most: MOST });
        }
        let ([x, y], BlockScales { format, block }) = (&formats, scales);
        let adder = match accumulate {
            Accumulate::Unit(unit) => {
                unit.scaled_dot(x, y, &format, block).map_err(|error| error.to_string())
            }
            _ => Err("block scales go with the matrix units blackwell and rtx-blackwell".to_owned()),
        };
        let adder = adder.map_err(|problem| {
            let text = format!("Dot<{length}, {x}, {y}, {accumulate}, {format}, {block}>");
            Error::DotScales { text, problem }
        })?;
        Ok(Self { length, formats, accumulate, scales: Some(scales), adder: Adder::Scaled(adder) })
    }

    /// How many products there are.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The formats of x and of y.
    pub(crate) fn formats(&self) -> &[Format; 2] {
        &self.formats
    }

    /// How it adds.
    pub(crate) fn accumulate(&self) -> Accumulate {
        self.accumulate
    }

    /// The format of the result, and of a matrix unit's accumulator: the register that holds it.
    pub(crate) fn register(&self) -> Format {
        match (&self.adder, &self.accumulate) {
            (Adder::MatrixUnit(unit), _) if unit.fused().output == Output::Binary16 => BINARY16,
            (_, Accumulate::Rounded(format, _)) => *format,
            _ => BINARY32,
        }
    }

    /// The matrix unit, if it is one.
    pub(crate) fn matrix_unit(&self) -> Option<&FusedDot> {
        match &self.adder {
            Adder::MatrixUnit(unit) => Some(unit),
            Adder::Scaled(_) | Adder::Plain(_) => None,
        }
    }

    /// The block scales, if the unit takes some.
    pub(crate) fn scales(&self) -> Option<BlockScales> {
        self.scales
    }

    /// The parameters of a unit that takes block scales.
    pub(crate) fn scaled_sums(&self) -> Option<ScaledSums> {
        self.scales?;
        Some(if self.formats == [E2M1FN; 2] {
            ScaledSums { k: 64, exact: 16, fraction_bits: 35 }
        } else {
            ScaledSums { k: 32, exact: 1, fraction_bits: 25 }
        })
    }

    /// Products that are added at a time, of a matrix unit.
    pub(crate) fn group(&self) -> Option<usize> {
        let of_unit = self.matrix_unit().map(|unit| unit.fused().k);
        of_unit.or_else(|| self.scaled_sums().map(|sums| sums.k))
    }

    /// How many scales each side has.
    pub(crate) fn blocks(&self) -> usize {
        self.scales.map_or(0, |scales| self.length.div_ceil(scales.block))
    }

    /// Whether the sum begins with an accumulator, which is the last operand.
    pub(crate) fn has_accumulator(&self) -> bool {
        !matches!(self.adder, Adder::Plain(_))
    }

    /// How the matrix unit adds, and what scales it takes, for a header.
    pub(super) fn described(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        rows.extend(self.matrix_unit().map(|unit| ("accumulator", unit.fused().to_string())));
        rows.extend(self.scaled_sums().map(|sums| ("accumulator", sums.to_string())));
        rows.extend(self.scales.map(|BlockScales { format, block }| {
            let sign = if format.is_signed() { ", whose sign is ignored" } else { "" };
            ("scales", format!("s of x and t of y, each for {block} elements{sign}"))
        }));
        rows
    }

    /// Whether the sum raises flags.
    pub(crate) fn policy(&self) -> Option<FlagPolicy> {
        let has_flags = matches!(self.accumulate, Accumulate::Exact | Accumulate::Rounded(..));
        has_flags.then_some(FlagPolicy::IEEE_BEFORE)
    }

    pub(super) fn operands(&self) -> Vec<Field> {
        let elements = |name: &'static str, format: Format| {
            (0..self.length).map(move |i| Field::code(format!("{name}{i}"), &format))
        };
        let [x, y] = self.formats;
        let of_side = |(side, BlockScales { format, .. }): (&'static str, BlockScales)| {
            (0..self.blocks()).map(move |i| Field::code(format!("{side}{i}"), &format))
        };
        let scales =
            self.scales.into_iter().flat_map(|scales| SCALES.map(|side| (side, scales))).flat_map(of_side);
        let c = self.has_accumulator().then(|| Field::code(ACCUMULATOR.into(), &self.register()));
        elements("x", x).chain(elements("y", y)).chain(scales).chain(c).collect()
    }

    /// The operands by what they are: all x, all y, the scales of x, those of y, and c.
    pub(crate) fn parts<'a>(&self, operands: &'a [u64]) -> [&'a [u64]; 5] {
        let (x, rest) = operands.split_at(self.length);
        let (y, rest) = rest.split_at(self.length);
        let (s, rest) = rest.split_at(self.blocks());
        let (t, c) = rest.split_at(self.blocks());
        [x, y, s, t, c]
    }

    /// As [`parts`](Self::parts), to be changed.
    pub(crate) fn parts_mut<'a>(&self, operands: &'a mut [u64]) -> [&'a mut [u64]; 5] {
        let (x, rest) = operands.split_at_mut(self.length);
        let (y, rest) = rest.split_at_mut(self.length);
        let (s, rest) = rest.split_at_mut(self.blocks());
        let (t, c) = rest.split_at_mut(self.blocks());
        [x, y, s, t, c]
    }

    /// The element at a place of a row times its block's scale, if there is one, exactly.
    fn element(&self, side: usize, code: u64, place: usize, scales: &[u64]) -> Datum {
        let x = self.formats[side].decode(code);
        match self.scales {
            Some(BlockScales { format, block }) => times(x, scale(&format, scales[place / block])),
            None => x,
        }
    }

    /// c + Σ x·y, with the scales of their blocks, without a rounding.
    pub(crate) fn exact(&self, operands: &[u64]) -> Exact {
        let [x, y, s, t, c] = self.parts(operands);
        let mut sum = Sum::new();
        for (place, (x, y)) in x.iter().zip(y).enumerate() {
            sum.add_product(self.element(0, *x, place, s), self.element(1, *y, place, t));
        }
        for c in c {
            sum.add(self.register().decode(*c));
        }
        sum.exact()
    }

    /// The first product of a line without y, by which others align: x·s·t.
    pub(super) fn first_term(&self, operands: &[u64]) -> Datum {
        let [x, _, s, t, _] = self.parts(operands);
        let x = self.element(0, x[0], 0, s);
        self.scales.map_or(x, |scales| times(x, scale(&scales.format, t[0])))
    }

    pub(crate) fn evaluate(&self, operands: &[u64]) -> CallOutcome {
        let [x, y, s, t, c] = self.parts(operands);
        let register = self.register();
        let nearest = register.default_projection();
        let values = |codes: &[u64], side: usize| -> Vec<f32> {
            codes.iter().map(|code| value(*code, &self.formats[side])).collect()
        };
        let bytes = |codes: &[u64]| codes.iter().map(|code| code.to_le_bytes()[0]).collect::<Vec<u8>>();
        // The register has every accumulator.
        let held =
            |sum: f32| project(Exact::from_datum(BINARY32.decode(sum.to_bits().into())), &register, &nearest);
        let Rounded { value, flags } = match &self.adder {
            Adder::MatrixUnit(unit) => held(unit.add(value(c[0], &register), &values(x, 0), &values(y, 1))),
            Adder::Scaled(unit) => {
                let c = value(c[0], &register);
                held(unit.add(c, [&values(x, 0), &values(y, 1)], [&bytes(s), &bytes(t)]))
            }
            Adder::Plain(dot) => dot.dot(&bytes(x), &bytes(y), &register, &nearest),
        };
        CallOutcome::one(value, flags)
    }
}

/// The value of a scale, without its sign.
pub(crate) fn scale(format: &Format, code: u64) -> Datum {
    let datum = format.decode(code);
    if datum.is_negative() { datum.negated() } else { datum }
}

/// The product with a scale, whose significand has few bits.
pub(crate) fn times(x: Datum, scale: Datum) -> Datum {
    match (x, scale) {
        (
            Datum::Finite { negative, significand, exponent },
            Datum::Finite { negative: below, significand: factor, exponent: by },
        ) => Datum::finite(negative ^ below, significand * factor, exponent + by),
        (Datum::Infinite { negative }, Datum::Finite { negative: below, significand: 1.., .. }) => {
            Datum::Infinite { negative: negative ^ below }
        }
        _ => Datum::Nan { negative: false },
    }
}

/// The value of a code, which binary32 holds.
fn value(code: u64, format: &Format) -> f32 {
    match format.decode(code) {
        Datum::Nan { .. } => f32::NAN,
        datum => datum.to_f32().expect("matrix units take formats that binary32 holds"),
    }
}

/// `Dot<32, e4m3fn, e4m3fn, hopper>`, `Dot<64, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>`.
impl fmt::Display for DotProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { length, formats: [x, y], accumulate, .. } = self;
        write!(f, "Dot<{length}, {x}, {y}, {accumulate}")?;
        match self.scales {
            Some(BlockScales { format, block }) => write!(f, ", {format}, {block}>"),
            None => f.write_str(">"),
        }
    }
}
