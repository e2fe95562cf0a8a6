//! Random numbers that are functions of a seed, a name and an index: nothing to store, nothing to
//! forget.

use smallfloat::random::Philox;
use smallfloat_tensor::stream_of_name;

/// A named sequence of Philox4x32-10 words.
#[derive(Clone, Copy, Debug)]
pub struct RandomSequence(pub Philox);

impl RandomSequence {
    /// Returns the sequence of this name under a seed; its stream is [`stream_of_name`].
    pub fn new(seed: u64, name: &str) -> Self {
        Self(Philox { seed, stream: stream_of_name(name) })
    }

    /// Returns the index-th integer from 0 to `below` − 1. Words are scaled down, which favours no
    /// number by more than 2^−32.
    ///
    /// # Panics
    /// If `below` is zero.
    pub fn below(&self, index: u64, below: usize) -> usize {
        assert!(below > 0, "no integer is below zero");
        let scaled = (u128::from(self.0.word(index)) * below as u128) >> 32;
        usize::try_from(scaled).expect("less than a usize")
    }

    /// Returns the index-th number of a normal distribution with mean 0 and variance 1, by Box and
    /// Muller's transform.
    pub fn normal(&self, index: u64) -> f32 {
        let [a, b, ..] = self.0.block(index);
        // In (0, 1], so that the logarithm is finite.
        let u = (f64::from(a) + 1.0) / 4_294_967_296.0;
        let angle = std::f64::consts::TAU * f64::from(b) / 4_294_967_296.0;
        #[expect(clippy::cast_possible_truncation, reason = "rounded to the parameters' type")]
        let normal = (libm::sqrt(-2.0 * libm::log(u)) * libm::cos(angle)) as f32;
        normal
    }
}
