//! [`with_default_environment`]: floating-point arithmetic as Rust expects it.

use crate::arch::{Kernels, Machine};

/// Runs `work` with the calling thread's floating-point environment as Rust expects it: rounding to
/// nearest, every exception masked, subnormal numbers kept. On x86-64 and AArch64; elsewhere the
/// environment is left as it is.
///
/// Other programs set flags of the thread that they call from: PyTorch's `set_flush_denormal`,
/// JAX's callbacks, and libraries built with `-ffast-math`. [`Encoder`](crate::Encoder)s and
/// [`Decoder`](crate::Decoder)s give the same bits whatever is set, except for blocks
/// ([`encode_blocks`](crate::Encoder::encode_blocks), [`decode_blocks`](crate::Decoder::decode_blocks));
/// other arithmetic does not.
///
/// ```
/// use std::hint::black_box;
///
/// let sum = smallfloat_kernels::with_default_environment(|| black_box(1e-45_f32) + black_box(0.0));
/// assert_eq!(sum.to_bits(), 1);
/// ```
pub fn with_default_environment<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(u32);
    impl Drop for Restore {
        fn drop(&mut self) {
            Machine::restore_environment(self.0);
        }
    }
    /// Not inlined, so that none of its arithmetic is moved out of it.
    #[inline(never)]
    fn apart<R>(work: impl FnOnce() -> R) -> R {
        work()
    }
    let _restore = Machine::enter_default_environment().map(Restore);
    apart(work)
}
