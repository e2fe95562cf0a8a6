//! No kernels: the machine of architectures without a folder here.

use crate::arch::kernels::Kernels;
use crate::arch::level::Level;

/// A type without values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Machine {}

impl Kernels for Machine {
    fn new(_: Level) -> Option<Self> {
        None
    }

    fn supports(_: Level) -> bool {
        false
    }
}
