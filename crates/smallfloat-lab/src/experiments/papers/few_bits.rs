//! The bias of stochastic rounding with few random bits (Fitzgibbon and Felix, arXiv 2504.20634):
//! every number between two neighbours that has D more bits, rounded with every word of N bits.
//!
//! The paper's SRFF, SRF and SRC are the modes A, B and C of the P3109 draft.

use rayon::prelude::*;
use smallfloat::{Exact, Format, RandomBits, Rounding, project};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::{datum, float};

/// Random bits, N.
const BITS: std::ops::RangeInclusive<u32> = 1..=5;
/// Bits that inputs have beyond the format's, D.
const EXTRA: [u32; 3] = [3, 4, 8];
/// D of bfloat16 beside Binary8p4, which the paper trains with, and of the picture.
const DRAWN: u32 = 4;

#[derive(Clone, Copy)]
enum Mode {
    A,
    B,
    C,
}

impl Mode {
    const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    const fn name(self) -> &'static str {
        match self {
            Self::A => "A (SRFF)",
            Self::B => "B (SRF)",
            Self::C => "C (SRC)",
        }
    }

    fn rounding(self, bits: RandomBits) -> Rounding {
        match self {
            Self::A => Rounding::StochasticA(bits),
            Self::B => Rounding::StochasticB(bits),
            Self::C => Rounding::StochasticC(bits),
        }
    }
}

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let format = options.format_or("binary8p4se")?;
    let one = float(format.max_finite()) > 1.0 && float(format.min_normal()) <= 1.0 && format.precision() > 1;
    if !one {
        return Err(crate::experiments::unfit(
            crate::experiments::ExperimentOption::Format,
            &format,
            "a format of at least 2 bits of precision in which 1 is normal and not the largest value",
        ));
    }
    let mut findings = Findings::new("few-bits").set("--format", format.to_string());
    let mut table = FindingsTable::new(
        "Bias of a rounding, in units of the spacing: the mean, and the largest of any input",
        [
            "D",
            "N",
            "A (SRFF)",
            "the authors",
            "difference",
            "B (SRF)",
            "C (SRC)",
            "largest of A",
            "of B",
            "of C",
        ],
    );
    let mut series: Vec<Series> =
        Mode::ALL.iter().map(|mode| Series::new(mode.name(), Mark::Line, Vec::new())).collect();
    for extra in EXTRA {
        for bits in BITS {
            let found: Vec<Bias> = Mode::ALL
                .par_iter()
                .map(|mode| Bias::of(&format, *mode, bits, extra))
                .collect::<Result<_, _>>()?;
            let [a, b, c] = &found[..] else { unreachable!("three modes") };
            // The authors' sum counts on N ≤ D.
            let closed =
                (bits <= extra).then(|| (libm::exp2(-f64::from(extra)) - libm::exp2(-f64::from(bits))) / 2.0);
            let shown = |x: f64| Cell::Value(x);
            table.rows.push(row![
                extra,
                bits,
                shown(a.mean),
                closed.map_or(Cell::Empty, shown),
                closed.map_or(Cell::Empty, |closed| shown(a.mean - closed)),
                shown(b.mean),
                shown(c.mean),
                shown(a.most),
                shown(b.most),
                shown(c.most),
            ]);
            if extra == DRAWN {
                for (series, bias) in series.iter_mut().zip(&found) {
                    series.points.push([f64::from(bits), bias.mean]);
                }
            }
        }
    }
    findings.tables.push(table);
    findings.plots.push(Plot {
        title: format!("Mean bias of inputs with {DRAWN} more bits than {format}"),
        x: Axis::linear("random bits, N"),
        y: Axis::linear("mean bias, spacings"),
        series,
    });
    for note in [
        "Inputs are all 2^D numbers with D more bits from 1 up to the next value of the format, each rounded with all 2^N words: \
         sums of exact fractions, with no sampling. A positive bias is away from zero.",
        "The authors derive A's bias in derivations.ipynb (github.com/graphcore-research/arith25-stochastic-rounding): −2^−(N+1) \
         for inputs of any precision, which is the limit for D → ∞, and (2^−D − 2^−N)/2 for inputs of D bits; B has none in the \
         limit. Their sum for inputs of D bits is for N ≤ D.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

/// The bias over all inputs, and the largest at one of them.
struct Bias {
    mean: f64,
    most: f64,
}

impl Bias {
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^20")]
    fn of(format: &Format, mode: Mode, bits: u32, extra: u32) -> Result<Self, Error> {
        let spacing = libm::exp2(1.0 - f64::from(format.precision()));
        let (inputs, words) = (1_u64 << extra, 1_u64 << bits);
        let default = format.default_projection();
        let roundings: Vec<_> = (0..words)
            .map(|word| Ok(default.with_rounding(mode.rounding(RandomBits::new(bits, word)?))))
            .collect::<Result<_, Error>>()?;
        // Of each input: by how many words it is rounded up, less the share that would be right.
        let bias = |input: u64| {
            let fraction = input as f64 / inputs as f64;
            let x = Exact::from_datum(datum(1.0 + spacing * fraction));
            let up = roundings
                .iter()
                .filter(|projection| float(format.decode(project(x, format, projection).value)) > 1.0)
                .count();
            up as f64 / words as f64 - fraction
        };
        let biases: Vec<f64> = (0..inputs).map(bias).collect();
        let most =
            biases.iter().copied().fold(0.0, |most: f64, x| if x.abs() > most.abs() { x } else { most });
        Ok(Self { mean: biases.iter().sum::<f64>() / inputs as f64, most })
    }
}
