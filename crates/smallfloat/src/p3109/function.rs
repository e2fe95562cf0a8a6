//! [`Function`]: what the P3109 draft calls operations, by name and by group.
//!
//! Source: the P3109 draft (D1 revised, September 2026), section "Operations" and its table of
//! operation groups.

use crate::format::named::by_name;
use crate::ops::compare::Comparison;
use crate::ops::integer::Integer;
use crate::ops::operation::Operation;
use crate::ops::predicate::Predicate;
use crate::p3109::query::{FormatQuery, ProjectionQuery};

/// The function that a [`Specialization`](crate::p3109::specialization::Specialization) computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Function {
    /// A number, rounded into the result's format.
    Numeric(Operation),
    /// A comparison of two codes.
    Compare(Comparison),
    /// A property of one code.
    Predicate(Predicate),
    /// P3109's total order of two codes.
    TotalOrder,
    /// The class of one code.
    Class,
    /// The least datum above.
    NextGreaterThan,
    /// The greatest datum below.
    NextLessThan,
    /// A property of a format.
    FormatQuery(FormatQuery),
    /// A part of a projection.
    ProjectionQuery(ProjectionQuery),
    /// One code, rounded to an integer (IEEE 754's; the draft has none).
    ToInteger(Integer),
    /// An integer, rounded into the result's format (IEEE 754's; the draft has none).
    FromInteger(Integer),
    /// A number from operands that each have a scale, rounded into the result's format.
    Scaled(Operation),
    /// An operation on blocks.
    Block(BlockFunction),
}

/// A function of blocks: a scale with a sequence of elements, each element standing for
/// scale × element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum BlockFunction {
    /// A numeric operation element by element; the result's elements are divided by a result scale,
    /// an operand.
    Elementwise(Operation),
    /// The sequence of scale × element.
    ConvertFromBlock,
    /// A sequence divided by a scale, an operand.
    ConvertToBlock,
    /// A sequence divided by its largest finite magnitude, which is first rounded to the scale's
    /// format.
    ConvertToBlockMaxAbsFinite,
    /// The sum of a block.
    ReduceAdd,
    /// The product of a block.
    ReduceMultiply,
    /// The sum of the products of two blocks' elements.
    DotProduct,
}

/// The draft's groups of operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Group {
    /// Core scalar operations.
    A,
    /// Basic scalar operations.
    B,
    /// The rest of the scalar operations.
    C,
    /// Queries of formats.
    M,
    /// Block operations after group A, and the conversions of blocks.
    KA,
    /// Block operations after group B.
    KB,
    /// Block operations after group C.
    KC,
    /// Reductions of blocks.
    E,
    /// Scaled operations after group A.
    SA,
    /// Scaled operations after group B.
    SB,
    /// Scaled operations after group C.
    SC,
}

/// A numeric operation of the draft: its group among the scalar operations, and its three names.
struct Numeric {
    group: Group,
    scalar: &'static str,
    block: &'static str,
    scaled: &'static str,
}

macro_rules! numeric {
    ($($group:ident: $($name:literal)*;)*) => {
        &[$($(Numeric {
            group: Group::$group,
            scalar: $name,
            block: concat!("Block", $name),
            scaled: concat!("Scaled", $name),
        },)*)*]
    };
}

/// The 52 numeric operations that the draft defines for scalars, for blocks and with scales.
const NUMERIC: &[Numeric] = numeric! {
    A: "Convert" "Negate" "Abs" "Add" "Subtract" "Multiply" "FMA" "FAA" "Minimum" "Maximum" "MinimumNumber"
       "MaximumNumber" "MinimumMagnitude" "MaximumMagnitude" "MinimumMagnitudeNumber" "MaximumMagnitudeNumber"
       "MinimumFinite" "MaximumFinite" "Clamp";
    B: "Divide" "Sqrt" "Recip" "RSqrt" "Exp" "Exp2" "ExpMinusOne" "Log" "Log2" "LogOnePlus" "Softplus" "CopySign";
    C: "Hypot" "ArcTan2" "ArcTan2Pi" "Sin" "Cos" "Tan" "ArcSin" "ArcCos" "ArcTan" "Sinh" "Cosh" "Tanh" "ArcSinh"
       "ArcCosh" "ArcTanh" "SinPi" "CosPi" "TanPi" "ArcSinPi" "ArcCosPi" "ArcTanPi";
};

/// All operations with their names and their rows; IEEE 754's remainders have none.
static OPERATIONS: [(&str, Operation, Option<&Numeric>); Operation::COUNT] = {
    let mut rows = [("", Operation::Convert, None); Operation::COUNT];
    let mut i = 0;
    while i < rows.len() {
        (rows[i].0, rows[i].1) = Operation::numbered(i);
        let mut j = 0;
        while j < NUMERIC.len() {
            if same(NUMERIC[j].scalar.as_bytes(), rows[i].0.as_bytes()) {
                rows[i].2 = Some(&NUMERIC[j]);
            }
            j += 1;
        }
        i += 1;
    }
    rows
};

/// `==`, which is no constant function.
const fn same(a: &[u8], b: &[u8]) -> bool {
    match (a, b) {
        ([], []) => true,
        ([x, a @ ..], [y, b @ ..]) => *x == *y && same(a, b),
        _ => false,
    }
}

/// The operations that have rows.
fn numeric() -> impl Iterator<Item = (Operation, &'static Numeric)> {
    OPERATIONS.iter().filter_map(|&(_, operation, row)| Some((operation, row?)))
}

/// The row of an operation.
fn row(operation: Operation) -> Option<&'static Numeric> {
    numeric().find(|&(other, _)| other == operation).map(|(_, row)| row)
}

impl BlockFunction {
    const WHOLE: [(&'static str, Self); 6] = [
        ("ConvertFromBlock", Self::ConvertFromBlock),
        ("ConvertToBlock", Self::ConvertToBlock),
        ("ConvertToBlockMaxAbsFinite", Self::ConvertToBlockMaxAbsFinite),
        ("BlockReduceAdd", Self::ReduceAdd),
        ("BlockReduceMultiply", Self::ReduceMultiply),
        ("BlockDotProduct", Self::DotProduct),
    ];

    /// Returns all functions of blocks.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::named().map(|(_, function)| function)
    }

    fn named() -> impl Iterator<Item = (&'static str, Self)> {
        numeric().map(|(operation, row)| (row.block, Self::Elementwise(operation))).chain(Self::WHOLE)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Elementwise(operation) => row(operation).map_or("", |row| row.block),
            _ => Self::WHOLE.iter().find(|row| row.1 == self).map_or("", |row| row.0),
        }
    }

    /// Returns whether the result is a sequence or a block. Then a stochastic rounding takes a
    /// random word per element.
    pub const fn gives_sequence(self) -> bool {
        !matches!(self, Self::ReduceAdd | Self::ReduceMultiply | Self::DotProduct)
    }
}

/// What stands between the brackets, in this order: a block length, pairs (scale format, element
/// format), formats, and projections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) has_length: bool,
    pub(super) pairs: usize,
    pub(super) formats: usize,
    pub(super) projections: usize,
    /// How many of all formats are operands'.
    pub(super) operands: usize,
}

impl Shape {
    const fn new(operands: usize, formats: usize, projections: usize) -> Self {
        Self { has_length: false, pairs: 0, formats, projections, operands }
    }
}

impl Function {
    /// Returns all functions, in the order of their groups' names within each kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::named().map(|(_, function)| function)
    }

    /// Returns the names of all functions, in P3109's spelling where it has one.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::named().map(|(name, _)| name)
    }

    fn named() -> impl Iterator<Item = (&'static str, Self)> {
        let single = [
            ("TotalOrder", Self::TotalOrder),
            ("Class", Self::Class),
            ("NextGreaterThan", Self::NextGreaterThan),
            ("NextLessThan", Self::NextLessThan),
        ];
        let integers = || Integer::ALL.iter().copied();
        let scalar = OPERATIONS.iter().map(|&(name, operation, _)| (name, Self::Numeric(operation)));
        scalar
            .chain(Comparison::NAMED.iter().map(|&(name, which)| (name, Self::Compare(which))))
            .chain(Predicate::NAMED.iter().map(|&(name, which)| (name, Self::Predicate(which))))
            .chain(single)
            .chain(FormatQuery::NAMED.iter().map(|&(name, which)| (name, Self::FormatQuery(which))))
            .chain(ProjectionQuery::NAMED.iter().map(|&(name, which)| (name, Self::ProjectionQuery(which))))
            .chain(integers().map(|integer| (integer.convert_to_name(), Self::ToInteger(integer))))
            .chain(integers().map(|integer| (integer.convert_from_name(), Self::FromInteger(integer))))
            .chain(BlockFunction::named().map(|(name, function)| (name, Self::Block(function))))
            .chain(numeric().map(|(operation, row)| (row.scaled, Self::Scaled(operation))))
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        fn of<T: PartialEq>(named: &[(&'static str, T)], which: &T) -> &'static str {
            named.iter().find(|row| row.1 == *which).map_or("", |row| row.0)
        }
        match self {
            Self::Numeric(operation) => operation.name(),
            Self::Compare(which) => of(Comparison::NAMED, &which),
            Self::Predicate(which) => of(Predicate::NAMED, &which),
            Self::TotalOrder => "TotalOrder",
            Self::Class => "Class",
            Self::NextGreaterThan => "NextGreaterThan",
            Self::NextLessThan => "NextLessThan",
            Self::FormatQuery(which) => of(FormatQuery::NAMED, &which),
            Self::ProjectionQuery(which) => of(ProjectionQuery::NAMED, &which),
            Self::ToInteger(integer) => integer.convert_to_name(),
            Self::FromInteger(integer) => integer.convert_from_name(),
            Self::Scaled(operation) => row(operation).map_or("", |row| row.scaled),
            Self::Block(function) => function.name(),
        }
    }

    /// Returns the draft's group; none for IEEE 754's remainders and conversions of integers, and
    /// for the queries of projections.
    pub fn group(self) -> Option<Group> {
        let tier = |operation, groups: [Group; 3]| row(operation).map(|row| groups[row.group as usize]);
        match self {
            Self::Numeric(operation) => row(operation).map(|row| row.group),
            Self::Compare(_) | Self::Predicate(_) => Some(Group::A),
            Self::TotalOrder | Self::Class | Self::NextGreaterThan | Self::NextLessThan => Some(Group::B),
            Self::FormatQuery(_) => Some(Group::M),
            Self::ProjectionQuery(_) | Self::ToInteger(_) | Self::FromInteger(_) => None,
            Self::Scaled(operation) => tier(operation, [Group::SA, Group::SB, Group::SC]),
            Self::Block(function) => match function {
                BlockFunction::Elementwise(operation) => tier(operation, [Group::KA, Group::KB, Group::KC]),
                BlockFunction::ReduceAdd | BlockFunction::ReduceMultiply | BlockFunction::DotProduct => {
                    Some(Group::E)
                }
                _ => Some(Group::KA),
            },
        }
    }

    /// Returns how many operands it takes: codes, sequences and blocks; a result scale that is an
    /// operand counts.
    pub fn arity(self) -> usize {
        match self {
            Self::Numeric(operation) => operation.arity(),
            Self::Compare(_) | Self::TotalOrder => 2,
            Self::FormatQuery(_) | Self::ProjectionQuery(_) => 0,
            Self::Scaled(operation) => 2 * operation.arity(),
            Self::Block(function) => match function {
                BlockFunction::Elementwise(operation) => operation.arity() + 1,
                BlockFunction::ConvertToBlock | BlockFunction::DotProduct => 2,
                _ => 1,
            },
            _ => 1,
        }
    }

    pub(super) fn shape(self) -> Shape {
        match self {
            Self::Numeric(operation) => Shape::new(operation.arity(), operation.arity() + 1, 1),
            Self::Compare(_) | Self::TotalOrder => Shape::new(2, 2, 0),
            Self::FormatQuery(_) => Shape::new(0, 1, 0),
            Self::ProjectionQuery(_) => Shape::new(0, 0, 1),
            Self::ToInteger(_) => Shape::new(1, 1, 1),
            Self::FromInteger(_) => Shape::new(0, 1, 1),
            Self::Scaled(operation) => {
                let pairs = operation.arity();
                Shape { pairs, ..Shape::new(2 * pairs, 1, 1) }
            }
            Self::Block(function) => Shape { has_length: true, ..function.shape() },
            _ => Shape::new(1, 1, 0),
        }
    }
}

impl BlockFunction {
    fn shape(self) -> Shape {
        match self {
            Self::Elementwise(operation) => {
                let pairs = operation.arity();
                Shape { pairs, ..Shape::new(2 * pairs + 1, 2, 1) }
            }
            Self::ConvertToBlockMaxAbsFinite => Shape::new(1, 3, 2),
            Self::DotProduct => Shape::new(4, 5, 1),
            _ => Shape::new(2, 3, 1),
        }
    }
}

impl Group {
    /// All groups that this build supplies.
    pub const ALL: &'static [Self] = &[
        Self::A,
        Self::B,
        Self::C,
        Self::M,
        Self::KA,
        Self::KB,
        Self::KC,
        Self::E,
        Self::SA,
        Self::SB,
        Self::SC,
    ];

    /// Returns the draft's letters.
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// Returns what the group holds, in a few words.
    pub const fn title(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::A => ("A", "core scalar operations"),
            Self::B => ("B", "basic scalar operations"),
            Self::C => ("C", "further scalar operations"),
            Self::M => ("M", "queries of formats"),
            Self::KA => ("KA", "core block operations"),
            Self::KB => ("KB", "basic block operations"),
            Self::KC => ("KC", "further block operations"),
            Self::E => ("E", "reductions of blocks"),
            Self::SA => ("SA", "core scaled operations"),
            Self::SB => ("SB", "basic scaled operations"),
            Self::SC => ("SC", "further scaled operations"),
        }
    }

    /// Returns the group's functions that this build supplies.
    pub fn functions(self) -> impl Iterator<Item = Function> {
        Function::all().filter(move |function| function.group() == Some(self))
    }
}

by_name!(Function, named: Self::named(), "operation", "one of the P3109 draft, such as Add, FMA or Exp");
