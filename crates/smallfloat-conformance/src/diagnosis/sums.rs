//! Mistakes of sums of products: other accumulators, other terms, and faults in one lane.

use smallfloat::{Datum, Format, Rounding, project};
use smallfloat_kernels::{Accumulate, Fused, FusedDot, Gpu, GroupSum, MatrixUnit, Output};

use crate::diagnosis::fixed::of_unit;
use crate::diagnosis::mistake::Mistake;
use crate::diagnosis::scaled;
use crate::vectors::{CallOutcome, DotProduct, FixedUnit};

/// The mistakes of a sum, the likelier first.
pub(super) fn of_sums(unit: &FixedUnit, dot: &DotProduct) -> Vec<Mistake> {
    let [x, y] = dot.formats();
    let with = |accumulate| FixedUnit::dot(dot.length(), x, y, accumulate).ok();
    if dot.scales().is_some() {
        return scaled::of_scaled_sums(unit, dot);
    }
    let mut all = Vec::new();
    let Some(matrix_unit) = dot.matrix_unit() else {
        for accumulate in ["exact", "f32", "bfloat16", "binary16"] {
            let other = with(accumulate.parse().expect("an accumulator"));
            let other = other.filter(|other| other.results() == unit.results());
            all.extend(other.map(|other| of_unit(format!("accumulates in {accumulate}"), other)));
        }
        all.extend(of_lanes(unit, dot, dot.length()));
        return all;
    };
    let fused = *matrix_unit.fused();
    let mut add = |name: String, fused: Fused| {
        all.extend(with(Accumulate::Fused(fused)).map(|other| of_unit(name, other)));
    };
    for bits in 1..=40 {
        let sum = match fused.sum {
            GroupSum::Aligned { fraction_bits } if bits != fraction_bits => {
                GroupSum::Aligned { fraction_bits: bits }
            }
            GroupSum::Down { fraction_bits } if bits != fraction_bits => {
                GroupSum::Down { fraction_bits: bits }
            }
            GroupSum::DownInHalves { fraction_bits } if bits != fraction_bits => {
                GroupSum::DownInHalves { fraction_bits: bits }
            }
            _ => continue,
        };
        add(format!("keeps {bits} fraction bits of aligned terms"), Fused { sum, ..fused });
    }
    for k in (0..=8).map(|power| 1 << power).filter(|k| *k != fused.k) {
        add(format!("adds {k} products at a time"), Fused { k, ..fused });
    }
    for rounding in [Rounding::NearestEven, Rounding::TowardZero] {
        if rounding != fused.rounding {
            add(format!("rounds sums {}", rounding.name()), Fused { rounding, ..fused });
        }
    }
    for output in [Output::Binary32, Output::E8M13] {
        if output != fused.output && fused.output != Output::Binary16 {
            add(format!("keeps sums in {}", output.name()), Fused { output, ..fused });
        }
    }
    for promote in [None, Some(64), Some(128), Some(256)] {
        if promote != fused.promote {
            let name = promote.map_or("never adds to a sum in binary32".into(), |promote| {
                format!("adds to a sum in binary32 after {promote} products")
            });
            add(name, Fused { promote, ..fused });
        }
    }
    let bits = match fused.sum {
        GroupSum::Aligned { fraction_bits }
        | GroupSum::Down { fraction_bits }
        | GroupSum::DownInHalves { fraction_bits } => fraction_bits,
        GroupSum::Pairwise | GroupSum::Sequential => 24,
    };
    for (name, sum) in [
        ("cuts all terms toward zero, aligned together", GroupSum::Aligned { fraction_bits: bits }),
        ("cuts sums toward −∞ before the accumulator is added", GroupSum::Down { fraction_bits: bits }),
        ("adds products in a tree", GroupSum::Pairwise),
        ("adds products one after the other, each sum rounded", GroupSum::Sequential),
    ] {
        if sum != fused.sum {
            add(name.into(), Fused { sum, ..fused });
            add(name.into(), Fused::nearest(fused.k, sum));
        }
    }
    all.extend(of_gpus(dot, matrix_unit));
    all.extend(of_operands(unit, dot));
    all.extend(of_lanes(unit, dot, fused.k));
    all
}

/// Sums of other terms, and the exact sum rounded once.
pub(super) fn of_operands(unit: &FixedUnit, dot: &DotProduct) -> Vec<Mistake> {
    let changed = |name: &str, change: fn(&DotProduct, &mut [u64])| changed(unit, dot, name.into(), change);
    let once = |rounding: Rounding| {
        let (dot, register) = (dot.clone(), dot.register());
        let projection = register.default_projection().with_rounding(rounding);
        Mistake::of_fixed(format!("rounds the exact sum once, {}", rounding.name()), move |operands| {
            let code = project(dot.exact(operands), &register, &projection);
            Some(CallOutcome::one(code.value, code.flags))
        })
    };
    vec![
        changed("ignores the accumulator", |dot, operands| dot.parts_mut(operands)[4][0] = 0),
        changed("takes subnormal operands for zeros", |dot, operands| {
            for (format, codes) in dot.formats().iter().zip(operands.chunks_mut(dot.length())) {
                for code in codes {
                    *code = flushed(format, *code);
                }
            }
        }),
        changed("takes a subnormal accumulator for zero", |dot, operands| {
            let c = &mut dot.parts_mut(operands)[4][0];
            *c = flushed(&dot.register(), *c);
        }),
        changed("adds the products from the last to the first", |dot, operands| {
            dot.parts_mut(operands).into_iter().for_each(<[u64]>::reverse);
        }),
        once(Rounding::NearestEven),
        once(Rounding::TowardZero),
    ]
}

/// The code, or that of zero for a subnormal one.
pub(super) fn flushed(format: &Format, code: u64) -> u64 {
    let (datum, least) = (format.decode(code), format.min_normal().exponent_of_leading_bit());
    let is_subnormal = datum.is_finite() && !datum.is_zero() && datum.exponent_of_leading_bit() < least;
    if is_subnormal { zero(format, code) } else { code }
}

/// The unit, given other operands.
pub(super) fn changed(
    unit: &FixedUnit,
    dot: &DotProduct,
    name: String,
    change: impl Fn(&DotProduct, &mut [u64]) + Send + Sync + 'static,
) -> Mistake {
    let (unit, dot) = (unit.clone(), dot.clone());
    Mistake::of_fixed(name, move |operands| {
        let mut operands = operands.to_vec();
        change(&dot, &mut operands);
        unit.evaluate(&operands).ok()
    })
}

/// The units of GPUs, those that add alike together.
fn of_gpus(dot: &DotProduct, own: &FusedDot) -> Vec<Mistake> {
    let ([x, y], half) = (dot.formats(), own.fused().output == Output::Binary16);
    let ways = |other: &FusedDot| (*other.fused(), *other.types());
    let mut all: Vec<(String, FusedDot, MatrixUnit)> = Vec::new();
    for gpu in Gpu::ALL {
        let unit = MatrixUnit { gpu: *gpu, half, promote: None };
        let Some(other) = unit.dot(x, y).ok().filter(|other| ways(other) != ways(own)) else { continue };
        match all.iter_mut().find(|(_, known, _)| ways(known) == ways(&other)) {
            Some((names, ..)) => *names = format!("{names} or {unit}"),
            None => all.push((unit.to_string(), other, unit)),
        }
    }
    let unit_of = |unit| FixedUnit::dot(dot.length(), x, y, Accumulate::Unit(unit)).ok();
    let mistakes = all.into_iter().filter_map(|(names, _, unit)| Some((names, unit_of(unit)?)));
    mistakes.map(|(names, unit)| of_unit(format!("adds as {names} does"), unit)).collect()
}

/// Lanes in which a fault is looked for, at most.
const LANES: usize = 64;

/// What a fault does to the operands of a product and of the next one.
type Fault = fn(&Format, &mut [u64]);

/// Faults in one lane of `k`, in every group of products.
pub(super) fn of_lanes(unit: &FixedUnit, dot: &DotProduct, k: usize) -> Vec<Mistake> {
    let (length, lanes) = (dot.length(), k.min(dot.length()));
    if lanes > LANES {
        return Vec::new();
    }
    let groups = if length > k { format!(" of every {k} products") } else { String::new() };
    let mut all = Vec::new();
    for lane in 0..lanes {
        for (side, operand) in ["x", "y"].into_iter().enumerate() {
            let (this, next) = (format!("{operand}{lane}"), format!("{operand}{}", lane + 1));
            let faults: [(String, usize, Fault); 5] = [
                (format!("takes {this} for zero"), 1, |format, codes| codes[0] = zero(format, codes[0])),
                (format!("ignores the sign of {this}"), 1, |format, codes| {
                    codes[0] = unsigned(format, codes[0]);
                }),
                (format!("exchanges {this} and {next}"), 2, |_, codes| codes.swap(0, 1)),
                (format!("takes {this} for {next}"), 2, |_, codes| codes[1] = codes[0]),
                (format!("takes {next} for {this}"), 2, |_, codes| codes[0] = codes[1]),
            ];
            for (name, width, fault) in faults {
                if lane + width > lanes {
                    continue;
                }
                all.push(changed(unit, dot, format!("{name}{groups}"), move |dot, operands| {
                    let codes = &mut operands[side * length..][..length];
                    for codes in codes.chunks_mut(k).filter(|codes| codes.len() >= lane + width) {
                        fault(&dot.formats()[side], &mut codes[lane..][..width]);
                    }
                }));
            }
        }
    }
    all
}

/// The code of zero, if there is one.
fn zero(format: &Format, code: u64) -> u64 {
    format.encode(Datum::ZERO).unwrap_or(code)
}

/// The code without its sign.
fn unsigned(format: &Format, code: u64) -> u64 {
    let datum = format.decode(code);
    if datum.is_negative() { format.encode(datum.negated()).unwrap_or(code) } else { code }
}
