//! The last stage of a specification: from a magnitude to a code and flags.

use dashu_int::UBig;
use smallfloat::{Exact, FlagOrder, FlagPolicy, Flags, Format, Projection, Rounding, project_with};

use super::key::Key;
use super::operand::line;
use super::point::Point;
use super::steps::{Rule, Step, Steps, classes};
use super::straight;
use super::text::{add, comment, declare, literal, range};

/// What decides how an exact result is rounded, and what the flags look like.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) to: Format,
    pub(super) projection: Projection,
    pub(super) policy: FlagPolicy,
    pub(super) mask: Flags,
    pub(super) order: FlagOrder,
    /// Whether results can be negative.
    pub(super) is_signed: bool,
}

/// Above this width a staircase has too many steps to read.
const STAIRCASE: u32 = 8;

impl Target {
    /// The bits of the port `flags`.
    pub(super) fn flag_bits(&self) -> u32 {
        u8::BITS - self.mask.bits_in(self.order).leading_zeros()
    }

    /// Flags as a number.
    pub(super) fn flags(&self, flags: Flags) -> String {
        literal(self.flag_bits(), &UBig::from((flags & self.mask).bits_in(self.order)))
    }

    pub(super) fn code(&self, code: u64) -> String {
        literal(self.to.width(), &UBig::from(code))
    }

    /// What the core gives for an exact result.
    pub(super) fn ask(&self, exact: Exact) -> Rule {
        let rounded = project_with(exact, &self.to, &self.projection, self.policy);
        Rule { code: rounded.value, flags: rounded.flags & self.mask }
    }

    /// The wires `rounded` and `rounded_flags` of a finite result other than 0 by its key, the wire
    /// `m`, and its sign, the wire `negative`; or why there are none.
    pub(super) fn rounding(&self, key: &Key) -> Result<String, String> {
        let is_staircase = self.to.width() <= STAIRCASE && !self.projection.rounding.is_stochastic();
        if is_staircase { Ok(self.staircase(key)) } else { straight::rounding(self, key) }
    }

    /// The staircase of one sign, with flags as the mask leaves them.
    pub(super) fn steps(&self, key: &Key, negative: bool) -> (Steps<u64>, Steps<Flags>) {
        let classes = classes(&self.to, &self.projection, self.policy, negative);
        let codes = classes.map(|rule| rule.code);
        let flags = classes.map(|rule| rule.flags & self.mask);
        (Steps::new(&codes, key), Steps::new(&flags, key))
    }

    fn staircase(&self, key: &Key) -> String {
        let (bits, width) = (key.bits(), self.to.width());
        let (positive, positive_flags) = self.steps(key, false);
        let (negative, negative_flags) = self.steps(key, true);
        let mut text = comment(
            4,
            &format!(
                "Rounding, {}: the result's code is a staircase over the magnitude m, and the first line that holds \
                 gives it. Each threshold is the smallest magnitude of its step.",
                self.projection.rounding
            ),
        );
        let value = |code: u64| self.to.decode_text(code);
        Self::function(&mut text, "code_of", width, bits, &positive, &|code| (self.code(code), value(code)));
        let of_negative = self.is_signed.then(|| self.negative_code(&positive, &negative)).flatten();
        match (self.is_signed, of_negative) {
            (false, _) => declare(&mut text, width, "rounded", "code_of(m)"),
            (true, Some(of_negative)) => {
                declare(&mut text, width, "unsigned_code", "code_of(m)");
                declare(&mut text, width, "rounded", &format!("!negative ? unsigned_code : {of_negative}"));
            }
            (true, None) => {
                line(&mut text, "    // The same for negative results.");
                Self::function(&mut text, "negative_code_of", width, bits, &negative, &|code| {
                    (self.code(code), value(code))
                });
                declare(&mut text, width, "rounded", "negative ? negative_code_of(m) : code_of(m)");
            }
        }
        if self.mask.is_empty() {
            return text;
        }
        let flag_bits = self.flag_bits();
        let entry = |flags: Flags| (self.flags(flags), words(flags));
        line(
            &mut text,
            "\n    // The flags that rounding raises; values of the format are exceptions, because they are exact.",
        );
        Self::function(&mut text, "flags_of", flag_bits, bits, &positive_flags, &entry);
        if self.is_signed && negative_flags != positive_flags {
            Self::function(&mut text, "negative_flags_of", flag_bits, bits, &negative_flags, &entry);
            declare(&mut text, flag_bits, "rounded_flags", "negative ? negative_flags_of(m) : flags_of(m)");
        } else {
            declare(&mut text, flag_bits, "rounded_flags", "flags_of(m)");
        }
        text
    }

    /// The code of a negative result from that of the positive one: the sign bit set, but for
    /// exceptions. `None` where steps differ.
    fn negative_code(&self, positive: &Steps<u64>, negative: &Steps<u64>) -> Option<String> {
        let same_keys = positive.rows.iter().map(|row| &row.key).eq(negative.rows.iter().map(|row| &row.key));
        if !self.to.is_signed()
            || !same_keys
            || !positive.exceptions.is_empty()
            || !negative.exceptions.is_empty()
        {
            return None;
        }
        let sign = 1_u64 << (self.to.width() - 1);
        let mut pairs = vec![(positive.below, negative.below)];
        pairs.extend(positive.rows.iter().zip(&negative.rows).map(|(p, n)| (p.value, n.value)));
        pairs.sort_unstable();
        pairs.dedup();
        let exceptions: Vec<_> = pairs.iter().filter(|(p, n)| *n != p | sign).collect();
        if exceptions.len() > 2 {
            return None;
        }
        let mut text = String::new();
        for (p, n) in exceptions {
            add(&mut text, format_args!("(unsigned_code == {}) ? {} : ", self.code(*p), self.code(*n)));
        }
        Some(format!("{text}unsigned_code | {}", self.code(sign)))
    }

    /// A function of a magnitude that is a staircase.
    fn function<T: Copy + PartialEq>(
        text: &mut String,
        name: &str,
        bits: u32,
        key_bits: u32,
        steps: &Steps<T>,
        entry: &dyn Fn(T) -> (String, String),
    ) {
        let of = |bits: u32| if bits == 1 { String::new() } else { format!("{} ", range(bits)) };
        line(text, &format!("    function {}{name};", of(bits)));
        let has_exceptions = !steps.exceptions.is_empty();
        // Linters do not warn of such a name.
        let is_constant = steps.rows.is_empty() && !has_exceptions;
        let argument = if is_constant { "unused" } else { "magnitude" };
        line(text, &format!("        input {}{argument};", of(key_bits)));
        let margin = if has_exceptions { "            " } else { "        " };
        if has_exceptions {
            line(text, "        begin");
        }
        let mut word = "if";
        for Step { key, point, is_above, value } in steps.rows.iter().rev() {
            let (value, meaning) = entry(*value);
            let from = if *is_above { "above" } else { "from" };
            let key = literal(key_bits, key);
            line(
                text,
                &format!(
                    "{margin}{word} (magnitude >= {key}) {name} = {value}; // {from} {}: {meaning}",
                    point.text()
                ),
            );
            word = "else if";
        }
        let (value, meaning) = entry(steps.below);
        let last = if steps.rows.is_empty() { "" } else { "else " };
        line(text, &format!("{margin}{last}{name} = {value}; // {meaning}"));
        if has_exceptions {
            // After the steps, not around them: Verilator repeats a default for many ranges.
            line(text, "            case (magnitude)");
            exceptions(text, name, key_bits, &steps.exceptions, entry);
            line(text, "                default: ; // as above\n            endcase\n        end");
        }
        line(text, "    endfunction");
    }

    /// The code and flags of results that the core gives for a sign each, as expressions.
    pub(super) fn by_sign(&self, sign: &str, positive: Rule, negative: Rule) -> (String, String) {
        let choose = |positive: String, negative: String| {
            if positive == negative || !self.is_signed {
                positive
            } else {
                format!("({sign} ? {negative} : {positive})")
            }
        };
        let flags = if self.mask.is_empty() {
            String::new()
        } else {
            choose(self.flags(positive.flags), self.flags(negative.flags))
        };
        (choose(self.code(positive.code), self.code(negative.code)), flags)
    }

    /// The magnitudes of results that are beyond the range in every mode.
    pub(super) fn far(&self, negative: bool) -> Rule {
        let largest = Point::of(&self.to.max_finite());
        self.ask(largest.scaled(8).exact(negative))
    }

    pub(super) fn rounding_mode(&self) -> Rounding {
        self.projection.rounding
    }
}

/// The rows of a `case` for single magnitudes, those with one value together.
fn exceptions<T: Copy + PartialEq>(
    text: &mut String,
    name: &str,
    key_bits: u32,
    steps: &[Step<T>],
    entry: &dyn Fn(T) -> (String, String),
) {
    let mut values: Vec<T> = Vec::new();
    for step in steps {
        if !values.contains(&step.value) {
            values.push(step.value);
        }
    }
    for value in values {
        let keys: Vec<String> = steps
            .iter()
            .filter(|step| step.value == value)
            .map(|step| literal(key_bits, &step.key))
            .collect();
        let per_line = (80 / (keys[0].len() + 2)).max(1);
        let lines: Vec<String> = keys.chunks(per_line).map(|keys| keys.join(", ")).collect();
        let (value, meaning) = entry(value);
        line(text, &format!("                {}:", lines.join(",\n                ")));
        line(text, &format!("                    {name} = {value}; // {meaning}"));
    }
}

/// The names of flags, or that there is none.
pub(super) fn words(flags: Flags) -> String {
    let names = [
        (Flags::INVALID, "invalid"),
        (Flags::DENORMAL, "denormal"),
        (Flags::OVERFLOW, "overflow"),
        (Flags::UNDERFLOW, "underflow"),
        (Flags::INEXACT, "inexact"),
        (Flags::DIVISION_BY_ZERO, "division by zero"),
    ];
    let raised: Vec<&str> =
        names.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, name)| *name).collect();
    if raised.is_empty() { "none".into() } else { raised.join(", ") }
}
