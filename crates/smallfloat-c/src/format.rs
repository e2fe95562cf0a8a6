//! Formats and projections.

use std::ffi::c_char;
use std::mem::MaybeUninit;

use smallfloat::formats::BINARY64;
use smallfloat::{Class, Datum, Format, Preset, Projection, convert};

use crate::status::{
    Failure, border, given, handle, read, read_optional, sf_error, sf_status, status, write,
};

/// A number format.
pub struct sf_format(pub(crate) Format);

/// How results become values of a format: rounding, saturation, and what a format does not have.
pub struct sf_projection {
    format: Format,
    projection: Projection,
}

impl sf_projection {
    /// The projection, if it is one for results in this format.
    pub(crate) fn to(&self, to: &Format) -> Result<Projection, Failure> {
        if self.format == *to {
            return Ok(self.projection);
        }
        let text =
            format_args!("the projection is for results in {}, and the results are in {to}", self.format);
        Err(Failure::new(sf_status::Unsupported, text))
    }
}

/// What a format is.
#[repr(C)]
pub struct sf_format_info {
    /// The bits of a code.
    pub width: u32,
    /// The bits of a significand, the implicit one among them.
    pub precision: u32,
    /// The bits of the exponent field.
    pub exponent_bits: u32,
    /// The exponent's bias.
    pub bias: i32,
    /// Whether it has negative numbers.
    pub is_signed: bool,
    /// Whether it has a zero.
    pub has_zero: bool,
    /// Whether −0 is another code than 0.
    pub has_negative_zero: bool,
    /// Whether it has subnormal numbers.
    pub has_subnormals: bool,
    /// Whether it has infinities.
    pub has_infinity: bool,
    /// Whether it has a NaN.
    pub has_nan: bool,
    /// The code of the largest finite number.
    pub max_finite: u64,
    /// The code of the smallest positive number.
    pub min_positive: u64,
    /// The code of the smallest normal number.
    pub min_normal: u64,
}

/// What kind of number a code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum sf_class {
    /// No number.
    Nan = 0,
    /// ±∞.
    Infinite = 1,
    /// ±0.
    Zero = 2,
    /// A number below the smallest normal one.
    Subnormal = 3,
    /// Any other number.
    Normal = 4,
}

/// Returns a new format by its name, such as `e4m3fn`, `cfloat8_1_4_3:bias=11` or `binary8p3se`, in
/// any case of letters; sf_format_free frees it. Returns NULL where there is no such format
/// (SF_STATUS_NAME): `error`, which may be NULL, then has the status and a text with suggestions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_format_new(
    name: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_format>> {
    // SAFETY: the header asks for a C string or NULL.
    handle(error, || Ok(sf_format(unsafe { read(name, "the format's name") }?.parse()?)))
}

/// Frees a format; does nothing for NULL. Operations and projections made from it live on.
#[unsafe(no_mangle)]
pub extern "C" fn sf_format_free(format: Option<Box<sf_format>>) {
    drop(format);
}

/// Fills `info` with the parameters of a format. Returns SF_STATUS_OK, or SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_format_describe(
    format: Option<&sf_format>,
    info: Option<&mut MaybeUninit<sf_format_info>>,
) -> sf_status {
    status(|| {
        let (format, info) = (&given(format, "the format")?.0, given(info, "the description")?);
        let code = |datum: Datum| format.encode(datum).expect("a format has its extreme numbers");
        info.write(sf_format_info {
            width: format.width(),
            precision: format.precision(),
            exponent_bits: format.exponent_bits(),
            bias: format.bias(),
            is_signed: format.is_signed(),
            has_zero: format.has_zero(),
            has_negative_zero: format.has_negative_zero(),
            has_subnormals: format.has_subnormals(),
            has_infinity: format.has_infinity(),
            has_nan: format.has_nan(),
            max_finite: code(format.max_finite()),
            min_positive: code(format.min_positive()),
            min_normal: code(format.min_normal()),
        });
        Ok(())
    })
}

/// Writes the format's full name, which sf_format_new understands, into `buffer` of `size` bytes:
/// UTF-8 with a final 0, cut at a character's end where it is too long. Returns the length of the
/// whole name in bytes without the final 0, as `snprintf` does, or 0 where `format` is NULL. With a
/// `buffer` of NULL nothing is written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_format_name(
    format: Option<&sf_format>,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header asks for a buffer of this size or NULL.
    border(|| Ok(unsafe { write(&given(format, "the format")?.0.to_string(), buffer, size) })).unwrap_or(0)
}

/// Writes the value of a code in decimal, with all its digits, as sf_format_name writes. Returns
/// the length of the whole text; 0 where `format` is NULL or the code has more bits than the
/// format.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_format_text(
    format: Option<&sf_format>,
    code: u64,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let text = || {
        let format = &given(format, "the format")?.0;
        let text = format.decode_text(checked(code, format)?);
        // SAFETY: the header asks for a buffer of this size or NULL.
        Ok(unsafe { write(&text, buffer, size) })
    };
    border(text).unwrap_or(0)
}

/// Sets `value` to the value of a code, rounded to nearest even where binary64 can't hold it. NaN
/// loses its payload. Returns SF_STATUS_OK, SF_STATUS_CODE where the code has more bits than the
/// format, or SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_format_decode(
    format: Option<&sf_format>,
    code: u64,
    value: Option<&mut MaybeUninit<f64>>,
) -> sf_status {
    status(|| {
        let (format, value) = (&given(format, "the format")?.0, given(value, "the value")?);
        value.write(format.decode_f64(checked(code, format)?).value);
        Ok(())
    })
}

/// Rounds a binary64 to a code, by the format's default projection where `projection` is NULL, and
/// sets `flags`, which may be NULL, to what is raised. Returns SF_STATUS_OK, SF_STATUS_UNSUPPORTED
/// for a stochastic rounding (which an operation of sf_op_convert does) or a projection for another
/// format, or SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_format_encode(
    format: Option<&sf_format>,
    projection: Option<&sf_projection>,
    value: f64,
    code: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    status(|| {
        let (format, code) = (&given(format, "the format")?.0, given(code, "the code")?);
        let projection =
            projection.map_or_else(|| Ok(format.default_projection()), |given| given.to(format))?;
        if projection.rounding.is_stochastic() {
            let text = "a stochastic rounding needs a random word: use an operation of sf_op_convert";
            return Err(Failure::new(sf_status::Unsupported, text));
        }
        let rounded = convert(value.to_bits(), &BINARY64, format, &projection);
        code.write(rounded.value);
        if let Some(flags) = flags {
            flags.write(rounded.flags.bits().into());
        }
        Ok(())
    })
}

/// Sets `kind` to the kind of number that a code is. Returns SF_STATUS_OK, SF_STATUS_CODE where the
/// code has more bits than the format, or SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_format_classify(
    format: Option<&sf_format>,
    code: u64,
    kind: Option<&mut MaybeUninit<sf_class>>,
) -> sf_status {
    status(|| {
        let (format, kind) = (&given(format, "the format")?.0, given(kind, "the class")?);
        kind.write(match format.classify(checked(code, format)?) {
            Class::Nan => sf_class::Nan,
            Class::Infinite => sf_class::Infinite,
            Class::Zero => sf_class::Zero,
            Class::Subnormal => sf_class::Subnormal,
            Class::Normal => sf_class::Normal,
        });
        Ok(())
    })
}

/// Returns a new projection for results in a format, from a preset (`ieee`, `ocp-saturate`,
/// `tesla`, …), a rounding (`nearest-even`, `toward-zero`, `stochastic-a:16`, …) and a saturation
/// (`SatFinite`, `SatPropagate`, `SatNone`); sf_projection_free frees it. Each text may be NULL:
/// the format's own preset, and the preset's modes. Returns NULL where a text is not understood
/// (SF_STATUS_NAME) or `format` is NULL: `error`, which may be NULL, then says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_projection_new(
    format: Option<&sf_format>,
    preset: *const c_char,
    rounding: *const c_char,
    saturation: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_projection>> {
    handle(error, || {
        let format = &given(format, "the format")?.0;
        // SAFETY: the header asks for C strings or NULL; so for the next two.
        let preset = unsafe { read_optional(preset, "the preset") }?;
        // SAFETY: as above.
        let rounding = unsafe { read_optional(rounding, "the rounding") }?;
        // SAFETY: as above.
        let saturation = unsafe { read_optional(saturation, "the saturation") }?;
        let preset = preset.map_or_else(|| Ok(Preset::default_for(format)), str::parse)?;
        let mut projection = preset.projection(format);
        if let Some(rounding) = rounding {
            projection = projection.with_rounding(rounding.parse()?);
        }
        if let Some(saturation) = saturation {
            projection = projection.with_saturation(saturation.parse()?);
        }
        Ok(sf_projection { format: *format, projection })
    })
}

/// Frees a projection; does nothing for NULL. Operations made with it live on.
#[unsafe(no_mangle)]
pub extern "C" fn sf_projection_free(projection: Option<Box<sf_projection>>) {
    drop(projection);
}

/// The code, if the format has it.
fn checked(code: u64, format: &Format) -> Result<u64, Failure> {
    format.check_code(code).map_err(|error| Failure::new(sf_status::Code, error))
}
