//! κ of small operations, counted by hand, and of sweeps against a count by sorted values.

use smallfloat::Format;
use smallfloat::p3109::{Answer, Specialization};
use smallfloat_conformance::Error;
use smallfloat_conformance::implementation::{Implementation, ImplementationSpec, Variant};
use smallfloat_conformance::kappa::{
    Cover, Defined, Gauge, GaugeOptions, Interval, Kappa, MeasuredOperation, Vectors, measure, sweep,
};
use smallfloat_conformance::vectors::CoverageLevel;

fn operation(text: &str) -> Specialization {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn measured(text: &str, recipe: &str) -> Gauge {
    let operation = operation(text);
    let recipe: ImplementationSpec = recipe.parse().unwrap_or_else(|error| panic!("{recipe}: {error}"));
    let variant = Implementation::new(&recipe, &operation).unwrap_or_else(|error| panic!("{text}: {error}"));
    sweep(&operation, |x| variant.call(x), GaugeOptions::default(), &|_| ())
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Binary3p2sf has 0, ±1/2, ±1, ±3/2 as codes 0, 1, 2, 3, 5, 6, 7, and NaN as 4.
#[test]
fn by_hand_on_eight_codes() {
    let negate = operation("Negate<Binary3p2sf, Binary3p2sf>");
    let exact = |x: &[u64]| match x[0] {
        0 | 4 => x[0],
        code => code ^ 4,
    };
    let kappa = |given: &(dyn Fn(u64) -> u64 + Sync)| {
        let gauge = sweep(&negate, |x| given(x[0]), GaugeOptions::default(), &|_| ()).expect("8 operands");
        let total = gauge.total();
        (total.kappa(), total.differing(), total.worst().map(|case| case.operands[0]))
    };
    assert_eq!(kappa(&|x| exact(&[x])), (Kappa::Steps(0), 0, None));
    // No negation at all: 3/2 instead of −3/2 is six steps off, first at code 3.
    assert_eq!(kappa(&|x| x), (Kappa::Steps(6), 6, Some(3)));
    // Always 0: three steps off for ±3/2, but NaN must stay NaN.
    assert_eq!(kappa(&|x| if x == 4 { 4 } else { 0 }), (Kappa::Steps(3), 6, Some(3)));
    assert_eq!(kappa(&|_| 0), (Kappa::Nan, 7, Some(4)));
}

/// 1/x for Binary4p2se, whose values are 0, 1/4, 1/2, 3/4, 1, 3/2, 2, Inf (codes 0 to 7) and their
/// negatives: 1/0 is NaN, 1/(1/4) = 4 overflows. Whoever saturates there gives 2 instead of Inf.
#[test]
fn infinities_must_match() {
    let text = "Recip<Binary4p2se, Binary4p2se, (NearestTiesToEven, SatNone)>";
    let operation = operation(text);
    let clamped = |x: &[u64]| match x[0] {
        0x1 => 0x6,
        0x9 => 0xe,
        _ => match operation.call(x) {
            Ok(Answer::Code(result)) => result.value,
            other => panic!("{other:?}"),
        },
    };
    let gauge = sweep(&operation, clamped, GaugeOptions::default(), &|_| ()).expect("16 operands");
    let total = gauge.total();
    assert_eq!((total.kappa(), total.infinity_mismatches(), total.largest_steps()), (Kappa::Infinite, 2, 0));
    let worst = total.worst().expect("a difference");
    assert_eq!((&*worst.operands, &*worst.defined, &*worst.given), (&[1][..], &[7][..], &[6][..]));
    // IEEE arithmetic has 1/0 = Inf: one NaN less.
    let total_of = measured(text, "f32-libm");
    assert_eq!((total_of.total().kappa(), total_of.total().nan_mismatches()), (Kappa::Nan, 1));
}

/// The draft's example: subnormal results of Binary8p4se have codes 1 to 7, the smallest normal is
/// 8.
#[test]
fn flushing_subnormal_results_of_binary8p4se() {
    let convert = "Convert<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>";
    assert_eq!(measured(convert, "flush-nearest").total().kappa(), Kappa::Steps(4));
    assert_eq!(measured(convert, "flush-zero").total().kappa(), Kappa::Steps(7));
    assert_eq!(measured(convert, "flush-normal").total().kappa(), Kappa::Steps(7));
    // Half of the subnormal results of CFloat8 with Tesla's denormals are nearer to 0 than to the
    // smallest normal value by more than half: 7/16 of it is the largest.
    let tesla = "Convert<bfloat16, cfloat8_1_4_3:bias=7>";
    assert_eq!(measured(tesla, "flush-nearest").total().kappa(), Kappa::Steps(7));
}

/// Rounding twice is one step off where the first rounding makes a tie. Of 2^16 operands binary16's
/// 11 bits → 9 → 4 do so.
#[test]
fn rounding_twice() {
    let convert = "Convert<binary16, Binary8p4se, (NearestTiesToEven, SatFinite)>";
    assert_eq!(measured(convert, "then=bfloat16").total().kappa(), Kappa::Steps(1));
    assert_eq!(measured(convert, "then=binary32").total().kappa(), Kappa::Steps(0));
    // Sums of 8-bit numbers are not all exact in binary16, but in binary32 they are.
    let add = "Add<e5m2, e5m2, e5m2>";
    assert_eq!(measured(add, "then=e5m2").total().kappa(), Kappa::Steps(0));
    assert_eq!(measured(add, "f64-libm").total().differing(), 0);
    assert_eq!(measured("Sqrt<bfloat16, e4m3fn>", "f64-libm").total().differing(), 0);
}

/// A table of 64 entries is right to about 14 bits, one of 2 entries to about 5: the second misses
/// results of 4 bits.
#[test]
fn coarser_tables_are_worse() {
    for name in ["Recip", "Sqrt"] {
        let text = format!("{name}<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>");
        let differing = ["table,entries=2", "table,entries=8", "table,entries=256"].map(|recipe| {
            let gauge = measured(&text, recipe);
            assert!(gauge.total().kappa() <= Kappa::Steps(1), "{text} {recipe}: {}", gauge.total().kappa());
            gauge.total().differing()
        });
        assert!(differing[0] > differing[1] && differing[1] > differing[2], "{text}: {differing:?}");
    }
}

#[test]
fn runs_have_the_results_of_single_calls() {
    let texts = [
        "Convert<bfloat16, cfloat8_1_5_2:bias=20, (TowardZero, SatFinite)>",
        "Convert<binary16, e8m0fnu>",
        "Convert<uhp, e2m1fn>",
        "Negate<binary16, Binary8p3ue, (ToOdd, SatNone)>",
        "Abs<bfloat16, e5m2>",
        "Sqrt<bfloat16, Binary8p3sf, (TowardPositive, SatNone)>",
        "Recip<bfloat16, Binary8p4se, (NearestTiesToEven, SatPropagate)>",
        "Recip<binary16, e4m3fn>",
        "Recip<shp:bias=31, shp:bias=31>",
        "Recip<bfloat16, cfloat8_1_4_3:bias=7, clamp=operands>",
        "Exp<bfloat16, Binary8p3se, (NearestTiesToEven, SatPropagate)>",
        "Exp<binary16, cfloat8_1_4_3:bias=60>",
        "Log<bfloat16, Binary8p4ue, (TowardNegative, SatNone)>",
        "Log<bfloat16, e8m0fnu>",
        "LogOnePlus<bfloat16, Binary4p2sf>",
        "LogOnePlus<bfloat16, e2m1fn>",
        "Log2<bfloat16, Binary3p2sf>",
        "Convert<bfloat16, e8m0fnu>",
        "Log<shp:bias=0, e4m3fn>",
        "ArcCosh<uhp, cfloat8_1_4_3:bias=63>",
        "ArcTanh<shp:bias=40, Binary6p2uf, (NearestTiesToEven, SatNone)>",
        "Sinh<binary16, e8m0fnu>",
        "ArcSin<binary16, e8m0fnu>",
        "ArcCos<bfloat16, Binary4p3ue, (TowardZero, SatFinite)>",
        "ArcCosh<binary16, e4m3fn>",
        "Tanh<bfloat16, e2m1fn>",
        "ArcTanh<bfloat16, e4m3fnuz>",
        "Cosh<binary16, e5m2>",
        "RSqrt<bfloat16, Binary8p4se, (ToOdd, SatFinite)>",
        "Softplus<bfloat16, Binary8p1uf>",
    ];
    for text in texts {
        let operation = operation(text);
        let (runs, single) = (Defined::new(&operation).expect(text), Defined::one_by_one(&operation));
        assert!(runs.runs().is_some() && single.runs().is_none(), "{text}");
        for code in 0..=operation.operands()[0].max_code() {
            assert_eq!(runs.code(&[code]), single.code(&[code]), "{text} at {code:#x}");
        }
    }
    // Two operands; a function that oscillates; a result that is not small.
    for text in ["Add<e4m3fn, e4m3fn, e4m3fn>", "Sin<bfloat16, e5m2>", "Exp<bfloat16, binary32>"] {
        assert!(Defined::new(operation(text)).expect(text).runs().is_none(), "{text}");
    }
}

#[test]
fn vectors_line_by_line() -> Result<(), Error> {
    let operation = operation("Add<Binary4p2sf, Binary4p2sf, Binary4p2sf>");
    let read = |text: &str| Vectors::read(&operation, GaugeOptions::default(), text.as_bytes());
    // 1 + 1 = 2 (codes 4, 4 → 6); 3 + 3 saturates at the largest, 3, or is NaN: the default is
    // SatNone.
    let vectors = read("# one\n4 4 6\n\n0x4 0X4 7 # one step off\n7 7 8\n")?;
    let total = vectors.gauge().total();
    assert_eq!((total.kappa(), total.compared(), total.differing()), (Kappa::Steps(1), 3, 1));
    let coverage = vectors.coverage().expect("few operands");
    assert_eq!((coverage.seen, coverage.possible), (2, 256));
    // The byte of flags that the testfloat layout has.
    assert_eq!(read("# flags: idou\n4 4 6 00\n4 4 6\n")?.gauge().total().compared(), 2);
    let wrong = |text: &str| read(text).expect_err(text).to_string();
    assert!(
        wrong("# x\n4 4\n").contains("line 2: `4 4`: 2 fields: write 2 operands' codes and the result's")
    );
    assert!(wrong("4 4 6 00\n").contains("says `flags`"));
    assert!(wrong("4 4 zz\n").contains("`zz` is not hexadecimal"));
    assert!(wrong("4 14 6\n").contains("0xf"));
    assert!(wrong("# flags\n4 4 6 100\n").contains("do not fit in a byte"));
    Ok(())
}

#[test]
fn what_can_not_be_measured() {
    let refuse = |text: &str| {
        sweep(operation(text), |_| 0, GaugeOptions::default(), &|_| ()).expect_err(text).to_string()
    };
    assert!(refuse("CompareLess<e5m2, e5m2>").contains("the result is one number"));
    assert!(refuse("Convert<binary32, e5m2, (StochasticA<8>)>").contains("not stochastic"));
    assert!(refuse("Add<binary32, e5m2, e5m2>").contains("2^40"));
    let e5m2: Format = "e5m2".parse().expect("a format");
    let cover = Cover::new(1, vec![Interval::parse("0..1", &e5m2).expect("an interval")]).expect("disjoint");
    let options = GaugeOptions { cover, runs: 0 };
    let error = Gauge::for_operation(operation("Sqrt<e5m2, e5m2>"), options).expect_err("one operand");
    assert!(error.to_string().contains("operand 2: Sqrt has operands 1..=1"));
    let sqrt = operation("Sqrt<e5m2, e5m2>");
    let taylor: ImplementationSpec = "taylor".parse().expect("a recipe");
    assert!(
        Implementation::new(&taylor, &sqrt)
            .expect_err("no")
            .to_string()
            .contains("computes Exp, Exp2, not Sqrt")
    );
    let narrow: ImplementationSpec = "table,in=e4m3fn".parse().expect("a recipe");
    assert!(Implementation::new(&narrow, &sqrt).expect_err("no").to_string().contains("e4m3fn"));
}

/// The findings do not depend on how calls are shared out.
#[test]
fn one_thread_or_many() {
    let operation = operation("Sqrt<bfloat16, Binary8p3se, (NearestTiesToEven, SatNone)>");
    let variant = Implementation::new(&"table,entries=2,in=bfloat16".parse().expect("a recipe"), &operation)
        .expect("it fits");
    let options = || GaugeOptions { cover: Cover::per_binade(0, &operation.operands()[0]), runs: 100 };
    let run = || sweep(&operation, |x| variant.call(x), options(), &|_| ()).expect("a sweep");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(run);
    let many = rayon::ThreadPoolBuilder::new().num_threads(7).build().expect("threads").install(run);
    assert_eq!(one, many);
    assert!(one.total().differing() > 0);
    let parts: u64 = one.parts().map(|(_, part)| part.compared()).sum();
    assert_eq!(parts + one.elsewhere().compared(), one.total().compared());
}

/// NextGreaterThan of Binary3p2sf (values as above) given as the operand itself: one step, at each
/// of the six values that have a next one. ScaledFMA's six operands, three bits each, are all
/// tried.
#[test]
fn neighbours_and_scaled_operations_are_swept() {
    let next = operation("NextGreaterThan<Binary3p2sf>");
    let gauge = sweep(&next, |x| x[0], GaugeOptions::default(), &|_| ()).expect("8 operands");
    let total = gauge.total();
    assert_eq!((total.compared(), total.nan_mismatches(), total.largest_steps()), (8, 1, 1));
    let pair = "(Binary3p1uf, Binary3p2sf)";
    let fma =
        operation(&format!("ScaledFMA<{pair}, {pair}, {pair}, Binary3p2sf, (NearestTiesToEven, SatFinite)>"));
    let exact = |x: &[u64]| match fma.call(x) {
        Ok(Answer::Code(result)) => result.value,
        other => panic!("{other:?}"),
    };
    let gauge = sweep(&fma, exact, GaugeOptions::default(), &|_| ()).expect("2^18 operands");
    assert_eq!((gauge.total().compared(), gauge.total().kappa()), (1 << 18, Kappa::Steps(0)));
}

/// The values of E2M1 in halves, by magnitude.
const E2M1_HALVES: [i64; 8] = [0, 1, 2, 3, 4, 6, 8, 12];

fn rank_of_binary32(bits: u64) -> i64 {
    let magnitude = (bits & 0x7fff_ffff).cast_signed();
    if bits >> 31 == 1 { -magnitude } else { magnitude }
}

/// x0·y0 + x1·y1 of E2M1 values, exactly and in a unit that cuts both products to two fraction bits
/// below the larger one: all 2^16 operands in integers, and steps from the bits of binary32.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers of few bits, and one rounding that is meant"
)]
fn sums_of_two_products() -> Result<(), Error> {
    let value = |code: u64| {
        let halves = E2M1_HALVES[code as usize & 7];
        if code & 8 == 0 { halves } else { -halves }
    };
    // The exponent of a value: that of its leading bit, but at least the smallest normal's, 0.
    let exponent = |code: u64| (value(code).unsigned_abs() / 2).checked_ilog2().unwrap_or(0).cast_signed();
    let bits = |quarters: i64| u64::from((quarters as f32 / 4.0).to_bits());
    let (mut worst, mut differing) = (0, 0);
    for operands in 0..1_u64 << 16 {
        let [x0, x1, y0, y1] = [12, 8, 4, 0].map(|shift| operands >> shift & 15);
        let products = [(x0, y0), (x1, y1)].map(|(x, y)| (value(x) * value(y), exponent(x) + exponent(y)));
        let largest = products.iter().filter(|(product, _)| *product != 0).map(|(_, e)| *e).max();
        // In quarters, the last bit that is kept has the weight 2^(e - 2) · 4 = 2^e.
        let cut =
            |(product, _): (i64, i32)| product / (1 << largest.unwrap_or(0)) * (1 << largest.unwrap_or(0));
        let exact: i64 = products.iter().map(|(product, _)| product).sum();
        let given: i64 = products.into_iter().map(cut).sum();
        let steps = rank_of_binary32(bits(exact)).abs_diff(rank_of_binary32(bits(given)));
        worst = worst.max(steps);
        differing += u64::from(steps > 0);
    }
    let sum: MeasuredOperation = "Dot<2, e2m1fn, e2m1fn, exact>".parse()?;
    let unit = Variant::new("fused:k=2,fraction=2", &sum)?;
    let gauge = sweep(&sum, |codes| unit.call(codes), GaugeOptions::default(), &|_| ())?;
    let total = gauge.total();
    assert_eq!(
        (total.kappa(), total.differing(), total.compared()),
        (Kappa::Steps(worst), differing, 1 << 16)
    );
    assert!(worst > 0 && sum.plan(None, 0, None)?.is_none());
    Ok(())
}

/// c + x·y·s·t of a matrix unit, added exactly and rounded once, as binary64 holds the sum.
#[test]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers of few bits, and one rounding that is meant"
)]
fn exact_sums_have_accumulators_and_scales() -> Result<(), Error> {
    let unit: MeasuredOperation = "Dot<2, e4m3fn, e2m1fn, blackwell, e8m0fnu, 32>".parse()?;
    let exact = Variant::new("exact", &unit)?;
    let mut words = 1_u64;
    for _ in 0..20_000 {
        words = words.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let draw = |shift: u32, bits: u32| words >> shift & ((1 << bits) - 1);
        // Positive codes of E4M3 but NaN; scales of 2^-2 to 2^5; 1 ≤ c < 2.
        let (x, y) = ([draw(60, 4) * 8 % 0x78 + 1, draw(57, 3)], [draw(53, 3), draw(50, 3)]);
        let (s, t) = (125 + draw(47, 3), 125 + draw(44, 3));
        let c = 0x3f80_0000 | draw(20, 23);
        let e4m3 = |code: u64| match (code >> 3, code & 7) {
            (0, m) => m as f64 / 512.0,
            (e, m) => (8 + m) as f64 * f64::exp2(e as f64 - 10.0),
        };
        let products: f64 = (0..2).map(|i| e4m3(x[i]) * E2M1_HALVES[y[i] as usize] as f64 / 2.0).sum();
        let sum = f64::from(f32::from_bits(c as u32)) + products * f64::exp2((s + t) as f64 - 254.0);
        let given = exact.call(&[x[0], x[1], y[0], y[1], s, t, c]);
        assert_eq!(given, u64::from((sum as f32).to_bits()), "{x:?} {y:?} {s} {t} {c:#x}");
    }
    Ok(())
}

/// Results of a matrix unit, line by line: each is the model's, but one that is three steps off.
#[test]
fn vectors_of_a_matrix_unit() -> Result<(), Error> {
    let sum: MeasuredOperation = "Dot<2, e4m3fn, e4m3fn, hopper>".parse()?;
    // 1·1 + 2^-9·2^-6 + 0 is cut to 13 fraction bits: 1; with c = 1 two ones are 2.
    let text =
        "38 01 38 08 00000000 3f800000\n38 00 38 00 3f800000 40000000\n38 00 38 38 00000000 3f800003\n";
    let vectors = Vectors::read(&sum, GaugeOptions::default(), text.as_bytes())?;
    let total = vectors.gauge().total();
    assert_eq!((total.kappa(), total.differing(), total.compared()), (Kappa::Steps(3), 1, 3));
    let problem = Vectors::read(&sum, GaugeOptions::default(), "38 01 38 08 3f800000\n".as_bytes());
    assert!(problem.is_err_and(|error| error.to_string().contains("write 5 operands' codes")));
    Ok(())
}

/// Accumulators that cannot stand for each other, lists of values, and plans.
#[test]
fn what_sums_refuse() -> Result<(), Error> {
    let sum: MeasuredOperation = "Dot<32, e4m3fn, e4m3fn, hopper>".parse()?;
    assert!(matches!(Variant::new("f32", &sum), Err(Error::NoBeginning { .. })));
    assert!(matches!(sum.plan(Some(CoverageLevel::Exhaustive), 0, None), Err(Error::TooManyOperands { .. })));
    let plan = sum.plan(None, 3, Some(50))?.expect("too many operands to try all");
    let unit = Variant::new("exact", &sum)?;
    let gauge = measure(&sum, Some(&plan), |codes| unit.call(codes), GaugeOptions::default(), &|_| ())?;
    assert_eq!(gauge.total().compared(), plan.lines());
    let other: MeasuredOperation = "Dot<2, e4m3fn, e4m3fn, hopper>".parse()?;
    let refused = measure(&other, Some(&plan), |_| 0, GaugeOptions::default(), &|_| ());
    assert!(matches!(refused, Err(Error::Count { given: 65, expected: 5, .. })));
    let list: MeasuredOperation = "Convert<bfloat16, nf4>".parse()?;
    let refused = sweep(&list, |_| 0, GaugeOptions::default(), &|_| ());
    assert!(matches!(refused, Err(Error::ListSteps { .. })));
    Ok(())
}
