//! The crate's error.

use smallfloat::Format;

/// The reason why there are no vectors or no κ, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, a format or an operation that is not understood.
    #[error(transparent)]
    Core(#[from] smallfloat::Error),
    /// An operation whose result is not one number of a format, or a variant of one that is not
    /// scalar.
    #[error(
        "{name}: κ is measured where the result is one number, as that of Add, ScaledAdd or NextGreaterThan is; \
         variants are of scalar operations that round, as Add is"
    )]
    NotNumeric {
        /// The operation's name.
        name: String,
    },
    /// A stochastic rounding mode.
    #[error("κ is measured against one defined result: give a rounding that is not stochastic")]
    Stochastic,
    /// A conversion with a list of values, which has no steps to count.
    #[error("{unit}: κ counts steps between values of a format, and one of these is a list of values")]
    ListSteps {
        /// The conversion.
        unit: String,
    },
    /// An accumulator that takes the place of one with another beginning.
    #[error(
        "{accumulate} begins at zero, and {unit} with the operand c; measure it against a sum that begins at zero \
         too, as `exact` does, or take a matrix unit or `fused:…`"
    )]
    NoBeginning {
        /// The accumulator.
        accumulate: String,
        /// The sum with its formats.
        unit: String,
    },
    /// More operands than can be tried.
    #[error(
        "{name} has 2^{bits} operands, at most 2^{limit} can all be tried: take level 1 or 2, give vectors, or \
         narrower formats"
    )]
    TooManyOperands {
        /// The operation's name.
        name: String,
        /// The operands' bits.
        bits: u32,
        /// The most that are tried.
        limit: u32,
    },
    /// Another number of operands or results than the gauge has formats for.
    #[error("{given} {what} given, {expected} expected")]
    Count {
        /// Operands or results.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many would be right.
        expected: usize,
    },
    /// An interval that is not understood.
    #[error(
        "interval `{text}`: {problem}; write LO..HI (HI excluded) or LO..=HI, as in `-1..=1`, `..0` or `2^-6..inf`"
    )]
    Interval {
        /// The interval as given.
        text: String,
        /// What is wrong.
        problem: String,
    },
    /// Two intervals with a common operand.
    #[error("intervals `{first}` and `{second}` overlap: a cover is disjoint")]
    Overlap {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
    /// An operand that the operation does not have.
    #[error("operand {given}: {name} has operands 1..={count}")]
    NoSuchOperand {
        /// The operation's name.
        name: String,
        /// The operand's number, from 1.
        given: usize,
        /// How many there are.
        count: usize,
    },
    /// A part of a variant that is not understood.
    #[error("`{part}` is not understood, expected {expected}")]
    Implementation {
        /// The part.
        part: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A variant that does not compute this operation.
    #[error("{via} computes {known}, not {name}")]
    NotComputed {
        /// How the variant computes.
        via: String,
        /// The operations it computes.
        known: String,
        /// The operation asked for.
        name: String,
    },
    /// A format that a variant can't compute in.
    #[error("{format} can't be computed in: a working format is signed and has a NaN and an infinity")]
    WorkingFormat {
        /// The format.
        format: Format,
    },
    /// A line of vectors that is not understood.
    #[error("line {line}: `{text}`: {problem}")]
    Vector {
        /// The line's number, from 1.
        line: u64,
        /// The line.
        text: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Vectors that can't be read.
    #[error("line {line}: {cause}")]
    Read {
        /// The line's number, from 1.
        line: u64,
        /// Why.
        cause: String,
    },
    /// A function without operands.
    #[error("{name} takes no operands, so it has no vectors")]
    NoVectors {
        /// The function's name.
        name: String,
    },
    /// A policy for a function that does not round.
    #[error("{name} rounds nothing: it takes no rounding, saturation or preset")]
    NotRounded {
        /// The function's name.
        name: String,
    },
    /// A choice for a unit that computes in one way.
    #[error("{unit} is computed in one way: it takes no rounding, saturation, {what}")]
    NoChoice {
        /// The operation.
        unit: String,
        /// What else was given.
        what: &'static str,
    },
    /// Text that is no unit which computes in one way.
    #[error(
        "`{text}` is not understood: write `Convert<binary32, nf4>`, `Convert<nf4, binary32>` or \
         `Dot<32, e4m3fn, e4m3fn, hopper>`"
    )]
    NoFixedUnit {
        /// The text as given.
        text: String,
    },
    /// Text that is not a sum of products with its parameters.
    #[error(
        "`{text}` is not understood: write `Dot<32, e4m3fn, e4m3fn, hopper>`: the number of products, the formats \
         of x and y, and the accumulator; with block scales their format and the elements that share one follow: \
         `Dot<64, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>`"
    )]
    DotShape {
        /// The text as given.
        text: String,
    },
    /// A sum of too many products, or of none.
    #[error("a dot product has 1 to {most} products, not {length}")]
    DotLength {
        /// The products.
        length: usize,
        /// The most that there may be.
        most: usize,
    },
    /// Block scales that no matrix unit takes.
    #[error("`{text}`: {problem}")]
    DotScales {
        /// The sum as it was asked for.
        text: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// A format too wide for sums that are no matrix unit's.
    #[error(
        "sums in `{accumulate}` take formats of at most 8 bits, and {format} has {}: matrix units, such as \
         hopper, take more", .format.width()
    )]
    DotWidth {
        /// The accumulator.
        accumulate: String,
        /// The format.
        format: Format,
    },
    /// An accumulator that is not understood, or does not add these formats.
    #[error(transparent)]
    Kernels(Box<smallfloat_kernels::Error>),
    /// A NaN that is to become a value of a list.
    #[error("{list} has no NaN, so there is no result for one")]
    NoNan {
        /// The list's name.
        list: &'static str,
    },
    /// Ports that the unit does not have, or that have other values.
    #[error("{problem}")]
    Ports {
        /// What is wrong and what would be right.
        problem: String,
    },
    /// More operands than can all be tried.
    #[error(
        "{name} has operands of {bits} bits together, at most {limit} can be tried exhaustively; take level 1 or 2"
    )]
    TooManyVectors {
        /// The function's name.
        name: String,
        /// The operands' bits, random words included.
        bits: u32,
        /// The most that are tried.
        limit: u32,
    },
    /// One kind of lines where all operands are tried.
    #[error("all operands are neither directed nor random lines: {kind} ones are of level 1 or 2")]
    NoKinds {
        /// The kind asked for.
        kind: String,
    },
    /// A selection that leaves no line.
    #[error("no line is left to write: ask for more than 0")]
    NoLines,
    /// No such part of vectors.
    #[error("shard `{text}` is not understood: write I/N, with I from 1 to N, as in 2/8")]
    Shard {
        /// The part as given.
        text: String,
    },
    /// No such kind of lines.
    #[error("lines `{text}` are not understood: write directed or random")]
    LineKind {
        /// The kind as given.
        text: String,
    },
    /// No such level of vectors.
    #[error("level `{text}` is not understood: write exhaustive, 1 or 2")]
    Level {
        /// The level as given.
        text: String,
    },
    /// No such layout of vectors.
    #[error("layout `{text}` is not understood: write testfloat, readmemh, csv or jsonl")]
    Layout {
        /// The layout as given.
        text: String,
    },
    /// No such set of flags.
    #[error("flags `{text}` are not understood: write idou, iouxz, all or none")]
    FlagSet {
        /// The set as given.
        text: String,
    },
    /// Vectors that do not say of what.
    #[error("no header names the operation; give it, or the two formats of a conversion")]
    NoOperation,
    /// Vectors without a single line of them.
    #[error("no vector was found among {lines} lines; one has operands, results and flags{}", prefixed(prefix.as_ref()))]
    Empty {
        /// The lines read.
        lines: u64,
        /// How lines with vectors were to begin.
        prefix: Option<String>,
    },
    /// Vectors of another unit than those before them.
    #[error("the vectors are of {given}, not of {expected}: coverage is counted of one unit")]
    OtherUnit {
        /// The operation that the header names.
        given: String,
        /// The operation whose coverage is counted.
        expected: String,
    },
    /// JSON that is not what counts of coverage are merged from.
    #[error("{problem}")]
    Coverage {
        /// What is wrong.
        problem: String,
    },
}

/// What lines with vectors begin with, for a message.
fn prefixed(prefix: Option<&String>) -> String {
    prefix.map(|prefix| format!(", and begins with `{prefix}`")).unwrap_or_default()
}

impl From<smallfloat_kernels::Error> for Error {
    fn from(error: smallfloat_kernels::Error) -> Self {
        Self::Kernels(error.into())
    }
}
