//! FMA over all triples of codes of the catalogue's formats of 8 bits or fewer, Tesla's and P3109's
//! of 8 bits, FAA over random ones, and both and Clamp over all triples of special values, code and
//! flags, against exact integers.
//!
//! Without `SMALLFLOAT_EXTENSIVE=1` FMA over the triples of six formats, and without optimization a
//! sixteenth of the triples, spread evenly.

use rayon::prelude::*;
use smallfloat::ops::{Operand, Operation, OperationOptions};
use smallfloat::{FlagPolicy, Format, Projection, Rounded, Rounding};
use smallfloat_oracle::fast::{Grid, Item, Projected};
use smallfloat_oracle::{ops as slow, selection};
use smallfloat_proof::located::{Located, ProjectionPair, operand_flags, oracle_semantics, triple};
use smallfloat_proof::{Scramble, catalogue, core_flags, extensive, oracle_format, p3109, tell, tesla};

/// The stride over the last operand.
fn stride() -> usize {
    if extensive() || !cfg!(debug_assertions) {
        return 1;
    }
    println!("LEFT OUT: 15 of 16 triples; a release build or SMALLFLOAT_EXTENSIVE=1 runs them all");
    16
}

const SIX: [&str; 6] = [
    "e4m3fn",
    "e5m2",
    "cfloat8_1_4_3:bias=7,subnormals=tesla",
    "cfloat8_1_5_2:bias=16,subnormals=tesla",
    "binary8p3se",
    "e4m3fnuz",
];

struct Sheet {
    format: Format,
    grid: Grid,
    items: Vec<Item>,
    arithmetic: OperationOptions,
    semantics: slow::Semantics,
    projection: Projection,
    projected: Projected,
}

impl Sheet {
    fn new(format: Format, rounding: Rounding) -> Self {
        let grid = Grid::new(&oracle_format(&format));
        // The oracle's flags are Tesla's.
        let arithmetic = OperationOptions::default_for([&format]).with_flags(FlagPolicy::TESLA);
        let projection = format.default_projection().with_rounding(rounding);
        let policy = ProjectionPair::new(projection, arithmetic.semantics).oracle;
        let semantics = oracle_semantics(arithmetic.semantics);
        let projected = Projected::new(&grid, &[policy]);
        Self { format, items: grid.items(), grid, arithmetic, semantics, projection, projected }
    }

    fn fma<'a>(&self, items: [&'a Item; 3]) -> Located<'a> {
        triple(Operation::Fma, &self.grid, items, self.semantics)
    }

    fn faa<'a>(&self, items: [&'a Item; 3]) -> Located<'a> {
        triple(Operation::Faa, &self.grid, items, self.semantics)
    }

    fn clamp<'a>(&self, items: [&'a Item; 3]) -> Located<'a> {
        let [x, y, z] = items.map(|item| &item.exact);
        let spot = self.grid.locate_exact(&selection::clamp(x, y, z));
        Located { spot, raised: operand_flags(&items), passed: None }
    }

    /// One triple; `None` if it agrees.
    fn check(&self, operation: Operation, items: [&Item; 3], located: Located<'_>) -> Option<String> {
        let nan = items.iter().any(|item| item.exact.is_nan());
        let rounded = self.projected.of(located.spot)[0];
        let (code, flags) = located.projected(&self.grid, self.semantics, rounded);
        let flags = core_flags(flags);
        let operands = items.map(|item| Operand::new(item.code, &self.format));
        let Rounded { value, flags: raised } =
            operation.evaluate(&operands, &self.format, &self.projection, self.arithmetic);
        // IEEE 754 leaves the sign of a NaN open.
        let sign = if nan && self.grid.format().has_signed_nan() { self.grid.format().sign_bit() } else { 0 };
        let same = value == code || (value ^ code == sign && self.format.decode(code).is_nan());
        (!same || raised != flags).then(|| {
            let [x, y, z] = items.map(|item| item.code);
            format!(
                "{} {} {x:02x} {y:02x} {z:02x} {:?}: got {value:02x} {raised}, expected {code:02x} {flags}",
                self.format,
                operation.name(),
                self.projection.rounding
            )
        })
    }

    /// The codes where special cases and limits are: the ends of each half, around 1, around the
    /// normals, spread.
    fn specials(&self) -> Vec<&Item> {
        let f = self.grid.format();
        let sign = f.sign_bit();
        let top = f.magnitude_mask();
        let normal = f.min_normal_code();
        let middle = top / 2 + 1;
        let mut codes =
            vec![0, 1, 2, normal.saturating_sub(1), normal, normal + 1, middle - 1, middle, middle + 1];
        codes.extend([top - 4, top - 3, top - 2, top - 1, top]);
        codes.extend(codes.clone().into_iter().map(|c| c | sign));
        codes.retain(|&c| c < f.code_count());
        codes.sort_unstable();
        codes.dedup();
        codes.into_iter().map(|c| &self.items[usize::try_from(c).expect("small")]).collect()
    }
}

fn finish(what: &str, start: std::time::Instant, results: Vec<(u64, Vec<String>)>) {
    let compared: u64 = results.iter().map(|r| r.0).sum();
    let wrong: Vec<String> = results.into_iter().flat_map(|r| r.1).collect();
    tell(what, compared, start);
    let shown: Vec<&str> = wrong.iter().step_by(1 + wrong.len() / 24).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{what}: {} of {compared} differ:\n{}", wrong.len(), shown.join("\n"));
}

/// The six, and in extensive runs every named format of 8 bits or fewer; P3109's with 8 bits,
/// Tesla's at both ends of the biases, in both readings.
fn swept() -> Vec<Format> {
    let mut formats: Vec<Format> = SIX.map(|name| name.parse().expect("a format's name")).into();
    if !extensive() {
        println!("LEFT OUT without SMALLFLOAT_EXTENSIVE=1: FMA over all triples of more formats");
        return formats;
    }
    for format in catalogue(8).into_iter().chain(tesla([0, 63])).chain(p3109(8..=8)) {
        if format.width() <= 8 && !formats.contains(&format) {
            formats.push(format);
        }
    }
    formats
}

#[test]
fn fma_of_all_triples() {
    let stride = stride();
    for format in swept() {
        let start = std::time::Instant::now();
        let sheet = Sheet::new(format, Rounding::NearestEven);
        let count = sheet.items.len();
        let results = (0..count * count)
            .into_par_iter()
            .map(|pair| {
                let (x, y) = (&sheet.items[pair / count], &sheet.items[pair % count]);
                let mut wrong = Vec::new();
                let mut compared = 0;
                // Another offset for each pair, so that every z meets x and y in turn.
                for z in sheet.items.iter().skip((5 * (pair / count) + 3 * pair) % stride).step_by(stride) {
                    let items = [x, y, z];
                    wrong.extend(sheet.check(Operation::Fma, items, sheet.fma(items)));
                    compared += 1;
                }
                (compared, wrong)
            })
            .collect();
        finish(&format!("FMA {format}"), start, results);
    }
}

#[test]
fn faa_of_random_triples() {
    let count = (1_u64 << 22) / stride() as u64;
    let start = std::time::Instant::now();
    let sheets: Vec<Sheet> = SIX
        .iter()
        .flat_map(|name| {
            let format: Format = name.parse().expect("a format's name");
            Rounding::DETERMINISTIC.iter().map(move |&rounding| Sheet::new(format, rounding))
        })
        .collect();
    let blocks: Vec<u64> = (0..256).collect();
    let results = blocks
        .par_iter()
        .map(|&block| {
            let mut random = Scramble(block);
            let mut wrong = Vec::new();
            for i in 0..count / 256 {
                let sheet = &sheets[usize::try_from(i).expect("small") % sheets.len()];
                let mut item = || &sheet.items[usize::try_from(random.below(256)).expect("small")];
                let items = [item(), item(), item()];
                wrong.extend(sheet.check(Operation::Faa, items, sheet.faa(items)));
            }
            (count / 256, wrong)
        })
        .collect();
    finish("FAA", start, results);
}

#[test]
fn special_values_of_every_format() {
    let start = std::time::Instant::now();
    let mut formats = catalogue(8);
    for name in
        SIX.into_iter().chain(["binary8p4se", "binary8p3sf", "binary8p1uf", "binary6p3se", "binary4p3ue"])
    {
        formats.push(name.parse().expect("a format's name"));
    }
    let sheets: Vec<Sheet> = formats
        .iter()
        .flat_map(|&format| Rounding::DETERMINISTIC.iter().map(move |&rounding| Sheet::new(format, rounding)))
        .collect();
    let results = sheets
        .par_iter()
        .map(|sheet| {
            let specials = sheet.specials();
            let mut wrong = Vec::new();
            let mut count = 0;
            for &x in &specials {
                for &y in &specials {
                    for &z in &specials {
                        let items = [x, y, z];
                        wrong.extend(sheet.check(Operation::Fma, items, sheet.fma(items)));
                        wrong.extend(sheet.check(Operation::Faa, items, sheet.faa(items)));
                        wrong.extend(sheet.check(Operation::Clamp, items, sheet.clamp(items)));
                        count += 3;
                    }
                }
            }
            (count, wrong)
        })
        .collect();
    finish("FMA, FAA, Clamp of special values", start, results);
}
