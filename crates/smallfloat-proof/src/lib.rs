//! Tests and runners that hold smallfloat against its oracles
