//! Operations, and calls one by one.

use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::slice;
use std::sync::OnceLock;

use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::p3109::{Function, Specialization};
use smallfloat::random::Philox;
use smallfloat::{FlagPolicy, Flags, Format, Projection, Rounded};
use smallfloat_conformance::vectors::{CallOutcome, UnitUnderTest, under};

use crate::format::{sf_format, sf_projection};
use crate::kernel::Kernels;
use crate::memo::Memo;
use crate::status::{
    Failure, border, given, handle, read, read_optional, sf_error, sf_status, status, write,
};

/// An operation with its formats, its projection, and its rules for flags.
pub struct sf_operation {
    pub(crate) unit: UnitUnderTest,
    /// The largest value of each operand, random words among them.
    limits: Vec<u64>,
    memo: Option<Memo>,
    /// For scalars that are rounded without a random word: no more than the core needs.
    direct: Option<Direct>,
    pub(crate) kernels: OnceLock<Kernels>,
}

/// A numeric operation with its formats and projection.
struct Direct {
    operation: Operation,
    operands: [Format; 3],
    to: Format,
    projection: Projection,
    options: OperationOptions,
}

impl Direct {
    fn new(unit: &UnitUnderTest) -> Option<Self> {
        let call = unit.operation();
        let (Function::Numeric(operation), Some(to), Some(projection)) =
            (call.function(), call.result(), call.projection())
        else {
            return None;
        };
        if projection.rounding.is_stochastic() {
            return None;
        }
        let mut operands = [*to; 3];
        operands[..call.operands().len()].copy_from_slice(call.operands());
        Some(Self { operation, operands, to: *to, projection: *projection, options: call.arithmetic() })
    }

    fn call(&self, codes: &[u64]) -> (u64, Flags) {
        let mut operands = [Operand::new(0, &self.to); 3];
        for ((operand, format), code) in operands.iter_mut().zip(&self.operands).zip(codes) {
            *operand = Operand::new(*code, format);
        }
        let operands = &operands[..codes.len()];
        let Rounded { value, flags } =
            self.operation.evaluate(operands, &self.to, &self.projection, self.options);
        (value, flags)
    }
}

impl sf_operation {
    fn new(unit: UnitUnderTest) -> Self {
        let widths: Vec<u32> = unit.operands().iter().map(|field| field.bits).collect();
        let direct = Direct::new(&unit);
        let memo = match (unit.results(), &direct) {
            (_, Some(direct)) if direct.operation == Operation::Fma => {
                Memo::for_fma(direct.operands, &direct.to, direct.options.semantics)
            }
            ([result], _) => Memo::new(&widths, result.bits),
            _ => None,
        };
        let limits = unit.operands().iter().map(smallfloat_conformance::vectors::Field::max).collect();
        Self { unit, limits, memo, direct, kernels: OnceLock::new() }
    }

    /// Refuses operands that the operation does not have.
    pub(crate) fn check(&self, operands: &[u64]) -> Result<(), Failure> {
        let (name, expected) = (self.unit.operation().function().name(), self.limits.len());
        if operands.len() != expected {
            let given = operands.len();
            return Err(Failure::new(
                sf_status::Count,
                format_args!("{name} takes {expected} operands, random words among them; {given} are given"),
            ));
        }
        if let Some(i) = (0..expected).find(|&i| operands[i] > self.limits[i]) {
            let (code, field) = (operands[i], &self.unit.operands()[i]);
            return Err(Failure::new(
                sf_status::Code,
                format_args!(
                    "operand {} of {name}, {code:#x}, has more than {} bits",
                    field.name, field.bits
                ),
            ));
        }
        Ok(())
    }

    /// All results of one call.
    fn outcome(&self, operands: &[u64]) -> Result<CallOutcome, Failure> {
        self.check(operands)?;
        Ok(self.unit.evaluate(operands)?)
    }

    /// The single result of one call.
    pub(crate) fn call(&self, operands: &[u64]) -> Result<(u64, Flags), Failure> {
        let compute = || {
            if let Some(direct) = &self.direct {
                return Ok(direct.call(operands));
            }
            let outcome = self.unit.evaluate(operands)?;
            match outcome.results() {
                [result] => Ok((*result, outcome.flags)),
                results => {
                    let count = results.len();
                    let text = format_args!("the operation has {count} results: sf_call_all gives them");
                    Err(Failure::new(sf_status::Count, text))
                }
            }
        };
        self.check(operands)?;
        match &self.memo {
            Some(memo) => memo.get(operands, compute),
            None => compute(),
        }
    }
}

/// Returns a new operation from its text in the P3109 draft's spelling, with any formats:
/// `FMA<e4m3fn>`, `Add<e5m2, e5m2, binary32, (TowardZero, SatFinite)>`, `Exp<binary8p3se>`;
/// sf_op_free frees it. Returns NULL where the text is not understood (SF_STATUS_NAME) or the
/// operation is not implemented (SF_STATUS_UNSUPPORTED): `error`, which may be NULL, then says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_op(
    text: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_operation>> {
    // SAFETY: the caller's promise is the same.
    unsafe { sf_op_with(text, None, std::ptr::null(), error) }
}

/// Returns a new operation as sf_op does, with a projection for the result and with rules for
/// flags:
/// `tesla`, `ieee-before`, `ieee-after`, `riscv`, `arm` or `x86`, perhaps with changes as in
/// `arm,nan=canonical`. `projection` and `flags` may be NULL: the text's projection, and Tesla's
/// rules for Tesla's formats and `ieee-before` for others. A projection for another format than the
/// result's is refused (SF_STATUS_UNSUPPORTED).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_op_with(
    text: *const c_char,
    projection: Option<&sf_projection>,
    flags: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_operation>> {
    handle(error, || {
        // SAFETY: the header asks for C strings or NULL; so for the next one.
        let text = unsafe { read(text, "the operation's text") }?;
        // SAFETY: as above.
        let flags = unsafe { read_optional(flags, "the policy for flags") }?;
        let mut operation: Specialization = text.parse()?;
        if let (Some(projection), Some(to)) = (projection, operation.formats().last()) {
            operation = operation.with_projections(&[projection.to(to)?])?;
        }
        if let Some(flags) = flags {
            let policy: FlagPolicy = flags.parse()?;
            let arithmetic = under(operation.arithmetic(), policy, text.contains("semantics="));
            operation = operation.with_arithmetic(arithmetic);
        }
        Ok(sf_operation::new(UnitUnderTest::new(operation, None)?))
    })
}

/// Returns a new operation that converts codes of `from` to codes of `to` with one rounding;
/// sf_op_free frees it. `projection` and `flags` may be NULL, as for sf_op_with. Returns NULL where
/// a format is NULL or `flags` is not understood: `error`, which may be NULL, then says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_op_convert(
    from: Option<&sf_format>,
    to: Option<&sf_format>,
    projection: Option<&sf_projection>,
    flags: *const c_char,
    error: Option<&mut MaybeUninit<sf_error>>,
) -> Option<Box<sf_operation>> {
    handle(error, || {
        let (from, to) = (&given(from, "the source's format")?.0, &given(to, "the result's format")?.0);
        // SAFETY: the header asks for a C string or NULL.
        let flags = unsafe { read_optional(flags, "the policy for flags") }?;
        let mut unit = UnitUnderTest::convert(from, to, None, None, None)?;
        if let Some(projection) = projection {
            unit = UnitUnderTest::new(unit.operation().with_projections(&[projection.to(to)?])?, None)?;
        }
        if let Some(flags) = flags {
            unit = unit.with_flag_policy(flags.parse()?, true);
        }
        Ok(sf_operation::new(unit))
    })
}

/// Frees an operation; does nothing for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_op_free(op: Option<Box<sf_operation>>) {
    drop(op);
}

/// Writes the operation's full text, which sf_op understands, as sf_format_name writes. Returns the
/// length of the whole text in bytes without the final 0, or 0 where `op` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_op_text(op: Option<&sf_operation>, buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the header asks for a buffer of this size or NULL.
    let write = |text: &str| unsafe { write(text, buffer, size) };
    border(|| Ok(write(&given(op, "the operation")?.unit.operation().to_string()))).unwrap_or(0)
}

/// Returns how many operands a call takes: each scale, element and random word counts as one.
/// Returns 0 where `op` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_op_operands(op: Option<&sf_operation>) -> usize {
    op.map_or(0, |op| op.limits.len())
}

/// Returns how many results a call gives: 1, or as many as a block has codes; 0 where `op` is NULL.
#[unsafe(no_mangle)]
pub extern "C" fn sf_op_results(op: Option<&sf_operation>) -> usize {
    op.map_or(0, |op| op.unit.results().len())
}

/// Returns the width in bits of operand number `operand`, counted from 0, or of the results, which
/// all have one width, for −1. Returns 0 where there is no such operand.
#[unsafe(no_mangle)]
pub extern "C" fn sf_op_bits(op: Option<&sf_operation>, operand: i32) -> u32 {
    let Some(op) = op else { return 0 };
    let field = match usize::try_from(operand) {
        Ok(i) => op.unit.operands().get(i),
        Err(_) => op.unit.results().last(),
    };
    field.map_or(0, |field| field.bits)
}

fn call(
    op: Option<&sf_operation>,
    operands: &[u64],
    result: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    status(|| {
        let (op, result) = (given(op, "the operation")?, given(result, "the result")?);
        let (code, raised) = op.call(operands)?;
        result.write(code);
        if let Some(flags) = flags {
            flags.write(raised.bits().into());
        }
        Ok(())
    })
}

/// Calls an operation of one operand: sets `result` to a code (to 0 or 1 for a comparison, to the
/// place in the draft's list of classes for Class) and `flags`, which may be NULL, to what is
/// raised.
///
/// Returns SF_STATUS_OK; SF_STATUS_COUNT where the operation has another number of operands or
/// gives a block; SF_STATUS_CODE where an operand has more bits than its format; SF_STATUS_NULL.
/// `result` and `flags` keep what they had unless the call succeeds. So do the calls below.
#[unsafe(no_mangle)]
pub extern "C" fn sf_call1(
    op: Option<&sf_operation>,
    x: u64,
    result: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    call(op, &[x], result, flags)
}

/// Calls an operation of two operands, or of one and a random word: where the rounding is
/// stochastic, the word is the last operand. Returns as sf_call1 does.
#[unsafe(no_mangle)]
pub extern "C" fn sf_call2(
    op: Option<&sf_operation>,
    x: u64,
    y: u64,
    result: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    call(op, &[x, y], result, flags)
}

/// Calls an operation of three operands, or of two and a random word. Returns as sf_call1 does.
#[unsafe(no_mangle)]
pub extern "C" fn sf_call3(
    op: Option<&sf_operation>,
    x: u64,
    y: u64,
    z: u64,
    result: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    call(op, &[x, y, z], result, flags)
}

/// Calls an operation of three operands and a random word. Returns as sf_call1 does.
#[unsafe(no_mangle)]
pub extern "C" fn sf_call4(
    op: Option<&sf_operation>,
    x: u64,
    y: u64,
    z: u64,
    word: u64,
    result: Option<&mut MaybeUninit<u64>>,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    call(op, &[x, y, z, word], result, flags)
}

/// Calls any operation, those on blocks too: a block is its scale and then its elements, and random
/// words come last. `operand_count` is what sf_op_operands gives, `result_count` what sf_op_results
/// gives. Returns as sf_call1 does; `flags` are those of all results together.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_call_all(
    op: Option<&sf_operation>,
    operands: *const u64,
    operand_count: usize,
    results: *mut u64,
    result_count: usize,
    flags: Option<&mut MaybeUninit<u32>>,
) -> sf_status {
    status(|| {
        let op = given(op, "the operation")?;
        if operands.is_null() || results.is_null() {
            return Err(Failure::null("operands or results"));
        }
        if result_count != op.unit.results().len() {
            return Err(Failure::new(
                sf_status::Count,
                format_args!("the operation has {} results, not {result_count}", op.unit.results().len()),
            ));
        }
        // SAFETY: the header asks for arrays of these lengths.
        let outcome = op.outcome(unsafe { slice::from_raw_parts(operands, operand_count) })?;
        for (i, code) in outcome.results().iter().enumerate() {
            // SAFETY: as above; the outcome has as many results as the operation.
            unsafe { results.add(i).write(*code) };
        }
        if let Some(flags) = flags {
            flags.write(outcome.flags.bits().into());
        }
        Ok(())
    })
}

/// Returns the 32-bit random word of an element, by Philox4x32-10: a stochastic rounding with N
/// bits takes the upper N of it, so `word >> (32 - N)` is the operand of a call.
#[unsafe(no_mangle)]
pub extern "C" fn sf_random_word(seed: u64, stream: u64, element: u64) -> u32 {
    Philox { seed, stream }.word(element)
}
