//! Operands in SystemVerilog: what a code is, and its exact magnitude.

use std::fmt::Write as _;

use dashu_int::UBig;
use smallfloat::{Class, Format, Specials, Subnormals};

use super::point::{Layout, Point};
use super::text::{declare, literal, low};

/// An operand in a specification: its port and its format.
#[derive(Clone, Debug)]
pub(super) struct OperandText {
    pub(super) name: String,
    pub(super) layout: Layout,
}

/// An operand's magnitude as an integer: significand · 2^shift in units of 2^unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Magnitude {
    pub(super) unit: i32,
    pub(super) significand_bits: u32,
    pub(super) shift_bits: u32,
    /// The bits of the largest magnitude.
    pub(super) bits: u32,
}

impl OperandText {
    pub(super) fn new(name: &str, format: &Format) -> Self {
        Self { name: name.to_owned(), layout: Layout::new(format) }
    }

    fn format(&self) -> &Format {
        &self.layout.format
    }

    /// The first index that is not zero.
    fn first_nonzero(&self) -> u64 {
        if self.format().has_zero() { self.layout.first(|i| !self.layout.value(i).is_zero()) } else { 0 }
    }

    /// Wires for the sign, the index, and what kind of datum the code is.
    pub(super) fn classes(&self) -> String {
        let Self { name, layout } = self;
        let (format, bits) = (self.format(), layout.index_bits);
        let width = format.width();
        let index = format!("{name}_index");
        let lit = |value: u64| literal(bits, &UBig::from(value));
        let mut text = format!(
            "    // {name}, {format}. Its index, the code without the sign, sorts as magnitudes do.\n"
        );
        let sign = if format.is_signed() { format!("{name}[{}]", width - 1) } else { "1'b0".into() };
        declare(&mut text, 1, &format!("{name}_sign"), &sign);
        let code = if bits == width { name.clone() } else { low(name, bits) };
        declare(&mut text, bits, &index, &code);
        let one_nan = 1_u64 << (width - 1);
        let nan = if !format.has_nan() {
            "1'b0".into()
        } else if format.is_signed()
            && matches!(
                format.specials(),
                Specials::NanNegativeZero | Specials::P3109Extended | Specials::P3109Finite
            )
        {
            format!("{name} == {}", literal(width, &UBig::from(one_nan)))
        } else {
            format!("{index} > {}", lit(layout.max_index + u64::from(format.has_infinity())))
        };
        declare(&mut text, 1, &format!("{name}_nan"), &nan);
        let infinite = if format.has_infinity() {
            format!("{index} == {}", lit(layout.max_index + 1))
        } else {
            "1'b0".into()
        };
        declare(&mut text, 1, &format!("{name}_infinite"), &infinite);
        let zero = match self.first_nonzero() {
            0 => "1'b0".into(),
            // The NaN without −0 has index 0 too.
            1 if format.is_signed() && !format.has_negative_zero() && format.has_nan() => {
                format!("{index} == {} && !{name}_nan", lit(0))
            }
            1 => format!("{index} == {}", lit(0)),
            first => format!("{index} < {}", lit(first)),
        };
        declare(&mut text, 1, &format!("{name}_zero"), &zero);
        let last_subnormal = (1..layout.first_normal).next_back();
        let subnormal = match last_subnormal {
            Some(last) if format.classify(last) == Class::Subnormal => {
                format!("{index} != {} && {index} < {}", lit(0), lit(layout.first_normal))
            }
            _ => "1'b0".into(),
        };
        declare(&mut text, 1, &format!("{name}_subnormal"), &subnormal);
        text
    }

    /// The exact magnitude's parts.
    pub(super) fn magnitude(&self) -> Magnitude {
        let Layout { format, index_bits, max_index, .. } = self.layout;
        let t = format.trailing_bits();
        let largest = Point::of(&format.max_finite());
        let unit = self.unit();
        let bits = (largest.leading() - unit + 1).unsigned_abs();
        let field = max_index >> t;
        let shift_bits = (u64::BITS - field.leading_zeros()).max(1).min(index_bits);
        Magnitude { unit, significand_bits: t + 1, shift_bits, bits }
    }

    /// Whether exponent field 0 is a binade like the others.
    fn has_plain_field_0(&self) -> bool {
        let format = self.format();
        matches!(format.specials(), Specials::E8m0)
            || matches!(format.subnormals(), Subnormals::None) && format.precision() > 1
    }

    fn unit(&self) -> i32 {
        let format = self.format();
        let lowest = -format.bias() - format.trailing_bits().cast_signed();
        let goes_on = !matches!(format.subnormals(), Subnormals::Tesla) && !self.has_plain_field_0();
        lowest + i32::from(goes_on)
    }

    /// Wires for the significand and the shift of the exact magnitude.
    pub(super) fn significand(&self) -> String {
        let Self { name, layout } = self;
        let Layout { format, index_bits, .. } = *layout;
        let t = format.trailing_bits();
        let Magnitude { unit, shift_bits, .. } = self.magnitude();
        let mut text =
            format!("    // The magnitude of {name}: significand * 2^shift in units of 2^{unit}.\n");
        let index = format!("{name}_index");
        let field = match index_bits - t {
            0 => "1'b0".to_owned(),
            // One bit is no vector, of which parts could be taken.
            1 if t == 0 => index.clone(),
            _ => format!("{index}[{}:{t}]", t + shift_bits - 1),
        };
        declare(&mut text, shift_bits, &format!("{name}_field"), &field);
        let field_zero = format!("{name}_field == {}", literal(shift_bits, &UBig::ZERO));
        let hidden = if self.has_plain_field_0() {
            if format.has_zero() { format!("!{name}_zero") } else { "1'b1".into() }
        } else {
            format!("!({field_zero})")
        };
        let trailing = (t > 0).then(|| {
            let bits = low(&index, t);
            match format.subnormals() {
                Subnormals::Flush => format!("({name}_zero ? {} : {bits})", literal(t, &UBig::ZERO)),
                _ => bits,
            }
        });
        let significand = match trailing {
            Some(trailing) => format!("{{{hidden}, {trailing}}}"),
            None => hidden,
        };
        declare(&mut text, t + 1, &format!("{name}_significand"), &significand);
        let goes_on = !matches!(format.subnormals(), Subnormals::Tesla) && !self.has_plain_field_0();
        let shift = if goes_on {
            let (zero, one) = (literal(shift_bits, &UBig::ZERO), literal(shift_bits, &UBig::ONE));
            format!("({field_zero}) ? {zero} : {name}_field - {one}")
        } else {
            format!("{name}_field")
        };
        declare(&mut text, shift_bits, &format!("{name}_shift"), &shift);
        text
    }

    /// The magnitude as one integer, in a wire `…_fixed`.
    pub(super) fn fixed(&self) -> String {
        let (name, magnitude) = (&self.name, self.magnitude());
        let mut text = String::new();
        let padded =
            super::text::padded(&format!("{name}_significand"), magnitude.significand_bits, magnitude.bits);
        declare(&mut text, magnitude.bits, &format!("{name}_fixed"), &format!("{padded} << {name}_shift"));
        text
    }
}

/// Writes a line without the result of the write, which can't fail.
pub(super) fn line(text: &mut String, content: &str) {
    writeln!(text, "{content}").expect("a string takes all");
}
