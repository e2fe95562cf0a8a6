//! Vector files: no panic, errors with their lines, and what is generated passes.
//!
//! The first byte chooses the layout and an operation for files without a header; the rest is the
//! file.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use smallfloat_conformance::vectors::{
    CheckOptions, CoverageLevel, LineLayout, UnitUnderTest, VectorPlan, VectorSet, VectorUnit, check,
};

const OPERATIONS: [&str; 4] = [
    "Add<e2m1fn, e2m3fn, e4m3fn>",
    "Convert<bfloat16, e4m3fn, (StochasticA<4>, SatFinite)>",
    "Class<e2m1fn>",
    "BlockReduceAdd<2, e8m0fnu, e2m1fn, e5m2>",
];

/// Longer files only take longer.
const LONGEST: usize = 1 << 14;

/// A file of an operation in a layout, made and checked once, and how many vectors it has.
fn ours(which: usize, unit: &UnitUnderTest, layout: LineLayout) -> &'static (Vec<u8>, u64) {
    static FILES: [OnceLock<(Vec<u8>, u64)>; 16] = [const { OnceLock::new() }; 16];
    FILES[which].get_or_init(|| {
        let plan = VectorPlan::new(unit, Some(CoverageLevel::One), 0, Some(4)).expect("a plan");
        let mut text = Vec::new();
        VectorSet::new(unit.clone(), plan, None).write(layout, &mut text).expect("memory takes everything");
        let options = CheckOptions { show: 2, ..CheckOptions::default() };
        let report = check(&text[..], &options).expect("a file of ours");
        assert!(report.passes());
        (text, report.vectors)
    })
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, file)) = data.split_first() else { return };
    let choice = usize::from(choice);
    let layout = LineLayout::NAMED[choice % 4].1;
    let operation = OPERATIONS[choice / 4 % 4].parse().expect("an operation");
    let unit = UnitUnderTest::new(operation, None).expect("operands");
    // Half of the files have to say themselves what they are.
    let given = choice & 16 == 0;
    let options = CheckOptions {
        unit: given.then(|| VectorUnit::from(unit.clone())),
        layout: given.then_some(layout),
        any_nan: choice & 64 != 0,
        show: 2,
        ..CheckOptions::default()
    };
    match check(file, &options) {
        Ok(report) => assert!(report.vectors > 0 && report.mismatches <= report.vectors),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    // A whole file of ours with the bytes appended: they are read or refused, and the file is right
    // up to there.
    if choice & 32 != 0 {
        let (whole, vectors) = ours(choice % 16, &unit, layout);
        if whole.len() + file.len() < LONGEST {
            let options = CheckOptions { show: 2, ..CheckOptions::default() };
            if let Ok(report) = check(&[whole.as_slice(), file].concat()[..], &options) {
                assert!(report.vectors >= *vectors);
            }
        }
    }
});
