//! How many of eight bits for the exponent, and which bias (Kuzmin et al., arXiv 2208.09225): the
//! expected squared error on the paper's three distributions, at the best largest value and at the
//! best integer bias, and the same on tensors.

use rayon::prelude::*;
use smallfloat::{Format, Parameters, Signedness, Specials, Subnormals};
use smallfloat_tensor::Magnitudes;

use super::quadrature::Distribution;
use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::data::{Role, Tensor, scaled};
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};
use crate::instruments::unit::float;

const WIDTH: u32 = 8;
/// Exponent bits; 0 stands for integers.
const EXPONENTS: [u32; 5] = [5, 4, 3, 2, 0];
/// Largest values tried: from 2^−3 to 2^10, so many in each binade.
const LOWEST: i32 = -3;
const HIGHEST: i32 = 10;
const PER_BINADE: i32 = 64;
/// What the authors' program makes of these largest values, in the same order, as it prints it: the
/// integrals of its commit ede19a9, run by themselves on 2026-11-25.
const PRINTED: [(Distribution, [f64; 5]); 3] = [
    (Distribution::Uniform, [6.78e-4, 1.78e-4, 4.54e-5, 1.19e-5, 5.13e-6]),
    (Distribution::Normal, [2.77e-3, 6.99e-4, 1.75e-4, 5.41e-5, 8.77e-5]),
    (Distribution::StudentT, [3.71e-3, 9.36e-4, 2.36e-4, 1.92e-4, 4.83e-4]),
];
/// The unit in which errors are shown.
const UNIT: f64 = 1e-4;
/// Steps of the search between two of them.
const REFINEMENTS: u32 = 40;

pub(in crate::experiments) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let grids: Vec<Grid> = EXPONENTS.iter().map(|bits| Grid::new(*bits)).collect::<Result<_, _>>()?;
    let mut table = FindingsTable::new(
        "Expected squared errors of 8 bits",
        [
            "distribution",
            "format",
            "largest value",
            "MSE, 1e-4",
            "the authors' program",
            "−10·log10",
            "best bias",
            "its MSE, 1e-4",
            "−10·log10 there",
            "rank",
        ],
    );
    let mut plots = Vec::new();
    for (distribution, printed) in PRINTED {
        let found: Vec<Best> = grids.par_iter().map(|grid| Best::of(distribution, grid)).collect();
        for ((grid, best), printed) in grids.iter().zip(&found).zip(printed) {
            let rank = 1 + found.iter().filter(|other| other.error < best.error).count();
            table.rows.push(row![
                distribution.to_string(),
                grid.name(),
                Cell::Measured(best.largest),
                Cell::Measured(best.error / UNIT),
                Cell::Measured(printed / UNIT),
                Cell::Measured(decibels(best.error)),
                grid.bias(best.power),
                Cell::Measured(best.power_error / UNIT),
                Cell::Measured(decibels(best.power_error)),
                rank,
            ]);
        }
        let points = grids.iter().zip(&found).rev();
        let points = points.zip(0_u32..).map(|((_, best), x)| [f64::from(x), decibels(best.error)]);
        plots.push(Series::new(distribution.to_string(), Mark::Line, points));
    }
    let mut findings = Findings::new("exponent-bits");
    findings.tables.push(table);
    let names: Vec<String> = grids.iter().rev().map(Grid::name).collect();
    findings.plots.push(Plot {
        title: "Expected error of 8 bits at the best largest value".into(),
        x: Axis::categories("format", names.clone()),
        y: Axis::linear("−10·log10 of the expected squared error"),
        series: plots,
    });
    let (tensors, source) = options.tensors()?;
    findings = findings.set("tensors", &source);
    let (table, series) = on_tensors(&grids, &tensors, &source);
    findings.tables.push(table);
    findings.plots.push(Plot {
        title: format!("SQNR at the best bias of each tensor, {source}"),
        x: Axis::categories("format", names),
        y: Axis::linear("mean SQNR, dB"),
        series,
    });
    for note in [
        "The setup of the authors' program compute_quant_error.py (github.com/Qualcomm-AI-research/FP8-quantization): uniform on \
         [−1, 1]; normal with σ = 1, clipped at ±10; Student's t with 8 degrees of freedom, clipped at ±100. All codes are finite, \
         subnormals gradual; 0E7M is symmetric INT8, from −128 to 127. The largest value may be any positive number, which is a \
         real bias; the best bias is an integer, which is what CFloat has.",
        "The authors choose the largest value by a search over five million samples; here the expected error itself is minimized, \
         so no sample enters. Their column is what their integrals give for these largest values, in the three digits that their \
         program prints.",
    ] {
        findings.note(note);
    }
    Ok(findings)
}

fn decibels(error: f64) -> f64 {
    -10.0 * libm::log10(error)
}

/// The values of a format whose largest value is 1.
struct Grid {
    exponent_bits: u32,
    /// From 0 on.
    positive: Vec<f64>,
    negative: Vec<f64>,
    /// The format at bias 0, and its largest value.
    format: Option<(Format, f64)>,
}

impl Grid {
    fn new(exponent_bits: u32) -> Result<Self, Error> {
        if exponent_bits == 0 {
            let steps = |last: u32| (0..=last).map(|i| f64::from(i) / 127.0).collect();
            return Ok(Self { exponent_bits, positive: steps(127), negative: steps(128), format: None });
        }
        let format = Self::at_bias(exponent_bits, 0)?;
        let largest = float(format.max_finite());
        let values: Vec<f64> = (0..128).map(|code| float(format.decode(code)) / largest).collect();
        let (positive, negative) = (values.clone(), values);
        Ok(Self { exponent_bits, positive, negative, format: Some((format, largest)) })
    }

    fn at_bias(exponent_bits: u32, bias: i32) -> Result<Format, Error> {
        Ok(Format::minifloat(Parameters {
            width: WIDTH,
            precision: WIDTH - exponent_bits,
            bias,
            signedness: Signedness::Signed,
            specials: Specials::Finite,
            subnormals: Subnormals::Gradual,
        })?)
    }

    /// As the paper writes it: exponent bits and mantissa bits.
    fn name(&self) -> String {
        format!("{}E{}M", self.exponent_bits, WIDTH - 1 - self.exponent_bits)
    }

    /// E (x − q(x))² where the largest value is this.
    fn error(&self, distribution: Distribution, largest: f64) -> f64 {
        let at = |values: &[f64]| values.iter().map(|value| value * largest).collect::<Vec<_>>();
        distribution.squared_error(&at(&self.positive), &at(&self.negative))
    }

    /// The largest value at the bias −power.
    fn power(&self, power: i32) -> f64 {
        scaled(self.format.map_or(127.0 / 128.0, |(_, largest)| largest), power)
    }

    /// The bias; integers have none.
    fn bias(&self, power: i32) -> Cell {
        self.format.map_or(Cell::Empty, |_| Cell::from(-power))
    }
}

/// The best largest value, and the best power of two.
struct Best {
    largest: f64,
    error: f64,
    power: i32,
    power_error: f64,
}

impl Best {
    fn of(distribution: Distribution, grid: &Grid) -> Self {
        let error = |largest: f64| grid.error(distribution, largest);
        let tried = |i: i32| libm::exp2(f64::from(i) / f64::from(PER_BINADE));
        let least = (LOWEST * PER_BINADE..=HIGHEST * PER_BINADE)
            .map(|i| (i, error(tried(i))))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("some are tried");
        let (mut low, mut high) = (tried(least.0 - 1), tried(least.0 + 1));
        for _ in 0..REFINEMENTS {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if error(a) <= error(b) { high = b } else { low = a }
        }
        let refined = f64::midpoint(low, high);
        let (largest, best) = [tried(least.0), refined]
            .map(|largest| (largest, error(largest)))
            .into_iter()
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("two");
        let unit = crate::instruments::data::binade(grid.power(0));
        let (power, power_error) = (LOWEST..=HIGHEST)
            .map(|e| (e - unit, error(grid.power(e - unit))))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("some are tried");
        Self { largest, error: best, power, power_error }
    }
}

/// The mean SQNR of tensors by role, each at its best integer bias.
fn on_tensors(grids: &[Grid], tensors: &[Tensor], source: &str) -> (FindingsTable, Vec<Series>) {
    let mut roles: Vec<Role> = tensors.iter().map(|tensor| tensor.role).collect();
    roles.dedup();
    let columns = std::iter::once("tensors".to_owned()).chain(grids.iter().map(Grid::name));
    let mut table = FindingsTable::new(
        format!("Mean SQNR in dB at the best power of two of each tensor, {source}"),
        columns.chain(["best".into()]),
    );
    let mut series = Vec::new();
    for role in roles {
        let chosen: Vec<&Tensor> =
            tensors.iter().filter(|tensor| tensor.role == role && tensor.amax() > 0.0).collect();
        let means: Vec<f64> = grids
            .iter()
            .map(|grid| {
                let ratios: Vec<f64> = chosen.par_iter().map(|tensor| ratio(grid, tensor)).collect();
                #[expect(clippy::cast_precision_loss, reason = "files have few tensors")]
                let count = ratios.len() as f64;
                ratios.iter().sum::<f64>() / count
            })
            .collect();
        let best = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b])).expect("some formats");
        let mut row = row![role.to_string()];
        row.extend(means.iter().map(|mean| Cell::Measured(*mean)));
        row.push(grids[best].name().into());
        table.rows.push(row);
        let points = means.iter().rev().zip(0_u32..).map(|(mean, x)| [f64::from(x), *mean]);
        series.push(Series::new(role.to_string(), Mark::Line, points));
    }
    (table, series)
}

/// The ratio of a tensor at its best power of two, in dB.
fn ratio(grid: &Grid, tensor: &Tensor) -> f64 {
    let finite = || tensor.values.iter().copied().filter(|x| x.is_finite());
    let signal: f64 = finite().map(|x| x * x).sum();
    let top =
        crate::instruments::data::binade(tensor.amax()) - crate::instruments::data::binade(grid.power(0));
    let error = (-2..=3).map(|step| {
        let power = top + step;
        if grid.format.is_some() {
            let format = Grid::at_bias(grid.exponent_bits, -power)
                .expect("biases of tensors in binary64's range are allowed");
            return Magnitudes::of(&tensor.values, format.precision()).squared_error(&format);
        }
        let unit = scaled(1.0 / 128.0, power);
        let error = |x: f64| x - libm::rint(x / unit).clamp(-128.0, 127.0) * unit;
        finite().map(|x| error(x) * error(x)).sum()
    });
    (10.0 * libm::log10(signal / error.fold(f64::INFINITY, f64::min))).min(200.0)
}
