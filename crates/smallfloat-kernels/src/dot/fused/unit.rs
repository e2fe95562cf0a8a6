//! [`MatrixUnit`]: the parameters of GPUs, by the formats of the operands.

use smallfloat::Format;
use smallfloat::formats::{
    BFLOAT16, BINARY16, BINARY32, E2M1FN, E2M3FN, E3M2FN, E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, TF32,
};

use super::scaled::ScaledDot;
use super::{Fused, FusedDot, GroupSum, Output};
use crate::error::Error;

/// A family of GPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Gpu {
    /// NVIDIA V100: `mma`.
    Volta,
    /// NVIDIA T4: `mma`.
    Turing,
    /// NVIDIA A100: `mma`.
    Ampere,
    /// NVIDIA L40S and RTX 40: `mma`.
    Ada,
    /// NVIDIA H100: `wgmma`.
    Hopper,
    /// NVIDIA B200: `tcgen05.mma`.
    Blackwell,
    /// NVIDIA RTX 50: `mma`.
    RtxBlackwell,
    /// AMD MI100: `mfma`.
    Cdna1,
    /// AMD MI200: `mfma`, of bfloat16 `_1k`.
    Cdna2,
    /// AMD MI300: `mfma`.
    Cdna3,
}

/// A GPU's matrix unit: its name stands for the main instruction of each type of operands.
///
/// Operands of another format than the unit's types are taken for the first instruction that has
/// types for both that hold all of their values; conversion to them is exact.
///
/// ```
/// use smallfloat::formats::{BINARY16, E4M3FN};
/// use smallfloat_kernels::MatrixUnit;
/// let hopper: MatrixUnit = "hopper".parse()?;
/// let text = |x, y| hopper.dot(x, y).map(|dot| dot.fused().to_string());
/// assert_eq!(text(&E4M3FN, &E4M3FN)?, "fused:k=32,fraction=13,output=e8m13");
/// assert_eq!(text(&BINARY16, &E4M3FN)?, "fused:k=16,fraction=25,output=f32");
/// # Ok::<(), smallfloat_kernels::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixUnit {
    /// The GPU.
    pub gpu: Gpu,
    /// Accumulates in binary16 (`output=f16`), where an instruction does so.
    pub half: bool,
    /// [`Fused::promote`]: 128 is what DeepSeek-V3 does on Hopper.
    pub promote: Option<usize>,
}

/// One instruction: the formats that either operand may have.
struct Instruction {
    types: &'static [Format],
    single: Fused,
    /// Where it may accumulate in binary16.
    half: Option<Fused>,
}

const FP8: &[Format] = &[E4M3FN, E5M2];
pub(super) const FP8_6_4: &[Format] = &[E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2];
const FNUZ: &[Format] = &[E4M3FNUZ, E5M2FNUZ];

/// An instruction of NVIDIA's.
const fn aligned(types: &'static [Format], k: usize, fraction_bits: u32, both: bool) -> Instruction {
    let single = Fused::aligned(k, fraction_bits, Output::Binary32);
    let half = if both { Some(Fused::aligned(k, fraction_bits, Output::Binary16)) } else { None };
    Instruction { types, single, half }
}

/// FP8 with few fraction bits.
const fn narrow(k: usize) -> Instruction {
    let half = Some(Fused::aligned(k, 13, Output::Binary16));
    Instruction { types: FP8, single: Fused::aligned(k, 13, Output::E8M13), half }
}

const fn amd(types: &'static [Format], k: usize, sum: GroupSum) -> Instruction {
    Instruction { types, single: Fused::nearest(k, sum), half: None }
}

const fn flushing(types: &'static [Format], k: usize) -> Instruction {
    let single = Fused { flush: true, ..Fused::nearest(k, GroupSum::Pairwise) };
    Instruction { types, single, half: None }
}

static VOLTA: [Instruction; 1] = [aligned(&[BINARY16], 4, 23, true)];
static TURING: [Instruction; 1] = [aligned(&[BINARY16], 8, 24, true)];
static AMPERE: [Instruction; 3] =
    [aligned(&[BINARY16], 8, 24, true), aligned(&[BFLOAT16], 8, 24, false), aligned(&[TF32], 4, 24, false)];
static ADA: [Instruction; 4] = [
    narrow(16),
    aligned(&[BINARY16], 8, 24, true),
    aligned(&[BFLOAT16], 8, 24, false),
    aligned(&[TF32], 4, 24, false),
];
static HOPPER: [Instruction; 4] = [
    narrow(32),
    aligned(&[BINARY16], 16, 25, true),
    aligned(&[BFLOAT16], 16, 25, false),
    aligned(&[TF32], 8, 25, false),
];
static BLACKWELL: [Instruction; 4] = [
    aligned(FP8_6_4, 32, 25, true),
    aligned(&[BINARY16], 16, 25, true),
    aligned(&[BINARY16, BFLOAT16], 16, 25, false),
    aligned(&[TF32], 8, 25, false),
];
static RTX_BLACKWELL: [Instruction; 4] = [
    aligned(FP8_6_4, 32, 25, true),
    aligned(&[BINARY16], 16, 25, true),
    aligned(&[BFLOAT16], 16, 25, false),
    aligned(&[TF32], 8, 25, false),
];
static CDNA1: [Instruction; 3] = [
    amd(&[BINARY16], 4, GroupSum::Pairwise),
    amd(&[BFLOAT16], 2, GroupSum::Pairwise),
    amd(&[BINARY32], 1, GroupSum::Sequential),
];
static CDNA2: [Instruction; 3] =
    [flushing(&[BINARY16], 4), flushing(&[BFLOAT16], 4), amd(&[BINARY32], 1, GroupSum::Sequential)];
static CDNA3: [Instruction; 5] = [
    amd(FNUZ, 16, GroupSum::DownInHalves { fraction_bits: 24 }),
    amd(&[BINARY16], 8, GroupSum::Down { fraction_bits: 24 }),
    amd(&[BFLOAT16], 8, GroupSum::Down { fraction_bits: 24 }),
    amd(&[TF32], 4, GroupSum::Down { fraction_bits: 24 }),
    amd(&[BINARY32], 1, GroupSum::Sequential),
];

impl Gpu {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::Volta,
        Self::Turing,
        Self::Ampere,
        Self::Ada,
        Self::Hopper,
        Self::Blackwell,
        Self::RtxBlackwell,
        Self::Cdna1,
        Self::Cdna2,
        Self::Cdna3,
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Volta => "volta",
            Self::Turing => "turing",
            Self::Ampere => "ampere",
            Self::Ada => "ada",
            Self::Hopper => "hopper",
            Self::Blackwell => "blackwell",
            Self::RtxBlackwell => "rtx-blackwell",
            Self::Cdna1 => "cdna1",
            Self::Cdna2 => "cdna2",
            Self::Cdna3 => "cdna3",
        }
    }

    fn instructions(self) -> &'static [Instruction] {
        match self {
            Self::Volta => &VOLTA,
            Self::Turing => &TURING,
            Self::Ampere => &AMPERE,
            Self::Ada => &ADA,
            Self::Hopper => &HOPPER,
            Self::Blackwell => &BLACKWELL,
            Self::RtxBlackwell => &RTX_BLACKWELL,
            Self::Cdna1 => &CDNA1,
            Self::Cdna2 => &CDNA2,
            Self::Cdna3 => &CDNA3,
        }
    }
}

impl MatrixUnit {
    /// Returns a GPU's unit that accumulates in its widest format.
    pub const fn new(gpu: Gpu) -> Self {
        Self { gpu, half: false, promote: None }
    }

    /// Returns the unit's sums of products with block scales: those of Blackwell, in binary32.
    ///
    /// # Errors
    /// Another GPU, accumulator or promotion; formats that [`ScaledDot::new`] refuses.
    pub fn scaled_dot(
        &self,
        x: &Format,
        y: &Format,
        scales: &Format,
        block: usize,
    ) -> Result<ScaledDot, Error> {
        if matches!(self.gpu, Gpu::Blackwell | Gpu::RtxBlackwell) && !self.half && self.promote.is_none() {
            return ScaledDot::new(x, y, scales, block);
        }
        Err(Error::Fused(
            "block scales go with blackwell and rtx-blackwell, which add in f32 without promotion",
        ))
    }

    /// Returns the unit's sums of products of two formats.
    ///
    /// # Errors
    /// Formats for which the unit has no instruction with this accumulator; a promotion that is no
    /// multiple of the instruction's products.
    pub fn dot(&self, x: &Format, y: &Format) -> Result<FusedDot, Error> {
        for instruction in self.gpu.instructions() {
            let of = |format: &Format| {
                let same = instruction.types.iter().find(|one| *one == format);
                same.or_else(|| instruction.types.iter().find(|one| holds(one, format)))
            };
            let fused = if self.half { instruction.half } else { Some(instruction.single) };
            if let (Some(x), Some(y), Some(fused)) = (of(x), of(y), fused) {
                return FusedDot::new(x, y, Fused { promote: self.promote, ..fused });
            }
        }
        Err(Error::NoInstruction { unit: self.gpu.name(), half: self.half, formats: [*x, *y] })
    }
}

/// Returns whether a type has all values of a format; the sign of a zero, which no such sum shows,
/// aside.
fn holds(wider: &Format, format: &Format) -> bool {
    format.fits_in(wider)
        && (wider.has_nan() || !format.has_nan())
        && (wider.has_infinity() || !format.has_infinity())
}
