//! Every function by name: parsed, printed, called once with a known answer; what is refused; the
//! mandatory minimum.
//!
//! The numeric functions' expected values are the real results rounded to four bits by hand (a
//! calculator's six digits are enough, none is near a tie).

use std::collections::BTreeSet;

use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64};
use smallfloat::p3109::{
    Answer, Argument, Block, Function, Group, Parameter, Specialization, mandatory_minimum,
};
use smallfloat::{ErrorKind, Format, Rounding};

fn parse(text: &str) -> Specialization {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

const P4: &str = "Binary8p4se";

fn p4(value: &str) -> u64 {
    let format: Format = P4.parse().unwrap();
    format.encode_f64(value.parse().unwrap(), &format.default_projection()).value
}

fn value(code: u64) -> f64 {
    P4.parse::<Format>().unwrap().decode(code).to_f64().unwrap()
}

/// Numeric functions with operands and the result in Binary8p4se, rounded to nearest.
const NUMERIC: &str = include_str!("../data/functions.txt");

/// Calls of functions that give no number, or take none: operands in Binary8p4se and the answer as
/// text.
const OTHER: &str = include_str!("../data/queries.txt");

/// Returns the rows of a table `call | operands | result`.
fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>, &'static str)> {
    table.lines().map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [call, operands, result] = cells[..] else { panic!("three cells: {line}") };
        (call, operands.split_whitespace().collect(), result)
    })
}

/// The scalar operation; the scaled one with scales of 2 and halved operands; the block operation
/// with these and a result scale of 4.
#[test]
fn numeric_functions_in_their_three_forms() {
    for (name, operands, expected) in rows(NUMERIC) {
        let codes: Vec<u64> = operands.iter().map(|x| p4(x)).collect();
        let scalar = parse(&format!("{name}<{}{P4}>", format!("{P4}, ").repeat(codes.len())));
        let Answer::Code(r) = scalar.call(&codes).unwrap() else { panic!("{name}: a code") };
        assert_eq!(r.value, p4(expected), "{name}: {} instead of {expected}", value(r.value));

        let pairs = format!("(Binary8p1uf, {P4}), ").repeat(codes.len());
        let half = |x: &str| p4(&(x.parse::<f64>().unwrap() / 2.0).to_string());
        let halves: Vec<u64> = operands.iter().map(|x| half(x)).collect();
        let scaled = parse(&format!("Scaled{name}<{pairs}{P4}>"));
        let codes: Vec<u64> = halves.iter().flat_map(|&x| [0x81, x]).collect();
        let Answer::Code(r) = scaled.call(&codes).unwrap() else { panic!("{name}: a code") };
        assert_eq!(r.value, p4(expected), "Scaled{name}");

        let block = parse(&format!("Block{name}<1, {pairs}Binary8p1uf, {P4}>"));
        let blocks =
            halves.iter().map(|x| Argument::Block(Block { scale: 0x81, elements: std::slice::from_ref(x) }));
        let arguments: Vec<_> = blocks.chain([Argument::Code(0x82)]).collect();
        let Answer::Block(r) = block.call_blocks(&arguments, &[]).unwrap() else { panic!("{name}: a block") };
        let quarter = p4(&(expected.parse::<f64>().unwrap() / 4.0).to_string());
        assert_eq!((r.scale.value, &r.elements.codes[..]), (0x82, &[quarter][..]), "Block{name}");
    }
}

fn text(answer: &Answer) -> String {
    match answer {
        Answer::Code(r) => format!("{:02x}", r.value),
        Answer::Truth(r) => r.value.to_string(),
        Answer::Class(name) => (*name).into(),
        Answer::Property(property) => property.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn predicates_comparisons_and_queries() {
    for (call, operands, expected) in rows(OTHER) {
        let codes: Vec<u64> = operands.iter().map(|x| p4(x)).collect();
        assert_eq!(text(&parse(call).call(&codes).unwrap()), expected, "{call} {operands:?}");
    }
}

/// The draft's tables of parameters and special code points, for a format of each kind.
#[test]
fn queries_of_formats() {
    for (format, expected) in [
        ("Binary8p1uf", "8 1 Unsigned Finite 8 0 128 fe 00 01 ff 01"),
        ("Binary8p4ue", "8 4 Unsigned Extended 5 3 16 fd 00 01 07 08"),
        ("Binary4p2sf", "4 2 Signed Finite 2 1 2 07 0f 01 01 02"),
        ("Binary8p1se", "8 1 Signed Extended 7 0 64 7e fe 01 80 01"),
        ("binary16", "16 11 Signed Extended 5 10 15 7bff fbff 01 3ff 400"),
        ("bfloat16", "16 8 Signed Extended 8 7 127 7f7f ff7f 01 7f 80"),
        ("binary32", "32 24 Signed Extended 8 23 127 7f7fffff ff7fffff 01 7fffff 800000"),
        (
            "binary64",
            "64 53 Signed Extended 11 52 1023 7fefffffffffffff ffefffffffffffff 01 fffffffffffff 10000000000000",
        ),
    ] {
        let names = Group::M.functions().map(Function::name);
        let found: Vec<String> =
            names.map(|name| text(&parse(&format!("{name}<{format}>")).call(&[]).unwrap())).collect();
        assert_eq!(found.join(" "), expected, "{format}");
    }
    let error = "MaxSubnormalOf<minifloat:k=4,p=1,bias=3>".parse::<Specialization>().unwrap_err();
    assert!(error.to_string().contains("neither subnormals nor a NaN"), "{error}");
}

/// The block functions that `blocks.rs` calls by name.
const BLOCK: [&str; 6] = [
    "ConvertFromBlock",
    "ConvertToBlock",
    "ConvertToBlockMaxAbsFinite",
    "BlockReduceAdd",
    "BlockReduceMultiply",
    "BlockDotProduct",
];

#[test]
fn every_function_is_called() {
    let mut called: BTreeSet<String> = rows(NUMERIC)
        .flat_map(|row| ["", "Scaled", "Block"].map(|form| format!("{form}{}", row.0)))
        .collect();
    called.extend(rows(OTHER).map(|row| row.0.split('<').next().unwrap().to_owned()));
    called.extend(BLOCK.map(String::from));
    let blocks = include_str!("blocks.rs");
    assert!(BLOCK.iter().all(|name| blocks.contains(&format!("{name}<"))));
    let defined: BTreeSet<String> = Function::all()
        .filter(|function| function.group().is_some() || function.name().ends_with("Of"))
        .map(|function| function.name().to_owned())
        .collect();
    assert_eq!(defined.symmetric_difference(&called).collect::<Vec<_>>(), Vec::<&String>::new());
    // Only IEEE 754's remainders and conversions of integers, and the queries of projections, stand
    // in no group.
    let is_integer =
        |function: &Function| matches!(function, Function::ToInteger(_) | Function::FromInteger(_));
    let loose = Function::all().filter(|function| function.group().is_none());
    let (integers, loose): (Vec<_>, Vec<_>) = loose.partition(is_integer);
    assert_eq!(integers.len(), 16);
    let loose: Vec<_> = loose.into_iter().map(Function::name).collect();
    assert_eq!(loose, ["Remainder", "Fmod", "RoundOf", "SatOf"]);
}

#[test]
fn groups_have_the_drafts_sizes() {
    let sizes: Vec<(&str, usize)> =
        Group::ALL.iter().map(|group| (group.name(), group.functions().count())).collect();
    let expected = [
        ("A", 32),
        ("B", 16),
        ("C", 21),
        ("M", 12),
        ("KA", 22),
        ("KB", 12),
        ("KC", 21),
        ("E", 3),
        ("SA", 19),
        ("SB", 12),
        ("SC", 21),
    ];
    assert_eq!(sizes, expected);
}

#[test]
fn what_is_printed_parses_to_the_same() {
    let e8m0 = "(e8m0fnu, e2m1fn)";
    for spec in [
        "BlockDotProduct<8, Binary8p1uf, Binary8p4se, Binary8p1uf, Binary8p4se, binary32, (NearestTiesToEven, SatNone)>",
        "BlockAdd<16, (Binary8p1uf, Binary4p2sf), (Binary8p1ue, Binary8p3se), Binary8p1uf, Binary8p4se, (ToOdd, SatFinite)>",
        "ConvertToBlockMaxAbsFinite<32, binary32, Binary8p1uf, Binary4p2sf, (StochasticA<8>, SatFinite), (StochasticC<60>, SatNone)>",
        "ConvertToBlock<1, BFloat16, e8m0fnu, cfloat8_1_4_3:bias=11,subnormals=gradual, (StochasticB<1>, SatPropagate)>",
        "ScaledFMA<(Binary8p1uf, Binary{8, 3, Signed, Extended}), (Binary8p1uf, e5m2), (uhp, shp:bias=9,subnormals=gradual), binary64>",
        "ScaledAdd<(e8m0fnu, cfloat8_1_4_3:bias=7,subnormals=gradual), (cfloat8_1_5_2:bias=3,subnormals=gradual, e4m3), uhp, semantics=p3109>",
        "MaxFiniteOf<Binary{8, 3, Unsigned, Finite}>",
        "RoundOf<(StochasticC<60>, SatNone-V40)>",
        "TotalOrder<Binary8p4se, e5m2>",
    ] {
        let call = parse(spec);
        assert_eq!(parse(&call.to_string()), call, "{spec} printed as {call}");
        assert_eq!(parse(&spec.to_lowercase()), call, "{spec}");
    }
    let spec = parse(&format!("BlockMultiply<2, {e8m0}, {e8m0}, e8m0fnu, e2m1fn>"));
    assert_eq!(
        spec.to_string(),
        "BlockMultiply<2, (e8m0fnu, e2m1fn), (e8m0fnu, e2m1fn), e8m0fnu, e2m1fn, (NearestTiesToEven, SatNone)>"
    );
    let spec = parse("RoundOf< ( TowardZero , SatNone ) >");
    assert_eq!(spec.to_string(), "RoundOf<(TowardZero, SatNone)>");
}

#[test]
fn formats_and_parameters_by_their_place() {
    let spec = parse("BlockAdd<4, (e8m0fnu, e4m3fn), (Binary8p1uf, Binary4p2sf), Binary8p1ue, binary16>");
    let format = |name: &str| name.parse::<Format>().unwrap();
    assert_eq!((spec.length(), spec.result()), (Some(4), Some(&BINARY16)));
    assert_eq!(spec.result_scale(), Some(&format("Binary8p1ue")));
    assert_eq!(
        spec.parameters(),
        [
            Parameter::Block { scale: format("e8m0fnu"), element: format("e4m3fn") },
            Parameter::Block { scale: format("Binary8p1uf"), element: format("Binary4p2sf") },
            Parameter::Code(format("Binary8p1ue")),
        ]
    );
    for function in Function::all() {
        // The arity is the number of parameters, whatever the formats.
        let shape = match function {
            Function::ProjectionQuery(_) => continue,
            Function::Block(_) => Some(2),
            _ => None,
        };
        let spec = (1..9).find_map(|n| Specialization::new(function, shape, &vec![BINARY32; n], &[]).ok());
        let name = function.name();
        if name != "TotalOrder" {
            assert_eq!(
                spec.unwrap_or_else(|| panic!("{name}")).parameters().len(),
                function.arity(),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_not_legal_is_said() {
    let p = "(Binary8p1uf, Binary8p4se)";
    let ff = "Binary8p1uf, Binary8p4se";
    for (spec, words) in [
        (format!("BlockAd<8, {p}, {p}, {ff}>"), "did you mean `BlockAdd`"),
        (format!("BlockRemainder<8, {p}, {p}, {ff}>"), "unknown operation"),
        (format!("ScaledSqr<{p}, binary32>"), "did you mean `ScaledSqrt`"),
        (format!("BlockAdd<0, {p}, {p}, {ff}>"), "block length must be 1..=4294967295"),
        (format!("BlockAdd<-1, {p}, {p}, {ff}>"), "the block length first, an integer 1..=4294967295"),
        (format!("BlockAdd<{p}, {p}, {ff}>"), "the block length first"),
        (format!("BlockAdd<8, {p}, {ff}>"), "2 pairs (scale format, element format), 1 is given"),
        (
            format!("BlockAdd<8, {p}, {p}, {p}, {ff}>"),
            "`(Binary8p1uf, Binary8p4se)` is not understood, expected no further pair of formats",
        ),
        (format!("BlockAdd<8, {ff}, {ff}, {ff}>"), "2 pairs"),
        (format!("BlockAdd<8, {p}, {p}, Binary8p4se>"), "takes 2 formats, 1 is given"),
        (format!("BlockAdd<8, {p}, (Binary8p1uf, Binary8p4sx), {ff}>"), "Binary8p4sx"),
        (
            format!("BlockAdd<8, {p}, {p}, {ff}, (ToOdd, SatNone), (ToOdd, SatNone)>"),
            "expected one projection",
        ),
        (format!("BlockAdd<8, {p}, {p}, {ff}, scale=3>"), "expected semantics=ieee or semantics=p3109"),
        (format!("ConvertToBlockMaxAbsFinite<8, {ff}, Binary4p2sf, (ToOdd, SatNone)>"), "2 projections"),
        ("Add<Binary8p8se, Binary8p4se, Binary8p4se>".into(), "P must be 1..=7"),
        ("Add<Binary2p1se, Binary8p4se, Binary8p4se>".into(), "K must be 3..=32"),
        ("TotalOrder<Binary8p4se, binary32>".into(), "NaNs have many codes"),
        ("BitwidthOf<Binary8p4se, Binary8p4se>".into(), "takes 1 format, 2 are given"),
        ("RoundOf<(ToOdd)>".into(), "both"),
        ("RoundOf<(SatNone, ToOdd)>".into(), "both"),
        ("RoundOf<>".into(), "1 projection"),
        ("SatOf<binary32>".into(), "takes 0 formats"),
        ("Sqrt<binary32, binary32, (StochasticA<0>)>".into(), "1..=60"),
        ("Sqrt<binary32, binary32, (StochasticA<61>)>".into(), "1..=60"),
    ] {
        match spec.parse::<Specialization>() {
            Ok(call) => panic!("{spec} parsed as {call}"),
            Err(error) => {
                assert!(error.to_string().contains(words), "{spec}: `{error}` does not say `{words}`");
            }
        }
    }
    let add = parse("Add<binary32, binary32, binary32>").function();
    let error = Specialization::new(add, Some(4), &[BINARY32; 3], &[]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotDefined { name: "Add", .. }), "{error}");
    let sum = parse("BlockReduceAdd<4, binary32, binary32, binary32>").function();
    assert!(Specialization::new(sum, None, &[BINARY32; 3], &[]).is_err());
}

/// Parts at the wrong place, given twice, or without effect: the error names the part.
#[test]
fn parts_have_their_place() {
    let blocks = "(Binary8p1uf, Binary8p4se), Binary8p1uf, Binary8p4se";
    for (spec, words) in [
        (
            "Sqrt<e5m2, e5m2, (ToOdd, TowardZero)>",
            "`TowardZero` is not understood, expected one rounding mode",
        ),
        (
            "Sqrt<e5m2, e5m2, (SatNone, SatFinite)>",
            "`SatFinite` is not understood, expected one saturation mode",
        ),
        ("Sqrt<e5m2, e5m2, (ToOdd, SatNone, ToOdd)>", "expected one rounding mode"),
        ("RoundOf<(ToOdd, TowardZero)>", "expected one rounding mode"),
        ("Sqrt<e5m2, e5m2, scale=1, scale=2>", "`scale` is not understood, expected each option once"),
        ("Sqrt<e5m2, e5m2, semantics=ieee, SEMANTICS=p3109>", "`SEMANTICS` is not understood, expected each"),
        ("Sqrt<e5m2, e5m2, clamp=operands, clamp=operands>", "`clamp` is not understood, expected each"),
        ("Sqrt<, e5m2, e5m2>", "unknown format ``"),
        ("Sqrt<e5m2, e5m2,>", "unknown format ``"),
        ("Sqrt<>", "takes 2 formats, 0 are given"),
        ("Sqrt<scale=1, e5m2, e5m2>", "`e5m2` is not understood, expected options"),
        ("Sqrt<e5m2, scale=1, e5m2>", "`e5m2` is not understood, expected options"),
        (
            "Sqrt<e5m2, e5m2, scale=1, (ToOdd, SatNone)>",
            "`(ToOdd, SatNone)` is not understood, expected options",
        ),
        (
            "Sqrt<(ToOdd, SatNone), e5m2, e5m2>",
            "`e5m2` is not understood, expected formats before projections",
        ),
        ("Sqrt<e5m2, (ToOdd, SatNone), e5m2>", "expected formats before projections"),
        ("Sqrt<(e5m2, e5m2)>", "`(e5m2, e5m2)` is not understood, expected formats without brackets"),
        ("BlockExp<2, Binary8p1uf, Binary4p2sf, (Binary8p1uf, Binary8p3se)>", "expected the pairs"),
        (
            "BlockExp<2, (e8m0fnu, e5m2), Binary8p1uf, Binary4p2sf, (Binary8p1uf,Binary8p3se)>",
            "`(Binary8p1uf,Binary8p3se)` is not understood, expected no further pair",
        ),
        (
            "BlockDotProduct<2, (e8m0fnu, e5m2), (e8m0fnu, e5m2), e5m2>",
            "formats of this function without brackets",
        ),
        ("CompareLess<e5m2, e5m2, (ToOdd, SatNone)>", "expected no projection: the result is not rounded"),
        ("Sqrt<e5m2, e5m2, (e5m2, ToEven)>", "`e5m2` is not"),
        ("BlockExp<2, (ToOdd, SatNone), (e8m0fnu, e5m2), e8m0fnu, e5m2>", "expected the pairs"),
        ("CompareLess<e5m2, e5m2, scale=5>", "`scale` is not understood"),
        ("IsNaN<e4m3fn, clamp=operands>", "`clamp` is not understood"),
        ("NextLessThan<e4m3fn, scale=1>", "only scalar operations that round"),
        ("RoundOf<(ToOdd, SatNone), scale=3>", "`scale` is not understood"),
        ("Sqrt<e5m2, e5m2, clamp=results>", "`results` is not understood, expected clamp=operands"),
        ("Sqrt<e5m2, e5m2, scale=1048577>", "scale must be -1048576..=1048576"),
        ("Sqrt<e5m2, e5m2, scale=-9223372036854775808>", "scale must be -1048576..=1048576"),
        ("Exp2<binary64, binary64, scale=-1100000000>", "scale = -1100000000 is out of range"),
        ("Sqrt<e5m2, e5m2, scale=99999999999999999999>", "an integer L, -1048576..=1048576"),
    ] {
        match spec.parse::<Specialization>() {
            Ok(call) => panic!("{spec} parsed as {call}"),
            Err(error) => {
                assert!(error.to_string().contains(words), "{spec}: `{error}` does not say `{words}`");
            }
        }
    }
    for length in ["+2", "002", "00", "-1", "2.0", "", "4294967296", "99999999999999999999999"] {
        let error = format!("BlockExp<{length}, {blocks}>").parse::<Specialization>().unwrap_err();
        assert!(error.to_string().contains("1..=4294967295"), "{length}: {error}");
    }
    assert_eq!(parse(&format!("BlockExp<4294967295, {blocks}>")).length(), Some(4_294_967_295));
    let spec = "Sqrt<e5m2, e5m2, (ToOdd, SatNone), semantics=p3109, scale=-1048576, clamp=operands>";
    assert_eq!(parse(&spec.to_uppercase()), parse(spec));
    assert_eq!(parse(spec).to_string(), spec);
}

/// What a function gives, and the same function of other formats and projections.
#[test]
fn results_and_variants() {
    for (text, result) in [
        ("Add<e5m2, e4m3fn, binary16>", Some(BINARY16)),
        ("CompareLess<e5m2, e4m3fn>", None),
        ("IsNaN<e5m2>", None),
        ("Class<e5m2>", None),
        ("TotalOrder<e5m2, e5m2>", None),
        ("BitwidthOf<binary16>", None),
        ("MaxFiniteOf<binary16>", Some(BINARY16)),
        ("NextLessThan<binary16>", Some(BINARY16)),
    ] {
        assert_eq!(parse(text).result(), result.as_ref(), "{text}");
    }
    let add = parse("Add<binary32, binary32, binary32>");
    let projection = BINARY32.default_projection().with_rounding(Rounding::ToOdd);
    assert_eq!(add.with_projections(&[projection]).unwrap().projection(), Some(&projection));
    for wrong in [&[][..], &[projection, projection]] {
        let error = add.with_projections(wrong).unwrap_err().to_string();
        assert!(error.contains("1 projection"), "{error}");
    }
    assert_eq!(add.with_formats(&[BINARY16; 3]).unwrap().formats(), [BINARY16; 3]);
    assert!(
        add.with_formats(&[BINARY16; 2]).unwrap_err().to_string().contains("takes 3 formats, 2 are given")
    );
    let error = add.call(&[0, 1 << 33]).unwrap_err().to_string();
    assert!(error.contains("operand 2"), "{error}");
    let scaled = parse("Sqrt<e5m2, e5m2, scale=1048576>");
    assert_eq!(scaled.arithmetic().scale, 1_048_576);
    let titles: BTreeSet<&str> = Group::ALL.iter().map(|group| group.title()).collect();
    assert!(titles.len() == Group::ALL.len() && titles.contains("core scalar operations"), "{titles:?}");
}

/// 2^(x + L) at the ends of the scale's range: 2^1048576 · 2^−1048576 = 1, and beyond 2^(2^26) the
/// result still overflows.
#[test]
fn scales_of_exponentials() {
    for (l, x, expected) in [
        (-1_048_576, 1_048_576.0, 1.0),
        (1_048_576, -1_048_576.0, 1.0),
        (-1_048_576, 67_108_864.0, f64::INFINITY),
        (1_048_576, -67_108_864.0, 0.0),
        (-1_048_576, 1e300, f64::INFINITY),
        (1_048_576, -1e300, 0.0),
    ] {
        let call = parse(&format!("Exp2<binary64, binary64, scale={l}>"));
        let Answer::Code(r) = call.call(&[f64::to_bits(x)]).unwrap() else { panic!("a code") };
        assert_eq!(f64::from_bits(r.value).to_bits(), f64::to_bits(expected), "2^({x} + {l})");
    }
}

/// The draft's counts, and each specialization as the draft spells it.
#[test]
fn the_mandatory_minimum() {
    for (external, count) in [
        (&[BINARY32][..], 341),
        (&[BFLOAT16], 341),
        (&[BINARY16, BFLOAT16], 443),
        (&[BINARY32, BINARY16, BFLOAT16], 549),
    ] {
        let list = mandatory_minimum(external).unwrap();
        let names: BTreeSet<String> = list.iter().map(Specialization::to_string).collect();
        assert_eq!((list.len(), names.len()), (count, count));
        for spec in list {
            assert_eq!(parse(&spec.to_string()), spec);
        }
    }
    let names: BTreeSet<String> =
        mandatory_minimum(&[BINARY16]).unwrap().iter().map(Specialization::to_string).collect();
    for spec in [
        "ScaledAdd<(binary8p1uf, binary4p2sf), (binary8p1uf, binary8p3se), binary16, (NearestTiesToEven, SatNone)>",
        "FMA<binary4p2sf, binary8p3se, binary16, binary16, (NearestTiesToEven, SatNone)>",
        "MaximumFinite<binary4p2sf, binary4p2sf, binary4p2sf, (NearestTiesToEven, SatNone)>",
        "Recip<binary16, binary4p2sf, (NearestTiesToEven, SatNone)>",
        "IsSubnormal<binary4p2sf>",
        "MaxSubnormalOf<binary16>",
    ] {
        assert!(names.contains(spec), "{spec}");
    }
    for external in [&[][..], &[BINARY64], &[BINARY16, BINARY16]] {
        assert!(mandatory_minimum(external).unwrap_err().to_string().contains("each once"));
    }
}
