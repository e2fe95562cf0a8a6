//! [`Ports`]: columns that choose what a unit computes, as hardware has them as ports: the bias,
//! the rounding mode, the saturation mode.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use smallfloat::p3109::Specialization;
use smallfloat::{Format, Rounding, Saturation};

use crate::error::Error;
use crate::vectors::unit::{Field, UnitUnderTest};

/// Rounding modes in the order of RISC-V's `rm`; `to-odd` has the first number that it does not
/// use.
const ROUNDINGS: [Rounding; 6] = [
    Rounding::NearestEven,
    Rounding::TowardZero,
    Rounding::TowardNegative,
    Rounding::TowardPositive,
    Rounding::NearestAway,
    Rounding::ToOdd,
];
/// Settings that a unit may have, at most.
const SETTINGS: usize = 1 << 12;

/// What a port chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PortKind {
    /// The bias of every format that has one to choose, or of the operand or result with this name.
    Bias(Option<&'static str>),
    /// The rounding mode, of all projections.
    Rounding,
    /// The saturation mode, of all projections.
    Saturation,
}

/// The names of ports; of biases with what they are of.
const NAMED: [(&str, PortKind); 7] = [
    ("bias", PortKind::Bias(None)),
    ("x_bias", PortKind::Bias(Some("x"))),
    ("y_bias", PortKind::Bias(Some("y"))),
    ("z_bias", PortKind::Bias(Some("z"))),
    ("result_bias", PortKind::Bias(Some("result"))),
    ("rounding", PortKind::Rounding),
    ("saturation", PortKind::Saturation),
];

impl PortKind {
    fn name(self) -> &'static str {
        let named = NAMED.iter().find(|(_, kind)| *kind == self);
        named.expect("every kind has a name").0
    }

    /// The width of the port in bits.
    fn bits(self) -> u32 {
        match self {
            Self::Bias(_) => 6,
            Self::Rounding => 3,
            Self::Saturation => 2,
        }
    }

    /// The codes that there are.
    fn codes(self) -> RangeInclusive<u64> {
        match self {
            Self::Bias(_) => 0..=63,
            Self::Rounding => 0..=ROUNDINGS.len() as u64 - 1,
            Self::Saturation => 0..=Saturation::ALL.len() as u64 - 1,
        }
    }

    /// The codes that "all" means: not the saturation of an older draft.
    fn usual(self) -> Vec<u64> {
        self.codes().filter(|code| self != Self::Saturation || *code < 3).collect()
    }

    /// What a code means.
    pub(crate) fn word(self, code: u64) -> String {
        let at = usize::try_from(code).expect("a code of a few bits");
        match self {
            Self::Bias(_) => code.to_string(),
            Self::Rounding => ROUNDINGS[at].name().to_owned(),
            Self::Saturation => Saturation::ALL[at].to_string(),
        }
    }

    /// The codes that a word names: a number, a range of numbers, or a mode.
    fn of_word(self, word: &str) -> Result<RangeInclusive<u64>, String> {
        let (low, high) = (*self.codes().start(), *self.codes().end());
        if let Self::Bias(_) = self {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            return match (first.trim().parse(), last.trim().parse()) {
                (Ok(first), Ok(last)) if low <= first && first <= last && last <= high => Ok(first..=last),
                _ => Err(format!("`{word}` is no bias or range of biases from {low} to {high}")),
            };
        }
        let code = self.codes().find(|code| self.word(*code).eq_ignore_ascii_case(word));
        code.map(|code| code..=code).ok_or_else(|| {
            let words: Vec<_> = self.codes().map(|code| self.word(code)).collect();
            format!("`{word}` is none of {}", words.join(", "))
        })
    }
}

/// A port with the values that it has in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Port {
    kind: PortKind,
    /// Its codes, in the order of the lines.
    codes: Vec<u64>,
}

/// The ports of a unit: the first columns of each line, in this order.
///
/// ```
/// use smallfloat_conformance::vectors::Ports;
/// let ports: Ports = "bias=0-15/63, rounding=toward-zero/nearest-even".parse()?;
/// assert_eq!(ports.to_string(), "bias=0-15/63, rounding=toward-zero/nearest-even");
/// assert_eq!(ports.settings(), 34);
/// assert_eq!("bias".parse::<Ports>()?.settings(), 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ports(Vec<Port>);

impl Ports {
    /// Returns how many combinations of their values there are.
    pub fn settings(&self) -> usize {
        self.0.iter().fold(1, |product, port| product.saturating_mul(port.codes.len()))
    }

    /// Returns whether a bias is among them.
    pub fn have_bias(&self) -> bool {
        self.0.iter().any(|port| matches!(port.kind, PortKind::Bias(_)))
    }

    /// The ports with all the values that they may have, those of these ports first.
    fn widened(&self) -> Self {
        let widened = |port: &Port| {
            let more = port.kind.codes().filter(|code| !port.codes.contains(code));
            Port { kind: port.kind, codes: port.codes.iter().copied().chain(more).collect() }
        };
        Self(self.0.iter().map(widened).collect())
    }
}

/// `bias=0-63, rounding=nearest-even/toward-zero`.
impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, port) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{}=", port.kind.name())?;
            let mut rest = &port.codes[..];
            while let Some(&first) = rest.first() {
                let is_range = matches!(port.kind, PortKind::Bias(_));
                let run = rest.iter().zip(first..).take_while(|(code, next)| *code == next).count();
                let run = if is_range { run } else { 1 };
                let last = rest[run - 1];
                let slash = if rest.len() == port.codes.len() { "" } else { "/" };
                write!(f, "{slash}{}", port.kind.word(first))?;
                if last > first {
                    write!(f, "-{}", port.kind.word(last))?;
                }
                rest = &rest[run..];
            }
        }
        Ok(())
    }
}

impl FromStr for Ports {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |problem: String| Error::Ports { problem };
        let mut ports: Vec<Port> = Vec::new();
        for part in text.split(',') {
            let (name, values) = match part.split_once('=') {
                Some((name, values)) => (name.trim(), Some(values)),
                None => (part.trim(), None),
            };
            let kind = NAMED.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|row| row.1);
            let kind = kind.ok_or_else(|| {
                let names: Vec<_> = NAMED.iter().map(|row| row.0).collect();
                wrong(format!("`{name}` is none of {}", names.join(", ")))
            })?;
            let mut codes = Vec::new();
            match values.filter(|values| !values.trim().eq_ignore_ascii_case("all")) {
                None => codes = kind.usual(),
                Some(values) => {
                    for word in values.split('/') {
                        let named = kind.of_word(word.trim());
                        for code in named.map_err(|problem| wrong(format!("{name}: {problem}")))? {
                            if codes.contains(&code) {
                                return Err(wrong(format!("{name}: {} is named twice", kind.word(code))));
                            }
                            codes.push(code);
                        }
                    }
                }
            }
            let is_bias = |kind| matches!(kind, PortKind::Bias(None));
            let clashes = |other: PortKind| {
                let are_biases = matches!((kind, other), (PortKind::Bias(_), PortKind::Bias(_)));
                kind == other || are_biases && (is_bias(kind) || is_bias(other))
            };
            if let Some(other) = ports.iter().find(|port| clashes(port.kind)) {
                return Err(wrong(format!("{name} and {} choose the same", other.kind.name())));
            }
            ports.push(Port { kind, codes });
        }
        Ok(Self(ports))
    }
}

/// A unit for each combination of the values of ports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Settings {
    ports: Ports,
    /// The ports as fields of a line.
    pub(crate) fields: Vec<Field>,
    /// The values of the last port change fastest.
    units: Vec<UnitUnderTest>,
}

impl Settings {
    /// The units of an operation that the ports choose among.
    pub(crate) fn new(unit: &UnitUnderTest, ports: &Ports) -> Result<Self, Error> {
        let count = ports.settings();
        if count > SETTINGS {
            let problem = format!(
                "the ports have {count} settings, at most {SETTINGS} are supported: name fewer values"
            );
            return Err(Error::Ports { problem });
        }
        let fields = ports.0.iter().map(|port| Field::port(port.kind.name(), port.kind.bits()));
        let mut settings = Self { ports: ports.clone(), fields: fields.collect(), units: Vec::new() };
        for setting in 0..count {
            let operation = operation_at(unit.operation(), &settings.choices(setting))?;
            settings.units.push(UnitUnderTest::from_operation(operation, unit.preset()));
        }
        Ok(settings)
    }

    /// Settings with other units.
    pub(crate) fn map(&self, change: impl Fn(UnitUnderTest) -> UnitUnderTest) -> Self {
        Self { units: self.units.iter().cloned().map(change).collect(), ..self.clone() }
    }

    pub(crate) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Returns these ports with all the values that each may have, if these are not too many.
    pub(crate) fn widened(&self) -> Option<Ports> {
        Some(self.ports.widened()).filter(|ports| ports.settings() <= SETTINGS)
    }

    pub(crate) fn units(&self) -> &[UnitUnderTest] {
        &self.units
    }

    /// What the ports are, in their order.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = PortKind> {
        self.ports.0.iter().map(|port| port.kind)
    }

    /// The codes of one port, in the order of the lines.
    pub(crate) fn codes_of(&self, port: usize) -> &[u64] {
        &self.ports.0[port].codes
    }

    fn choices(&self, setting: usize) -> Vec<(PortKind, u64)> {
        let kinds = self.ports.0.iter().map(|port| port.kind);
        kinds.zip(self.codes(setting)).collect()
    }

    /// The ports' codes at a setting.
    pub(crate) fn codes(&self, mut setting: usize) -> Vec<u64> {
        let mut codes: Vec<u64> = Vec::with_capacity(self.ports.0.len());
        for port in self.ports.0.iter().rev() {
            codes.push(port.codes[setting % port.codes.len()]);
            setting /= port.codes.len();
        }
        codes.reverse();
        codes
    }

    /// The setting that the first numbers of a line choose, if it is one of these.
    pub(crate) fn find(&self, operands: &[u64]) -> Option<usize> {
        let mut setting = 0;
        for (port, code) in self.ports.0.iter().zip(operands) {
            // Usually all codes, in their order.
            let at = usize::try_from(*code).expect("a code of a few bits");
            let at = match port.codes.get(at) {
                Some(known) if known == code => at,
                _ => port.codes.iter().position(|known| known == code)?,
            };
            setting = setting * port.codes.len() + at;
        }
        Some(setting)
    }

    /// What is wrong with the first numbers of a line that choose no setting.
    pub(crate) fn refusal(&self, operands: &[u64]) -> Error {
        let wrong = self.ports.0.iter().zip(operands).find(|(port, code)| !port.codes.contains(code));
        let (port, code) = wrong.expect("some port has another value");
        let known: Vec<_> = port.codes.iter().map(|code| format!("{code:x}")).collect();
        let problem =
            format!("{}: {code:x} is none of {} in hexadecimal", port.kind.name(), known.join(", "));
        Error::Ports { problem }
    }
}

/// An operation with the biases and modes that ports choose.
fn operation_at(operation: &Specialization, choices: &[(PortKind, u64)]) -> Result<Specialization, Error> {
    let mut operation = operation.clone();
    for &(kind, code) in choices {
        let at = usize::try_from(code).expect("a code of a few bits");
        match kind {
            PortKind::Bias(of) => operation = with_bias(&operation, of, code)?,
            PortKind::Rounding => {
                operation =
                    with_projections(&operation, |projection| projection.with_rounding(ROUNDINGS[at]))?;
            }
            PortKind::Saturation => {
                let saturation = Saturation::ALL[at];
                operation =
                    with_projections(&operation, |projection| projection.with_saturation(saturation))?;
            }
        }
    }
    Ok(operation)
}

fn with_projections(
    operation: &Specialization,
    change: impl Fn(&smallfloat::Projection) -> smallfloat::Projection,
) -> Result<Specialization, Error> {
    if operation.projections().is_empty() {
        return Err(Error::NotRounded { name: operation.function().name().to_owned() });
    }
    let projections: Vec<_> = operation.projections().iter().map(change).collect();
    Ok(operation.with_projections(&projections)?)
}

fn with_bias(operation: &Specialization, of: Option<&str>, code: u64) -> Result<Specialization, Error> {
    let mut formats = operation.formats().to_vec();
    let places = match of {
        None => 0..formats.len(),
        Some("result") => formats.len() - 1..formats.len(),
        Some(name) => {
            let at = ["x", "y", "z"].iter().position(|known| *known == name).expect("operands have letters");
            at..at + usize::from(at < operation.operands().len())
        }
    };
    let bias = i32::try_from(code).expect("6 bits");
    let mut is_free = false;
    for format in formats[places].iter_mut().filter(|format| format.has_free_bias()) {
        *format = Format::with_bias(*format, bias)?;
        is_free = true;
    }
    if !is_free {
        let whose = of.map_or_else(|| "no format here".to_owned(), |name| format!("no format of {name}"));
        let problem = format!("{whose} has a bias that a port can choose, as cfloat8_1_4_3 and shp have");
        return Err(Error::Ports { problem });
    }
    // What follows from the formats stays.
    let arithmetic = operation.arithmetic().with_flags(operation.flag_policy());
    Ok(operation.with_formats(&formats)?.with_arithmetic(arithmetic))
}
