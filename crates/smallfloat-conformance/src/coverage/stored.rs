//! Coverage as JSON, and read back to be merged.

use serde_json::{Value, json};
use smallfloat::{FlagPolicy, Preset};

use crate::coverage::tally::{Bin, Coverage};
use crate::error::Error;
use crate::vectors::{VectorHeader, VectorUnit};

/// What the JSON of a coverage is called, with the version of its crosses.
pub(super) const TITLE: &str = "smallfloat coverage 1";

/// What the JSON of a coverage begins with.
pub(super) fn head(unit: &VectorUnit) -> Value {
    json!({
        "title": TITLE,
        "operation": unit.to_string(),
        "preset": unit.preset().map(Preset::name),
        "flag_policy": unit.flag_policy().as_ref().map(FlagPolicy::to_string),
    })
}

/// What JSON says of its unit.
pub(super) fn header_in(json: &Value) -> Result<VectorHeader, Error> {
    let wrong = |problem: String| Error::Coverage { problem };
    let text = |key: &str| json.get(key).and_then(Value::as_str);
    let mut header = VectorHeader { operation: text("operation").map(str::to_owned), ..Default::default() };
    for (key, name) in [("preset", "preset"), ("flag_policy", "flag policy"), ("ports", "ports")] {
        if let Some(value) = text(key) {
            header.take(name, value).map_err(wrong)?;
        }
    }
    Ok(header)
}

impl Coverage {
    /// Returns all counts as JSON: of each cross the bins with their words and how often they were
    /// reached, those that are missing with operands that reach them, and those that are not known
    /// to be reachable.
    pub fn to_json(&self) -> Value {
        let codes = |operands: &[u64]| -> Vec<String> {
            let fields = self.unit().operands();
            fields
                .iter()
                .zip(operands)
                .map(|(field, code)| format!("{code:0width$x}", width = field.digits()))
                .collect()
        };
        let missing = |bin: Bin<'_>| json!({ "bin": bin.words, "operands": bin.operands.map(codes) });
        let crosses: Vec<Value> = self
            .crosses()
            .map(|cross| {
                json!({
                    "name": cross.name(),
                    "axes": cross.axes().collect::<Vec<_>>(),
                    "hit": cross.hit(),
                    "reachable": cross.reachable(),
                    "unreachable": cross.unreachable(),
                    "percent": cross.percent(),
                    "reached": cross.reached().map(|bin| json!({ "bin": bin.words, "hits": bin.hits })).collect::<Vec<_>>(),
                    "missing": cross.missing().map(missing).collect::<Vec<_>>(),
                    "not_known_to_be_reachable": cross.unknown().map(|bin| bin.words).collect::<Vec<_>>(),
                })
            })
            .collect();
        let (hit, reachable) = self.total();
        let mut all = head(self.unit());
        for (key, value) in [
            ("exhaustive", json!(self.is_exhaustive())),
            ("vectors", json!(self.vectors)),
            ("hit", json!(hit)),
            ("reachable", json!(reachable)),
            ("percent", json!(self.percent())),
            ("crosses", json!(crosses)),
        ] {
            all[key] = value;
        }
        all
    }

    /// Returns the coverage that the JSON of an earlier run has.
    ///
    /// # Errors
    /// JSON that is not a coverage's.
    pub fn of_json(json: &Value) -> Result<Self, Error> {
        let mut coverage = Self::new(header_in(json)?.unit()?)?;
        coverage.merge_json(json)?;
        Ok(coverage)
    }

    /// Adds what an earlier run counted.
    ///
    /// # Errors
    /// JSON that is not a coverage's, or that of another unit.
    pub fn merge_json(&mut self, json: &Value) -> Result<u64, Error> {
        let wrong = |problem: &str| Error::Coverage { problem: problem.to_owned() };
        let text = |key: &str| json.get(key).and_then(Value::as_str);
        if text("title") != Some(TITLE) {
            return Err(wrong("not the JSON of `vectors cover --json`"));
        }
        let named = |operation: Option<&str>, policy: Option<&str>| {
            let flags = policy.map(|policy| format!(" with {policy} flags")).unwrap_or_default();
            format!("{}{flags}", operation.unwrap_or("nothing"))
        };
        let policy = self.unit().flag_policy().map(|policy| policy.to_string());
        let (given, own) = (
            named(text("operation"), text("flag_policy")),
            named(Some(&self.unit().to_string()), policy.as_deref()),
        );
        if given != own {
            return Err(wrong(&format!("it is of {given}, not of {own}")));
        }
        let list = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned();
        let crosses = list(json, "crosses").ok_or_else(|| wrong("`crosses` is missing"))?;
        let mut added = self.hits.clone();
        for cross in &crosses {
            let name = cross.get("name").and_then(Value::as_str);
            let name = name.ok_or_else(|| wrong("a cross has no `name`"))?;
            let at = self.subject.crosses().iter().position(|known| known.name == name);
            let at = at.ok_or_else(|| wrong(&format!("no cross is called `{name}` here")))?;
            let missing = |key: &str| wrong(&format!("{name} has no `{key}`"));
            let reached = cross.get("reached").and_then(Value::as_array).ok_or_else(|| missing("reached"))?;
            for bin in reached {
                let words = bin.get("bin").and_then(Value::as_array).ok_or_else(|| missing("bin"))?;
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                let place = self.subject.crosses()[at].named(&words);
                let place =
                    place.ok_or_else(|| wrong(&format!("{name} has no bin `{}`", words.join(", "))))?;
                let hits = bin.get("hits").and_then(Value::as_u64).ok_or_else(|| missing("hits"))?;
                let sum = &mut added[at][place];
                *sum = sum.checked_add(hits).ok_or_else(|| wrong("hits are more than 64 bits count"))?;
            }
        }
        let vectors = json.get("vectors").and_then(Value::as_u64);
        let vectors = vectors.ok_or_else(|| wrong("`vectors` is missing"))?;
        self.vectors = self.vectors.checked_add(vectors).ok_or_else(|| wrong("`vectors` is too large"))?;
        self.hits = added;
        self.take_in_news();
        Ok(vectors)
    }
}
