//! What kernels need to know of formats, operations and tables, independent of their instructions.
#![allow(dead_code, reason = "a machine without kernels reads none of the plans")]

pub(crate) mod arithmetic;
pub(crate) mod blocks;
pub(crate) mod byte_lanes;
pub(crate) mod class_table;
pub(crate) mod decode;
pub(crate) mod digits;
pub(crate) mod draw;
pub(crate) mod encode;
pub(crate) mod exact;
pub(crate) mod nibbles;
pub(crate) mod partial_sums;
pub(crate) mod recode;
pub(crate) mod tally;
