//! Whole runs: the same bits on any number of threads and after a stop, what is refused, and the
//! order of the presets.

use smallfloat::formats::{BINARY32, E4M3FN};
use smallfloat::random::Philox;
use smallfloat::{Format, Preset, RandomBits, Saturation, convert};
use smallfloat_tensor::{BiasPolicy, stream_of_name};
use smallfloat_train::data::{Dataset, Input, Text, digit_pixels, digits};
use smallfloat_train::{
    Accumulation, Architecture, ClassConfig, Coders, Config, Elements, Error, Moment, OnNonfinite, Optimizer,
    RandomSequence, Round, RunOptions, Tally, TensorQuantizer, Trainer, preset,
};

/// Sentences of a small made-up language: some forty words in a few patterns.
fn sentences(characters: usize) -> String {
    let pick = RandomSequence::new(1, "sentences");
    let part = |i: u64, parts: &[&'static str]| parts[pick.below(i, parts.len())];
    let (mut text, mut i) = (String::new(), 0);
    while text.len() < characters {
        let pattern = pick.below(i, 3);
        let noun = |i| {
            format!("{}{}", part(i, &["bar", "lem", "tok", "vin", "sur"]), part(i + 1, &["a", "elo", "uk"]))
        };
        let verb = |i| part(i, &["sings to", "sees", "carries", "forgets"]);
        let sentence = match pattern {
            0 => format!("the {} {} the {}.\n", noun(i + 1), verb(i + 3), noun(i + 4)),
            1 => format!("{} {} no {}?\n", noun(i + 1), verb(i + 3), noun(i + 4)),
            _ => format!("why {} the {}, {}!\n", verb(i + 3), noun(i + 1), noun(i + 4)),
        };
        text.push_str(&sentence);
        i += 8;
    }
    text
}

fn small(preset_name: &str) -> RunOptions {
    let architecture = Architecture::CharTransformer { layers: 1, channels: 32, heads: 2, context: 64 };
    RunOptions {
        name: preset_name.into(),
        steps: 60,
        warm_up: 10,
        rate: 8e-3,
        ..RunOptions::new(architecture, preset(preset_name).unwrap())
    }
}

fn text(characters: usize) -> Box<dyn Dataset> {
    Box::new(Text::new("sentences", &sentences(characters), 64).unwrap())
}

#[test]
fn the_order_of_the_presets() {
    let loss = |name: &str| {
        let mut trainer = Trainer::new(small(name), text(60_000)).unwrap();
        while trainer.step().unwrap().is_some() {}
        trainer.validate().unwrap().0
    };
    let f32_loss = loss("f32");
    println!("f32 {f32_loss:.3}");
    assert!(f32_loss < 1.3, "nothing learnt: {f32_loss}");
    for name in ["cfloat8", "flag-driven", "gradient-learnt", "mxfp8", "nvfp4"] {
        let found = loss(name);
        println!("{name} {found:.3}");
        assert!((found - f32_loss).abs() < 0.12, "{name}: {found} against {f32_loss}");
    }
    let none = loss("fixed-143-7");
    let [stochastic, nearest] = ["weights-143-sr", "weights-143-rne"].map(loss);
    println!("fixed-143-7 {none:.3}, weights-143-sr {stochastic:.3}, weights-143-rne {nearest:.3}");
    assert!(none > f32_loss + 1.5, "fixed-143-7: {none} against {f32_loss}");
    assert!(nearest > stochastic + 0.15, "nearest {nearest}, stochastic {stochastic}");
}

#[test]
fn biases_learnt_by_gradient_come_from_far() {
    // At bias 0 of 1_4_3 all that is below 2^-3 is lost, at bias 40 all is clamped to 2^-24. Biases
    // that hold these tensors are 12 to 19. From below all come near; from above those whose
    // tensors the loss hears of, past the residual sum.
    for (start, which, near) in [(0, "", 6..=22), (40, "head", 10..=22)] {
        let mut config = preset("gradient-learnt").unwrap();
        for class in [&mut config.activations, &mut config.weights] {
            class.bias = Some(BiasPolicy::Gradient { patience: 1 });
            class.start = Some(start);
        }
        let options = RunOptions { config, steps: 80, ..small("gradient-learnt") };
        let mut trainer = Trainer::new(options, text(20_000)).unwrap();
        while trainer.step().unwrap().is_some() {}
        for quantizer in trainer.quantizers() {
            let bias = quantizer.bias().unwrap();
            if quantizer.name.starts_with(which) && !quantizer.name.ends_with("gradients") {
                assert!(near.contains(&bias), "{} from {start}: {bias}", quantizer.name);
            }
        }
        let loss = trainer.validate().unwrap().0;
        assert!(loss < 1.35, "from {start}: {loss}");
    }
}

/// Everything that a run is made of, in bits.
fn state(trainer: &mut Trainer) -> String {
    let losses: Vec<u64> = trainer.losses().iter().map(|loss| loss.to_bits()).collect();
    let kept: Vec<_> = trainer
        .parameters()
        .kept()
        .map(|kept| (kept.codes().data.clone(), kept.quantizer().state()))
        .collect();
    let quantizers: Vec<_> = trainer.quantizers().iter().map(|quantizer| quantizer.state()).collect();
    let (loss, right) = trainer.validate().unwrap();
    format!("{losses:?} {kept:?} {quantizers:?} {:x} {:x}", loss.to_bits(), right.to_bits())
}

fn exact(name: &str) -> RunOptions {
    RunOptions { steps: 6, batch: 9, warm_up: 2, accumulate: Accumulation::Exact, ..small(name) }
}

#[test]
fn threads_change_nothing() {
    let plain = |name| RunOptions { accumulate: Accumulation::F32, ..exact(name) };
    for options in [exact("five-bytes"), plain("cfloat8"), plain("nvfp4")] {
        let states: Vec<String> = [1, 2, 7]
            .into_iter()
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut trainer = Trainer::new(options.clone(), text(20_000)).unwrap();
                    while trainer.step().unwrap().is_some() {}
                    state(&mut trainer)
                })
            })
            .collect();
        assert!(states[0] == states[1] && states[0] == states[2], "{}", options.name);
    }
}

#[test]
fn every_class_may_be_rounded_stochastically() {
    let losses = |rounding: Round, seed: u64| {
        let mut options = RunOptions { seed, ..exact("cfloat8") };
        let Config { activations, weights, gradients, .. } = &mut options.config;
        for class in [activations, weights, gradients] {
            class.rounding = rounding;
        }
        let mut trainer = Trainer::new(options, text(20_000)).unwrap();
        while trainer.step().unwrap().is_some() {}
        state(&mut trainer)
    };
    let one = losses(Round::StochasticA, 1);
    assert!(one == losses(Round::StochasticA, 1));
    assert!(one != losses(Round::StochasticA, 2) && one != losses(Round::NearestEven, 1));
}

#[test]
#[expect(clippy::cast_possible_truncation, reason = "codes of eight bits")]
fn random_words_are_those_of_the_seed_the_name_and_the_step() {
    let format: Format = "cfloat8_1_5_2:bias=15".parse().unwrap();
    let class = ClassConfig {
        format: "cfloat8_1_5_2:bias=15".parse().unwrap(),
        rounding: Round::StochasticA,
        ..ClassConfig::default()
    };
    let values: Vec<f32> = (0..1000_u16).map(|i| (f32::from(i) - 500.5) / 77.0).collect();
    let (seed, step) = (5, 3);
    let mut quantizer = TensorQuantizer::new("layer.gradients", &class).unwrap();
    let words = quantizer.random_words(seed, step, values.len());
    let moment = Moment { step, learning: true, counting: false };
    let codes = quantizer.encode(&mut Coders::default(), &values[..], moment, words).unwrap();
    let generator = Philox { seed, stream: stream_of_name("layer.gradients") };
    let projection = quantizer.projection().unwrap();
    let expected: Vec<u8> = (0_u64..)
        .zip(&values)
        .map(|(i, value)| {
            let element = 3 * 1000 + i;
            let word = generator.block(element / 4)[(element % 4) as usize];
            let bits = RandomBits::from_word32(32, word).unwrap();
            let projection = projection.with_rounding(projection.rounding.with_random_bits(bits));
            convert(value.to_bits().into(), &BINARY32, &format, &projection).value as u8
        })
        .collect();
    assert_eq!(codes.data, Elements::Bytes(expected));
    let other = quantizer.random_words(seed, step + 1, values.len());
    let moved = quantizer.encode(&mut Coders::default(), &values[..], moment, other).unwrap();
    assert!(moved.data != codes.data);
}

#[test]
fn a_run_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["five-bytes", "flag-driven", "gradient-learnt", "p3109", "f32", "nvfp4"] {
        let accumulate =
            if matches!(name, "f32" | "nvfp4") { Accumulation::F32 } else { Accumulation::Exact };
        let options = RunOptions { accumulate, ..exact(name) };
        let mut whole = Trainer::new(options.clone(), text(20_000)).unwrap();
        while whole.step().unwrap().is_some() {}
        let path = folder.path().join(format!("{name}.safetensors"));
        let mut first = Trainer::new(options, text(20_000)).unwrap();
        for _ in 0..3 {
            first.step().unwrap();
        }
        first.save(&path).unwrap();
        let mut second = Trainer::resume(&path, text(20_000), 1 << 30).unwrap();
        assert_eq!(second.done(), 3);
        while second.step().unwrap().is_some() {}
        assert!(state(&mut whole) == state(&mut second), "{name}");
    }
}

#[test]
fn checkpoints_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let mut trainer = Trainer::new(exact("five-bytes"), text(20_000)).unwrap();
    trainer.step().unwrap();
    trainer.save(&path).unwrap();
    let error = |data: Box<dyn Dataset>| {
        Trainer::resume(&path, data, 1 << 30).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(error(text(30_000)).contains("made with the data"));
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    std::fs::write(&path, damaged).unwrap();
    assert!(error(text(20_000)).contains("digest"));
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert!(!error(text(20_000)).is_empty());
    std::fs::write(&path, whole).unwrap();
    assert_eq!(error(text(20_000)), "");
}

#[test]
fn every_flipped_bit_of_a_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.safetensors");
    let architecture = Architecture::CharTransformer { layers: 1, channels: 2, heads: 1, context: 4 };
    let letters = Text::new("letters", &"abc ".repeat(20), 4).unwrap();
    let data = || -> Box<dyn Dataset> { Box::new(letters.clone()) };
    let options = RunOptions {
        architecture,
        steps: 3,
        batch: 2,
        // Neither a control character nor a letter of another alphabet has two spellings.
        name: "\u{1b}[1mf\u{fc}nf".into(),
        ..RunOptions::new(architecture, preset("five-bytes").unwrap())
    };
    let mut trainer = Trainer::new(options, data()).unwrap();
    for _ in 0..2 {
        trainer.step().unwrap();
    }
    trainer.save(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    assert_eq!(Trainer::resume(&path, data(), 1 << 30).unwrap().losses(), trainer.losses());
    // Every bit of a few thousand bytes spread over the whole file, its first and last among them.
    let bits = 8 * bytes.len();
    let step = (bits / 6000).max(1) | 1;
    for bit in (0..bits).step_by(step).chain([bits - 1]) {
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        let refused = Trainer::resume(&path, data(), 1 << 30).err();
        let error = refused.unwrap_or_else(|| panic!("bit {} of byte {} is not missed", bit % 8, bit / 8));
        assert!(error.to_string().contains("run.safetensors"), "{error}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn memory_is_what_the_report_says() {
    for (name, bytes) in [("f32", 12.0), ("cfloat8", 12.0), ("all-dojo", 6.0), ("five-bytes", 5.0)] {
        let mut trainer = Trainer::new(RunOptions { steps: 1, ..small(name) }, text(20_000)).unwrap();
        trainer.step().unwrap();
        let report = trainer.report().unwrap();
        // A byte for each tensor's bias comes on top.
        assert!(
            (bytes..bytes + 0.02).contains(&report.bytes_per_parameter),
            "{name}: {}",
            report.bytes_per_parameter
        );
        if name == "f32" {
            assert_eq!(report.memory.activations, report.memory.activations_as_f32);
        } else {
            assert!(report.memory.activations < report.memory.activations_as_f32);
        }
    }
}

#[test]
fn digits_are_learnt_by_both_nets() {
    let nets = [
        (Architecture::Mlp { inputs: 64 }, Optimizer::MOMENTUM, 0.05),
        (Architecture::Cnn { height: 8, width: 8 }, Optimizer::ADAM, 4e-3),
    ];
    for (architecture, optimizer, rate) in nets {
        let options = RunOptions {
            steps: 150,
            warm_up: 10,
            optimizer,
            rate,
            ..RunOptions::new(architecture, preset("flag-driven").unwrap())
        };
        let mut trainer = Trainer::new(options, Box::new(digits().unwrap())).unwrap();
        while trainer.step().unwrap().is_some() {}
        let (_, right) = trainer.validate().unwrap();
        assert!(right > 0.85, "{architecture:?}: {right}");
    }
}

/// Formats without a sign would make NaN or zero of half of a gradient.
#[test]
fn formats_without_a_sign_are_refused_where_tensors_have_one() {
    let unsigned = ["uhp", "e8m0fnu", "binary8p4ue", "minifloat:k=8,p=4,bias=7,signed=false,specials=ieee"];
    for format in unsigned {
        for class in ["weights", "gradients", "state.weights", "state.first_moment"] {
            let config = format!("[{class}]\nformat = \"{format}\"");
            let error = config.parse::<Config>().unwrap_err().to_string();
            assert!(error.contains(class) && error.contains("no negative values"), "{error}");
        }
    }
    // A configuration that was never text is checked too.
    let mut config = Config::default();
    config.gradients.format = "uhp".parse().unwrap();
    let options = RunOptions { config: config.clone(), ..small("f32") };
    let error = Trainer::new(options, text(20_000)).err().unwrap().to_string();
    assert!(error.contains("gradients"), "{error}");
    // Activations are never negative behind rectifiers, and have a sign elsewhere.
    (config.gradients, config.activations) = (config.weights.clone(), config.gradients);
    let error =
        Trainer::new(RunOptions { config: config.clone(), ..small("f32") }, text(20_000)).err().unwrap();
    assert!(error.to_string().contains("activations"), "{error}");
    let mlp = RunOptions { config, ..RunOptions::new(Architecture::Mlp { inputs: 64 }, Config::default()) };
    assert!(Trainer::new(mlp, Box::new(digits().unwrap())).is_ok());
}

/// A run that diverges says so, in every format, at the step and the tensor where it shows first.
#[test]
fn runs_that_diverge_are_stopped() {
    let architectures = [Architecture::Mlp { inputs: 64 }, Architecture::Cnn { height: 8, width: 8 }];
    for name in ["f32", "cfloat8", "ocp-e4m3-e5m2", "p3109", "five-bytes"] {
        for architecture in architectures {
            let config = preset(name).unwrap();
            // Moments and weights in SHP end at ±max, however large the steps.
            let all_finite = name == "five-bytes";
            let options = RunOptions {
                steps: 8,
                warm_up: 0,
                rate: 3e38,
                optimizer: Optimizer::MOMENTUM,
                ..RunOptions::new(architecture, config)
            };
            let run = |options| {
                let mut trainer = Trainer::new(options, Box::new(digits().unwrap())).unwrap();
                while trainer.step()?.is_some() {}
                Ok(trainer.losses().to_vec())
            };
            let stopped: Result<Vec<f64>, Error> = run(options.clone());
            match stopped {
                Err(Error::Nonfinite { step, tensor, count, value, .. }) => {
                    assert!((1..=8).contains(&step) && count > 0 && !value.is_finite(), "{name}: {tensor}");
                }
                Ok(losses) if all_finite => assert!(losses.iter().all(|loss| loss.is_finite())),
                other => panic!("{name}: {other:?}"),
            }
            let mut options = options;
            options.config.nonfinite = OnNonfinite::Preset;
            run(options).unwrap();
        }
    }
}

#[test]
fn nan_and_infinity_stop_at_their_step_and_place() {
    let class = preset("cfloat8").unwrap().activations;
    let moment = Moment { step: 7, learning: true, counting: false };
    for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let values = [1.0, -2.0, value, 0.0, value];
        for class in [&class, &ClassConfig::default()] {
            let mut coders = Coders::default();
            let mut quantizer = TensorQuantizer::new("layer.activations", class).unwrap();
            let error = quantizer.encode(&mut coders, &values[..], moment, None).unwrap_err();
            let text = error.to_string();
            assert!(
                text.starts_with(
                    "step 7: layer.activations has 2 NaN or infinite elements of 5, the first, "
                ) && text.contains(" at 2: "),
                "{text}"
            );
            assert_eq!(quantizer.tally().elements, 0);
            let mut quantizer = quantizer.with_nonfinite(OnNonfinite::Preset);
            assert!(quantizer.encode(&mut coders, &values[..], moment, None).is_ok());
        }
    }
}

/// 448 is E4M3FN's largest value and 464 ties to it; beyond, OCP's preset without saturation makes
/// NaN.
#[test]
fn values_that_became_nan_are_counted_as_such() {
    let class = ClassConfig { format: "e4m3fn".parse().unwrap(), ..ClassConfig::default() };
    let moment = Moment { step: 1, learning: true, counting: false };
    let values = [448.0, 464.0, 465.0, -1e9, f32::INFINITY, f32::NAN, 1e-9, 0.0];
    for (saturation, overflowed, nans) in [(Saturation::SatNone, 0, 4), (Saturation::SatFinite, 3, 1)] {
        let projection = Preset::OcpNoSaturate.projection(&E4M3FN).with_saturation(saturation);
        let mut quantizer = TensorQuantizer::new("layer", &class)
            .unwrap()
            .with_nonfinite(OnNonfinite::Preset)
            .with_projection(projection);
        quantizer.encode(&mut Coders::default(), &values[..], moment, None).unwrap();
        let expected = Tally { elements: 8, overflowed, nans, underflowed: 1 };
        assert_eq!(quantizer.tally(), expected, "{saturation:?}");
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |config: &str| config.parse::<Config>().unwrap_err().to_string();
    assert!(refused("[weights]\nformat = \"cfloat8_1_4_3\"").contains("needs a bias"));
    assert!(refused("[weights]\nformat = \"f32\"\nbias = \"amax\"").contains("not rounded"));
    assert!(
        refused("[state.weights]\nformat = \"shp\"\nbias = \"delayed\"")
            .contains("learns from the step before")
    );
    assert!(
        refused("[state.weights]\nformat = \"shp\"\nbias = \"amax\"\nroot = true").contains("second_moment")
    );
    assert!(refused("[gradients]\nformat = \"shp\"\nbias = \"gradient\"").contains("gradients do not enter"));
    assert!(refused("loss_scale = 3.0").contains("power of two"));
    let trainer =
        |options| Trainer::new(options, text(20_000)).err().map(|e: smallfloat_train::Error| e.to_string());
    assert!(trainer(RunOptions { steps: 0, ..small("f32") }).is_some());
    assert!(trainer(RunOptions { accumulate: Accumulation::Exact, ..small("f32") }).is_some());
    assert!(trainer(RunOptions { accumulate: Accumulation::Exact, ..small("bf16") }).is_some());
    assert!(trainer(RunOptions { architecture: Architecture::Mlp { inputs: 4 }, ..small("f32") }).is_none());
    assert!(Text::new("short", "abc", 64).is_err());
}

/// The first layer's input is the batch itself, whatever it is rounded to; an evaluation leaves no
/// trace.
#[test]
fn tensors_are_kept_as_they_were_before_rounding() {
    let options = RunOptions {
        steps: 3,
        ..RunOptions::new(Architecture::Mlp { inputs: 64 }, preset("cfloat8").unwrap())
    };
    let mut trainer = Trainer::new(options, Box::new(digits().unwrap())).unwrap();
    trainer.step().unwrap();
    assert!(trainer.quantizers().iter().all(|quantizer| quantizer.recorded().is_none()));
    trainer.quantizers().into_iter().for_each(|quantizer| quantizer.record(true));
    trainer.step().unwrap();
    trainer.validate().unwrap();
    let Input::Rows(rows) = digits().unwrap().batch(0, 1, 32).input else { panic!("images are rows") };
    let quantizers = trainer.quantizers();
    let recorded = |name: &str| {
        let quantizer = quantizers.iter().find(|quantizer| quantizer.name == name).unwrap();
        quantizer.recorded().unwrap().to_vec()
    };
    assert_eq!(recorded("linear0.activations"), rows.values);
    assert_eq!(recorded("linear3.gradients").len(), 32 * 10);
    assert!(recorded("linear3.gradients").iter().any(|x| *x < 0.0));
    trainer.quantizers().into_iter().for_each(|quantizer| quantizer.record(false));
    assert!(trainer.quantizers().iter().all(|quantizer| quantizer.recorded().is_none()));
}

/// A text of 1,797 images of 64 pixels in 17 grades, each with a line break, that the transformer
/// learns from.
#[test]
fn digits_are_a_text_too() {
    let text = digit_pixels(65).unwrap();
    assert_eq!((text.classes(), text.examples()), (18, 1797 * 65 / 10 * 9 - 65));
    let Input::Tokens(tokens) = text.batch(0, 0, 4).input else { panic!("a text is tokens") };
    // In every window of 65 tokens there is one line break, the least of the characters.
    for window in tokens.chunks_exact(65) {
        assert_eq!(window.iter().filter(|token| **token == 0).count(), 1);
    }
    assert!(digit_pixels(0).is_err() && digit_pixels(20_000).is_err());
    let error = {
        let mut config = preset("gradients-shp").unwrap();
        config.gradients.format = "uhp".parse().unwrap();
        config.gradients.bias = None;
        config.check().unwrap_err().to_string()
    };
    assert!(error.contains("uhp has no negative values, which gradients have"), "{error}");
}

/// Weights that are put back give the same losses, and others do not.
#[test]
fn weights_are_replaced() {
    let options =
        RunOptions { steps: 4, ..RunOptions::new(Architecture::Mlp { inputs: 64 }, preset("f32").unwrap()) };
    let mut trainer = Trainer::new(options, Box::new(digits().unwrap())).unwrap();
    while trainer.step().unwrap().is_some() {}
    let before = trainer.validate().unwrap();
    let weights = trainer.parameters().list[0].weights.values();
    trainer.store_weights("linear0.weight", vec![0.0; weights.len()]).unwrap();
    assert!(trainer.parameters().list[0].weights.values().iter().all(|x| *x == 0.0));
    assert!(trainer.validate().unwrap() != before);
    trainer.store_weights("linear0.weight", weights).unwrap();
    assert_eq!(trainer.validate().unwrap(), before);
    let mut error =
        |name: &str, count| trainer.store_weights(name, vec![0.0; count]).unwrap_err().to_string();
    assert!(error("linear9.weight", 4).contains("no parameter `linear9.weight`: there are linear0.weight"));
    assert!(error("linear0.weight", 4).contains("4 values for linear0.weight, which has 16384"));
}
