//! Kernels against the core and against each other: one program, so that what tests share is
//! compiled and linked once. `alignment` is apart, since it has an allocator of its own.

#[path = "../common/mod.rs"]
mod common;

mod arithmetic {
    mod dot;
    mod elementwise;
    mod exact;
    mod fused;
    mod matmul;
    mod vectors;
}

mod encode {
    mod levels;
    mod modes;
    mod portable;
    mod recode;
    mod scalars;
    mod stochastic;
}

mod blocks;
mod decoders;
mod environment;
mod guard_pages;
mod packing;
mod portable_constants;
mod refusals;
mod statistics;
