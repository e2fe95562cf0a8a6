//! [`Tensors`]: which tensors a quantization takes, by shape and name.

use crate::error::by_name;
use crate::layout::scheme::{is_linear, is_weight};

/// Which floating-point tensors are quantized; all others are copied.
///
/// Names that a caller selects narrow this choice. The array of an `.npy` file is always taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Tensors {
    /// Matrices named `weight` or `….weight` that are neither embeddings nor the output head: the
    /// weights of linear layers and convolutions, and those of experts in one tensor of three
    /// dimensions.
    Weights,
    /// Tensors of two or more dimensions: no biases, no scales of norms.
    Matrices,
    /// All that the layout can hold. Schemes with scales hold tensors of two or more dimensions,
    /// those of other programs two-dimensional ones named `….weight`.
    #[default]
    All,
}

impl Tensors {
    /// All choices, from few tensors to many.
    pub const ALL: &'static [Self] = &[Self::Weights, Self::Matrices, Self::All];

    /// Returns the name: `weights`, `matrices` or `all`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Matrices => "matrices",
            Self::All => "all",
        }
    }

    /// Returns whether a floating-point tensor of this name and shape is among them.
    pub fn take(self, name: &str, shape: &[u64]) -> bool {
        match self {
            Self::Weights => {
                let experts = shape.len() == 3 && name.contains("experts.");
                shape.len() >= 2 && (is_weight(name) || experts) && is_linear(name)
            }
            Self::Matrices => shape.len() >= 2,
            Self::All => true,
        }
    }
}

by_name!(Tensors, Self::ALL.iter().copied(), "choice of tensors");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_takes_more() {
        for (name, shape, expected) in [
            ("layers.0.up.weight", &[4, 4][..], [true, true, true]),
            ("conv.weight", &[8, 3, 3, 3], [true, true, true]),
            ("weight", &[4, 4], [true, true, true]),
            ("model.embed_tokens.weight", &[4, 4], [false, true, true]),
            ("lm_head.weight", &[4, 4], [false, true, true]),
            ("cls_token", &[1, 1, 4], [false, true, true]),
            ("layers.0.mlp.experts.down_proj", &[2, 4, 4], [true, true, true]),
            ("layers.0.mlp.experts.down_proj_bias", &[2, 4], [false, true, true]),
            ("layers.0.norm.weight", &[4], [false, false, true]),
            ("layers.0.up.bias", &[4], [false, false, true]),
            ("logit_scale", &[], [false, false, true]),
        ] {
            let taken: Vec<bool> = Tensors::ALL.iter().map(|tensors| tensors.take(name, shape)).collect();
            assert_eq!(taken, expected, "{name}");
        }
        assert_eq!("matrices".parse::<Tensors>().unwrap(), Tensors::Matrices);
    }
}
