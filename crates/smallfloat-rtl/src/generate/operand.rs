//! How a code is read: sign, exponent field, significand, and what is not a number.

use smallfloat::formats::CATALOGUE;
use smallfloat::{Family, Format, Specials, Subnormals};

use super::module::{Module, bits_for, decimal, extend, hex, slice, zeros as no_bits};

/// The largest bias that a port may have.
pub(super) const MAX_BIAS: i64 = 63;

/// An operand's format, as a generated unit sees it.
pub(super) struct Operand<'a> {
    /// The port.
    pub(super) name: &'a str,
    pub(super) format: Format,
    /// Whether its bias is the port `bias`.
    pub(super) has_bias_port: bool,
}

impl Operand<'_> {
    /// A signal of this operand.
    pub(super) fn signal(&self, name: &str) -> String {
        format!("{}_{name}", self.name)
    }

    pub(super) fn is_signed(&self) -> bool {
        self.format.is_signed()
    }

    pub(super) fn has_nan(&self) -> bool {
        self.format.has_nan()
    }

    pub(super) fn has_infinity(&self) -> bool {
        self.format.has_infinity()
    }

    /// Whether some of its NaNs are signaling.
    pub(super) fn has_signaling(&self) -> bool {
        self.format.specials() == Specials::Ieee && self.format.trailing_bits() > 1
    }

    /// Whether exponent field 0 is a binade like the others.
    fn field_0_is_a_binade(&self) -> bool {
        !self.format.has_zero()
            || (self.format.subnormals() == Subnormals::None && self.format.trailing_bits() > 0)
    }

    /// Whether a significand other than 0 may lack its leading bit.
    pub(super) fn has_subnormals(&self) -> bool {
        self.format.has_subnormals() && self.format.subnormals() != Subnormals::Flush
    }

    fn is_tesla(&self) -> bool {
        self.has_subnormals() && self.format.subnormals() == Subnormals::Tesla
    }

    /// Bits of the significand.
    pub(super) fn significand_bits(&self) -> u32 {
        self.format.precision()
    }

    /// The range of the exponent: what the field counts as.
    pub(super) fn exponents(&self) -> (i64, i64) {
        let (_, highest) = self.format.exponent_range();
        // Tesla's denormals are 2^-bias * 0.m, so that field 0 counts as it is.
        let lowest = i64::from(!self.field_0_is_a_binade() && !self.is_tesla());
        (lowest, i64::from(highest) + i64::from(self.format.bias()))
    }

    /// The biases that it may have.
    pub(super) fn biases(&self) -> (i64, i64) {
        if self.has_bias_port {
            (0, MAX_BIAS)
        } else {
            (self.format.bias().into(), self.format.bias().into())
        }
    }

    /// The bias as an operand of an expression.
    pub(super) fn bias_constant(&self) -> String {
        format!("{}_BIAS", self.name.to_uppercase())
    }

    /// The format in words.
    pub(super) fn description(&self) -> String {
        let format = &self.format;
        let sign = if format.is_signed() { "1 sign, " } else { "" };
        let bias = if self.has_bias_port { "the port `bias`".to_owned() } else { format.bias().to_string() };
        let specials = match format.specials() {
            Specials::Finite => "every code is a number",
            Specials::Ieee => "infinities and NaNs have the exponent field of ones",
            Specials::NanAllOnes => "NaN has all bits set but the sign, there is no infinity",
            Specials::NanNegativeZero => "NaN has the code of -0, there is no infinity",
            Specials::P3109Extended => "one NaN, infinities, no -0",
            Specials::P3109Finite => "one NaN, no infinity, no -0",
            _ => "powers of two, NaN has all bits set, there is no zero",
        };
        let low = match format.subnormals() {
            _ if !format.has_subnormals() => "",
            Subnormals::Tesla => {
                "; denormals are 2^-bias * 0.m (Tesla's paper, which leaves a hole above them)"
            }
            Subnormals::Flush => "; subnormal codes are zero",
            _ => "; subnormals are 2^(1 - bias) * 0.m",
        };
        format!(
            "{sign}{} exponent, {} significand bits; bias {bias}; {specials}{low} ({}).",
            format.exponent_bits(),
            format.trailing_bits(),
            source(format),
        )
    }

    /// Declares the operand's signals; a unit keeps those it needs.
    pub(super) fn declare(&self, module: &mut Module) {
        let format = &self.format;
        let (x, width) = (self.name, format.width());
        let (e, m) = (format.exponent_bits(), format.trailing_bits());
        let name = |signal: &str| self.signal(signal);
        module.section(format!("Operand {x}"), String::new());
        if format.is_signed() {
            module.wire(&name("sign"), 1, slice(x, width, width - 1, width - 1));
        }
        let (field, fraction) = (name("field"), name("fraction"));
        module.wire(&field, e, slice(x, width, m + e - 1, m));
        if m > 0 {
            module.wire(&fraction, m, slice(x, width, m - 1, 0));
        }

        let (is_normal, s) = (name("is_normal"), self.significand_bits());
        let significand = name("significand");
        if self.field_0_is_a_binade() {
            let hidden = if format.has_zero() {
                format!("|{}", slice(x, width, width - 1 - u32::from(format.is_signed()), 0))
            } else {
                "1'b1".into()
            };
            let text = if m > 0 { format!("{{{hidden}, {fraction}}}") } else { hidden };
            module.wire(&significand, s, text);
            module.wire(&name("exponent"), e, field.clone());
        } else {
            module.wire(&is_normal, 1, format!("|{field}"));
            let text = match format.subnormals() {
                _ if m == 0 => is_normal.clone(),
                Subnormals::Flush => format!("{is_normal} ? {{1'b1, {fraction}}} : {}", decimal(s, 0)),
                _ => format!("{{{is_normal}, {fraction}}}"),
            };
            module.wire(&significand, s, text);
            let counts_as_one = m > 0 && !self.is_tesla();
            let exponent = if counts_as_one {
                format!("{field} | {}", extend(&format!("!{is_normal}"), 1, e))
            } else {
                field
            };
            let comment = module.wire(&name("exponent"), e, exponent);
            if counts_as_one {
                "field 0 counts as 1".clone_into(comment);
            }
            if m > 0 {
                module.wire(&name("is_subnormal"), 1, format!("!{is_normal} && (|{fraction})"));
            }
        }
        // The sign alone is a NaN where there is no -0.
        let is_one_code = format.is_signed() && !format.has_negative_zero();
        let all = if is_one_code { x } else { significand.as_str() };
        module.wire(&name("is_zero"), 1, format!("!(|{all})"));
        self.declare_specials(module);
    }

    fn declare_specials(&self, module: &mut Module) {
        let format = &self.format;
        let (x, width, m) = (self.name, format.width(), format.trailing_bits());
        let name = |signal: &str| self.signal(signal);
        let (field, fraction) = (name("field"), name("fraction"));
        let below_sign = slice(x, width, width - 2, 0);
        let sign_alone = format!("{x} == {}", hex(width, 1 << (width - 1)));
        let largest = |down: u64| format!("{x} == {}", hex(width, format.max_code() - down));
        let all_ones = if format.is_signed() { format!("&{below_sign}") } else { format!("&{x}") };
        let (nan, infinity) = match format.specials() {
            Specials::Ieee => {
                (Some(format!("(&{field}) && (|{fraction})")), Some(format!("(&{field}) && !(|{fraction})")))
            }
            Specials::NanNegativeZero => (Some(sign_alone), None),
            Specials::P3109Finite if format.is_signed() => (Some(sign_alone), None),
            Specials::NanAllOnes | Specials::E8m0 | Specials::P3109Finite => (Some(all_ones), None),
            Specials::P3109Extended if format.is_signed() => (Some(sign_alone), Some(all_ones)),
            Specials::P3109Extended => (Some(all_ones), Some(largest(1))),
            _ => (None, None),
        };
        if let Some(nan) = nan {
            module.wire(&name("is_nan"), 1, nan);
        }
        if self.has_signaling() {
            let quiet = slice(&fraction, m, m - 1, m - 1);
            module.wire(&name("is_signaling"), 1, format!("{} && !{quiet}", name("is_nan")));
        } else if self.format.specials() == Specials::Ieee {
            // The only significand bit is the quiet bit, and that of a NaN is set.
            module.wire(&name("is_signaling"), 1, "1'b0");
        }
        if let Some(infinity) = infinity {
            module.wire(&name("is_infinite"), 1, infinity);
        }
    }
}

/// Shifts a significand left until its leading bit is at the top, in steps of powers of two:
/// returns the signal, and that of the distance with its bits.
pub(super) fn normalize(
    module: &mut Module,
    prefix: &str,
    significand: &str,
    width: u32,
) -> (String, String, u32) {
    let steps = bits_for(u64::from(width - 1));
    let mut current = significand.to_owned();
    let mut zeros = Vec::new();
    for step in (0..steps).rev() {
        let distance = 1 << step;
        let (zero, next) = (format!("{prefix}zeros_{distance}"), format!("{prefix}shifted_{distance}"));
        module.wire(&zero, 1, format!("!(|{})", slice(&current, width, width - 1, width - distance)));
        module.wire(
            &next,
            width,
            format!(
                "{zero} ? {{{}, {}}} : {current}",
                slice(&current, width, width - 1 - distance, 0),
                no_bits(distance)
            ),
        );
        zeros.push(zero);
        current = next;
    }
    let distance = format!("{prefix}leading_zeros");
    let list = if steps == 1 { zeros[0].clone() } else { format!("{{{}}}", zeros.join(", ")) };
    module.wire(&distance, steps, list);
    (current, distance, steps)
}

/// Where a format is defined.
fn source(format: &Format) -> &'static str {
    match format.family() {
        Family::Tesla => "Tesla, Dojo Technology, Tables 3 and 6",
        Family::Ieee => "IEEE 754-2019, section 3.4",
        Family::P3109 => "IEEE P3109 draft, section \"Formats\"",
        _ => CATALOGUE.iter().find(|row| row.format == *format).map_or("its parameters", |row| row.source),
    }
}
