//! [`UnitUnderTest`]: an operation under test, its operands and results as fields of so many bits.

use std::sync::Arc;

use smallfloat::ops::{Integer, Operand, Operation, OperationOptions, Semantics};
use smallfloat::p3109::{Answer, Argument, Block, Function, Parameter, Specialization};
use smallfloat::{
    Class, Codebook, Datum, Exact, FlagPolicy, Flags, Format, Preset, Projection, RandomBits, Rounded,
    Rounding, Saturation, convert_with,
};

use crate::error::Error;
use crate::features::{FeatureSet, OperandField};
use crate::vectors::outcome::CallOutcome;
use crate::vectors::ports::{Ports, Settings};

/// One number of a line: an operand, a random word, or a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name, a column's title.
    pub name: String,
    /// The format of its codes; none for codes of lists, integers, random words, truth values and
    /// classes.
    pub format: Option<Format>,
    /// The list of values that its codes are of.
    pub list: Option<Codebook>,
    /// The type of an integer.
    pub integer: Option<Integer>,
    /// Its width in bits, 1..=64.
    pub bits: u32,
}

impl Field {
    pub(crate) fn code(name: String, format: &Format) -> Self {
        Self { name, format: Some(*format), list: None, integer: None, bits: format.width() }
    }

    fn plain(name: &str, bits: u32) -> Self {
        Self { name: name.to_owned(), format: None, list: None, integer: None, bits }
    }

    pub(crate) fn list(name: &str, list: Codebook) -> Self {
        Self { list: Some(list), ..Self::plain(name, list.width()) }
    }

    /// A port that chooses what the unit computes.
    pub(crate) fn port(name: &str, bits: u32) -> Self {
        Self::plain(name, bits)
    }

    fn integer(name: &str, integer: Integer) -> Self {
        Self { integer: Some(integer), ..Self::plain(name, integer.bits()) }
    }

    /// Returns whether it is a random word, if it is an operand.
    pub(crate) fn is_word(&self) -> bool {
        self.format.is_none() && self.list.is_none() && self.integer.is_none()
    }

    /// What a code means, of a format or of a list.
    pub(crate) fn datum(&self, code: u64) -> Option<Datum> {
        match (&self.format, &self.list) {
            (Some(format), _) => Some(format.decode(code)),
            (None, Some(list)) => Some(list.decode(u32::try_from(code).ok()?)),
            (None, None) => None,
        }
    }

    /// Returns how many hexadecimal digits it takes, ⌈bits/4⌉.
    pub fn digits(&self) -> usize {
        self.bits.div_ceil(4) as usize
    }

    /// Returns whether these codes are the same, or both NaN where any NaN is as good as another.
    pub(crate) fn agrees(&self, this: u64, that: u64, any_nan: bool) -> bool {
        let is_nan = |code| self.format.is_some_and(|format| format.classify(code) == Class::Nan);
        this == that || any_nan && is_nan(this) && is_nan(that)
    }

    /// Returns the largest value of so many bits.
    pub fn max(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// The P3109 draft's names of classes; a vector has the place in this list.
pub const CLASSES: &[&str] = &[
    "ClsNaN",
    "ClsNegativeInfinity",
    "ClsNegativeNormal",
    "ClsNegativeSubnormal",
    "ClsZero",
    "ClsPositiveSubnormal",
    "ClsPositiveNormal",
    "ClsPositiveInfinity",
];

/// An operation with formats and policies, seen as a function from numbers to numbers and flags.
///
/// Blocks are flattened: a scale, then its elements. Random words of stochastic roundings come last
/// among the operands, one for a rounded scalar or scale, one per element for sequences; ports come
/// first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitUnderTest {
    operation: Specialization,
    preset: Option<Preset>,
    operands: Vec<Field>,
    results: Vec<Field>,
    /// A numeric operation and how many operands it has: asked for on every line.
    numeric: Option<(Operation, usize)>,
    /// The bits of the word that rounds a single result or a scale.
    word: Option<u32>,
    /// The bits of the words that round a sequence.
    words: Option<u32>,
    /// Units of which the first operands choose one. All else here is that of the first.
    settings: Option<Arc<Settings>>,
}

const LETTERS: [&str; 3] = ["x", "y", "z"];

impl UnitUnderTest {
    /// Returns a unit for an operation; with a preset, what the result's format does not have
    /// becomes what the preset says, while rounding and saturation stay the operation's.
    ///
    /// # Errors
    /// Functions without operands: there is nothing to vary.
    pub fn new(operation: Specialization, preset: Option<Preset>) -> Result<Self, Error> {
        let name = operation.function().name();
        if operation.parameters().is_empty() {
            return Err(Error::NoVectors { name: name.to_owned() });
        }
        let operation = match preset {
            None => operation,
            Some(preset) => {
                let projections = operation.projections();
                let targets = &operation.formats()[operation.formats().len() - projections.len()..];
                let with_preset = |(projection, to): (&Projection, &Format)| {
                    projection.with_unrepresentable(preset.projection(to).unrepresentable)
                };
                let projections: Vec<_> = projections.iter().zip(targets).map(with_preset).collect();
                operation.with_projections(&projections)?
            }
        };
        Ok(Self::from_operation(operation, preset))
    }

    /// Returns a conversion in ieee semantics, as the command `convert` does it; what is not given
    /// is the preset's, and the preset the destination's own.
    ///
    /// # Errors
    /// None for formats that exist; the signature is that of parsing.
    pub fn convert(
        from: &Format,
        to: &Format,
        preset: Option<Preset>,
        rounding: Option<Rounding>,
        saturation: Option<Saturation>,
    ) -> Result<Self, Error> {
        let operation: Specialization = format!("Convert<{from}, {to}, semantics=ieee>").parse()?;
        let preset = preset.unwrap_or(Preset::default_for(to));
        let projection = preset.projection(to);
        let projection = projection.with_rounding(rounding.unwrap_or(projection.rounding));
        let projection = projection.with_saturation(saturation.unwrap_or(projection.saturation));
        Self::new(operation.with_projections(&[projection])?, Some(preset))
    }

    /// Returns this operation under another rounding or saturation mode, or a preset, where one is
    /// given.
    ///
    /// # Errors
    /// A policy for a function that rounds nothing.
    pub fn with_policy(
        self,
        preset: Option<Preset>,
        rounding: Option<Rounding>,
        saturation: Option<Saturation>,
    ) -> Result<Self, Error> {
        if preset.is_none() && rounding.is_none() && saturation.is_none() {
            return Ok(self);
        }
        let projections = self.operation.projections();
        let formats = self.operation.formats();
        if projections.is_empty() || formats.len() < projections.len() {
            return Err(Error::NotRounded { name: self.operation.function().name().to_owned() });
        }
        let targets = &formats[formats.len() - projections.len()..];
        let replaced: Vec<_> = projections
            .iter()
            .zip(targets)
            .map(|(projection, to)| {
                let projection = preset.map_or(*projection, |preset| preset.projection(to));
                let projection = projection.with_rounding(rounding.unwrap_or(projection.rounding));
                projection.with_saturation(saturation.unwrap_or(projection.saturation))
            })
            .collect();
        Self::new(self.operation.with_projections(&replaced)?, preset.or(self.preset))
    }

    pub(crate) fn from_operation(operation: Specialization, preset: Option<Preset>) -> Self {
        // What follows from the formats stays where a mistake changes these.
        let arithmetic = operation.arithmetic().with_flags(operation.flag_policy());
        let operation = operation.with_arithmetic(arithmetic);
        let length = || length(&operation);
        let mut operands = Vec::new();
        for (i, parameter) in operation.parameters().iter().enumerate() {
            let name = LETTERS.get(i).map_or_else(|| format!("operand{}", i + 1), |name| (*name).to_owned());
            let elements = |format: &Format, operands: &mut Vec<Field>| {
                operands.extend((0..length()).map(|j| Field::code(format!("{name}{j}"), format)));
            };
            match parameter {
                Parameter::Code(format) => operands.push(Field::code(name, format)),
                Parameter::Integer(integer) => operands.push(Field::integer(&name, *integer)),
                Parameter::Sequence(format) => elements(format, &mut operands),
                Parameter::Block { scale, element } => {
                    operands.push(Field::code(format!("{name}_scale"), scale));
                    elements(element, &mut operands);
                }
            }
        }
        let bits_of = |projection: &Projection| projection.rounding.random_bits().map(RandomBits::count);
        let word = match operation.projections() {
            [projection, _] => bits_of(projection),
            [projection] if operation.random_words() == 0 => bits_of(projection),
            _ => None,
        };
        let words = operation.projection().filter(|_| operation.random_words() > 0).and_then(bits_of);
        operands.extend(word.map(|bits| Field::plain("R", bits)));
        operands.extend(
            words
                .into_iter()
                .flat_map(|bits| (0..length()).map(move |i| Field::plain(&format!("R{i}"), bits))),
        );
        let results = result_fields(&operation);
        let numeric = match operation.function() {
            Function::Numeric(numeric) => Some((numeric, operation.operands().len())),
            _ => None,
        };
        Self { operation, preset, operands, results, numeric, word, words, settings: None }
    }

    /// Returns the unit with ports: the first operands of each line choose the bias, the rounding
    /// mode or the saturation mode.
    ///
    /// # Errors
    /// A bias that no format lets choose, modes of an operation that rounds nothing, and more than
    /// 4096 settings.
    pub fn with_ports(self, ports: &Ports) -> Result<Self, Error> {
        let plain = Self::from_operation(self.operation, self.preset);
        Ok(Self::of_settings(Settings::new(&plain, ports)?))
    }

    fn of_settings(settings: Settings) -> Self {
        let first = settings.units()[0].clone();
        let operands = settings.fields.iter().chain(first.operands()).cloned().collect();
        Self { operands, settings: Some(Arc::new(settings)), ..first }
    }

    /// Returns the unit whose ports have all the values that they may have.
    pub(super) fn widened(self) -> Result<Self, Error> {
        match self.settings.as_ref().and_then(|settings| settings.widened()) {
            Some(ports) => self.with_ports(&ports),
            None => Ok(self),
        }
    }

    /// Returns the ports, if it has any.
    pub fn ports(&self) -> Option<&Ports> {
        self.settings().map(Settings::ports)
    }

    /// The units that ports choose among.
    pub(crate) fn settings(&self) -> Option<&Settings> {
        self.settings.as_deref()
    }

    /// Returns the unit that the ports choose on a line, and the operands that are left for it; of
    /// a unit without ports itself and all operands.
    ///
    /// # Errors
    /// A port's value that is none of those that it has.
    pub fn chosen<'a>(&'a self, operands: &'a [u64]) -> Result<(&'a Self, &'a [u64]), Error> {
        let Some(settings) = self.settings() else { return Ok((self, operands)) };
        let (given, expected) = (operands.len(), self.operands.len());
        if given != expected {
            return Err(Error::Count { what: "operands", given, expected });
        }
        let setting = settings.find(operands).ok_or_else(|| settings.refusal(operands))?;
        Ok((&settings.units()[setting], &operands[settings.fields.len()..]))
    }

    /// Returns the ports' names on a line, with their fields, codes and what these mean.
    pub fn port_values<'a>(
        &'a self,
        operands: &'a [u64],
    ) -> impl Iterator<Item = (&'a Field, u64, String)> + use<'a> {
        let settings = self.settings().into_iter();
        settings.flat_map(move |settings| {
            let ports = settings.fields.iter().zip(settings.kinds()).zip(operands);
            ports.map(|((field, kind), code)| (field, *code, kind.word(*code)))
        })
    }

    /// Returns the operation.
    pub fn operation(&self) -> &Specialization {
        &self.operation
    }

    /// Returns the preset that decides what the operation's text does not say.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// Returns the operands, random words among them.
    pub fn operands(&self) -> &[Field] {
        &self.operands
    }

    /// Returns the results.
    pub fn results(&self) -> &[Field] {
        &self.results
    }

    /// What the operands are, blocks as wholes.
    pub(crate) fn parameters(&self) -> &[Parameter] {
        self.operation.parameters()
    }

    /// The bits of a word that rounds a single result.
    pub(crate) fn word_bits(&self) -> Option<u32> {
        self.word
    }

    /// How many operands are random words.
    pub(crate) fn word_count(&self) -> usize {
        self.operands.iter().rev().take_while(|field| field.is_word()).count()
    }

    /// The features of its vectors.
    pub(crate) fn features(&self) -> FeatureSet {
        let field = |field: &Field| OperandField { name: field.name.clone(), bits: field.bits };
        FeatureSet::new(&self.operation, self.operands.iter().map(field).collect())
    }

    /// Returns the policy that says when flags are raised.
    pub fn flag_policy(&self) -> FlagPolicy {
        self.operation.flag_policy()
    }

    /// Returns the unit with another policy for flags and NaN results. A processor's policy implies
    /// ieee semantics, unless those that the operation has were asked for.
    #[must_use]
    pub fn with_flag_policy(self, policy: FlagPolicy, keeps_semantics: bool) -> Self {
        if let Some(settings) = self.settings() {
            let change = |unit: Self| unit.with_flag_policy(policy, keeps_semantics);
            return Self::of_settings(settings.map(change));
        }
        let arithmetic = under(self.operation.arithmetic(), policy, keeps_semantics);
        Self { operation: self.operation.with_arithmetic(arithmetic), ..self }
    }

    /// The numeric operation, if that is what it is.
    pub(crate) fn numeric(&self) -> Option<Operation> {
        self.numeric.map(|(operation, _)| operation)
    }

    /// The projection with the random word of these operands.
    pub(crate) fn projection(&self, operands: &[u64]) -> Result<Projection, Error> {
        let projection = self.operation.projections()[0];
        Ok(match (self.word, operands.last()) {
            (Some(bits), Some(&word)) => {
                projection.with_rounding(projection.rounding.with_random_bits(RandomBits::new(bits, word)?))
            }
            _ => projection,
        })
    }

    /// Returns the exact result before rounding, of a numeric operation.
    pub fn exact(&self, operands: &[u64]) -> Option<Exact> {
        if self.settings.is_some() {
            let (unit, operands) = self.chosen(operands).ok()?;
            return unit.exact(operands);
        }
        let operation = self.numeric()?;
        let arithmetic = self.operation.arithmetic();
        let mut data = [Datum::ZERO; 3];
        for ((datum, &code), format) in data.iter_mut().zip(operands).zip(self.operation.operands()) {
            *datum = format.decode(code);
        }
        Some(operation.exact(data, arithmetic.semantics).exact.scaled(arithmetic.scale))
    }

    /// Computes the results for operands that fit their fields.
    ///
    /// # Errors
    /// Operands of another number, or too wide for their fields; a value that a port does not have.
    pub fn evaluate(&self, operands: &[u64]) -> Result<CallOutcome, Error> {
        let (given, expected) = (operands.len(), self.operands.len());
        if given != expected {
            return Err(Error::Count { what: "operands", given, expected });
        }
        if self.settings.is_some() {
            let (unit, operands) = self.chosen(operands)?;
            return unit.evaluate(operands);
        }
        if let Some((operation, count)) = self.numeric {
            let (formats, [.., to]) = (&self.operation.formats()[..count], self.operation.formats()) else {
                return self.call(operands);
            };
            let arithmetic = self.operation.arithmetic();
            let is_plain = OperationOptions { flags: None, ..arithmetic } == OperationOptions::IEEE;
            if operation == Operation::Convert && is_plain {
                let (projection, policy) = (self.projection(operands)?, self.flag_policy());
                let Rounded { value, flags } =
                    convert_with(operands[0], &formats[0], to, &projection, policy);
                return Ok(CallOutcome::one(value, flags));
            }
            let mut calls = [Operand::new(0, &formats[0]); 3];
            for ((call, &code), format) in calls.iter_mut().zip(operands).zip(formats) {
                *call = Operand::new(code, format);
            }
            let projection = self.projection(operands)?;
            let Rounded { value, flags } =
                operation.evaluate(&calls[..formats.len()], to, &projection, arithmetic);
            return Ok(CallOutcome::one(value, flags));
        }
        self.call(operands)
    }

    /// Any function, through the calls of the core.
    fn call(&self, operands: &[u64]) -> Result<CallOutcome, Error> {
        let mut rest = operands;
        let mut take = |count: usize| {
            let (taken, after) = rest.split_at(count);
            rest = after;
            taken
        };
        // No function has more operands: a scaled one three codes with a scale each, one of blocks
        // three and a scale.
        let mut arguments = [Argument::Code(0); 6];
        let arguments = &mut arguments[..self.parameters().len()];
        for (argument, parameter) in arguments.iter_mut().zip(self.parameters()) {
            *argument = match parameter {
                Parameter::Code(_) | Parameter::Integer(_) => Argument::Code(take(1)[0]),
                Parameter::Sequence(_) => Argument::Sequence(take(length(&self.operation))),
                Parameter::Block { .. } => {
                    let codes = take(length(&self.operation) + 1);
                    Argument::Block(Block { scale: codes[0], elements: &codes[1..] })
                }
            };
        }
        let answer = match self.word {
            None => self.operation.call_blocks(arguments, rest)?,
            Some(bits) => {
                let (word, words) = rest.split_at(1);
                let bits = RandomBits::new(bits, word[0])?;
                let mut operation = self.operation.clone();
                match operation.projections() {
                    [_, _] => operation.set_scale_random_bits(bits),
                    _ => operation.set_random_bits(bits),
                }
                operation.call_blocks(arguments, words)?
            }
        };
        let union = |flags: &[Flags]| flags.iter().fold(Flags::NONE, |all, flags| all | *flags);
        Ok(match answer {
            Answer::Code(result) | Answer::Integer(result) => CallOutcome::one(result.value, result.flags),
            Answer::Truth(result) => CallOutcome::one(result.value.into(), result.flags),
            Answer::Class(name) => {
                let place = CLASSES.iter().position(|known| *known == name);
                CallOutcome::one(place.expect("the draft has eight classes") as u64, Flags::NONE)
            }
            Answer::Sequence(sequence) => CallOutcome::many(sequence.codes, union(&sequence.flags)),
            Answer::Block(block) => {
                let flags = block.scale.flags | union(&block.elements.flags);
                let mut codes = Vec::with_capacity(1 + block.elements.codes.len());
                codes.push(block.scale.value);
                codes.extend(block.elements.codes);
                CallOutcome::many(codes, flags)
            }
            // Queries have no operands, so there is no unit for them.
            _ => {
                return Err(Error::NoVectors { name: self.operation.function().name().to_owned() });
            }
        })
    }
}

/// Returns an operation's options under a policy for flags. A processor's implies ieee semantics,
/// unless those of the options were asked for.
pub fn under(options: OperationOptions, policy: FlagPolicy, keeps_semantics: bool) -> OperationOptions {
    let implies_ieee = policy.is_of_hardware() && !keeps_semantics;
    let semantics = if implies_ieee { Semantics::Ieee } else { options.semantics };
    OperationOptions { semantics, ..options.with_flags(policy) }
}

/// How many elements the operation's sequences and blocks have.
fn length(operation: &Specialization) -> usize {
    operation.length().expect("operations on sequences and blocks have a length")
}

fn result_fields(operation: &Specialization) -> Vec<Field> {
    match (operation.function(), operation.result_scale(), operation.result()) {
        (Function::Class, ..) => vec![Field::plain("class", 3)],
        (Function::ToInteger(integer), ..) => vec![Field::integer("result", integer)],
        (Function::Block(function), Some(scale), Some(element)) if function.gives_sequence() => {
            let elements = (0..length(operation)).map(|i| Field::code(format!("result{i}"), element));
            [Field::code("result_scale".into(), scale)].into_iter().chain(elements).collect()
        }
        (Function::Block(function), None, Some(element)) if function.gives_sequence() => {
            (0..length(operation)).map(|i| Field::code(format!("result{i}"), element)).collect()
        }
        (_, _, Some(format)) => vec![Field::code("result".into(), format)],
        (_, _, None) => vec![Field::plain("result", 1)],
    }
}
