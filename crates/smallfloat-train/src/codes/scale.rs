//! [`ScaleController`]: the power-of-two scale of one kind of tensor whose format has a fixed bias.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use smallfloat::{Datum, Format};
use smallfloat_tensor::{BiasPolicy, headroom};

use crate::error::{Error, Result};

/// The largest exponent of a scale, either way: products of two scaled tensors stay within
/// binary32.
const MOST: i32 = 60;
/// The exponent to begin with where none is given: x itself is encoded.
const FIRST: i32 = 0;

/// The exponent s of a tensor's scale 2^s: x·2^s is encoded. Rules as
/// [`BiasController`](smallfloat_tensor::BiasController) has them for biases: the largest s at
/// which the largest magnitude, times 2^margin, does not exceed the format's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleController {
    policy: BiasPolicy,
    exponent: i32,
    /// Of the last steps, the largest exponent that held the largest magnitude.
    history: VecDeque<i32>,
    steps: u64,
}

impl ScaleController {
    /// Returns a controller that begins at this exponent, or at 0; `Fixed` begins and stays at its
    /// own.
    ///
    /// # Errors
    /// Policies other than `fixed`, `amax` and `delayed`, and exponents beyond ±60.
    pub fn new(policy: BiasPolicy, start: Option<i32>) -> Result<Self> {
        let exponent = match policy {
            BiasPolicy::Fixed(exponent) => exponent,
            BiasPolicy::Amax { .. } | BiasPolicy::Delayed { .. } => start.unwrap_or(FIRST),
            _ => {
                let what =
                    format!("bias {policy}: for formats with a fixed bias take amax, delayed or a number");
                return Err(Error::config(what));
            }
        };
        if exponent.abs() > MOST {
            return Err(Error::config(format!(
                "scale 2^{exponent}: take an exponent from -{MOST} to {MOST}"
            )));
        }
        Ok(Self { policy, exponent, history: VecDeque::new(), steps: 0 })
    }

    /// Returns the policy.
    pub fn policy(&self) -> BiasPolicy {
        self.policy
    }

    /// Returns the present exponent.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// Returns how many observations there were.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Learns from a tensor's largest magnitude. Zero, NaN and infinity change nothing.
    ///
    /// # Panics
    /// Never: addresses have 32 bits at least.
    pub fn observe(&mut self, amax: f32, format: &Format) {
        self.steps += 1;
        if !amax.is_finite() || amax <= 0.0 {
            return;
        }
        let holding = headroom(format, &f32_datum(amax));
        let wanted = match self.policy {
            BiasPolicy::Amax { margin } => holding.saturating_sub_unsigned(margin),
            BiasPolicy::Delayed { history, margin } => {
                let longest = usize::try_from(history).expect("addresses have 32 bits at least");
                while self.history.len() >= longest {
                    self.history.pop_front();
                }
                self.history.push_back(holding);
                let least = self.history.iter().min().expect("one was just pushed");
                least.saturating_sub_unsigned(margin)
            }
            _ => self.exponent,
        };
        self.exponent = wanted.clamp(-MOST, MOST);
    }
}

fn f32_datum(x: f32) -> Datum {
    smallfloat::formats::BINARY32.decode(u64::from(x.to_bits()))
}

#[cfg(test)]
mod tests {
    use smallfloat::formats::{E4M3FN, E5M2};

    use super::*;

    #[test]
    fn the_scale_just_holds() {
        // 448 = 1.75 · 2^8 is E4M3FN's largest value, 57344 = 1.75 · 2^15 E5M2's.
        for (amax, format, exponent) in
            [(448.0, E4M3FN, 0), (449.0, E4M3FN, -1), (1.75, E4M3FN, 8), (1.76, E4M3FN, 7), (1.0, E5M2, 15)]
        {
            assert_eq!(headroom(&format, &f32_datum(amax)), exponent, "{amax}");
        }
    }

    #[test]
    fn history_remembers_the_largest() {
        let mut scale = ScaleController::new(BiasPolicy::Delayed { history: 2, margin: 1 }, None).unwrap();
        let mut seen = Vec::new();
        for amax in [1.0, 16.0, 1.0, f32::NAN, 1.0] {
            scale.observe(amax, &E4M3FN);
            seen.push(scale.exponent());
        }
        assert_eq!(seen, [7, 3, 3, 3, 7]);
        assert!(ScaleController::new(BiasPolicy::Flags { patience: 2 }, None).is_err());
    }
}
