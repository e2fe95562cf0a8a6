//! Calls of kernels by the types that slices turn out to have.

/// Calls a kernel with elements as the type they have.
macro_rules! with_lanes {
    ($lanes:expr, $enum:ident, |$x:ident| $call:expr) => {
        match $lanes {
            $crate::element::$enum::F32($x) => $call,
            $crate::element::$enum::F16($x) => $call,
            $crate::element::$enum::Bf16($x) => $call,
            $crate::element::$enum::F64($x) => $call,
        }
    };
}
pub(in crate::arch) use with_lanes;

/// Calls a kernel with elements and codes as the types they have.
macro_rules! with_types {
    ($source:expr, $codes:expr, |$x:ident, $code:ident| $call:expr) => {
        match $codes {
            $crate::element::CodesMut::Bytes($code) => {
                $crate::arch::vectors::elements::with_lanes!($source, Lanes, |$x| Some($call))
            }
            $crate::element::CodesMut::Halves($code) => {
                $crate::arch::vectors::elements::with_lanes!($source, Lanes, |$x| Some($call))
            }
            $crate::element::CodesMut::Words(_) | $crate::element::CodesMut::Longs(_) => None,
        }
    };
}
pub(in crate::arch) use with_types;
