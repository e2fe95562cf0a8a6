//! What loops are compiled for: properties that are constants of types without values.

use crate::plan::encode::{EncodePlan, SubnormalGrid};

/// How much a loop finds out beside the codes.
pub(in crate::arch) trait Detail {
    /// Counts of classes.
    const COUNTS: bool;
    /// Whether a value has bits below the last place of normal values, and whether one came near
    /// the subnormals.
    const NEARNESS: bool;
    /// Whether any element is inexact, below the smallest normal value too.
    const EXACTNESS: bool;
    /// Which places lie in Tesla's hole, where the rounding has not found that itself.
    const PLACES_IN_HOLE: bool;
}

macro_rules! details {
    ($($(#[$doc:meta])* $name:ident: $counts:literal, $nearness:literal, $exactness:literal, $hole:literal;)*) => {
        $(
            $(#[$doc])*
            pub(in crate::arch) enum $name {}

            impl Detail for $name {
                const COUNTS: bool = $counts;
                const NEARNESS: bool = $nearness;
                const EXACTNESS: bool = $exactness;
                const PLACES_IN_HOLE: bool = $hole;
            }
        )*
    };
}

details! {
    /// Nothing.
    CodesOnly: false, false, false, false;
    /// Counts, for slices whose flags are settled.
    Counts: true, false, false, false;
    /// Counts, and what shows cheaply that an element may be inexact or tiny.
    Nearness: true, true, false, false;
    /// Everything.
    Flags: true, true, true, true;
    /// Everything, of a stochastic rounding.
    RandomFlags: true, false, true, false;
}

/// What is known of a plan when a loop is compiled; `None` leaves it to the plan.
pub(in crate::arch) trait Shape {
    /// The exponents are those of binary32, so that a code is the upper part of a magnitude.
    const INTEGER: Option<bool> = Some(false);
    /// The grid has Tesla's hole.
    const HOLE: Option<bool> = Some(false);
    /// Codes below the smallest normal value become zero.
    const FLUSH: Option<bool> = Some(false);
    /// The format has no sign.
    const UNSIGNED: Option<bool> = Some(false);
    /// Infinities are counted by their signs.
    const INFINITY_BY_SIGN: Option<bool> = Some(false);
    /// The codes are those of the machine's conversion to binary16.
    const CONVERTS: bool = false;
    /// The codes are those of bfloat16's carry.
    const CARRIES: bool = false;
}

/// A signed format with all its subnormals.
pub(in crate::arch) enum Gradual {}
impl Shape for Gradual {}

/// A signed format with Tesla's subnormals.
pub(in crate::arch) enum Hole {}
impl Shape for Hole {
    const HOLE: Option<bool> = Some(true);
}

/// A signed format with the exponents of binary32.
pub(in crate::arch) enum Integer {}
impl Shape for Integer {
    const INTEGER: Option<bool> = Some(true);
}

/// No sign, and subnormals that may be flushed.
pub(in crate::arch) enum Unsigned {}
impl Shape for Unsigned {
    const FLUSH: Option<bool> = None;
    const UNSIGNED: Option<bool> = Some(true);
    const INFINITY_BY_SIGN: Option<bool> = Some(true);
}

/// Either of these alone, a rare rounding, or infinities whose signs matter: all choices at run
/// time.
pub(in crate::arch) enum Rare {}
impl Shape for Rare {
    const INTEGER: Option<bool> = None;
    const HOLE: Option<bool> = None;
    const FLUSH: Option<bool> = None;
    const UNSIGNED: Option<bool> = None;
    const INFINITY_BY_SIGN: Option<bool> = None;
}

/// binary16 itself.
pub(in crate::arch) enum Binary16 {}
impl Shape for Binary16 {
    const CONVERTS: bool = true;
}

/// bfloat16 itself.
pub(in crate::arch) enum Bfloat16 {}
impl Shape for Bfloat16 {
    const INTEGER: Option<bool> = Some(true);
    const CARRIES: bool = true;
}

/// The narrowest shape that fits a plan.
#[derive(Clone, Copy)]
pub(in crate::arch) enum Fit {
    Gradual,
    Hole,
    Integer,
    Unsigned,
    Rare,
}

/// The narrowest shape that a plan's nearest-even and stochastic loops may have.
pub(in crate::arch) fn fit(plan: &EncodePlan) -> Fit {
    match plan.low {
        SubnormalGrid::Gradual | SubnormalGrid::Flush if !plan.signed => Fit::Unsigned,
        SubnormalGrid::Flush => Fit::Rare,
        _ if plan.infinity_by_sign => Fit::Rare,
        _ if plan.integer => Fit::Integer,
        SubnormalGrid::Gradual => Fit::Gradual,
        SubnormalGrid::Hole => Fit::Hole,
    }
}

/// Calls a loop compiled for the shape that fits, or for shapes without a loop of their own what
/// follows.
macro_rules! with_shape {
    ($fit:expr, [$($name:ident)*], |$shape:ident| $call:expr, $rest:expr) => {
        match $fit {
            $($crate::arch::vectors::choices::Fit::$name => {
                type $shape = $crate::arch::vectors::choices::$name;
                $call
            })*
            _ => $rest,
        }
    };
}
pub(in crate::arch) use with_shape;

/// How a loop rounds.
pub(in crate::arch) trait Rounds {
    /// To nearest, ties to even.
    const NEAREST_EVEN: bool = false;
    /// To nearest, ties away.
    const NEAREST_AWAY: bool = false;
    /// Toward or away from zero by the sign.
    const DIRECTED: bool = false;
    /// To the odd neighbour.
    const TO_ODD: bool = false;
}

macro_rules! roundings {
    ($($name:ident: $property:ident;)*) => {
        $(
            /// The rounding of the same name.
            pub(in crate::arch) enum $name {}

            impl Rounds for $name {
                const $property: bool = true;
            }
        )*
    };
}

roundings! {
    NearestEven: NEAREST_EVEN;
    NearestAway: NEAREST_AWAY;
    Directed: DIRECTED;
    ToOdd: TO_ODD;
}
