//! The crate's error.

/// The error of an encoder or decoder that can't be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Codes wider than the code type's 16 bits.
    #[error("{format} has {} bits, codes in slices have at most 16", format.width())]
    TooWide {
        /// The format.
        format: smallfloat::Format,
    },
    /// A rounding or a rule that the portable algorithm does not have.
    #[error("kernels in 32-bit arithmetic have no {what}")]
    NotPortable {
        /// The rounding or the rule.
        what: &'static str,
    },
    /// A stochastic rounding mode without a source of random words.
    #[error("{mode} rounding needs random words: give a generator with its seed")]
    NoRandomWords {
        /// The rounding mode's name.
        mode: &'static str,
    },
    /// Random words for a rounding mode that takes none.
    #[error(
        "{mode} rounding takes no random words: name a stochastic rounding, or encode without a generator"
    )]
    NotStochastic {
        /// The rounding mode's name.
        mode: &'static str,
    },
    /// What the core refuses: a format, a mode, more random bits than a word of 32 bits has.
    #[error(transparent)]
    Core(#[from] smallfloat::Error),
    /// A function that does not give a code for a few codes.
    #[error("{name} is not a numeric operation on scalars: call it code by code")]
    NotElementwise {
        /// The function's name.
        name: &'static str,
    },
    /// Values that the destination type can't hold exactly.
    #[error(
        "{format} has values that {destination} can't hold exactly: give a rounding, or decode to a wider type"
    )]
    Inexact {
        /// The format decoded.
        format: smallfloat::Format,
        /// The destination.
        destination: smallfloat::Format,
    },
    /// An operation on codes of more than 8 bits.
    #[error("{format} has {} bits, operations on slices take at most 8", format.width())]
    WiderThanByte {
        /// The format.
        format: smallfloat::Format,
    },
    /// An integer that is no code of a typed scalar.
    #[error("element {index}, {code:#x}, is no code of {format}: it has {} bits", format.width())]
    NoCode {
        /// The format.
        format: smallfloat::Format,
        /// The integer.
        code: u64,
        /// Where it stands in the slice.
        index: usize,
    },
    /// Codes that don't fit in bytes.
    #[error("{format} has {} bits, which don't fit in bytes: take `encode_u16`, or an `Encoder` and codes of u16", format.width())]
    NotBytes {
        /// The format.
        format: smallfloat::Format,
    },
    /// A name that no accumulator has.
    #[error("unknown accumulator `{name}`{}", meant(*suggestion))]
    Accumulate {
        /// The name.
        name: smallfloat::Snippet,
        /// The known name nearest to it, if any is near.
        suggestion: Option<&'static str>,
    },
    /// Parameters of a matrix unit that don't go together.
    #[error("{0}")]
    Fused(&'static str),
    /// Formats that a matrix unit can't multiply.
    #[error(
        "{unit} has no instruction that takes all values of {} and {} and accumulates in {}", formats[0], formats[1],
        if *half { "binary16" } else { "binary32" }
    )]
    NoInstruction {
        /// The GPU.
        unit: &'static str,
        /// The accumulator asked for is binary16.
        half: bool,
        /// The formats.
        formats: [smallfloat::Format; 2],
    },
    /// A name that no level has.
    #[error("unknown level `{name}`: write portable, neon, avx2 or avx512")]
    Level {
        /// The name.
        name: smallfloat::Snippet,
    },
}

/// What an unknown name of an accumulator was meant to be, or can be.
fn meant(suggestion: Option<&str>) -> String {
    match suggestion {
        Some(name) => format!(", did you mean `{name}`?"),
        None => ": write f32, exact, a format, a matrix unit (volta, turing, ampere, ada, hopper, blackwell, rtx-blackwell, \
                 cdna1, cdna2, cdna3; hopper:output=f16, hopper:promote=128) or fused:k=32,fraction=13,output=e8m13"
            .to_owned(),
    }
}
