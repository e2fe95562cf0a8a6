//! The written SystemVerilog under Icarus, for all operands of few bits and at all ends of steps of
//! wide ones.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use smallfloat::{FlagPolicy, Flags, Rounding};
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_rtl::{Specification, generate};

use crate::has;

/// The bench: words of operands from a file, results and flags as lines.
fn bench(specification: &Specification, count: usize) -> String {
    let inputs = specification.inputs();
    let bits: u32 = inputs.iter().map(|port| port.bits).sum();
    let mut text = format!(
        "module bench;\n    reg [{}:0] words [0:{}];\n    reg [{}:0] word;\n    integer i;\n",
        bits - 1,
        count - 1,
        bits - 1
    );
    let mut connections = Vec::new();
    let mut low = bits;
    for port in &inputs {
        low -= port.bits;
        connections.push(format!(".{}(word[{low} +: {}])", port.name, port.bits));
    }
    for port in specification.outputs() {
        writeln!(text, "    wire [{}:0] {};", port.bits - 1, port.name).expect("text");
        connections.push(format!(".{0}({0})", port.name));
    }
    let show = if specification.outputs().len() > 1 { "flags" } else { "1'b0" };
    write!(
        text,
        "    specification unit ({});\n    initial begin\n        $readmemh(\"words.hex\", words);\n        \
         for (i = 0; i < {count}; i = i + 1) begin\n            word = words[i];\n            #1;\n            \
         $display(\"%h %h\", result, {show});\n        end\n    end\nendmodule\n",
        connections.join(", ")
    )
    .expect("text");
    text
}

/// What a module called `specification` gives for these operands.
fn simulate(module: &str, specification: &Specification, operands: &[Vec<u64>]) -> Vec<(u64, u64)> {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("specification.sv", module);
    write("bench.sv", &bench(specification, operands.len()));
    let inputs = specification.inputs();
    let mut words = String::new();
    for row in operands {
        let mut word = 0_u128;
        for (port, code) in inputs.iter().zip(row) {
            word = word << port.bits | u128::from(*code);
        }
        writeln!(words, "{word:x}").expect("text");
    }
    write("words.hex", &words);
    let run = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(arguments).current_dir(folder.path()).output().expect(program);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && error.is_empty(), "{program}: {error}{text}");
        text
    };
    run("iverilog", &["-g2012", "-Wall", "-o", "bench", "specification.sv", "bench.sv"]);
    let text = run("vvp", &["-n", "bench"]);
    let numbers = |line: &str| {
        let mut words = line.split(' ').map(|word| u64::from_str_radix(word, 16).expect("known digits"));
        (words.next().expect("a result"), words.next().expect("flags"))
    };
    text.lines().map(numbers).collect()
}

/// Holds the written specification against the core; `bias` where it is a port.
fn check(specification: &Specification, operands: &[Vec<u64>]) {
    check_module(&specification.text("specification").expect("it is specified"), specification, operands);
}

/// Holds the generated unit against the core.
fn check_generated(specification: &Specification, operands: &[Vec<u64>]) {
    check_module(
        &generate(specification, "specification").expect("it is generated").module,
        specification,
        operands,
    );
}

fn check_module(module: &str, specification: &Specification, operands: &[Vec<u64>]) {
    let found = simulate(module, specification, operands);
    assert_eq!(found.len(), operands.len(), "a line for each word");
    let mut wrong = Vec::new();
    for (row, (result, flags)) in operands.iter().zip(found) {
        let (bias, codes) = if specification.has_bias_port() {
            let (bias, codes) = row.split_last().expect("a bias");
            (Some(i32::try_from(*bias).expect("few bits")), codes)
        } else {
            (None, &row[..])
        };
        let unit = specification.unit_with(bias).expect("a unit");
        let expected = unit.evaluate(codes).expect("operands of the unit");
        let expected_flags = (expected.flags & specification.flags()).bits_in(specification.order());
        if (expected.results()[0], u64::from(expected_flags)) != (result, flags) {
            wrong.push(format!(
                "{row:x?}: {result:x} {flags:x}, not {:x} {expected_flags:x}",
                expected.results()[0]
            ));
        }
    }
    let operation = specification.unit().operation();
    let shown = &wrong[..wrong.len().min(6)];
    assert!(
        wrong.is_empty(),
        "{operation}, {}: {} of {} wrong: {shown:#?}",
        specification.unit().flag_policy(),
        wrong.len(),
        operands.len()
    );
    println!("{operation}: {} operands", operands.len());
}

/// All operands of a specification.
fn all(specification: &Specification) -> Vec<Vec<u64>> {
    let inputs = specification.inputs();
    let bits: u32 = inputs.iter().map(|port| port.bits).sum();
    (0..1_u64 << bits)
        .map(|mut packed| {
            let mut row: Vec<u64> = inputs
                .iter()
                .rev()
                .map(|port| {
                    let code = packed & (u64::MAX >> (64 - port.bits));
                    packed >>= port.bits;
                    code
                })
                .collect();
            row.reverse();
            row
        })
        .collect()
}

/// A part of all operands, spread by an odd stride.
fn some(specification: &Specification, count: u64) -> Vec<Vec<u64>> {
    let inputs = specification.inputs();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..count).map(|_| inputs.iter().map(|port| next() >> (64 - port.bits)).collect()).collect()
}

/// Combinations of codes at which something changes: zeros, the ends of the subnormal and the
/// normal range, 1, infinities and NaNs, and the codes beside them.
fn corners(specification: &Specification) -> Vec<Vec<u64>> {
    let mut rows = vec![Vec::new()];
    for format in specification.unit().operation().operands() {
        let top = 1_u64 << (format.width() - u32::from(format.is_signed()));
        let largest = format.encode(format.max_finite()).expect("it is of the format");
        let one = format.encode(smallfloat::Datum::finite(false, 1, 0)).unwrap_or(largest);
        let magnitudes = [0, 1, one, largest, 1 << format.trailing_bits(), top - 1];
        let mut codes: Vec<u64> = magnitudes.into_iter().flat_map(|m| [m.saturating_sub(1), m]).collect();
        codes.retain(|code| *code < top);
        if format.is_signed() {
            codes.extend(codes.clone().iter().map(|code| code | top));
        }
        codes.sort_unstable();
        codes.dedup();
        rows = rows
            .iter()
            .flat_map(|row: &Vec<u64>| {
                codes.iter().map(move |code| {
                    let mut longer = row.clone();
                    longer.push(*code);
                    longer
                })
            })
            .collect();
    }
    rows
}

fn some_and_corners(specification: &Specification, count: u64) -> Vec<Vec<u64>> {
    let mut operands = some(specification, count);
    operands.extend(corners(specification));
    operands
}

fn specification(text: &str, flags: &str) -> Specification {
    let unit = UnitUnderTest::new(text.parse().expect(text), None).expect(text);
    let policy: FlagPolicy = flags.parse().expect(flags);
    let keeps = text.contains("semantics=");
    Specification::new(unit.with_flag_policy(policy, keeps)).expect(text)
}

/// binary32 operands at and beside every value of a format and every middle between two, and
/// special ones, of both signs.
fn ends(to: &str) -> Vec<Vec<u64>> {
    let to: smallfloat::Format = to.parse().expect(to);
    let values: Vec<f64> =
        to.codes().filter_map(|code| to.decode(code).to_f64()).filter(|x| x.is_finite()).collect();
    let mut magnitudes: Vec<f64> = values.iter().map(|x| x.abs()).collect();
    magnitudes.sort_by(f64::total_cmp);
    magnitudes.dedup();
    let largest = *magnitudes.last().expect("values");
    magnitudes.push(largest * 1.0625);
    magnitudes.push(largest * 1.5);
    magnitudes.push(largest * 2.0);
    let quarters: Vec<f64> = magnitudes
        .windows(2)
        .flat_map(|pair| (0..8).map(|i| pair[0] + (pair[1] - pair[0]) * f64::from(i) / 8.0))
        .collect();
    let mut codes: Vec<u64> = Vec::new();
    for x in quarters {
        #[expect(clippy::cast_possible_truncation, reason = "neighbours are taken too")]
        let bits = u64::from((x as f32).to_bits());
        codes.extend(bits.saturating_sub(2)..=bits + 2);
    }
    codes.extend([
        0,
        1,
        2,
        0x7f_ffff,
        0x80_0000,
        0x7f7f_ffff,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
        0x7fff_ffff,
    ]);
    codes.retain(|code| *code <= 0x7fff_ffff);
    codes.sort_unstable();
    codes.dedup();
    codes.iter().flat_map(|code| [vec![*code], vec![code | 1 << 31]]).collect()
}

#[test]
fn narrow_conversions_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for (text, policy) in [
        ("Convert<binary16, e4m3fn, (NearestTiesToEven, SatNone), semantics=ieee>", "ieee-before"),
        ("Convert<binary16, e5m2, (TowardPositive, SatPropagate), semantics=ieee>", "arm"),
        ("Convert<bfloat16, cfloat8_1_5_2:bias=20, (NearestTiesToAway, SatFinite), semantics=ieee>", "tesla"),
        ("Convert<binary16, binary8p3se>", "ieee-after"),
        ("Convert<binary16, binary8p1ue, (TowardNegative, SatNone)>", "ieee-before"),
        ("Convert<bfloat16, e8m0fnu, (NearestTiesToEven, SatFinite), semantics=ieee>", "ieee-before"),
        ("Convert<binary16, e4m3fnuz, (ToOdd, SatNone), semantics=ieee>", "riscv"),
        ("Convert<e5m2, binary16, semantics=ieee>", "x86"),
        ("Convert<bfloat16, binary16, (NearestTiesToEven, SatNone), semantics=ieee>", "riscv"),
        ("Convert<bfloat16, binary16, (TowardNegative, SatNone), semantics=ieee>", "arm"),
        ("Convert<cfloat8_1_4_3:bias=7, e2m1fn, (TowardZero, SatFinite), semantics=ieee>", "tesla"),
        ("Convert<uhp, e3m2fn, (NearestTiesToEven, SatFinite), semantics=ieee>", "tesla"),
        ("Convert<binary16, uhp, (NearestTiesToEven, SatFinite), semantics=ieee>", "tesla"),
        ("Convert<binary16, shp:bias=31, (NearestTiesToEven, SatFinite), semantics=ieee>", "tesla"),
    ] {
        let specification = specification(text, policy);
        let bits: u32 = specification.inputs().iter().map(|port| port.bits).sum();
        let operands = if bits <= 16 { all(&specification) } else { some(&specification, 1 << 16) };
        check(&specification, &operands);
    }
}

#[test]
fn wide_conversions_are_the_cores_at_all_ends_of_steps() {
    if !has("iverilog", "-V") {
        return;
    }
    for (to, rounding, policy) in [
        ("cfloat8_1_4_3:bias=7", "NearestTiesToEven", "tesla"),
        ("cfloat8_1_5_2:bias=15", "TowardNegative", "tesla"),
        ("e4m3fn", "NearestTiesToEven", "riscv"),
        ("e5m2", "TowardPositive", "x86"),
        ("binary8p4se", "ToOdd", "ieee-before"),
    ] {
        let text = format!("Convert<binary32, {to}, ({rounding}, SatFinite), semantics=ieee>");
        check(&specification(&text, policy), &ends(to));
    }
}

#[test]
fn arithmetic_is_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for (text, policy) in [
        ("Multiply<e4m3fn>", "ieee-before"),
        ("Add<e4m3fn>", "ieee-before"),
        ("Add<e5m2, e5m2, e5m2, (TowardNegative, SatNone)>", "arm"),
        ("Subtract<e5m2>", "x86"),
        ("Multiply<e5m2>", "riscv"),
        ("Multiply<cfloat8_1_4_3:bias=7>", "tesla"),
        ("Multiply<binary8p3se>", "ieee-before"),
        ("FMA<e2m1fn, e2m3fn, e3m2fn, e4m3fn>", "ieee-before"),
        ("FAA<binary4p2se, binary5p3se, binary6p3se, binary8p4se>", "ieee-before"),
        ("Divide<e4m3fn>", "ieee-before"),
        ("CompareLess<e5m2, e4m3fn>", "ieee-before"),
        ("Sqrt<binary16, e5m2>", "riscv"),
    ] {
        let specification = specification(text, policy);
        check(&specification, &all(&specification));
    }
    for (text, policy) in [
        ("FMA<e4m3fn>", "tesla"),
        ("FMA<e5m2>", "x86"),
        ("FMA<e5m2>", "arm"),
        ("FMA<e4m3fn, e4m3fn, binary16, binary16>", "riscv"),
        ("Add<binary16>", "ieee-after"),
    ] {
        let specification = specification(text, policy);
        check(&specification, &some(&specification, 20_000));
    }
}

/// x · y + z in every mode, with the flags of every policy, of all kinds of formats.
#[test]
fn generated_fma_is_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for (text, policy) in [
        ("FMA<e2m1fn>", "ieee-before"),
        ("FMA<e2m3fn, e2m3fn, e2m3fn, e2m3fn, (TowardNegative, SatFinite)>", "riscv"),
        ("FMA<e2m1fn, e2m3fn, e3m2fn, e4m3fn>", "ieee-before"),
        ("FMA<e2m1fn, e2m1fn, e5m2, e4m3fn, (ToOdd, SatNone)>", "ieee-after"),
        ("FMA<binary4p2se, binary5p3se, binary6p3se, binary6p4se>", "ieee-before"),
        ("FMA<binary5p2ue, binary5p3se, binary6p3se, binary6p3ue>", "ieee-before"),
    ] {
        let specification = specification(text, policy);
        check_generated(&specification, &all(&specification));
    }
    for (text, policy) in [
        ("FMA<e4m3fn>", "tesla"),
        ("FMA<e4m3fn, e4m3fn, e4m3fn, e4m3fn, (NearestTiesToEven, SatFinite)>", "riscv"),
        ("FMA<e5m2>", "riscv"),
        ("FMA<e5m2, e5m2, e5m2, e5m2, (TowardNegative, SatNone)>", "ieee-before"),
        ("FMA<e5m2, e5m2, e5m2, e5m2, (TowardPositive, SatNone)>", "arm,nan=canonical"),
        ("FMA<e5m2, e5m2, e5m2, e5m2, (TowardZero, SatNone)>", "x86,nan=canonical"),
        ("FMA<e4m3fn, e5m2, binary16, binary16>", "riscv"),
        ("FMA<e4m3fn, e4m3fn, binary32, binary32>", "riscv"),
        ("FMA<bfloat16, e2m1fn, e5m2, e4m3fn, (NearestTiesToAway, SatNone)>", "ieee-after"),
        ("FMA<e4m3fnuz>", "ieee-before"),
        ("FMA<e8m0fnu, e4m3fn, e4m3fn, e5m2>", "ieee-before"),
        ("FMA<binary8p3se>", "ieee-before"),
        ("FMA<binary8p4uf, binary8p4sf, binary8p3ue, binary8p4ue>", "ieee-before"),
        ("FMA<cfloat8_1_4_3:bias=7>", "tesla"),
        ("FMA<cfloat8_1_5_2:bias=3, cfloat8_1_4_3:bias=7, shp:bias=31, cfloat8_1_4_3:bias=2>", "tesla"),
    ] {
        let specification = specification(text, policy);
        check_generated(&specification, &some_and_corners(&specification, 20_000));
    }
    let stochastic = Rounding::stochastic_a(5).expect("a number of bits");
    for text in ["FMA<e4m3fn>", "FMA<cfloat8_1_4_3:bias=7>"] {
        let unit = UnitUnderTest::new(text.parse().expect(text), None).expect(text);
        let unit = unit.with_policy(None, Some(stochastic), None).expect(text);
        let specification = Specification::new(unit).expect(text);
        check_generated(&specification, &some(&specification, 20_000));
    }
    let text = "FMA<cfloat8_1_4_3:bias=0, cfloat8_1_5_2:bias=0, cfloat8_1_4_3:bias=0, cfloat8_1_5_2:bias=0>";
    for text in ["FMA<cfloat8_1_4_3:bias=0>", text] {
        let specification = specification(text, "tesla").with_bias_port().expect("a bias");
        check_generated(&specification, &some(&specification, 20_000));
    }
}

/// x · y + z of all kinds of special values, by the rules for flags of every kind.
#[test]
fn flags_of_fma_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for format in ["binary4p2se", "binary4p2sf", "binary4p2ue", "e2m1fn", "ieee:k=4,p=2"] {
        for policy in ["ieee-before", "riscv", "arm", "x86"] {
            let specification = specification(&format!("FMA<{format}>"), policy);
            check(&specification, &all(&specification));
        }
    }
}

/// The draft's semantics have one zero, whatever the formats and the rounding.
#[test]
fn generated_units_with_one_zero_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for rounding in ["NearestTiesToEven", "TowardNegative"] {
        for operation in ["Multiply", "Add", "Subtract", "FMA"] {
            let text = format!("{operation}<binary16, binary16, binary16, ({rounding}, SatNone)>");
            let text = if operation == "FMA" { text.replacen('<', "<binary16, ", 1) } else { text };
            let specification = specification(&text, "ieee-before");
            check_generated(&specification, &some_and_corners(&specification, 5_000));
        }
        let text = format!("Convert<binary16, bfloat16, ({rounding}, SatNone)>");
        let specification = specification(&text, "ieee-before");
        check_generated(&specification, &some_and_corners(&specification, 5_000));
    }
    for text in ["Multiply<e4m3fn, semantics=p3109>", "Multiply<binary8p3se, e5m2, e5m2, semantics=p3109>"] {
        let specification = specification(text, "riscv");
        check_generated(&specification, &all(&specification));
    }
}

/// An exponent below 0 on the scale of the first addend, in a result with more exponent bits.
#[test]
fn a_generated_sum_in_a_wide_range_is_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for text in [
        "Add<e4m3fn, e5m2, binary16p5ue>",
        "FMA<e4m3fn, e2m1fn, e5m2, binary16p5uf>",
        "FMA<ieee:k=8,p=6, binary9p8se, e4m3fn, binary16p5uf, (TowardPositive, SatNone)>",
    ] {
        let specification = specification(text, "ieee-before");
        check_generated(&specification, &some_and_corners(&specification, 10_000));
    }
}

/// All results are less than half of the smallest value, so that rounding looks at constants.
#[test]
fn results_that_are_always_tiny_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for text in [
        "Convert<ieee:k=8,p=6, minifloat:k=13,p=8,bias=-100, (TowardPositive, SatNone)>",
        "Multiply<e2m1fn, e2m1fn, minifloat:k=14,p=12,bias=-60,specials=ieee, (ToOdd, SatNone)>",
    ] {
        let specification = specification(text, "ieee-after");
        check(&specification, &all(&specification));
    }
}

/// A NaN without a payload is the projection's by the policies of processors too.
#[test]
fn nans_without_payloads_are_the_projections() {
    if !has("iverilog", "-V") {
        return;
    }
    for policy in ["x86", "arm", "ieee-before"] {
        for text in [
            "Multiply<e4m3fn>",
            "Add<e4m3fn, e5m2, e4m3fn>",
            "Multiply<e4m3fn, e5m2, e5m2>",
            "Multiply<e4m3fnuz, binary6p2se, e5m2, semantics=ieee>",
            "FMA<e4m3fn>",
            "FMA<e5m2, e4m3fn, e5m2, binary16>",
        ] {
            let specification = specification(text, policy);
            check(&specification, &some_and_corners(&specification, 2_000));
        }
    }
}

/// Operands whose code without the sign is one bit.
#[test]
fn operands_of_two_bits_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    let short = "minifloat:k=2,p=1,bias=0,specials=finite";
    for text in [
        format!("Multiply<e4m3fn, {short}, e5m2>"),
        format!("Add<{short}, e2m1fn, e4m3fn>"),
        format!("Convert<{short}, e4m3fn>"),
    ] {
        let specification = specification(&text, "ieee-before");
        check(&specification, &all(&specification));
    }
}

/// The lowest binade of a format without subnormals begins above its zero.
#[test]
fn operands_without_subnormals_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    let without = "minifloat:k=8,p=4,bias=7,subnormals=none";
    for text in [
        format!("Convert<{without}, binary16>"),
        format!("Convert<{without}, binary13p3se>"),
        format!("Multiply<{without}, {without}, bfloat16>"),
    ] {
        let specification = specification(&text, "ieee-before");
        check(&specification, &all(&specification));
    }
}

#[test]
fn dot_products_are_the_cores() {
    if !has("iverilog", "-V") {
        return;
    }
    for (text, policy, count) in [
        ("BlockDotProduct<2, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32>", "ieee-before", 5_000),
        ("BlockDotProduct<4, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, bfloat16>", "riscv", 5_000),
        ("BlockDotProduct<2, e4m3fn, e2m1fn, e4m3fn, e2m1fn, e4m3fn>", "riscv", 6_000),
        (
            "BlockDotProduct<1, binary4p2se, binary4p2se, binary4p2se, binary4p2se, binary6p3se>",
            "ieee-before",
            20_000,
        ),
        (
            "BlockDotProduct<3, e5m2, e5m2, e4m3fn, e4m3fn, binary16, (TowardNegative, SatNone)>",
            "x86",
            20_000,
        ),
        (
            "BlockDotProduct<2, e5m2, e5m2, e5m2, e5m2, e5m2, (NearestTiesToAway, SatNone)>",
            "ieee-after",
            20_000,
        ),
        ("BlockDotProduct<2, e5m2, e5m2, e5m2, e5m2, e4m3fn, (TowardPositive, SatFinite)>", "arm", 6_000),
        (
            "BlockDotProduct<2, e5m2, e5m2, e5m2, e5m2, e4m3fn, (TowardNegative, SatNone), semantics=ieee>",
            "tesla",
            20_000,
        ),
        (
            "BlockDotProduct<2, e2m1fn, e2m1fn, e2m1fn, e2m1fn, e4m3fn, (StochasticA<6>, SatFinite)>",
            "ieee-before",
            20_000,
        ),
    ] {
        let specification = specification(text, policy);
        let mut operands = some(&specification, count);
        // Zeros, infinities and NaNs, which are rare among all codes.
        let special = [0_u64, 0x80, 0x7c, 0xfc, 0x7d, 0x7f, 0x3c, 0xbc];
        operands.extend(some(&specification, 4_000).into_iter().map(|row| {
            let bits = specification.inputs().into_iter().map(|port| port.bits);
            let pick =
                |code: u64, bits: u32| special[usize::try_from(code % 8).expect("few")] & ((1 << bits) - 1);
            row.into_iter().zip(bits).map(|(code, bits)| pick(code, bits)).collect()
        }));
        check(&specification, &operands);
    }
}

#[test]
fn a_bias_port_is_every_bias() {
    if !has("iverilog", "-V") {
        return;
    }
    for text in [
        "Convert<binary16, cfloat8_1_4_3:bias=0, (NearestTiesToEven, SatFinite), semantics=ieee>",
        "Convert<bfloat16, cfloat8_1_5_2:bias=0, (TowardPositive, SatFinite), semantics=ieee>",
        "Convert<cfloat8_1_5_2:bias=0, e4m3fn, (NearestTiesToEven, SatNone), semantics=ieee>",
        "Multiply<cfloat8_1_4_3:bias=0>",
        "Add<cfloat8_1_5_2:bias=0>",
    ] {
        let specification = specification(text, "tesla").with_bias_port().expect("a bias");
        check(&specification, &some(&specification, 20_000));
    }
    let text = "Convert<binary32, cfloat8_1_4_3:bias=0, (NearestTiesToEven, SatFinite), semantics=ieee>";
    let specification = specification(text, "tesla").with_bias_port().expect("a bias");
    let mut rows = Vec::new();
    for bias in [0, 1, 7, 31, 62, 63] {
        let to = format!("cfloat8_1_4_3:bias={bias}");
        rows.extend(ends(&to).into_iter().step_by(3).map(|row| vec![row[0], bias]));
    }
    check(&specification, &rows);
}

#[test]
fn random_words_are_operands() {
    if !has("iverilog", "-V") {
        return;
    }
    for (text, rounding) in [
        ("Convert<e4m3fn, cfloat8_1_4_3:bias=5, semantics=ieee>", Rounding::stochastic_a(6)),
        ("Convert<bfloat16, cfloat8_1_5_2:bias=15, semantics=ieee>", Rounding::stochastic_b(5)),
        ("Convert<bfloat16, e5m2, semantics=ieee>", Rounding::stochastic_c(7)),
        ("Multiply<e4m3fn, e4m3fn, e5m2>", Rounding::stochastic_a(4)),
        ("Add<cfloat8_1_4_3:bias=7>", Rounding::stochastic_a(3)),
    ] {
        let rounding = rounding.expect("a number of bits");
        let unit = UnitUnderTest::new(text.parse().expect(text), None).expect(text);
        let unit = unit.with_policy(None, Some(rounding), None).expect(text);
        let specification = Specification::new(unit).expect(text);
        check(&specification, &some(&specification, 60_000));
    }
}

#[test]
fn flags_can_be_left_out_and_reordered() {
    if !has("iverilog", "-V") {
        return;
    }
    let unit = specification("Multiply<e2m3fn>", "ieee-before");
    check(&unit.clone().with_flags(Flags::NONE), &all(&unit));
    check(&unit.clone().with_order(smallfloat::FlagOrder::Mxcsr), &all(&unit));
}

/// Verilator finds nothing to warn of in units and specifications, bits that a random word without
/// flags never looks at among them.
#[test]
fn generated_text_is_linted() {
    if !has("verilator", "--version") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lint = |text: &str, module: &str| {
        fs::write(folder.path().join("unit.sv"), module).expect("a file");
        let lint = Command::new("verilator")
            .args(["--lint-only", "-Wall", "unit.sv"])
            .current_dir(folder.path())
            .output()
            .expect("verilator");
        assert!(lint.status.success(), "{text}: {}", String::from_utf8_lossy(&lint.stderr));
    };
    for (text, flags) in [
        ("Convert<tf32, e8m0fnu, (StochasticA<1>, SatNone)>", None),
        ("Convert<binary32, e4m3fn, (StochasticA<8>, SatNone)>", None),
        ("Add<e4m3fn, e4m3fn, e4m3fn, (StochasticA<3>, SatNone)>", None),
        ("Add<e4m3fn, e4m3fn, e4m3fn, (StochasticA<3>, SatNone)>", Some("ieee-before")),
        ("Multiply<e5m2, e5m2, e4m3fn, (StochasticA<1>, SatNone)>", None),
        ("Multiply<e4m3fn, e4m3fn, e4m3fn, (NearestTiesToEven, SatNone)>", None),
        ("FMA<e2m1fn, e2m1fn, e2m1fn, e2m1fn, (StochasticA<3>, SatNone)>", None),
        ("Convert<binary16, cfloat8_1_4_3:bias=7, (StochasticA<3>, SatFinite)>", None),
        ("Multiply<e8m0fnu, e8m0fnu, e8m0fnu, (StochasticA<8>, SatNone)>", Some("ieee-before")),
        ("Multiply<e8m0fnu, e8m0fnu, binary8p1ue, (StochasticA<4>, SatNone)>", Some("ieee-after")),
    ] {
        let specification = match flags {
            Some(policy) => specification(text, policy),
            None => specification(text, "ieee-before").with_flags(Flags::NONE),
        };
        lint(text, &generate(&specification, "unit").expect(text).module);
        // Rounding by a random word has no specification for formats without subnormals.
        if !text.contains("8m0") {
            lint(text, &specification.text("unit").expect(text));
        }
    }
    for text in [
        "Convert<e4m3fn, binary32, (NearestTiesToEven, SatNone)>",
        "Convert<binary32, e8m0fnu, (NearestTiesToEven, SatNone)>",
        "Convert<binary32, cfloat8_1_5_2:bias=7, (StochasticB<8>, SatFinite)>",
        "Convert<binary32, binary8p3ue, (TowardNegative, SatFinite)>",
        "Add<e4m3fn, e4m3fn, e4m3fn, (NearestTiesToEven, SatNone)>",
        "Subtract<e4m3fn, e5m2, binary16, (StochasticC<4>, SatNone)>",
        "FMA<e4m3fn, e5m2, binary32, e4m3fn, (TowardZero, SatNone)>",
        "Exp<e2m1fn, e2m1fn, (NearestTiesToEven, SatNone)>",
        "BlockDotProduct<4, e8m0fnu, e2m1fn, e8m0fnu, e2m1fn, binary32, (NearestTiesToEven, SatNone)>",
    ] {
        for flags in [Flags::NONE, Flags::ALL] {
            let specification = specification(text, "ieee-before").with_flags(flags);
            lint(text, &specification.text("unit").expect(text));
        }
    }
    let text = "Convert<cfloat8_1_4_3:bias=0, shp:bias=0, (NearestTiesToEven, SatFinite)>";
    let biased = specification(text, "tesla").with_bias_port().expect(text);
    lint(text, &biased.text("unit").expect(text));
}
