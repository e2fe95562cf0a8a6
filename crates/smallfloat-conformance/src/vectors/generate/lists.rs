//! Operands for conversions into lists of values: on the middles between values and beside them.

use smallfloat::{Codebook, Datum, Format};

use crate::vectors::fixed::FixedUnit;
use crate::vectors::generate::directed::{Model, around};
use crate::vectors::generate::pools;

/// All models that aim at a result.
pub(super) fn models(unit: &FixedUnit) -> Vec<Model> {
    let (Some(codebook), Some(format)) = (unit.destination(), unit.operands()[0].format) else {
        return Vec::new();
    };
    let mut fields = pools::of_fields(&format);
    fields.retain(|code| !format.decode(*code).is_nan());
    vec![
        Model { name: "rounding boundaries", operands: boundaries(codebook, &format) },
        Model { name: "exponent fields", operands: fields },
    ]
}

/// The codes nearest to values and to the middles between them, of a conversion into a list.
pub(super) fn places(unit: &FixedUnit) -> Vec<u64> {
    let (Some(codebook), Some(format)) = (unit.destination(), unit.operands()[0].format) else {
        return Vec::new();
    };
    values_and_middles(codebook).flat_map(|place| around(&format, place.into(), 0)).collect()
}

fn values_and_middles(codebook: Codebook) -> impl Iterator<Item = Datum> {
    let ranks = 0..codebook.len();
    ranks.flat_map(move |rank| {
        let middle = (rank > 0).then(|| codebook.midpoint(rank - 1));
        middle.into_iter().chain([codebook.decode(codebook.code_at(rank))])
    })
}

/// The codes nearest to every value and middle and two on either side, and with one far bit turned
/// over.
fn boundaries(codebook: Codebook, format: &Format) -> Vec<u64> {
    let mut codes = Vec::new();
    for place in values_and_middles(codebook) {
        codes.extend(around(format, place.into(), 2));
        let far = 0..format.trailing_bits();
        let nearest = around(format, place.into(), 0);
        codes.extend(nearest.flat_map(|code| far.clone().map(move |bit| code ^ 1 << bit)));
    }
    codes.sort_unstable();
    codes.dedup();
    codes.retain(|code| !format.decode(*code).is_nan());
    codes
}
