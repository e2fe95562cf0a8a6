//! `smallfloat kappa`: variants, vectors, intervals, pictures, and what it refuses.

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

const EXP: &str = "Exp<bfloat16, Binary8p4se, (NearestTiesToEven, SatFinite)>";
/// Binary4p2sf: 0, 1/4, 1/2, 3/4, 1, 3/2, 2, 3 are the codes 0 to 7.
const ADD: &str = "Add<Binary4p2sf, Binary4p2sf, Binary4p2sf, (NearestTiesToEven, SatFinite)>";

fn kappa(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("kappa").args(args);
    command
}

fn json(args: &[&str]) -> Value {
    let output = kappa(args).arg("--json").assert().success().get_output().stdout.clone();
    serde_json::from_slice(&output).expect("JSON")
}

#[test]
fn variants_are_listed() {
    kappa(&[]).assert().success().stdout(contains("f32-libm").and(contains("flush-nearest")));
    assert!(json(&[]).as_array().is_some_and(|rows| rows.iter().any(|row| row["name"] == "bfloat16")));
}

/// The draft's example: subnormals 1 to 7, the smallest normal 8.
#[test]
fn the_drafts_example() {
    let found = json(&[EXP, "--variant", "flush-nearest"]);
    assert_eq!((&found["kappa"], &found["exhaustive"]), (&4.into(), &true.into()));
    assert_eq!(found["worst"]["defined"]["code"], "0x04");
    kappa(&[EXP, "--variant", "flush-zero"])
        .assert()
        .success()
        .stdout(contains("κ = 7").and(contains("all 65,536 operands")));
}

/// e^x is at least the smallest normal value, 2^−7, for x ≥ −4.852: there nothing is flushed.
#[test]
fn intervals_have_their_own_kappa() {
    let found = json(&[EXP, "--variant", "flush-zero", "--interval", "-4.85..", "--interval", "..-5"]);
    let parts: Vec<_> = found["intervals"].as_array().expect("intervals").iter().collect();
    assert_eq!((&parts[0]["interval"], &parts[0]["kappa"]), (&"..-5".into(), &7.into()));
    assert_eq!((&parts[1]["interval"], &parts[1]["kappa"]), (&"-4.85..".into(), &0.into()));
    // NaNs, 2 · 127 of them, lie elsewhere; so do the few bfloat16 numbers from −5 to −4.85.
    assert!(found["elsewhere"]["compared"].as_u64().is_some_and(|count| (254..300).contains(&count)));
    let out = kappa(&[EXP, "--variant", "flush-zero", "--per-binade"])
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let text = String::from_utf8(out).expect("text");
    assert!(text.contains("-2^3<..=-2^2") && text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn vectors_from_a_stream() {
    // 1 + 1 = 2; 3/4 + 3/4 = 3/2, here one step too high; 3 + 3 saturates at 3.
    let lines = "# a unit\n4 4 6\n\n3 3 6\n7 7 7\n";
    kappa(&[ADD, "--vectors", "-"])
        .write_stdin(lines)
        .assert()
        .success()
        .stdout(contains("κ = 1").and(contains("3 calls with 3 of 256 operands")).and(contains("0x3")));
    let flags = lines.replace("# a unit", "# operands result flags").replace("4 4 6", "4 4 6 01");
    kappa(&[ADD, "--vectors", "-"]).write_stdin(flags).assert().success().stdout(contains("κ = 1"));
    // NaN, code 8, in the place of a number.
    kappa(&[ADD, "--vectors", "-"]).write_stdin("4 4 8\n").assert().success().stdout(contains("κ = NaN"));
}

/// Scale and element in turn: with scales of 1 (code 80) and 2 (81), 1 + 2·(1/2) = 2; the next
/// value below is 3/2.
#[test]
fn scaled_operations_and_neighbours_are_measured() {
    let scaled = "ScaledAdd<(Binary8p1uf, Binary4p2sf), (Binary8p1uf, Binary4p2sf), Binary4p2sf>";
    kappa(&[scaled, "--vectors", "-"])
        .write_stdin("80 4 81 2 6\n80 4 81 2 5\n")
        .assert()
        .success()
        .stdout(contains("κ = 1"));
    kappa(&["NextGreaterThan<Binary4p2sf>", "--vectors", "-"])
        .write_stdin("4 5\n5 5\n")
        .assert()
        .success()
        .stdout(contains("κ = 1").and(contains("2 calls with 2 of 16 operands")));
    kappa(&["BlockExp<1, (e8m0fnu, e5m2), e8m0fnu, e5m2>", "--vectors", "-"])
        .write_stdin("")
        .assert()
        .code(1);
}

#[test]
fn an_operation_named_alone_takes_its_format_apart() {
    let alone = kappa(&["Exp", "--format", "cfloat8_1_4_3", "--variant", "flush-zero", "--json"])
        .assert()
        .success()
        .stderr(contains("no bias is given: cfloat8_1_4_3:bias=7,"));
    let full = "Exp<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>";
    let whole = kappa(&[full, "--variant", "flush-zero", "--json"]).assert().success().stderr("");
    assert_eq!(alone.get_output().stdout, whole.get_output().stdout);
    kappa(&[EXP, "--format", "e4m3fn", "--variant", "exact"]).assert().code(1).stderr(contains("give one"));
    kappa(&["Exp", "--variant", "exact"]).assert().code(1).stderr(contains("--format"));
}

/// Too many operands to try all: those of test vectors, of which κ is a lower bound.
#[test]
fn sums_and_wide_operands_are_sampled() {
    let sum = "Dot<32, e4m3fn, e4m3fn, exact>";
    let found = json(&[sum, "--variant", "hopper", "--random", "100", "--seed", "5"]);
    assert_eq!(found["exhaustive"], false);
    assert_eq!(found["worst"]["operands"].as_array().map(Vec::len), Some(64));
    // Of 13 fraction bits all but ten of binary32's bits are lost.
    assert!(found["kappa"].as_u64().is_some_and(|steps| steps >= 1023));
    // 2^16 − 2^16 + 4, of which hopper cuts all below 2^3.
    kappa(&[sum, "--variant", "hopper"])
        .assert()
        .success()
        .stdout(contains("13,843 calls").and(contains("κ may be larger")).and(contains("x3-x31")));
    let found = json(&["Add<binary32, binary32, binary32>", "--variant", "exact", "--random", "10"]);
    assert_eq!((&found["kappa"], &found["exhaustive"]), (&0.into(), &false.into()));
    let found = json(&["Dot<2, e2m1fn, e2m1fn, exact>", "--variant", "f32"]);
    assert_eq!((&found["kappa"], &found["compared"]), (&0.into(), &65536.into()));
}

#[test]
fn pictures_are_whole_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("steps.svg");
    let path = path.to_str().expect("a path");
    kappa(&[EXP, "--variant", "flush-zero", "--plot", path]).assert().success();
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert!(
        svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.contains("operand (bfloat16)")
    );
    kappa(&[EXP, "--variant", "flush-zero", "--plot", path]).assert().code(1).stderr(contains("--overwrite"));
    // Many steps, along an operand with a name.
    let sum = "Dot<2, e2m1fn, e2m1fn, exact>";
    kappa(&[sum, "--variant", "fused:k=2,fraction=2", "--operand", "3", "--plot", path, "--overwrite"])
        .assert()
        .success();
    let svg = std::fs::read_to_string(path).expect("a picture");
    assert!(["2^28", "y0 (e2m1fn)"].into_iter().all(|label| svg.contains(label)), "{svg}");
    // Nothing differs: the picture is empty, not missing.
    kappa(&[EXP, "--variant", "exact", "--plot", path, "--overwrite"]).assert().success();
}

#[test]
fn mistakes_are_named() {
    kappa(&[EXP]).assert().code(1).stderr(contains("--variant or --vectors"));
    kappa(&[EXP, "--variant", "f16-libm"]).assert().code(1).stderr(contains("`f16-libm`"));
    kappa(&["Expo<e5m2, e5m2>", "--variant", "exact"])
        .assert()
        .code(1)
        .stderr(contains("did you mean `Exp`"));
    kappa(&[ADD, "--variant", "taylor"]).assert().code(1).stderr(contains("Exp, Exp2, not Add"));
    kappa(&[ADD, "--vectors", "-"]).write_stdin("4 4 6\n4 4\n").assert().code(1).stderr(contains("line 2"));
    kappa(&[ADD, "--vectors", "-"]).write_stdin("# none\n").assert().code(1).stderr(contains("no vector"));
    kappa(&[ADD, "--vectors", "no-such-file"]).assert().code(1).stderr(contains("no-such-file"));
    kappa(&[EXP, "--variant", "exact", "--interval", "1-2"]).assert().code(1).stderr(contains("LO..HI"));
    kappa(&[EXP, "--variant", "exact", "--operand", "2"]).assert().code(1).stderr(contains("1..=1"));
    kappa(&["Add<binary32, binary32, binary32>", "--variant", "exact", "--level", "exhaustive"])
        .assert()
        .code(1)
        .stderr(contains("2^64"));
    kappa(&["MaxFiniteOf<e5m2>", "--vectors", "-", "--operand", "1"])
        .assert()
        .code(1)
        .stderr(contains("MaxFiniteOf takes no operands"));
    let long = "z".repeat(100_000);
    let vectors =
        kappa(&[ADD, "--vectors", "-"]).write_stdin(long.clone()).assert().code(1).get_output().clone();
    let operation = kappa(&[&format!("Exp<{long}>")]).assert().code(1).get_output().clone();
    assert!(vectors.stderr.len() < 500 && operation.stderr.len() < 500);
    // Wrong usage: two sources, no operation.
    kappa(&[ADD, "--variant", "exact", "--vectors", "-"]).assert().code(2);
    kappa(&["--variant", "exact"]).assert().code(2);
}
