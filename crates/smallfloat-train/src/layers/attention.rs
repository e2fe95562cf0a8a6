//! [`Attention`]: softmax attention of each token to those before it, in binary32.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis, Slice};
use rayon::prelude::*;

use crate::error::Result;
use crate::functions::exp;
use crate::layers::{Layer, Pass};
use crate::matrix::Matrix;

/// Causal attention with several heads (Vaswani et al., arXiv 1706.03762, section 3.2). A row of
/// the input is a token's query, key and value; a row of the result its heads' outputs, side by
/// side.
///
/// The two products in here are not encoded, nor are their operands. Each sequence is one thread's
/// work.
pub struct Attention {
    context: usize,
    heads: usize,
    /// The input, and the probabilities of each sequence and head.
    saved: Option<(Matrix, Vec<f32>)>,
}

impl Attention {
    /// Returns attention in sequences of this length.
    pub fn new(context: usize, heads: usize) -> Self {
        Self { context, heads, saved: None }
    }

    /// 1/√d.
    fn scale(&self, channels: usize) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "a head has few channels")]
        let width = (channels / self.heads) as f32;
        1.0 / width.sqrt()
    }
}

/// Query, key and value of a head.
fn parts<'a>(
    sequence: &ArrayView2<'a, f32>,
    head: usize,
    channels: usize,
    width: usize,
) -> [ArrayView2<'a, f32>; 3] {
    [0, 1, 2].map(|part| {
        let first = part * channels + head * width;
        let mut columns = *sequence;
        columns.slice_axis_inplace(Axis(1), Slice::from(first..first + width));
        columns
    })
}

/// Softmax over the tokens up to each row's own.
fn softmax(scores: &mut [f32], context: usize) {
    for (i, row) in scores.chunks_exact_mut(context).enumerate() {
        let (seen, later) = row.split_at_mut(i + 1);
        later.fill(0.0);
        let largest = seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for x in seen.iter_mut() {
            *x = exp(*x - largest);
        }
        let total: f32 = seen.iter().sum();
        for x in seen {
            *x /= total;
        }
    }
}

impl Layer for Attention {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let (context, heads) = (self.context, self.heads);
        let channels = x.columns / 3;
        let (width, scale) = (channels / heads, self.scale(channels));
        let mut y = Matrix::zeros(x.rows(), channels);
        let mut probabilities = vec![0.0; x.rows() * heads * context];
        let sequences =
            x.values.par_chunks(context * x.columns).zip(y.values.par_chunks_mut(context * channels));
        sequences.zip(probabilities.par_chunks_mut(heads * context * context)).for_each(|((x, y), all)| {
            let x = ArrayView2::from_shape((context, 3 * channels), x).expect("whole sequences");
            let mut y = ArrayViewMut2::from_shape((context, channels), y).expect("whole sequences");
            for (head, scores) in all.chunks_exact_mut(context * context).enumerate() {
                let [query, key, value] = parts(&x, head, channels, width);
                let mut matrix =
                    ArrayViewMut2::from_shape((context, context), &mut *scores).expect("a square");
                general_mat_mul(scale, &query, &key.t(), 0.0, &mut matrix);
                softmax(scores, context);
                let scores = ArrayView2::from_shape((context, context), &*scores).expect("a square");
                let mut y = y.slice_axis_mut(Axis(1), Slice::from(head * width..(head + 1) * width));
                general_mat_mul(1.0, &scores, &value, 0.0, &mut y);
            }
        });
        let elements = x.values.len() + probabilities.len();
        pass.keeps(elements, 4 * elements);
        self.saved = Some((x, probabilities));
        Ok(y)
    }

    fn backward(&mut self, _: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
        let Some((x, probabilities)) = self.saved.take() else { return Ok(gradient) };
        let (context, heads, channels) = (self.context, self.heads, gradient.columns);
        let (width, scale) = (channels / heads, self.scale(channels));
        let mut dx = Matrix::zeros(x.rows(), x.columns);
        let inputs =
            x.values.par_chunks(context * x.columns).zip(gradient.values.par_chunks(context * channels));
        let inputs = inputs.zip(probabilities.par_chunks(heads * context * context));
        inputs.zip(dx.values.par_chunks_mut(context * x.columns)).for_each(|(((x, dy), all), dx)| {
            let x = ArrayView2::from_shape((context, 3 * channels), x).expect("whole sequences");
            let dy = ArrayView2::from_shape((context, channels), dy).expect("whole sequences");
            let mut dx = ArrayViewMut2::from_shape((context, 3 * channels), dx).expect("whole sequences");
            let mut slopes = vec![0.0; context * context];
            for (head, scores) in all.chunks_exact(context * context).enumerate() {
                let [query, key, value] = parts(&x, head, channels, width);
                let dy = dy.slice_axis(Axis(1), Slice::from(head * width..(head + 1) * width));
                let mut to =
                    ArrayViewMut2::from_shape((context, context), &mut slopes[..]).expect("a square");
                general_mat_mul(1.0, &dy, &value.t(), 0.0, &mut to);
                for (slopes, scores) in slopes.chunks_exact_mut(context).zip(scores.chunks_exact(context)) {
                    let along: f32 = slopes.iter().zip(scores).map(|(a, b)| a * b).sum();
                    for (slope, score) in slopes.iter_mut().zip(scores) {
                        *slope = score * (*slope - along);
                    }
                }
                let scores = ArrayView2::from_shape((context, context), scores).expect("a square");
                let slopes = ArrayView2::from_shape((context, context), &slopes[..]).expect("a square");
                let mut into = |part: usize, factor, a: &ArrayView2<'_, f32>, b: &ArrayView2<'_, f32>| {
                    let first = part * channels + head * width;
                    let mut to = dx.slice_axis_mut(Axis(1), Slice::from(first..first + width));
                    general_mat_mul(factor, a, b, 0.0, &mut to);
                };
                into(0, scale, &slopes, &key);
                into(1, scale, &slopes.t(), &query);
                into(2, 1.0, &scores.t(), &dy);
            }
        });
        Ok(dx)
    }
}
