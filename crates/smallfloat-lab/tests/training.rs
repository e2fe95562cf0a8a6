//! The experiments on training: what `docs/lab/training.md` claims, on shorter runs.
#![cfg(feature = "training")]

use smallfloat_lab::experiments::{Cell, Experiment, ExperimentOptions, Findings, FindingsTable};
use smallfloat_train::data::digits;
use smallfloat_train::{Architecture, RunOptions, Trainer, preset};

/// Steps of the runs here.
const STEPS: usize = 40;

fn run(name: &str, options: &ExperimentOptions) -> Findings {
    let found = name.parse::<&Experiment>().and_then(|experiment| experiment.run(options));
    found.unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn short() -> ExperimentOptions {
    ExperimentOptions { length: Some(STEPS), ..ExperimentOptions::default() }
}

fn with_formats(names: &[&str]) -> ExperimentOptions {
    let formats = names.iter().map(|name| name.parse().expect("a format")).collect();
    ExperimentOptions { formats, trials: Some(1), ..short() }
}

fn number(table: &FindingsTable, beginning: &[&str], column: &str) -> f64 {
    let cell = table.cell(beginning, column).unwrap_or_else(|| panic!("{beginning:?}, {column}"));
    cell.number().unwrap_or_else(|| panic!("{cell:?}"))
}

/// The last gradients of the convolutional net's run, by the training crate alone.
fn gradients() -> Vec<f32> {
    let architecture = Architecture::Cnn { height: 8, width: 8 };
    let steps = STEPS as u64;
    let options = RunOptions {
        steps,
        warm_up: steps / 10,
        ..RunOptions::new(architecture, preset("f32").expect("a preset"))
    };
    let mut trainer = Trainer::new(options, Box::new(digits().expect("digits"))).expect("a run");
    trainer.quantizers().into_iter().for_each(|quantizer| quantizer.record(true));
    while trainer.step().expect("a step").is_some() {}
    let quantizers = trainer.quantizers();
    let gradients = quantizers.iter().filter(|quantizer| quantizer.name.ends_with("gradients"));
    gradients.flat_map(|quantizer| quantizer.recorded().expect("it records").to_vec()).collect()
}

/// The smallest value of CFloat8_1_4_3 at bias 7 is 2^−10, its smallest normal value 2^−6: what is
/// at most 2^−11 becomes 0, a tie included. At bias 15 of SHP these are 2^−25 and 2^−14.
#[test]
#[expect(clippy::cast_precision_loss, reason = "counts of elements")]
fn shares_of_gradients_are_those_that_thresholds_give() {
    let findings = run("gradient-formats", &with_formats(&["cfloat8_1_4_3:bias=7", "shp:bias=15"]));
    let gradients: Vec<f32> = gradients().into_iter().filter(|x| *x != 0.0).collect();
    let share = |from: f32, to: f32| {
        let within = gradients.iter().filter(|x| x.abs() > from && x.abs() <= to).count();
        within as f64 / gradients.len() as f64
    };
    for (format, smallest, normal) in [("cfloat8_1_4_3:bias=7", 2.0_f32.powi(-10), 2.0_f32.powi(-6))]
        .into_iter()
        .chain([("shp:bias=15", 2.0_f32.powi(-25), 2.0_f32.powi(-14))])
    {
        let cell = |column| number(&findings.tables[0], &["convolutional net", format], column);
        assert!((cell("become 0") - share(0.0, smallest / 2.0)).abs() < 1e-12, "{format}");
        let below = share(smallest / 2.0, normal.next_down());
        assert!((cell("subnormal") - below).abs() < 1e-12, "{format}: {below}");
        assert_eq!(cell("clamped").to_bits(), 0.0_f64.to_bits(), "{format}");
    }
}

/// R40: at one bias for all, CFloat8 loses the transformer's gradients and SHP keeps most; with a
/// bias for each tensor CFloat8 keeps them, with its few bits, and trains as well.
#[test]
fn gradients_need_sixteen_bits_where_biases_are_fixed() {
    let names = [
        "cfloat8_1_4_3",
        "cfloat8_1_5_2",
        "shp",
        "cfloat8_1_4_3:bias=7",
        "cfloat8_1_5_2:bias=15",
        "shp:bias=15",
    ];
    let findings = run("gradient-formats", &with_formats(&names));
    let [lost, trained] = &findings.tables[..] else { panic!("two tables") };
    let zero = |format| number(lost, &["transformer", format], "become 0");
    assert!(zero("cfloat8_1_4_3:bias=7") > 0.9 && zero("cfloat8_1_5_2:bias=15") > 0.3, "{lost:?}");
    assert!(zero("shp:bias=15") < 0.1 && zero("cfloat8_1_4_3") < 0.02 && zero("shp") < 1e-4, "{lost:?}");
    for (format, ratio) in [("cfloat8_1_4_3", 31.6), ("cfloat8_1_5_2", 25.6), ("shp", 73.7)] {
        let found = number(lost, &["transformer", format], "SQNR, dB");
        assert!((found - ratio).abs() < 1.0, "{format}: {found} dB");
    }
    let above = |format| number(trained, &["transformer", format], "above f32");
    assert!(above("cfloat8_1_4_3:bias=7") > 0.15, "{trained:?}");
    for format in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp", "shp:bias=15"] {
        assert!(above(format).abs() < 0.12, "{format}: {}", above(format));
    }
    assert_eq!(trained.rows[0][1].text(), Some("f32"));
}

/// R41: every tensor's best bias is above the default one, those of gradients most, and those of
/// activations least.
#[test]
fn biases_skew_to_small_values() {
    let table = &run("tensor-biases", &short()).tables[0];
    for model in ["convolutional net", "transformer"] {
        for format in ["cfloat8_1_4_3", "cfloat8_1_5_2", "shp"] {
            let cell = |role, column| number(table, &[model, role, format], column);
            for role in ["weights", "activations", "gradients"] {
                assert!((cell(role, "above default") - 1.0).abs() < 1e-12, "{model}, {role}, {format}");
            }
            let [gradients, weights, activations] =
                ["gradients", "weights", "activations"].map(|role| cell(role, "median"));
            assert!(gradients > weights && weights > activations, "{model}, {format}: {table:?}");
        }
    }
}

/// Far fewer pairs of format and bias are in use than there are tensors, and biases rarely change
/// but where they follow overflow flags from far.
#[test]
fn few_biases_are_in_use_at_a_time() {
    let table = &run("biases-in-use", &ExperimentOptions { length: Some(120), ..short() }).tables[0];
    for row in &table.rows {
        let [model, by] = [&row[0], &row[1]].map(|cell| cell.text().expect("words"));
        let cell = |column| number(table, &[model, by], column);
        assert!(cell("most") <= cell("tensors") && cell("fewest") >= 1.0, "{row:?}");
        if model == "transformer" {
            assert!(cell("most") <= 0.75 * cell("tensors"), "{row:?}");
        }
        assert!(cell("in the run") <= 64.0, "{row:?}");
    }
    let changes = |by| number(table, &["transformer", by], "changes");
    assert!(changes("amax of 16 steps") < changes("least error at every step") / 2.0, "{table:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused = |name: &str, options: &ExperimentOptions| {
        let found = name.parse::<&Experiment>().and_then(|experiment| experiment.run(options));
        found.expect_err("it is refused").to_string()
    };
    let unsigned = refused("gradient-formats", &with_formats(&["uhp"]));
    assert!(unsigned.contains("uhp") && unsigned.contains("gradients are negative"), "{unsigned}");
    let wide = refused("gradient-formats", &with_formats(&["binary32"]));
    assert!(wide.contains("at most 16 bits"), "{wide}");
    let fixed = ExperimentOptions { trials: None, ..with_formats(&["e4m3fn"]) };
    let fixed = refused("tensor-biases", &fixed);
    assert!(fixed.contains("whose bias is not given"), "{fixed}");
}

/// Findings do not depend on the number of threads.
#[test]
fn threads_change_nothing() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let options = ExperimentOptions { length: Some(6), ..with_formats(&["cfloat8_1_5_2"]) };
        pool.install(|| run("gradient-formats", &options))
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
    assert!(matches!(one.tables[1].rows[1][2], Cell::Measured(_)));
}

/// Thirteen fraction bits, or seven, change a run as little as another seed would; with three it
/// learns less.
#[test]
fn few_fraction_bits_are_enough_to_train() {
    let findings = run("accumulate-hardware", &ExperimentOptions { trials: Some(1), ..short() });
    let table = findings.tables.last().expect("tables");
    assert_eq!(table.title, "Training the convolutional net, 40 steps, 1 seeds from 0 on");
    let above = |accumulator| number(table, &[accumulator], "above f32");
    for accumulator in ["hopper", "hopper:promote=128", "fused:k=32,fraction=7,output=e8m13"] {
        assert!(above(accumulator).abs() < 0.02, "{table:?}");
    }
    assert!(above("fused:k=32,fraction=3,output=e8m13") > 0.06, "{table:?}");
    // The row of f32 is a run of the training crate alone.
    let architecture = Architecture::Cnn { height: 8, width: 8 };
    let config = preset("ocp-e4m3-e5m2").expect("a preset");
    let steps = STEPS as u64;
    let options = RunOptions { steps, warm_up: steps / 10, ..RunOptions::new(architecture, config) };
    let mut trainer = Trainer::new(options, Box::new(digits().expect("digits"))).expect("a run");
    while trainer.step().expect("a step").is_some() {}
    let (loss, _) = trainer.validate().expect("a loss");
    assert_eq!(number(table, &["f32"], "loss").to_bits(), loss.to_bits());
    // Other formats have sums, and no runs.
    let half = ExperimentOptions { formats: vec!["binary16".parse().expect("a format")], ..short() };
    assert_eq!(run("accumulate-hardware", &half).tables.len(), 3);
}

/// The paper's order of formats: fewer bits, less precision. MXINT8 on normal numbers against sums
/// of the test's own, and casts to more bits that cost nothing.
#[test]
fn direct_casts_lose_what_their_bits_do_not_hold() {
    let findings =
        run("direct-cast", &ExperimentOptions { length: Some(60), ..ExperimentOptions::default() });
    let [ratios, models] = &findings.tables[..] else { panic!("two tables") };
    let normal = |format: &str| number(ratios, &[format], "normal numbers");
    let order = ["mxint8", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4"].map(normal);
    assert!(order.is_sorted_by(|a, b| a > b), "{ratios:?}");
    assert!(normal("mxfp8-e4m3") > normal("mxfp8-e5m2") && normal("nvfp4") > normal("mxfp4"), "{ratios:?}");
    // 256 rows of 256 numbers in blocks of 32: a scale 2^⌊log2 amax⌋, integers of 1/64 of it up to
    // 127.
    let random = smallfloat_lab::experiments::Random::new(0, 0);
    #[expect(clippy::cast_possible_truncation, reason = "rounded to binary32")]
    let values: Vec<f64> = (0..65_536).map(|i| f64::from(random.normal(i) as f32)).collect();
    let (mut signal, mut error) = (0.0, 0.0);
    for block in values.chunks(32) {
        let largest = block.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let step = largest.log2().floor().exp2() / 64.0;
        for x in block {
            let q = (x / step).round_ties_even().clamp(-127.0, 127.0) * step;
            signal += x * x;
            error += (x - q) * (x - q);
        }
    }
    let expected = 10.0 * (signal / error).log10();
    assert!((normal("mxint8") - expected).abs() < 0.02, "{} {expected}", normal("mxint8"));
    for model in ["convolutional net", "transformer"] {
        let above =
            |cast: &str, format: &str| number(models, &[model, format], &format!("{cast}: above f32"));
        for (cast, most) in [("weights", 0.02), ("both", 0.04)] {
            assert!(above(cast, "mxint8").abs() < most / 2.0, "{models:?}");
            assert!(above(cast, "mxfp8-e4m3").abs() < most, "{models:?}");
            assert!(above(cast, "mxfp4").abs() > above(cast, "mxint8").abs(), "{models:?}");
        }
        let both = ["mxint8", "mxfp6-e2m3", "mxfp6-e3m2", "mxfp4"].map(|format| above("both", format));
        assert!(both.is_sorted_by(|a, b| a < b), "{models:?}");
        assert!(above("both", "mxfp4") > above("weights", "mxfp4"), "{models:?}");
    }
}
