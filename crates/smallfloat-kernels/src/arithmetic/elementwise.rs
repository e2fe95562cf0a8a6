//! [`Elementwise`]: a numeric operation over slices of codes.

use std::ops::Range;
use std::sync::OnceLock;

use smallfloat::p3109::{Function, Specialization};
use smallfloat::{FlagPolicy, Flags, Format, RandomBits};

use crate::arch::level::Level;
use crate::arithmetic::call::{Call, Path};
use crate::arithmetic::operands::Operands;
use crate::arithmetic::simd::SimdElementwise;
use crate::element::{Code, Codes, CodesMut, check_code, check_lengths, check_operand};
use crate::encode::recode::SimdRecoder;
use crate::error::Error;
use crate::parallel;
use crate::random::{Generator, RandomWords, WordByWord};
use crate::target::Target;

/// One operation of one to three operands over slices of codes, with the results and flags of
/// [`Specialization::call`]; the flags are by the rules of [`FlagPolicy::TESLA`], which those of
/// IEEE 754 differ from in NaN and subnormal operands, unless [`with_policy`](Self::with_policy)
/// names others.
///
/// Sums, differences, products and FMA of codes of up to 8 bits are computed by vectors: in lanes
/// of a byte, with AVX-512, where formats are signed and have at most three trailing significand
/// bits, else where binary32 is wide enough and there is an encoder by vectors; minima and maxima
/// where operands and result share a format. Other operands of up to 16 bits together are looked up
/// in a table of all results, which the core fills, by vectors where one byte becomes another. FMA
/// and FAA of two such operands and a short third one go through the distinct values of x·y or x +
/// y: an 8-bit format has a few thousand of them, and each has a row for all third operands.
/// Everything else, and stochastic rounding, goes through the core element by element, to the same
/// codes. Neither level nor threads nor chunks nor the data change a bit.
///
/// ```
/// use smallfloat_kernels::Elementwise;
/// let fma = "FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>".parse()?;
/// let fma = Elementwise::for_length(&fma, 2)?;
/// let mut results = [0_u8; 2];
/// fma.ternary(&[0x1e_u8, 0x40], &[0x7e_u8, 0x40], &[0x01_u8, 0x40], &mut results, None);
/// assert_eq!(results, [0x5d, 0x44]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Elementwise {
    call: Call,
    level: Level,
    vectors: Option<SimdElementwise>,
    /// Elements expected: tables larger than that are not worth their making.
    length: usize,
    /// The words of a stochastic rounding, where calls bring none.
    words: Option<RandomWords>,
    /// Found when it is first needed, which vectors may save.
    path: OnceLock<Path>,
    /// The table of an operation of one operand, by vectors.
    recoder: OnceLock<Option<SimdRecoder>>,
}

impl Elementwise {
    /// Returns the operation for slices of any length, with a deterministic rounding.
    ///
    /// # Errors
    /// A function that is not numeric (a comparison, a predicate, a query, a block operation), and
    /// a stochastic rounding, which [`seeded`](Self::seeded) takes.
    pub fn new(specialization: &Specialization) -> Result<Self, Error> {
        let projection = specialization.projection();
        match projection.map(|projection| projection.rounding).filter(|rounding| rounding.is_stochastic()) {
            Some(rounding) => Err(Error::NoRandomWords { mode: rounding.name() }),
            None => Self::for_length(specialization, usize::MAX),
        }
    }

    /// Returns the operation with a stochastic rounding, whose i-th element takes the generator's
    /// i-th word unless a call brings others (a deterministic rounding ignores the words).
    ///
    /// ```
    /// use smallfloat::random::Philox;
    /// use smallfloat_kernels::Elementwise;
    /// let sum = "Add<e5m2, e5m2, e5m2, (StochasticA<8>, SatNone)>".parse()?;
    /// let sum = Elementwise::seeded(&sum, Philox::new(7))?;
    /// let mut results = [0_u8; 100];
    /// // 1 + 1/8, halfway between 1 and 1.25.
    /// sum.binary(&[0x3c_u8; 100], &[0x30_u8; 100], &mut results, None);
    /// assert!(results.contains(&0x3c) && results.contains(&0x3d));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A function that is not numeric, and a stochastic rounding with more than 32 random bits.
    pub fn seeded(specialization: &Specialization, generator: impl Into<Generator>) -> Result<Self, Error> {
        let words = RandomWords { generator: generator.into(), first_element: 0 };
        Ok(Self { words: Some(words), ..Self::for_length(specialization, usize::MAX)? })
    }

    /// Returns the operation for about this many elements: fewer than a table has entries go
    /// through the core, to the same codes. With a stochastic rounding each call brings its words.
    ///
    /// # Errors
    /// A function that is not numeric, and a stochastic rounding with more than 32 random bits.
    pub fn for_length(specialization: &Specialization, length: usize) -> Result<Self, Error> {
        Self::build(specialization, length, true)
    }

    /// Returns the operation for results without flags, which P3109 does not have: smaller tables,
    /// so more speed. All methods return no flags.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn without_flags(specialization: &Specialization) -> Result<Self, Error> {
        Self::build(specialization, usize::MAX, false)
    }

    fn build(specialization: &Specialization, length: usize, flags: bool) -> Result<Self, Error> {
        let (Function::Numeric(operation), Some(to), Some(projection)) =
            (specialization.function(), specialization.result(), specialization.projection())
        else {
            return Err(Error::NotElementwise { name: specialization.function().name() });
        };
        if let Some(bits) = projection.rounding.random_bits() {
            RandomBits::from_word32(bits.count(), 0)?;
        }
        let call = Call {
            operation,
            operands: specialization.operands().to_vec(),
            to: *to,
            projection: *projection,
            arithmetic: specialization.arithmetic().with_flags(FlagPolicy::TESLA),
            flags,
        };
        let this = Self {
            call,
            level: Level::Portable,
            vectors: None,
            length,
            words: None,
            path: OnceLock::new(),
            recoder: OnceLock::new(),
        };
        Ok(this.with_level(Level::detected()))
    }

    /// Returns this with the kernels of another level; of a level that the machine can't run, with
    /// those of the highest it can. The results are the same.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        let Call { operation, operands, to, projection, arithmetic, .. } = &self.call;
        self.level = level.at_most_available();
        self.recoder = OnceLock::new();
        let target = Target { format: to, projection };
        self.vectors = if self.call.is_tesla() {
            SimdElementwise::new(self.level, *operation, operands, target, *arithmetic)
        } else {
            None
        };
        self
    }

    /// Returns this with flags and NaN results by another policy, as
    /// [`OperationOptions::with_flags`](smallfloat::ops::OperationOptions::with_flags) has it:
    /// through tables and the core, without vectors, whose flags are Tesla's.
    ///
    /// ```
    /// use smallfloat::{FlagPolicy, Flags, formats::E5M2};
    /// use smallfloat_kernels::Elementwise;
    /// let sum = Elementwise::new(&"Add<e5m2, e5m2, e5m2>".parse()?)?.with_policy(FlagPolicy::RISCV);
    /// let (mut results, quiet) = ([0_u8], 0xfe_u8);
    /// assert_eq!(sum.binary(&[quiet], &[0x3c_u8], &mut results, None), Flags::NONE);
    /// assert_eq!(results, [0x7e]); // the canonical NaN
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_policy(mut self, policy: FlagPolicy) -> Self {
        self.call.arithmetic = self.call.arithmetic.with_flags(policy);
        self.path = OnceLock::new();
        let level = self.level;
        self.with_level(level)
    }

    /// Returns the level of the kernels this operation uses.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Computes a unary operation and returns all flags raised. A stochastic rounding takes the
    /// words; the others ignore them.
    ///
    /// # Panics
    /// If the operation is not unary, slices differ in length, a code type is too narrow for its
    /// format or a scalar of another, or a stochastic rounding gets no words. Bits of a code above
    /// its format's width are ignored; so in the others.
    pub fn unary<X: Code, R: Code>(&self, x: &[X], results: &mut [R], words: Option<RandomWords>) -> Flags {
        self.any_unary(x, results, None, words)
    }

    /// Like [`unary`](Self::unary), with the flags of each element.
    ///
    /// # Panics
    /// As [`unary`](Self::unary).
    pub fn unary_with_flags<X: Code, R: Code>(
        &self,
        x: &[X],
        results: &mut [R],
        flags: &mut [Flags],
        words: Option<RandomWords>,
    ) -> Flags {
        self.any_unary(x, results, Some(flags), words)
    }

    fn any_unary<X: Code, R: Code>(
        &self,
        x: &[X],
        results: &mut [R],
        flags: Option<&mut [Flags]>,
        words: Option<RandomWords>,
    ) -> Flags {
        let words = self.check::<R>(&[Given::new(x)], results.len(), flags.as_deref(), words);
        self.compute([X::as_codes(x), NONE, NONE], R::as_codes_mut(results), flags, words)
    }

    /// Computes a binary operation and returns all flags raised.
    ///
    /// # Panics
    /// As [`unary`](Self::unary).
    pub fn binary<X: Code, Y: Code, R: Code>(
        &self,
        x: &[X],
        y: &[Y],
        results: &mut [R],
        words: Option<RandomWords>,
    ) -> Flags {
        self.any_binary(x, y, results, None, words)
    }

    /// Like [`binary`](Self::binary), with the flags of each element.
    ///
    /// ```
    /// use smallfloat::{E4M3Fn, Flags};
    /// use smallfloat_kernels::Elementwise;
    /// let product = Elementwise::new(&"Multiply<e4m3fn, e4m3fn, e4m3fn>".parse()?)?;
    /// let x = [1.5, 1.125, 448.0].map(E4M3Fn::from_f32);
    /// let (mut squares, mut flags) = ([E4M3Fn::ZERO; 3], [Flags::NONE; 3]);
    /// product.binary_with_flags(&x, &x, &mut squares, &mut flags, None);
    /// assert_eq!([squares[0], squares[1]].map(E4M3Fn::to_f32), [2.25, 1.25]);
    /// assert_eq!(flags, [Flags::NONE, Flags::INEXACT, Flags::OVERFLOW | Flags::INEXACT]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// As [`unary`](Self::unary).
    pub fn binary_with_flags<X: Code, Y: Code, R: Code>(
        &self,
        x: &[X],
        y: &[Y],
        results: &mut [R],
        flags: &mut [Flags],
        words: Option<RandomWords>,
    ) -> Flags {
        self.any_binary(x, y, results, Some(flags), words)
    }

    fn any_binary<X: Code, Y: Code, R: Code>(
        &self,
        x: &[X],
        y: &[Y],
        results: &mut [R],
        flags: Option<&mut [Flags]>,
        words: Option<RandomWords>,
    ) -> Flags {
        let given = [Given::new(x), Given::new(y)];
        let words = self.check::<R>(&given, results.len(), flags.as_deref(), words);
        self.compute([X::as_codes(x), Y::as_codes(y), NONE], R::as_codes_mut(results), flags, words)
    }

    /// Computes a ternary operation and returns all flags raised.
    ///
    /// # Panics
    /// As [`unary`](Self::unary).
    pub fn ternary<X: Code, Y: Code, Z: Code, R: Code>(
        &self,
        x: &[X],
        y: &[Y],
        z: &[Z],
        results: &mut [R],
        words: Option<RandomWords>,
    ) -> Flags {
        self.any_ternary((x, y, z), results, None, words)
    }

    /// Like [`ternary`](Self::ternary), with the flags of each element.
    ///
    /// # Panics
    /// As [`unary`](Self::unary).
    pub fn ternary_with_flags<X: Code, Y: Code, Z: Code, R: Code>(
        &self,
        x: &[X],
        y: &[Y],
        z: &[Z],
        results: &mut [R],
        flags: &mut [Flags],
        words: Option<RandomWords>,
    ) -> Flags {
        self.any_ternary((x, y, z), results, Some(flags), words)
    }

    fn any_ternary<X: Code, Y: Code, Z: Code, R: Code>(
        &self,
        (x, y, z): (&[X], &[Y], &[Z]),
        results: &mut [R],
        flags: Option<&mut [Flags]>,
        words: Option<RandomWords>,
    ) -> Flags {
        let given = [Given::new(x), Given::new(y), Given::new(z)];
        let words = self.check::<R>(&given, results.len(), flags.as_deref(), words);
        let operands = [X::as_codes(x), Y::as_codes(y), Z::as_codes(z)];
        self.compute(operands, R::as_codes_mut(results), flags, words)
    }

    /// Panics unless operands and results fit the operation; the words that it takes.
    fn check<R: Code>(
        &self,
        operands: &[Given],
        results: usize,
        flags: Option<&[Flags]>,
        words: Option<RandomWords>,
    ) -> Option<RandomWords> {
        let (name, arity, given) = (self.call.operation.name(), self.call.operands.len(), operands.len());
        assert!(given == arity, "{name} takes {arity} operands, another number of operands than {given}");
        for (operand, format) in operands.iter().zip(&self.call.operands) {
            check_lengths((operand.length, "operands"), (results, "results"));
            (operand.check)(format);
        }
        check_code::<R>(&self.call.to);
        if let Some(flags) = flags {
            check_lengths((flags.len(), "flags"), (results, "results"));
        }
        let words = words.or(self.words);
        let stochastic = self.call.projection.rounding.is_stochastic();
        assert!(!stochastic || words.is_some(), "stochastic rounding needs random words");
        words
    }

    /// Fills the results from the operands' codes, of any integer types: compiled once, not for
    /// each of their combinations.
    fn compute(
        &self,
        codes: [Codes<'_>; 3],
        results: CodesMut<'_>,
        flags: Option<&mut [Flags]>,
        words: Option<RandomWords>,
    ) -> Flags {
        let [second, third] = self.call.shifts();
        let operands = Operands::new(codes, self.call.masks(), [0, second, third]);
        match results {
            CodesMut::Bytes(results) => self.run(&operands, results, flags, words),
            CodesMut::Halves(results) => self.run(&operands, results, flags, words),
            CodesMut::Words(results) => self.run(&operands, results, flags, words),
            CodesMut::Longs(results) => self.run(&operands, results, flags, words),
        }
    }

    fn run<R: Code>(
        &self,
        operands: &Operands<'_>,
        results: &mut [R],
        flags: Option<&mut [Flags]>,
        words: Option<RandomWords>,
    ) -> Flags {
        if let (Some(vectors), Some(bytes), 8, true, None) =
            (&self.vectors, operands.bytes(), R::BITS, SimdElementwise::is_usable(), &flags)
        {
            return parallel::fill(results, &|start, results| {
                let at = start..start + results.len();
                let by_vectors = self.by_vectors(vectors, bytes, at, results);
                by_vectors.unwrap_or_else(|| self.by_core(operands, start, results, words, |_| {}))
            });
        }
        // Its making has threads of its own, so it comes before those of the work.
        let path = self.path.get_or_init(|| self.call.path(self.length));
        if let Some(flags) = flags {
            return parallel::fill_two(results, flags, &|start, results, flags| {
                let mut each = flags.iter_mut();
                let seen = |raised| *each.next().expect("flags per element") = raised;
                match path {
                    Path::Core => self.by_core(operands, start, results, words, seen),
                    _ => self.by_table(path, operands, start, results, Some(flags)),
                }
            });
        }
        let recoder = self.recoder.get_or_init(|| match path {
            Path::Table(entries) if self.call.operands.len() == 1 => {
                SimdRecoder::new(self.level, &entries.of_bytes()?)
            }
            _ => None,
        });
        if let (Some(recoder), Some([codes, ..]), 8) = (recoder, operands.bytes(), R::BITS) {
            return parallel::fill(results, &|start, results| {
                let events = recoder.recode(&codes[start..start + results.len()], results);
                let by_table = || self.by_table(path, operands, start, results, None);
                events.map_or_else(by_table, |events| events.flags)
            });
        }
        parallel::fill(results, &|start, results| match path {
            Path::Core => self.by_core(operands, start, results, words, |_| {}),
            _ => self.by_table(path, operands, start, results, None),
        })
    }

    fn by_vectors<R: Code>(
        &self,
        vectors: &SimdElementwise,
        bytes: [&[u8]; 3],
        at: Range<usize>,
        results: &mut [R],
    ) -> Option<Flags> {
        let piece = bytes.map(|bytes| bytes.get(at.clone()).unwrap_or_default());
        vectors.run(piece, R::as_codes_mut(results).bytes()?, self.call.flags)
    }

    /// Looks the results of the elements from `start` on up, and their flags.
    fn by_table<R: Code>(
        &self,
        path: &Path,
        operands: &Operands<'_>,
        start: usize,
        results: &mut [R],
        mut flags: Option<&mut [Flags]>,
    ) -> Flags {
        let (mut all, arity) = (Flags::NONE, self.call.operands.len());
        for (i, results) in results.chunks_mut(BLOCK).enumerate() {
            let at = start + i * BLOCK..start + i * BLOCK + results.len();
            let flags = flags.as_deref_mut().map(|flags| &mut flags[i * BLOCK..][..results.len()]);
            let mut indices = [0; BLOCK];
            let indices = &mut indices[..results.len()];
            all = all.union(match path {
                Path::Table(entries) => {
                    operands.join(at, arity, indices);
                    entries.look_up(results, flags, indices.iter().map(|&i| usize::from(i)))
                }
                Path::Classes { classes, rows } => {
                    let mut thirds = [0; BLOCK];
                    operands.join(at.clone(), 2, indices);
                    operands.third(at, &mut thirds[..indices.len()]);
                    let width = self.call.operands[2].width();
                    let row = |pair: u16| usize::from(classes[usize::from(pair)]) << width;
                    let at = indices.iter().zip(&thirds).map(|(&pair, &third)| row(pair) | third as usize);
                    rows.look_up(results, flags, at)
                }
                Path::Core => unreachable!("the core has no table"),
            });
        }
        all
    }

    fn by_core<R: Code>(
        &self,
        operands: &Operands<'_>,
        start: usize,
        results: &mut [R],
        words: Option<RandomWords>,
        mut seen: impl FnMut(Flags),
    ) -> Flags {
        let mut flags = Flags::NONE;
        let first = |words: RandomWords| words.first_element.wrapping_add(start as u64);
        let words = words.filter(|_| self.call.projection.rounding.is_stochastic());
        let mut words = words.map(|words| WordByWord::new(words.generator, first(words)));
        for (i, results) in results.chunks_mut(FEW).enumerate() {
            let mut elements = [[0; 3]; FEW];
            operands.each(start + i * FEW..start + i * FEW + results.len(), &mut elements);
            for (result, codes) in results.iter_mut().zip(elements) {
                let mut projection = self.call.projection;
                if let (Some(bits), Some(words)) = (projection.rounding.random_bits(), &mut words) {
                    let bits = RandomBits::from_word32(bits.count(), words.next());
                    let bits = bits.expect("the constructor checked the count");
                    projection = projection.with_rounding(projection.rounding.with_random_bits(bits));
                }
                let answer = self.call.evaluate(codes, &projection);
                let raised = if self.call.flags { answer.flags } else { Flags::NONE };
                flags = flags.union(raised);
                seen(raised);
                *result = R::truncate(answer.value);
            }
        }
        flags
    }
}

/// Elements whose codes are gathered at once.
const BLOCK: usize = 512;
/// As many for the core, which takes much longer for each.
const FEW: usize = 64;

/// The codes of an operand that is not there.
const NONE: Codes<'_> = Codes::Bytes(&[]);

/// An operand's length, and what panics unless its type can hold codes of a format.
struct Given {
    length: usize,
    check: fn(&Format),
}

impl Given {
    fn new<X: Code>(codes: &[X]) -> Self {
        let check = |format: &Format| {
            check_operand::<X>(format);
            check_code::<X>(format);
        };
        Self { length: codes.len(), check }
    }
}

#[cfg(test)]
mod tests {
    use super::{Elementwise, Flags, Level, Path};
    use crate::arithmetic::entries::Entries;

    fn kernel(text: &str, length: usize) -> Elementwise {
        let operation = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        Elementwise::for_length(&operation, length).expect("a numeric operation").with_level(Level::Portable)
    }

    fn entries(entries: &Entries) -> (&'static str, usize) {
        match entries {
            Entries::Bare(entries) => ("bare", entries.len()),
            Entries::Short(entries) => ("short", entries.len()),
            Entries::Medium(entries) => ("medium", entries.len()),
            Entries::Long(entries) => ("long", entries.len()),
        }
    }

    fn way(kernel: &Elementwise) -> String {
        match kernel.call.path(kernel.length) {
            Path::Table(table) => format!("{} {}", entries(&table).0, entries(&table).1),
            Path::Classes { classes, rows } => {
                let number = classes.iter().max().map_or(0, |&last| usize::from(last) + 1);
                let (cells, length) = entries(&rows);
                assert_eq!(length % number, 0, "a row for each class");
                format!("classes of {}, {cells}", length / number)
            }
            Path::Core => "core".into(),
        }
    }

    /// What is looked up, and where; how many elements are worth a table.
    #[test]
    fn ways_of_operations() {
        let all = usize::MAX;
        for (text, length, expected) in [
            ("Add<binary8p3se, binary8p3se, binary8p3se>", all, "short 65536"),
            ("Add<binary8p3se, binary8p3se, binary8p3se>", 1 << 16, "short 65536"),
            ("Add<binary8p3se, binary8p3se, binary8p3se>", (1 << 16) - 1, "core"),
            ("Add<binary4p2se, binary5p2se, binary9p3se>", 512, "medium 512"),
            ("Add<binary4p2se, binary5p2se, binary16>", all, "medium 512"),
            ("Add<binary4p2se, binary5p2se, binary32>", all, "long 512"),
            ("Add<binary4p2se, binary5p2se, binary64>", all, "core"),
            ("Add<binary9p3se, binary8p3se, binary8p3se>", all, "core"),
            ("Add<binary8p3se, binary8p3se, binary8p3se, (StochasticA<4>, SatFinite)>", all, "core"),
            ("Clamp<binary5p2se, binary5p2se, binary5p2se, binary5p2se>", all, "short 32768"),
            ("Clamp<binary6p2se, binary6p2se, binary6p2se, binary6p2se>", all, "core"),
            ("FMA<binary8p3se, binary8p3se, binary8p3se, binary8p3se>", all, "classes of 256, short"),
            ("FMA<binary6p3se, binary6p3se, binary9p3se, binary8p3se>", all, "classes of 512, short"),
            ("FMA<binary6p3se, binary6p3se, binary9p3se, binary8p3se>", 4096, "core"),
            ("FMA<binary6p3se, binary6p3se, binary3p2se, binary8p3se>", 4096, "classes of 8, short"),
            ("FMA<binary6p3se, binary6p3se, binary3p2se, binary8p3se>", 4095, "core"),
            ("FAA<binary6p3se, binary6p3se, binary8p3se, binary16>", all, "classes of 256, medium"),
            ("FMA<binary9p3se, binary8p3se, binary8p3se, binary8p3se>", all, "core"),
            // More than 8 MiB of rows.
            ("FMA<binary8p3se, binary8p3se, binary16p8se, binary8p3se>", all, "core"),
            ("FAA<e5m2, e5m2, e5m2, e5m2, clamp=operands>", all, "core"),
            // Sums of more than 128 bits are no classes.
            ("FAA<binary8p1ue, binary8p1ue, binary6p1se, binary16p1ue>", all, "core"),
        ] {
            assert_eq!(way(&kernel(text, length)), expected, "{text} for {length}");
        }
        let bare = "Add<binary4p2se, binary5p2se, binary8p3se>".parse().expect("an operation");
        assert_eq!(way(&Elementwise::without_flags(&bare).expect("a numeric operation")), "bare 512");
        // Rows are counted as the data are: as many elements as entries are worth them, one fewer
        // are not.
        let text = "FMA<binary6p3se, binary6p3se, binary8p3se, binary8p3se>";
        let Path::Classes { rows, .. } = kernel(text, all).call.path(all) else { panic!("classes") };
        let (_, count) = entries(&rows);
        assert!(count > 1 << 12, "more entries than pairs");
        for (length, expected) in [(count, "classes of 256, short"), (count - 1, "core")] {
            assert_eq!(way(&kernel(text, length)), expected, "{length}");
        }
    }

    /// Flags are those of each triple: a class knows whether one of its operands was subnormal.
    #[test]
    fn flags_of_every_triple() {
        for inner in ["FMA", "FAA"] {
            let [x, z] = ["minifloat:k=5,p=3,bias=2,specials=ieee", "minifloat:k=7,p=4,bias=3,specials=ieee"];
            let text = format!("{inner}<{x}, {x}, {z}, {z}>");
            let (by_classes, by_core) = (kernel(&text, usize::MAX), kernel(&text, 0));
            assert!(way(&by_classes).starts_with("classes of 128") && way(&by_core) == "core");
            for code in 0..1_u32 << 17 {
                let operands = [code & 31, code >> 5 & 31, code >> 10].map(|code| [code.to_le_bytes()[0]]);
                let call = |kernel: &Elementwise| -> (u8, Flags) {
                    let mut result = [0_u8];
                    let [x, y, z] = &operands;
                    let flags = kernel.ternary(x, y, z, &mut result, None);
                    (result[0], flags)
                };
                assert_eq!(call(&by_classes), call(&by_core), "{text} {operands:x?}");
            }
        }
    }

    #[test]
    #[cfg_attr(smallfloat_arch = "scalar", ignore = "this machine has no such kernel")]
    fn bytes_go_by_vectors() {
        let kernel = kernel("Add<e4m3fn, e4m3fn, e4m3fn>", 0).with_level(Level::Avx512);
        let Some(vectors) = &kernel.vectors else {
            eprintln!("skipped: no vectors here");
            return;
        };
        let mut results = [0_u8; 2];
        // Sums of 1 and 1, 1 and 2, after one that is not asked for.
        let bytes: [&[u8]; 3] = [&[0, 0x38, 0x38], &[0, 0x38, 0x40], &[]];
        assert_eq!(kernel.by_vectors(vectors, bytes, 1..3, &mut results), Some(Flags::NONE));
        assert_eq!(results, [0x40, 0x44]);
        assert_eq!(kernel.by_vectors(vectors, bytes, 1..3, &mut [0_u16; 2]), None);
    }

    #[test]
    fn one_operand_goes_by_vectors() {
        let has_vectors = |text: &str, length: usize| {
            let kernel = kernel(text, length).with_level(Level::detected());
            let mut results = [0_u8];
            // 2^0.
            kernel.unary(&[0_u8], &mut results, None);
            assert_eq!(results, [0x38], "{text}");
            kernel.recoder.get().is_some_and(Option::is_some)
        };
        let here = Level::with_kernels().is_some();
        assert_eq!(has_vectors("Exp2<e4m3fn, e4m3fn>", usize::MAX), here);
        // Fewer elements than the table has entries go through the core.
        assert!(!has_vectors("Exp2<e4m3fn, e4m3fn>", 255));
    }
}
