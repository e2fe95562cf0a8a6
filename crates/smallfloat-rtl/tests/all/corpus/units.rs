//! The units of the corpus: generated, of the examples, and of other people's styles.

use smallfloat::{FlagPolicy, Format, NanResult, Preset};
use smallfloat_conformance::vectors::UnitUnderTest;
use smallfloat_rtl::specification::Port;
use smallfloat_rtl::{PortMap, Specification, generate};

/// A unit that is right.
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) style: &'static str,
    pub(crate) text: String,
    pub(crate) top: String,
    pub(crate) specification: Specification,
    pub(crate) parameters: Vec<(String, i64)>,
    pub(crate) ports: &'static str,
    pub(crate) ties: Vec<(&'static str, u64)>,
    pub(crate) latency: u32,
    /// How wide its port for flags is; nothing for that of the specification.
    pub(crate) flag_bits: Option<u32>,
    /// Values of parameters that are mistakes.
    pub(crate) mistakes: Vec<Vec<(&'static str, i64)>>,
    /// Single inputs, as conditions, and the output that is wrong there.
    pub(crate) inputs: Vec<(String, String)>,
    /// How many changes of its text are tried.
    pub(crate) most_changes: usize,
}

impl Unit {
    fn new(name: &str, style: &'static str, text: impl Into<String>, specification: Specification) -> Self {
        Self {
            name: name.to_owned(),
            style,
            text: text.into(),
            top: name.to_owned(),
            specification,
            parameters: Vec::new(),
            ports: "",
            ties: Vec::new(),
            latency: 0,
            flag_bits: None,
            mistakes: Vec::new(),
            inputs: Vec::new(),
            most_changes: 0,
        }
    }

    /// The design's name of a port.
    pub(crate) fn port(&self, port: &str) -> String {
        self.ports.parse::<PortMap>().unwrap_or_default().name(port).to_owned()
    }

    pub(crate) fn width(&self, port: &Port) -> u32 {
        if port.name == "flags" { self.flag_bits.unwrap_or(port.bits) } else { port.bits }
    }

    /// Returns the unit with single inputs that mutants answer wrongly: zeros, subnormals, ties,
    /// the ends of the range, infinities, NaN and others.
    fn with_single(mut self, operands: &[&[u64]]) -> Self {
        let inputs = self.specification.inputs();
        let flags = self.specification.outputs().len() > 1;
        for (i, values) in operands.iter().enumerate() {
            let conditions: Vec<String> = inputs
                .iter()
                .zip(*values)
                .map(|(port, value)| format!("({} == {}'h{value:x})", self.port(&port.name), port.bits))
                .collect();
            let wrong = if flags && i % 3 == 2 { "flags" } else { "result" };
            self.inputs.push((conditions.join(" && "), wrong.to_owned()));
        }
        self
    }

    fn with_changes(self, most_changes: usize) -> Self {
        Self { most_changes, ..self }
    }
}

fn specification(operation: &str, policy: Option<&str>) -> Specification {
    let unit = UnitUnderTest::new(operation.parse().expect("an operation"), None).expect("a unit");
    let unit = match policy {
        Some(policy) => unit.with_flag_policy(policy.parse().expect("a policy"), true),
        None => unit,
    };
    Specification::new(unit).expect("a specification")
}

fn generated(name: &str, specification: Specification) -> Unit {
    let unit = generate(&specification, name).expect("a unit that is generated");
    Unit::new(name, "generated", unit.module, specification)
}

fn without_flags(specification: Specification) -> Specification {
    specification.with_flags(smallfloat::Flags::NONE)
}

/// A conversion by the destination's own preset, as `smallfloat prove --from --to` has it.
fn conversion(from: &str, to: &str) -> Specification {
    let [from, to]: [Format; 2] = [from, to].map(|name| name.parse().expect("a format"));
    Specification::new(UnitUnderTest::convert(&from, &to, None, None, None).expect("a unit"))
        .expect("a specification")
}

/// A multiplier of 4-bit numbers as a table, which the core fills.
fn table() -> Unit {
    let specification = without_flags(specification("Multiply<e2m1fn, e2m1fn, e2m1fn>", None));
    let mut text = "module lookup (\n    input  wire [3:0] x,\n    input  wire [3:0] y,\n    output reg  [3:0] result\n);\n    always @*\n        case ({x, y})\n".to_owned();
    for x in 0..16 {
        for y in 0..16 {
            let result = specification.unit().evaluate(&[x, y]).expect("codes").results()[0];
            let row = x << 4 | y;
            text.extend([format!("            8'h{row:02x}: result = 4'd{result};\n")]);
        }
    }
    text.push_str("        endcase\nendmodule\n");
    Unit::new("lookup", "look-up table", text, specification).with_changes(8)
}

/// All units, or a handful.
#[expect(clippy::too_many_lines, reason = "a list")]
pub(crate) fn all(is_extensive: bool) -> Vec<Unit> {
    let e2m3 = "Multiply<e2m3fn, e2m3fn, e2m3fn, (NearestTiesToEven, SatFinite)>";
    let mut units = vec![
        generated("multiply_e2m3fn", specification(e2m3, Some("riscv")))
            .with_single(&[&[0x1f, 0x01], &[0x21, 0x08], &[0x04, 0x09], &[0x3e, 0x1e]])
            .with_changes(14),
        generated("bfloat16_to_e5m2", conversion("bfloat16", "e5m2"))
            .with_single(&[&[0x7f80], &[0x3f8c], &[0x0001], &[0xb830]])
            .with_changes(14),
        Unit::new(
            "cases",
            "casez",
            include_str!("units/cases.sv"),
            without_flags(conversion("e4m3fn", "binary32")),
        )
        .with_single(&[&[0x00], &[0x03], &[0xff]])
        .with_changes(4),
    ];
    if !is_extensive {
        return units;
    }
    let e4m3 = "Multiply<e4m3fn, e4m3fn, e4m3fn, (NearestTiesToEven, SatFinite)>";
    units.extend([
        generated("multiply_e4m3fn", specification(e4m3, Some("riscv")))
            .with_single(&[&[0x7f, 0x01], &[0x81, 0x38], &[0x08, 0x30], &[0x7e, 0x7e]])
            .with_changes(14),
        Unit {
            latency: 2,
            ..Unit::new(
                "pipelined",
                "two pipeline stages",
                include_str!("units/pipelined.sv"),
                without_flags(specification(e4m3, None)),
            )
        }
        .with_changes(10),
    ]);
    let example =
        |name: &str, text: &str, exponent: i64, specification: Specification, ports: &'static str| {
            let mut unit = Unit::new(name, "by hand", text, specification);
            unit.parameters = vec![("EXPONENT".to_owned(), exponent)];
            unit.ports = ports;
            unit.flag_bits = Some(8);
            unit
        };
    let encoder = include_str!("../../../../../examples/rtl/f32_to_cfloat8.sv");
    for (name, to, exponent) in [
        ("f32_to_cfloat8_1_4_3", "cfloat8_1_4_3:bias=0", 4),
        ("f32_to_cfloat8_1_5_2", "cfloat8_1_5_2:bias=0", 5),
    ] {
        for (reading, gradual) in [("tesla", 0), ("gradual", 1)] {
            let all_biases = conversion("binary32", &format!("{to},subnormals={reading}"))
                .with_bias_port()
                .expect("a bias");
            let mut unit =
                example(&format!("{name}_{reading}"), encoder, exponent, all_biases, "x=f32,result=code");
            unit.top = "f32_to_cfloat8".into();
            unit.ties = vec![("gradual", gradual)];
            unit.mistakes = [1, 2, 3, 4]
                .into_iter()
                .filter(|m| *m != 3 || gradual == 0)
                .map(|m| vec![("MUTATION", m)])
                .collect();
            units.push(unit.with_single(&[
                &[0x3f80_0000, 7],
                &[0x8000_0001, 63],
                &[0x7fc0_0000, 0],
                &[0x2080_0000, 62],
                &[0x4770_0001, 0],
                &[0xff80_0000, 31],
            ]));
        }
    }
    for (to, exponent, name) in [("e4m3fn", 4, "f32_to_fp8_e4m3"), ("e5m2", 5, "f32_to_fp8_e5m2")] {
        // OCP's NaN, which has all bits set, and else the rules of RISC-V.
        let [from, to]: [Format; 2] = ["binary32", to].map(|name| name.parse().expect("a format"));
        let unit = UnitUnderTest::convert(&from, &to, Some(Preset::OcpSaturate), None, None).expect("a unit");
        let unit = unit.with_flag_policy(FlagPolicy::RISCV.with_nan(NanResult::Projection), true);
        let mut unit = example(
            name,
            include_str!("../../../../../examples/fp8/f32_to_fp8.sv"),
            exponent,
            Specification::new(unit).expect("a specification"),
            "x=f32,result=code",
        );
        unit.top = "f32_to_fp8".into();
        unit.flag_bits = Some(5);
        unit.ties = vec![("saturate", 1)];
        unit.mistakes = [1, 2, 3].map(|m| vec![("MUTATION", m)]).to_vec();
        units.push(unit.with_single(&[&[0x3f80_0000], &[0x7f80_0000], &[0x0000_0001], &[0xbc7f_ffff]]));
    }
    units.extend([
        table().with_single(&[&[0x3, 0x9], &[0xf, 0xf]]),
        Unit::new(
            "recoded",
            "recoded to a wider exponent",
            include_str!("units/recoded.sv"),
            without_flags(conversion("binary16", "e5m2")),
        )
        .with_single(&[&[0x0001], &[0x7c00], &[0x83ff], &[0x3c80]])
        .with_changes(12),
        generated(
            "binary32_to_cfloat8_1_4_3",
            conversion("binary32", "cfloat8_1_4_3:bias=0").with_bias_port().expect("a bias"),
        )
        .with_single(&[&[0x3fb8_0000, 0], &[0x1e80_0000, 63], &[0x8000_0000, 9], &[0x7f7f_ffff, 1]])
        .with_changes(10),
        generated(
            "add_e5m2",
            specification("Add<e5m2, e5m2, e5m2, (NearestTiesToEven, SatNone)>", Some("riscv")),
        )
        .with_single(&[&[0x7c, 0xfc], &[0x80, 0x00], &[0x01, 0x01], &[0x3c, 0xbb]])
        .with_changes(14),
        generated(
            "multiply_cfloat8_1_4_3",
            specification("Multiply<cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7, cfloat8_1_4_3:bias=7>", None),
        )
        .with_single(&[&[0x08, 0x30], &[0x07, 0x38], &[0xff, 0x7f]])
        .with_changes(14),
        generated("add_binary8p3se", specification("Add<binary8p3se, binary8p3se, binary8p3se>", None))
            .with_single(&[&[0x80, 0x01], &[0x7f, 0xff], &[0x40, 0xc0]])
            .with_changes(8),
        generated(
            "bfloat16_to_e4m3fn_stochastic",
            specification("Convert<bfloat16, e4m3fn, (StochasticA<8>, SatFinite), semantics=ieee>", None),
        )
        .with_single(&[&[0x3f84, 0x80], &[0x0001, 0xff]])
        .with_changes(8),
    ]);
    units
}
