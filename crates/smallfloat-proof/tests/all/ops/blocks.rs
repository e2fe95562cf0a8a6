//! Block functions, reductions and scaled operations of the P3109 draft against exact rational
//! arithmetic (`smallfloat_oracle::blocks`), each element rounded once by the oracle's own table.
//!
//! Exhaustive for formats of 3 and 4 bits; random with special values and mixed formats up to 16
//! bits, every rounding and saturation mode, a random word per element where the rounding is
//! stochastic. The exact values of transcendental functions are the scalar ones, which
//! `transcendental.rs` holds against MPFR and Arb.
//!
//! `SMALLFLOAT_EXTENSIVE=1` draws 16 times as many and exhausts the operations of three operands.

use rayon::prelude::*;
use smallfloat::ops::{Operation, Semantics};
use smallfloat::p3109::{Answer, Argument, Block, Function, Specialization};
use smallfloat::{Datum, Format, NegativeZero, Preset, Projection, RandomBits, Rounding, Saturation};
use smallfloat_oracle::{Exact, Real, Table, blocks};
use smallfloat_proof::truth::{line, stand_in};
use smallfloat_proof::{Scramble, check_all, extensive, oracle_format, oracle_policy};

struct Sheet {
    format: Format,
    table: Table,
}

fn sheets(names: &[&str]) -> Vec<Sheet> {
    names
        .par_iter()
        .map(|name| {
            let format: Format = name.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
            Sheet { format, table: Table::new(&oracle_format(&format)) }
        })
        .collect()
}

impl Sheet {
    fn exact(&self, code: u64) -> Exact {
        self.table.format().value(code).into()
    }

    fn round(&self, x: &Exact, projection: &Projection) -> u64 {
        let projection = projection.with_negative_zero(NegativeZero::Positive);
        self.table.round(x, &oracle_policy(&projection)).0
    }
}

/// Numeric operations of the draft with their numbers of operands.
const ALGEBRAIC: [(&str, usize); 25] = [
    ("Convert", 1),
    ("Negate", 1),
    ("Abs", 1),
    ("Recip", 1),
    ("Sqrt", 1),
    ("RSqrt", 1),
    ("Add", 2),
    ("Subtract", 2),
    ("Multiply", 2),
    ("Divide", 2),
    ("Hypot", 2),
    ("CopySign", 2),
    ("Minimum", 2),
    ("Maximum", 2),
    ("MinimumNumber", 2),
    ("MaximumNumber", 2),
    ("MinimumMagnitude", 2),
    ("MaximumMagnitude", 2),
    ("MinimumMagnitudeNumber", 2),
    ("MaximumMagnitudeNumber", 2),
    ("MinimumFinite", 2),
    ("MaximumFinite", 2),
    ("FMA", 3),
    ("FAA", 3),
    ("Clamp", 3),
];

const TRANSCENDENTAL: [(&str, usize); 27] = [
    ("Exp", 1),
    ("Exp2", 1),
    ("ExpMinusOne", 1),
    ("Log", 1),
    ("Log2", 1),
    ("LogOnePlus", 1),
    ("Softplus", 1),
    ("Sin", 1),
    ("Cos", 1),
    ("Tan", 1),
    ("ArcSin", 1),
    ("ArcCos", 1),
    ("ArcTan", 1),
    ("Sinh", 1),
    ("Cosh", 1),
    ("Tanh", 1),
    ("ArcSinh", 1),
    ("ArcCosh", 1),
    ("ArcTanh", 1),
    ("SinPi", 1),
    ("CosPi", 1),
    ("TanPi", 1),
    ("ArcSinPi", 1),
    ("ArcCosPi", 1),
    ("ArcTanPi", 1),
    ("ArcTan2", 2),
    ("ArcTan2Pi", 2),
];

const WHOLE: [&str; 6] = [
    "ConvertFromBlock",
    "ConvertToBlock",
    "ConvertToBlockMaxAbsFinite",
    "BlockReduceAdd",
    "BlockReduceMultiply",
    "BlockDotProduct",
];

/// A function of the draft as the test sees it.
#[derive(Clone, Copy)]
enum Kind {
    Elementwise(&'static str, usize),
    Scaled(&'static str, usize),
    Whole(&'static str),
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Elementwise(operation, _) => format!("Block{operation}"),
            Self::Scaled(operation, _) => format!("Scaled{operation}"),
            Self::Whole(name) => name.to_string(),
        }
    }

    /// How many formats stand between the brackets.
    fn formats(self) -> usize {
        match self {
            Self::Elementwise(_, n) => 2 * n + 2,
            Self::Scaled(_, n) => 2 * n + 1,
            Self::Whole("BlockDotProduct") => 5,
            Self::Whole(_) => 3,
        }
    }

    /// Which of those a code of a call belongs to, in the order of the operands, and how many such
    /// codes there are.
    fn slots(self, length: usize) -> Vec<(usize, usize)> {
        let blocks = |n: usize| (0..n).flat_map(move |i| [(2 * i, 1), (2 * i + 1, length)]);
        match self {
            Self::Elementwise(_, n) => blocks(n).chain([(2 * n, 1)]).collect(),
            Self::Scaled(_, n) => blocks(n).collect(),
            Self::Whole("ConvertToBlock") => vec![(0, length), (1, 1)],
            Self::Whole("ConvertToBlockMaxAbsFinite") => vec![(0, length)],
            Self::Whole("BlockDotProduct") => blocks(2).collect(),
            Self::Whole(_) => blocks(1).collect(),
        }
    }

    fn gives_sequence(self) -> bool {
        match self {
            Self::Elementwise(..) => true,
            Self::Scaled(..) => false,
            Self::Whole(name) => name.starts_with("Convert"),
        }
    }
}

/// One specialization.
struct Plan<'a> {
    kind: Kind,
    length: usize,
    sheets: Vec<&'a Sheet>,
    /// That of the result last; before it that of the scale, for ConvertToBlockMaxAbsFinite.
    projections: Vec<Projection>,
    call: Specialization,
}

type Codes = Vec<Vec<u64>>;

impl<'a> Plan<'a> {
    fn new(kind: Kind, length: usize, sheets: Vec<&'a Sheet>, modes: &[(Rounding, Saturation)]) -> Self {
        let name = kind.name();
        let function = name.parse::<Function>().unwrap_or_else(|_| panic!("no function {name}"));
        let formats: Vec<Format> = sheets.iter().map(|sheet| sheet.format).collect();
        let rounds_scale = matches!(kind, Kind::Whole("ConvertToBlockMaxAbsFinite"));
        let to = sheets.len() - 1;
        let places = if rounds_scale { vec![1, to] } else { vec![to] };
        let projections: Vec<Projection> = places
            .into_iter()
            .zip(modes)
            .map(|(i, &(rounding, saturation))| {
                let projection = Preset::P3109SatNone.projection(&formats[i]);
                projection.with_rounding(rounding).with_saturation(saturation)
            })
            .collect();
        let given = (!matches!(kind, Kind::Scaled(..))).then_some(length);
        let call = Specialization::new(function, given, &formats, &projections)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { kind, length, sheets, projections, call }
    }

    /// What an operand's codes stand for, scale and elements multiplied.
    fn decoded(&self, pair: usize, codes: &Codes) -> Vec<Exact> {
        let (scale, element) = (self.sheets[2 * pair], self.sheets[2 * pair + 1]);
        let elements: Vec<Exact> = codes[2 * pair + 1].iter().map(|&x| element.exact(x)).collect();
        blocks::decode(&scale.exact(codes[2 * pair][0]), &elements)
    }

    /// The results of an operation on the columns of its operands.
    fn columns(&self, operation: &str, operands: usize, codes: &Codes) -> Vec<Exact> {
        let columns: Vec<Vec<Exact>> = (0..operands).map(|pair| self.decoded(pair, codes)).collect();
        (0..columns[0].len())
            .map(|i| {
                let row: Vec<Exact> = columns.iter().map(|column| column[i].clone()).collect();
                blocks::algebraic(operation, &row).unwrap_or_else(|| transcendental(operation, &row))
            })
            .collect()
    }

    /// The scale, if one is given back, and the elements.
    fn expected(&self, codes: &Codes, words: &[u64]) -> (Option<u64>, Vec<u64>) {
        let to = self.sheets[self.sheets.len() - 1];
        let projection = self.projections[self.projections.len() - 1];
        let each = |values: &[Exact], scale: &Exact| {
            values
                .iter()
                .enumerate()
                .map(|(i, x)| {
                    let projection = with_word(projection, words.get(i));
                    to.round(&blocks::quotient(x, scale), &projection)
                })
                .collect::<Vec<u64>>()
        };
        let one = |x: &Exact| (None, vec![to.round(x, &with_word(projection, words.first()))]);
        let sequence = || codes[0].iter().map(|&x| self.sheets[0].exact(x)).collect::<Vec<_>>();
        match self.kind {
            Kind::Elementwise(operation, n) => {
                let scale = codes[2 * n][0];
                let values = self.columns(operation, n, codes);
                (Some(scale), each(&values, &self.sheets[2 * n].exact(scale)))
            }
            Kind::Scaled(operation, n) => one(&self.columns(operation, n, codes)[0]),
            Kind::Whole("ConvertFromBlock") => (None, each(&self.decoded(0, codes), &blocks::one())),
            Kind::Whole("ConvertToBlock") => {
                let scale = codes[1][0];
                (Some(scale), each(&sequence(), &self.sheets[1].exact(scale)))
            }
            Kind::Whole("ConvertToBlockMaxAbsFinite") => {
                let values = sequence();
                let scale = self.sheets[1].round(&blocks::largest_finite(&values), &self.projections[0]);
                (Some(scale), each(&values, &self.sheets[1].exact(scale)))
            }
            Kind::Whole("BlockReduceAdd") => one(&blocks::sum(&self.decoded(0, codes))),
            Kind::Whole("BlockReduceMultiply") => one(&blocks::product(&self.decoded(0, codes))),
            Kind::Whole(_) => one(&blocks::dot(&self.decoded(0, codes), &self.decoded(1, codes))),
        }
    }

    fn got(&self, codes: &Codes, words: &[u64]) -> Result<(Option<u64>, Vec<u64>), String> {
        let mut arguments = Vec::new();
        let mut rest = &codes[..];
        while let Some((first, after)) = rest.split_first() {
            let standing_alone = matches!(
                self.kind,
                Kind::Scaled(..) | Kind::Whole("ConvertToBlock" | "ConvertToBlockMaxAbsFinite")
            );
            match after.split_first() {
                Some((elements, after)) if !standing_alone => {
                    arguments.push(Argument::Block(Block { scale: first[0], elements }));
                    rest = after;
                }
                _ => {
                    let sequence = matches!(self.kind, Kind::Whole(_)) && arguments.is_empty();
                    arguments.push(if sequence {
                        Argument::Sequence(first)
                    } else {
                        Argument::Code(first[0])
                    });
                    rest = after;
                }
            }
        }
        let mut call = self.call.clone();
        let projection = self.projections[self.projections.len() - 1];
        let (mut single, mut sequence) = (None, &words[..0]);
        if projection.rounding.is_stochastic() {
            if self.kind.gives_sequence() { sequence = words } else { single = words.first() }
        }
        if let Some(bits) = with_word(projection, single).rounding.random_bits() {
            call.set_random_bits(bits);
        }
        match call.call_blocks(&arguments, sequence) {
            Ok(Answer::Code(code)) => Ok((None, vec![code.value])),
            Ok(Answer::Sequence(sequence)) => Ok((None, sequence.codes)),
            Ok(Answer::Block(block)) => Ok((Some(block.scale.value), block.elements.codes)),
            other => Err(format!("{other:?}")),
        }
    }

    fn check(&self, codes: &Codes, words: &[u64]) -> Option<String> {
        let (expected, got) = (self.expected(codes, words), self.got(codes, words));
        (got.as_ref() != Ok(&expected))
            .then(|| format!("{}({codes:x?}, R={words:x?}): got {got:x?}, expected {expected:x?}", self.call))
    }

    /// Words for the elements, or for the one result.
    fn words(&self, random: &mut Scramble) -> Vec<u64> {
        let projection = self.projections[self.projections.len() - 1];
        projection.rounding.random_bits().map_or_else(Vec::new, |bits| {
            (0..self.length).map(|_| random.bits() >> (64 - bits.count())).collect()
        })
    }
}

fn with_word(projection: Projection, word: Option<&u64>) -> Projection {
    match (projection.rounding.random_bits(), word) {
        (Some(bits), Some(&word)) => projection.with_rounding(
            projection.rounding.with_random_bits(RandomBits::new(bits.count(), word).expect("legal")),
        ),
        _ => projection,
    }
}

/// The exact scalar result for operands that are numbers of any precision up to 64 bits.
fn transcendental(operation: &str, operands: &[Exact]) -> Exact {
    let datum = |x: &Exact| match x {
        Exact::Nan { .. } => Datum::Nan { negative: false },
        Exact::Inf { negative } => Datum::Infinite { negative: *negative },
        Exact::Finite { negative, magnitude: Real::Rational(x) } => {
            let x = x.numerator();
            let significand = u64::try_from(x.mantissa().magnitude()).expect("at most 64 bits");
            Datum::finite(*negative, significand, i32::try_from(x.exponent()).expect("a moderate exponent"))
        }
        Exact::Finite { .. } => panic!("operands are no roots"),
    };
    let mut data = [Datum::ZERO; 3];
    for (slot, x) in data.iter_mut().zip(operands) {
        *slot = datum(x);
    }
    let operation = operation.parse::<Operation>().unwrap_or_else(|_| panic!("no operation {operation}"));
    stand_in(&line(operation.exact(data, Semantics::P3109).exact))
}

/// The nine modes, the stochastic ones with a few bits, with any saturation.
fn draw_modes(random: &mut Scramble) -> (Rounding, Saturation) {
    let bits = random.pick(&[1, 2, 3, 8, 32, 60]);
    let zero = RandomBits::new(bits, 0).expect("legal");
    let modes = Rounding::DETERMINISTIC;
    let rounding = match random.below(9) {
        6 => Rounding::StochasticA(zero),
        7 => Rounding::StochasticB(zero),
        8 => Rounding::StochasticC(zero),
        i => modes[usize::try_from(i).expect("small")],
    };
    (rounding, random.pick(Saturation::ALL))
}

/// All operand tuples of a plan, words drawn.
fn exhaust(plan: &Plan<'_>) -> (u64, Vec<String>) {
    let slots = plan.kind.slots(plan.length);
    let widths: Vec<u32> =
        slots.iter().flat_map(|&(i, n)| std::iter::repeat_n(plan.sheets[i].format.width(), n)).collect();
    let total = 1_u64 << widths.iter().sum::<u32>();
    let wrong = (0..total)
        .filter_map(|index| {
            let mut rest = index;
            let codes: Codes = slots
                .iter()
                .map(|&(i, n)| {
                    let k = plan.sheets[i].format.width();
                    (0..n)
                        .map(|_| {
                            let code = rest & ((1 << k) - 1);
                            rest >>= k;
                            code
                        })
                        .collect()
                })
                .collect();
            let words = plan.words(&mut Scramble(index));
            plan.check(&codes, &words)
        })
        .collect();
    (total, wrong)
}

/// A plan whose formats are those of a pool in turn.
fn in_turn<'a>(kind: Kind, length: usize, pool: &'a [Sheet], turn: usize, random: &mut Scramble) -> Plan<'a> {
    let list = (0..kind.formats()).map(|i| &pool[(i + turn) % pool.len()]).collect();
    Plan::new(kind, length, list, &[draw_modes(random), draw_modes(random)])
}

#[test]
fn tiny_formats_exhaustively() {
    let three =
        sheets(&["Binary3p1se", "Binary3p2uf", "Binary3p2sf", "Binary3p1ue", "Binary3p3ue", "Binary3p2se"]);
    let four = sheets(&["Binary4p2sf", "Binary4p1ue", "Binary4p3se", "Binary4p2uf"]);
    let (mut random, mut plans) = (Scramble(11), Vec::new());
    let mut plan = |kind: Kind, length: usize, pool, turn: usize| {
        plans.push(in_turn(kind, length, pool, turn, &mut random));
    };
    for (operation, operands) in ALGEBRAIC {
        if operands == 3 && !extensive() {
            continue;
        }
        for turn in 0..three.len() {
            plan(Kind::Elementwise(operation, operands), 1, &three, turn);
            plan(Kind::Scaled(operation, operands), 1, &three, turn);
        }
        if operands == 1 {
            plan(Kind::Elementwise(operation, 1), 2, &four, 1);
        }
    }
    for name in WHOLE {
        for turn in 0..three.len() {
            plan(Kind::Whole(name), 1, &three, turn);
            plan(Kind::Whole(name), 2, &three, turn);
        }
        if name != "BlockDotProduct" {
            plan(Kind::Whole(name), 2, &four, 2);
            plan(Kind::Whole(name), 3, &four, 3);
        }
    }
    if !extensive() {
        println!("LEFT OUT: FMA, FAA and Clamp; SMALLFLOAT_EXTENSIVE=1 takes all tuples of them");
    }
    check_all("blocks of 3- and 4-bit formats", &plans, exhaust);
}

/// A code: often a special value, an end of a range, 1 or a power of two.
fn draw(random: &mut Scramble, sheet: &Sheet) -> u64 {
    let f = sheet.table.format();
    let any = random.bits() & sheet.format.max_code();
    let sign = if random.below(2) == 0 { f.sign_bit() } else { 0 };
    let magnitude = match random.below(12) {
        0 => 0,
        1 => f.inf_code(false).unwrap_or(1),
        2 => return f.nan_code().unwrap_or(any),
        3 => sheet.table.max().1,
        4 => 1,
        5 | 6 => any & !((1 << (f.p - 1)) - 1) & f.magnitude_mask(),
        7 => f.bias.cast_unsigned() << (f.p - 1) & f.magnitude_mask(),
        _ => any & f.magnitude_mask(),
    };
    magnitude | sign
}

/// Scales of moderate size, so that results lie in the range more often than not.
fn draw_scale(random: &mut Scramble, sheet: &Sheet) -> u64 {
    if random.below(8) == 0 {
        return draw(random, sheet);
    }
    let f = sheet.table.format();
    let one = f.bias.cast_unsigned() << (f.p - 1);
    let spread = (one / 4).clamp(1, 12 << (f.p - 1));
    let code = one - spread + random.below(2 * spread);
    if random.below(4) == 0 { code | f.sign_bit() } else { code }
}

fn random_calls(what: &str, kinds: &[Kind], count: u64) {
    let scales = sheets(&[
        "Binary8p1uf",
        "Binary8p1ue",
        "Binary8p3se",
        "Binary6p2uf",
        "Binary8p4ue",
        "Binary5p3sf",
        "Binary8p7se",
    ]);
    let elements = sheets(&[
        "Binary8p4se",
        "Binary8p3se",
        "Binary4p2sf",
        "Binary8p3uf",
        "Binary6p3se",
        "Binary8p1se",
        "Binary8p8ue",
        "Binary3p1sf",
        "Binary12p6se",
        "binary16",
        "bfloat16",
        "Binary16p3se",
    ]);
    let results = {
        let mut names =
            vec!["Binary8p4se", "Binary8p3se", "Binary4p2sf", "Binary8p2uf", "Binary8p1ue", "Binary6p3sf"];
        names.extend(["binary16", "bfloat16", "binary32", "Binary10p5ue"]);
        sheets(&names)
    };
    let cases: Vec<u64> = (0..count).collect();
    check_all(what, &cases, |&case| {
        let mut random = Scramble(case ^ (what.len() as u64) << 50);
        let kind = random.pick(kinds);
        let length = if matches!(kind, Kind::Scaled(..)) {
            1
        } else {
            usize::try_from(1 + random.below(9)).expect("small")
        };
        let count = kind.formats();
        let slots = kind.slots(length);
        let mut from = |pool: &'_ [Sheet]| usize::try_from(random.below(pool.len() as u64)).expect("small");
        // Which formats are scales follows from the signature: the even ones, but those of the
        // sequence conversions.
        let is_scale = |i: usize| match kind {
            Kind::Whole("ConvertToBlock" | "ConvertToBlockMaxAbsFinite") => i == 1,
            _ => i.is_multiple_of(2),
        };
        let list: Vec<&Sheet> = (0..count)
            .map(|i| {
                if i + 1 == count {
                    &results[from(&results)]
                } else if is_scale(i) {
                    &scales[from(&scales)]
                } else {
                    &elements[from(&elements)]
                }
            })
            .collect();
        let modes = [draw_modes(&mut random), draw_modes(&mut random)];
        let plan = Plan::new(kind, length, list, &modes);
        let mut wrong = Vec::new();
        for _ in 0..4 {
            let codes: Codes = slots
                .iter()
                .map(|&(i, n)| {
                    let sheet = plan.sheets[i];
                    (0..n)
                        .map(|_| {
                            if is_scale(i) {
                                draw_scale(&mut random, sheet)
                            } else {
                                draw(&mut random, sheet)
                            }
                        })
                        .collect()
                })
                .collect();
            let words = plan.words(&mut random);
            wrong.extend(plan.check(&codes, &words));
        }
        (4, wrong)
    });
}

fn scaled_by_run(count: u64) -> u64 {
    if extensive() {
        return 16 * count;
    }
    println!("LEFT OUT: 15 of 16 random calls");
    count
}

#[test]
fn random_blocks_of_mixed_formats() {
    let mut kinds: Vec<Kind> = WHOLE.map(Kind::Whole).into();
    // The reductions and conversions as often as the operations.
    kinds.extend(WHOLE.map(Kind::Whole));
    kinds.extend(ALGEBRAIC.iter().map(|&(name, n)| Kind::Elementwise(name, n)));
    random_calls("blocks of mixed formats", &kinds, scaled_by_run(1 << 15));
}

#[test]
fn random_scaled_operations() {
    let kinds: Vec<Kind> = ALGEBRAIC.iter().map(|&(name, n)| Kind::Scaled(name, n)).collect();
    random_calls("scaled operations", &kinds, scaled_by_run(1 << 15));
}

#[test]
fn random_transcendental_blocks() {
    let elementwise = TRANSCENDENTAL.iter().map(|&(name, n)| Kind::Elementwise(name, n));
    let scaled = TRANSCENDENTAL.iter().map(|&(name, n)| Kind::Scaled(name, n));
    let kinds: Vec<Kind> = elementwise.chain(scaled).collect();
    random_calls("transcendental blocks and scaled operations", &kinds, scaled_by_run(1 << 13));
}
