//! [`cross_entropy`]: the loss of classifiers.

use crate::functions::exp;
use crate::matrix::Matrix;

/// A loss and its gradient.
#[derive(Clone, PartialEq, Debug)]
pub struct Loss {
    /// The mean over all rows, in nats.
    pub mean: f64,
    /// How many rows have their largest element at the label.
    pub correct: usize,
    /// The gradient of the mean, times the scale.
    pub gradient: Matrix,
}

/// Returns the cross-entropy of softmax(logits) and labels, one for each row.
pub fn cross_entropy(logits: &Matrix, labels: &[u16], scale: f32) -> Loss {
    let mut gradient = logits.clone();
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    let factor = scale / labels.len() as f32;
    let (mut sum, mut correct) = (0.0, 0);
    for (row, label) in gradient.values.chunks_exact_mut(logits.columns).zip(labels) {
        let label = usize::from(*label);
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        correct += usize::from(row[label] >= largest);
        let at_label = row[label] - largest;
        for x in row.iter_mut() {
            *x = exp(*x - largest);
        }
        let total: f32 = row.iter().sum();
        sum += libm::log(f64::from(total)) - f64::from(at_label);
        for x in row.iter_mut() {
            *x *= factor / total;
        }
        row[label] -= factor;
    }
    #[expect(clippy::cast_precision_loss, reason = "batches are small")]
    let mean = sum / labels.len() as f64;
    Loss { mean, correct, gradient }
}
