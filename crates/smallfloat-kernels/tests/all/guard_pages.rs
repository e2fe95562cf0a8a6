//! Slices that end at a page nobody may touch, and slices that begin behind one: a kernel that
//! reads or writes a byte too many dies here, at every level.
#![cfg(unix)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::common::{data, sample};
use region::{Allocation, Protection, page};
use smallfloat::{Format, RandomBits, Rounding, random::Philox};
use smallfloat_kernels::{
    Accumulate, Ars5, Bf16, ClassSums, Code, Decoder, Dot, Element, Elementwise, Encoder, F16, Generator,
    Level, RandomWords, Target,
};

/// Where in its pages a slice lies.
#[derive(Clone, Copy, Debug)]
enum Edge {
    /// Its first byte follows the page before.
    Begin,
    /// Its last byte precedes the page after.
    End,
}

/// A slice between two pages without any right of access.
struct Guarded<T> {
    pages: Allocation,
    offset: usize,
    length: usize,
    element: PhantomData<T>,
}

/// Types whose zero bytes are a value.
trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for u16 {}
impl Plain for f32 {}
impl Plain for f64 {}
impl Plain for Bf16 {}
impl Plain for F16 {}

impl<T: Plain> Guarded<T> {
    fn new(length: usize, edge: Edge) -> Self {
        let (page, bytes) = (page::size(), length * size_of::<T>());
        let inside = page::ceil(bytes.max(1) as *const u8) as usize;
        let pages = region::alloc(inside + 2 * page, Protection::READ_WRITE).unwrap();
        let begin = pages.as_ptr::<u8>();
        for guard in [begin, begin.wrapping_add(page + inside)] {
            // SAFETY: a whole page of our own allocation, which nothing else refers to.
            unsafe { region::protect(guard, page, Protection::NONE) }.unwrap();
        }
        let offset = match edge {
            Edge::Begin => page,
            Edge::End => page + inside - bytes,
        };
        Self { pages, offset, length, element: PhantomData }
    }

    fn of(values: &[T], edge: Edge) -> Self {
        let mut slice = Self::new(values.len(), edge);
        slice.copy_from_slice(values);
        slice
    }
}

impl<T: Plain> Deref for Guarded<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `length` elements from `offset` lie in the accessible pages, zeroed by the system
        // or written since; the page size is a multiple of every `T`'s alignment, and so is the
        // slice's length in bytes.
        unsafe { std::slice::from_raw_parts(self.pages.as_ptr::<u8>().add(self.offset).cast(), self.length) }
    }
}

impl<T: Plain> DerefMut for Guarded<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the borrow of `self` is unique.
        unsafe {
            std::slice::from_raw_parts_mut(self.pages.as_mut_ptr::<u8>().add(self.offset).cast(), self.length)
        }
    }
}

/// Lengths around the blocks of every vector width, and a few blocks long.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=70).chain([95, 96, 97, 127, 128, 129, 191, 255, 256, 257, 1023, 2047, 2049, 4097])
}

fn formats() -> Vec<Format> {
    ["cfloat8_1_4_3:bias=7", "e4m3fn", "e2m1fn", "binary8p3ue", "shp:bias=31", "bfloat16"]
        .iter()
        .step_by(sample())
        .map(|name| name.parse().unwrap())
        .collect()
}

fn convert<T: Element + Plain, C: Code + Plain + Default + PartialEq + std::fmt::Debug>(target: &Format) {
    let x: Vec<T> = data("random bits", target, 4097, 5);
    let projection = target.default_projection();
    let bits = RandomBits::new(32, 0).unwrap();
    let nearest = Encoder::<T>::for_length(target, &projection, usize::MAX).unwrap();
    let stochastic =
        Encoder::<T>::for_length(target, &projection.with_rounding(Rounding::StochasticA(bits)), usize::MAX)
            .unwrap();
    let decoder = Decoder::<T>::for_length(target, None, usize::MAX).ok();
    for level in Level::available() {
        let (nearest, stochastic) = (nearest.clone().with_level(level), stochastic.clone().with_level(level));
        let decoder = decoder.clone().map(|decoder| decoder.with_level(level));
        for (length, edge) in lengths().flat_map(|length| [(length, Edge::Begin), (length, Edge::End)]) {
            let source = Guarded::of(&x[..length], edge);
            let mut codes = Guarded::<C>::new(length, edge);
            let mut expected = vec![C::from_code(0); length];
            nearest.encode(&x[..length], &mut expected);
            nearest.encode(&source, &mut codes);
            assert_eq!(codes[..], expected, "{target}, {level:?}, {length}, {edge:?}");
            nearest.encode_uncounted(&source, &mut codes);
            assert_eq!(codes[..], expected, "{target}, {level:?}, {length}, {edge:?}, uncounted");
            if let Some(decoder) = &decoder {
                decoder.decode(&codes, &mut Guarded::<T>::new(length, edge));
            }
            let generators: [Generator; 2] =
                [Ars5 { seed: 1, stream: 2 }.into(), Philox { seed: 1, stream: 2 }.into()];
            for generator in generators {
                let words = RandomWords { generator, first_element: 3 };
                stochastic.encode_random(&x[..length], &mut expected, words);
                stochastic.encode_random(&source, &mut codes, words);
                assert_eq!(codes[..], expected, "{target}, {level:?}, {length}, {edge:?}, stochastic");
            }
        }
    }
}

#[test]
fn conversions_stay_inside() {
    for target in formats() {
        if target.width() <= 8 {
            convert::<f32, u8>(&target);
            convert::<f64, u8>(&target);
            convert::<Bf16, u8>(&target);
            convert::<F16, u8>(&target);
        } else {
            convert::<f32, u16>(&target);
        }
    }
}

#[test]
fn operations_stay_inside() {
    let format: Format = "cfloat8_1_4_3:bias=7".parse().unwrap();
    let name = format.to_string();
    let kernel = |operation: &str, operands: usize| {
        let formats = vec![name.as_str(); operands + 1].join(", ");
        Elementwise::new(&format!("{operation}<{formats}>").parse().unwrap()).unwrap()
    };
    let (negate, add, fma) = (kernel("Negate", 1), kernel("Add", 2), kernel("FMA", 3));
    let x: Vec<u8> = (0..=255).cycle().take(4097).collect();
    for level in Level::available() {
        let dots = [Accumulate::F32, Accumulate::Exact]
            .map(|accumulate| Dot::new(&format, &format, accumulate).unwrap().with_level(level));
        for (length, edge) in lengths().flat_map(|length| [(length, Edge::Begin), (length, Edge::End)]) {
            let codes = Guarded::of(&x[..length], edge);
            let mut out = Guarded::<u8>::new(length, edge);
            negate.unary(&codes, &mut out, None);
            add.binary(&codes, &codes, &mut out, None);
            fma.ternary(&codes, &codes, &codes, &mut out, None);
            for dot in &dots {
                assert_eq!(
                    dot.sum(&codes, &codes),
                    dot.sum(&x[..length], &x[..length]),
                    "{level:?}, {length}, {edge:?}"
                );
            }
        }
    }
    let values: Vec<f32> = data("random bits", &format, 4097, 5);
    for (length, edge) in lengths().flat_map(|length| [(length, Edge::Begin), (length, Edge::End)]) {
        ClassSums::<f32>::new(4).add(&Guarded::of(&values[..length], edge));
    }
}

/// The matrix product's panels, at shapes that are multiples of nothing.
#[test]
fn matrix_products_stay_inside() {
    let (f, to): (Format, Format) = ("e4m3fn".parse().unwrap(), "binary16".parse().unwrap());
    for (rows, columns, length) in [(1, 1, 1), (3, 17, 40), (13, 33, 129), (1, 100, 257), (65, 1, 31)] {
        let codes = |n: usize| -> Vec<u8> { (0..=0x7e).cycle().take(n).collect() };
        for (accumulate, edge) in
            [Accumulate::F32, Accumulate::Exact].into_iter().flat_map(|a| [(a, Edge::Begin), (a, Edge::End)])
        {
            let (a, b) =
                (Guarded::of(&codes(rows * length), edge), Guarded::of(&codes(columns * length), edge));
            let mut out = Guarded::<u16>::new(rows * columns, edge);
            for level in Level::available() {
                let dot = Dot::new(&f, &f, accumulate).unwrap().with_level(level);
                let target = Target { format: &to, projection: &to.default_projection() };
                dot.matmul([&a, &b], length, target, &mut out);
            }
        }
    }
}

/// The guard bites: a process that reads one element too many is killed, at either edge.
#[test]
fn guards_bite() {
    const EDGE: &str = "SMALLFLOAT_TEST_GUARD";
    if let Ok(edge) = std::env::var(EDGE) {
        let (edge, back) = if edge == "begin" { (Edge::Begin, -1) } else { (Edge::End, 3) };
        let slice = Guarded::of(&[1_u8, 2, 3], edge);
        // SAFETY: none: this access is the crime that the test wants punished, and volatile keeps
        // it.
        let byte = unsafe { slice.as_ptr().offset(back).read_volatile() };
        println!("read {byte} outside");
        return;
    }
    for edge in ["begin", "end"] {
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "guard_pages::guards_bite", "--nocapture"])
            .env(EDGE, edge)
            .output()
            .unwrap();
        assert!(!child.status.success(), "{edge}: {}", String::from_utf8_lossy(&child.stdout));
        assert!(!String::from_utf8_lossy(&child.stdout).contains("outside"));
    }
}
