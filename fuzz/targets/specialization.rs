//! Specialisations such as `Add<e5m2, e5m2, e5m2>`: no panic in parsing, and none in a call of what
//! was parsed.
//!
//! The last three bytes choose the operands' codes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smallfloat::p3109::Specialization;

fuzz_target!(|data: &[u8]| {
    let Some((text, codes)) = data.split_last_chunk::<3>() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(call) = text.parse::<Specialization>() else { return };
    // Functions of blocks take arguments of other kinds.
    if call.length().is_some() {
        return;
    }
    let formats = call.operands();
    assert_eq!(formats.len(), call.function().arity());
    // Spread over all codes of the format, however wide.
    let codes: Vec<u64> = formats
        .iter()
        .zip(codes)
        .map(|(format, &byte)| (u64::from(byte) * 0x0101_0101_0101_0101) & format.max_code())
        .collect();
    let first = call.call(&codes).expect("legal codes");
    assert_eq!(format!("{first:?}"), format!("{:?}", call.call(&codes).expect("legal codes")));
    assert!(call.call(&[]).is_err());
});
