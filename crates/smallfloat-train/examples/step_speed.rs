//! Seconds of a step of the character transformer in f32, with CFloat8 operands, and, with the feature `candle`, of the same
//! model in f32 by candle; all in one run, turn by turn.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p smallfloat-train --features candle --example step_speed [STEPS]`

use std::time::Instant;

use smallfloat_train::data::{Batch, Data as _, Text};
use smallfloat_train::{Architecture, Options, Sequence, Trainer, preset};

const BATCH: usize = 32;
const CONTEXT: usize = 64;

/// Random characters: what a step costs does not depend on the text.
fn text() -> Result<Text, smallfloat_train::Error> {
    let sequence = Sequence::new(0, "text");
    let letters: String = (0..20_000_u64)
        .map(|i| char::from(b' ' + u8::try_from(sequence.below(i, 65)).unwrap_or_default()))
        .collect();
    Text::new("random", &letters, CONTEXT)
}

/// Something whose steps are timed.
type Runner = Box<dyn FnMut(&Batch) -> Result<(), Box<dyn std::error::Error>>>;

fn ours(name: &str) -> Result<Runner, Box<dyn std::error::Error>> {
    let options = Options { steps: u64::MAX, ..Options::new(Architecture::CHAR_TRANSFORMER, preset(name)?) };
    let mut trainer = Trainer::new(options, Box::new(text()?))?;
    Ok(Box::new(move |_| {
        trainer.step()?;
        Ok(())
    }))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds: u64 = std::env::args().nth(1).map_or(Ok(20), |text| text.parse())?;
    let names = ["f32", "cfloat8", "cfloat8-143", "flag-driven", "all-dojo", "five-bytes"];
    let mut runners = names
        .iter()
        .map(|name| Ok((*name, ours(name)?)))
        .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
    #[cfg(feature = "candle")]
    runners.push(("candle f32", framework::runner()?));
    let data = text()?;
    let mut seconds = vec![Vec::new(); runners.len()];
    for round in 0..rounds {
        let batch = data.batch(0, round, BATCH);
        for ((_, run), seconds) in runners.iter_mut().zip(&mut seconds) {
            let began = Instant::now();
            run(&batch)?;
            seconds.push(began.elapsed().as_secs_f64());
        }
    }
    for seconds in &mut seconds {
        seconds.sort_by(f64::total_cmp);
    }
    println!("{:14} {:>9} {:>9} {:>13}", "", "least, ms", "median", "least to f32");
    for ((name, _), times) in runners.iter().zip(&seconds) {
        let (least, median) = (times[0], times[times.len() / 2]);
        println!("{name:14} {:9.1} {:9.1} {:13.3}", 1e3 * least, 1e3 * median, least / seconds[0][0]);
    }
    Ok(())
}

/// The same model by candle: layers from its operations that have gradients, Adam on its tensors.
#[cfg(feature = "candle")]
mod framework {
    use candle_core::{D, Device, Result, Tensor, Var};
    use smallfloat_train::data::{Batch, Input};

    use super::{BATCH, CONTEXT, Runner};

    const CHANNELS: usize = 128;
    const HEADS: usize = 4;
    const LETTERS: usize = 65;

    struct Block {
        norms: [[Var; 2]; 2],
        linears: [[Var; 2]; 4],
    }

    struct Model {
        tables: [Var; 2],
        blocks: Vec<Block>,
        norm: [Var; 2],
        head: [Var; 2],
        mask: Tensor,
    }

    fn linear(outputs: usize, inputs: usize) -> Result<[Var; 2]> {
        Ok([
            Var::randn(0.0_f32, 0.02, (outputs, inputs), &Device::Cpu)?,
            Var::zeros(outputs, candle_core::DType::F32, &Device::Cpu)?,
        ])
    }

    fn norm() -> Result<[Var; 2]> {
        Ok([
            Var::ones(CHANNELS, candle_core::DType::F32, &Device::Cpu)?,
            Var::zeros(CHANNELS, candle_core::DType::F32, &Device::Cpu)?,
        ])
    }

    fn apply(x: &Tensor, [weight, bias]: &[Var; 2]) -> Result<Tensor> {
        x.matmul(&weight.t()?)?.broadcast_add(bias)
    }

    fn normalize(x: &Tensor, [gain, bias]: &[Var; 2]) -> Result<Tensor> {
        let centered = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
        let deviation = (centered.sqr()?.mean_keepdim(D::Minus1)? + 1e-5)?.sqrt()?;
        centered.broadcast_div(&deviation)?.broadcast_mul(gain)?.broadcast_add(bias)
    }

    impl Model {
        fn new() -> Result<Self> {
            let block = || {
                Ok(Block {
                    norms: [norm()?, norm()?],
                    linears: [
                        linear(3 * CHANNELS, CHANNELS)?,
                        linear(CHANNELS, CHANNELS)?,
                        linear(4 * CHANNELS, CHANNELS)?,
                        linear(CHANNELS, 4 * CHANNELS)?,
                    ],
                })
            };
            let mask: Vec<f32> = (0..CONTEXT * CONTEXT)
                .map(|i| if i % CONTEXT > i / CONTEXT { f32::NEG_INFINITY } else { 0.0 })
                .collect();
            let [tokens, places] = [LETTERS, CONTEXT].map(|rows| linear(rows, CHANNELS));
            let ([tokens, _], [places, _]) = (tokens?, places?);
            Ok(Self {
                tables: [tokens, places],
                blocks: vec![block()?, block()?],
                norm: norm()?,
                head: linear(LETTERS, CHANNELS)?,
                mask: Tensor::from_vec(mask, (CONTEXT, CONTEXT), &Device::Cpu)?,
            })
        }

        fn variables(&self) -> Vec<&Var> {
            let blocks = self.blocks.iter().flat_map(|b| b.norms.iter().chain(&b.linears)).flatten();
            blocks.chain(&self.tables).chain(&self.norm).chain(&self.head).collect()
        }

        fn attention(&self, x: &Tensor) -> Result<Tensor> {
            let width = CHANNELS / HEADS;
            let x = x.reshape((BATCH, CONTEXT, 3, HEADS, width))?.permute((2, 0, 3, 1, 4))?;
            let part = |i: usize| x.get(i)?.contiguous();
            let (query, key, value) = (part(0)?, part(1)?, part(2)?);
            let scale = 1.0 / f64::from(u32::try_from(width).unwrap_or(1)).sqrt();
            let scores = (query.matmul(&key.t()?)? * scale)?.broadcast_add(&self.mask)?;
            let powers = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
            let shares = powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)?;
            shares.matmul(&value)?.transpose(1, 2)?.contiguous()?.reshape((BATCH * CONTEXT, CHANNELS))
        }

        fn loss(&self, tokens: &Tensor, labels: &Tensor) -> Result<Tensor> {
            let rows = self.tables[0].index_select(tokens, 0)?.reshape((BATCH, CONTEXT, CHANNELS))?;
            let mut x = rows.broadcast_add(&self.tables[1])?.reshape((BATCH * CONTEXT, CHANNELS))?;
            for Block { norms, linears: [query, out, up, down] } in &self.blocks {
                let inner = self.attention(&apply(&normalize(&x, &norms[0])?, query)?)?;
                x = (x + apply(&inner, out)?)?;
                let inner = apply(&normalize(&x, &norms[1])?, up)?.gelu()?;
                x = (x + apply(&inner, down)?)?;
            }
            let logits = apply(&normalize(&x, &self.norm)?, &self.head)?;
            let logits = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?.detach())?;
            let normal = logits.broadcast_sub(&logits.exp()?.sum_keepdim(D::Minus1)?.log()?)?;
            normal.gather(&labels.unsqueeze(1)?, D::Minus1)?.mean_all()?.neg()
        }
    }

    pub(super) fn runner() -> std::result::Result<Runner, Box<dyn std::error::Error>> {
        let model = Model::new()?;
        let zeros = || model.variables().iter().map(|v| v.zeros_like()).collect::<Result<Vec<_>>>();
        let (mut first, mut second) = (zeros()?, zeros()?);
        Ok(Box::new(move |batch: &Batch| {
            let Input::Tokens(tokens) = &batch.input else { return Err("tokens are wanted".into()) };
            let tensor = |tokens: &[u16]| {
                Tensor::from_vec(tokens.iter().map(|t| u32::from(*t)).collect(), tokens.len(), &Device::Cpu)
            };
            let gradients = model.loss(&tensor(tokens)?, &tensor(&batch.labels)?)?.backward()?;
            for ((variable, m), v) in model.variables().into_iter().zip(&mut first).zip(&mut second) {
                let Some(gradient) = gradients.get(variable) else {
                    return Err("a gradient is missing".into());
                };
                *m = ((&*m * 0.9)? + (gradient * 0.1)?)?;
                *v = ((&*v * 0.99)? + (gradient.sqr()? * 0.01)?)?;
                let step = (&*m / (v.sqrt()? + 1e-8)?)?;
                variable.set(&(variable.as_tensor() - (step * 1e-4)?)?)?;
            }
            Ok(())
        }))
    }
}
