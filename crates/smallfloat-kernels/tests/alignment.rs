//! Memory that is aligned to what its elements need and to no more: a kernel that takes it for
//! aligned vectors dies here where debug assertions look at every pointer
//! (`verification/debug-checks`).

mod common;

use std::alloc::{GlobalAlloc, Layout, System};

use common::data;
use smallfloat::formats::{BFLOAT16, BINARY32, E2M1FN, E4M3FN, E5M2};
use smallfloat::{Format, Rounding, convert};
use smallfloat_kernels::{
    Accumulate, Ars5, Bf16, ClassSums, Code, Decoder, Dot, Element, Elementwise, Encoder, F16, Level,
    RandomWords, Scales,
};

/// The system's memory, at odd multiples of the alignment that is asked for.
struct BarelyAligned;

// Miri's own memory can be told to be as bad.
#[cfg_attr(not(miri), global_allocator)]
#[cfg_attr(miri, allow(dead_code, reason = "not the allocator there"))]
static MEMORY: BarelyAligned = BarelyAligned;

/// What is asked of the system: as much more as the result lies behind its beginning.
fn with_gap(layout: Layout) -> Option<Layout> {
    let size = layout.size().checked_add(layout.align())?;
    Layout::from_size_align(size, 2 * layout.align()).ok()
}

// SAFETY: memory begins one alignment behind the beginning of a piece of the system's that is
// larger by that much, so it is aligned, lies inside, and its piece is found again from it.
unsafe impl GlobalAlloc for BarelyAligned {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(whole) = with_gap(layout) else { return std::ptr::null_mut() };
        // SAFETY: the size is not zero, as the alignment is not.
        let begin = unsafe { System.alloc(whole) };
        if begin.is_null() { begin } else { begin.wrapping_add(layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let whole = with_gap(layout).expect("the layout of memory that was given out");
        // SAFETY: `alloc` got this piece from the system with this layout.
        unsafe { System.dealloc(memory.wrapping_sub(layout.align()), whole) };
    }
}

/// Lengths around the steps of every vector width.
const LENGTHS: [usize; 9] = [1, 8, 15, 16, 33, 64, 65, 128, 300];

#[test]
#[cfg(not(miri))]
fn memory_is_barely_aligned() {
    fn remainder<T: Clone>(value: T) -> usize {
        let memory = vec![value; 100];
        memory.as_ptr().addr() % (2 * align_of::<T>())
    }
    let remainders = [remainder(1_u8), remainder(1_u16), remainder(1_f32), remainder(1_f64)];
    assert_eq!(remainders, [1, 2, 4, 8]);
}

/// From memory itself, and from its second element on.
fn conversions<T: Element, C: Code + PartialEq>(target: &Format) {
    let projection = target.default_projection();
    let random = projection.with_rounding(Rounding::stochastic_a(8).unwrap());
    let words = RandomWords { generator: Ars5 { seed: 3, stream: 4 }.into(), first_element: 5 };
    let nearest = Encoder::<T>::for_length(target, &projection, usize::MAX).unwrap();
    let stochastic = Encoder::<T>::for_length(target, &random, usize::MAX).unwrap();
    let decoder = Decoder::<T>::for_length(target, None, usize::MAX).unwrap();
    for (length, skip) in LENGTHS.into_iter().flat_map(|length| [(length, 0), (length, 1)]) {
        let x: Vec<T> = data("normal", target, length, 7);
        let expected: Vec<u64> =
            x.iter().map(|x| convert(x.bits(), &T::FORMAT, target, &projection).value).collect();
        let values: Vec<u64> = expected
            .iter()
            .map(|&code| convert(code, target, &T::FORMAT, &T::FORMAT.default_projection()).value)
            .collect();
        let mut drawn = vec![C::from_code(0); length];
        stochastic.clone().with_level(Level::Portable).encode_random(&x, &mut drawn, words);
        for level in Level::available() {
            let mut codes = vec![C::from_code(0); length];
            let mut back = vec![T::default(); length];
            nearest.clone().with_level(level).encode(&x[skip..], &mut codes[skip..]);
            assert!(codes[skip..].iter().map(|code| code.widen()).eq(expected[skip..].iter().copied()));
            decoder.clone().with_level(level).decode(&codes[skip..], &mut back[skip..]);
            assert!(back[skip..].iter().map(|x| x.bits()).eq(values[skip..].iter().copied()));
            stochastic.clone().with_level(level).encode_random(&x, &mut codes, words);
            assert!(codes == drawn, "{target} {level:?} {length}");
        }
    }
}

#[test]
fn conversions_need_no_alignment() {
    for target in [E4M3FN, E5M2] {
        conversions::<f32, u8>(&target);
        conversions::<f64, u8>(&target);
        conversions::<F16, u8>(&target);
        conversions::<Bf16, u8>(&target);
    }
    conversions::<f32, u16>(&BFLOAT16);
}

/// Rows of the codes of 1 by rows of 1, 2, 1, …: sums are counts, which binary32 has.
#[test]
fn products_need_no_alignment() {
    for (format, [one, two]) in [(E4M3FN, [0x38, 0x40]), (E5M2, [0x3c, 0x40]), (E2M1FN, [2, 4])] {
        let dot = Dot::new(&format, &format, Accumulate::F32).unwrap();
        for (rows, length) in [1, 2, 3, 7].into_iter().flat_map(|rows| LENGTHS.map(|length| (rows, length))) {
            let columns = 5;
            let a = vec![one; rows * length];
            let b: Vec<u8> =
                (0..columns).flat_map(|i| vec![if i % 2 == 0 { one } else { two }; length]).collect();
            let expected: Vec<f32> = (0..rows * columns)
                .map(|i| f32::from(u16::try_from(length * (1 + i % columns % 2)).unwrap()))
                .collect();
            for level in Level::available() {
                let dot = dot.clone().with_level(level);
                let mut products = vec![0_f32; rows * columns];
                dot.matmul_f32([&a, &b], length, [Scales::Tensor(1.0); 2], &mut products);
                let sum =
                    dot.dot(&a[..length], &b[..length], &BINARY32, &BINARY32.default_projection()).value;
                let case = format!("{format} {level:?} {rows}×{columns}×{length}");
                assert!(
                    products.iter().map(|x| x.to_bits()).eq(expected.iter().map(|x| x.to_bits())),
                    "{case}"
                );
                assert_eq!(sum, u64::from(expected[0].to_bits()), "{case}");
            }
        }
    }
}

#[test]
fn operations_and_sums_need_no_alignment() {
    let kernel = |text: &str| Elementwise::new(&text.parse().unwrap()).unwrap();
    let add = kernel("Add<e4m3fn, e4m3fn, e4m3fn>");
    let fma = kernel("FMA<e4m3fn, e4m3fn, e4m3fn, e4m3fn>");
    for (length, level) in
        LENGTHS.into_iter().flat_map(|length| Level::available().map(move |level| (length, level)))
    {
        // 1 + 1 = 2, 1·1 + 2 = 3.
        let (one, mut two, mut three) = (vec![0x38_u8; length], vec![0_u8; length], vec![0_u8; length]);
        add.clone().with_level(level).binary(&one, &one, &mut two, None);
        fma.clone().with_level(level).ternary(&one, &one, &two, &mut three, None);
        assert!(two.iter().all(|&code| code == 0x40) && three.iter().all(|&code| code == 0x44));
        let mut sums = ClassSums::<f32>::new(4).with_level(level);
        sums.add(&vec![1.5_f32; length][1..]);
        assert_eq!(sums.elements(), length as u64 - 1);
    }
}
