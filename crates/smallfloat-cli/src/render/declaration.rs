//! The declaration of what is supplied, as the P3109 draft recommends one (D1 revised, September
//! 2026, section "Conformance"): six YAML files in today's names. Everything in them comes from the
//! library, so that they say what `smallfloat supports` says.
//!
//! The draft fixes no schema. The division into files follows the exemplars that the working group
//! published for the Interim Report 3.2.

use anyhow::Result;
use serde_json::{Map, Value, json};
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, CATALOGUE};
use smallfloat::p3109::{Function, Group, Property, mandatory_minimum};
use smallfloat::{RandomBits, Rounding, Saturation};

use crate::render::families::{P3109_WIDTHS, p3109};
use crate::render::yaml::to_yaml;

const DRAFT: &str = "IEEE SA P3109/D1, revised draft of September 2026 (unapproved; no claim of conformance)";

/// The names of the files and their texts, each with a first line that says what made it.
pub(crate) fn files() -> Result<Vec<(&'static str, String)>> {
    let parts = [
        ("Metadata.yaml", metadata()),
        ("StandardOperations.yaml", operations()),
        ("Configurations.yaml", configurations()),
        ("Profiles.yaml", profiles()?),
        ("Constraints.yaml", constraints()),
        ("Kappas.yaml", kappas()),
    ];
    let files = parts
        .into_iter()
        .map(|(name, value)| {
            let version = env!("CARGO_PKG_VERSION");
            let text = to_yaml(&value);
            (name, format!("# Written by smallfloat {version}: supports --declaration\n{text}"))
        })
        .collect();
    Ok(files)
}

fn metadata() -> Value {
    json!({
        "draft": DRAFT,
        "implementation": {
            "name": "smallfloat",
            "version": env!("CARGO_PKG_VERSION"),
            "repository": env!("CARGO_PKG_REPOSITORY"),
        },
        "query": "smallfloat supports 'Name<formats, (rounding, saturation)>'",
        "exactness": "every supplied specialization gives, for all operands, the result that its configuration defines",
        "external formats": external(),
        "random bits": "supplied by the caller with each call, a word an element for sequences",
        "result scales": "an operand, or ConvertToBlockMaxAbsFinite's",
    })
}

fn operations() -> Value {
    let groups: Map<String, Value> = Group::ALL
        .iter()
        .map(|group| {
            let names: Vec<_> = group.functions().map(Function::name).collect();
            (
                group.name().to_owned(),
                json!({ "title": group.title(), "count": names.len(), "functions": names }),
            )
        })
        .collect();
    let queries: Vec<_> = Function::all()
        .filter(|function| matches!(function, Function::ProjectionQuery(_)))
        .map(Function::name)
        .collect();
    json!({ "Groups": groups, "ProjectionQueries": queries, "Projection": projection(&SATURATIONS) })
}

/// D1's saturation modes.
const SATURATIONS: [Saturation; 3] = [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone];

/// The modes in the draft's words; the number of random bits stands apart.
fn projection(saturations: &[Saturation]) -> Value {
    let name_of = |mode: &Saturation| Property::Saturation(*mode).to_string();
    let stochastic = RandomBits::new(1, 0).into_iter().flat_map(|bits| {
        [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)]
    });
    let name = |mode| {
        let word = Property::Rounding(mode).to_string();
        word.split_once('<').map_or(word.clone(), |(name, _)| name.to_owned())
    };
    json!({
        "RoundingModes": {
            "deterministic": Rounding::DETERMINISTIC.iter().copied().map(name).collect::<Vec<_>>(),
            "stochastic": stochastic.map(name).collect::<Vec<_>>(),
        },
        "RandomBits": { "minimum": 1, "maximum": RandomBits::MAX_COUNT },
        "SaturationModes": saturations.iter().map(name_of).collect::<Vec<_>>(),
    })
}

/// Which formats may stand anywhere.
pub(crate) fn formats() -> Value {
    let (narrowest, widest) = P3109_WIDTHS;
    let others: Vec<_> = CATALOGUE
        .iter()
        .filter(|row| !external().iter().any(|name| name.eq_ignore_ascii_case(row.name)))
        .map(|row| row.name)
        .chain(["ieee:k=…,p=…", "minifloat:k=…,p=…,bias=…"])
        .collect();
    json!({
        "P3109": {
            "spelling": ["Binary<K>p<P><s|u><e|f>", "Binary{K, P, Signed|Unsigned, Extended|Finite}"],
            "smallest bitwidth": narrowest,
            "largest bitwidth": widest,
            "count": p3109().len(),
            "also": "bitwidths to 32 with at most 11 exponent bits",
        },
        "external": external(),
        "others": others,
    })
}

fn external() -> Vec<String> {
    [BINARY64, BINARY32, BINARY16, BFLOAT16].iter().map(in_drafts_spelling).collect()
}

/// Prints with the draft's spelling of formats: `Binary8p4se`, `BFloat16`, but `binary32`.
fn in_drafts_spelling(what: &impl ToString) -> String {
    // `binary` before the digits of a width and a `p` is P3109's.
    let text = what.to_string().replace("bfloat16", "BFloat16");
    let mut parts = text.split("binary");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let is_p3109 = part.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('p');
        text + if is_p3109 { "Binary" } else { "binary" } + part
    })
}

/// The configuration of what the draft defines, and that of everything else.
const DRAFT_ONLY: &str = "P3109";
const OTHERS: &str = "Others";
const DEFINED_BY: [(&str, &str); 2] = [
    (DRAFT_ONLY, "the draft"),
    (
        OTHERS,
        "smallfloat: IEEE 754's special cases unless all formats are P3109's or external, or semantics=p3109 is given",
    ),
];

fn configurations() -> Value {
    let groups: Vec<_> = Group::ALL.iter().map(|group| group.name()).collect();
    let configuration = |formats: Value, saturations: &[Saturation]| {
        json!({
            "Groups": groups,
            "Formats": formats,
            "BlockSizes": { "minimum": 1, "maximum": u32::MAX },
            "Projections": projection(saturations),
            "KappaApproximate": [],
        })
    };
    let mut drafts = formats();
    if let Some(kinds) = drafts.as_object_mut() {
        kinds.remove("others");
    }
    let all: Vec<_> = Saturation::ALL.to_vec();
    let mut map = Map::new();
    let both = [configuration(drafts, &SATURATIONS), configuration(formats(), &all)];
    for ((name, defined_by), mut configuration) in DEFINED_BY.into_iter().zip(both) {
        configuration["DefinedBy"] = defined_by.into();
        map.insert(name.into(), configuration);
    }
    map[OTHERS]["Holds"] = format!(
        "every specialization that is not in {DRAFT_ONLY}: with a format under `others`, with SatNone-V40, with \
         semantics=ieee, scale= or clamp="
    )
    .into();
    map.into()
}

/// The mandatory minimum for each choice of external formats, as lists of specializations; and
/// everything.
fn profiles() -> Result<Value> {
    let mut profiles = Map::new();
    for external in [&[BINARY32][..], &[BINARY16], &[BFLOAT16], &[BINARY32, BINARY16, BFLOAT16]] {
        let specializations: Vec<_> = mandatory_minimum(external)?.iter().map(in_drafts_spelling).collect();
        let names: Vec<_> = external.iter().map(in_drafts_spelling).collect();
        let profile = json!({
            "external formats": names,
            "count": specializations.len(),
            "specializations": specializations,
        });
        profiles.insert(format!("MandatoryMinimum-{}", names.join("-")), profile);
    }
    for name in [DRAFT_ONLY, OTHERS] {
        profiles.insert(name.into(), json!({ "configuration": name }));
    }
    Ok(Value::Object(profiles))
}

/// What is not supplied although its parts are, because the draft does not define it.
fn constraints() -> Value {
    let constraint =
        |operation: &str, requires: String| json!({ "operation": operation, "requires": requires });
    let both = [
        constraint(
            "TotalOrder<fx, fy>(x, y)",
            format!("neither fx nor fy is one of {}", external().join(", ")),
        ),
        constraint("any with a block length B", format!("1 <= B <= {}", u32::MAX)),
        constraint(
            "any with a stochastic rounding of N bits",
            format!("1 <= N <= {}, 0 <= R < 2^N", RandomBits::MAX_COUNT),
        ),
    ];
    let v40 = constraint(
        "any with a projection",
        format!(
            "the saturation mode is not SatNone-V40, version 4.0's SatNone, which is outside D1: see {OTHERS}"
        ),
    );
    let subnormal =
        constraint("MaxSubnormalOf<f>", "f has subnormals, or a NaN to say that it has none".into());
    let scale = constraint("any with scale=L", "-1048576 <= L <= 1048576".into());
    json!({
        DRAFT_ONLY: ([&both[..], &[v40]].concat()),
        OTHERS: ([&both[..], &[subnormal, scale]].concat()),
    })
}

fn kappas() -> Value {
    DEFINED_BY
        .into_iter()
        .map(|(name, defined_by)| {
            let kappas = json!({
                "approximate operations": [],
                "kappa of all supplied operations": 0,
                "defined results": defined_by,
            });
            (name.to_owned(), kappas)
        })
        .collect::<Map<_, _>>()
        .into()
}
