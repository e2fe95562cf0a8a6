//! Sums of products and matrix products, as matrix units accumulate them.

use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::slice;

use smallfloat_kernels::{Code, Dot, Scales};

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
        let counted = |x: usize, y: usize| {
            let count = x.checked_mul(y).filter(|count| *count <= isize::MAX as usize / size_of::<f32>());
            count.ok_or_else(|| Failure::new(sf_status::Count, "matrices of more elements than memory has"))
        };
        if depth == 0 {
            return Err(Failure::new(sf_status::Count, "sums of 0 products: 1 is the least"));
        }
        let lengths = [counted(rows, depth)?, counted(columns, depth)?, counted(rows, columns)?];
        if lengths[2] == 0 {
            return Ok(());
        }
        if a.is_null() || b.is_null() || results.is_null() {
            return Err(Failure::null("a matrix"));
        }
        let aligned = a.addr().is_multiple_of(*bytes) && b.addr().is_multiple_of(*bytes);
        if !aligned || !results.addr().is_multiple_of(align_of::<f32>()) {
            return Err(Failure::new(sf_status::Array, "a matrix is not aligned"));
        }
        let ends = |start: usize, length: usize, size: usize| [start, start + length * size];
        let [written, left, right] = [
            ends(results.addr(), lengths[2], size_of::<f32>()),
            ends(a.addr(), lengths[0], *bytes),
            ends(b.addr(), lengths[1], *bytes),
        ];
        if [left, right].iter().any(|read| read[0] < written[1] && written[0] < read[1]) {
            return Err(Failure::new(sf_status::Array, "the results overlap an operand"));
        }
        // SAFETY: the header asks for matrices of these sizes; they are aligned, and the one that
        // is written overlaps no other. Its elements are given a value before they are read.
        unsafe {
            results.write_bytes(0, lengths[2]);
            let results = slice::from_raw_parts_mut(results, lengths[2]);
            match bytes {
                1 => products::<u8>(dot, [a, b], lengths, depth, results),
                _ => products::<u16>(dot, [a, b], lengths, depth, results),
            }
        }
        Ok(())
    })
}

/// # Safety
/// The matrices have so many codes of this type, and nobody writes them meanwhile.
unsafe fn products<C: Code>(
    dot: &Dot,
    matrices: [*const c_void; 2],
    lengths: [usize; 3],
    depth: usize,
    results: &mut [f32],
) {
    let [a, b] = matrices;
    // SAFETY: the caller's promise.
    let matrices = unsafe {
        [slice::from_raw_parts(a.cast::<C>(), lengths[0]), slice::from_raw_parts(b.cast::<C>(), lengths[1])]
    };
    dot.matmul_f32(matrices, depth, [Scales::Tensor(1.0); 2], results);
}
