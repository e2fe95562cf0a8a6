//! The declaration of what is supplied, as the P3109 draft recommends one (D1 revised, September 2026, section
//! "Conformance"): six YAML files in today's names. Everything in them comes from the library, so that they say what
//! `smallfloat supports` says.
//!
//! The draft fixes no schema. The division into files follows the exemplars that the working group published for the
//! Interim Report 3.2.

use anyhow::Result;
use serde_json::{Map, Value, json};
use smallfloat::formats::{BFLOAT16, BINARY16, BINARY32, BINARY64, CATALOGUE};
use smallfloat::ops::{Function, Group, Property, Specialization, mandatory_minimum};
use smallfloat::{Domain, Format, RandomBits, Rounding, Saturation, Signedness};

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
    parts
        .into_iter()
        .map(|(name, value)| {
            let version = env!("CARGO_PKG_VERSION");
            let text = serde_saphyr::to_string(&value)?;
            Ok((name, format!("# Written by smallfloat {version}: supports --declaration\n{text}")))
        })
        .collect()
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
        "exactness": "every supplied specialization gives the defined result for all operands",
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
    json!({ "Groups": groups, "ProjectionQueries": queries, "Projection": projection() })
}

/// The modes in the draft's words; the number of random bits stands apart.
fn projection() -> Value {
    let stochastic = RandomBits::new(1, 0).into_iter().flat_map(|bits| {
        [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)]
    });
    let name = |mode| {
        let word = Property::Rounding(mode).to_string();
        word.split_once('<').map_or(word.clone(), |(name, _)| name.to_owned())
    };
    json!({
        "RoundingModes": {
            "deterministic": Rounding::DETERMINISTIC.map(name),
            "stochastic": stochastic.map(name).collect::<Vec<_>>(),
        },
        "RandomBits": { "minimum": 1, "maximum": RandomBits::MAX_COUNT },
        "SaturationModes": Saturation::ALL.map(|mode| Property::Saturation(mode).to_string()),
    })
}

/// Which formats may stand anywhere.
pub(crate) fn formats() -> Value {
    let (narrowest, widest) = (3, 16);
    let count = (narrowest..=widest)
        .flat_map(|k| (1..=k).map(move |p| (k, p)))
        .flat_map(|(k, p)| {
            [Signedness::Signed, Signedness::Unsigned].into_iter().flat_map(move |sign| {
                [Domain::Finite, Domain::Extended].map(|domain| Format::p3109(k, p, sign, domain))
            })
        })
        .flatten()
        .count();
    let others: Vec<_> = CATALOGUE
        .iter()
        .filter(|row| !external().contains(&row.name.to_owned()))
        .map(|row| row.name)
        .chain(["ieee:k=…,p=…", "minifloat:k=…,p=…,bias=…"])
        .collect();
    json!({
        "P3109": {
            "spelling": ["Binary<K>p<P><s|u><e|f>", "Binary{K, P, Signed|Unsigned, Extended|Finite}"],
            "smallest bitwidth": narrowest,
            "largest bitwidth": widest,
            "count": count,
        },
        "external": external(),
        "others": others,
    })
}

fn external() -> Vec<String> {
    [BINARY64, BINARY32, BINARY16, BFLOAT16].iter().map(Format::to_string).collect()
}

/// One configuration: everything, in every format.
fn configurations() -> Value {
    let operations: Vec<_> = Group::ALL.iter().map(|group| group.name()).collect();
    json!({
        "Full": {
            "Groups": operations,
            "Formats": formats(),
            "BlockSizes": { "minimum": 1, "maximum": u32::MAX },
            "Projections": projection(),
            "KappaApproximate": [],
        }
    })
}

/// The mandatory minimum for each choice of external formats, as lists of specializations; and everything.
fn profiles() -> Result<Value> {
    let mut profiles = Map::new();
    for external in [&[BINARY32][..], &[BINARY16], &[BFLOAT16], &[BINARY32, BINARY16, BFLOAT16]] {
        let specializations: Vec<_> =
            mandatory_minimum(external)?.iter().map(Specialization::to_string).collect();
        let names: Vec<_> = external.iter().map(Format::to_string).collect();
        let profile = json!({
            "external formats": names,
            "count": specializations.len(),
            "specializations": specializations,
        });
        profiles.insert(format!("MandatoryMinimum-{}", names.join("-")), profile);
    }
    profiles.insert("Full".into(), json!({ "configuration": "Full" }));
    Ok(Value::Object(profiles))
}

/// What is not supplied although its parts are, because the draft does not define it.
fn constraints() -> Value {
    json!({
        "Full": [
            {
                "operation": "TotalOrder<fx, fy>(x, y)",
                "requires": format!("neither fx nor fy is one of {}", external().join(", ")),
            },
            {
                "operation": "any with a block length B",
                "requires": format!("1 <= B <= {}", u32::MAX),
            },
            {
                "operation": "any with a stochastic rounding of N bits",
                "requires": format!("1 <= N <= {}, 0 <= R < 2^N", RandomBits::MAX_COUNT),
            },
        ]
    })
}

fn kappas() -> Value {
    json!({ "Full": { "approximate operations": [], "kappa of all supplied operations": 0 } })
}
