//! Designs proved, refuted with counterexamples that the core confirms, and refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use smallfloat::Flags;
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_rtl::{
    Counterexample, Design, Error, Method, ProofOptions, Solver, Specification, Verdict, generate, prove,
};

use crate::has;

const CONVERTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rtl/f32_to_cfloat8.sv");

/// The example's converter with one of its seeded bugs.
fn converter(mutation: i64, gradual: u64) -> Design {
    Design {
        files: vec![CONVERTER.into()],
        top: "f32_to_cfloat8".into(),
        parameters: vec![("MUTATION".into(), mutation)],
        ports: "x=f32,result=code".parse().expect("ports"),
        ties: vec![("gradual".into(), gradual)],
        ..Design::default()
    }
}

fn conversion(to: &str) -> Specification {
    let unit = UnitUnderTest::convert(
        &"binary32".parse().expect("a format"),
        &to.parse().expect(to),
        None,
        None,
        None,
    );
    Specification::new(unit.expect(to)).expect(to)
}

fn operation(text: &str) -> Specification {
    Specification::new(UnitUnderTest::new(text.parse().expect(text), None).expect(text)).expect(text)
}

fn decide(design: &Design, specification: &Specification, solver: Solver) -> Verdict {
    let options = ProofOptions { solver, ..ProofOptions::default() };
    let proof = prove(design, specification, &options).unwrap_or_else(|error| panic!("{error}"));
    println!("{}, {:?}: {:?} after {:?}", design.top, solver, proof.verdict, proof.took);
    proof.verdict
}

/// The core gives what is expected, and something else was given.
fn confirm(verdict: Verdict, specification: &Specification) -> Counterexample {
    let Verdict::Refuted(found) = verdict else { panic!("{verdict:?}") };
    let right =
        specification.unit_with(found.bias).expect("a bias").evaluate(&found.operands).expect("operands");
    assert_eq!(right.results(), found.expected.results());
    assert!(found.given != found.expected);
    assert!(found.explanation.contains("right"), "{}", found.explanation);
    *found
}

#[test]
fn the_examples_converter_is_proved_and_its_mutants_are_refuted() {
    if !has("yosys", "-V") {
        return;
    }
    let tesla = conversion("cfloat8_1_4_3:bias=7");
    let gradual = conversion("cfloat8_1_4_3:bias=7,subnormals=gradual");
    assert!(matches!(decide(&converter(0, 0), &tesla, Solver::Sat), Verdict::Proved));
    assert!(matches!(decide(&converter(0, 1), &gradual, Solver::Auto), Verdict::Proved));
    for mutation in 1..=4 {
        let found = confirm(decide(&converter(mutation, 0), &tesla, Solver::Auto), &tesla);
        // It rounds ties away from zero.
        assert!(mutation != 4 || found.explanation.contains("tie"), "{}", found.explanation);
    }
}

/// z3 has the same circuit in a language of its own.
#[test]
fn z3_is_a_second_opinion() {
    if !has("yosys", "-V") || !has("z3", "--version") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = "module neg #(parameter BUG = 0) (input [7:0] x, output [7:0] result);
        assign result = x ^ (BUG && x == 8'h35 ? 8'h81 : 8'h80);
    endmodule";
    let path = file(folder.path(), text);
    let specification = operation("Negate<e4m3fn>");
    assert!(matches!(decide(&design(&path, "neg"), &specification, Solver::Z3), Verdict::Proved));
    let wrong = Design { parameters: vec![("BUG".into(), 1)], ..design(&path, "neg") };
    let found = confirm(decide(&wrong, &specification, Solver::Z3), &specification);
    assert_eq!(found.operands, [0x35]);
}

/// Also while the circuit is being written for Z3.
#[test]
fn time_that_is_over_decides_nothing() {
    if !has("yosys", "-V") || !has("z3", "--version") {
        return;
    }
    let options = ProofOptions {
        solver: Solver::Z3,
        timeout: Duration::from_millis(1),
        simulates: false,
        ..ProofOptions::default()
    };
    let proof = prove(&converter(0, 0), &conversion("cfloat8_1_4_3:bias=7"), &options).expect("a verdict");
    assert!(matches!(proof.verdict, Verdict::Undecided { .. }), "{proof:?}");
}

/// A file of a design in a folder of its own.
fn file(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("design.sv");
    fs::write(&path, text).expect("a file");
    path
}

fn design(path: &Path, top: &str) -> Design {
    Design { files: vec![path.to_owned()], top: top.into(), ..Design::default() }
}

/// A multiplier of E4M3FN as people write it: significands, exponents, a shift and a rounding.
const MULTIPLIER: &str = "
module mul #(parameter BUG = 0) (input [7:0] x, y, output reg [7:0] result);
    wire sign = x[7] ^ y[7];
    wire nan = (&x[6:0]) | (&y[6:0]);
    wire [3:0] a = {|x[6:3], x[2:0]}, b = {|y[6:3], y[2:0]};
    wire [7:0] p = a * b;
    // Exponents of the last places, from -9 to 5, added.
    wire [4:0] e = (|x[6:3] ? x[6:3] - 4'd1 : 4'd0) + (|y[6:3] ? y[6:3] - 4'd1 : 4'd0);
    reg [3:0] lead;
    integer i;
    always @* begin
        lead = 0;
        for (i = 0; i < 8; i = i + 1) if (p[i]) lead = i;
    end
    // In units of 2^-18: the leading bit stands at e + lead; 2^-6 is at 12.
    wire [5:0] top = e + lead;
    wire normal = (|p) && top >= 12;
    // The step's place in p: three below the leading bit, or that of 2^-9.
    wire signed [6:0] shift = normal ? $signed({3'b0, lead}) - 7'sd3 : 7'sd9 - $signed({2'b0, e});
    wire [17:0] wide = {2'b0, p, 8'b0};
    // Eight bits behind the point; what is shifted out is sticky.
    wire [26:0] moved = shift < 0 ? {9'b0, wide} << -shift : {9'b0, wide} >> shift;
    wire lost = shift > 0 && ((moved << shift) != {9'b0, wide});
    wire [4:0] kept = moved[12:8];
    wire half = moved[7];
    wire rest = (|moved[6:0]) | lost;
    wire up = half & (rest | kept[0] | (BUG == 1));
    wire [9:0] index = normal ? {(top - 6'd11), 3'b0} + {5'b0, kept} - 10'd8 + {9'b0, up} : {5'b0, kept} + {9'b0, up};
    always @* begin
        result = {sign, index[6:0]};
        if (index > 10'h7e) result = {sign, 7'h7f};
        if (nan) result = {&x[6:0] ? x[7] : y[7], 7'h7f};
        // A bug for a single pair of operands.
        if (BUG == 2 && x == 8'h5b && y == 8'h2e) result = result ^ 8'h01;
        if (BUG == 3 && x == 8'h00) result = 8'hxx;
    end
endmodule
";

#[test]
fn a_multiplier_is_proved_and_its_mutants_are_refuted() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), MULTIPLIER);
    let specification = operation("Multiply<e4m3fn>");
    for solver in [Solver::Auto, Solver::Sat] {
        assert!(matches!(decide(&design(&path, "mul"), &specification, solver), Verdict::Proved));
        for bug in if solver == Solver::Auto { 1..=3 } else { 3..=3 } {
            let design = Design { parameters: vec![("BUG".into(), bug)], ..design(&path, "mul") };
            let found = confirm(decide(&design, &specification, solver), &specification);
            match bug {
                2 => assert_eq!(found.operands, [0x5b, 0x2e]),
                3 => assert_eq!(found.operands[0], 0),
                _ => {}
            }
        }
    }
}

/// An adder of E4M3FN: exact in fixed point, then rounded by its leading bit.
const ADDER: &str = "
module add (input clock, input [7:0] x, y, output [7:0] result);
    function [17:0] fixed(input [7:0] v);
        fixed = v[6:3] == 0 ? {15'b0, v[2:0]} : {14'b0, 1'b1, v[2:0]} << (v[6:3] - 4'd1);
    endfunction
    reg signed [19:0] sum;
    reg nan, nan_sign, both;
    wire signed [19:0] a = {2'b0, fixed(x)}, b = {2'b0, fixed(y)};
    always @(posedge clock) begin
        sum <= (x[7] ? -a : a) + (y[7] ? -b : b);
        nan <= (&x[6:0]) | (&y[6:0]);
        nan_sign <= (&x[6:0]) ? x[7] : y[7];
        both <= x[7] & y[7];
    end
    wire [19:0] m = sum < 0 ? -sum : sum;
    reg [4:0] lead;
    integer i;
    always @* begin
        lead = 0;
        for (i = 0; i < 20; i = i + 1) if (m[i]) lead = i;
    end
    wire [4:0] shift = lead > 3 ? lead - 5'd3 : 5'd0;
    wire [19:0] kept = m >> shift;
    wire [19:0] rest = m - (kept << shift);
    wire [19:0] half = shift == 0 ? 20'd0 : 20'd1 << (shift - 5'd1);
    wire up = shift != 0 && (rest > half || (rest == half && kept[0]));
    wire [8:0] index = {1'b0, shift, 3'b0} + kept[8:0] + {8'b0, up};
    reg [7:0] out;
    always @* begin
        out = {sum < 0, index[6:0]};
        if (m == 0) out = {both, 7'b0};
        if (index > 9'h7e) out = {sum < 0, 7'h7f};
        if (nan) out = {nan_sign, 7'h7f};
    end
    reg [7:0] result_register;
    always @(posedge clock) result_register <= out;
    assign result = result_register;
endmodule
";

#[test]
fn a_pipelined_adder_is_proved_for_its_latency_alone() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), ADDER);
    let specification = operation("Add<e4m3fn>");
    let after = |latency| Design { latency, ..design(&path, "add") };
    for solver in [Solver::Auto, Solver::Sat] {
        assert!(matches!(decide(&after(2), &specification, solver), Verdict::Proved));
        confirm(decide(&after(1), &specification, solver), &specification);
    }
    let error = prove(&after(0), &specification, &ProofOptions::default()).expect_err("it has registers");
    assert!(matches!(error, Error::Sequential { .. }), "{error}");
}

/// Registers with a reset of their own, an enable, and a result that a branch leaves open.
#[test]
fn registers_with_reset_and_enable_are_plain_where_these_are_tied() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let specification = operation("Negate<e2m1fn>");
    for edge in ["", " or negedge rst_n"] {
        let text = format!(
            "module negate(input clock, rst_n, en, input [3:0] x, output reg [3:0] result);
                always @(posedge clock{edge})
                    if (!rst_n) result <= 4'd0;
                    else if (en) result <= x ^ 4'h8;
            endmodule"
        );
        let path = file(folder.path(), &text);
        let tied = |rst_n, en| Design {
            latency: 1,
            ties: vec![("rst_n".into(), rst_n), ("en".into(), en)],
            ..design(&path, "negate")
        };
        for solver in [Solver::Auto, Solver::Sat] {
            assert!(matches!(decide(&tied(1, 1), &specification, solver), Verdict::Proved));
            for wrong in [tied(0, 1), tied(1, 0)] {
                confirm(decide(&wrong, &specification, solver), &specification);
            }
        }
    }
}

/// Registers of another clock or of the other edge would be taken for those of the clock.
#[test]
fn registers_of_one_clock_edge_alone_are_proved() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let specification = operation("Negate<e2m1fn>");
    let negate = |latency, body: &str| {
        let ports = "input clock, input [3:0] x, output reg [3:0] result";
        let path = file(folder.path(), &format!("module negate({ports}); {body} endmodule"));
        Design { latency, ..design(&path, "negate") }
    };
    let options = ProofOptions::default();
    let whole = "result <= x ^ 4'h8;";
    let stages = "reg [3:0] a; always @(posedge clock) a <= x ^ 4'h8;";
    let memory = "reg [3:0] a [0:1]; always @(posedge clock) a[0] <= x ^ 4'h8;";
    for (latency, body) in [
        (1, format!("always @(posedge clock) {whole}")),
        (1, format!("always @(negedge clock) {whole}")),
        (1, format!("wire same = clock; always @(posedge same) {whole}")),
        (2, format!("{stages} always @(posedge clock) result <= a;")),
        (2, format!("{memory} always @(posedge clock) result <= a[0];")),
    ] {
        let proof = prove(&negate(latency, &body), &specification, &options).expect("one clock edge");
        assert!(matches!(proof.verdict, Verdict::Proved), "{body}");
    }
    for (latency, body) in [
        (2, format!("{stages} always @(negedge clock) result <= a;")),
        (2, format!("{memory} always @(negedge clock) result <= a[0];")),
        (1, format!("reg half; always @(posedge clock) half <= !half; always @(posedge half) {whole}")),
        (1, format!("always @(posedge x[0]) {whole}")),
        (1, format!("wire gated = clock & x[0]; always @(posedge gated) {whole}")),
    ] {
        let error = prove(&negate(latency, &body), &specification, &options).expect_err(&body);
        assert!(matches!(error, Error::Clocks { .. }), "{body}: {error}");
    }
}

/// What is evaluated for all inputs is said so, and more inputs are left to the solver.
#[test]
fn few_inputs_are_evaluated_and_many_are_left_to_the_solver() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prove = |text: &str, specification: &Specification| {
        let path = file(folder.path(), &format!("module unit({text} endmodule"));
        let proof =
            prove(&design(&path, "unit"), specification, &ProofOptions::default()).expect("a verdict");
        (matches!(proof.verdict, Verdict::Proved), proof.method)
    };
    let eight = operation("Negate<e4m3fn>");
    let negate = "input [7:0] x, output [7:0] result); assign result =";
    assert_eq!(prove(&format!("{negate} x ^ 8'h80;"), &eight), (true, Method::Evaluation));
    assert_eq!(prove(&format!("{negate} x ^ {{x != 8'h35, 7'h00}};"), &eight), (false, Method::Evaluation));
    // A loop's variable is no latch, although a branch leaves it as it is.
    let looped = "input [7:0] x, output reg [7:0] result); integer i; always @* begin result = x ^ 8'h80;
        if (x[0]) for (i = 7; i < 8; i = i + 1) result[i] = !x[i]; end";
    assert_eq!(prove(looped, &eight), (true, Method::Evaluation));
    // An unknown bit that decides nothing, which evaluation alone can't see.
    let same = format!("{negate} u ? x ^ 8'h80 : x + 8'h80;").replace("assign", "wire u = 1'bx; assign");
    assert_eq!(prove(&same, &eight), (true, Method::Solver(Solver::Sat)));
    // One of 2^32, in no test vector.
    let wide = conversion("e2m1fn").with_flags(Flags::NONE);
    let right = generate(&wide, "right").expect("a unit").module;
    let wrong_where = |condition: &str| {
        format!(
            "input [31:0] x, output [3:0] result); wire [3:0] given; right right(.x(x), .result(given));
                assign result = given ^ {{3'd0, {condition}}}; endmodule {right} module other;"
        )
    };
    assert_eq!(prove(&wrong_where("1'b0"), &wide), (true, Method::Solver(Solver::Sat)));
    assert_eq!(prove(&wrong_where("x == 32'h35a7193c"), &wide), (false, Method::Solver(Solver::Sat)));
}

#[test]
fn what_is_no_design_is_refused() {
    if !has("yosys", "-V") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let specification = operation("Negate<e2m1fn, e2m1fn>");
    let says = |text: &str, top: &str, part: &str| {
        let path = file(folder.path(), text);
        let error = prove(&design(&path, top), &specification, &ProofOptions::default()).expect_err(text);
        assert!(error.to_string().contains(part), "{error}");
    };
    let negate = "module negate(input [3:0] x, output [3:0] result); assign result = x ^ 4'h8; endmodule";
    says(negate, "negative", "no module `negative`; it has negate");
    says("module negate(input [3:0] x, output [3:0] result) assign", "negate", "design.sv:1:");
    says(
        "module negate(input [3:0] a, output [3:0] result); endmodule",
        "negate",
        "no input `x` for `x`: it has a",
    );
    says("module negate(input [4:0] x, output [3:0] result); endmodule", "negate", "has 5 bits");
    says(
        "module negate(input [3:0] x, input mode, output [3:0] result); endmodule",
        "negate",
        "--tie mode=VALUE",
    );
    says(
        "module negate(input [3:0] x, output reg [3:0] result); always @* if (x[0]) result = x; endmodule",
        "negate",
        "latches",
    );
}

#[test]
fn all_inputs_are_simulated_where_that_is_asked_for() {
    if !has("yosys", "-V") || !has("verilator", "--version") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let specification = operation("Negate<e4m3fn, e4m3fn>");
    let negate = |text: &str| {
        let path = file(
            folder.path(),
            &format!("module negate(input [7:0] x, output [7:0] result); assign result = {text}; endmodule"),
        );
        decide(&design(&path, "negate"), &specification, Solver::Simulation)
    };
    assert!(matches!(negate("x ^ 8'h80"), Verdict::Simulated));
    confirm(negate("x == 8'h33 ? x : x ^ 8'h80"), &specification);
}
