//! Rounding, saturation, specials and flags against the oracle, at every place where a result
//! changes.

use smallfloat::{
    Exact, Format, MissingNan, MissingZero, NanRule, NegativeRule, NegativeZero, Preset, Projection,
    Rounding, Saturation, formats, project,
};
use smallfloat_oracle::{self as oracle, Dyadic, Table, preset};
use smallfloat_proof::{
    Scramble, catalogue, check_all, core_exact, core_flags, minifloats, oracle_exact, oracle_format,
    oracle_policy, p3109, tesla, wide,
};

/// The formats of at most 8 bits whose rounding is checked everywhere.
fn small_formats() -> Vec<Format> {
    let mut list = catalogue(8);
    list.extend(tesla([0, 7, 31, 63]).into_iter().filter(|f| f.width() <= 8));
    list.extend(p3109(3..=8));
    for name in [
        "minifloat:k=8,p=4,bias=7,subnormals=none",
        "minifloat:k=8,p=4,bias=7,subnormals=flush",
        "minifloat:k=8,p=4,bias=7,signed=false",
        "minifloat:k=8,p=1,bias=63,specials=p3109-extended",
        "minifloat:k=8,p=1,bias=7",
        "minifloat:k=8,p=1,bias=7,signed=false,specials=nan-allones",
        "minifloat:k=8,p=4,bias=7,specials=ieee,subnormals=none",
        "minifloat:k=8,p=4,bias=7,specials=nan-negzero,subnormals=tesla",
        "minifloat:k=8,p=8,bias=1,signed=false,subnormals=tesla",
        "minifloat:k=7,p=3,bias=-20,specials=ieee,signed=false,subnormals=flush",
        "minifloat:k=7,p=3,bias=300,specials=nan-allones,subnormals=flush",
        "minifloat:k=5,p=1,bias=3,signed=false,specials=e8m0",
    ] {
        list.push(name.parse().unwrap_or_else(|e| panic!("{name}: {e}")));
    }
    for width in 2..=5 {
        list.extend(minifloats(width, &[1]));
    }
    list
}

/// The different policies that the presets make, with each of the four saturation modes.
fn policies(format: &Format) -> Vec<Projection> {
    let mut list: Vec<Projection> = Vec::new();
    for &named in Preset::ALL {
        for &saturation in Saturation::ALL {
            let projection = named.projection(format).with_saturation(saturation);
            if !list.iter().any(|other| {
                other.unrepresentable == projection.unrepresentable && other.saturation == saturation
            }) {
                list.push(projection);
            }
        }
    }
    list
}

fn finite(x: &Dyadic) -> Exact {
    core_exact(x)
}

/// The number and its nearest neighbours: exact ones 2^-70 of the last place away, and truncated
/// ones.
fn around(x: &Dyadic, list: &mut Vec<Exact>) {
    let exact = finite(x);
    list.push(exact);
    let Exact::Finite { significand, exponent, .. } = exact else { return };
    if significand == 0 {
        return;
    }
    let spare = significand.leading_zeros() - 2;
    let (wide, exponent) = (significand << spare, exponent - i32::try_from(spare).unwrap());
    for (significand, sticky) in [(wide - 1, false), (wide + 1, false), (wide - 1, true), (wide, true)] {
        list.push(Exact::Finite { negative: false, significand, exponent, sticky });
    }
}

/// Every value, every midpoint, what lies beside them, and what lies beyond all of them.
fn magnitudes(table: &Table) -> Vec<Exact> {
    let mut list = Vec::new();
    for index in 0..table.len() {
        let (x, _) = table.point(index);
        let next = if index + 1 < table.len() { table.point(index + 1).0 } else { table.next().clone() };
        around(&x, &mut list);
        around(&(&x + &next).scale(-1), &mut list);
    }
    let (max, next) = (table.max().0, table.next().clone());
    around(&next, &mut list);
    around(&(&(&next + &next) - &max), &mut list);
    around(&max.scale(1), &mut list);
    around(&max.scale(3), &mut list);
    // Far away on both sides, and the smallest number of a format without zero.
    for exponent in [-(1 << 30), -70_000, 70_000, 1 << 30] {
        list.push(Exact::finite(false, 1, exponent));
        list.push(Exact::Finite { negative: false, significand: u128::MAX, exponent, sticky: true });
    }
    around(&table.min().0.scale(-1), &mut list);
    around(&table.min_normal().scale(-1), &mut list);
    list.push(Exact::finite(false, 0, 0));
    list.push(Exact::Infinite { negative: false });
    list.push(Exact::Nan { negative: false });
    list
}

fn negated(x: Exact) -> Exact {
    match x {
        Exact::Cancelled => Exact::Cancelled,
        Exact::Nan { negative } => Exact::Nan { negative: !negative },
        Exact::Infinite { negative } => Exact::Infinite { negative: !negative },
        Exact::Finite { negative, significand, exponent, sticky } => {
            Exact::Finite { negative: !negative, significand, exponent, sticky }
        }
    }
}

fn compare(format: &Format, projection: &Projection, x: Exact, place: &oracle::Sought<'_>) -> Option<String> {
    let got = project(x, format, projection);
    let (code, flags) = place.round(&oracle_policy(projection));
    let flags = core_flags(flags);
    (got.value != code || got.flags != flags).then(|| {
        format!(
            "{format} {x:x?} {projection:?}: got {:#x} {}, expected {code:#x} {flags}",
            got.value, got.flags
        )
    })
}

/// All deterministic modes and policies at every place.
fn check_format(format: &Format) -> (u64, Vec<String>) {
    let table = Table::new(&oracle_format(format));
    let policies = policies(format);
    let (mut compared, mut wrong) = (0, Vec::new());
    for x in magnitudes(&table) {
        for x in [x, negated(x)] {
            let exact = oracle_exact(x, 1);
            let place = table.seek(&exact);
            for policy in &policies {
                for &rounding in Rounding::DETERMINISTIC {
                    compared += 1;
                    wrong.extend(compare(format, &policy.with_rounding(rounding), x, &place));
                }
            }
        }
    }
    (compared, wrong)
}

#[test]
fn deterministic_modes_at_every_value_and_midpoint() {
    check_all("deterministic", &small_formats(), check_format);
}

/// Numbers at ν = (t + f) / 2^n between two neighbours, with the random numbers around the
/// threshold for t.
fn check_stochastic(format: &Format) -> (u64, Vec<String>) {
    let table = Table::new(&oracle_format(format));
    let mut scramble = Scramble(u64::from(format.width()) << 8 | u64::from(format.precision()));
    let (mut compared, mut wrong) = (0, Vec::new());
    let edges = [0, 1, (1 << format.trailing_bits()) - 1, table.len().saturating_sub(2), table.len() - 1];
    let gaps: Vec<usize> = if table.len() <= 16 {
        (0..table.len()).collect()
    } else {
        let inside = (0..8).map(|_| usize::try_from(scramble.below(table.len() as u64)).unwrap());
        edges.into_iter().chain(inside).collect()
    };
    for index in gaps {
        let (lo, hi) = (
            table.point(index).0,
            if index + 1 < table.len() { table.point(index + 1).0 } else { table.next().clone() },
        );
        let gap = &hi - &lo;
        for n in [1, 2, 3, 8, 32, 60] {
            let t = scramble.bits() >> (64 - n);
            for quarter in 0..4_u64 {
                // lo + gap · (4t + quarter) / 2^(n+2), then just below and above it.
                let nu = Dyadic::new(u128::from(t) * 4 + u128::from(quarter), -i64::from(n) - 2);
                let mut places = Vec::new();
                around(&(&lo + &(&gap * &nu)), &mut places);
                let top = 1_u64 << n;
                let around_threshold = [
                    0,
                    top - 1,
                    top.wrapping_sub(t + 2),
                    top.wrapping_sub(t + 1),
                    top.wrapping_sub(t),
                    top - 1 - t / 2,
                ];
                for x in places {
                    let exact = oracle_exact(x, 1);
                    let place = table.seek(&exact);
                    for r in around_threshold.into_iter().filter(|&r| r < top) {
                        let bits = smallfloat::RandomBits::new(n, r).unwrap();
                        for rounding in [
                            Rounding::StochasticA(bits),
                            Rounding::StochasticB(bits),
                            Rounding::StochasticC(bits),
                        ] {
                            compared += 1;
                            let projection = format.default_projection().with_rounding(rounding);
                            wrong.extend(compare(format, &projection, x, &place));
                        }
                    }
                }
            }
        }
    }
    // Specials, and what lies beyond the range, in both signs.
    for x in magnitudes(&table).into_iter().rev().take(45) {
        if matches!(x, Exact::Finite { exponent, .. } if exponent.abs() > 100_000) {
            continue;
        }
        for x in [x, negated(x)] {
            let exact = oracle_exact(x, 1);
            let place = table.seek(&exact);
            for policy in policies(format) {
                let n = scramble.pick(&[1, 2, 3, 8, 32, 60]);
                let bits = scramble.random_bits(n);
                for rounding in
                    [Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)]
                {
                    compared += 1;
                    wrong.extend(compare(format, &policy.with_rounding(rounding), x, &place));
                }
            }
        }
    }
    (compared, wrong)
}

#[test]
fn stochastic_modes_at_their_thresholds() {
    let mut list = small_formats();
    list.retain(|f| f.width() != 8 || f.family() != smallfloat::Family::P3109 || f.precision() % 3 == 1);
    check_all("stochastic", &list, check_stochastic);
}

fn random_format(scramble: &mut Scramble) -> Format {
    let (small, minis) = (catalogue(16), [-40, 0, 7, 100]);
    match scramble.below(4) {
        0 => scramble.pick(&small),
        1 => {
            let bias = i32::try_from(scramble.below(64)).unwrap();
            scramble.pick(&tesla([bias]))
        }
        2 => {
            let k = 3 + u32::try_from(scramble.below(14)).unwrap();
            scramble.pick(&p3109(k..=k))
        }
        _ => {
            let width = 2 + u32::try_from(scramble.below(12)).unwrap();
            scramble.pick(&minifloats(width, &minis))
        }
    }
}

fn random_exact(format: &Format, scramble: &mut Scramble) -> Exact {
    let negative = scramble.below(2) == 1;
    match scramble.below(64) {
        0 => return Exact::Nan { negative },
        1 => return Exact::Infinite { negative },
        2 => return Exact::finite(negative, 0, 0),
        _ => {}
    }
    let all = u128::from(scramble.bits()) << 64 | u128::from(scramble.bits()) | 1 << 127;
    let kept = u32::try_from(1 + scramble.below(128)).unwrap();
    let significand = all >> (128 - kept);
    // The leading bit mostly within the format's binades, a few beyond them.
    let (low, high) = format.exponent_range();
    let span = u64::from((high - low).unsigned_abs() + format.trailing_bits() + 12);
    let leading =
        low - 6 - format.trailing_bits().cast_signed() + i32::try_from(scramble.below(span)).unwrap();
    let exponent = leading - (kept.cast_signed() - 1);
    Exact::Finite { negative, significand, exponent, sticky: kept >= 100 && scramble.below(2) == 1 }
}

fn random_rounding(scramble: &mut Scramble) -> Rounding {
    if scramble.below(3) > 0 {
        return scramble.pick(Rounding::DETERMINISTIC);
    }
    let n = u32::try_from(1 + scramble.below(60)).unwrap();
    let bits = scramble.random_bits(n);
    scramble.pick(&[Rounding::StochasticA(bits), Rounding::StochasticB(bits), Rounding::StochasticC(bits)])
}

fn check_random(seed: u64, negatives: &[NegativeRule], unsigned_only: bool) -> (u64, Vec<String>) {
    const INPUTS: u64 = 2048;
    let mut scramble = Scramble(seed);
    let mut format = random_format(&mut scramble);
    while unsigned_only && format.is_signed() {
        format = random_format(&mut scramble);
    }
    let table = Table::new(&oracle_format(&format));
    let mut wrong = Vec::new();
    for _ in 0..INPUTS {
        let x = random_exact(&format, &mut scramble);
        let rounding = random_rounding(&mut scramble);
        let projection = format
            .default_projection()
            .with_rounding(rounding)
            .with_saturation(scramble.pick(Saturation::ALL))
            .with_nan(scramble.pick(NanRule::ALL))
            .with_missing_nan(scramble.pick(MissingNan::ALL))
            .with_negative(scramble.pick(negatives))
            .with_missing_zero(scramble.pick(MissingZero::ALL))
            .with_negative_zero(scramble.pick(NegativeZero::ALL));
        // What was cut off may be anything in (0, 1) of the last place.
        let exact = oracle_exact(x, 1 + i64::try_from(scramble.below(40)).unwrap());
        wrong.extend(compare(&format, &projection, x, &table.seek(&exact)));
    }
    (INPUTS, wrong)
}

#[test]
fn random_formats_numbers_and_policies() {
    let seeds: Vec<u64> = (0..512).collect();
    let rules = [NegativeRule::BySaturation, NegativeRule::Nan];
    let compared = check_all("random", &seeds, |&seed| check_random(seed, &rules, false));
    assert_eq!(compared, 1 << 20);
}

/// Negatives in unsigned formats under the rules that no preset has.
#[test]
fn random_negatives_that_become_zero() {
    let seeds: Vec<u64> = (1000..1064).collect();
    check_all("negative=zero", &seeds, |&seed| check_random(seed, &[NegativeRule::Zero], true));
}

#[test]
fn random_negatives_that_become_magnitudes() {
    let seeds: Vec<u64> = (2000..2064).collect();
    check_all("negative=magnitude", &seeds, |&seed| check_random(seed, &[NegativeRule::Magnitude], true));
}

/// The presets, written down twice.
#[test]
fn presets_are_the_oracle_s() {
    let mut list = catalogue(64);
    list.extend(tesla([7]));
    list.extend(p3109(3..=8));
    let mut compared = 0;
    for format in &list {
        for &named in Preset::ALL {
            let ours = oracle_policy(&named.projection(format));
            let theirs = preset(named.name(), &oracle_format(format));
            assert_eq!(ours, theirs, "{format} {}", named.name());
            compared += 1;
        }
    }
    println!("presets: {compared} compared");
}

/// Which preset holds where none is named (`docs/semantics.md` S2, last column).
#[test]
fn default_presets() {
    for (name, default) in [
        ("cfloat8_1_4_3:bias=7", "tesla"),
        ("cfloat8_1_5_2:bias=7", "tesla"),
        ("shp:bias=7", "tesla"),
        ("uhp", "tesla"),
        ("binary16", "ieee"),
        ("binary32", "ieee"),
        ("binary64", "ieee"),
        ("bfloat16", "ieee"),
        ("ieee:k=6,p=3", "ieee"),
        ("minifloat:k=8,p=4,bias=7,specials=ieee", "ieee"),
        ("e4m3fn", "ml-dtypes"),
        ("e5m2", "ml-dtypes"),
        ("e4m3fnuz", "ml-dtypes"),
        ("e5m2fnuz", "ml-dtypes"),
        ("e4m3b11fnuz", "ml-dtypes"),
        ("e4m3", "ml-dtypes"),
        ("e3m4", "ml-dtypes"),
        ("e3m2fn", "ml-dtypes"),
        ("e2m3fn", "ml-dtypes"),
        ("e2m1fn", "ml-dtypes"),
        ("e8m0fnu", "ml-dtypes"),
        ("binary8p3se", "p3109-satnone"),
        ("binary8p1uf", "p3109-satnone"),
    ] {
        let format: Format = name.parse().unwrap();
        let named = Preset::default_for(&format);
        assert_eq!(named.name(), default, "{name}");
        let ours = oracle_policy(&format.default_projection());
        let theirs = preset(default, &oracle_format(&format));
        assert_eq!(ours, theirs, "{name}");
    }
}

/// Destinations of more than 16 bits, binary32 and binary64 among them, with every rule.
#[test]
fn wide_destinations() {
    let mut list = wide();
    list.extend([formats::BINARY32, formats::BINARY64]);
    check_all("wide destinations", &list, |format| {
        const INPUTS: u64 = 20_000;
        let table = Table::new(&oracle_format(format));
        let mut scramble = Scramble(64);
        let mut wrong = Vec::new();
        for _ in 0..INPUTS {
            let x = random_exact(format, &mut scramble);
            let projection = format
                .default_projection()
                .with_rounding(random_rounding(&mut scramble))
                .with_saturation(scramble.pick(Saturation::ALL))
                .with_nan(scramble.pick(NanRule::ALL))
                .with_missing_nan(scramble.pick(MissingNan::ALL))
                .with_negative(scramble.pick(&[NegativeRule::BySaturation, NegativeRule::Nan]))
                .with_negative_zero(scramble.pick(NegativeZero::ALL));
            let narrow =
                matches!(x, Exact::Finite { significand, sticky: true, .. } if significand >> 120 == 0);
            if !narrow {
                wrong.extend(compare(format, &projection, x, &table.seek(&oracle_exact(x, 3))));
            }
        }
        (INPUTS, wrong)
    });
}
