// Ways into the core's short conversion for the proofs: `build` adds this file to a copy of the
// crate. u64::MAX stands for `None`, where the projection decides.
#![allow(missing_docs)]

use crate::formats::{BINARY32, BINARY64, UHP};
use crate::scalar::fast_path;
use crate::{Format, Subnormals};

macro_rules! configurable {
    ($($name:ident: $source:ident, $format:ident, $reading:ident;)*) => {
        $(
            #[inline(never)]
            pub fn $name(bits: u64, bias: u32) -> u64 {
                let Ok(format) = Format::$format(bias) else { return u64::MAX };
                let Ok(format) = format.with_subnormals(Subnormals::$reading) else { return u64::MAX };
                match fast_path::from_ieee(bits, &$source, &format) {
                    Some(code) => code,
                    None => u64::MAX,
                }
            }
        )*
    };
}

configurable! {
    core_f64_cfloat8_1_4_3_tesla: BINARY64, cfloat8_1_4_3, Tesla;
    core_f64_cfloat8_1_4_3_gradual: BINARY64, cfloat8_1_4_3, Gradual;
    core_f64_cfloat8_1_5_2_tesla: BINARY64, cfloat8_1_5_2, Tesla;
    core_f64_cfloat8_1_5_2_gradual: BINARY64, cfloat8_1_5_2, Gradual;
    core_f64_shp_tesla: BINARY64, shp, Tesla;
    core_f64_shp_gradual: BINARY64, shp, Gradual;
    core_f32_cfloat8_1_4_3_tesla: BINARY32, cfloat8_1_4_3, Tesla;
    core_f32_cfloat8_1_4_3_gradual: BINARY32, cfloat8_1_4_3, Gradual;
    core_f32_cfloat8_1_5_2_tesla: BINARY32, cfloat8_1_5_2, Tesla;
    core_f32_cfloat8_1_5_2_gradual: BINARY32, cfloat8_1_5_2, Gradual;
    core_f32_shp_tesla: BINARY32, shp, Tesla;
    core_f32_shp_gradual: BINARY32, shp, Gradual;
}

#[inline(never)]
pub fn core_f32_uhp(bits: u64) -> u64 {
    fast_path::from_ieee(bits, &BINARY32, &UHP).unwrap_or(u64::MAX)
}

#[inline(never)]
pub fn core_f64_uhp(bits: u64) -> u64 {
    fast_path::from_ieee(bits, &BINARY64, &UHP).unwrap_or(u64::MAX)
}
