//! Files and folders of tensors.

pub(crate) mod bias_report;
pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod dequantize;
pub(crate) mod doctor;
pub(crate) mod inspect;
pub(crate) mod quantize;
pub(crate) mod sample;
pub(crate) mod verify;
