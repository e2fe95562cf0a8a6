//! [`Norm`]: layer normalization.

use rayon::prelude::*;

use crate::error::Result;
use crate::layers::{Layer, Pass};
use crate::matrix::{Matrix, ROWS};
use crate::parameters::{First, ModelParameters};

/// Each row less its mean, over its standard deviation, times a gain, plus a bias (Ba et al., arXiv
/// 1607.06450), with 10^−5 added to the variance.
pub struct Norm {
    gain: usize,
    bias: usize,
    saved: Option<(Matrix, Vec<f32>)>,
}

const EPSILON: f32 = 1e-5;

impl Norm {
    /// Returns a normalization of rows of this length; gains begin at one, biases at zero.
    ///
    /// # Errors
    /// A class of the configuration that does not go together.
    pub fn new(parameters: &mut ModelParameters, name: &str, columns: usize) -> Result<Self> {
        Ok(Self {
            gain: parameters.add(&format!("{name}.gain"), &[columns], First::Constant(1.0))?,
            bias: parameters.add(&format!("{name}.bias"), &[columns], First::Constant(0.0))?,
            saved: None,
        })
    }
}

/// The mean of a row: sums in eight lanes, so that they vectorize.
fn mean(row: impl ExactSizeIterator<Item = f32>) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "rows are short")]
    let length = row.len() as f32;
    let mut lanes = [0.0_f32; 8];
    for (i, x) in row.enumerate() {
        lanes[i % 8] += x;
    }
    lanes.iter().sum::<f32>() / length
}

impl Layer for Norm {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let [gain, bias] = [self.gain, self.bias].map(|p| pass.parameters.list[p].weights.values());
        let columns = x.columns;
        let mut normal = x;
        let mut y = Matrix::zeros(normal.rows(), columns);
        let mut scales = vec![0.0; normal.rows()];
        let pieces =
            normal.values.par_chunks_mut(ROWS * columns).zip(y.values.par_chunks_mut(ROWS * columns));
        pieces.zip(scales.par_chunks_mut(ROWS)).for_each(|((normal, y), scales)| {
            let rows = normal.chunks_exact_mut(columns).zip(y.chunks_exact_mut(columns));
            for ((row, y), scale) in rows.zip(scales) {
                let center = mean(row.iter().copied());
                let variance = mean(row.iter().map(|x| (x - center) * (x - center)));
                *scale = 1.0 / (variance + EPSILON).sqrt();
                for (((x, y), gain), bias) in row.iter_mut().zip(y).zip(&gain).zip(&bias) {
                    *x = (*x - center) * *scale;
                    *y = *x * gain + bias;
                }
            }
        });
        let elements = normal.values.len() + scales.len();
        pass.keeps(elements, 4 * elements);
        self.saved = Some((normal, scales));
        Ok(y)
    }

    fn backward(&mut self, pass: &mut Pass<'_>, mut gradient: Matrix) -> Result<Matrix> {
        let Some((normal, scales)) = self.saved.take() else { return Ok(gradient) };
        let columns = gradient.columns;
        gradient.add_columns_to(&mut pass.parameters.list[self.bias].gradient);
        let gain = pass.parameters.list[self.gain].weights.values();
        let sums = &mut pass.parameters.list[self.gain].gradient;
        for (dy, x) in gradient.values.chunks_exact(columns).zip(normal.values.chunks_exact(columns)) {
            for ((sum, dy), x) in sums.iter_mut().zip(dy).zip(x) {
                *sum += dy * x;
            }
        }
        let pieces =
            gradient.values.par_chunks_mut(ROWS * columns).zip(normal.values.par_chunks(ROWS * columns));
        pieces.zip(scales.par_chunks(ROWS)).for_each(|((gradient, normal), scales)| {
            let rows = gradient.chunks_exact_mut(columns).zip(normal.chunks_exact(columns));
            for ((dy, x), scale) in rows.zip(scales) {
                for (dy, gain) in dy.iter_mut().zip(&gain) {
                    *dy *= gain;
                }
                let center = mean(dy.iter().copied());
                let along = mean(dy.iter().zip(x).map(|(dy, x)| dy * x));
                for (dy, x) in dy.iter_mut().zip(x) {
                    *dy = scale * (*dy - center - x * along);
                }
            }
        });
        Ok(gradient)
    }
}
