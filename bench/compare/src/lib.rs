//! What all programs share and none counts: their inputs, and how they print results.
//!
//! Each program is one task with one library, named `TASK_LIBRARY`; `scripts/evidence/compare` runs
//! them, holds their results to ours and counts their lines. `data.py` is the same for Python.

/// 4,096 numbers of 21 bits at most, magnitudes from 0.5 to 4.5, both signs.
pub fn data() -> Vec<f32> {
    let number = |i: u32| {
        let hash = i.wrapping_mul(2_654_435_761);
        let magnitude = 0.5 + (hash >> 12) as f32 / 262_144.0;
        if hash & 0x800 == 0 { magnitude } else { -magnitude }
    };
    (0..4096).map(number).collect()
}

/// Returns `data` with magnitudes spread over 25 binades.
pub fn wide_data() -> Vec<f32> {
    data().iter().zip((0..25).cycle()).map(|(x, i)| x * 2_f32.powi(i - 12)).collect()
}

/// Prints numbers, one per line in hexadecimal.
pub fn show(name: &str, numbers: impl IntoIterator<Item = impl Into<u64>>) {
    println!("{name}");
    for number in numbers {
        println!("{:x}", number.into());
    }
}
