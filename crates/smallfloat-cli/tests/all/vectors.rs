//! `smallfloat vectors`: files, pipes, what is explained, and what is refused.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use assert_cmd::Command;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

fn vectors(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("smallfloat").expect("the command is built");
    command.arg("vectors").args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let output = vectors(args).assert().success().get_output().stdout.clone();
    String::from_utf8(output).expect("text")
}

const TESLA: [&str; 5] = ["gen", "--from", "binary32", "--to", "cfloat8_1_4_3:bias=7"];

#[test]
fn a_file_and_a_pipe_are_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    for layout in ["testfloat", "readmemh", "csv", "jsonl"] {
        let path = folder.path().join(layout);
        let path = path.to_str().expect("a path");
        let args = [&TESLA[..], &["--layout", layout]].concat();
        vectors(&[&args[..], &["-o", path]].concat())
            .assert()
            .success()
            .stdout(contains("vectors of Convert<binary32"));
        let written = fs::read_to_string(path).expect("the file");
        assert_eq!(written, stdout(&args), "{layout}");
        vectors(&["check", path]).assert().success().stdout(contains(" 0 differ"));
        vectors(&["check", "-"]).write_stdin(written).assert().success();
        vectors(&[&args[..], &["-o", path]].concat()).assert().code(1).stderr(contains("--overwrite"));
    }
}

#[test]
fn a_mistake_is_explained() {
    let lines = "# flags: idou\n3c380000 08 02\n3f880000 39 00\n3f8c0000 39 00\n";
    let unit = ["check", "-", "--from", "binary32", "--to", "cfloat8_1_4_3:bias=7"];
    vectors(&unit).write_stdin(lines).assert().code(1).stdout(
        contains("3 vectors: 2 agree, 1 differ")
            .and(contains("One mistake explains the mismatch: ties go away from zero"))
            .and(contains("line 3"))
            .and(contains("between 1 (0x38) and 1.125 (0x39), in the middle: a tie"))
            .and(contains("0x38  0_0111_000  1, normal")),
    );
    let output = vectors(&[&unit[..], &["--json"]].concat()).write_stdin(lines).assert().code(1);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!((&found["passes"], &found["mismatches"]), (&false.into(), &1.into()));
    assert_eq!(found["cause"]["mistake"], "ties go away from zero");
    assert_eq!(found["first"][0]["right"]["results"][0]["code"], "0x38");
    assert_eq!(found["first"][0]["exact"], "1.0625 = 17p-4");
}

#[test]
fn a_part_is_accepted_only_if_asked() {
    let all = stdout(&["gen", "--op", "Add", "--format", "e2m1fn"]);
    let part = all.lines().take(40).collect::<Vec<_>>().join("\n") + "\n";
    let run =
        |options: &[&str]| vectors(&[&["check", "-"], options].concat()).write_stdin(part.clone()).assert();
    run(&[]).code(1).stdout(contains("of 256 that the header promises"));
    run(&["--partial"]).success().stdout(contains("allowed by --partial"));
}

/// A simulator's own lines stop nothing where results have a prefix, and count as lines.
#[test]
fn lines_without_the_prefix_are_passed_over() {
    let unit = ["check", "-", "--op", "Add", "--format", "e2m1fn", "--partial"];
    let prefixed = [&unit[..], &["--prefix", "RESULT "]].concat();
    // 1 + 1 = 2 and 1 + 1.5 = 2.5, a tie that goes to 2.
    let log = "VCD info: dumpfile a.vcd opened\n# a log: of ours\n// flags: none of your business\n\
               RESULT 2 2 4 00\n[10 ns] \u{fffd} warning\nRESULT 2 3 5 01\n\
               tb.sv:40: $finish called at 500 (1s)\n";
    vectors(&unit).write_stdin(log).assert().code(1).stderr(contains("line 1: `VCD info"));
    let found = vectors(&prefixed).write_stdin(log).assert().code(1);
    found.stdout(contains("2 vectors: 1 agree, 1 differ").and(contains("line 6\n")));
    let none = log.replace("RESULT ", "result ");
    vectors(&prefixed).write_stdin(none).assert().code(1).stderr(contains("begins with `RESULT `"));
    // A header that a script copied, and one that the simulator printed.
    let header = "# operation: Add<e2m1fn>\n# flag policy: ieee-before\n";
    for header in [header.to_owned(), header.replace("# ", "RESULT # ")] {
        let log = format!("a simulator, version 1\n{header}{log}");
        let run = vectors(&["check", "-", "--prefix", "RESULT "]).write_stdin(log).assert().code(1);
        run.stdout(contains("2 vectors: 1 agree, 1 differ"));
    }
}

/// The lines of all shards, one after the other, are those of the whole, and each file says which
/// it is.
#[test]
fn shards_are_the_whole() {
    let unit = ["gen", "--op", "Add", "--format", "e4m3fn", "--level", "1", "--random", "100"];
    let lines = |text: String| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    };
    let mut parts = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        let text = stdout(&[&unit[..], &["--shard", shard]].concat());
        assert!(text.contains(&format!("# shard: {shard}, lines {} to ", parts.len() + 1)), "{shard}");
        vectors(&["check", "-"]).write_stdin(text.clone()).assert().success();
        parts.extend(lines(text));
    }
    assert!(parts == lines(stdout(&unit)));
    let some = stdout(&["gen", "--op", "Add", "--format", "e4m3fn", "--only", "random", "--count", "7"]);
    assert!(some.contains("# models: weighted random 7\n# seed: 0\n# lines: 7\n"), "{some}");
    assert_eq!(lines(some).len(), 7);
}

#[test]
fn policies_are_the_callers() {
    let all =
        |rounding: &str| stdout(&["gen", "--op", "Multiply", "--format", "e5m2", "--rounding", rounding]);
    // 1.25 · 1.25 = 1.5625: 1.5 below, 1.75 above.
    for (rounding, line) in [
        ("nearest-even", "3d 3d 3e 01"),
        ("toward-positive", "3d 3d 3f 01"),
        ("toward-negative", "3d 3d 3e 01"),
    ] {
        assert!(all(rounding).lines().any(|found| found == line), "{rounding}: {line}");
    }
    let wide = ["gen", "--from", "bfloat16", "--to", "e4m3fn"];
    let last = |preset: &str| {
        let text = stdout(&[&wide[..], &["--preset", preset]].concat());
        text.lines().find(|line| line.starts_with("7f80 ")).map(str::to_owned)
    };
    // +∞ in a format without infinity.
    assert_eq!(last("ml-dtypes").as_deref(), Some("7f80 7f 05"));
    assert_eq!(last("ocp-saturate").as_deref(), Some("7f80 7e 05"));
    // With 3 random bits all 2^11 operands are tried.
    let stochastic = stdout(&[
        "gen",
        "--from",
        "e4m3fn",
        "--to",
        "e2m1fn",
        "--rounding",
        "stochastic-a",
        "--random-bits",
        "3",
    ]);
    assert!(stochastic.contains("# lines: 2048\n"));
    // 1.25 lies half way from 1 to 1.5: away iff 4 + R ≥ 8.
    assert!(stochastic.contains("\n3a 3 2 01\n3a 4 3 01\n"), "{stochastic}");
}

#[test]
fn mistakes_of_the_caller_are_named() {
    for (args, words) in [
        (&["gen"][..], "--op OPERATION"),
        (&["gen", "--op", "convert"], "--from and --to"),
        (&["gen", "--op", "Ad", "--format", "e5m2"], "did you mean"),
        (&["gen", "--op", "BlockAdd", "--format", "e5m2"], "block length first"),
        (&["gen", "--op", "MaxFiniteOf<e5m2>"], "no operands"),
        (&["gen", "--op", "CompareLess", "--format", "e5m2", "--rounding", "to-odd"], "rounds nothing"),
        (&["gen", "--op", "Add", "--format", "binary32", "--level", "exhaustive"], "level 1 or 2"),
        (
            &["gen", "--op", "Add", "--format", "e5m2", "--level", "exhaustive", "--only", "random"],
            "level 1 or 2",
        ),
        (&["gen", "--op", "Add", "--format", "e5m2", "--count", "0"], "more than 0"),
        (&["check", "-", "--rounding", "to-odd"], "needs --op"),
        (&["check", "/nowhere/vectors"], "/nowhere/vectors"),
    ] {
        vectors(args).assert().code(1).stderr(contains(words));
    }
    vectors(&["gen", "--layout", "xml"])
        .assert()
        .code(2)
        .stderr(contains("testfloat, readmemh, csv or jsonl"));
    vectors(&["gen", "--shard", "3/2"]).assert().code(2).stderr(contains("write I/N"));
    vectors(&["gen", "--level", "3"]).assert().code(2).stderr(contains("exhaustive, 1 or 2"));
    let unit = ["check", "-", "--op", "Add", "--format", "e2m1fn"];
    vectors(&unit).write_stdin("1 1 2 00\n1 1\n").assert().code(1).stderr(contains("standard input: line 2"));
}

#[test]
fn a_closed_pipe_is_success() {
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("smallfloat"))
        .args(["vectors", "gen", "--op", "Add<e4m3fn, e5m2, e5m2>"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All pairs of binary16 are 2^32 lines; the first ones come while the others are computed.
#[test]
fn an_exhaustive_run_streams_from_its_start() {
    let start = Instant::now();
    let mut child = Process::new(assert_cmd::cargo::cargo_bin("smallfloat"))
        .args(["vectors", "gen", "--op", "Add", "--format", "binary16", "--level", "exhaustive"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let first = lines.find(|line| !line.starts_with('#'));
    let seconds = start.elapsed().as_secs_f64();
    drop(lines);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(first.as_deref(), Some("0000 0000 0000 00"));
    // On a machine that others use too; the dev profile takes some 0.1 s.
    assert!(seconds < 5.0, "{seconds} s");
}

/// Biases and modes as columns: written, checked, covered, and named in what is found.
#[test]
fn ports_are_columns() {
    let gen_args = ["gen", "--from", "binary16", "--to", "cfloat8_1_4_3", "--ports"];
    let text = stdout(&[&gen_args[..], &["bias=7/9,rounding=toward-zero", "--count", "400"]].concat());
    assert!(text.contains("# ports: bias=7/9, rounding=toward-zero\n"), "{text}");
    assert!(text.contains("# fields: bias:2 rounding:1 x:4 result:2 flags:2\n"), "{text}");
    vectors(&["check", "-"]).write_stdin(text.clone()).assert().success().stdout(
        contains("ports: bias=7/9, rounding=toward-zero\n").and(contains("400 vectors: 400 agree, 0 differ")),
    );
    vectors(&["cover", "-"])
        .write_stdin(text)
        .assert()
        .success()
        .stdout(contains("ports: bias=7/9, rounding=toward-zero, 2 settings\n"));
    // 1.0625 is half way from 1 to 1.125 at bias 7 (0x38) and at bias 9 (0x48); toward zero is 1.
    let lines = "07 0 3c40 38 00\n09 0 3c40 48 00\n07 1 3c40 38 00\n09 1 3c40 49 00\n09 3 bc40 c8 00\n";
    let unit = ["check", "-", "--from", "binary16", "--to", "cfloat8_1_4_3", "--ports", "bias,rounding"];
    let prefixed = format!("RESULT {}\n", lines.trim_end().replace('\n', "\nRESULT "));
    let run = vectors(&[&unit[..], &["--prefix", "RESULT "]].concat()).write_stdin(prefixed).assert().code(1);
    run.stdout(
        contains("5 vectors: 4 agree, 1 differ")
            .and(contains("line 4\n  bias     9\n  rounding toward-zero\n  x        0x3c40"))
            .and(contains("right    0x48  0_1001_000  1, normal")),
    );
    let output = vectors(&[&unit[..], &["--json"]].concat()).write_stdin(lines).assert().code(1);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    let first = &found["first"][0];
    assert_eq!(
        first["ports"][1],
        serde_json::json!({"name": "rounding", "code": "0x1", "value": "toward-zero"})
    );
    assert_eq!(
        (&first["operands"][0]["name"], &first["right"]["results"][0]["value"]),
        (&"x".into(), &"1".into())
    );
    vectors(&[&gen_args[..], &["clock"]].concat())
        .assert()
        .code(2)
        .stderr(contains("`clock` is none of bias"));
    vectors(&["gen", "--op", "Add", "--format", "e4m3fn", "--ports", "bias"])
        .assert()
        .code(1)
        .stderr(contains("--ports: no format here has a bias that a port can choose"));
    vectors(&["check", "-", "--ports", "bias"])
        .write_stdin("")
        .assert()
        .code(1)
        .stderr(contains("--ports needs"));
}

/// Conversions into lists of values and out of them are units as others are.
#[test]
fn lists_have_vectors() {
    let text = stdout(&["gen", "--from", "bfloat16", "--to", "nf4"]);
    assert!(text.contains("# operation: Convert<bfloat16, nf4>\n"), "{text}");
    assert!(text.contains("; ties to the lower value\n# fields: x:4 result:1 flags:2\n# flags: iouxz\n"));
    vectors(&["check", "-"])
        .write_stdin(text.clone())
        .assert()
        .success()
        .stdout(contains("65,282 agree, 0 differ"));
    assert_eq!(text, stdout(&["gen", "--op", "Convert<bfloat16, nf4>"]));
    // 0.04 is nearer to 0.0796, 8, than to 0, 7; 1 is f.
    let lines = "3d24 7 01\n3f80 f 00\n";
    let unit = ["check", "-", "--from", "bfloat16", "--to", "nf4"];
    vectors(&unit).write_stdin(lines).assert().code(1).stdout(
        contains("2 vectors: 1 agree, 1 differ")
            .and(contains("between 0 (0x7) and 0.0795803 (0x8), nearer to the second"))
            .and(contains("right    0x8  0.0795803\n")),
    );
    let output = vectors(&[&unit[..], &["--json"]].concat()).write_stdin(lines).assert().code(1);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!((&found["operation"], &found["mismatches"]), (&"Convert<bfloat16, nf4>".into(), &1.into()));
    let right = &found["first"][0]["right"]["results"][0];
    assert_eq!((&right["code"], &right["value"]), (&"0x8".into(), &"0.0795803".into()));
    // `int8` is a list beside another one, and else the type of integers.
    let text = stdout(&["gen", "--from", "int8", "--to", "int4"]);
    assert!(text.contains("\n07 7 00\n08 7 01\n"), "{text}");
    assert!(stdout(&["gen", "--from", "e4m3fn", "--to", "int8"]).contains("# operation: ConvertToInt8<"));
}

/// Sums of products as a matrix unit adds them: written, checked, and a wrong one named.
#[test]
fn sums_of_a_matrix_unit_have_vectors() {
    let unit = ["gen", "--op", "dot", "--format", "e4m3fn", "--accumulate", "hopper", "--random", "500"];
    let text = stdout(&unit);
    assert!(text.contains("# operation: Dot<32, e4m3fn, e4m3fn, hopper>\n"), "{text}");
    assert!(text.contains("\n# accumulator: fused:k=32,fraction=13,output=e8m13\n"), "{text}");
    vectors(&["check", "-"]).write_stdin(text).assert().success().stdout(contains(" agree, 0 differ"));
    // 256 and 1: 13 bits after 2^8 end at 2^-5, so that all of 2^-6 is lost, and 257 is kept.
    let lines = "# operation: Dot<3, e4m3fn, e4m3fn, hopper>\n# flags: none\n\
                 58 08 38 58 38 38 00000000 43808000\n58 00 38 58 38 38 00000000 43808000\n\
                 58 08 08 58 38 38 00000000 43800400\n";
    let run = vectors(&["check", "-"]).write_stdin(lines).assert().code(1);
    run.stdout(
        contains("3 vectors: 2 agree, 1 differ")
            .and(contains("One mistake explains the mismatch: keeps "))
            .and(contains("line 5\n  x0       0x58  0_1011_000  16, normal\n  x1-x2    0x08"))
            .and(contains("  y1-y2    0x38"))
            .and(contains("right    0x43800000"))
            .and(contains("as if    keeps ")),
    );
    let output = vectors(&["check", "-", "--json"]).write_stdin(lines).assert().code(1);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!(found["operation"], "Dot<3, e4m3fn, e4m3fn, hopper>");
    assert_eq!(found["first"][0]["operands"][6]["name"], "c");
    // Twenty sums of 64 products, of random operands alone.
    let few = ["gen", "--op", "dot", "--format", "e2m1fn", "--accumulate", "blackwell", "--length", "64"];
    let few = stdout(&[&few[..], &["--only", "random", "--count", "20", "--layout", "csv"]].concat());
    assert_eq!(few.lines().filter(|line| line.starts_with("0x")).count(), 20);
    assert!(few.contains("\nx0,x1,") && few.contains(",y63,c,result,flags\n"), "{few}");
}

/// Sums of products with block scales: by options and by name, and a unit that takes them late.
#[test]
fn sums_with_block_scales_have_vectors() {
    let unit = ["gen", "--op", "dot", "--format", "e2m1fn", "--accumulate", "blackwell", "--random", "100"];
    let text = stdout(&[&unit[..], &["--scales", "e4m3fn"]].concat());
    assert!(text.contains("# operation: Dot<64, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>\n"), "{text}");
    vectors(&["check", "-"]).write_stdin(text).assert().success().stdout(contains(" agree, 0 differ"));
    let text = stdout(&[&unit[..], &["--scales", "e8m0fnu", "--length", "40", "--layout", "csv"]].concat());
    assert!(text.contains("# operation: Dot<40, e2m1fn, e2m1fn, blackwell, e8m0fnu, 32>\n"), "{text}");
    assert!(text.contains(",y39,s0,s1,t0,t1,c,result,flags\n"), "{text}");
    let name = "Dot<40, e2m1fn, e2m1fn, blackwell, e8m0fnu, 16>";
    let few = ["--random", "100", "--layout", "readmemh"];
    let by_name = stdout(&[&["gen", "--op", name], &few[..]].concat());
    let more = ["--scales", "e8m0fnu", "--length", "40", "--block", "16", "--layout", "readmemh"];
    assert_eq!(by_name, stdout(&[&unit[..], &more].concat()));
    assert!(by_name.contains(" s2["), "{by_name}");
    // Blocks of 1 · 1 with scales 2 and 1 of x, 1 and 4 of y: 16 · 2 + 4. Their neighbours' scales
    // taken late give 16 · 2 + 2 · 1.
    let ones = format!("{}2 {}2", "2 ".repeat(16), "2 ".repeat(16));
    let lines = |results: [&str; 2]| {
        format!(
            "# operation: Dot<17, e2m1fn, e2m1fn, blackwell, e4m3fn, 16>\n# flags: none\n\
             {ones} 40 38 38 48 00000000 {}\n{ones} 38 c0 38 38 3f800000 {}\n",
            results[0], results[1]
        )
    };
    vectors(&["check", "-"]).write_stdin(lines(["42100000", "41980000"])).assert().success();
    let late = lines(["42080000", "41900000"]);
    let run = vectors(&["check", "-"]).write_stdin(late.clone()).assert().code(1);
    run.stdout(
        contains("2 vectors: 0 agree, 2 differ")
            .and(contains("as if    takes the first scale for all blocks"))
            .and(contains("  s0       0x40"))
            .and(contains("  exact    36")),
    );
    let output = vectors(&["check", "-", "--json"]).write_stdin(late).assert().code(1);
    let found: Value = serde_json::from_slice(&output.get_output().stdout).expect("JSON");
    assert_eq!(found["first"][0]["operands"][34]["name"], "s0");
}
