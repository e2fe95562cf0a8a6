//! [`Model`]: perceptron, convolutional net and character transformer.

use serde::{Deserialize, Serialize};

use crate::codes::quantizer::TensorQuantizer;
use crate::config::named::named;
use crate::data::{Batch, Input};
use crate::error::{Error, Result};
use crate::layers::attention::Attention;
use crate::layers::convolution::{Convolution, Pool};
use crate::layers::embedding::Embedding;
use crate::layers::linear::Linear;
use crate::layers::loss::{Loss, cross_entropy};
use crate::layers::norm::Norm;
use crate::layers::pointwise::{Gelu, Relu};
use crate::layers::{Chain, Layer, Pass, Residual};
use crate::matrix::Matrix;
use crate::parameters::ModelParameters;

/// A model and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Architecture {
    /// Linear layers of 256, 128 and 128 outputs with rectifiers between them, and one for the
    /// classes.
    Mlp {
        /// Elements of an input's row.
        inputs: usize,
    },
    /// Two 3 × 3 convolutions of 16 and 32 channels, each with a rectifier and a pool, and a linear
    /// layer.
    Cnn {
        /// Height of an image.
        height: usize,
        /// Width of an image.
        width: usize,
    },
    /// Blocks of attention and of a perceptron four times as wide, each after a layer normalization
    /// and beside a shortcut.
    CharTransformer {
        /// Blocks.
        layers: usize,
        /// Channels; a multiple of the heads.
        channels: usize,
        /// Heads of attention.
        heads: usize,
        /// Tokens of a sequence.
        context: usize,
    },
}

/// A kind of model, of any size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelKind {
    /// [`Architecture::Mlp`].
    Mlp,
    /// [`Architecture::Cnn`].
    Cnn,
    /// [`Architecture::CharTransformer`].
    CharTransformer,
}

named! { ModelKind, "model": Mlp = "mlp", Cnn = "cnn", CharTransformer = "char-transformer", }

impl Architecture {
    /// Returns the kind.
    pub const fn kind(self) -> ModelKind {
        match self {
            Self::Mlp { .. } => ModelKind::Mlp,
            Self::Cnn { .. } => ModelKind::Cnn,
            Self::CharTransformer { .. } => ModelKind::CharTransformer,
        }
    }

    /// The transformer of the published tables: 0.42 million parameters for 65 characters.
    pub const CHAR_TRANSFORMER: Self =
        Self::CharTransformer { layers: 2, channels: 128, heads: 4, context: 64 };

    /// Returns whether the sizes go together.
    ///
    /// # Errors
    /// Sizes of zero, images that are too small to be pooled twice, channels that can't be shared
    /// among the heads.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Mlp { inputs: 0 } => Err(Error::config("rows of 0 elements: 1 is the least")),
            Self::Cnn { height, width } if height.min(width) < 4 => {
                Err(Error::config(format!("images of {height} × {width} pixels: 4 × 4 are the least")))
            }
            Self::CharTransformer { channels, heads, context, .. }
                if heads == 0 || context == 0 || channels == 0 || !channels.is_multiple_of(heads) =>
            {
                let what = format!(
                    "{channels} channels for {heads} heads in windows of {context}: each must be 1 at least, and \
                     the channels a multiple of the heads"
                );
                Err(Error::config(what))
            }
            _ => Ok(()),
        }
    }
}

/// Layers with what feeds them.
pub struct Model {
    embedding: Option<Embedding>,
    chain: Chain,
    /// Elements of an image, or tokens of a sequence.
    input: usize,
}

/// The standard deviation of a transformer's first weights, as GPT-2 has it.
const DEVIATION: f32 = 0.02;

/// He et al., arXiv 1502.01852, equation 10: √(2/inputs).
#[expect(clippy::cast_precision_loss, reason = "layers are small")]
fn for_rectifier(inputs: usize) -> f32 {
    (2.0 / inputs as f32).sqrt()
}

impl Model {
    /// Returns a model for so many classes; its parameters join the others.
    ///
    /// # Errors
    /// Sizes that do not go together, and what the configuration refuses.
    pub fn new(parameters: &mut ModelParameters, architecture: Architecture, classes: usize) -> Result<Self> {
        architecture.check()?;
        match architecture {
            Architecture::Mlp { inputs } => Self::mlp(parameters, inputs, classes),
            Architecture::Cnn { height, width } => Self::cnn(parameters, [height, width], classes),
            Architecture::CharTransformer { layers, channels, heads, context } => {
                Self::transformer(parameters, layers, [channels, heads, context], classes)
            }
        }
    }

    fn mlp(parameters: &mut ModelParameters, inputs: usize, classes: usize) -> Result<Self> {
        let sizes = [inputs, 256, 128, 128, classes];
        let mut chain = Chain::default();
        for (i, pair) in sizes.windows(2).enumerate() {
            let name = format!("linear{i}");
            let layer = Linear::new(parameters, &name, [pair[0], pair[1]], for_rectifier(pair[0]))?;
            chain.0.push(if i == 0 { Box::new(layer.first()) } else { Box::new(layer) });
            if i + 2 < sizes.len() {
                chain.0.push(Box::new(Relu::default()));
            }
        }
        Ok(Self { embedding: None, chain, input: inputs })
    }

    fn cnn(parameters: &mut ModelParameters, [height, width]: [usize; 2], classes: usize) -> Result<Self> {
        let mut chain = Chain::default();
        let mut size = [height, width, 1];
        for (i, channels) in [16, 32].into_iter().enumerate() {
            let deviation = for_rectifier(9 * size[2]);
            let layer = Convolution::new(parameters, &format!("convolution{i}"), size, channels, deviation)?;
            chain.0.push(if i == 0 { Box::new(layer.first()) } else { Box::new(layer) });
            chain.0.push(Box::new(Relu::default()));
            size[2] = channels;
            chain.0.push(Box::new(Pool::new(size)));
            size = [size[0] / 2, size[1] / 2, channels];
        }
        let inputs = size.iter().product();
        chain.0.push(Box::new(Linear::new(parameters, "linear", [inputs, classes], for_rectifier(inputs))?));
        Ok(Self { embedding: None, chain, input: height * width })
    }

    fn transformer(
        parameters: &mut ModelParameters,
        layers: usize,
        [channels, heads, context]: [usize; 3],
        classes: usize,
    ) -> Result<Self> {
        let embedding = Embedding::new(parameters, [classes, context, channels], DEVIATION)?;
        // Sums of many layers' outputs keep their variance (GPT-2, section 2.3).
        #[expect(clippy::cast_precision_loss, reason = "models have few layers")]
        let onto_sum = DEVIATION / ((2 * layers) as f32).sqrt();
        let mut chain = Chain::default();
        for i in 0..layers {
            let name = |part: &str| format!("block{i}.{part}");
            let mut linear = |part: &str, shape: [usize; 2], deviation| {
                Linear::new(parameters, &name(part), shape, deviation).map(Box::new)
            };
            let query = linear("attention.query", [channels, 3 * channels], DEVIATION)?;
            let out = linear("attention.out", [channels, channels], onto_sum)?;
            let up = linear("perceptron.up", [channels, 4 * channels], DEVIATION)?;
            let down = linear("perceptron.down", [4 * channels, channels], onto_sum)?;
            let attention = Attention::new(context, heads);
            let [first, second] = [name("norm1"), name("norm2")];
            let [first, second] = [first, second].map(|name| Norm::new(parameters, &name, channels));
            chain.0.push(Box::new(Residual(Chain(vec![Box::new(first?), query, Box::new(attention), out]))));
            chain.0.push(Box::new(Residual(Chain(vec![
                Box::new(second?),
                up,
                Box::new(Gelu::default()),
                down,
            ]))));
        }
        chain.0.push(Box::new(Norm::new(parameters, "norm", channels)?));
        chain.0.push(Box::new(Linear::new(parameters, "head", [channels, classes], DEVIATION)?));
        Ok(Self { embedding: Some(embedding), chain, input: context })
    }

    /// Returns what comes out for an input: a row of logits for each label.
    ///
    /// # Errors
    /// An input of another kind or size than the model's, and what encoding refuses.
    pub fn forward(&mut self, pass: &mut Pass<'_>, input: &Input) -> Result<Matrix> {
        let x = match (self.embedding, input) {
            (Some(embedding), Input::Tokens(tokens)) if tokens.len().is_multiple_of(self.input) => {
                embedding.forward(pass, tokens)
            }
            (None, Input::Rows(rows)) if rows.columns == self.input => rows.clone(),
            (Some(_), Input::Tokens(tokens)) => {
                let what = format!("{} tokens for sequences of {}", tokens.len(), self.input);
                return Err(Error::config(what));
            }
            (None, Input::Rows(rows)) => {
                let what = format!("images of {} pixels for a model of {}", rows.columns, self.input);
                return Err(Error::config(what));
            }
            _ => {
                return Err(Error::config("transformers learn from text, the other models from images"));
            }
        };
        self.chain.forward(pass, x)
    }

    /// Returns the loss of a batch.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn loss(&mut self, pass: &mut Pass<'_>, batch: &Batch, scale: f32) -> Result<Loss> {
        let logits = self.forward(pass, &batch.input)?;
        Ok(cross_entropy(&logits, &batch.labels, scale))
    }

    /// Adds all parameters' gradients of the last forward pass.
    ///
    /// # Errors
    /// What encoding refuses.
    pub fn backward(&mut self, pass: &mut Pass<'_>, batch: &Batch, gradient: Matrix) -> Result<()> {
        let gradient = self.chain.backward(pass, gradient)?;
        if let (Some(embedding), Input::Tokens(tokens)) = (self.embedding, &batch.input) {
            embedding.backward(pass, tokens, &gradient);
        }
        Ok(())
    }

    /// Returns the quantizers of all layers, in an order that never changes.
    pub fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        self.chain.quantizers()
    }
}
