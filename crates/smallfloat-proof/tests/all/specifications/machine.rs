//! Specifications compiled by Verilator, run over all their inputs and compared with what is
//! expected there.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use smallfloat_rtl::Specification;
use smallfloat_rtl::specification::Port;

/// Inputs in a row with one answer, up to the next run's first one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The last input: the operands' codes as one number, the first operand's bits at the top.
    pub(crate) last: u64,
    pub(crate) result: u64,
    pub(crate) flags: u64,
    /// The bits of the result that are open.
    pub(crate) open: u64,
}

/// A specification, and what is expected of it for all inputs, in order.
pub(crate) struct Case {
    pub(crate) specification: Specification,
    pub(crate) runs: Vec<Run>,
}

impl Case {
    /// A case from the answers to all inputs.
    pub(crate) fn new(specification: Specification, answers: impl IntoIterator<Item = Run>) -> Self {
        let mut runs: Vec<Run> = Vec::new();
        for answer in answers {
            match runs.last_mut() {
                Some(last) if Run { last: last.last, ..answer } == *last => last.last = answer.last,
                _ => runs.push(answer),
            }
        }
        Self { specification, runs }
    }

    /// The widths of its inputs.
    pub(crate) fn widths(&self) -> Vec<u32> {
        self.inputs().iter().map(|port| port.bits).collect()
    }

    fn inputs(&self) -> Vec<Port> {
        self.specification.inputs()
    }

    fn result_bits(&self) -> u32 {
        self.specification.outputs()[0].bits
    }
}

/// Which inputs are tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    All,
    /// The first and the last input of every run.
    Ends,
}

/// Compares specifications that have the same inputs with what is expected of them. Returns how
/// many results were compared.
pub(crate) fn compare(cases: &[Case], extent: Extent) -> Result<u64, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path();
    let inputs = cases[0].inputs();
    let bits: u32 = inputs.iter().map(|port| port.bits).sum();
    let count = 1_u64 << bits;
    let mut expected: Vec<u64> = Vec::new();
    for case in cases {
        assert_eq!(case.inputs(), inputs, "{}", case.specification.unit().operation());
        assert_eq!(case.runs.last().expect("runs").last, count - 1, "all inputs have an answer");
        expected.push(case.runs.len() as u64);
        for run in &case.runs {
            let result_bits = case.result_bits();
            expected.extend([run.last, run.flags << result_bits | run.result, run.open]);
        }
    }
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut tried: Vec<u64> = Vec::new();
    if extent == Extent::Ends {
        let ends = cases.iter().flat_map(|case| &case.runs).flat_map(|run| [run.last, run.last + 1]);
        tried.extend(ends.filter(|input| *input < count).chain([0]));
        tried.sort_unstable();
        tried.dedup();
    }
    fs::write(folder.join("expected"), words(&expected)).expect("a file");
    fs::write(folder.join("inputs"), words(&tried)).expect("a file");
    fs::write(folder.join("all.sv"), modules(cases, &inputs)).expect("a file");
    fs::write(folder.join("main.cpp"), program(cases.len(), bits, extent)).expect("a file");
    // What runs for longer is compiled with more effort.
    let level = match (extent, bits) {
        (Extent::Ends, _) | (_, ..=16) => "-O0",
        (_, ..=24) => "-O1",
        _ => "-O2",
    };
    let arguments = "--cc --exe -O3 --x-assign unique --output-split 0 -Wno-fatal -Wno-lint --top-module all";
    run(folder, "verilator", arguments.split(' ').chain(["-Mdir", "built", "-o", "all", "all.sv"]));
    let (built, library) = (folder.join("built"), library());
    copy_objects(&library, &built).expect("objects are copied");
    // All in one file in C++, tables and program too: each would read Verilator's headers anew.
    let one_file = ["VM_PARALLEL_BUILDS=0", "VM_SUPPORT_FAST=../main"];
    let levels = [format!("OPT_FAST={level}"), format!("OPT_SLOW={level}"), "OPT_GLOBAL=-O0".into()];
    let make = ["-s", "-C", "built", "-f", "Vall.mk"].into_iter().chain(one_file);
    run(folder, "make", make.chain(levels.iter().map(String::as_str)));
    keep_objects(&built, &library).expect("objects are kept");
    let text = run(folder, "./built/all", []);
    let wrong: Vec<String> = text.lines().filter_map(|line| mismatch(cases, &inputs, line)).collect();
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let tried = if extent == Extent::Ends { tried.len() as u64 } else { count };
    assert!(text.ends_with(&format!("tried {tried}\n")), "{text}");
    Ok(tried * cases.len() as u64)
}

/// Where Verilator's own library lies once a program has been built with it: the next programs take
/// half the time.
fn library() -> PathBuf {
    let version = run(Path::new("."), "verilator", ["--version"]);
    let name: String = version.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').collect();
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Copies the objects of the library, if they are there; they are newer than their sources.
fn copy_objects(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(files) = fs::read_dir(from) else { return Ok(()) };
    for file in files {
        let file = file?;
        let name = file.file_name();
        let is_object =
            name.to_string_lossy().starts_with("verilated") && file.path().extension() == Some("o".as_ref());
        if is_object {
            fs::copy(file.path(), to.join(name))?;
        }
    }
    Ok(())
}

/// Puts the objects into the folder of the library at once, unless another has done it.
fn keep_objects(built: &Path, library: &Path) -> io::Result<()> {
    if library.exists() {
        return Ok(());
    }
    let parent = library.parent().expect("a folder in another");
    let draft = tempfile::Builder::new().tempdir_in(parent)?;
    copy_objects(built, draft.path())?;
    let draft = draft.keep();
    if fs::rename(&draft, library).is_err() {
        fs::remove_dir_all(draft)?;
    }
    Ok(())
}

/// Runs a program, which must succeed.
fn run<'a>(folder: &Path, program: &str, arguments: impl IntoIterator<Item = &'a str>) -> String {
    // What stands in the folder is named by its whole path.
    let path = if program.starts_with("./") { folder.join(program) } else { program.into() };
    let output = Command::new(path).args(arguments).current_dir(folder).output().expect(program);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program}: {}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

/// All specifications, and a module with one of each: the same inputs, an answer for each.
fn modules(cases: &[Case], inputs: &[Port]) -> String {
    let mut text = String::new();
    for (i, case) in cases.iter().enumerate() {
        text += &case.specification.text(&format!("unit_{i}")).expect("it is specified");
    }
    let bits: u32 = inputs.iter().map(|port| port.bits).sum();
    write!(text, "module all (\n    input [{}:0] word", bits - 1).expect("text");
    for (i, case) in cases.iter().enumerate() {
        let width: u32 = case.specification.outputs().iter().map(|port| port.bits).sum();
        write!(text, ",\n    output [{}:0] answer_{i}", width - 1).expect("text");
    }
    text.push_str("\n);\n");
    for (i, case) in cases.iter().enumerate() {
        let mut low = bits;
        let mut connections: Vec<String> = inputs
            .iter()
            .map(|port| {
                low -= port.bits;
                format!(".{}(word[{low} +: {}])", port.name, port.bits)
            })
            .collect();
        let (mut low, outputs) = (0, case.specification.outputs());
        for port in outputs {
            connections.push(format!(".{}(answer_{i}[{low} +: {}])", port.name, port.bits));
            low += port.bits;
        }
        writeln!(text, "    unit_{i} of_{i} ({});", connections.join(", ")).expect("text");
    }
    text + "endmodule\n"
}

/// The program: a line for each of the first mismatches of a case, and how many inputs were tried.
fn program(cases: usize, bits: u32, extent: Extent) -> String {
    let mut text = format!(
        r#"#include "Vall.h"
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

static std::vector<uint64_t> words(const char *name) {{
    std::ifstream file(name, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto *start = reinterpret_cast<const uint64_t *>(bytes.data());
    return std::vector<uint64_t>(start, start + bytes.size() / 8);
}}

int main() {{
    const auto expected = words("expected"), inputs = words("inputs");
    const uint64_t *run[{cases}];
    int shown[{cases}] = {{}};
    size_t at = 0;
    for (int i = 0; i < {cases}; i++) {{
        run[i] = &expected[at + 1];
        at += 1 + 3 * expected[at];
    }}
    Vall all;
    uint64_t answer[{cases}];
    const uint64_t count = {count};
    for (uint64_t n = 0; n < count; n++) {{
        const uint64_t input = {input};
        all.word = input;
        all.eval();
"#,
        count = if extent == Extent::All { format!("1ull << {bits}") } else { "inputs.size()".into() },
        input = if extent == Extent::All { "n" } else { "inputs[n]" },
    );
    for i in 0..cases {
        writeln!(text, "        answer[{i}] = all.answer_{i};").expect("text");
    }
    write!(
        text,
        r#"        for (int i = 0; i < {cases}; i++) {{
            while (run[i][0] < input) run[i] += 3;
            if (((answer[i] ^ run[i][1]) & ~run[i][2]) && shown[i]++ < 3)
                printf("%d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", i, input, answer[i], run[i][1]);
        }}
    }}
    printf("tried %" PRIu64 "\n", count);
}}
"#
    )
    .expect("text");
    text
}

/// A mismatch in words.
fn mismatch(cases: &[Case], inputs: &[Port], line: &str) -> Option<String> {
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [case, mut input, got, expected] = numbers[..] else { return None };
    let case = &cases[usize::try_from(case).expect("a case")];
    let mut operands: Vec<String> = Vec::new();
    for port in inputs.iter().rev() {
        operands.insert(0, format!("{} {:x}", port.name, input & (u64::MAX >> (64 - port.bits))));
        input >>= port.bits;
    }
    let bits = case.result_bits();
    let show =
        |answer: u64| format!("{:x} with flags {:b}", answer & (u64::MAX >> (64 - bits)), answer >> bits);
    Some(format!(
        "{}, {}: {}, expected {}",
        case.specification.unit().operation(),
        operands.join(", "),
        show(got),
        show(expected)
    ))
}
