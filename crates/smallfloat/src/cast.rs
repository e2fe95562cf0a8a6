//! Casts between signed and unsigned integers that keep the value, in the words of `const fn` (the
//! standard library's need Rust 1.87).

/// A small count (a bit position, a shift, a bias) as a signed number.
#[expect(clippy::cast_possible_wrap, reason = "callers pass counts far below 2^31")]
#[inline]
pub(crate) const fn signed(x: u32) -> i32 {
    x as i32
}
