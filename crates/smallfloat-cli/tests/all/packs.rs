//! `smallfloat vectors pack`: the packs are those that were frozen, and their checkers tell right
//! units from wrong ones. The units of `tests/packs` share nothing with the library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assert_cmd::Command as Cli;
use predicates::str::contains;
use sha2::{Digest as _, Sha256};

fn units() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packs")
}

fn pack(name: &str, folder: &Path) -> PathBuf {
    let path = folder.join(name);
    let mut command = Cli::cargo_bin("smallfloat").expect("the command is built");
    command.args(["vectors", "pack", name, "-o"]).arg(&path).assert().success();
    path
}

fn run(folder: &Path, program: &str, args: &[&str], mutation: Option<&str>) -> Output {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env_remove("MUTATION");
    command.envs(mutation.map(|mutation| ("MUTATION", mutation)));
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn shown(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

/// The rows of pack.txt.
fn rows(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("pack.txt")).expect("an index");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Every file has the digest, lines and columns that the index says, and the index has every file.
#[test]
fn packs_are_whole() {
    let temporary = tempfile::tempdir().expect("a folder");
    for (name, files) in [("ofp8", 18), ("mx", 13), ("p3109", 53), ("riscv-fp8", 10)] {
        let folder = pack(name, temporary.path());
        let rows = rows(&folder);
        assert_eq!(rows.len(), files, "{name}");
        for row in &rows {
            let [sha256, lines, operands, results, flags, nan, file] = &row[..] else { panic!("{row:?}") };
            let text = fs::read_to_string(folder.join(format!("{file}.txt"))).expect("vectors");
            let vectors: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
            let digest =
                vectors.iter().fold(Sha256::new(), |digest, line| digest.chain_update(format!("{line}\n")));
            let hex = format!("{:x}", digest.finalize());
            assert_eq!((&hex, &vectors.len().to_string()), (sha256, lines), "{name}/{file}");
            let columns: usize =
                [operands, results].into_iter().map(|n| n.parse::<usize>().expect("a number")).sum();
            assert!(vectors.iter().all(|line| line.split(' ').count() == columns + 1), "{name}/{file}");
            assert_eq!(flags == "flags", name == "riscv-fp8", "{name}/{file}");
            assert!(nan == "-" || u64::from_str_radix(nan, 16).is_ok(), "{name}/{file}: {nan}");
        }
        let files = fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(files, rows.len() + 4, "{name}");
        for checker in ["check.py", "check.c", "check.sv"] {
            let text = fs::read_to_string(folder.join(checker)).expect("a checker");
            assert!(text.lines().count() <= 200, "{checker}");
        }
    }
    let mut again = Cli::cargo_bin("smallfloat").expect("the command is built");
    again.args(["vectors", "pack", "mx", "-o"]).arg(temporary.path().join("mx"));
    again.assert().code(1).stderr(contains("it exists"));
    let mut none = Cli::cargo_bin("smallfloat").expect("the command is built");
    none.args(["vectors", "pack", "fp8", "-o", "x"]).assert().code(1).stderr(contains("ofp8, mx, p3109"));
}

/// Exact fractions in Python agree, and without rounding they differ. A line that is changed, and a
/// file that is gone, are noticed.
#[test]
fn the_checker_in_python() {
    if !is_there("python3") {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = pack("ofp8", temporary.path());
    let unit = units().join("unit.py").display().to_string();
    let check =
        |names: &[&str], mutation| run(&folder, "python3", &[&["check.py", &unit], names].concat(), mutation);
    let right = check(&[], None);
    assert!(right.status.success(), "{}", shown(&right));
    assert!(shown(&right).contains("\n725824 vectors, 0 differ"), "{}", shown(&right));
    let wrong = check(&["binary16-to-e4m3"], Some("truncate"));
    assert_eq!(wrong.status.code(), Some(1), "{}", shown(&wrong));
    assert_eq!(check(&["binary16"], None).status.code(), Some(2));
    let path = folder.join("e5m2-to-binary32.txt");
    let text = fs::read_to_string(&path).expect("vectors");
    fs::write(&path, text.replacen("\n01 ", "\n00 ", 1)).expect("a changed file");
    let changed = check(&["e5m2-to-binary32"], None);
    assert_eq!(changed.status.code(), Some(2), "{}", shown(&changed));
    assert!(shown(&changed).contains("not the 256 vectors"), "{}", shown(&changed));

    // Codes of too many bits are no NaN, and a unit that answers answers all.
    for (answer, said) in [
        ("[codes[0] | 0x100] if codes[0] & 0x7f == 0x7f else codes", "65536 vectors, 16766 differ"),
        ("codes if operands[0] < 0x8000 else None", "65536 vectors, 32768 differ"),
    ] {
        let other = format!(
            "import importlib.util\nspec = importlib.util.spec_from_file_location('right', {unit:?})\n\
             right = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(right)\n\
             def unit(name, operands):\n    codes = right.unit(name, operands)\n    return {answer}\n"
        );
        fs::write(folder.join("other.py"), other).expect("a unit");
        let found = run(&folder, "python3", &["check.py", "other.py", "binary16-to-e4m3"], None);
        assert_eq!(found.status.code(), Some(1), "{}", shown(&found));
        assert!(shown(&found).contains(said), "{}", shown(&found));
    }

    let p3109 = pack("p3109", temporary.path());
    let found = run(
        &p3109,
        "python3",
        &["check.py", &unit, "add-binary8p3se", "multiply-binary8p4se", "sqrt-binary8p3se"],
        None,
    );
    assert!(found.status.success(), "{}", shown(&found));
    assert!(shown(&found).contains("\n131072 vectors, 0 differ"), "{}", shown(&found));
    assert!(shown(&found).contains("sqrt-binary8p3se: not implemented"), "{}", shown(&found));
}

/// RISC-V's conversions in C, flags included; without a sticky bit results differ, with tininess
/// before rounding flags alone.
#[test]
fn the_checker_in_c() {
    if !is_there("cc") {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = pack("riscv-fp8", temporary.path());
    let unit = units().join("unit.c").display().to_string();
    for (options, status, said) in [
        (&[][..], 0, "\n1511232 vectors, 0 differ"),
        (&["-DNO_STICKY"][..], 1, "vfncvtbf16-e4m3: 327680 vectors"),
        (&["-DTINY_BEFORE"][..], 1, " 84 01: found 84 flags 03"),
    ] {
        let built = run(&folder, "cc", &[&["-O2", "check.c", &unit, "-o", "check"], options].concat(), None);
        assert!(built.status.success(), "{}", shown(&built));
        let found = run(&folder, "./check", &[], None);
        assert_eq!(found.status.code(), Some(status), "{options:?}: {}", shown(&found));
        assert!(shown(&found).contains(said), "{options:?}: {}", shown(&found));
    }
    // A unit that answers answers all; codes of too many bits are no NaN.
    let ofp8 = pack("ofp8", temporary.path());
    let wide = "results[0] = right(\"vfwcvtbf16-e4m3\", operands, results, flags) ? results[0] << 16 : 0; \
                answers = 1; if ((results[0] << 1 & 0xffffffff) > 0xff000000) results[0] |= 1ull << 32";
    for (folder, name, answer, said) in [
        (&folder, "vfncvtbf16-e5m2", "if (operands[1] > 0x7000) return 0", "327680 vectors, "),
        (&ofp8, "e4m3-to-binary32", wide, "256 vectors, 2 differ"),
    ] {
        let other = format!(
            "#define unit right\n#include \"{unit}\"\n#undef unit\n\
             int unit(const char *name, const uint64_t *operands, uint64_t *results, unsigned *flags) {{\n\
             int answers = right(name, operands, results, flags);\n{answer};\nreturn answers;\n}}\n"
        );
        fs::write(folder.join("other.c"), other).expect("a unit");
        let built = run(folder, "cc", &["-O2", "check.c", "other.c", "-o", "check"], None);
        assert!(built.status.success(), "{}", shown(&built));
        let found = run(folder, "./check", &[name], None);
        assert_eq!(found.status.code(), Some(1), "{answer}: {}", shown(&found));
        assert!(shown(&found).contains(said), "{answer}: {}", shown(&found));
    }
    let path = folder.join("vfwcvtbf16-e4m3.txt");
    let text = fs::read_to_string(&path).expect("vectors");
    fs::write(&path, text.replacen("\n01 ", "\n00 ", 1)).expect("a changed file");
    let changed = run(&folder, "./check", &["vfwcvtbf16-e4m3"], None);
    assert_eq!(changed.status.code(), Some(2), "{}", shown(&changed));
}

/// Designs under Icarus Verilog, right and with a bug.
#[test]
fn the_checker_in_systemverilog() {
    if !is_there("iverilog") && Command::new("iverilog").arg("-V").output().is_err() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a folder");
    let folder = pack("ofp8", temporary.path());
    let unit = units().join("unit.sv").display().to_string();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let converter = examples.join("examples/fp8/f32_to_fp8.sv").display().to_string();
    for (name, mutation, said) in [
        ("e4m3-to-binary32", 0, "256 vectors, 0 differ"),
        ("e4m3-to-binary32", 1, "256 vectors, 14 differ"),
        ("e4m3-to-binary32", 2, "256 vectors, 2 differ"),
        ("binary32-to-e5m2", 0, "50000 vectors, 0 differ"),
        ("binary32-to-e5m2", 1, "50000 vectors, "),
    ] {
        let (parameter, macros) = (format!("-Pcheck.NAME=\"{name}\""), format!("-DMUTATION={mutation}"));
        let args =
            ["-g2012", "-s", "check", &parameter, &macros, "check.sv", &unit, &converter, "-o", "checked"];
        let built = run(&folder, "iverilog", &args, None);
        assert!(built.status.success(), "{}", shown(&built));
        let found = run(&folder, "vvp", &["-n", "checked"], None);
        assert_eq!(found.status.success(), mutation == 0, "{name}: {}", shown(&found));
        assert!(shown(&found).contains(said), "{name}: {}", shown(&found));
    }
}
