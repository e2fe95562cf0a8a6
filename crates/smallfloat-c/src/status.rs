//! What every function returns, and the border between C and Rust.

use std::ffi::{CStr, c_char};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// The status of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum sf_status {
    /// The call succeeded.
    Ok = 0,
    /// A pointer that must not be NULL is NULL.
    Null = 1,
    /// A text is not UTF-8.
    Text = 2,
    /// A name is not understood: of a format, an operation, a mode or a policy.
    Name = 3,
    /// The number of operands or results is not that of the operation.
    Count = 4,
    /// A code or a random word has more bits than its format.
    Code = 5,
    /// The operation is understood, but can't be done in this way.
    Unsupported = 6,
    /// The results' array overlaps an operand's, or an array is not aligned.
    Array = 7,
    /// A defect of this library: please report it.
    Internal = 8,
}

/// The size of an error's text in bytes, including the final 0.
pub const SF_ERROR_SIZE: usize = 252;

/// A status with its text, in memory of the caller's.
#[repr(C)]
pub struct sf_error {
    /// What went wrong.
    pub status: sf_status,
    /// What went wrong in words, as UTF-8 with a final 0; cut where it is too long, empty if all is
    /// well.
    pub text: [c_char; SF_ERROR_SIZE],
}

/// A status with its text, on the way to the border.
pub(crate) struct Failure {
    pub(crate) status: sf_status,
    text: String,
}

impl Failure {
    pub(crate) fn new(status: sf_status, text: impl Display) -> Self {
        Self { status, text: text.to_string() }
    }

    pub(crate) fn null(what: &str) -> Self {
        Self::new(sf_status::Null, format_args!("{what} is NULL"))
    }
}

impl From<smallfloat::Error> for Failure {
    fn from(error: smallfloat::Error) -> Self {
        Self::new(sf_status::Name, error)
    }
}

impl From<smallfloat_conformance::Error> for Failure {
    fn from(error: smallfloat_conformance::Error) -> Self {
        match error {
            smallfloat_conformance::Error::Core(error) => error.into(),
            error => Self::new(sf_status::Unsupported, error),
        }
    }
}

impl From<smallfloat_kernels::Error> for Failure {
    fn from(error: smallfloat_kernels::Error) -> Self {
        Self::new(sf_status::Unsupported, error)
    }
}

/// Runs what a function does. A panic, which would be a mistake of ours, ends here.
pub(crate) fn border<T>(run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let panicked = |_| Err(Failure::new(sf_status::Internal, "a defect of smallfloat: please report it"));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(panicked)
}

/// The border of a function that returns a status.
pub(crate) fn status(run: impl FnOnce() -> Result<(), Failure>) -> sf_status {
    match border(run) {
        Ok(()) => sf_status::Ok,
        Err(failure) => failure.status,
    }
}

/// The border of a function that returns a new handle, or NULL and says why.
pub(crate) fn handle<T>(
    error: Option<&mut MaybeUninit<sf_error>>,
    run: impl FnOnce() -> Result<T, Failure>,
) -> Option<Box<T>> {
    let (found, failure) = match border(run) {
        Ok(found) => (Some(Box::new(found)), None),
        Err(failure) => (None, Some(failure)),
    };
    if let Some(error) = error {
        let mut text = [0; SF_ERROR_SIZE];
        copy(failure.as_ref().map_or("", |failure| &failure.text), &mut text);
        let status = failure.map_or(sf_status::Ok, |failure| failure.status);
        error.write(sf_error { status, text });
    }
    found
}

/// Copies a text with a final 0, cut at a character's end where there is no room, and returns its
/// whole length.
fn copy(text: &str, buffer: &mut [c_char]) -> usize {
    if let Some(room) = buffer.len().checked_sub(1) {
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        for (to, from) in buffer.iter_mut().zip(text.as_bytes()[..end].iter().chain(&[0])) {
            *to = from.cast_signed();
        }
    }
    text.len()
}

/// Writes a text into a buffer of the caller's and returns its length, as `snprintf` does.
///
/// # Safety
/// The buffer is NULL or has `size` bytes.
pub(crate) unsafe fn write(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if buffer.is_null() {
        return text.len();
    }
    // SAFETY: the caller's promise; the bytes are given a value before anything reads them.
    let buffer = unsafe {
        buffer.write_bytes(0, size);
        slice::from_raw_parts_mut(buffer, size)
    };
    copy(text, buffer)
}

/// The text of a C string.
///
/// # Safety
/// It is NULL, or ends with a 0 and stays as it is for `'a`.
pub(crate) unsafe fn read<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: the caller's promise, and it is not NULL.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| Failure::new(sf_status::Text, format_args!("{what} is not UTF-8")))
}

/// The text of a C string that may be left out.
///
/// # Safety
/// As [`read`].
pub(crate) unsafe fn read_optional<'a>(text: *const c_char, what: &str) -> Result<Option<&'a str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { read(text, what) }.map(Some)
}

/// The handle behind a pointer that must not be NULL.
pub(crate) fn given<T>(handle: Option<T>, what: &str) -> Result<T, Failure> {
    handle.ok_or_else(|| Failure::null(what))
}

/// Returns what a status means in a few words: a constant text, not to be freed; for any other
/// number, a text that says that it is no status.
#[unsafe(no_mangle)]
pub extern "C" fn sf_status_text(status: i32) -> *const c_char {
    let texts = [
        c"success",
        c"a pointer is NULL",
        c"a text is not UTF-8",
        c"a name is not understood",
        c"the number of operands or results is not that of the operation",
        c"a code or random word has more bits than its format",
        c"the operation can't be done in this way",
        c"arrays overlap or are not aligned",
        c"a defect of smallfloat: please report it",
    ];
    let text = usize::try_from(status).ok().and_then(|i| texts.get(i)).unwrap_or(&c"no status of smallfloat");
    text.as_ptr()
}

/// Returns the version of the library, such as `0.1.0`: a constant text, not to be freed. It is the
/// version of the header that the library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn sf_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("a version has no zero byte"),
        };
    VERSION.as_ptr()
}
