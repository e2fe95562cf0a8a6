//! All 2^16 binary16 and bfloat16 inputs into every format, and all codes of all pairs of formats
//! of at most 8 bits, code and flags, against the oracle.
//!
//! Without `SMALLFLOAT_EXTENSIVE=1` a part of the P3109 family and some biases of Tesla's.

use smallfloat::{FlagPolicy, Format, Rounding, Saturation, convert_with, formats};
use smallfloat_kernels::{Bf16, Element, F16, Level};
use smallfloat_oracle::{self as oracle, Exact, Table};
use smallfloat_proof::sweep::LocatedValues;
use smallfloat_proof::{
    catalogue, check_all, core_flags, extensive, oracle_format, oracle_policy, p3109, tesla,
};

/// A format with what the oracle makes of each of its codes, once for all targets.
struct Source {
    format: Format,
    values: Vec<(Exact, oracle::Flags)>,
}

fn sources(formats: &[Format]) -> Vec<Source> {
    let values = |format: &Format| {
        let source = oracle_format(format);
        let raised = |code| {
            if source.is_subnormal(code) { oracle::Flags::DENORMAL } else { oracle::Flags::NONE }
        };
        format.codes().map(|code| (source.value(code).into(), raised(code))).collect()
    };
    formats.iter().map(|format| Source { format: *format, values: values(format) }).collect()
}

/// Every code of one format into another: code and flags.
fn check_pair(from: &Source, to: &Format, table: &Table) -> (u64, Vec<String>) {
    let Source { format: from, values } = from;
    let projection = to.default_projection();
    let policy = oracle_policy(&projection);
    let (mut wrong, mut near) = (Vec::new(), 0);
    for (code, (exact, raised)) in from.codes().zip(values) {
        // The oracle's flags are Tesla's.
        let got = convert_with(code, from, to, &projection, FlagPolicy::TESLA);
        let (expected, flags) = table.seek_near(exact, &mut near).round(&policy);
        let flags = core_flags(flags | *raised);
        if (got.value, got.flags) != (expected, flags) {
            wrong.push(format!(
                "{from} {code:#x} to {to}: got {:#x} {}, expected {expected:#x} {flags}",
                got.value, got.flags
            ));
        }
    }
    (values.len() as u64, wrong)
}

fn check_into(sources: &[Source], to: &Format) -> (u64, Vec<String>) {
    let table = Table::new(&oracle_format(to));
    let (mut compared, mut wrong) = (0, Vec::new());
    for from in sources {
        let (n, found) = check_pair(from, to, &table);
        compared += n;
        wrong.extend(found);
    }
    (compared, wrong)
}

/// Of the P3109 family every width, with the smallest, middle and largest precision of each kind;
/// all of it in extensive runs.
fn selected_p3109() -> Vec<Format> {
    let taken =
        |f: &Format| extensive() || [1, f.width() / 2, f.width() - 1, f.width()].contains(&f.precision());
    p3109(3..=16).into_iter().filter(taken).collect()
}

#[test]
fn sixteen_bit_inputs() {
    let mut targets = catalogue(16);
    if extensive() {
        targets.extend(tesla(0..=63));
    } else {
        targets.extend(tesla([0, 15, 31, 63]));
    }
    targets.extend(selected_p3109());
    let sources = sources(&[formats::BINARY16, formats::BFLOAT16]);
    check_all("16-bit inputs", &targets, |to| check_into(&sources, to));
}

#[test]
fn tesla_s_16_bit_formats_as_sources() {
    let mut from = tesla([0, 15, 63]);
    from.retain(|f| f.width() == 16);
    from.push(formats::UHP);
    let sources = sources(&from);
    let mut targets = catalogue(64);
    targets.extend(tesla([7, 31]));
    check_all("Tesla's 16-bit inputs", &targets, |to| check_into(&sources, to));
}

#[test]
fn all_pairs_of_small_formats() {
    let mut list = catalogue(8);
    list.extend(tesla([0, 11, 31, 63]).into_iter().filter(|f| f.width() == 8));
    list.extend(p3109(if extensive() { 3..=8 } else { 8..=8 }));
    let sources = sources(&list);
    check_all("pairs", &list, |to| check_into(&sources, to));
}

/// The kernels at every level, from both 16-bit sources, in every deterministic mode and
/// saturation.
#[test]
fn sixteen_bit_inputs_by_the_kernels() {
    const NAMES: [&str; 8] = [
        "cfloat8_1_4_3:bias=7",
        "cfloat8_1_5_2:bias=31,subnormals=gradual",
        "e4m3fn",
        "e2m1fn",
        "e8m0fnu",
        "binary8p4uf",
        "shp:bias=15",
        "uhp",
    ];
    fn from<T: Element>(name: &str) -> (u64, Vec<String>) {
        let format: Format = name.parse().expect("a format's name");
        let (located, mut compared, mut wrong) = (LocatedValues::<T>::new(&format), 0, Vec::new());
        let levels: Vec<Level> = Level::available().collect();
        for &rounding in Rounding::DETERMINISTIC {
            for saturation in [Saturation::SatFinite, Saturation::SatPropagate, Saturation::SatNone] {
                let projection =
                    format.default_projection().with_rounding(rounding).with_saturation(saturation);
                let (found, _) = located.sweep(&projection, &levels);
                compared += found.inputs;
                wrong.extend(found.first);
            }
        }
        (compared, wrong)
    }
    check_all("binary16 by the kernels", &NAMES, |name| from::<F16>(name));
    check_all("bfloat16 by the kernels", &NAMES, |name| from::<Bf16>(name));
}
