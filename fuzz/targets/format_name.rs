//! Names of formats: no panic; what a format is printed as names the same format; its codes decode.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smallfloat::{Format, FormatSpec};

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<FormatSpec>() {
        assert_eq!(
            spec.to_string().parse::<FormatSpec>().as_ref(),
            Ok(&spec),
            "{text:?} is printed as {spec}"
        );
    }
    let Ok(format) = text.parse::<Format>() else { return };
    assert_eq!(format.to_string().parse::<Format>().as_ref(), Ok(&format), "{text:?} is printed as {format}");
    for code in [0, 1, format.max_code() / 2, format.max_code()] {
        let datum = format.decode(code);
        if !datum.is_nan() {
            assert_eq!(
                format.decode(format.encode(datum).expect("a value of the format")),
                datum,
                "{format} {code}"
            );
        }
    }
});
