//! [`Embedding`]: tokens and their places as rows.

use crate::error::Result;
use crate::layers::Pass;
use crate::matrix::Matrix;
use crate::parameters::{First, ModelParameters};

/// The sum of a token's row and its place's row.
#[derive(Clone, Copy, Debug)]
pub struct Embedding {
    tokens: usize,
    places: usize,
    context: usize,
    columns: usize,
}

impl Embedding {
    /// Rows for so many tokens, in sequences of this length; first values with this standard
    /// deviation.
    ///
    /// # Errors
    /// A class of the configuration that does not go together.
    pub fn new(
        parameters: &mut ModelParameters,
        [vocabulary, context, columns]: [usize; 3],
        deviation: f32,
    ) -> Result<Self> {
        let first = First::Normal(deviation);
        Ok(Self {
            tokens: parameters.add("token.weight", &[vocabulary, columns], first)?,
            places: parameters.add("place.weight", &[context, columns], first)?,
            context,
            columns,
        })
    }

    /// Returns the rows of tokens, sequence after sequence.
    pub fn forward(&self, pass: &mut Pass<'_>, tokens: &[u16]) -> Matrix {
        let [rows, places] = [self.tokens, self.places].map(|p| pass.parameters.list[p].weights.values());
        let mut x = Matrix::zeros(tokens.len(), self.columns);
        for (i, (token, x)) in tokens.iter().zip(x.values.chunks_exact_mut(self.columns)).enumerate() {
            let row = &rows[usize::from(*token) * self.columns..][..self.columns];
            let place = &places[i % self.context * self.columns..][..self.columns];
            for ((x, a), b) in x.iter_mut().zip(row).zip(place) {
                *x = a + b;
            }
        }
        x
    }

    /// Adds the gradients of both tables to theirs, token after token.
    pub fn backward(&self, pass: &mut Pass<'_>, tokens: &[u16], gradient: &Matrix) {
        for (i, (token, dx)) in tokens.iter().zip(gradient.values.chunks_exact(self.columns)).enumerate() {
            for (parameter, row) in [(self.tokens, usize::from(*token)), (self.places, i % self.context)] {
                let sums =
                    &mut pass.parameters.list[parameter].gradient[row * self.columns..][..self.columns];
                for (sum, dx) in sums.iter_mut().zip(dx) {
                    *sum += dx;
                }
            }
        }
    }
}
