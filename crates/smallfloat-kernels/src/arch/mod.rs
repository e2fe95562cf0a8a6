//! The door to machine instructions. This folder has all of the crate's `unsafe`, and this file its
//! only choice by architecture.
//!
//! An instruction set is a type [`Machine`] that implements [`Kernels`]. A value of it is the proof
//! that the instructions are there, so whoever holds one may call. Every kernel has a default that
//! does nothing and says so; callers then take the portable path, which gives the same bits. So a
//! new instruction set is a folder beside `x86_64/` and `aarch64/` that overrides the kernels it
//! has, and one line for it below; `vectors/` has the loops that they share. `scalar/` is such a
//! set for tests: plain Rust, selected by `RUSTFLAGS="--cfg smallfloat_arch=\"scalar\""`;
//! `smallfloat_arch="none"` selects no kernels.

mod kernels;
pub(crate) mod level;

#[cfg(all(target_arch = "x86_64", not(any(smallfloat_arch = "scalar", smallfloat_arch = "none"))))]
#[path = "x86_64/mod.rs"]
mod machine;
#[cfg(all(
    target_arch = "aarch64",
    target_endian = "little",
    not(any(smallfloat_arch = "scalar", smallfloat_arch = "none"))
))]
#[path = "aarch64/mod.rs"]
mod machine;
#[cfg(smallfloat_arch = "scalar")]
#[path = "scalar/mod.rs"]
mod machine;
#[cfg(any(
    smallfloat_arch = "none",
    not(any(
        target_arch = "x86_64",
        all(target_arch = "aarch64", target_endian = "little"),
        smallfloat_arch = "scalar"
    ))
))]
#[path = "none.rs"]
mod machine;

#[cfg(all(
    any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little")),
    not(any(smallfloat_arch = "scalar", smallfloat_arch = "none"))
))]
mod vectors;

pub(crate) use kernels::Kernels;
pub(crate) use machine::Machine;
