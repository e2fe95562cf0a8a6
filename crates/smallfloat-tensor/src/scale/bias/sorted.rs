//! [`choose`]: the bias of a few elements by comparing what they lose at one bias and not at
//! another, which is nothing for those in the normal range of both: of sorted magnitudes only the
//! ends count.

use crate::scale::bias::candidate::{Candidate, Excess};
use crate::scale::bias::small_group::{NEAR, certain};

/// Beyond the largest value by so much, differences may be rounded.
const FAR: f64 = 1_048_576.0;

/// The bias with the least error, of equals the largest, for sorted magnitudes, of which there is
/// one at least; `likely` is a candidate's place near it. `None` where roundings might decide.
pub(super) fn choose(candidates: &[Candidate], likely: usize, magnitudes: &[f64]) -> Option<i32> {
    let (&least, &amax) = (magnitudes.first()?, magnitudes.last()?);
    let base = &candidates[likely];
    let limit = base.error(magnitudes) * NEAR;
    let mut best = (base, Excess::default());
    // By descending bias, so that of equals the largest comes first.
    for (i, candidate) in candidates.iter().enumerate().rev() {
        // A lower bias with all elements in its normal range rounds all of them alike.
        if i < likely && amax <= base.max && candidate.min_normal <= least {
            continue;
        }
        // What the largest element alone loses already decides against most biases.
        let largest = candidate.distance(amax);
        if i == likely || largest * largest > limit {
            continue;
        }
        if amax > FAR * candidate.max {
            return None;
        }
        let Some(excess) = excess(candidate, base, magnitudes, limit) else { continue };
        let better = if let Some(order) = certain(best.1.sum - excess.sum, best.1.terms + excess.terms) {
            order
        } else {
            // Both may have the same terms: then the direct comparison has none.
            let direct = self::excess(candidate, best.0, magnitudes, f64::INFINITY)?;
            certain(-direct.sum, direct.terms)?
        };
        // Where both are equal, the larger bias is better.
        if better.is_gt() || (better.is_eq() && candidate.bias > best.0.bias) {
            best = (candidate, excess);
        }
    }
    Some(best.0.bias)
}

/// [`Candidate::excess`] of sorted magnitudes.
fn excess(one: &Candidate, other: &Candidate, magnitudes: &[f64], limit: f64) -> Option<Excess> {
    let low = if one.min_normal > other.min_normal { one.min_normal } else { other.min_normal };
    let high = if one.max < other.max { one.max } else { other.max };
    let below = magnitudes.partition_point(|x| *x < low);
    let above = magnitudes.partition_point(|x| *x <= high).max(below);
    // The largest first: they soon exceed the limit.
    let range = magnitudes[above..].iter().rev().chain(magnitudes[..below].iter().rev());
    one.excess(other, range, limit)
}
