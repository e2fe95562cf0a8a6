//! Operations over slices against the core's calls, one by one.

use smallfloat::p3109::{Answer, Specialization};
use smallfloat::random::Philox;
use smallfloat::{FlagPolicy, Flags, RandomBits};
use smallfloat_kernels::{Ars5, Code, Elementwise, Generator, RandomWords};

/// An operation with flags by Tesla's rules, as the kernels have them.
fn parse(text: &str) -> Specialization {
    let operation: Specialization = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    let tesla = operation.arithmetic().with_flags(FlagPolicy::TESLA);
    operation.with_arithmetic(tesla)
}

/// Codes that go through all values several times, in an order without pattern.
fn codes<C: Code>(length: usize, bits: u32, seed: u64) -> Vec<C> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> (64 - bits)
    };
    (0..length).map(|_| C::truncate(next())).collect()
}

fn call(operation: &Specialization, codes: &[u64], flags: &mut Flags) -> u64 {
    match operation.call(codes) {
        Ok(Answer::Code(rounded)) => {
            *flags = flags.union(rounded.flags);
            rounded.value
        }
        other => panic!("{operation}: {other:?}"),
    }
}

/// Slices of `LENGTH` elements with tables and short ones through the core: the same codes and
/// flags as call by call.
macro_rules! check {
    ($text:expr, $([$type:ty; $bits:expr]),+ => $result:ty) => {{
        const LENGTH: usize = 1 << 15;
        let operation = parse($text);
        let mut seed = 0;
        let operands = ($({ seed += 1; codes::<$type>(LENGTH, $bits, seed) },)+);
        let (mut expected, mut raised) = (Vec::new(), Flags::NONE);
        for i in 0..LENGTH {
            let at = row(&operands, i);
            expected.push(<$result>::truncate(call(&operation, &at, &mut raised)));
        }
        for (hint, length) in [(usize::MAX, LENGTH), (0, 1 << 12)] {
            let kernel = Elementwise::for_length(&operation, hint).unwrap();
            let mut results = vec![<$result>::default(); length];
            let flags = apply(&kernel, &operands, &mut results);
            assert!(results == expected[..length], "{}", $text);
            if length == LENGTH {
                assert_eq!(flags, raised, "{}", $text);
            }
        }
        let kernel = Elementwise::without_flags(&operation).unwrap();
        let mut results = vec![<$result>::default(); LENGTH];
        assert_eq!(apply(&kernel, &operands, &mut results), Flags::NONE);
        assert!(results == expected, "{} without flags", $text);
    }};
}

/// Tuples of one to three operand slices.
trait Operands {
    fn row(&self, i: usize) -> Vec<u64>;
    fn apply<R: Code>(&self, kernel: &Elementwise, results: &mut [R]) -> Flags;
}

impl<X: Code> Operands for (Vec<X>,) {
    fn row(&self, i: usize) -> Vec<u64> {
        vec![self.0[i].widen()]
    }
    fn apply<R: Code>(&self, kernel: &Elementwise, results: &mut [R]) -> Flags {
        kernel.unary(&self.0[..results.len()], results, None)
    }
}

impl<X: Code, Y: Code> Operands for (Vec<X>, Vec<Y>) {
    fn row(&self, i: usize) -> Vec<u64> {
        vec![self.0[i].widen(), self.1[i].widen()]
    }
    fn apply<R: Code>(&self, kernel: &Elementwise, results: &mut [R]) -> Flags {
        let n = results.len();
        kernel.binary(&self.0[..n], &self.1[..n], results, None)
    }
}

impl<X: Code, Y: Code, Z: Code> Operands for (Vec<X>, Vec<Y>, Vec<Z>) {
    fn row(&self, i: usize) -> Vec<u64> {
        vec![self.0[i].widen(), self.1[i].widen(), self.2[i].widen()]
    }
    fn apply<R: Code>(&self, kernel: &Elementwise, results: &mut [R]) -> Flags {
        let n = results.len();
        kernel.ternary(&self.0[..n], &self.1[..n], &self.2[..n], results, None)
    }
}

fn row(operands: &impl Operands, i: usize) -> Vec<u64> {
    operands.row(i)
}

fn apply<R: Code>(kernel: &Elementwise, operands: &impl Operands, results: &mut [R]) -> Flags {
    operands.apply(kernel, results)
}

#[test]
fn tables_hold_the_core_s_results() {
    check!("Add<Binary8p3se, Binary8p3se, Binary8p3se>", [u8; 8], [u8; 8] => u8);
    check!("Divide<e4m3fn, e5m2, binary16, (TowardZero)>", [u8; 8], [u8; 8] => u16);
    check!("Multiply<e2m1fn, cfloat8_1_4_3:bias=7, binary32>", [u8; 4], [u8; 8] => u32);
    check!("Sqrt<bfloat16, e4m3b11fnuz>", [u16; 16] => u8);
    check!("Clamp<binary5p2se, binary5p2se, binary5p2se, binary5p2se>", [u8; 5], [u8; 5], [u8; 5] => u8);
}

#[test]
fn classes_of_products_and_sums() {
    check!("FMA<Binary8p3se, Binary8p3se, Binary8p3se, Binary8p3se>", [u8; 8], [u8; 8], [u8; 8] => u8);
    check!("FMA<e4m3fn, e5m2, cfloat8_1_4_3:bias=7, shp:bias=15>", [u8; 8], [u8; 8], [u8; 8] => u16);
    check!("FMA<Binary8p7se, Binary8p7se, Binary8p7se, binary32>", [u8; 8], [u8; 8], [u8; 8] => u32);
    check!("FAA<Binary8p4se, Binary8p4uf, Binary8p4se, Binary8p4se, (ToOdd, SatNone)>", [u8; 8], [u8; 8], [u8; 8] => u8);
    check!("FAA<e5m2, e5m2, e5m2, e5m2, clamp=operands>", [u8; 8], [u8; 8], [u8; 8] => u8);
}

/// Sums too wide for an exact class, and wide enough to cancel down to what a class would have cut
/// off.
#[test]
fn sums_beyond_classes() {
    for text in [
        "FAA<Binary8p1ue, Binary8p1ue, Binary6p1se, Binary16p1ue>",
        "FAA<e8m0fnu, e8m0fnu, Binary7p1se, e8m0fnu>",
    ] {
        let operation = parse(text);
        let kernel = Elementwise::for_length(&operation, usize::MAX).unwrap();
        let codes: Vec<[u8; 3]> = (0..=0xff_u8)
            .flat_map(|x| [0x02, 0x7f, 0x81, x ^ 1].map(|y| (x, y)))
            .flat_map(|(x, y)| [0x10, 0x20, 0x31, 0x3e].map(|z| [x, y, z]))
            .collect();
        let column = |i: usize| codes.iter().map(|row| row[i]).collect::<Vec<u8>>();
        let mut results = vec![0_u16; codes.len()];
        kernel.ternary(&column(0), &column(1), &column(2), &mut results, None);
        for (row, result) in codes.iter().zip(results) {
            let expected = call(&operation, &row.map(u64::from), &mut Flags::default());
            assert_eq!(u64::from(result), expected, "{text} {row:x?}");
        }
    }
}

/// Results wider than their format hold the code and nothing else.
#[test]
fn results_in_wider_codes() {
    check!("Divide<Binary8p3se, Binary8p3se, Binary8p3se>", [u8; 8], [u8; 8] => u16);
    check!("Divide<Binary8p3se, Binary8p3se, Binary8p3se>", [u8; 8], [u8; 8] => u64);
    check!("Sqrt<Binary8p3se, Binary8p3se>", [u16; 8] => u32);
    check!("Divide<Binary8p3se, Binary8p3se, binary16>", [u8; 8], [u16; 8] => u32);
    check!("Divide<Binary8p3se, Binary8p3se, binary32>", [u8; 8], [u8; 8] => u64);
}

#[test]
fn wide_operands_and_results() {
    check!("Add<binary32, e5m2, binary64>", [u32; 32], [u8; 8] => u64);
    check!("FMA<e4m3fn, e4m3fn, binary32, binary32>", [u8; 8], [u8; 8], [u32; 32] => u32);
    check!("Multiply<binary64, binary64, Binary8p4se>", [u64; 64], [u64; 64] => u8);
}

#[test]
fn operands_and_results_of_17_to_32_bits() {
    check!("Multiply<tf32, tf32, tf32>", [u32; 19], [u32; 19] => u32);
    check!("FMA<e5m2, fp24, fp24, fp24>", [u8; 8], [u32; 24], [u32; 24] => u32);
    check!("Divide<e4m3fn, e4m3fn, Binary32p21se>", [u8; 8], [u8; 8] => u32);
}

/// Every policy over all pairs, by a table and through the core: the same codes and flags as call
/// by call, element by element.
#[test]
fn policies_for_flags() {
    let pairs: Vec<[u8; 2]> = (0..=0xff).flat_map(|x| (0..=0xff).map(move |y| [x, y])).collect();
    let [x, y] = [0, 1].map(|i| pairs.iter().map(|pair| pair[i]).collect::<Vec<u8>>());
    for text in ["Multiply<e5m2, e5m2, e5m2>", "Add<e4m3fn, e5m2, Binary8p3se>", "Divide<e5m2, e5m2, e4m3fn>"]
    {
        for &(name, policy) in FlagPolicy::NAMED {
            let operation: Specialization = text.parse().unwrap();
            let kernel = Elementwise::for_length(&operation, usize::MAX).unwrap().with_policy(policy);
            let short = Elementwise::for_length(&operation, 0).unwrap().with_policy(policy);
            let operation = operation.clone().with_arithmetic(operation.arithmetic().with_flags(policy));
            let (mut results, mut each) = (vec![0_u8; pairs.len()], vec![Flags::NONE; pairs.len()]);
            kernel.binary_with_flags(&x, &y, &mut results, &mut each, None);
            let mut by_core = results.clone();
            let few = 1 << 12;
            short.binary(&x[..few], &y[..few], &mut by_core[..few], None);
            assert!(results == by_core, "{text} {name}");
            for (at, [x, y]) in pairs.iter().enumerate() {
                let mut flags = Flags::NONE;
                let expected = call(&operation, &[(*x).into(), (*y).into()], &mut flags);
                let found = (u64::from(results[at]), each[at]);
                assert_eq!(found, (expected, flags), "{text} {name} {x:02x} {y:02x}");
            }
        }
    }
}

/// The third operand sees the first two as they are, not by their sum alone: of x86's NaNs the
/// first operand's is the result.
#[test]
fn policies_take_no_classes() {
    let kernel = Elementwise::new(&"FMA<e5m2, e5m2, e5m2, e5m2>".parse().unwrap()).unwrap();
    let kernel = kernel.with_policy(FlagPolicy::X86);
    let mut results = [0_u8; 2];
    kernel.ternary(&[0xfe_u8, 0x3c], &[0x3c_u8, 0x7f], &[0x7e_u8, 0xff], &mut results, None);
    assert_eq!(results, [0xfe, 0x7f]);
}

/// Words belong to elements: a slice in two pieces gives the bytes of the whole.
#[test]
fn stochastic_words_by_element() {
    let text = "Multiply<Binary8p5se, Binary8p5se, Binary8p3se, (StochasticB<16>, SatFinite)>";
    let operation = parse(text);
    let kernel = Elementwise::for_length(&operation, usize::MAX).unwrap();
    let (x, y) = (codes::<u8>(1000, 8, 1), codes::<u8>(1000, 8, 2));
    for generator in
        [Generator::from(Philox { seed: 7, stream: 3 }), Generator::from(Ars5 { seed: 7, stream: 3 })]
    {
        let words = |first_element| Some(RandomWords { generator, first_element });
        let mut whole = vec![0_u8; 1000];
        kernel.binary(&x, &y, &mut whole, words(10));
        let mut pieces = vec![0_u8; 1000];
        let (head, tail) = pieces.split_at_mut(333);
        kernel.binary(&x[..333], &y[..333], head, words(10));
        kernel.binary(&x[333..], &y[333..], tail, words(343));
        assert_eq!(pieces, whole);
        for i in 0..1000 {
            let element = 10 + i as u64;
            let word = generator.block(element / 4)[usize::try_from(element % 4).unwrap()];
            let one = operation.clone().with_random_bits(RandomBits::from_word32(16, word).unwrap());
            let expected = call(&one, &[x[i].into(), y[i].into()], &mut Flags::default());
            assert_eq!(u64::from(whole[i]), expected, "element {i}");
        }
    }
}

#[test]
fn only_numeric_operations() {
    let error = Elementwise::new(&parse("CompareLess<e5m2, e5m2>")).unwrap_err();
    assert!(error.to_string().contains("CompareLess"), "{error}");
    let error =
        Elementwise::for_length(&parse("Add<e5m2, e5m2, e5m2, (StochasticA<40>)>"), usize::MAX).unwrap_err();
    assert!(error.to_string().contains("32"), "{error}");
}
