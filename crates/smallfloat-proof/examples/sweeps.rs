//! Sweeps of wide inputs through the kernels, as rows of comma-separated values
//! (`just verification sweeps`).
//!
//! `sweeps [PART…] [--levels portable,avx2] [--format NAME]…`: the parts are `nearest` (all 2^32
//! f32 inputs into every named format of at most 8 bits and the 16-bit ones, each with its default
//! projection), `modes` (the same for six formats in every deterministic rounding and every
//! saturation), and `halves` (all binary16 and bfloat16 inputs into every format of at most 16
//! bits, in every deterministic rounding and every saturation). With `--format` the first two sweep
//! these formats instead of theirs. Without `--levels`, `nearest` and `modes` are swept by this
//! machine's widest level, the formats of `modes` in `nearest` and all of `halves` by every level.
//! Rows go to standard output, progress and totals to standard error; the exit status is 1 if
//! anything differs and 2 for words that it does not know.

use std::process::ExitCode;
use std::time::Instant;

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use smallfloat::{Format, Projection, Rounding, Saturation, Subnormals, formats};
use smallfloat_kernels::{Bf16, Element, F16, Level};
use smallfloat_oracle::{Run, f32_runs};
use smallfloat_proof::sweep::{LocatedValues, Swept, all_f32, digest, run_ends, short};
use smallfloat_proof::{catalogue, oracle_format, oracle_policy, p3109, tesla};

/// The formats swept in every mode.
const IN_EVERY_MODE: [&str; 6] =
    ["cfloat8_1_4_3:bias=7", "cfloat8_1_5_2:bias=15", "e4m3fn", "e5m2", "e4m3b11fnuz", "binary8p4se"];

/// Formats outside the families, swept beside them: a binade at exponent field 0, flushed
/// subnormals, six bits with infinity.
const OTHERS: [&str; 3] =
    ["ieee:k=6,p=3", "minifloat:k=8,p=4,bias=7,subnormals=none", "minifloat:k=8,p=4,bias=7,subnormals=flush"];

/// P3109's formats of more than 8 bits among the named: the exponents of binary16, of bfloat16, one
/// with few bits for them, and one without sign.
const WIDE_P3109: [&str; 4] = ["binary16p11se", "binary16p8se", "binary16p13sf", "binary12p6ue"];

const SATURATIONS: [Saturation; 3] = [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone];

const HEADER: &str = "part,source,target,rounding,saturation,level,inputs,mismatches,seconds,pieces,digest";

/// One family of targets of the 16-bit sources.
struct Family {
    name: String,
    formats: Vec<Format>,
}

/// Totals of a whole call.
#[derive(Default)]
struct Total {
    rows: u64,
    inputs: u64,
    mismatches: u64,
}

struct Row<'a> {
    part: &'a str,
    source: &'a str,
    target: &'a str,
    rounding: &'a str,
    saturation: &'a str,
    level: &'a str,
    pieces: usize,
    digest: &'a str,
}

impl Total {
    fn row(&mut self, row: &Row, swept: &Swept) {
        let Row { part, source, target, rounding, saturation, level, pieces, digest } = row;
        let (inputs, mismatches) = (swept.inputs, swept.mismatches);
        let seconds = swept.time.as_secs_f64();
        println!(
            "{part},{source},\"{target}\",{rounding},{saturation},{level},{inputs},{mismatches},{seconds:.2},{pieces},{digest}"
        );
        if let Some(first) = &swept.first {
            eprintln!("MISMATCH: {first}");
        }
        self.rows += 1;
        self.inputs += inputs;
        self.mismatches += mismatches;
    }
}

fn parse(name: &str) -> Format {
    name.parse().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every named format of at most 8 bits, Tesla's at several biases in both readings, and those of
/// more bits.
fn named() -> Vec<Format> {
    let mut list = catalogue(8);
    list.retain(|format| format.subnormals() != Subnormals::Tesla);
    list.extend(tesla([0, 7, 11, 15, 31, 63]).into_iter().filter(|format| format.width() == 8));
    list.extend(p3109(3..=8));
    list.extend(OTHERS.map(parse));
    list.extend(tesla([0, 15, 63]).into_iter().filter(|format| format.width() == 16));
    list.extend([formats::UHP, formats::BINARY16, formats::BFLOAT16]);
    list.extend(WIDE_P3109.map(parse));
    list
}

fn sweep_f32(part: &str, format: &Format, projection: &Projection, levels: &[Level], total: &mut Total) {
    let runs: Vec<Run> = f32_runs(&oracle_format(format), &oracle_policy(projection));
    let (compared, wrong) = run_ends(format, projection, &runs);
    let (target, digest) = (format.to_string(), digest(&runs));
    let row = |level| Row {
        part,
        source: "binary32",
        target: &target,
        rounding: projection.rounding.name(),
        saturation: projection.saturation.name(),
        level,
        pieces: runs.len(),
        digest: &digest,
    };
    let ends =
        Swept { inputs: compared, mismatches: wrong.is_some().into(), first: wrong, ..Swept::default() };
    total.row(&row("core at run ends"), &ends);
    for &level in levels {
        let swept = if format.width() <= 8 {
            all_f32::<u8>(format, projection, level, &runs)
        } else {
            all_f32::<u16>(format, projection, level, &runs)
        };
        total.row(&row(level.name()), &swept);
    }
}

fn nearest(formats: &[Format], levels: &impl Fn(&Format) -> Vec<Level>, total: &mut Total) {
    for format in formats {
        sweep_f32("nearest", format, &format.default_projection(), &levels(format), total);
    }
}

fn modes(formats: &[Format], levels: &impl Fn(&Format) -> Vec<Level>, total: &mut Total) {
    for format in formats {
        for &rounding in Rounding::DETERMINISTIC {
            for saturation in SATURATIONS {
                let projection =
                    format.default_projection().with_rounding(rounding).with_saturation(saturation);
                if projection != format.default_projection() {
                    sweep_f32("modes", format, &projection, &levels(format), total);
                }
            }
        }
    }
}

fn families() -> Vec<Family> {
    let mut list = catalogue(16);
    list.retain(|format| format.subnormals() != Subnormals::Tesla);
    list.extend(OTHERS.map(parse));
    let mut families = vec![
        Family { name: "the catalogue".to_string(), formats: list },
        Family { name: "Tesla's at biases 0 to 63, both readings".to_string(), formats: tesla(0..=63) },
    ];
    families.extend((3..=16).map(|k| Family { name: format!("P3109 K={k}"), formats: p3109(k..=k) }));
    families
}

/// One family from one source: all projections of each format, the digest of the formats' digests
/// in order.
fn sweep_family<T: Element>(source: &str, family: &Family, levels: &[Level], total: &mut Total) {
    let each = |format: &Format| {
        let located = LocatedValues::<T>::new(format);
        let (mut all, mut hash) = (Swept::default(), Sha256::new());
        for &rounding in Rounding::DETERMINISTIC {
            for saturation in SATURATIONS {
                let projection =
                    format.default_projection().with_rounding(rounding).with_saturation(saturation);
                let (found, digest) = located.sweep(&projection, levels);
                all = all.merge(found);
                hash.update(digest);
            }
        }
        (all, hash.finalize())
    };
    let found: Vec<_> = family.formats.par_iter().map(each).collect();
    let mut hash = Sha256::new();
    let mut all = Swept::default();
    for (swept, digest) in found {
        hash.update(digest);
        all = all.merge(swept);
    }
    let digest = short(hash);
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    let row = Row {
        part: "halves",
        source,
        target: &family.name,
        rounding: "all six",
        saturation: "all three",
        level: &names.join(" and "),
        pieces: family.formats.len(),
        digest: &digest,
    };
    total.row(&row, &all);
}

fn halves(levels: &[Level], total: &mut Total) {
    for family in families() {
        sweep_family::<F16>("binary16", &family, levels, total);
        sweep_family::<Bf16>("bfloat16", &family, levels, total);
    }
}

fn levels(text: &str) -> Option<Vec<Level>> {
    text.split(',').map(|name| name.parse::<Level>().ok().filter(|level| level.is_available())).collect()
}

/// What the words ask for.
struct Wishes {
    parts: Vec<String>,
    /// None named: `usual`.
    levels: Option<Vec<Level>>,
    /// Those of each part where none is named.
    formats: Vec<Format>,
}

/// The levels that sweep where none is named: this machine's widest from f32, and in `nearest`
/// every one for the formats of `modes` (the portable level takes two to four times as long); every
/// one from 16 bits.
fn usual(part: &str, format: Option<&Format>) -> Vec<Level> {
    let all: Vec<Level> = Level::available().collect();
    let every = part == "halves"
        || part == "nearest" && format.is_some_and(|format| IN_EVERY_MODE.map(parse).contains(format));
    if every { all } else { all.into_iter().max().into_iter().collect() }
}

/// All parts where there is no word for them.
fn wishes(mut words: impl Iterator<Item = String>) -> Result<Wishes, String> {
    let mut wishes = Wishes { parts: Vec::new(), levels: None, formats: Vec::new() };
    while let Some(word) = words.next() {
        match word.as_str() {
            "nearest" | "modes" | "halves" => wishes.parts.push(word),
            "--levels" => {
                wishes.levels = Some(words.next().as_deref().and_then(levels).ok_or(
                    "--levels wants names of levels that this machine can run, such as portable,avx2",
                )?);
            }
            "--format" => {
                let name = words.next().unwrap_or_default();
                let format = name.parse::<Format>().map_err(|error| format!("--format {name}: {error}"))?;
                if format.is_wide() {
                    return Err(format!("--format {name}: formats have at most 16 bits here"));
                }
                wishes.formats.push(format);
            }
            _ => {
                return Err(format!(
                    "{word}: the parts are nearest, modes and halves, the options --levels and --format"
                ));
            }
        }
    }
    if wishes.parts.is_empty() {
        wishes.parts = ["nearest", "modes", "halves"].map(str::to_string).to_vec();
    }
    if !wishes.formats.is_empty() && wishes.parts.iter().any(|part| part == "halves") {
        return Err("--format is for nearest and modes: halves sweeps whole families".to_string());
    }
    Ok(wishes)
}

fn main() -> ExitCode {
    let Wishes { parts, levels, formats } = match wishes(std::env::args().skip(1)) {
        Ok(wishes) => wishes,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    let chosen = |own: Vec<Format>| if formats.is_empty() { own } else { formats.clone() };
    println!("{HEADER}");
    let start = Instant::now();
    let mut total = Total::default();
    for part in &parts {
        let of = |format: Option<&Format>| levels.clone().unwrap_or_else(|| usual(part, format));
        match part.as_str() {
            "nearest" => nearest(&chosen(named()), &|format| of(Some(format)), &mut total),
            "modes" => {
                modes(&chosen(IN_EVERY_MODE.map(parse).to_vec()), &|format| of(Some(format)), &mut total);
            }
            _ => halves(&of(None), &mut total),
        }
        eprintln!("{part}: done after {:.0} s", start.elapsed().as_secs_f64());
    }
    let Total { rows, inputs, mismatches } = total;
    eprintln!(
        "{rows} rows, {inputs} results, {mismatches} mismatches, {:.0} s",
        start.elapsed().as_secs_f64()
    );
    if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
