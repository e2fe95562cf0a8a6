//! [`FloatScales`]: the scales of small floats (E4M3 in NVFP4) for elements of f32, many at once,
//! and elements of four bits without a division.
//!
//! *Scales are quotients too*: amax · global / max, rounded once. Operands have at most 24 bits
//! each, and max is a number of the element format, so that [`quotients_to_odd`] and the encoder of
//! f32 give the codes that [`ScaleSpec::choose`] gives.
//!
//! *Elements of four bits are compared*, not divided. With at most seven places where the rounding
//! of magnitudes changes, x / scale reaches a place p if |x| · global ≥ p · unit, both of which are
//! exact in f64. For each code of a scale the least f32 that does so is in a table, and the code of
//! an element is how many of them |x| reaches. Where places are, and on which side of them the
//! change is, is asked of the encoder; formats and roundings that treat signs differently are left
//! to it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use smallfloat::Format;
use smallfloat_kernels::{Encoder, Level, StepTable, quotients_to_odd, to_odd};

use crate::error::{Result, refuse};
use crate::file::stream::StoredCode;
use crate::layout::grid::{Grid, Tile};
use crate::quantize::divide::{LOW_BITS, RUN, narrow};
use crate::quantize::powers::largest_of_groups;
use crate::scale::rule::{
    Extent, Scale, ScaleSpec, ScaledElement, is_far_from_places, is_power_of_two, power,
};

/// Fewer elements are not worth the tables.
const LEAST_ELEMENTS: usize = 1 << 11;

/// Elements whose scales are chosen before they are encoded: they stay in the first cache.
const ENCODED_ELEMENTS: usize = 1 << 13;

/// Scales that are chosen at once.
const CHOSEN_SCALES: usize = 1 << 10;

const MAGNITUDES: usize = StepTable::MAGNITUDES;

/// What tensors with the same options share: tables, and the scales of the last one, since what
/// divides the scales is often the same.
#[derive(Debug, Default)]
pub(crate) struct SharedScales {
    tables: OnceLock<Option<Arc<FloatTables>>>,
    last: Mutex<Option<(u64, Arc<FloatScales>)>>,
}

impl SharedScales {
    /// For so many elements, which this encoder encodes, and what divides their scales; `None`
    /// where scales are others, or elements few.
    pub(crate) fn scales(
        &self,
        spec: &ScaleSpec,
        elements: &Encoder<f32>,
        global: f64,
        length: usize,
    ) -> Result<Option<Arc<FloatScales>>> {
        if length < LEAST_ELEMENTS {
            return Ok(None);
        }
        if self.tables.get().is_none() {
            // Who comes second has made the same.
            let _ = self.tables.set(FloatTables::new(spec, elements)?.map(Arc::new));
        }
        let Some(tables) = self.tables.get().and_then(Option::as_ref) else { return Ok(None) };
        // A lock that is held for a moment.
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, scales)) = last().as_ref().filter(|(known, _)| *known == global.to_bits()) {
            return Ok(Some(Arc::clone(scales)));
        }
        let scales = FloatScales::new(tables, spec, elements.format(), global).map(Arc::new);
        *last() = scales.as_ref().map(|scales| (global.to_bits(), Arc::clone(scales)));
        Ok(scales)
    }
}

/// What is the same for all tensors whose scales have one format and rule.
#[derive(Debug)]
struct FloatTables {
    encoder: Encoder<f32>,
    /// Of a group of zeros, and the least of others.
    ends: (u8, u8),
    /// What codes stand for.
    units: Vec<f64>,
    /// Where the codes of elements change, if they can be found by comparison.
    places: Option<[Place; MAGNITUDES]>,
}

impl FloatTables {
    /// For elements that this encoder encodes; `None` where scales are others.
    fn new(spec: &ScaleSpec, elements: &Encoder<f32>) -> Result<Option<Self>> {
        let Some((_, positive)) = spec.float_rule(&ScaledElement::new(elements.format()), 1.0) else {
            return Ok(None);
        };
        let encoder = Encoder::new(&spec.format, &spec.projection(true)).map_err(refuse)?;
        let code = |wanted: f64| spec.nearest(wanted, 1.0).code.to_le_bytes()[0];
        let ends = if positive { (code(1.0), code(f64::MIN_POSITIVE)) } else { (0, 0) };
        let units = (0..=code(f64::MAX)).map(|code| spec.stored(code.into(), 1.0).unit).collect();
        let places = if positive { Place::all(elements) } else { None };
        Ok(Some(Self { encoder, ends, units, places }))
    }
}

/// How codes of scales follow from the largest magnitudes, and what they mean.
#[derive(Debug)]
pub(crate) struct FloatScales {
    tables: Arc<FloatTables>,
    /// What largest magnitudes are multiplied and divided by.
    ratio: (f64, f64),
    /// By code.
    scales: Vec<Scale>,
    /// As `scales`: what elements are multiplied by when they are read.
    values: Box<[f64; 256]>,
    steps: Option<StepTable>,
}

impl FloatScales {
    /// For elements of a format and what divides their scales.
    fn new(tables: &Arc<FloatTables>, spec: &ScaleSpec, element: &Format, global: f64) -> Option<Self> {
        let (ratio, _) = spec.float_rule(&ScaledElement::new(element), global)?;
        let scales: Vec<_> =
            (0..).zip(&tables.units).map(|(code, &unit)| Scale::new(code, unit, global)).collect();
        let steps = tables.places.map(|places| step_table(places, &scales, element.width() - 1));
        let mut values = Box::new([f64::NAN; 256]);
        values.iter_mut().zip(&scales).for_each(|(value, scale)| *value = scale.value);
        Some(Self { tables: Arc::clone(tables), ratio, scales, values, steps })
    }

    /// The codes of scales by largest magnitudes of f64.
    pub(crate) fn codes_of_long(&self, largest: &[f64]) -> Vec<u8> {
        let (over, max) = self.ratio;
        let is_power = is_power_of_two(over);
        let mut codes = vec![0; largest.len()];
        let mut quotients = vec![0.0; largest.len().min(CHOSEN_SCALES)];
        for (largest, codes) in largest.chunks(CHOSEN_SCALES).zip(codes.chunks_mut(CHOSEN_SCALES)) {
            let quotients = &mut quotients[..largest.len()];
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    for (quotients, largest) in quotients.chunks_mut(RUN).zip(largest.chunks(RUN)) {
                        let mut others = 0;
                        for (q, &amax) in quotients.iter_mut().zip(largest) {
                            let product = amax * over;
                            let quotient = product / max;
                            let (odd, is_other) = narrow(quotient);
                            *q = odd;
                            let is_exact = is_power & is_exact_place(product, quotient, max);
                            let is_far = is_far_from_places(product, quotient, LOW_BITS);
                            let is_near = u32::from(!(is_far | is_exact));
                            others |= (is_near | is_other) & u32::from(amax != 0.0);
                        }
                        if others != 0 {
                            exact_to_odd((over, max), largest, quotients);
                        }
                    }
                },
            );
            self.round(quotients, codes, || largest.iter().map(|&amax| amax == 0.0));
        }
        codes
    }

    /// The codes of the scales of a tile's groups; `None` if an element is not finite.
    pub(crate) fn codes(
        &self,
        grid: &Grid,
        tiles: (&Tile, &Tile),
        count: usize,
        values: &[f32],
    ) -> Option<Vec<u8>> {
        let largest = largest_of_groups(grid, tiles, count, values)?;
        let mut codes = vec![0; count];
        let mut quotients = vec![0.0; count.min(CHOSEN_SCALES)];
        for (largest, codes) in largest.chunks(CHOSEN_SCALES).zip(codes.chunks_mut(CHOSEN_SCALES)) {
            self.choose(largest, &mut quotients, codes);
        }
        Some(codes)
    }

    /// Encodes groups of this length, which follow each other, by steps, and returns the codes of
    /// their scales; `None` if an element is not finite. Their largest magnitudes may be known.
    pub(crate) fn encode_groups<C: StoredCode>(
        &self,
        steps: &StepTable,
        length: usize,
        known: Option<&[f32]>,
        values: &[f32],
        codes: &mut [C],
    ) -> Option<Vec<u8>> {
        let level = Level::detected();
        let mut scales = vec![0; values.len() / length];
        let groups = (ENCODED_ELEMENTS / length).max(1);
        let room = groups.min(scales.len());
        let (mut found, mut quotients) = (vec![0.0; room], vec![0.0; room]);
        let strips = values.chunks(groups * length).zip(codes.chunks_mut(groups * length));
        for (i, ((values, codes), scales)) in strips.zip(scales.chunks_mut(groups)).enumerate() {
            let largest = if let Some(known) = known {
                &known[i * groups..][..scales.len()]
            } else {
                let found = &mut found[..scales.len()];
                if !smallfloat_kernels::largest_of_groups(level, length, values, found) {
                    return None;
                }
                found
            };
            self.choose(largest, &mut quotients, scales);
            steps.encode(level, length, scales, values, codes);
        }
        Some(scales)
    }

    /// Chooses scales by largest magnitudes.
    fn choose(&self, largest: &[f32], quotients: &mut [f32], codes: &mut [u8]) {
        let (over, max) = self.ratio;
        let quotients = &mut quotients[..largest.len()];
        quotients_to_odd(Level::detected(), over, max, largest, quotients);
        self.round(quotients, codes, || largest.iter().map(|&amax| amax == 0.0));
    }

    /// The codes of scales by quotients that are exact or rounded to odd; `are_zeros` says which
    /// groups are zeros.
    fn round<I: Iterator<Item = bool>>(
        &self,
        quotients: &[f32],
        codes: &mut [u8],
        are_zeros: impl Fn() -> I,
    ) {
        self.tables.encoder.encode_uncounted(quotients, codes);
        let (zeros, least) = self.tables.ends;
        for code in codes.iter_mut() {
            *code = (*code).max(least);
        }
        // Most groups are none of zeros.
        if are_zeros().fold(false, |any, is_zero| any | is_zero) {
            for (code, _) in codes.iter_mut().zip(are_zeros()).filter(|(_, is_zero)| *is_zero) {
                *code = zeros;
            }
        }
    }

    /// The scale of a code.
    #[inline(always)]
    pub(crate) fn scale(&self, code: u8) -> &Scale {
        &self.scales[usize::from(code)]
    }

    /// What elements with scales of these codes are multiplied by when they are read.
    pub(crate) fn values(&self, codes: &[u8]) -> Vec<f64> {
        codes.iter().map(|&code| self.values[usize::from(code)]).collect()
    }

    /// Whether all scales are numbers of f64.
    pub(crate) fn are_exact(&self) -> bool {
        self.scales.iter().all(Scale::is_exact)
    }

    /// How elements are encoded without a division, if they can be.
    pub(crate) fn steps(&self) -> Option<&StepTable> {
        self.steps.as_ref()
    }
}

/// Whether a quotient of an exact product is exact too, as one that is a place itself: the largest
/// magnitudes of other scales' groups often are such multiples. What it is multiplied by has few
/// bits.
#[inline(always)]
fn is_exact_place(product: f64, quotient: f64, max: f64) -> bool {
    (quotient.to_bits() & LOW_BITS == 0)
        & ((quotient * max).to_bits() == product.to_bits())
        & (product >= power(-900))
}

/// Quotients of largest magnitudes, exact or rounded to odd, whatever they are.
#[cold]
fn exact_to_odd((over, max): (f64, f64), largest: &[f64], quotients: &mut [f32]) {
    for (q, &amax) in quotients.iter_mut().zip(largest) {
        *q = to_odd(Extent { amax, ..Extent::default() }.over(max, over));
    }
}

/// A place where the code of a quotient changes, and whether it is among those above.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: f64,
    reached: bool,
}

impl Place {
    /// The places from which on magnitudes have at least the codes 1 to 7, as this encoder has
    /// them.
    fn all(encoder: &Encoder<f32>) -> Option<[Self; MAGNITUDES]> {
        let format: &Format = encoder.format();
        if format.width() > 4 || !format.is_signed() {
            return None;
        }
        let sign = 1_u8 << (format.width() - 1);
        let mut values: Vec<f64> = (0..u64::from(sign)).map(|code| format.decode_f64(code).value).collect();
        values.retain(|value| value.is_finite());
        values.sort_by(f64::total_cmp);
        let halves = values.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
        let mut places: Vec<f64> = halves.collect();
        places.extend(values.iter().filter(|value| **value > 0.0));
        places.sort_by(f64::total_cmp);
        // Magnitudes around all of them, and which place is known where the code changes.
        let mut probes = vec![(0.0, None), (f32::from_bits(1), Some(Self { at: 0.0, reached: false }))];
        for at in places {
            #[expect(clippy::cast_possible_truncation, reason = "a number of a few bits")]
            let near = at as f32;
            probes.push((near.next_down(), None));
            probes.push((near, Some(Self { at, reached: true })));
            probes.push((near.next_up(), Some(Self { at, reached: false })));
        }
        probes.push((f32::MAX, None));
        let coded = |negative: bool| {
            let values: Vec<f32> = probes.iter().map(|&(x, _)| if negative { -x } else { x }).collect();
            let mut codes = vec![0_u8; values.len()];
            encoder.encode_uncounted(&values, &mut codes);
            codes
        };
        let (codes, opposite) = (coded(false), coded(true));
        let mirrored = codes.iter().zip(&opposite).all(|(code, other)| *code < sign && *other == code | sign);
        if codes[0] != 0 || !mirrored || !codes.is_sorted() {
            return None;
        }
        let mut found = [Self { at: f64::INFINITY, reached: true }; MAGNITUDES];
        for (least, place) in (1..).zip(&mut found) {
            if let Some(i) = codes.iter().position(|&code| code >= least) {
                *place = probes[i].1?;
            }
        }
        Some(found)
    }

    /// The least f32 whose quotient by a scale is above.
    fn least(self, scale: &Scale) -> f32 {
        let limit = self.at * scale.unit;
        let above = |x: f32| {
            let product = f64::from(x) * scale.over;
            product > limit || (self.reached && product >= limit)
        };
        #[expect(clippy::cast_possible_truncation, reason = "mended below")]
        let mut x = (limit / scale.over) as f32;
        while x > 0.0 && above(x.next_down()) {
            x = x.next_down();
        }
        while !above(x) {
            x = x.next_up();
        }
        x
    }
}

/// The table of steps, of codes with this bit for a sign.
fn step_table(places: [Place; MAGNITUDES], scales: &[Scale], sign: u32) -> StepTable {
    // No group has the scale zero.
    let mut rows = vec![[f32::INFINITY; MAGNITUDES]; scales.len()];
    // Twice the scale has twice the places, as long as these are normal numbers.
    let mut twice = scales.len();
    for (i, scale) in scales.iter().enumerate().rev().filter(|(_, scale)| scale.unit > 0.0) {
        while twice > i + 1 && scales[twice - 1].unit > 2.0 * scale.unit {
            twice -= 1;
        }
        let is_twice = scales[twice - 1].unit.to_bits() == (2.0 * scale.unit).to_bits();
        let known = is_twice.then(|| rows[twice - 1]);
        rows[i] = std::array::from_fn(|k| {
            let place = known.map_or(0.0, |row| row[k]);
            let halves = (2.0 * f32::MIN_POSITIVE..=f32::MAX).contains(&place);
            if halves { place / 2.0 } else { places[k].least(scale) }
        });
    }
    StepTable::new(rows, sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::grid::Granularity;
    use crate::scale::rule::{Divisor, Extent, GlobalScale, ScaleRule};
    use smallfloat::formats::{E2M1FN, E2M3FN, E3M2FN, E4M3FN, E5M2};
    use smallfloat::{Rounding, Saturation};

    const GLOBALS: [f32; 8] =
        [1.0, 0.5, 1.0 / f32::MIN_POSITIVE, f32::MIN_POSITIVE, 2688.0 / 3.3, 0.3, 1.1e-30, f32::MAX];

    fn encoder(format: &Format, rounding: Rounding) -> Encoder<f32> {
        let projection = format.default_projection().with_rounding(rounding);
        Encoder::new(format, &projection.with_saturation(Saturation::SatFinite)).unwrap()
    }

    fn float_scales(
        spec: &ScaleSpec,
        elements: &Encoder<f32>,
        global: f64,
        length: usize,
    ) -> Option<Arc<FloatScales>> {
        SharedScales::default().scales(spec, elements, global, length).unwrap()
    }

    /// What tensors share does not keep them from their own scales.
    #[test]
    fn the_last_scales_are_of_one_number() {
        let spec = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::Amax) };
        let (shared, elements) = (SharedScales::default(), encoder(&E2M1FN, Rounding::NearestEven));
        let of = |global| shared.scales(&spec, &elements, global, usize::MAX).unwrap().unwrap();
        let first = of(0.5);
        assert!(Arc::ptr_eq(&first, &of(0.5)));
        for global in [0.3, 0.5] {
            let own = float_scales(&spec, &elements, global, usize::MAX).unwrap();
            assert_eq!((of(global).scales.clone(), of(global).ratio), (own.scales.clone(), own.ratio));
        }
        assert!(!Arc::ptr_eq(&first, &of(0.5)));
        assert!(shared.scales(&spec, &elements, 0.5, 16).unwrap().is_none());
    }

    /// Around each place where the rule's code changes, and at ends, in f32 and in f64.
    #[test]
    fn codes_of_scales_are_those_of_the_rules() {
        for (format, element) in
            [(E4M3FN, E2M1FN), (E5M2, E2M1FN), (E3M2FN, E2M1FN), (E4M3FN, E4M3FN), (E2M3FN, E5M2)]
        {
            for (rule, global) in [ScaleRule::Amax, ScaleRule::MaxAbsFinite]
                .into_iter()
                .flat_map(|rule| GLOBALS.map(|global| (rule, f64::from(global))))
            {
                let spec = ScaleSpec { format, rule, global: Some(GlobalScale::Amax) };
                let nearest = encoder(&element, Rounding::NearestEven);
                let floats = float_scales(&spec, &nearest, global, usize::MAX).unwrap();
                let scaled = ScaledElement::new(&element);
                let mut values = vec![0.0, f32::from_bits(1), f32::MIN_POSITIVE, f32::MAX];
                let top = element.max_finite().to_f64().unwrap() / global;
                let factor = if rule == ScaleRule::Amax { top } else { 1.0 };
                for pair in floats.scales.windows(2) {
                    for place in [pair[1].unit, f64::midpoint(pair[0].unit, pair[1].unit)] {
                        #[expect(clippy::cast_possible_truncation, reason = "near it")]
                        let near = ((place * factor) as f32).min(f32::MAX);
                        let near = [near.next_down().next_down(), near.next_down(), near, near.next_up()];
                        values.extend(near.map(|x| x.clamp(0.0, f32::MAX)));
                    }
                }
                let grid = Grid::new(&[values.len() as u64], Granularity::Block { rows: 1, columns: 1 });
                let tile = Tile { row: 0, rows: 1, column: 0, columns: values.len() as u64 };
                let codes = floats.codes(&grid, (&tile, &tile), values.len(), &values).unwrap();
                for (&x, code) in values.iter().zip(codes) {
                    let scale = spec.choose(&scaled, &Extent::of(&[x]), global);
                    assert_eq!(u64::from(code), scale.code, "{format} {element} {rule} {global:e} {x:e}");
                    assert_eq!(*floats.scale(code), scale);
                }
                let mut long: Vec<f64> = values.iter().map(|&x| x.into()).collect();
                for pair in floats.scales.windows(2) {
                    for place in [pair[1].unit, f64::midpoint(pair[0].unit, pair[1].unit)] {
                        let near = place * factor;
                        long.extend([near.next_down().next_down(), near.next_down(), near, near.next_up()]);
                    }
                }
                long.extend([5e-324, 1e-300, 1e300, f64::MAX]);
                for (&x, code) in long.iter().zip(floats.codes_of_long(&long)) {
                    let scale = spec.choose(&scaled, &Extent::of(&[x]), global);
                    assert_eq!(u64::from(code), scale.code, "{format} {element} {rule} {global:e} {x:e}");
                }
                values[5] = f32::INFINITY;
                assert_eq!(floats.codes(&grid, (&tile, &tile), values.len(), &values), None);
            }
        }
    }

    /// By every positive code of E4M3, at each place and its neighbours: the code of the exact
    /// quotient in the core.
    #[test]
    fn steps_round_exact_quotients() {
        let spec = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: Some(GlobalScale::Amax) };
        let mut stepping = 0;
        for &rounding in Rounding::DETERMINISTIC {
            let elements = encoder(&E2M1FN, rounding);
            let core = E2M1FN.default_projection().with_rounding(rounding);
            let core = core.with_saturation(Saturation::SatFinite);
            for global in GLOBALS.map(f64::from) {
                let floats = float_scales(&spec, &elements, global, usize::MAX).unwrap();
                let Some(steps) = floats.steps() else { continue };
                stepping += 1;
                assert_eq!(floats.scales.len(), 127);
                for code in 1..=126 {
                    let scale = floats.scale(code);
                    let mut values = vec![0.0, f32::from_bits(1), f32::MAX];
                    for quarters in 1..=28 {
                        #[expect(clippy::cast_possible_truncation, reason = "near it")]
                        let near = (f64::from(quarters) / 4.0 * scale.unit / global) as f32;
                        values.extend([near.next_down(), near, near.next_up()].map(|x| x.min(f32::MAX)));
                    }
                    let opposite: Vec<f32> = values.iter().map(|x| -x).collect();
                    values.extend(opposite);
                    let mut codes = vec![0_u8; values.len()];
                    steps.encode(Level::detected(), values.len(), &[code], &values, &mut codes);
                    for (&x, coded) in values.iter().zip(codes) {
                        let exact = Divisor::of(scale).apply(x.into());
                        let expected = E2M1FN.encode_f64(exact, &core).value;
                        assert_eq!(u64::from(coded), expected, "{rounding:?} {global:e} {code} {x:e}");
                    }
                }
            }
        }
        assert!(stepping >= 3 * GLOBALS.len(), "{stepping}");
    }

    #[test]
    fn what_is_left_to_the_rest() {
        let amax = ScaleSpec { format: E4M3FN, rule: ScaleRule::Amax, global: None };
        let new = |spec: &ScaleSpec, format: &Format, rounding, length| {
            float_scales(spec, &encoder(format, rounding), 1.0, length)
        };
        let nearest = Rounding::NearestEven;
        assert!(new(&amax, &E2M1FN, nearest, 16).is_none());
        assert!(new(&ScaleSpec { rule: ScaleRule::Floor, ..amax }, &E2M1FN, nearest, 1 << 20).is_none());
        assert!(new(&amax, &E2M1FN, Rounding::TowardPositive, 1 << 20).unwrap().steps().is_none());
        assert!(new(&amax, &E3M2FN, nearest, 1 << 20).unwrap().steps().is_none());
        assert!(new(&amax, &E2M1FN, nearest, 1 << 20).unwrap().steps().is_some());
    }
}
