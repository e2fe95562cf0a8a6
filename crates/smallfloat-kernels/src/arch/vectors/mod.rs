//! What instruction sets with vectors share: loops over slices, what loops are compiled for, tiles
//! of matrix products, and the rounds of the generators. An instruction set supplies what happens
//! in a step.

#![allow(dead_code, reason = "every instruction set uses those that it has loops for")]

pub(in crate::arch) mod arithmetic;
pub(in crate::arch) mod blocks;
pub(in crate::arch) mod choices;
pub(in crate::arch) mod elements;
pub(in crate::arch) mod generators;
pub(in crate::arch) mod scaled;
pub(in crate::arch) mod tiles;
