//! The library against its oracles: one program, so that what tests share is compiled and linked
//! once. `just verification extensive ops::pairs` runs a module in full.

mod diagnosis;
mod specifications;

mod kernels {
    mod fused;
    mod generators;
    mod threads;
}

mod ops {
    mod blocks;
    mod mandatory;
    mod mixed;
    mod pairs;
    mod sums;
    mod tables;
    mod transcendental;
    mod transcendental_rounding;
    mod triples;
}

mod published {
    mod field_bugs;
    mod formats;
    mod oracle_tables;
    mod p3109_rows;
    mod p3109_vectors;
    mod talk_tables;
}

mod rounding {
    mod integers;
    mod modes;
    mod round_trips;
    mod stochastic_counts;
    mod sweep_16;
    mod sweep_f32;
    mod text;
}

mod tesla {
    mod rebias;
    mod requirements;
    mod tables;
}

mod vector_ports;
