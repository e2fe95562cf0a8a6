//! [`UnitCoverage`]: the coverage of a unit at each setting of its ports.

use std::io::Read;

use serde_json::{Value, json};
use smallfloat_kernels::parallel_map;

use crate::coverage::stored::{TITLE, head, header_in};
use crate::coverage::tally::Coverage;
use crate::error::Error;
use crate::vectors::ports::Settings;
use crate::vectors::{CheckOptions, OperandFile, UnitUnderTest, VectorPlan, VectorUnit};

/// The coverage of a unit: of one without ports a [`Coverage`], of others one for each setting of
/// the ports, so that 100 % is every bin at every setting.
#[derive(Clone, Debug)]
pub struct UnitCoverage {
    unit: VectorUnit,
    /// One for each setting, in their order.
    settings: Vec<Coverage>,
}

impl UnitCoverage {
    /// Returns the bins of a unit at each setting.
    ///
    /// # Errors
    /// None for units that exist; the signature is that of evaluating.
    pub fn new(unit: impl Into<VectorUnit>) -> Result<Self, Error> {
        let unit = unit.into();
        let settings = match settings_of(&unit).map(Settings::units) {
            None => vec![Coverage::new(unit.clone())?],
            Some(units) => {
                let settings = parallel_map(units.len(), |at| Coverage::new(&units[at]));
                settings.into_iter().collect::<Result<_, Error>>()?
            }
        };
        Ok(Self { unit, settings })
    }

    /// Returns the unit.
    pub fn unit(&self) -> &VectorUnit {
        &self.unit
    }

    /// Returns the values of the ports, and the coverage where they have them; without values for a
    /// unit without ports.
    pub fn settings(&self) -> impl Iterator<Item = (Vec<u64>, &Coverage)> {
        let codes = |at| settings_of(&self.unit).map(|settings| settings.codes(at)).unwrap_or_default();
        self.settings.iter().enumerate().map(move |(at, coverage)| (codes(at), coverage))
    }

    /// Returns the coverage of a unit without ports.
    ///
    /// # Errors
    /// A unit with ports.
    pub fn single(&self) -> Result<&Coverage, Error> {
        if settings_of(&self.unit).is_none() {
            return Ok(&self.settings[0]);
        }
        let problem = "a covergroup has the bins of one setting: name the unit without ports".into();
        Err(Error::Ports { problem })
    }

    /// Returns how many vectors were counted.
    pub fn vectors(&self) -> u64 {
        self.settings.iter().map(Coverage::vectors).sum()
    }

    /// Whether all operands were tried, so that every bin is known to be reachable or not.
    pub fn is_exhaustive(&self) -> bool {
        self.settings.iter().all(Coverage::is_exhaustive)
    }

    /// Returns how many bins were reached and how many can be, at all settings.
    pub fn total(&self) -> (usize, usize) {
        let totals = self.settings.iter().map(Coverage::total);
        totals.fold((0, 0), |(hit, all), (more_hit, more)| (hit + more_hit, all + more))
    }

    /// Returns the reached bins as a percentage of the reachable ones.
    #[expect(clippy::cast_precision_loss, reason = "bins are few")]
    pub fn percent(&self) -> f64 {
        match self.total() {
            (_, 0) => 100.0,
            (hit, all) => 100.0 * hit as f64 / all as f64,
        }
    }

    /// Returns the coverage of the unit that a file's header names, or of that of the options, by
    /// the file.
    ///
    /// # Errors
    /// A header that is not understood or names no unit; what [`read`](Self::read) refuses.
    pub fn of_vectors(input: impl Read, options: &CheckOptions) -> Result<Self, Error> {
        let file = OperandFile::open(input, options)?;
        let mut coverage = Self::new(file.unit.clone())?;
        coverage.read_file(file)?;
        Ok(coverage)
    }

    /// Counts the vectors of a file of this unit.
    ///
    /// # Errors
    /// Lines that are not understood, with their numbers; a setting that the unit does not have; a
    /// file of another unit; no vector at all.
    pub fn read(&mut self, input: impl Read, options: &CheckOptions) -> Result<(), Error> {
        let options = CheckOptions { unit: Some(self.unit.clone()), ..options.clone() };
        self.read_file(OperandFile::open(input, &options)?)
    }

    fn read_file(&mut self, file: OperandFile<impl Read>) -> Result<(), Error> {
        let (unit, coverages) = (&self.unit, &mut self.settings);
        let Some(settings) = settings_of(unit) else {
            return file.read(|operands| coverages[0].count_lines(operands));
        };
        let (width, ports) = (unit.operands().len(), settings.fields.len());
        let mut refused = None;
        file.read(|numbers| {
            let mut lines = vec![Vec::new(); coverages.len()];
            for line in numbers.chunks_exact(width) {
                match settings.find(line) {
                    Some(setting) => lines[setting].extend_from_slice(&line[ports..]),
                    None => refused = refused.take().or(Some(settings.refusal(line))),
                }
            }
            for (coverage, lines) in coverages.iter_mut().zip(lines) {
                coverage.count_lines(&lines);
            }
        })?;
        refused.map_or(Ok(()), Err)
    }

    /// Returns a plan with vectors for every missing bin; `None` where none is missing.
    pub fn closing_plan(&self) -> Option<VectorPlan> {
        let lines = self.settings().flat_map(|(codes, coverage)| {
            let lines = coverage.closing().into_iter();
            lines.map(move |line| [&codes[..], &line].concat())
        });
        let lines: Vec<Vec<u64>> = lines.collect();
        (!lines.is_empty()).then(|| VectorPlan::of_lines("missing bins", &lines, self.unit.operands().len()))
    }

    /// Returns all counts as JSON: of a unit without ports those of its [`Coverage`], else a list
    /// of these.
    pub fn to_json(&self) -> Value {
        if settings_of(&self.unit).is_none() {
            return self.settings[0].to_json();
        }
        let settings = self.settings().map(|(codes, coverage)| {
            let ports =
                self.unit.port_values(&codes).map(|(field, _, word)| (field.name.clone(), word.into()));
            let ports: serde_json::Map<String, Value> = ports.collect();
            let mut setting = coverage.to_json();
            setting["ports"] = ports.into();
            setting
        });
        let settings: Vec<Value> = settings.collect();
        let (hit, reachable) = self.total();
        let mut all = head(&self.unit);
        for (key, value) in [
            ("ports", json!(self.unit.ports().map(ToString::to_string))),
            ("exhaustive", json!(self.is_exhaustive())),
            ("vectors", json!(self.vectors())),
            ("hit", json!(hit)),
            ("reachable", json!(reachable)),
            ("percent", json!(self.percent())),
            ("settings", json!(settings)),
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
    pub fn merge_json(&mut self, json: &Value) -> Result<(), Error> {
        let wrong = |problem: String| Error::Coverage { problem };
        let own = self.unit.ports().map(ToString::to_string);
        let theirs = json.get("ports").and_then(Value::as_str).map(str::to_owned);
        if own != theirs {
            let text = |ports: Option<String>| ports.unwrap_or_else(|| "none".into());
            return Err(wrong(format!("its ports are {}, not {}", text(theirs), text(own))));
        }
        if own.is_none() {
            self.settings[0].merge_json(json)?;
            return Ok(());
        }
        if json.get("title").and_then(Value::as_str) != Some(TITLE) {
            return Err(wrong("not the JSON of `vectors cover --json`".into()));
        }
        let settings = json.get("settings").and_then(Value::as_array);
        let settings = settings.filter(|settings| settings.len() == self.settings.len());
        let settings = settings.ok_or_else(|| wrong("`settings` has not one for each setting".into()))?;
        let mut merged = self.settings.clone();
        for (coverage, json) in merged.iter_mut().zip(settings) {
            coverage.merge_json(json)?;
        }
        self.settings = merged;
        Ok(())
    }
}

/// What the ports of a unit choose among, if it has some.
fn settings_of(unit: &VectorUnit) -> Option<&Settings> {
    unit.function().and_then(UnitUnderTest::settings)
}
