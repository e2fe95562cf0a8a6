//! Elements of tiles → codes: quotients by their groups' scales, rounded by an encoder.

use smallfloat::{Flags, Rounding};
use smallfloat_kernels::{EventCounts, Lanes, Level, PowerScales, RandomWords, StepTable};

use super::{ENCODED_ELEMENTS, PerGroup, Place, Scales, TileResult, Work};
use crate::file::dtype::Dtype;
use crate::file::stream::StoredCode;
use crate::layout::fp8_remap::Counts;
use crate::layout::grid::{Tile, index};
use crate::options::Nonfinite;
use crate::quantize::divide::Quotients;
use crate::quantize::powers::{largest_of_long_groups, power_codes, power_codes_of_long};
use crate::scale::rule::{Divisor, Scale, power};
use crate::stored::numbers::Held;

impl PerGroup<'_> {
    /// The codes of a tile and of its scales, where both are quickly found: all elements then are
    /// what the options take.
    pub(super) fn encode_quickly<T: Held, C: StoredCode>(
        &self,
        held: &[T],
        place: &mut Place<'_, C>,
        work: &mut Work,
        (tile, groups): (&Tile, &Tile),
        done: &mut TileResult,
    ) -> Option<Vec<u8>> {
        if held.is_empty() {
            // There may be groups even so.
            return None;
        }
        let (grid, count) = (&self.loader.grid, index(groups.elements()));
        let short = match T::lanes(held) {
            Lanes::F32(short) => short,
            Lanes::F64(long) => {
                let largest = largest_of_long_groups(grid, (tile, groups), count, long)?;
                let (of_scales, scales);
                if let Some(floats) = &self.floats {
                    of_scales = floats.codes_of_long(&largest);
                    scales = Scales::Floats(floats, &of_scales);
                } else {
                    of_scales = power_codes_of_long(self.powers?, &largest)?;
                    scales = Scales::Powers(&of_scales);
                }
                done.events = self.encode(held, place, work, (tile, groups), scales);
                return Some(of_scales);
            }
            Lanes::F16(_) | Lanes::Bf16(_) => return None,
        };
        if let Some(floats) = &self.floats {
            let steps = floats.steps().filter(|_| !self.reports);
            if let (Some(steps), Some(length)) = (steps, grid.group_length(tile)) {
                let known = self.known_largest(groups);
                return floats.encode_groups(steps, length, known, short, place.codes);
            }
            let of_scales = floats.codes(grid, (tile, groups), count, short)?;
            if let Some(steps) = steps {
                self.encode_by_steps(steps, &of_scales, short, place.codes, (tile, groups));
            } else {
                let scales = Scales::Floats(floats, &of_scales);
                done.events = self.encode(held, place, work, (tile, groups), scales);
            }
            return Some(of_scales);
        }
        let powers = self.powers?;
        if let (false, Some(length), Quotients::Short(encoder)) =
            (self.reports, grid.group_length(tile), &self.quotients)
        {
            let mut of_scales = vec![0; count];
            let all_finite = encoder.encode_blocks(powers, length, short, &mut of_scales, place.codes);
            return all_finite.then_some(of_scales);
        }
        let of_scales = power_codes(powers, grid, (tile, groups), count, short)?;
        done.events = self.encode(held, place, work, (tile, groups), Scales::Powers(&of_scales));
        Some(of_scales)
    }

    /// The codes of a tile, and what happened.
    pub(super) fn encode<T: Held, C: StoredCode>(
        &self,
        held: &[T],
        place: &mut Place<'_, C>,
        work: &mut Work,
        (tile, groups): (&Tile, &Tile),
        scales: Scales<'_>,
    ) -> EventCounts {
        let (codes, division) = (&mut *place.codes, &mut work.division);
        let mut events = EventCounts::default();
        let rounding = match self.options.projection(&self.element).rounding {
            // Quotients that underflow are counted: they must not become zeros before.
            _ if self.reports => Rounding::TowardZero,
            rounding => rounding,
        };
        let is_short_power = matches!((scales, T::lanes(held)), (Scales::Powers(_), Lanes::F32(_)));
        let length = self.loader.grid.group_length(tile).filter(|_| !is_short_power);
        let exact = if length.is_some() { scales.exact() } else { Vec::new() };
        for (strip, range) in Self::strips(tile, ENCODED_ELEMENTS) {
            let first = range.start;
            let (values, codes) = (&held[range.clone()], &mut codes[range]);
            self.quotients.begin(division, values.len());
            let in_order = |length: usize| {
                let scales = &exact[first / length..][..values.len() / length];
                self.quotients.divide_groups(division, length, values, scales)
            };
            let is_divided = length.and(self.loader.grid.group_length(&strip)).is_some_and(in_order);
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    if is_divided {
                        return;
                    }
                    self.loader.grid.each_group(
                        &strip,
                        groups,
                        #[inline(always)]
                        |group, range| {
                            let (values, codes) = (&values[range.clone()], &mut codes[range.clone()]);
                            match (scales, T::lanes(values)) {
                                (Scales::Powers(scales), Lanes::F32(values)) => {
                                    let quotients = Quotients::short(division, range);
                                    PowerScales::divide(scales[group], rounding, values, quotients);
                                }
                                (Scales::Powers(scales), _) => {
                                    let divisor = Divisor::new(power(i32::from(scales[group]) - 127));
                                    self.quotients.divide(division, range, values, divisor, codes);
                                }
                                (Scales::Floats(floats, scales), _) => {
                                    let divisor = self.divisor(floats.scale(scales[group]));
                                    self.quotients.divide(division, range, values, divisor, codes);
                                }
                                (Scales::Any(scales), _) => {
                                    let divisor = self.divisor(&scales[group]);
                                    self.quotients.divide(division, range, values, divisor, codes);
                                }
                            }
                        },
                    );
                },
            );
            // Random words belong to places in the tensor, and only whole rows follow each other
            // there.
            let columns = self.loader.grid.columns;
            let run = if strip.columns == columns { values.len() } else { index(strip.columns) };
            for (i, codes) in codes.chunks_mut(run.max(1)).enumerate() {
                let first_element = (strip.row + i as u64) * columns + strip.column;
                let words = RandomWords { generator: self.philox.into(), first_element };
                let counted = self.reports || self.options.rounds_randomly();
                events = events.merge(self.quotients.encode(division, i * run, codes, words, counted));
            }
        }
        if let Some(infinities) = self.infinities {
            let held = held.iter().map(|x| x.to_f64());
            for (x, code) in held.zip(&mut *codes).filter(|(x, _)| x.is_infinite()) {
                *code = C::from_code(infinities[usize::from(x < 0.0)]);
            }
        }
        if !self.reports {
            return events;
        }
        if self.options.nonfinite == Nonfinite::Preset && !self.element.has_nan() {
            // Where the scale alone says NaN, the quotients are zeros.
            events.nans = events.nans.max(held.iter().filter(|x| x.to_f64().is_nan()).count() as u64);
        }
        // The encoder sees quotients; whether an operand is subnormal is a matter of the source.
        events.flags = events.flags & Flags::from_bits_truncate(!Flags::DENORMAL.bits());
        let limit = smallest_normal(self.loader.numbers.dtype());
        let any_below = || {
            Level::detected().vectorize(
                #[inline(always)]
                || T::any_positive_below(held, limit),
            )
        };
        if limit > 0.0 && any_below() {
            events.flags |= Flags::DENORMAL;
        }
        events
    }

    /// The codes of a tile of finite elements, of which nothing is counted.
    fn encode_by_steps<C: StoredCode>(
        &self,
        steps: &StepTable,
        scales: &[u8],
        held: &[f32],
        codes: &mut [C],
        (tile, groups): (&Tile, &Tile),
    ) {
        Level::detected().vectorize(
            #[inline(always)]
            || {
                self.loader.grid.each_group(
                    tile,
                    groups,
                    #[inline(always)]
                    |group, range| steps.encode_group(scales[group], &held[range.clone()], &mut codes[range]),
                );
            },
        );
    }

    /// How often each code occurs in the groups of a tile.
    pub(super) fn count<C: StoredCode>(
        &self,
        place: &Place<'_, C>,
        tile: &Tile,
        groups: &Tile,
        counts: &mut [Counts],
    ) {
        self.loader.grid.each_group(tile, groups, |group, range| {
            place.codes[range].iter().for_each(|&code| counts[group][code.code() & 255] += 1);
        });
    }

    #[inline(always)]
    fn divisor(&self, scale: &Scale) -> Divisor {
        if scale.value.is_nan() && !self.element.has_nan() {
            // The scale alone says NaN; the elements are zeros.
            return Divisor::Silent;
        }
        Divisor::of(scale)
    }
}

fn smallest_normal(dtype: Option<Dtype>) -> f64 {
    match dtype {
        Some(Dtype::F64) => f64::MIN_POSITIVE,
        Some(Dtype::F32 | Dtype::BF16) => f64::from(f32::MIN_POSITIVE),
        Some(Dtype::F16) => f64::from_bits((1023 - 14) << 52),
        _ => 0.0,
    }
}
