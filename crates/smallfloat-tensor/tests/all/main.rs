//! Tensors in memory and in files: one program, so that what tests share is compiled and linked
//! once. `mutations` is apart, since it counts what its process allocates.

#[path = "../common/mod.rs"]
mod common;
#[path = "../corpus/mod.rs"]
mod corpus;

mod file {
    mod bad_input;
    mod container;
    mod flips;
    mod gguf;
    mod malformed_npy;
    mod malformed_safetensors;
    mod sink;
    mod stored_shape;
}

mod folder {
    mod compared;
    mod configured;
    mod folders;
    mod incomplete;
    mod shards;
}

mod layout {
    mod certificates;
    mod contradictions;
    mod conversions;
    mod doctor;
    mod edges;
    mod extremes;
    mod foreign;
    mod layouts;
    mod schemes;
}

mod quantize {
    mod against;
    mod memory;
    mod partition;
    mod written;
}

mod scale {
    mod bias;
    mod bias_groups;
    mod calibration;
    mod controller;
    mod search;
}
