//! Powers of five and ten in 64 bits.

/// 5^n for n up to 27.
pub(crate) const FIVES: [u64; 28] = powers(5);
/// 10^n for n up to 19.
pub(crate) const TENS: [u64; 20] = powers(10);

const fn powers<const COUNT: usize>(base: u64) -> [u64; COUNT] {
    let mut powers = [1; COUNT];
    let mut n = 1;
    while n < COUNT {
        powers[n] = powers[n - 1] * base;
        n += 1;
    }
    powers
}
