//! What is wrong with a result, in words.

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use smallfloat::Flags;
use smallfloat_conformance::explain::explain;
use smallfloat_conformance::vectors::CallOutcome;

use crate::operation::sf_operation;
use crate::status::{Failure, border, given, sf_status, write};

unsafe extern "C" {
    /// The C library's: writes out what a stream, or with NULL all of them, has buffered.
    fn fflush(stream: *mut c_void) -> c_int;
}

/// Writes what a unit under test should have given for these operands, between which values the
/// exact result lies, and which mistakes would give what it gave. Flags are compared where `mask`
/// has them: 0 for values alone.
///
/// Returns the length of the whole text in bytes, as sf_format_name does: 0 where the result is
/// right, and also where it can't be judged (NULL, another number of operands, a code with too many
/// bits, an operation on blocks).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_explain(
    op: Option<&sf_operation>,
    operands: *const u64,
    operand_count: usize,
    given_result: u64,
    given_flags: u32,
    mask: u32,
    buffer: *mut c_char,
    size: usize,
) -> usize {
    let text = || {
        let op = given(op, "the operation")?;
        if operands.is_null() {
            return Err(Failure::null("the operands"));
        }
        // SAFETY: the header asks for an array of this length.
        let operands = unsafe { slice::from_raw_parts(operands, operand_count) };
        let text = text(op, operands, given_result, given_flags, mask)?;
        // SAFETY: the header asks for a buffer of this size or NULL.
        Ok(unsafe { write(&text, buffer, size) })
    };
    border(text).unwrap_or(0)
}

/// Prints the text of sf_explain to standard output, for simulators that have no buffers. Operands
/// that the operation does not have are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn sf_print_mismatch(
    op: Option<&sf_operation>,
    x: u64,
    y: u64,
    z: u64,
    word: u64,
    given_result: u64,
    given_flags: u32,
    mask: u32,
) {
    let print = || {
        let op = given(op, "the operation")?;
        let operands = [x, y, z, word];
        let operands = operands.get(..op.unit.operands().len());
        let operands = given(operands, "an operation of blocks")?;
        let text = text(op, operands, given_result, given_flags, mask)?;
        // What the program wrote before may wait in a buffer of C's.
        // SAFETY: of NULL it writes out all streams.
        unsafe { fflush(std::ptr::null_mut()) };
        print!("{text}");
        Ok(())
    };
    // There is nobody to tell.
    let _ = border(print);
}

fn text(
    op: &sf_operation,
    operands: &[u64],
    given_result: u64,
    given_flags: u32,
    mask: u32,
) -> Result<String, Failure> {
    op.check(operands)?;
    if op.unit.results().len() != 1 {
        return Err(Failure::new(sf_status::Unsupported, "operations on blocks are not explained"));
    }
    let flags = |bits: u32| Flags::from_bits_truncate(bits.to_le_bytes()[0]);
    let found = CallOutcome::one(given_result, flags(given_flags));
    Ok(explain(&op.unit, operands, &found, flags(mask))?.unwrap_or_default())
}
