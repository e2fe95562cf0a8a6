//! What other crates offer for the same work, each as its users would call it over a slice.

use std::hint::black_box;

use crate::Case;

/// A peer's kernel with a buffer of its own.
pub type Peer<'a> = (String, Box<dyn FnMut() + 'a>);

/// Peers as cases beside a limit.
pub fn add_peers<'a>(cases: &mut Vec<Case<'a>>, limit: &'static str, peers: Vec<Peer<'a>>) {
    cases.extend(peers.into_iter().map(|(name, run)| Case::new(format!("peer: {name}"), limit, run)));
}

/// A conversion of one value, over a slice.
fn one_by_one<'a, S: Copy, D: Copy + 'a>(
    name: &str,
    x: &'a [S],
    zero: D,
    f: impl Fn(S) -> D + 'a,
) -> Peer<'a> {
    let mut out = vec![zero; x.len()];
    let run = move || {
        for (out, &x) in out.iter_mut().zip(black_box(x)) {
            *out = f(x);
        }
        black_box(&mut out);
    };
    (name.to_owned(), Box::new(run))
}

/// numkong's conversion of slices.
fn cast<'a, S: numkong::CastDtype + Copy, D: numkong::CastDtype + Copy + Default + 'a>(
    name: &str,
    x: &'a [S],
) -> Peer<'a> {
    let mut out = vec![D::default(); x.len()];
    (
        name.to_owned(),
        Box::new(move || numkong::cast(black_box(x), black_box(&mut out)).expect("equal lengths")),
    )
}

/// Returns the codes as numkong's E4M3, in place.
fn e4m3(codes: &[u8]) -> &[numkong::e4m3] {
    // SAFETY: `e4m3` is `repr(transparent)` over `u8`, and every byte is one.
    unsafe { std::slice::from_raw_parts(codes.as_ptr().cast(), codes.len()) }
}

/// binary32 → 8 bits.
pub fn encoders(x: &[f32]) -> Vec<Peer<'_>> {
    vec![
        cast::<f32, numkong::e4m3>("numkong e4m3", x),
        cast::<f32, numkong::e5m2>("numkong e5m2", x),
        one_by_one("float8 e4m3fn", x, 0, |x| float8::F8E4M3::from_f32(x).to_bits()),
        one_by_one("float8 e5m2", x, 0, |x| float8::F8E5M2::from_f32(x).to_bits()),
        one_by_one("minifloat e4m3fn", x, 0, |x| minifloat::F8E4M3FN::from_f32(x).to_bits()),
        one_by_one("microfloat e4m3fn", x, 0, |x| microfloat::f8e4m3fn::from_f32(x).to_bits()),
    ]
}

/// binary32 → 16 bits.
pub fn halves(x: &[f32]) -> Vec<Peer<'_>> {
    vec![
        cast::<f32, numkong::f16>("numkong f16", x),
        cast::<f32, numkong::bf16>("numkong bf16", x),
        one_by_one("half f16", x, half::f16::ZERO, half::f16::from_f32),
        one_by_one("half bf16", x, half::bf16::ZERO, half::bf16::from_f32),
    ]
}

/// 8 bits → binary32.
pub fn decoders(codes: &[u8]) -> Vec<Peer<'_>> {
    vec![
        cast::<numkong::e4m3, f32>("numkong e4m3", e4m3(codes)),
        one_by_one("float8 e4m3fn", codes, 0.0, |code| float8::F8E4M3::from_bits(code).to_f32()),
        one_by_one("minifloat e4m3fn", codes, 0.0, |code| minifloat::F8E4M3FN::from_bits(code).to_f32()),
        one_by_one("microfloat e4m3fn", codes, 0.0, |code| microfloat::f8e4m3fn::from_bits(code).to_f32()),
    ]
}

/// Sums of two slices of E4M3FN codes.
pub fn adders<'a>(x: &'a [u8], y: &'a [u8]) -> Vec<Peer<'a>> {
    /// `x + y` in a crate's type, from codes to codes.
    macro_rules! add {
        ($name:literal, $type:ty) => {{
            let mut out = vec![0_u8; x.len()];
            let run = move || {
                for ((out, &x), &y) in out.iter_mut().zip(black_box(x)).zip(black_box(y)) {
                    *out = (<$type>::from_bits(x) + <$type>::from_bits(y)).to_bits();
                }
                black_box(&mut out);
            };
            ($name.to_owned(), Box::new(run) as Box<dyn FnMut() + 'a>)
        }};
    }
    vec![
        add!("float8 e4m3fn", float8::F8E4M3),
        add!("minifloat e4m3fn", minifloat::F8E4M3FN),
        add!("microfloat e4m3fn", microfloat::f8e4m3fn),
    ]
}

/// Dot products with binary32 accumulation.
pub fn dots<'a>(x: &'a [u8], y: &'a [u8]) -> Vec<Peer<'a>> {
    use numkong::Dot;
    vec![(
        "numkong e4m3".to_owned(),
        Box::new(move || _ = black_box(numkong::e4m3::dot(e4m3(black_box(x)), e4m3(black_box(y))))),
    )]
}
