//! [`Convolution`] and [`Pool`]: layers of images.

use rayon::prelude::*;

use crate::codes::quantizer::TensorQuantizer;
use crate::error::Result;
use crate::layers::linear::Linear;
use crate::layers::{Layer, Pass};
use crate::matrix::Matrix;
use crate::parameters::ModelParameters;

/// Height, width and channels of images that are rows, channels innermost.
type Size = [usize; 3];

/// A 3 × 3 convolution with a border of zeros: a [`Linear`] layer of each pixel's neighbourhood.
pub struct Convolution {
    size: Size,
    linear: Linear,
    passes_on: bool,
}

impl Convolution {
    /// Returns a convolution of images of this size into so many channels.
    ///
    /// # Errors
    /// A class of the configuration that does not go together.
    pub fn new(
        parameters: &mut ModelParameters,
        name: &str,
        size: Size,
        channels: usize,
        deviation: f32,
    ) -> Result<Self> {
        let linear = Linear::new(parameters, name, [9 * size[2], channels], deviation)?;
        Ok(Self { size, linear, passes_on: true })
    }

    /// Returns the layer for the beginning of a model, where the gradient of the input is not
    /// computed.
    #[must_use]
    pub fn first(mut self) -> Self {
        self.linear = self.linear.first();
        self.passes_on = false;
        self
    }
}

/// The place of a neighbour in an image, if it is in it, for all pixels and neighbours:
/// `f(pixel, neighbour, place)`.
fn neighbours([height, width, channels]: Size, mut f: impl FnMut(usize, usize, usize)) {
    for pixel in 0..height * width {
        let (y, x) = (pixel / width, pixel % width);
        for neighbour in 0..9 {
            let (row, column) = (y + neighbour / 3, x + neighbour % 3);
            if (1..=height).contains(&row) && (1..=width).contains(&column) {
                f(pixel, neighbour, ((row - 1) * width + column - 1) * channels);
            }
        }
    }
}

impl Layer for Convolution {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let (size, images) = (self.size, x.rows());
        let [height, width, channels] = size;
        let length = 9 * channels;
        let mut patches = Matrix::zeros(images * height * width, length);
        let pieces =
            patches.values.par_chunks_mut(height * width * length).zip(x.values.par_chunks(x.columns));
        pieces.for_each(|(patches, image)| {
            neighbours(size, |pixel, neighbour, place| {
                patches[pixel * length + neighbour * channels..][..channels]
                    .copy_from_slice(&image[place..place + channels]);
            });
        });
        let mut y = self.linear.forward(pass, patches)?;
        y.columns *= height * width;
        Ok(y)
    }

    fn backward(&mut self, pass: &mut Pass<'_>, mut gradient: Matrix) -> Result<Matrix> {
        let (size, images) = (self.size, gradient.rows());
        let [height, width, channels] = size;
        let length = 9 * channels;
        gradient.columns /= height * width;
        let patches = self.linear.backward(pass, gradient)?;
        let mut dx = Matrix::zeros(images, height * width * channels);
        if self.passes_on {
            let columns = dx.columns;
            let pieces =
                dx.values.par_chunks_mut(columns).zip(patches.values.par_chunks(height * width * length));
            pieces.for_each(|(image, patches)| {
                neighbours(size, |pixel, neighbour, place| {
                    let patch = &patches[pixel * length + neighbour * channels..][..channels];
                    for (sum, dx) in image[place..place + channels].iter_mut().zip(patch) {
                        *sum += dx;
                    }
                });
            });
        }
        Ok(dx)
    }

    fn quantizers(&mut self) -> Vec<&mut TensorQuantizer> {
        self.linear.quantizers()
    }
}

/// The largest of each 2 × 2 pixels, or a NaN where there is one, channel by channel; an odd last
/// row or column is left out.
pub struct Pool {
    size: Size,
    /// For each result, where it came from in its image.
    saved: Vec<usize>,
}

impl Pool {
    /// Returns a pool of images of this size.
    pub fn new(size: Size) -> Self {
        Self { size, saved: Vec::new() }
    }
}

impl Layer for Pool {
    fn forward(&mut self, pass: &mut Pass<'_>, x: Matrix) -> Result<Matrix> {
        let [height, width, channels] = self.size;
        let columns = (height / 2) * (width / 2) * channels;
        let mut y = Matrix::zeros(x.rows(), columns);
        self.saved = vec![0; y.values.len()];
        let pieces = y.values.par_chunks_mut(columns).zip(self.saved.par_chunks_mut(columns));
        pieces.zip(x.values.par_chunks(x.columns)).for_each(|((y, from), image)| {
            for (i, (y, from)) in y.iter_mut().zip(from).enumerate() {
                let (pixel, channel) = (i / channels, i % channels);
                let (row, column) = (pixel / (width / 2) * 2, pixel % (width / 2) * 2);
                let places =
                    [0, 1, width, width + 1].map(|step| (row * width + column + step) * channels + channel);
                *from = places.into_iter().fold(places[0], |best, at| {
                    if image[at] > image[best] || image[at].is_nan() { at } else { best }
                });
                *y = image[*from];
            }
        });
        pass.keeps(y.values.len(), size_of_val(&self.saved[..]));
        Ok(y)
    }

    fn backward(&mut self, _: &mut Pass<'_>, gradient: Matrix) -> Result<Matrix> {
        let [height, width, channels] = self.size;
        let columns = height * width * channels;
        let mut dx = Matrix::zeros(gradient.rows(), columns);
        let pieces = dx.values.par_chunks_mut(columns).zip(gradient.values.par_chunks(gradient.columns));
        pieces.zip(self.saved.par_chunks(gradient.columns)).for_each(|((dx, dy), from)| {
            for (dy, from) in dy.iter().zip(from) {
                dx[*from] += dy;
            }
        });
        Ok(dx)
    }
}
