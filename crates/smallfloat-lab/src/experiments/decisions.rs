//! The talk's comparison of 8-bit formats ("Comparison table: Existing FP8 implementations"),
//! computed from the catalogue, beside what the slide prints.

use smallfloat::{Family, Format};

use crate::error::Error;
use crate::experiments::ExperimentOptions;
use crate::instruments::findings::{Axis, Cell, Findings, FindingsTable, Mark, Plot, Series, row};

/// The slide's pairs of formats: its name for the pair, and the two formats.
const PAIRS: [(&str, [&str; 2]); 4] = [
    ("WG", ["binary8p4se", "binary8p3se"]),
    ("NIA", ["e4m3fn", "e5m2"]),
    ("GQA", ["e4m3fnuz", "e5m2fnuz"]),
    ("Tesla", ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15"]),
];

/// The slide's rows: the decision in its words, and its first eight columns. An empty cell is empty
/// there.
const PRINTED: [(&str, [&str; 8]); 6] = [
    (
        "The set of nonreal values is the same for each format",
        ["yes", "yes", "no", "no", "yes", "yes", "yes", "yes"],
    ),
    ("Exactly one NaN", ["yes", "yes", "no", "no", "yes", "yes", "no", "no"]),
    ("Subnormal values", ["yes", "yes", "yes", "yes", "yes", "yes", "yes", "yes"]),
    ("Encodings for positive and negative infinity", ["yes", "yes", "no", "yes", "no", "no", "no", "no"]),
    ("No negative zero", ["", "", "no", "no", "yes", "yes", "yes", "yes"]),
    ("The default bias for exponent width w is 2^(w−1)", ["", "", "no", "no", "yes", "yes", "n/a", "n/a"]),
];

pub(super) fn run(options: &ExperimentOptions) -> Result<Findings, Error> {
    let mut findings = Findings::new("decisions");
    if !options.formats.is_empty() {
        findings.tables.push(of_formats(&options.formats_or(&[])?));
        return Ok(findings);
    }
    let pairs: Vec<(&str, [Format; 2])> = PAIRS
        .iter()
        .map(|(name, [e4, e5])| Ok((*name, [e4.parse()?, e5.parse()?])))
        .collect::<Result<_, smallfloat::Error>>()?;
    let columns = pairs.iter().flat_map(|(name, _)| ["E4", "E5"].map(|e| format!("{name} {e}")));
    let columns = std::iter::once("decision".to_owned()).chain(columns);
    let mut table =
        FindingsTable::new("Computed; in brackets what the slide prints where it differs", columns);
    let mut differing = Vec::new();
    for (index, (decision, printed)) in PRINTED.iter().enumerate() {
        let mut row = row![*decision];
        let computed =
            pairs.iter().flat_map(|(_, pair)| [0, 1].map(|which| answer(index, &pair[which], pair)));
        for ((computed, printed), column) in computed.zip(printed).zip(&table.columns[1..]) {
            let is_same = printed.is_empty() || computed == *printed;
            if !is_same {
                differing.push(format!("“{decision}”, {column}: {computed}, printed {printed}"));
            }
            row.push(if is_same { computed.into() } else { format!("{computed} ({printed})").into() });
        }
        table.rows.push(row);
    }
    findings.tables.push(table);
    let formats: Vec<Format> = pairs.iter().flat_map(|(_, pair)| *pair).collect();
    findings.plots.push(codes(&formats));
    findings.tables.push(of_formats(&formats));
    findings.note(
        "NIA: NVIDIA, Intel, Arm (OCP E4M3 and E5M2). GQA: Graphcore, Qualcomm, AMD (FNUZ). Tesla: CFloat8, whose bias is a \
         parameter, so that it has no default. Nonreal values, in the slide's words: infinities, NaN, −0.",
    );
    findings.note(if differing.is_empty() {
        "Nothing differs from the slide.".to_owned()
    } else {
        format!(
            "What differs: {}. Tesla's paper does not speak of −0; we keep the sign of zero, so its formats have one.",
            differing.join("; ")
        )
    });
    Ok(findings)
}

/// The answer to a decision for one of two formats.
fn answer(decision: usize, format: &Format, pair: &[Format; 2]) -> &'static str {
    let yes = match decision {
        0 => nonreal(&pair[0]) == nonreal(&pair[1]),
        1 => format.nan_codes() == 1,
        2 => format.has_subnormals(),
        3 => format.has_infinity(),
        4 => !format.has_negative_zero(),
        _ if format.family() == Family::Tesla => return "n/a",
        _ => has_middle_bias(format),
    };
    if yes { "yes" } else { "no" }
}

/// Which of infinity, NaN and −0 the format has.
fn nonreal(format: &Format) -> [bool; 3] {
    [format.has_infinity(), format.has_nan(), format.has_negative_zero()]
}

fn has_middle_bias(format: &Format) -> bool {
    format.bias() == 1 << (format.exponent_bits() - 1)
}

/// The questions about any formats, and what lies behind the answers.
fn of_formats(formats: &[Format]) -> FindingsTable {
    let mut table = FindingsTable::new(
        "Behind the answers",
        ["format", "±Inf", "NaN", "−0", "subnormals", "w", "bias", "2^(w−1)", "below 1", "from 1 on"],
    );
    for format in formats {
        let word = |yes: bool| if yes { "yes" } else { "no" };
        let [below, above] = around_one(format);
        let bits = format.exponent_bits();
        table.rows.push(row![
            format.to_string(),
            if format.has_infinity() { 2_u64 } else { 0 },
            format.nan_codes(),
            word(format.has_negative_zero()),
            word(format.has_subnormals()),
            bits,
            format.bias(),
            if bits > 0 { Cell::from(1_i32 << (bits - 1)) } else { Cell::Empty },
            below,
            above,
        ]);
    }
    table
}

/// How many positive codes are below 1, and how many finite ones from 1 on.
fn around_one(format: &Format) -> [u64; 2] {
    let one = smallfloat::Datum::finite(false, 1, 0);
    let mut counts = [0; 2];
    for code in 0..=format.max_code() {
        let x = format.decode(code);
        if x.is_finite() && !x.is_zero() && !x.is_negative() {
            let below = x.compare(&one) == Some(std::cmp::Ordering::Less);
            counts[usize::from(!below)] += 1;
        }
    }
    counts
}

/// What the codes are used for.
fn codes(formats: &[Format]) -> Plot {
    let count = |what: &dyn Fn(&Format) -> u64| -> Vec<[f64; 2]> {
        #[expect(clippy::cast_precision_loss, reason = "counts of codes")]
        let points =
            (0_u32..).map(f64::from).zip(formats).map(|(place, format)| [place, what(format) as f64]);
        points.collect()
    };
    let infinities = |format: &Format| if format.has_infinity() { 2 } else { 0 };
    Plot {
        title: "Codes of NaN, infinities and −0".into(),
        x: Axis::categories("format", formats),
        y: Axis::linear("codes"),
        series: vec![
            Series::new("NaN", Mark::Bars, count(&Format::nan_codes)),
            Series::new("infinities", Mark::Bars, count(&infinities)),
            Series::new("−0", Mark::Bars, count(&|format| u64::from(format.has_negative_zero()))),
        ],
    }
}
