//! How much memory a run needs, by its options and data alone, so that one that needs too much is
//! refused before anything is allocated.

use crate::data::Dataset;
use crate::error::{Error, Result};
use crate::models::Architecture;

/// Bytes of a parameter: three tensors that are kept, the gradient, and three decoded tensors of
/// the optimizer's step, binary32 at most.
const PARAMETER: u128 = 28;
/// Bytes of an element between layers: its value and its gradient.
const ELEMENT: u128 = 8;

/// Refuses runs that need more memory than they may, and batches that are larger than the data.
///
/// # Errors
/// As said; the message names what is too large.
pub(crate) fn check(architecture: Architecture, batch: usize, data: &dyn Dataset, limit: u64) -> Result<()> {
    if batch > data.examples() {
        let what = format!(
            "a batch of {}: {} has {} images, or places where a sequence begins, to learn from; take no more",
            batch,
            data.name(),
            data.examples()
        );
        return Err(Error::config(what));
    }
    let Footprint { parameters, elements } = Footprint::of(architecture, data.classes());
    let examples = batch.max(data.validation_batch()) as u128;
    let parameters = PARAMETER.saturating_mul(parameters);
    let passing = ELEMENT.saturating_mul(elements).saturating_mul(examples);
    if parameters.saturating_add(passing) > u128::from(limit) {
        let [parameters, passing] = [parameters, passing].map(|bytes| bytes.div_ceil(1 << 20));
        let what = format!(
            "about {parameters} MiB for the model and {passing} MiB for {examples} images or sequences at once are \
             more than the limit of {} MiB: take a smaller batch or model, or a higher limit",
            limit >> 20
        );
        return Err(Error::config(what));
    }
    Ok(())
}

/// Numbers that stand for memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Footprint {
    /// Elements that learn.
    parameters: u128,
    /// Elements that the layers keep of one image or sequence, or have at once beside them.
    elements: u128,
}

impl Footprint {
    /// The numbers of a model for so many classes; at the top of the range where they are beyond
    /// it.
    fn of(architecture: Architecture, classes: usize) -> Self {
        let classes = classes as u128;
        let product = |factors: &[u128]| factors.iter().fold(1_u128, |a, b| a.saturating_mul(*b));
        let sum = |terms: &[u128]| terms.iter().fold(0_u128, |a, b| a.saturating_add(*b));
        let linear = |inputs: u128, outputs: u128| sum(&[product(&[inputs, outputs]), outputs]);
        match architecture {
            Architecture::Mlp { inputs } => {
                let sizes = [inputs as u128, 256, 128, 128, classes];
                let layers = sizes.windows(2).map(|pair| linear(pair[0], pair[1]));
                Self {
                    parameters: sum(&layers.collect::<Vec<_>>()),
                    // An input, a result and a rectifier's input.
                    elements: product(&[3, sum(&sizes)]),
                }
            }
            Architecture::Cnn { height, width } => {
                let pixels = product(&[height as u128, width as u128]);
                let [half, quarter] =
                    [2, 4].map(|part| product(&[(height / part) as u128, (width / part) as u128]));
                let inputs = product(&[32, quarter]);
                Self {
                    parameters: sum(&[linear(9, 16), linear(9 * 16, 32), linear(inputs, classes)]),
                    // Of each pixel: its neighbourhood, the result, the rectifier's input, and what
                    // the pool keeps, which is twice as long.
                    elements: sum(&[
                        product(&[9 + 2 * 16, pixels]),
                        product(&[3 * 16 + 9 * 16 + 2 * 32, half]),
                        product(&[3, inputs]),
                        product(&[3, classes]),
                    ]),
                }
            }
            Architecture::CharTransformer { layers, channels, heads, context } => {
                let [layers, channels, heads, context] =
                    [layers, channels, heads, context].map(|n| n as u128);
                let block = sum(&[
                    linear(channels, channels.saturating_mul(3)),
                    linear(channels, channels),
                    linear(channels, channels.saturating_mul(4)),
                    linear(channels.saturating_mul(4), channels),
                    channels.saturating_mul(4),
                ]);
                let tables = product(&[classes.saturating_add(context), channels]);
                // Of each token in a block: two normalizations and shortcuts, a query, key and
                // value, four times the channels three times over; and a probability of each token
                // of the sequence and head.
                let in_block = sum(&[product(&[22, channels]), product(&[heads, context])]);
                Self {
                    parameters: sum(&[
                        tables,
                        product(&[layers, block]),
                        channels.saturating_mul(2),
                        linear(channels, classes),
                    ]),
                    elements: product(&[
                        context,
                        sum(&[product(&[layers, in_block]), product(&[4, channels]), product(&[3, classes])]),
                    ]),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Text, digits};
    use crate::{Config, RunOptions, Trainer};

    #[test]
    fn no_run_takes_more_than_was_foreseen() {
        let transformer = Architecture::CharTransformer { layers: 2, channels: 24, heads: 3, context: 16 };
        for architecture in
            [Architecture::Mlp { inputs: 64 }, Architecture::Cnn { height: 8, width: 8 }, transformer]
        {
            let data: Box<dyn Dataset> = if architecture == transformer {
                Box::new(Text::new("letters", &"some letters ".repeat(100), 16).unwrap())
            } else {
                Box::new(digits().unwrap())
            };
            let options = RunOptions { steps: 1, ..RunOptions::new(architecture, Config::default()) };
            let foreseen = Footprint::of(architecture, data.classes());
            let mut trainer = Trainer::new(options, data).unwrap();
            trainer.step().unwrap();
            let report = trainer.report().unwrap();
            assert_eq!(foreseen.parameters, report.parameters as u128, "{architecture:?}");
            let kept = report.memory.activations as u128;
            let batch = 32 * ELEMENT * foreseen.elements;
            assert!((kept..5 * kept).contains(&batch), "{architecture:?}: {batch} for {kept}");
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused_before_anything_is_allocated() {
        let huge = usize::MAX / 2;
        let transformer =
            |layers, channels, context| Architecture::CharTransformer { layers, channels, heads: 1, context };
        let text = |context| Text::new("letters", &"some letters ".repeat(50_000), context).unwrap();
        let refused = |options: RunOptions, data: Box<dyn Dataset>| {
            Trainer::new(options, data).err().map(|e| e.to_string()).unwrap_or_default()
        };
        let new = |architecture| RunOptions::new(architecture, Config::default());
        for batch in [1_000_000_000, usize::MAX] {
            let options = RunOptions { batch, ..new(Architecture::Mlp { inputs: 64 }) };
            let error = refused(options, Box::new(digits().unwrap()));
            assert!(error.contains("digits has 1437 images"), "{error}");
        }
        for (architecture, context) in [
            (transformer(2, 128, 30_000), 30_000),
            (transformer(huge, 128, 64), 64),
            (transformer(2, huge, 64), 64),
        ] {
            let error = refused(new(architecture), Box::new(text(context)));
            assert!(error.contains("MiB"), "{architecture:?}: {error}");
        }
        for architecture in
            [Architecture::Mlp { inputs: huge }, Architecture::Cnn { height: huge, width: huge }]
        {
            let error = refused(new(architecture), Box::new(digits().unwrap()));
            assert!(error.contains("MiB"), "{architecture:?}: {error}");
        }
        let options = RunOptions { memory_limit: 1 << 20, ..new(Architecture::Mlp { inputs: 64 }) };
        assert!(refused(options, Box::new(digits().unwrap())).contains("limit of 1 MiB"));
    }
}
