//! Operations on arrays, by the kernels where they have them.

use std::ffi::c_void;
use std::slice;

use smallfloat::random::Philox;
use smallfloat::{DenormalRule, Flags, RandomBits, convert_with};
use smallfloat_kernels::{Code, Decoder, Element, Elementwise, Encoder, RandomWords};

use crate::kernel::{Kernel, Kernels, SHORT};
use crate::operation::sf_operation;
use crate::status::{Failure, given, sf_status, status};

/// Where a stochastic rounding takes its random words from: element i of the arrays takes word
/// `first` + i of Philox4x32-10, as `sf_random_word` gives it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct sf_random {
    /// Equal seeds give equal words, always and everywhere.
    pub seed: u64,
    /// Which of 2^64 independent sequences.
    pub stream: u64,
    /// The word of the arrays' first element.
    pub first: u64,
}

/// Computes `length` elements of an operation on scalars. Arrays hold codes as integers of 1, 2, 4
/// or 8 bytes, the smallest that the format fits in (so binary32 is `float` and binary64 `double`),
/// and truth values and classes as bytes. Operands that the operation does not have are NULL.
/// `flags` has one byte per element, and may be NULL. `random` gives the words of a stochastic
/// rounding, and is ignored otherwise. Bits of a code above its format's width are ignored.
///
/// Returns SF_STATUS_OK, for a `length` of 0 whatever the arrays are; SF_STATUS_COUNT where there
/// are more or fewer arrays than the operation has operands, or more elements than memory has;
/// SF_STATUS_ARRAY where the results or flags overlap an operand or each other, or an
/// array is not aligned; SF_STATUS_UNSUPPORTED for operations on blocks, which sf_call_all calls;
/// SF_STATUS_NULL.
///
/// Long arrays are shared between threads; the results do not depend on how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sf_batch(
    op: Option<&sf_operation>,
    length: usize,
    x: *const c_void,
    y: *const c_void,
    z: *const c_void,
    results: *mut c_void,
    flags: *mut u8,
    random: Option<&sf_random>,
) -> sf_status {
    status(|| {
        let op = given(op, "the operation")?;
        let operation = op.unit.operation();
        let arity = operation.parameters().len();
        if operation.length().is_some() || arity > 3 || op.unit.results().len() != 1 {
            let text = "operations on blocks have no arrays of operands: use sf_call_all";
            return Err(Failure::new(sf_status::Unsupported, text));
        }
        if length == 0 {
            return Ok(());
        }
        if length > isize::MAX as usize / size_of::<u64>() {
            return Err(Failure::new(sf_status::Count, "arrays of more elements than memory has"));
        }
        let pointers = [x, y, z];
        for (i, pointer) in pointers.iter().enumerate() {
            if pointer.is_null() == (i < arity) {
                return Err(Failure::new(
                    sf_status::Count,
                    format_args!("the operation takes {arity} arrays"),
                ));
            }
        }
        let is_stochastic =
            operation.projection().is_some_and(|projection| projection.rounding.is_stochastic());
        let words = random.map(|random| RandomWords {
            generator: Philox { seed: random.seed, stream: random.stream }.into(),
            first_element: random.first,
        });
        let words = if is_stochastic { Some(given(words, "the random words")?) } else { None };
        let bytes = |bits: u32| (bits.div_ceil(8) as usize).next_power_of_two();
        let result = Array { at: results.cast_const(), bytes: bytes(op.unit.results()[0].bits), length };
        let flag = Array { at: flags.cast_const().cast(), bytes: 1, length };
        let mut arrays = [result; 3];
        for ((array, field), pointer) in arrays.iter_mut().zip(op.unit.operands()).zip(pointers).take(arity) {
            *array = Array { at: pointer, bytes: bytes(field.bits), length };
        }
        let operands = &arrays[..arity];
        for array in operands.iter().chain([&result]) {
            array.check()?;
        }
        let apart = operands.iter().all(|array| !array.overlaps(&result) && !array.overlaps(&flag));
        if !apart || result.overlaps(&flag) {
            return Err(Failure::new(sf_status::Array, "the results overlap an operand"));
        }
        // SAFETY: the header asks for arrays of these lengths; they are aligned, and those that are
        // written overlap no other. The bytes are given a value before they are read.
        let flags = (!flags.is_null()).then(|| unsafe {
            flags.write_bytes(0, length);
            slice::from_raw_parts_mut(flags, length)
        });
        let mut flags = flags.map(|bytes| Raised { bytes, each: Vec::new() });
        let kernels = op.kernels.get_or_init(Kernels::default);
        let of_flags = if flags.is_some() { &kernels.flagged } else { &kernels.bare };
        let cell = &of_flags[usize::from(length > SHORT)];
        let kernel = if let Some(kernel) = cell.get() {
            kernel
        } else {
            let length = if length > SHORT { usize::MAX } else { SHORT };
            let made = Kernel::new(&op.unit, length, flags.is_some())?;
            cell.get_or_init(|| made)
        };
        let job = Job { op, kernel, operands, words };
        // SAFETY: as above, for the results; their width is that of the integer.
        unsafe {
            match result.bytes {
                1 => job.run(result.written::<u8>(), flags.as_mut()),
                2 => job.run(result.written::<u16>(), flags.as_mut()),
                4 => job.run(result.written::<u32>(), flags.as_mut()),
                _ => job.run(result.written::<u64>(), flags.as_mut()),
            }
        }
    })
}

/// An array of the caller's.
#[derive(Clone, Copy)]
struct Array {
    at: *const c_void,
    bytes: usize,
    length: usize,
}

impl Array {
    fn check(&self) -> Result<(), Failure> {
        if self.at.is_null() {
            return Err(Failure::null("an array"));
        }
        if !self.at.addr().is_multiple_of(self.bytes) {
            let text = format_args!("an array of integers of {} bytes is not aligned", self.bytes);
            return Err(Failure::new(sf_status::Array, text));
        }
        Ok(())
    }

    fn overlaps(&self, other: &Self) -> bool {
        let ends = |array: &Self| (array.at.addr(), array.at.addr() + array.bytes * array.length);
        let ((start, end), (other_start, other_end)) = (ends(self), ends(other));
        !self.at.is_null() && !other.at.is_null() && start < other_end && other_start < end
    }

    /// The elements.
    ///
    /// # Safety
    /// The array has them, nobody writes them meanwhile, and their type has its size and takes any
    /// bits.
    unsafe fn read<'a, T>(&self) -> &'a [T] {
        // SAFETY: the caller's promise; `check` has seen to the alignment.
        unsafe { slice::from_raw_parts(self.at.cast(), self.length) }
    }

    /// The elements, all 0.
    ///
    /// # Safety
    /// As [`read`](Self::read), and nobody else reads them.
    unsafe fn written<'a, T>(&self) -> &'a mut [T] {
        let at: *mut T = self.at.cast_mut().cast();
        // SAFETY: the caller's promise; `check` has seen to the alignment.
        unsafe {
            at.write_bytes(0, self.length);
            slice::from_raw_parts_mut(at, self.length)
        }
    }
}

/// Where flags go.
struct Raised<'a> {
    bytes: &'a mut [u8],
    each: Vec<Flags>,
}

impl Raised<'_> {
    /// Flags for the elements from `start` on, to be filled and given to [`keep`](Self::keep).
    fn room(&mut self, length: usize) -> &mut [Flags] {
        self.each.clear();
        self.each.resize(length, Flags::NONE);
        &mut self.each
    }

    fn keep(&mut self, start: usize) {
        for (byte, flags) in self.bytes[start..].iter_mut().zip(&self.each) {
            *byte = flags.bits();
        }
    }
}

struct Job<'a> {
    op: &'a sf_operation,
    kernel: &'a Kernel,
    operands: &'a [Array],
    words: Option<RandomWords>,
}

/// Elements that are computed at once where operands are widened or flags are kept.
const PIECE: usize = 1 << 14;

impl Job<'_> {
    /// # Safety
    /// The operands are arrays of the caller's that stay as they are, of integers of their sizes.
    unsafe fn run<R: Code>(&self, results: &mut [R], flags: Option<&mut Raised<'_>>) -> Result<(), Failure> {
        let x = self.operands[0];
        // SAFETY: the caller's promise; every bit pattern is a float or an integer.
        unsafe {
            match self.kernel {
                Kernel::FromBinary32(encoder) => return self.encode(encoder, x.read(), results, flags),
                Kernel::FromBinary64(encoder) => return self.encode(encoder, x.read(), results, flags),
                Kernel::FromBinary16(encoder) => return self.encode(encoder, x.read(), results, flags),
                Kernel::FromBfloat16(encoder) => return self.encode(encoder, x.read(), results, flags),
                Kernel::ToBinary32(decoder) => decode(decoder, x, results),
                Kernel::ToBinary64(decoder) => decode(decoder, x, results),
                Kernel::ToBinary16(decoder) => decode(decoder, x, results),
                Kernel::ToBfloat16(decoder) => decode(decoder, x, results),
                Kernel::Recode(recode) => {
                    recode.recode(x.read::<u8>(), results);
                }
                Kernel::Elementwise(kernel) => self.elementwise(kernel, results, flags),
                Kernel::Calls => return self.calls(results, flags),
            }
        }
        Ok(())
    }

    fn encode<T: Element, R: Code>(
        &self,
        encoder: &Encoder<T>,
        x: &[T],
        results: &mut [R],
        flags: Option<&mut Raised<'_>>,
    ) -> Result<(), Failure> {
        let Some(flags) = flags else {
            match self.words {
                Some(words) => {
                    encoder.encode_random(x, results, words);
                }
                None => encoder.encode_uncounted(x, results),
            }
            return Ok(());
        };
        let policy = self.op.unit.flag_policy();
        let kept = if policy.denormal == DenormalRule::Never {
            Flags::ALL.without(Flags::DENORMAL)
        } else {
            Flags::ALL
        };
        let (to, projection) = (encoder.format(), self.op.unit.operation().projection());
        let projection = given(projection, "the projection")?;
        for (i, (x, results)) in x.chunks(PIECE).zip(results.chunks_mut(PIECE)).enumerate() {
            let room = flags.room(x.len());
            encoder.encode_with_flags(x, results, room);
            for (x, flags) in x.iter().zip(room) {
                *flags = if x.to_f64().is_nan() {
                    convert_with(x.bits(), &T::FORMAT, to, projection, policy).flags
                } else {
                    *flags & kept
                };
            }
            flags.keep(i * PIECE);
        }
        Ok(())
    }

    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn elementwise<R: Code>(
        &self,
        kernel: &Elementwise,
        results: &mut [R],
        flags: Option<&mut Raised<'_>>,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.operands.iter().all(|array| array.bytes == 1) {
                self.by_type::<u8, R>(kernel, |array, at| &array.read::<u8>()[at], results, flags);
            } else if self.operands.iter().all(|array| array.bytes == 2) {
                self.by_type::<u16, R>(kernel, |array, at| &array.read::<u16>()[at], results, flags);
            } else {
                self.widened(kernel, results, flags);
            }
        }
    }

    /// Operands of one integer type.
    fn by_type<'a, X: Code, R: Code>(
        &self,
        kernel: &Elementwise,
        read: impl Fn(&Array, std::ops::Range<usize>) -> &'a [X],
        results: &mut [R],
        flags: Option<&mut Raised<'_>>,
    ) {
        let Some(flags) = flags else {
            let all = 0..results.len();
            let slices: Vec<&[X]> = self.operands.iter().map(|array| read(array, all.clone())).collect();
            apply(kernel, &slices, results, None, self.words);
            return;
        };
        for (i, results) in results.chunks_mut(PIECE).enumerate() {
            let start = i * PIECE;
            let at = start..start + results.len();
            let slices: Vec<&[X]> = self.operands.iter().map(|array| read(array, at.clone())).collect();
            let room = flags.room(results.len());
            apply(kernel, &slices, results, Some(room), self.words_from(start));
            flags.keep(start);
        }
    }

    /// Operands of several integer types, a piece at a time.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn widened<R: Code>(
        &self,
        kernel: &Elementwise,
        results: &mut [R],
        mut flags: Option<&mut Raised<'_>>,
    ) {
        for (i, results) in results.chunks_mut(PIECE).enumerate() {
            let start = i * PIECE;
            let at = start..start + results.len();
            // SAFETY: the caller's promise.
            let wide = |array: &Array| unsafe { array.widen(at.clone()) };
            let wide: Vec<Vec<u64>> = self.operands.iter().map(wide).collect();
            let slices: Vec<&[u64]> = wide.iter().map(Vec::as_slice).collect();
            let words = self.words_from(start);
            match &mut flags {
                None => apply(kernel, &slices, results, None, words),
                Some(flags) => {
                    apply(kernel, &slices, results, Some(flags.room(results.len())), words);
                    flags.keep(start);
                }
            }
        }
    }

    /// The words of the elements from `start` on.
    fn words_from(&self, start: usize) -> Option<RandomWords> {
        let first = |words: RandomWords| words.first_element.wrapping_add(start as u64);
        self.words.map(|words| RandomWords { first_element: first(words), ..words })
    }

    /// Call by call.
    ///
    /// # Safety
    /// As [`run`](Self::run).
    unsafe fn calls<R: Code>(
        &self,
        results: &mut [R],
        mut flags: Option<&mut Raised<'_>>,
    ) -> Result<(), Failure> {
        let fields = self.op.unit.operands();
        let count = self.op.unit.operation().projection().and_then(|how| how.rounding.random_bits());
        let mut operands = vec![0; fields.len()];
        for (i, result) in results.iter_mut().enumerate() {
            for ((operand, array), field) in operands.iter_mut().zip(self.operands).zip(fields) {
                // SAFETY: the caller's promise.
                *operand = unsafe { array.widen(i..i + 1) }[0] & field.max();
            }
            if let (Some(words), Some(count), Some(word)) = (self.words, count, operands.last_mut()) {
                let element = words.first_element.wrapping_add(i as u64);
                let drawn = words.generator.block(element / 4)[(element % 4) as usize];
                *word = RandomBits::from_word32(count.count(), drawn)?.word();
            }
            let (code, raised) = self.op.call(&operands)?;
            *result = R::truncate(code);
            if let Some(flags) = &mut flags {
                flags.bytes[i] = raised.bits();
            }
        }
        Ok(())
    }
}

impl Array {
    /// Elements as integers of 64 bits.
    ///
    /// # Safety
    /// As [`read`](Self::read).
    unsafe fn widen(&self, at: std::ops::Range<usize>) -> Vec<u64> {
        fn all<T: Copy + Into<u64>>(codes: &[T]) -> Vec<u64> {
            codes.iter().map(|code| (*code).into()).collect()
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.bytes {
                1 => all(&self.read::<u8>()[at]),
                2 => all(&self.read::<u16>()[at]),
                4 => all(&self.read::<u32>()[at]),
                _ => self.read::<u64>()[at].to_vec(),
            }
        }
    }
}

fn apply<X: Code, R: Code>(
    kernel: &Elementwise,
    operands: &[&[X]],
    results: &mut [R],
    flags: Option<&mut [Flags]>,
    words: Option<RandomWords>,
) {
    match (operands, flags) {
        ([x], None) => kernel.unary(x, results, words),
        ([x, y], None) => kernel.binary(x, y, results, words),
        ([x, y, z], None) => kernel.ternary(x, y, z, results, words),
        ([x], Some(flags)) => kernel.unary_with_flags(x, results, flags, words),
        ([x, y], Some(flags)) => kernel.binary_with_flags(x, y, results, flags, words),
        ([x, y, z], Some(flags)) => kernel.ternary_with_flags(x, y, z, results, flags, words),
        _ => unreachable!("operations on scalars have one to three operands"),
    };
}

/// # Safety
/// As [`Job::run`]; the results are integers of the size of `T`, which takes any bits.
unsafe fn decode<T: Element, R: Code>(decoder: &Decoder<T>, codes: Array, results: &mut [R]) {
    assert_eq!((size_of::<T>(), align_of::<T>()), (size_of::<R>(), align_of::<R>()), "a float's own bits");
    // SAFETY: the caller's promise, and what was just looked at.
    unsafe {
        let values = slice::from_raw_parts_mut(results.as_mut_ptr().cast::<T>(), results.len());
        match codes.bytes {
            1 => decoder.decode(codes.read::<u8>(), values),
            _ => decoder.decode(codes.read::<u16>(), values),
        }
    }
}
