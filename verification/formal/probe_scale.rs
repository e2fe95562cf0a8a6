// Ways into the MX scale rules for the proofs: `build` puts the lines of smallfloat-tensor's
// scale/rule.rs in the place of the marks.
#![allow(dead_code, missing_docs)]

//@ rules

/// What the lines ask of an element format.
pub struct Element {
    stored: u32,
}

impl Element {
    fn trailing_bits(&self) -> u32 {
        self.stored
    }
}

fn wanted(rule: ScaleRule, amax: f64, max: f64, element: &Element) -> f64 {
    match rule {
        //@ arm
    }
}

//@ helpers

macro_rules! rule {
    ($name:ident, $rule:ident) => {
        #[inline(never)]
        pub fn $name(amax: u64, max: u64, stored: u32) -> u64 {
            wanted(ScaleRule::$rule, f64::from_bits(amax), f64::from_bits(max), &Element { stored }).to_bits()
        }
    };
}

rule!(scale_floor, Floor);
rule!(scale_ceil, Ceil);
rule!(scale_even, Even);
rule!(scale_rceil, Rceil);
