//! Sums of products and matrix products, as matrix units accumulate them.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

use smallfloat_kernels::{Accumulate, Code, Dot, ScaledDot, Scales};

use crate::format::sf_format;
use crate::status::{Failure, given, handle, read, sf_error, sf_status, status};

/// Products of two formats with an accumulator.
pub struct sf_dot {
    dot: Dot,
    /// The bytes of a code, of both formats.
    bytes: usize,
}

/// Returns products of codes of two formats, to be freed with sf_dot_free, whose sums accumulate as
/// `f32`, `exact`, a GPU's matrix unit (`hopper`, `hopper:promote=128`, `blackwell`, `cdna3`, …),
/// its parameters (`fused:k=32,fraction=13,output=e8m13`), or in a format by its name. Returns NULL
/// on failure, for which `error` (or NULL) has the reason: SF_STATUS_NAME for an accumulator that
/// is not understood; SF_STATUS_UNSUPPORTED for formats of more than 8 bits, with matrix units 16,
/// for which the unit has no instruction, or whose codes have different numbers of bytes;
/// SF_STATUS_TEXT; SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_dot_new(
    x: Option<&sf_format>,
    y: Option<&sf_format>,
    accumulate: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_dot>> {
    handle(error, || {
        let (x, y) = (&given(x, "the first format")?.0, &given(y, "the second format")?.0);
        // SAFETY: the header asks for a C string or NULL.
        let accumulate = unsafe { read(accumulate, "the accumulator") }?;
        let accumulate = accumulate.parse().map_err(|error| Failure::new(sf_status::Name, error))?;
        let dot = Dot::new(x, y, accumulate)?;
        let [bytes, other] = [x, y].map(|format| if format.width() > 8 { 2 } else { 1 });
        if bytes != other {
            let text =
                format_args!("codes of {x} and {y} have {bytes} and {other} bytes: products take one size");
            return Err(Failure::new(sf_status::Unsupported, text));
        }
        Ok(sf_dot { dot, bytes })
    })
}

/// Frees products; nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_dot_free(dot: Option<Box<sf_dot>>) {
    drop(dot);
}

/// Writes the products of `rows` rows of A with `columns` rows of B, each of `depth` codes: result
/// r · `columns` + c is the sum over row r of A and row c of B, in binary32, to which an
/// accumulator of more bits is rounded to nearest even. A single sum has one row and one column.
/// Codes are `uint8_t`, or `uint16_t` of formats of more than 8 bits; bits above a format's width
/// are ignored. Returns SF_STATUS_OK, for no rows or no columns whatever the matrices are;
/// SF_STATUS_COUNT for a `depth` of 0, or more elements than
/// memory has; SF_STATUS_ARRAY where the results overlap A or B, or a matrix is not aligned;
/// SF_STATUS_NULL.
///
/// Large products are shared between threads; the results do not depend on how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_dot_matmul(
    dot: Option<&sf_dot>,
    rows: usize,
    columns: usize,
    depth: usize,
    a: *const c_void,
    b: *const c_void,
    results: *mut f32,
) -> sf_status {
    status(|| {
        let sf_dot { dot, bytes } = given(dot, "the products")?;
        // SAFETY: the header asks for matrices of these sizes.
        unsafe {
            match bytes {
                1 => products::<u8>(dot, [rows, columns, depth], [a, b], results),
                _ => products::<u16>(dot, [rows, columns, depth], [a, b], results),
            }
        }
    })
}

/// # Safety
/// The matrices have so many codes of this type for these rows, columns and depth, and nobody
/// writes them meanwhile.
unsafe fn products<C: Code>(
    dot: &Dot,
    [rows, columns, depth]: [usize; 3],
    [a, b]: [*const c_void; 2],
    results: *mut f32,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    unsafe {
        let read = |start: *const c_void, rows| Read::new(start.cast::<C>(), rows, depth);
        let (a, b) = (read(a, rows)?, read(b, columns)?);
        let Some(results) = written(results, [rows, columns, depth], &[a.place(), b.place()])? else {
            return Ok(());
        };
        dot.matmul_f32([a.slice(), b.slice()], depth, [Scales::Tensor(1.0); 2], results);
    }
    Ok(())
}

/// Products of two formats with block scales.
pub struct sf_scaled_dot {
    dot: ScaledDot,
}

/// Returns products of codes of two formats in blocks with scales, to be freed with
/// sf_scaled_dot_free, as the matrix units of `blackwell` or `rtx-blackwell` compute them: `x` and
/// `y` are two of `e4m3fn`, `e5m2`, `e3m2fn`, `e2m3fn` and `e2m1fn` with `scale` `e8m0fnu` and
/// `block` 32 (MXFP8, MXFP6, MXFP4), or both are `e2m1fn` with `e8m0fnu` or `e4m3fn` and 16 or 32
/// (MXFP4, NVFP4). Returns NULL on failure, for which `error` (or NULL) has the reason:
/// SF_STATUS_NAME for a unit that is not understood; SF_STATUS_UNSUPPORTED for another one, or
/// formats and blocks that it does not take; SF_STATUS_TEXT; SF_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_scaled_dot_new(
    x: Option<&sf_format>,
    y: Option<&sf_format>,
    scale: Option<&sf_format>,
    block: usize,
    unit: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_scaled_dot>> {
    handle(error, || {
        let (x, y) = (&given(x, "the first format")?.0, &given(y, "the second format")?.0);
        let scale = &given(scale, "the format of scales")?.0;
        // SAFETY: the header asks for a C string or NULL.
        let unit = unsafe { read(unit, "the matrix unit") }?;
        let unit = match unit.parse().map_err(|error| Failure::new(sf_status::Name, error))? {
            Accumulate::Unit(unit) => unit,
            other => {
                let text = format_args!("{other} takes no block scales: blackwell and rtx-blackwell do");
                return Err(Failure::new(sf_status::Unsupported, text));
            }
        };
        Ok(sf_scaled_dot { dot: unit.scaled_dot(x, y, scale, block)? })
    })
}

/// Frees products; nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_scaled_dot_free(dot: Option<Box<sf_scaled_dot>>) {
    drop(dot);
}

/// Writes the products of `rows` rows of A with `columns` rows of B, as sf_dot_matmul does, of
/// codes in bytes. Each row has the code of a scale for each of its blocks, in order; the last
/// block may be short. So `a_scales` has `rows` · n of them and `b_scales` has `columns` · n, where
/// n is `depth` divided by the size of a block, rounded up. Signs of scales are ignored. Scales of
/// whole tensors, as NVFP4 has them, are left to the caller. Returns the statuses of sf_dot_matmul,
/// for which scales are matrices too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_scaled_dot_matmul(
    dot: Option<&sf_scaled_dot>,
    rows: usize,
    columns: usize,
    depth: usize,
    a: *const u8,
    b: *const u8,
    a_scales: *const u8,
    b_scales: *const u8,
    results: *mut f32,
) -> sf_status {
    status(|| {
        let dot = &given(dot, "the products")?.dot;
        let blocks = depth.div_ceil(dot.block());
        // SAFETY: the header asks for matrices of these sizes.
        unsafe {
            let (a, b) = (Read::new(a, rows, depth)?, Read::new(b, columns, depth)?);
            let (s, t) = (Read::new(a_scales, rows, blocks)?, Read::new(b_scales, columns, blocks)?);
            let places = [a.place(), b.place(), s.place(), t.place()];
            let Some(results) = written(results, [rows, columns, depth], &places)? else { return Ok(()) };
            dot.matmul([a.slice(), b.slice()], depth, [s.slice(), t.slice()], results);
        }
        Ok(())
    })
}

/// A matrix that is read.
struct Read<T> {
    start: *const T,
    count: usize,
}

impl<T> Read<T> {
    fn new(start: *const T, rows: usize, length: usize) -> Result<Self, Failure> {
        Ok(Self { start, count: counted(rows, length)? })
    }

    fn place(&self) -> Place {
        let start = self.start.addr();
        let end = start.saturating_add(self.count * size_of::<T>());
        Place { start, end, is_aligned: self.start.is_aligned() }
    }

    /// # Safety
    /// The matrix is there, it is checked, and nobody writes it meanwhile.
    unsafe fn slice<'a>(&self) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { slice::from_raw_parts(self.start, self.count) }
    }
}

/// Where a matrix lies.
struct Place {
    start: usize,
    end: usize,
    is_aligned: bool,
}

/// How many elements there are, if so many numbers fit into memory.
fn counted(rows: usize, length: usize) -> Result<usize, Failure> {
    let count = rows.checked_mul(length).filter(|count| *count <= isize::MAX as usize / size_of::<f32>());
    count.ok_or_else(|| Failure::new(sf_status::Count, "matrices of more elements than memory has"))
}

/// The results, after all matrices were checked; `None` if there are none.
///
/// # Safety
/// The results are there, and nobody else reads or writes them.
unsafe fn written<'a>(
    results: *mut f32,
    [rows, columns, depth]: [usize; 3],
    reads: &[Place],
) -> Result<Option<&'a mut [f32]>, Failure> {
    if depth == 0 {
        return Err(Failure::new(sf_status::Count, "sums of 0 products: 1 is the least"));
    }
    let to = Read::new(results.cast_const(), rows, columns)?;
    if to.count == 0 {
        return Ok(None);
    }
    let Place { start, end, is_aligned } = to.place();
    if start == 0 || reads.iter().any(|read| read.start == 0) {
        return Err(Failure::null("a matrix"));
    }
    if !is_aligned || reads.iter().any(|read| !read.is_aligned) {
        return Err(Failure::new(sf_status::Array, "a matrix is not aligned"));
    }
    if reads.iter().any(|read| read.start < end && start < read.end) {
        return Err(Failure::new(sf_status::Array, "the results overlap an operand"));
    }
    // SAFETY: the caller's promise; they are aligned and overlap nothing that is read. Their
    // elements are given a value before they are read.
    unsafe {
        results.write_bytes(0, to.count);
        Ok(Some(slice::from_raw_parts_mut(results, to.count)))
    }
}
