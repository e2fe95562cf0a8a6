//! Slices of typed scalars as slices of their codes, and back.

use smallfloat::SmallFloat;

use crate::error::Error;

/// That a scalar is as large as the integer that holds its code, and lies where that may lie.
const fn check_layout<S: SmallFloat>() {
    assert!(size_of::<S>() == size_of::<S::Bits>() && align_of::<S>() == align_of::<S::Bits>());
}

/// The codes of scalars.
#[inline]
pub(crate) fn codes<S: SmallFloat>(scalars: &[S]) -> &[S::Bits] {
    const { check_layout::<S>() };
    // SAFETY: `SmallFloat` is sealed, and each type that has it is `repr(transparent)` over its
    // `Bits`, as its documentation says: so each element is an initialized `Bits`. Address, length
    // and lifetime are those of the slice.
    unsafe { std::slice::from_raw_parts(scalars.as_ptr().cast(), scalars.len()) }
}

/// The codes of scalars, to be written: none may have a bit above the format's width.
#[inline]
pub(crate) fn codes_mut<S: SmallFloat>(scalars: &mut [S]) -> &mut [S::Bits] {
    const { check_layout::<S>() };
    // SAFETY: as in `codes`; and each `Bits` is a valid field of the scalar, so that nothing which
    // is written can make one invalid to the language. The slice is borrowed as long as the result.
    unsafe { std::slice::from_raw_parts_mut(scalars.as_mut_ptr().cast(), scalars.len()) }
}

/// The scalars of codes, which have been checked.
#[inline]
fn scalars<S: SmallFloat>(codes: &[S::Bits]) -> &[S] {
    const { check_layout::<S>() };
    // SAFETY: as in `codes`, the other way: a transparent struct is valid where its field is.
    unsafe { std::slice::from_raw_parts(codes.as_ptr().cast(), codes.len()) }
}

/// The scalars of codes to be written, which have been checked.
#[inline]
fn scalars_mut<S: SmallFloat>(codes: &mut [S::Bits]) -> &mut [S] {
    const { check_layout::<S>() };
    // SAFETY: as in `scalars`. Every scalar that is written is a valid integer.
    unsafe { std::slice::from_raw_parts_mut(codes.as_mut_ptr().cast(), codes.len()) }
}

/// A slice of typed scalars as the codes that lie in memory; nothing is copied.
///
/// ```
/// use smallfloat::E4M3Fn;
/// use smallfloat_kernels::AsCodes;
/// let mut x = [1.0, -2.0].map(E4M3Fn::from_f32);
/// assert_eq!(x.as_codes(), [0x38, 0xc0]);
/// x.as_codes_mut()[0] = 0x40;
/// assert_eq!(x[0].to_f32(), 2.0);
/// ```
pub trait AsCodes<S: SmallFloat> {
    /// The codes.
    fn as_codes(&self) -> &[S::Bits];

    /// The codes, to be written. It compiles only for types whose integer has no bit to spare:
    ///
    /// ```compile_fail,E0080
    /// use smallfloat::E2M1Fn;
    /// use smallfloat_kernels::AsCodes;
    /// let codes: &mut [u8] = [E2M1Fn::ONE].as_codes_mut();
    /// ```
    fn as_codes_mut(&mut self) -> &mut [S::Bits];
}

impl<S: SmallFloat> AsCodes<S> for [S] {
    fn as_codes(&self) -> &[S::Bits] {
        codes(self)
    }

    fn as_codes_mut(&mut self) -> &mut [S::Bits] {
        const {
            assert!(
                S::FORMAT.width() as usize == 8 * size_of::<S>(),
                "not every integer is a code of the type"
            );
        }
        codes_mut(self)
    }
}

/// A slice of codes as typed scalars; nothing is copied.
///
/// ```
/// use smallfloat::{E2M1Fn, E4M3Fn};
/// use smallfloat_kernels::AsScalars;
/// let codes = [0x38, 0x07];
/// let x: &[E4M3Fn] = codes.as_scalars()?;
/// assert_eq!(x[0].to_f32(), 1.0);
/// // 0x38 is no code of four bits.
/// assert!(codes.as_scalars::<E2M1Fn>().is_err());
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
pub trait AsScalars<B> {
    /// The scalars.
    ///
    /// # Errors
    /// A code with bits above the format's width.
    fn as_scalars<S: SmallFloat<Bits = B>>(&self) -> Result<&[S], Error>;

    /// The scalars, to be written.
    ///
    /// # Errors
    /// As [`as_scalars`](Self::as_scalars).
    fn as_scalars_mut<S: SmallFloat<Bits = B>>(&mut self) -> Result<&mut [S], Error>;
}

/// Looks for a code that is none of the type's.
fn check<S: SmallFloat>(codes: &[S::Bits]) -> Result<(), Error> {
    let largest = S::FORMAT.max_code();
    match codes.iter().position(|&code| code.into() > largest) {
        Some(index) => Err(Error::NoCode { format: S::FORMAT, code: codes[index].into(), index }),
        None => Ok(()),
    }
}

impl<B> AsScalars<B> for [B] {
    fn as_scalars<S: SmallFloat<Bits = B>>(&self) -> Result<&[S], Error> {
        check::<S>(self)?;
        Ok(scalars(self))
    }

    fn as_scalars_mut<S: SmallFloat<Bits = B>>(&mut self) -> Result<&mut [S], Error> {
        check::<S>(self)?;
        Ok(scalars_mut(self))
    }
}
