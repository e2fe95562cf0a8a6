
// Ways into the classes for the proofs: `build` adds these lines to a copy of classes.rs.
macro_rules! probe {
    ($type:ty, $word:ty, $infinity:expr, $min_normal:expr, $sign:expr, $class:ident, $representative:ident) => {
        #[inline(never)]
        pub fn $class(bits: u64, low: u64, high: u64, shift: u32) -> u32 {
            let classes_of = RoundingClasses { low, high, shift, infinity: $infinity, min_normal: $min_normal, sign: $sign };
            let mut classes = [0; BATCH];
            <$type as Classify>::classify(&[<$type>::from_bits(bits as $word)], &classes_of, &mut classes, None);
            classes[0]
        }

        #[inline(never)]
        pub fn $representative(class: u64, low: u64, high: u64, shift: u32) -> u64 {
            let classes_of = RoundingClasses { low, high, shift, infinity: $infinity, min_normal: $min_normal, sign: $sign };
            classes_of.representative(class as usize)
        }
    };
}

// The words of infinity and of the smallest normal number, and the place of the sign, in IEEE 754's
// formats.
probe!(f32, u32, 0x7f80_0000, 0x0080_0000, 31, class_f32, representative_f32);
probe!(f64, u64, 0x7ff0_0000_0000_0000, 0x0010_0000_0000_0000, 63, class_f64, representative_f64);

/// All numbers of the classes, and what the ways in above took as known.
pub fn numbers(from: &Format, to: &Format) -> [u64; 6] {
    let RoundingClasses { low, high, shift, infinity, min_normal, sign } = RoundingClasses::new(from, to);
    [low, high, shift.into(), infinity, min_normal, sign.into()]
}
