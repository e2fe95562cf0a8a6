//! Numbers as text: decimals round to binary64 as the standard library's parser rounds them, and
//! are taken and refused alike; fractions are quotients; hexadecimals do not panic; a code's
//! decimal and its shortest one are read back as the code.
//!
//! The first byte chooses a code of E4M3FN and bfloat16.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smallfloat::formats::{BFLOAT16, BINARY64, E4M3FN};
use smallfloat::{Dynamic, Format, text};

fn reads_back(format: &Format, code: u64) {
    for decimal in [format.decode_text(code), format.shortest(code).to_string()] {
        let back = format.encode_text(&decimal, &format.default_projection()).expect("a decimal").value;
        assert!(
            back == code || format.decode(code).is_nan(),
            "{format} {code:#x} is {decimal}, which is {back:#x}"
        );
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&byte, rest)) = data.split_first() else { return };
    reads_back(&E4M3FN, byte.into());
    reads_back(&BFLOAT16, u64::from(byte) << 8 | u64::from(rest.len() as u8));
    let Ok(string) = std::str::from_utf8(rest) else { return };
    let ours = BINARY64.encode_text(string, &BINARY64.default_projection());
    if let Ok(exact) = text::parse(string) {
        // In few bits as in many.
        for format in [E4M3FN, BFLOAT16] {
            let exactly = smallfloat::project(exact, &format, &format.default_projection()).value;
            let read = Dynamic::from_text(string, format).expect("a number");
            assert_eq!(read.to_bits(), exactly, "{string:?} as {format}");
        }
    }
    // The standard library has no hexadecimals and no powers of two.
    if string.contains(['p', 'P', 'x', 'X']) {
        return;
    }
    // Nor fractions; the quotient of two numbers that binary64 has is rounded once.
    if let Some((over, under)) = string.trim().split_once('/') {
        let number =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u32>().ok());
        if let (Some(Some(over)), Some(Some(under @ 1..))) = (number(over), number(under)) {
            let expected = f64::from(over) / f64::from(under);
            assert_eq!(ours.expect("a fraction").value, expected.to_bits(), "{string:?}");
        }
        return;
    }
    match (ours, string.trim().parse::<f64>()) {
        (Ok(ours), Ok(theirs)) if theirs.is_nan() => {
            assert!(f64::from_bits(ours.value).is_nan(), "{string:?}")
        }
        (Ok(ours), Ok(theirs)) => assert_eq!(ours.value, theirs.to_bits(), "{string:?}"),
        (Err(_), Err(_)) => {}
        (ours, theirs) => panic!("{string:?}: {ours:?} here, {theirs:?} in the standard library"),
    }
});
