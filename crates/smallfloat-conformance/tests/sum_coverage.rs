//! Coverage of sums of products, against arithmetic of its own: all operands of small sums in
//! integers.

use std::collections::BTreeSet;

use smallfloat_conformance::coverage::Coverage;
use smallfloat_conformance::vectors::{CoverageLevel, FixedUnit, VectorPlan};

fn unit(operation: &str) -> FixedUnit {
    operation.parse().expect("a unit")
}

type Bins = BTreeSet<Vec<String>>;

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// The bins of a cross that were reached, by their words.
fn reached(coverage: &Coverage, cross: &str) -> Bins {
    let cross = coverage.crosses().find(|found| found.name() == cross).expect("a cross of the unit");
    cross.reached().map(|bin| words(bin.words)).collect()
}

/// The values of E2M1, in halves.
fn halves(code: u64) -> i64 {
    let magnitude = [0, 1, 2, 3, 4, 6, 8, 12][usize::try_from(code & 7).expect("eight codes")];
    if code & 8 == 0 { magnitude } else { -magnitude }
}

fn class(code: u64) -> &'static str {
    match code & 7 {
        0 => "zero",
        1 => "subnormal",
        7 => "largest",
        _ => "normal",
    }
}

fn log2(x: i64) -> i32 {
    x.unsigned_abs().ilog2().cast_signed()
}

fn sign(is_negative: bool) -> &'static str {
    if is_negative { "negative" } else { "positive" }
}

/// The words for two products and their signs; a zero's sign is that of its operands.
fn terms([p, q]: [i64; 2]) -> String {
    match (p.signum(), q.signum()) {
        (0, 0) => "no product".into(),
        (0, s) | (s, 0) => format!("one {} product", sign(s < 0)),
        (s, t) if s == t => format!("all products {}", sign(s < 0)),
        _ => "all products of both signs".into(),
    }
}

/// All bins of an exact sum of two products of E2M1.
#[test]
fn bins_of_an_exact_sum_are_those_that_all_operands_have() {
    let mut coverage = Coverage::new(unit("Dot<2, e2m1fn, e2m1fn, exact>")).expect("a unit");
    assert!(coverage.is_exhaustive());
    let [mut lanes, mut single, mut alignment, mut cancellation, mut zeros, mut of_terms] =
        [const { Bins::new() }; 6];
    for line in 0..1_u64 << 16 {
        let [x, y, z, w] = [12, 8, 4, 0].map(|shift| line >> shift & 15);
        coverage.count(&[x, z, y, w]).expect("four operands");
        // The operands are x0, x1, y0, y1; products are in quarters.
        let pairs = [(x, y), (z, w)];
        let products = pairs.map(|(x, y)| halves(x) * halves(y));
        let sum = products[0] + products[1];
        for (lane, (x, y)) in pairs.iter().enumerate() {
            lanes.insert(vec![
                format!("lane {lane}"),
                format!("x {}", class(*x)),
                format!("y {}", class(*y)),
            ]);
        }
        of_terms.insert(vec![terms(products)]);
        let lone = [0, 1].into_iter().find(|lane| products[*lane] != 0 && products[1 - lane] == 0);
        if let Some(lane) = lone {
            let classes = [class(pairs[lane].0), class(pairs[lane].1)];
            let kind = ["subnormal", "largest"].into_iter().find(|kind| classes.contains(kind));
            let kind = kind.map_or("normal operands".into(), |kind| format!("a {kind} operand"));
            let sign = format!("{} product", sign(products[lane] < 0));
            single.insert(vec![format!("lane {lane} alone"), kind, sign]);
        }
        let largest = products.iter().filter(|p| **p != 0).map(|p| log2(*p)).max();
        if products.iter().all(|p| *p != 0) {
            // 1/4 and 36 are seven binades apart.
            let apart = (log2(products[0]) - log2(products[1])).abs();
            let word = if apart == 7 { "alignment ≥ 7".into() } else { format!("alignment {apart}") };
            alignment.insert(vec![word]);
        }
        // Only zeros that are all −0 give −0.
        let negative = |(x, y): (u64, u64)| (x ^ y) & 8 != 0;
        let is_negative = sum < 0 || products == [0, 0] && pairs.into_iter().all(negative);
        if let Some(largest) = largest {
            let depth = match sum {
                0 => "terms that cancel to zero".into(),
                _ => format!("cancellation {}", largest - log2(sum)),
            };
            cancellation.insert(vec![depth, sign(is_negative).into()]);
        }
        if sum == 0 {
            let cause = match products {
                [0, 0] if is_negative => "negative zeros alone",
                [0, 0] if !pairs.into_iter().any(negative) => "positive zeros alone",
                [0, 0] => "zeros of both signs",
                _ => "terms that cancel",
            };
            zeros.insert(words([cause, sign(is_negative)]));
        }
    }
    for (cross, expected) in [
        ("lanes", &lanes),
        ("single products", &single),
        ("alignment", &alignment),
        ("cancellation", &cancellation),
        ("zeros", &zeros),
        ("terms", &of_terms),
    ] {
        assert_eq!(&reached(&coverage, cross), expected, "{cross}");
    }
    assert_eq!((lanes.len(), single.len(), alignment.len(), zeros.len()), (2 * 16, 2 * 3 * 2, 8, 4));
    // All operands were counted, and reach all.
    let (hit, reachable) = coverage.total();
    assert_eq!(hit, reachable);
}

/// One vector of c + x0·y0 + x1·y1, aligned with three fraction bits, as its bins of four crosses:
/// alignment, cancellation, accumulator and zeros. Everything is in units of 2^−20.
fn aligned(pairs: [(u64, u64); 2], c: i64) -> [Option<Vec<String>>; 4] {
    const ONE: i64 = 1 << 20;
    // Operands below 1 are aligned as 1 is, zeros far below all others.
    let exponent = |code: u64| if halves(code) == 0 { -126 } else { log2(halves(code)).max(1) - 1 };
    let products = pairs.map(|(x, y)| (halves(x) * halves(y) * ONE / 4, exponent(x) + exponent(y)));
    let of_c = if c == 0 { -126 } else { log2(c) - 20 };
    let all: Vec<(i64, i32)> = products.into_iter().chain([(c, of_c)]).collect();
    let low = all.iter().map(|(_, exponent)| *exponent).max().expect("terms") - 3;
    let step = 1_i64 << (low + 20).max(0);
    let cut = |(term, _): &(i64, i32)| term / step * step;
    let sum: i64 = all.iter().map(cut).sum();
    let loss = |term: &(i64, i32)| match cut(term) {
        _ if term.0 % step == 0 => 0,
        0 => 2,
        _ => 1,
    };
    let numbers: Vec<(i64, i32)> = all.iter().filter(|(term, _)| *term != 0).copied().collect();
    let largest = |terms: &[(i64, i32)]| {
        terms.iter().filter(|(term, _)| *term != 0).map(|(_, exponent)| *exponent).max()
    };
    let (of_products, of_c) = (largest(&products), largest(&[(c, of_c)]));
    let lost = all.iter().map(loss).max().expect("terms");
    let alignment = (numbers.len() > 1).then(|| {
        let top = of_products.max(of_c).expect("two terms");
        let apart = top - numbers.iter().map(|(_, exponent)| *exponent).min().expect("two terms");
        // Beyond three bits, one above and one more nothing changes.
        let apart = if apart >= 5 { "alignment ≥ 5".into() } else { format!("alignment {apart}") };
        let which = match of_c.cmp(&of_products) {
            std::cmp::Ordering::Less => "a product largest",
            std::cmp::Ordering::Equal => "accumulator and product largest",
            std::cmp::Ordering::Greater => "accumulator largest",
        };
        vec![apart, which.into(), ["nothing lost", "bits lost", "a term lost"][lost].into()]
    });
    let top = numbers.iter().map(|(term, _)| log2(*term)).max();
    let depth = top.map(|top| match sum {
        0 => "terms that cancel to zero".to_owned(),
        _ => format!("cancellation {}", top - log2(sum)),
    });
    let cancellation = depth.map(|depth| vec![depth, sign(sum < 0).into()]);
    let position = match (of_c, of_products) {
        (None, _) => "c zero",
        (_, None) => "c alone",
        (Some(c), Some(products)) if c > products => "c above the products",
        (Some(c), Some(products)) if c == products => "c as large as a product",
        _ => ["c below, whole", "c below, bits lost", "c below, lost"][loss(&(c, 0))],
    };
    let c_sign = ["c negative", "c zero", "c positive"][usize::try_from(c.signum() + 1).expect("a sign")];
    let negative = |(x, y): (u64, u64)| (x ^ y) & 8 != 0;
    let zeros = (sum == 0).then(|| {
        let exact: i64 = all.iter().map(|(term, _)| term).sum();
        let cause = match numbers.len() {
            // c is +0.
            0 if pairs.into_iter().any(negative) => "zeros of both signs",
            0 => "positive zeros alone",
            _ if exact == 0 => "terms that cancel",
            _ => "terms of which nothing is left",
        };
        words([cause, "positive"])
    });
    [alignment, cancellation, Some(words([position, c_sign])), zeros]
}

/// The bins of a matrix unit with few bits are those that integers say.
#[test]
fn bins_of_a_matrix_unit_are_those_of_its_integers() {
    let name = "Dot<2, e2m1fn, e2m1fn, fused:k=2,fraction=3,output=f16>";
    let mut coverage = Coverage::new(unit(name)).expect("a unit");
    let mut expected = [const { Bins::new() }; 4];
    // c in binary16: its code, and its value in units of 2^−20.
    let cs: [(u64, i64); 9] = [
        (0, 0),
        (0x3c00, 1 << 20),                  // 1
        (0xbc00, -(1 << 20)),               // −1
        (0x3c80, (1 << 20) + (1 << 17)),    // 1.125
        (0xbc40, -((1 << 20) + (1 << 16))), // −1.0625
        (0x3400, 1 << 18),                  // 0.25
        (0x2c00, 1 << 16),                  // 2^−4
        (0x5480, 72 << 20),                 // 72
        (0xd080, -(36 << 20)),              // −36
    ];
    for line in 0..1_u64 << 16 {
        let [x, y, z, w] = [12, 8, 4, 0].map(|shift| line >> shift & 15);
        if w & 7 > 3 && z & 7 > 4 {
            continue;
        }
        let (code, c) = cs[usize::try_from(line % 9).expect("few")];
        coverage.count(&[x, z, y, w, code]).expect("five operands");
        for (bins, bin) in expected.iter_mut().zip(aligned([(x, y), (z, w)], c)) {
            bins.extend(bin);
        }
    }
    for (cross, expected) in ["alignment", "cancellation", "accumulator", "zeros"].into_iter().zip(&expected)
    {
        assert_eq!(&reached(&coverage, cross), expected, "{cross}");
    }
    // Every place of c, terms that are lost, and growth by two bits are among them.
    assert_eq!(expected[2].len(), 1 + 6 * 2);
    assert!(expected[0].iter().any(|bin| bin[2] == "a term lost"));
    assert!(expected[1].iter().any(|bin| bin[0] == "cancellation -1"));
}

/// A file in which one lane has no product misses what that lane alone would reach.
#[test]
fn a_poor_file_misses_its_lane() {
    let unit = unit("Dot<4, e4m3fn, e4m3fn, hopper>");
    let mut coverage = Coverage::new(unit.clone()).expect("a unit");
    let plan = VectorPlan::new(unit, Some(CoverageLevel::One), 0, None).expect("a plan");
    let mut line = [0; 9];
    for number in 0..plan.lines() {
        plan.fill(number..number + 1, &mut line);
        // x0 to x3, y0 to y3, c: y2 is zero in all lines.
        line[6] = 0;
        coverage.count(&line).expect("nine operands");
    }
    let missing = |cross: &str| -> Bins {
        let cross = coverage.crosses().find(|found| found.name() == cross).expect("a cross");
        cross.missing().map(|bin| words(bin.words)).collect()
    };
    // Products of normal, subnormal and largest operands of both signs; NaN has none, and a NaN x
    // beside a zero y is one.
    let kinds = ["normal operands", "a subnormal operand", "a largest operand"];
    let alone = |kind: &str, sign: &str| words(["lane 2 alone", kind, &format!("{sign} product")]);
    let expected: Bins =
        kinds.iter().flat_map(|kind| ["positive", "negative"].map(|sign| alone(kind, sign))).collect();
    assert_eq!(missing("single products"), expected);
    let classes = ["zero", "subnormal", "normal", "largest", "NaN"];
    let lanes = classes.iter().flat_map(|x| classes[1..].iter().map(move |y| (x, y)));
    let lanes: Bins = lanes.map(|(x, y)| words(["lane 2", &format!("x {x}"), &format!("y {y}")])).collect();
    assert_eq!(missing("lanes"), lanes);
    let all = ["all products positive", "all products negative", "all products of both signs"];
    let signs = ["c zero", "c positive", "c negative"];
    let terms: Bins = all.iter().flat_map(|products| signs.map(|c| words([*products, c]))).collect();
    assert_eq!(missing("terms"), terms);
    let mut closed = coverage.clone();
    for operands in coverage.closing() {
        closed.count(&operands).expect("nine operands");
    }
    let (hit, reachable) = closed.total();
    assert_eq!(hit, reachable);
}

/// No vector reaches what is said to be unreachable.
#[test]
fn nothing_reaches_what_is_unreachable() {
    for name in [
        "Dot<3, e4m3fn, e5m2, exact>",
        "Dot<3, e5m2, e5m2, bfloat16>",
        "Dot<5, e5m2, e4m3fn, fused:k=2,fraction=9,output=f16>",
        "Dot<3, bfloat16, bfloat16, fused:k=2,fraction=30,output=e8m13>",
        "Dot<4, bfloat16, bfloat16, cdna2>",
        "Dot<4, bfloat16, bfloat16, cdna3>",
        "Dot<3, binary32, binary32, cdna3>",
        "Dot<34, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>",
    ] {
        let unit = unit(name);
        let mut coverage = Coverage::new(unit.clone()).expect("a unit");
        let unreachable = |coverage: &Coverage| -> Vec<(String, usize)> {
            coverage.crosses().map(|cross| (cross.name().to_owned(), cross.unreachable())).collect()
        };
        let before = unreachable(&coverage);
        assert!(before.iter().any(|(_, bins)| *bins > 0), "{name}");
        let plan = VectorPlan::new(unit.clone(), Some(CoverageLevel::One), 7, Some(4000)).expect("a plan");
        let mut line = vec![0; unit.operands().len()];
        for number in 0..plan.lines() {
            plan.fill(number..number + 1, &mut line);
            coverage.count(&line).expect("operands");
        }
        assert_eq!(unreachable(&coverage), before, "{name}");
    }
}
