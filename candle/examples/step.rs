//! What a training step costs: the character transformer of the published tables by candle in f32,
//! by candle with CFloat8 operands, and by smallfloat-train, turn by turn in one process.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release --example step [ROUNDS]`; prints a table in Markdown.

use std::error::Error;
use std::time::Instant;

use candle_core::{D, DType, Device, IndexOp, Result, Tensor};
use candle_nn::ops::layer_norm_slow;
use candle_nn::{AdamW, Init, Module, Optimizer, ParamsAdamW, VarBuilder, VarMap, linear};
use cpu_time::ProcessTime;
use smallfloat_candle::{LinearConfig, QuantizedLinear, preset};
use smallfloat_train::data::{Dataset as _, Input, Text};
use smallfloat_train::{Architecture, RandomSequence, RunOptions, Trainer};

const BATCH: usize = 32;
const CONTEXT: usize = 64;
const CHANNELS: usize = 128;
const HEADS: usize = 4;
const LAYERS: usize = 2;
const LETTERS: usize = 65;

/// Random characters: what a step costs does not depend on the text.
fn text() -> std::result::Result<Text, smallfloat_train::Error> {
    let sequence = RandomSequence::new(0, "text");
    let letter = |i| char::from_u32(32 + u32::try_from(sequence.below(i, LETTERS)).unwrap_or(0));
    let letters: String = (0..20_000).filter_map(letter).collect();
    Text::new("random", &letters, CONTEXT)
}

/// The model by candle's operations that have gradients; its fused normalization and softmax have
/// none.
struct Model {
    tables: [Tensor; 2],
    blocks: Vec<Block>,
    norm: [Tensor; 2],
    head: Box<dyn Module>,
    mask: Tensor,
}

struct Block {
    norms: [[Tensor; 2]; 2],
    /// Query, key and value; the attention's output; the perceptron's way up and down.
    linears: [Box<dyn Module>; 4],
}

fn dense(
    inputs: usize,
    outputs: usize,
    config: Option<&LinearConfig>,
    vb: &VarBuilder,
) -> Result<Box<dyn Module>> {
    let plain = linear(inputs, outputs, vb.clone())?;
    Ok(match config {
        Some(config) => Box::new(QuantizedLinear::from_linear(&vb.prefix(), &plain, config)?),
        None => Box::new(plain),
    })
}

fn norm(vb: &VarBuilder) -> Result<[Tensor; 2]> {
    Ok([
        vb.get_with_hints(CHANNELS, "gain", Init::Const(1.0))?,
        vb.get_with_hints(CHANNELS, "bias", Init::Const(0.0))?,
    ])
}

fn normalize(x: &Tensor, [gain, bias]: &[Tensor; 2]) -> Result<Tensor> {
    layer_norm_slow(x, gain, bias, 1e-5)
}

impl Model {
    fn new(config: Option<&LinearConfig>, vb: &VarBuilder) -> Result<Self> {
        let normal = Init::Randn { mean: 0.0, stdev: 0.02 };
        let block = |i: usize| {
            let vb = vb.pp(format!("block{i}"));
            let dense = |name, inputs, outputs| dense(inputs, outputs, config, &vb.pp(name));
            Ok(Block {
                norms: [norm(&vb.pp("norm1"))?, norm(&vb.pp("norm2"))?],
                linears: [
                    dense("query", CHANNELS, 3 * CHANNELS)?,
                    dense("out", CHANNELS, CHANNELS)?,
                    dense("up", CHANNELS, 4 * CHANNELS)?,
                    dense("down", 4 * CHANNELS, CHANNELS)?,
                ],
            })
        };
        let mask: Vec<f32> = (0..CONTEXT * CONTEXT)
            .map(|i| if i % CONTEXT > i / CONTEXT { f32::NEG_INFINITY } else { 0.0 })
            .collect();
        Ok(Self {
            tables: [
                vb.get_with_hints((LETTERS, CHANNELS), "tokens", normal)?,
                vb.get_with_hints((CONTEXT, CHANNELS), "places", normal)?,
            ],
            blocks: (0..LAYERS).map(block).collect::<Result<_>>()?,
            norm: norm(&vb.pp("norm"))?,
            head: dense(CHANNELS, LETTERS, config, &vb.pp("head"))?,
            mask: Tensor::from_vec(mask, (CONTEXT, CONTEXT), &Device::Cpu)?,
        })
    }

    fn attention(&self, x: &Tensor) -> Result<Tensor> {
        let width = CHANNELS / HEADS;
        let x = x.reshape((BATCH, CONTEXT, 3, HEADS, width))?.permute((2, 0, 3, 1, 4))?;
        let (query, key, value) = (x.i(0)?.contiguous()?, x.i(1)?.contiguous()?, x.i(2)?.contiguous()?);
        let scale = f64::from(u32::try_from(width).unwrap_or(1)).sqrt().recip();
        let scores = (query.matmul(&key.t()?)? * scale)?.broadcast_add(&self.mask)?;
        // As `candle_nn::ops::softmax`, but for the largest score's gradient, which is zero and
        // takes time.
        let powers = scores.broadcast_sub(&scores.max_keepdim(D::Minus1)?.detach())?.exp()?;
        let shares = powers.broadcast_div(&powers.sum_keepdim(D::Minus1)?)?;
        shares.matmul(&value)?.transpose(1, 2)?.contiguous()?.reshape((BATCH * CONTEXT, CHANNELS))
    }

    fn loss(&self, tokens: &Tensor, labels: &Tensor) -> Result<Tensor> {
        let rows = self.tables[0].index_select(tokens, 0)?.reshape((BATCH, CONTEXT, CHANNELS))?;
        let mut x = rows.broadcast_add(&self.tables[1])?.reshape((BATCH * CONTEXT, CHANNELS))?;
        for Block { norms, linears: [query, out, up, down] } in &self.blocks {
            let inner = self.attention(&query.forward(&normalize(&x, &norms[0])?)?)?;
            x = (x + out.forward(&inner)?)?;
            let inner = up.forward(&normalize(&x, &norms[1])?)?.gelu()?;
            x = (x + down.forward(&inner)?)?;
        }
        let logits = self.head.forward(&normalize(&x, &self.norm)?)?;
        let logits = logits.broadcast_sub(&logits.max_keepdim(D::Minus1)?.detach())?;
        let normal = logits.broadcast_sub(&logits.exp()?.sum_keepdim(D::Minus1)?.log()?)?;
        normal.gather(&labels.unsqueeze(1)?, D::Minus1)?.mean_all()?.neg()
    }
}

/// Something whose steps are timed; gives a step's loss.
type Runner = Box<dyn FnMut() -> std::result::Result<f64, Box<dyn Error>>>;

fn by_candle(config: Option<&LinearConfig>) -> std::result::Result<Runner, Box<dyn Error>> {
    let (variables, data, mut number) = (VarMap::new(), text()?, 0);
    let model = Model::new(config, &VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu))?;
    let rates = ParamsAdamW { lr: 2e-3, beta2: 0.99, weight_decay: 0.0, ..ParamsAdamW::default() };
    let mut adam = AdamW::new(variables.all_vars(), rates)?;
    Ok(Box::new(move || {
        let batch = data.batch(0, number, BATCH);
        number += 1;
        let Input::Tokens(tokens) = batch.input else { return Err("a text has tokens".into()) };
        let tensor = |tokens: Vec<u16>| {
            Tensor::new(tokens.into_iter().map(u32::from).collect::<Vec<_>>(), &Device::Cpu)
        };
        let loss = model.loss(&tensor(tokens)?, &tensor(batch.labels)?)?;
        adam.backward_step(&loss)?;
        Ok(f64::from(loss.to_scalar::<f32>()?))
    }))
}

fn by_trainer(name: &str) -> std::result::Result<Runner, Box<dyn Error>> {
    let options =
        RunOptions { steps: u64::MAX, ..RunOptions::new(Architecture::CHAR_TRANSFORMER, preset(name)?) };
    let mut trainer = Trainer::new(options, Box::new(text()?))?;
    Ok(Box::new(move || Ok(trainer.step()?.ok_or("a run has more steps")?.loss)))
}

/// Wall-clock time, and processor time of all threads.
type Times = [f64; 2];
const WALL: usize = 0;
const PROCESSOR: usize = 1;

/// The runners that others are compared with: both in f32, by candle and by smallfloat-train.
const CANDLE: usize = 0;
const OURS: usize = 1;

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let rounds: usize = std::env::args().nth(1).map_or(Ok(30), |text| text.parse())?;
    let mut runners = vec![
        ("A: candle, f32".to_owned(), by_candle(None)?),
        ("B: smallfloat-train, f32".to_owned(), by_trainer("f32")?),
    ];
    for name in ["cfloat8", "flag-driven", "all-dojo"] {
        runners.push((format!("smallfloat-train, {name}"), by_trainer(name)?));
    }
    for name in ["cfloat8", "flag-driven"] {
        let config = LinearConfig::from(&preset(name)?);
        runners.push((format!("candle with `QuantizedLinear`, {name}"), by_candle(Some(&config))?));
    }
    let mut times: Vec<Vec<Times>> = vec![Vec::new(); runners.len()];
    let mut losses = vec![0.0; runners.len()];
    // Round 0 is not counted: it builds encoders and touches memory for the first time.
    for round in 0..=rounds {
        for (i, (_, run)) in runners.iter_mut().enumerate() {
            let (wall, processor) = (Instant::now(), ProcessTime::try_now()?);
            losses[i] = run()?;
            let time = [wall.elapsed().as_secs_f64(), processor.try_elapsed()?.as_secs_f64()];
            if round > 0 {
                times[i].push(time);
            }
        }
    }
    println!("| step | wall, ms | processor, ms | wall ÷ A | processor ÷ A | processor ÷ B | loss |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (((name, _), mine), loss) in runners.iter().zip(&times).zip(losses) {
        let of = |kind: usize| 1e3 * median(mine.iter().map(|time| time[kind]));
        // Ratios within a round: what else the machine does then, both sides feel.
        let ratio =
            |to: usize, kind: usize| median(mine.iter().zip(&times[to]).map(|(a, b)| a[kind] / b[kind]));
        let ratios = [ratio(CANDLE, WALL), ratio(CANDLE, PROCESSOR), ratio(OURS, PROCESSOR)];
        let [a, b, c] = ratios.map(|ratio| format!("{ratio:.2}"));
        println!("| {name} | {:.1} | {:.1} | {a} | {b} | {c} | {loss:.2} |", of(WALL), of(PROCESSOR));
    }
    Ok(())
}
