//! [`Optimizer`]: Adam, and stochastic gradient descent with momentum, on state that is kept as
//! codes.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::parameters::ModelParameters;

/// The rule by which parameters follow their gradients.
///
/// A step decodes the state, computes in binary32, and rounds each result into its store once. The
/// new weights follow from what the store holds of the moments, so that nothing survives a step
/// that is not in the store.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimizer {
    /// Adam with bias correction (Kingma and Ba, arXiv 1412.6980, algorithm 1), ε = 10^−8.
    Adam {
        /// Decay of the first moment.
        beta1: f32,
        /// Decay of the second.
        beta2: f32,
    },
    /// w ← w − lr·m with m ← decay·m + g.
    Momentum {
        /// Decay of m.
        decay: f32,
    },
}

const EPSILON: f32 = 1e-8;

impl Optimizer {
    /// Adam with decays 0.9 and 0.99.
    pub const ADAM: Self = Self::Adam { beta1: 0.9, beta2: 0.99 };
    /// A momentum of 0.9.
    pub const MOMENTUM: Self = Self::Momentum { decay: 0.9 };

    /// Returns whether it keeps a second moment.
    pub fn has_second_moment(self) -> bool {
        matches!(self, Self::Adam { .. })
    }

    /// Takes a step, the `step`-th from 1 on, with gradients that are `scale` times too large.
    ///
    /// # Errors
    /// As [`TensorQuantizer::encode`](crate::TensorQuantizer::encode).
    pub fn step(self, parameters: &mut ModelParameters, step: u64, rate: f32, scale: f32) -> Result<()> {
        let seed = parameters.seed;
        let (list, coders) = parameters.with_coders();
        for parameter in list {
            let unscale = 1.0 / scale;
            let gradient: Vec<f32> = parameter.gradient.iter().map(|g| g * unscale).collect();
            let mut first = parameter.first_moment.values();
            match (self, parameter.second_moment.as_mut()) {
                (Self::Adam { beta1, beta2 }, Some(second_moment)) => {
                    let mut second = second_moment.values();
                    for ((m, v), g) in first.iter_mut().zip(&mut second).zip(&gradient) {
                        *m = beta1 * *m + (1.0 - beta1) * g;
                        *v = beta2 * *v + (1.0 - beta2) * g * g;
                    }
                    parameter.first_moment.store(first, step, seed, coders)?;
                    second_moment.store(second, step, seed, coders)?;
                    let (first, second) = (parameter.first_moment.values(), second_moment.values());
                    let [first_part, second_part] = [beta1, beta2].map(|beta| corrected(beta, step));
                    let mut weights = parameter.weights.values();
                    for ((w, m), v) in weights.iter_mut().zip(&first).zip(&second) {
                        *w -= rate * (m / first_part) / ((v / second_part).sqrt() + EPSILON);
                    }
                    parameter.weights.store(weights, step, seed, coders)?;
                }
                (Self::Adam { beta1: decay, .. } | Self::Momentum { decay }, _) => {
                    for (m, g) in first.iter_mut().zip(&gradient) {
                        *m = decay * *m + g;
                    }
                    parameter.first_moment.store(first, step, seed, coders)?;
                    let first = parameter.first_moment.values();
                    let mut weights = parameter.weights.values();
                    for (w, m) in weights.iter_mut().zip(&first) {
                        *w -= rate * m;
                    }
                    parameter.weights.store(weights, step, seed, coders)?;
                }
            }
        }
        Ok(())
    }
}

/// 1 − β^t.
fn corrected(beta: f32, step: u64) -> f32 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a step's number is small"
    )]
    let corrected = (1.0 - libm::pow(f64::from(beta), step as f64)) as f32;
    corrected
}

/// Warm-up to the peak, then half a cosine down to a tenth of it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// The largest learning rate.
    pub peak: f32,
    /// Steps until it is reached.
    pub warm_up: u64,
    /// Steps in all.
    pub steps: u64,
}

impl Schedule {
    /// Returns the learning rate of a step, from 1 on.
    pub fn rate(&self, step: u64) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "numbers of steps are small")]
        let [step, warm_up, steps] = [step, self.warm_up, self.steps].map(|n| n as f64);
        let share = if step <= warm_up {
            step / warm_up
        } else {
            let progress = ((step - warm_up) / (steps - warm_up).max(1.0)).min(1.0);
            0.1 + 0.45 * (1.0 + libm::cos(std::f64::consts::PI * progress))
        };
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the parameters' type")]
        let rate = (f64::from(self.peak) * share) as f32;
        rate
    }
}
