//! Natural numbers of any size: just what exact text needs.

use alloc::vec::Vec;
use core::cmp::Ordering;

/// A natural number, little-endian in 64-bit limbs without leading zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Natural(Vec<u64>);

impl Natural {
    pub(crate) fn new(x: u64) -> Self {
        Self(if x == 0 { Vec::new() } else { alloc::vec![x] })
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
    pub(crate) fn from_u128(x: u128) -> Self {
        match (x >> 64) as u64 {
            0 => Self::new(x as u64),
            high => Self(alloc::vec![x as u64, high]),
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bits(&self) -> u64 {
        match self.0.last() {
            Some(top) => 64 * self.0.len() as u64 - u64::from(top.leading_zeros()),
            None => 0,
        }
    }

    /// self · factor + addend.
    #[expect(clippy::cast_possible_truncation, reason = "the low limb and the carry are wanted")]
    pub(crate) fn multiply_add(&mut self, factor: u64, addend: u64) {
        let mut carry = addend;
        for limb in &mut self.0 {
            let wide = u128::from(*limb) * u128::from(factor) + u128::from(carry);
            *limb = wide as u64;
            carry = (wide >> 64) as u64;
        }
        if carry > 0 {
            self.0.push(carry);
        }
    }

    /// self · 10^power, by powers of five, which are shorter than those of ten.
    pub(crate) fn multiply_power_of_ten(&mut self, power: u64) {
        // The largest power of five that a limb holds.
        const CHUNK: u32 = 27;
        let (chunks, rest) = (power / u64::from(CHUNK), power % u64::from(CHUNK));
        for _ in 0..chunks {
            self.multiply_add(5_u64.pow(CHUNK), 0);
        }
        self.multiply_add(5_u64.pow(u32::try_from(rest).expect("below a chunk")), 0);
        self.shift_left(power);
    }

    pub(crate) fn shift_left(&mut self, bits: u64) {
        if self.is_zero() {
            return;
        }
        let (limbs, bits) = ((bits / 64) as usize, bits % 64);
        if bits > 0 {
            let mut carry = 0;
            for limb in &mut self.0 {
                let next = *limb >> (64 - bits);
                *limb = *limb << bits | carry;
                carry = next;
            }
            if carry > 0 {
                self.0.push(carry);
            }
        }
        self.0.splice(0..0, core::iter::repeat_n(0, limbs));
    }

    /// self − other, for other ≤ self.
    pub(crate) fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (i, limb) in self.0.iter_mut().enumerate() {
            let (less, under) = limb.overflowing_sub(other.0.get(i).copied().unwrap_or(0));
            let (less, under_borrow) = less.overflowing_sub(u64::from(borrow));
            *limb = less;
            borrow = under || under_borrow;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        let mut carry = false;
        for i in 0..self.0.len().max(other.0.len()) {
            if i == self.0.len() {
                self.0.push(0);
            }
            let (more, over) = self.0[i].overflowing_add(other.0.get(i).copied().unwrap_or(0));
            let (more, over_carry) = more.overflowing_add(u64::from(carry));
            self.0[i] = more;
            carry = over || over_carry;
        }
        if carry {
            self.0.push(1);
        }
    }

    /// ⌊self / divisor⌋ for a quotient below 2^128, and whether a remainder is left.
    pub(crate) fn divide(mut self, divisor: &Self) -> (u128, bool) {
        let mut quotient = 0;
        let top = self.bits().saturating_sub(divisor.bits());
        let mut scaled = divisor.clone();
        scaled.shift_left(top);
        for _ in 0..=top {
            quotient <<= 1;
            if scaled <= self {
                self.subtract(&scaled);
                quotient |= 1;
            }
            scaled.halve();
        }
        (quotient, !self.is_zero())
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for limb in self.0.iter_mut().rev() {
            let next = *limb << 63;
            *limb = *limb >> 1 | carry;
            carry = next;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// The leading 128 bits, the exponent of their last place, and whether anything non-zero was
    /// cut.
    pub(crate) fn leading(&self) -> (u128, u64, bool) {
        let cut = self.bits().saturating_sub(128);
        let mut significand = 0;
        for i in (0..128).rev() {
            significand = significand << 1 | u128::from(self.bit(cut + i));
        }
        (significand, cut, (0..cut).any(|i| self.bit(i)))
    }

    fn bit(&self, i: u64) -> bool {
        self.0.get((i / 64) as usize).is_some_and(|limb| limb >> (i % 64) & 1 == 1)
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}
