//! Sums of any order, and the spelling of calls.

use std::collections::BTreeSet;

use smallfloat::ops::{Operation, Semantics, Sum, dot};
use smallfloat::p3109::{Answer, Function, Specialization};
use smallfloat::{Exact, Format, RandomBits, Rounding, Saturation, project};
use smallfloat_oracle::{self as oracle, Table};
use smallfloat_proof::{Scramble, format, oracle_format, oracle_policy};

// ---- Sums ----

/// All orders of the terms, with the rounded sum of big integers.
#[test]
fn sums_do_not_depend_on_order() {
    let formats: Vec<(Format, Table)> = ["binary32", "binary8p4se", "binary16p1se", "e5m2", "uhp", "e8m0fnu"]
        .into_iter()
        .map(|name| (format(name), Table::new(&oracle_format(&format(name)))))
        .collect();
    let mut random = Scramble(0x5055);
    let mut compared = 0;
    for round in 0..24 {
        let terms: Vec<(bool, u128, i32)> = (0..6)
            .map(|i| {
                let wild = [0, 30_000, -30_000, 29_990, -10, 100][i % 6];
                let exponent = if round % 3 == 0 { wild } else { wild / 300 };
                let exponent = exponent + i32::try_from(random.below(20)).unwrap();
                let significand = u128::from(random.bits()) * u128::from(random.bits() >> random.below(60));
                (random.below(2) == 1, significand, exponent)
            })
            .collect();
        // Half of the lists cancel but for the smallest term.
        let mut terms = terms;
        if round % 2 == 0 {
            terms[3] = (!terms[1].0, terms[1].1, terms[1].2);
            terms[0] = (!terms[5].0, terms[5].1, terms[5].2);
        }
        let total = terms.iter().fold(oracle::Dyadic::zero(), |sum, &(negative, s, e)| {
            let term = oracle::Dyadic::new(s, e.into());
            &sum + &(if negative { -&term } else { term })
        });
        let exact = oracle::Exact::from_dyadic(&total);
        let mut orders: Vec<Vec<usize>> = Vec::new();
        permutations(&mut (0..6).collect(), 0, &mut orders);
        assert_eq!(orders.len(), 720);
        let mut seen = BTreeSet::new();
        for order in &orders {
            let mut sum = Sum::new();
            for &i in order {
                let (negative, significand, exponent) = terms[i];
                sum.add_exact(Exact::finite(negative, significand, exponent));
            }
            seen.insert(format!("{:?}", sum.exact()));
            compared += 1;
        }
        assert_eq!(seen.len(), 1, "the order shows: {seen:?}");
        let mut sum = Sum::new();
        for &(negative, significand, exponent) in &terms {
            sum.add_exact(Exact::finite(negative, significand, exponent));
        }
        for (to, table) in &formats {
            for &rounding in Rounding::DETERMINISTIC {
                let projection = to.default_projection().with_rounding(rounding);
                let expected = table.round(&exact, &oracle_policy(&projection));
                let got = project(sum.exact(), to, &projection);
                let wanted = (expected.0, smallfloat_proof::core_flags(expected.1));
                assert_eq!((got.value, got.flags), wanted, "{to} {rounding:?} {terms:?}");
            }
        }
    }
    println!("sums: {compared} orders");
}

fn permutations(items: &mut Vec<usize>, at: usize, found: &mut Vec<Vec<usize>>) {
    if at == items.len() {
        found.push(items.clone());
        return;
    }
    for i in at..items.len() {
        items.swap(at, i);
        permutations(items, at + 1, found);
        items.swap(at, i);
    }
}

#[test]
fn sums_with_specials() {
    let f = format("binary16");
    let [infinity, minus, nan] = [0x7c00, 0xfc00, 0x7e00].map(|c| f.decode(c));
    let one = f.decode(0x3c00);
    let (zero, negative_zero) = (f.decode(0), f.decode(0x8000));
    let sum = |terms: &[smallfloat::Datum], rounding| {
        let mut sum = Sum::new();
        for &x in terms {
            sum.add(x);
        }
        project(sum.exact(), &f, &f.default_projection().with_rounding(rounding)).value
    };
    let near = |terms: &[smallfloat::Datum]| sum(terms, Rounding::NearestEven);
    assert_eq!(near(&[]), 0);
    assert_eq!(near(&[infinity, one]), 0x7c00);
    assert_eq!(near(&[one, minus, one]), 0xfc00);
    assert_eq!(near(&[infinity, minus]), 0x7e00);
    assert_eq!(near(&[minus, one, infinity]), 0x7e00);
    assert_eq!(near(&[one, nan]), 0x7e00);
    assert_eq!(near(&[negative_zero, negative_zero]), 0x8000);
    assert_eq!(near(&[negative_zero, zero]), 0);
    assert_eq!(near(&[one, one.negated()]), 0);
    assert_eq!(sum(&[one, one.negated()], Rounding::TowardNegative), 0x8000);
    assert_eq!(project(dot([(infinity, zero)]).exact, &f, &f.default_projection()).value, 0x7e00);
    assert_eq!(
        project(dot([(infinity, one), (minus, one)]).exact, &f, &f.default_projection()).value,
        0x7e00
    );
    assert_eq!(project(dot([(one, one), (one, one)]).exact, &f, &f.default_projection()).value, 0x4000);
}

/// C25 of `docs/tesla.md`: each operand of a dot product has its own format and bias; the sum is
/// rounded once.
#[test]
fn dot_products_of_different_biases() {
    let decode = |name: &str, code: u64| format(name).decode(code);
    let pairs = [
        // 1 · 2^−4
        (decode("cfloat8_1_4_3:bias=7", 0x38), decode("cfloat8_1_4_3:bias=11", 0x38)),
        // 1 · 1
        (decode("shp:bias=15", 0x3C00), decode("uhp", 0x7C00)),
        // −2^−9 · 2^−7
        (decode("cfloat8_1_5_2:bias=24", 0xBC), decode("e4m3fn", 0x04)),
    ];
    let to = format("binary32");
    let r = project(dot(pairs).exact, &to, &to.default_projection());
    // 1 + 2^−4 − 2^−16
    assert_eq!((r.value, r.flags.to_string().as_str()), (0x3F87_FF80, "-"));
}

// ---- The spelling of calls ----

#[test]
fn specializations_parse() {
    let parsed = |text: &str| text.parse::<Specialization>().unwrap_or_else(|e| panic!("{text}: {e}"));
    // The same call in several spellings.
    let same = [
        "Add<binary8p3se, e5m2, binary32>",
        "Add<Binary8p3se, e5m2, f32>",
        " add < Binary{8, 3, Signed, Extended} , E5M2 , binary32 > ",
        "Add<binary8p3se, e5m2, binary32, (NearestTiesToEven, SatNone)>",
        "Add<binary8p3se, e5m2, binary32, (SatNone, NearestTiesToEven)>",
        "Add<binary8p3se, e5m2, binary32, (nearesttiestoeven)>",
        "Add<binary8p3se, e5m2, binary32, semantics=ieee>",
        "Add<binary8p3se, e5m2, binary32, scale=0>",
    ];
    for text in same {
        assert_eq!(parsed(text), parsed(same[0]), "{text}");
    }
    let call = parsed(
        "Multiply<cfloat8_1_4_3:bias=7, shp:bias=15,subnormals=gradual, uhp, (StochasticA<8>, SatFinite), scale=-3, semantics=p3109, clamp=operands>",
    );
    assert_eq!(call.function(), Function::Numeric(Operation::Multiply));
    assert_eq!(call.operands(), [format("cfloat8_1_4_3:bias=7"), format("shp:bias=15,subnormals=gradual")]);
    assert_eq!(call.result(), Some(&format("uhp")));
    let projection = call.projection().unwrap();
    assert_eq!(projection.rounding, Rounding::stochastic_a(8).unwrap());
    assert_eq!(projection.saturation, Saturation::SatFinite);
    assert_eq!((call.arithmetic().scale, call.arithmetic().semantics), (-3, Semantics::P3109));
    assert!(call.arithmetic().operand_clamp);
    let word = RandomBits::new(8, 0xa5).unwrap();
    let drawn = call.with_random_bits(word);
    assert_eq!(drawn.projection().unwrap().rounding, Rounding::StochasticA(word));
    // The word decides: 1.0625 between 1 and 1.125 in CFloat8, ν = 1/2.
    for (word, expected) in [(0x7f, 0x38), (0x80, 0x39)] {
        let call = parsed("Convert<binary32, cfloat8_1_4_3:bias=7, (StochasticA<8>)>");
        let call = call.with_random_bits(RandomBits::new(8, word).unwrap());
        let Answer::Code(r) = call.call(&[0x3f88_0000]).unwrap() else { panic!("a code") };
        assert_eq!(r.value, expected);
    }
    for (text, mode) in [
        ("NearestTiesToAway", Rounding::NearestAway),
        ("TowardPositive", Rounding::TowardPositive),
        ("TowardNegative", Rounding::TowardNegative),
        ("TowardZero", Rounding::TowardZero),
        ("ToOdd", Rounding::ToOdd),
        ("StochasticB<1>", Rounding::stochastic_b(1).unwrap()),
        ("StochasticC<60>", Rounding::stochastic_c(60).unwrap()),
    ] {
        let call = parsed(&format!("Recip<binary8p4se, binary8p4se, ({text})>"));
        assert_eq!(call.projection().unwrap().rounding, mode);
    }
    for (text, mode) in [
        ("SatFinite", Saturation::SatFinite),
        ("SatPropagate", Saturation::SatPropagate),
        ("SatNone", Saturation::SatNone),
    ] {
        let call = parsed(&format!("Recip<binary8p4se, binary8p4se, ({text})>"));
        assert_eq!(call.projection().unwrap().saturation, mode);
    }
    for long in ["Binary{8, 1, Unsigned, Finite}", "Binary{8,1,Unsigned,Finite}"] {
        assert_eq!(parsed(&format!("IsZero<{long}>")).operands(), [format("binary8p1uf")]);
    }
    // What is printed parses to the same call.
    for text in [
        "FMA<binary8p3se, e5m2, shp:bias=15, cfloat8_1_5_2:bias=16, (ToOdd, SatPropagate)>",
        "Convert<minifloat:k=6,p=3,bias=3,specials=finite, binary16>",
        "CompareLess<cfloat8_1_4_3:bias=7, shp:bias=3>",
        "Class<uhp>",
        "NextLessThan<binary16>",
        "Sqrt<e8m0fnu, bf16, (StochasticB<5>, SatNone)>",
    ] {
        let call = parsed(text);
        assert_eq!(parsed(&call.to_string()), call, "{text} printed as {call}");
    }
}

#[test]
fn options_survive_printing() {
    for text in [
        "Add<e5m2, e5m2, e5m2, scale=3>",
        "Add<e5m2, e5m2, e5m2, semantics=p3109>",
        "Add<e4m3fn, e4m3fn, e4m3fn, clamp=operands>",
        "IsSignMinus<e5m2, semantics=p3109>",
    ] {
        let call: Specialization = text.parse().unwrap();
        assert_eq!(call.to_string().parse::<Specialization>().unwrap(), call, "{text} printed as {call}");
    }
}

#[test]
fn specializations_that_are_wrong() {
    for (text, word) in [
        ("Add", "Name<"),
        ("Add<e5m2, e5m2, e5m2", "Name<"),
        ("Ad<e5m2, e5m2, e5m2>", "Add"),
        ("Add<e5m2, e5m2>", "3"),
        ("Add<e5m2, e5m2, e5m2, e5m2>", "3"),
        ("Sqrt<e5m2, e5m2, e5m2>", "2"),
        ("CompareLess<e5m2, e5m2, e5m2>", "2"),
        ("CompareLess<e5m2, e5m2, (SatFinite)>", "projection"),
        ("Add<e5m2, e5m3, e5m2>", "e5m3"),
        ("Add<cfloat8_1_4_3, e5m2, e5m2>", "bias"),
        ("Add<e5m2, e5m2, e5m2, (Nearest)>", "Nearest"),
        ("Add<e5m2, e5m2, e5m2, (SatMax)>", "SatMax"),
        ("Add<e5m2, e5m2, e5m2, (StochasticA<61>)>", "60"),
        ("Add<e5m2, e5m2, e5m2, (StochasticA<0>)>", "60"),
        ("Add<e5m2, e5m2, e5m2, (StochasticA<x>)>", "random bits"),
        ("Add<e5m2, e5m2, e5m2, (SatNone), (SatNone)>", "one projection"),
        ("Add<e5m2, e5m2, e5m2, scale=x>", "scale"),
        ("Add<e5m2, e5m2, e5m2, semantics=c99>", "semantics"),
        ("Add<e5m2, e5m2, e5m2, clamp=results>", "clamp"),
        ("Add<>", ""),
        ("", "Name<"),
        ("<e5m2>", ""),
        ("Add<e3m2, e5m2, e5m2>", "e3m2"),
    ] {
        match text.parse::<Specialization>() {
            Ok(call) => panic!("{text} parsed as {call}"),
            Err(error) => {
                assert!(error.to_string().contains(word), "{text}: `{error}` does not name {word}");
            }
        }
    }
    let call: Specialization = "Add<e5m2, e5m2, e5m2>".parse().unwrap();
    // One format is that of all operands and the result.
    assert_eq!("Add<e5m2>".parse::<Specialization>().unwrap(), call);
    assert_eq!("CompareLess<e5m2>".parse::<Specialization>(), "CompareLess<e5m2, e5m2>".parse());
    assert!(call.call(&[1]).is_err());
    assert!(call.call(&[1, 2, 3]).is_err());
    assert!(call.call(&[1, 0x100]).is_err());
}
