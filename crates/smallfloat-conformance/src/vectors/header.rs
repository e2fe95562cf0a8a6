//! [`VectorHeader`]: what a vector file says of itself.

use std::fmt::Write as _;

use serde_json::{Map, Value};
use smallfloat::{Codebook, FlagOrder, FlagPolicy, Flags, Format, Preset};

use crate::error::Error;
use crate::named::by_name;
use crate::vectors::any_unit::VectorUnit;
use crate::vectors::layout::LineLayout;
use crate::vectors::level::CoverageLevel;
use crate::vectors::ports::Ports;

/// Which flags a file has; the bits of the others are 0 and not compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagSet {
    /// Tesla's four: invalid, denormal, overflow, underflow.
    Idou,
    /// All six.
    All,
    /// IEEE 754's five: all but denormal.
    Iouxz,
    /// None: a unit that has no flags.
    None,
}

impl FlagSet {
    /// All sets with their names.
    pub const NAMED: &'static [(&'static str, Self)] =
        &[("idou", Self::Idou), ("iouxz", Self::Iouxz), ("all", Self::All), ("none", Self::None)];

    /// Returns the flags themselves.
    pub fn mask(self) -> Flags {
        match self {
            Self::Idou => Flags::ALL.tesla(),
            Self::Iouxz => Flags::ALL.without(Flags::DENORMAL),
            Self::All => Flags::ALL,
            Self::None => Flags::NONE,
        }
    }

    /// Returns what holds where nothing is said: the flags that a unit with the policy has, which
    /// are one of these sets, or the smallest set with all of them.
    pub fn of(policy: FlagPolicy) -> Self {
        let sets = [Self::None, Self::Idou, Self::Iouxz];
        sets.into_iter().find(|set| set.mask().contains(policy.bits)).unwrap_or(Self::All)
    }
}

by_name!(FlagSet, FlagSet);

/// The first line's words, in every layout.
pub(super) const TITLE: &str = "smallfloat vectors 1";

/// The header of a file, as far as checking needs it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct VectorHeader {
    /// The operation, in the P3109 draft's spelling.
    pub operation: Option<String>,
    /// The ports that choose among operations.
    pub ports: Option<Ports>,
    /// The preset that goes with it.
    pub preset: Option<Preset>,
    /// The layout.
    pub layout: Option<LineLayout>,
    /// The flags that lines have.
    pub flags: Option<FlagSet>,
    /// When flags are raised; a file that does not say has Tesla's rules.
    pub policy: Option<FlagPolicy>,
    /// The order of the flags' bits.
    pub order: Option<FlagOrder>,
    /// How many vectors follow.
    pub lines: Option<u64>,
    /// SHA-256 of the vectors as the testfloat layout writes them, in hexadecimal.
    pub sha256: Option<String>,
    /// Whether the digest follows in the last line, as it does where lines are written while they
    /// are computed. Lines without it are incomplete.
    pub has_trailer: bool,
}

/// What the header says of the digest where it follows the lines.
const LAST_LINE: &str = "in the last line";

impl VectorHeader {
    /// Takes one `key: value`; keys that checking does not need are passed over.
    ///
    /// # Errors
    /// A value that is not one of its key's.
    pub(crate) fn take(&mut self, key: &str, value: &str) -> Result<(), String> {
        let text = |error: &dyn std::fmt::Display| format!("{key}: {error}");
        match key {
            "operation" => self.operation = Some(value.to_owned()),
            "ports" => self.ports = Some(value.parse().map_err(|e: Error| e.to_string())?),
            "preset" => self.preset = Some(value.parse().map_err(|e: smallfloat::Error| text(&e))?),
            "layout" => self.layout = Some(value.parse().map_err(|e: Error| text(&e))?),
            "flag policy" => {
                self.policy = Some(value.parse().map_err(|e: smallfloat::Error| text(&e))?);
            }
            "flag order" => self.order = Some(value.parse().map_err(|e: smallfloat::Error| text(&e))?),
            "flags" => self.flags = Some(value.parse().map_err(|e: Error| text(&e))?),
            "lines" => {
                self.lines = Some(value.parse().map_err(|_| text(&"a number of lines is expected"))?);
            }
            "sha256" => {
                let legal = value.len() == 64 && value.bytes().all(|c| c.is_ascii_hexdigit());
                let digest = legal.then(|| value.to_ascii_lowercase());
                self.sha256 = Some(digest.ok_or_else(|| text(&"64 hexadecimal digits are expected"))?);
            }
            "digest" => self.has_trailer = value == LAST_LINE,
            _ => {}
        }
        Ok(())
    }

    /// Returns the unit that the header names.
    ///
    /// # Errors
    /// No operation, or one that is not understood.
    pub fn unit(&self) -> Result<VectorUnit, Error> {
        self.unit_with(self.flag_policy())
    }

    /// The policy that holds for a file with a header.
    pub(super) fn flag_policy(&self) -> FlagPolicy {
        self.policy.unwrap_or(FlagPolicy::TESLA)
    }

    /// The unit that the header names, under a policy.
    pub(super) fn unit_with(&self, policy: FlagPolicy) -> Result<VectorUnit, Error> {
        let operation = self.operation.as_deref().ok_or(Error::NoOperation)?;
        VectorUnit::parse(operation, policy, self.preset, self.ports.as_ref())
    }
}

/// What a header says besides its unit.
pub(super) struct Facts {
    pub(super) layout: LineLayout,
    pub(super) flags: FlagSet,
    pub(super) order: FlagOrder,
    pub(super) level: Option<CoverageLevel>,
    pub(super) seed: u64,
    pub(super) lines: u64,
    pub(super) models: String,
    /// Which part of all lines these are.
    pub(super) part: Option<String>,
}

/// The lines of a header as keys and values, in their order.
fn rows(unit: &VectorUnit, facts: &Facts) -> Vec<(&'static str, String)> {
    let mut rows = vec![("operation", unit.to_string())];
    rows.extend(unit.ports().map(|ports| ("ports", ports.to_string())));
    rows.extend(unit.preset().map(|preset| ("preset", preset.name().to_owned())));
    let mut seen: Vec<Format> = Vec::new();
    for format in unit.formats() {
        if !seen.contains(&format) {
            seen.push(format);
            rows.push(("format", describe(&format)));
        }
    }
    let lists = unit.operands().iter().chain(unit.results()).filter_map(|field| field.list);
    rows.extend(lists.map(|list| ("list", describe_list(list))));
    rows.extend(unit.described());
    rows.push(("fields", fields(unit, facts.layout)));
    rows.extend(unit.flag_policy().map(|policy| ("flag policy", policy.to_string())));
    rows.extend([
        ("flags", facts.flags.to_string()),
        ("flag order", facts.order.to_string()),
        ("flag bits", flag_bits(facts.order)),
        ("layout", facts.layout.to_string()),
    ]);
    rows.extend(facts.level.map(|level| ("level", level.to_string())));
    rows.extend([("models", facts.models.clone()), ("seed", facts.seed.to_string())]);
    rows.extend(facts.part.clone().map(|part| ("shard", part)));
    rows.extend([
        ("lines", facts.lines.to_string()),
        ("digest", LAST_LINE.to_owned()),
        ("tool", concat!("smallfloat ", env!("CARGO_PKG_VERSION")).to_owned()),
    ]);
    rows
}

/// The names of the flags in the order of [`Flags::LETTERS`].
const FLAGS: [&str; 6] = ["invalid", "denormal", "overflow", "underflow", "inexact", "division by zero"];

/// The bits of the flags, from the lowest.
fn flag_bits(order: FlagOrder) -> String {
    let mut bits: Vec<_> = order.places().into_iter().zip(FLAGS).collect();
    bits.sort_unstable();
    bits.into_iter().map(|(place, name)| format!("{place} {name}")).collect::<Vec<_>>().join(", ")
}

/// A format's fields, so that a reader without our catalogue can decode its codes.
fn describe(format: &Format) -> String {
    let subnormals = format.subnormals().name();
    format!(
        "{format} = {} sign, {} exponent, {} significand bits, bias {}, subnormals {subnormals}, specials {}",
        u32::from(format.is_signed()),
        format.exponent_bits(),
        format.trailing_bits(),
        format.bias(),
        format.specials().name()
    )
}

/// The values of a list, by code.
fn describe_list(list: Codebook) -> String {
    let values: Vec<_> = (0..=list.max_code()).map(|code| list.value(code).to_string()).collect();
    format!("{list} = {}; ties {}", values.join(" "), list.ties().name())
}

/// The fields of a line: for a word their bits, else their digits.
fn fields(unit: &VectorUnit, layout: LineLayout) -> String {
    let all = unit.operands().iter().chain(unit.results());
    let mut fields: Vec<_> = all.map(|field| (field.name.as_str(), field.digits())).collect();
    fields.push(("flags", 2));
    let mut below = 4 * fields.iter().map(|(_, digits)| digits).sum::<usize>();
    let mut text = String::new();
    for (i, (name, digits)) in fields.into_iter().enumerate() {
        let separator = if i == 0 { "" } else { " " };
        let top = below - 1;
        below -= 4 * digits;
        // Writing to a string cannot fail.
        let _ = match layout {
            LineLayout::ReadMemH => write!(text, "{separator}{name}[{top}:{below}]"),
            _ => write!(text, "{separator}{name}:{digits}"),
        };
    }
    text
}

/// The header as text.
pub(super) fn write(unit: &VectorUnit, facts: &Facts) -> Vec<u8> {
    let rows = rows(unit, facts);
    if facts.layout == LineLayout::JsonLines {
        let mut object = Map::new();
        object.insert("title".into(), TITLE.into());
        for (key, value) in rows {
            match object.get_mut(key) {
                // Several formats share their key.
                Some(Value::String(text)) => {
                    text.push_str("; ");
                    text.push_str(&value);
                }
                _ => {
                    object.insert(key.into(), value.into());
                }
            }
        }
        return format!("{}\n", Value::Object(object)).into_bytes();
    }
    let comment = facts.layout.comment();
    let mut text = format!("{comment} {TITLE}\n");
    for (key, value) in rows {
        let _ = writeln!(text, "{comment} {key}: {value}");
    }
    if facts.layout == LineLayout::Csv {
        let titles = unit.operands().iter().chain(unit.results()).map(|field| field.name.as_str());
        let titles: Vec<_> = titles.chain(["flags"]).collect();
        let _ = writeln!(text, "{}", titles.join(","));
    }
    text.into_bytes()
}

/// The last line, with the digest.
pub(super) fn trailer(layout: LineLayout, sha256: &str) -> String {
    match layout {
        LineLayout::JsonLines => format!("{{\"title\":\"{TITLE}\",\"sha256\":\"{sha256}\"}}\n"),
        _ => format!("{} sha256: {sha256}\n", layout.comment()),
    }
}
