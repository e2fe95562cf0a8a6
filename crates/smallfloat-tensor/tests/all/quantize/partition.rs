//! Threads and pieces: whatever works on a tensor, and however it is cut for that, the files and
//! reports are the same.

use std::fs;

use crate::common::{File, Fixture, Random, Tensor, options};
use safetensors::Dtype::F32;
use smallfloat::{RandomBits, Rounding};
use smallfloat_tensor::{
    BiasPolicy, Container, Dtype, Granularity, Options, Scheme, Share, dequantize, verify,
};

/// Matrices of more than a piece, also in one group, and with rows and blocks that no piece holds.
fn large() -> File {
    let mut random = Random(23);
    let mut matrix = |dtype, rows: usize, columns: usize| {
        Tensor::of(dtype, &random.normals(rows * columns, 0.05)).shaped(&[rows, columns])
    };
    File::of([
        ("a.weight", matrix(F32, 300, 640)),
        ("b.weight", matrix(safetensors::Dtype::BF16, 130, 4160)),
        ("c.q_proj.weight", matrix(safetensors::Dtype::F16, 3, 70_016)),
        ("c.k_proj.weight", matrix(F32, 5, 96)),
        ("d.weight", matrix(safetensors::Dtype::F64, 64, 2048)),
        ("e.weight", matrix(F32, 1, 540_672)),
    ])
}

fn ways() -> Vec<Options> {
    let bits = RandomBits::from_word32(16, 0).unwrap();
    let by =
        |granularity: &str| Options { granularity: granularity.parse().unwrap(), ..options("cfloat8_1_4_3") };
    let mut ways: Vec<Options> = ["mxfp4", "nvfp4", "fp8", "deepseek", "mxfp6-pack-quantized", "mxfp8-e5m2"]
        .map(|name| Options {
            overwrite: true,
            share: Share::known(),
            ..name.parse::<Scheme>().unwrap().options()
        })
        .into();
    ways.extend([
        by("channel"),
        by("block:32"),
        by("block:128x128"),
        Options { bias: BiasPolicy::Amax { margin: 0 }, share: Share::known(), ..by("tensor") },
        Options { bias: BiasPolicy::Percentile(99.0), ..by("block:64") },
        Options { rounding: Some(Rounding::StochasticB(bits)), seed: Some(3), ..by("block:7x96") },
        Options { container: Container::Bf16, ..by("channel") },
        Options { container: Container::Fp8 { requantize: true }, ..by("channel") },
        options("shp"),
    ]);
    ways
}

#[test]
fn threads_change_nothing_in_any_scheme() {
    let fixture = Fixture::new(&large());
    for options in ways() {
        let mut first = None;
        for threads in [1, 2, 3, 7, 16] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let report = pool.install(|| fixture.quantize(&options)).unwrap();
            let result = (fs::read(&fixture.output).unwrap(), report.tensors, report.totals);
            let first = first.get_or_insert_with(|| result.clone());
            assert!(*first == result, "{threads} threads, {options:?}");
        }
    }
}

/// Rows of groups do not know of each other: a matrix gives what its parts give as matrices of
/// their own.
#[test]
fn a_matrix_gives_what_its_rows_of_groups_give() {
    let file = large();
    for (options, rows) in [("mxfp4", 1), ("mxfp6-pack-quantized", 1), ("deepseek", 128), ("mxfp8-e5m2", 1)]
        .map(|(name, rows)| (Options { overwrite: true, ..name.parse::<Scheme>().unwrap().options() }, rows))
        .into_iter()
        .chain([
            (Options { granularity: Granularity::Channel, ..options("cfloat8_1_4_3") }, 1),
            (Options { granularity: "block:128x128".parse().unwrap(), ..options("cfloat8_1_5_2") }, 128),
            (Options { granularity: "block:48".parse().unwrap(), ..options("shp") }, 1),
        ])
    {
        let mut parts = File::default();
        let mut order: Vec<(String, Vec<String>)> = Vec::new();
        for (name, tensor) in &file.tensors {
            let columns = tensor.shape[1];
            let bytes = columns * tensor.dtype.bitsize() / 8;
            let mut names = Vec::new();
            for (i, part) in tensor.bytes.chunks(rows * bytes).enumerate() {
                let part_name = format!("{}.{i:04}.weight", name.trim_end_matches(".weight"));
                let shape = [part.len() / bytes, columns];
                parts.tensors.insert(part_name.clone(), Tensor::new(tensor.dtype, &shape, part.to_vec()));
                names.push(part_name);
            }
            order.push((name.clone(), names));
        }
        let (whole, parts) = (Fixture::new(&file), Fixture::new(&parts));
        whole.quantize(&options).unwrap();
        parts.quantize(&options).unwrap();
        let (whole, parts) = (File::read(&whole.output), File::read(&parts.output));
        for (name, names) in order {
            for suffix in ["", "_scale", "_scale_inv", "_packed", "_bias"] {
                let Some(tensor) = whole.tensors.get(&format!("{name}{suffix}")) else { continue };
                let joined: Vec<u8> = names
                    .iter()
                    .flat_map(|name| parts.tensors[&format!("{name}{suffix}")].bytes.clone())
                    .collect();
                assert!(joined == tensor.bytes, "{name}{suffix}: {options:?}");
            }
        }
    }
}

/// Very many tensors in one file, the work on which must not grow with their square: 20,000, and
/// with `SMALLFLOAT_EXTENSIVE=1` 100,000.
#[test]
fn many_small_tensors() {
    let extensive = std::env::var_os("SMALLFLOAT_EXTENSIVE").is_some();
    let count: usize = if extensive { 100_000 } else { 20_000 };
    let file = File::of((0..count).map(|i| {
        let x = f32::from(u16::try_from(i % 50_000).unwrap()) / 64.0;
        (format!("layers.{i}.weight"), Tensor::f32(&[x, -x, 1.0]).shaped(&[1, 3]))
    }));
    let fixture = Fixture::new(&file);
    let report = fixture.quantize(&options("cfloat8_1_4_3:bias=7")).unwrap();
    assert_eq!((report.totals.quantized, report.totals.elements), (count as u64, 3 * count as u64));
    let verified = verify(&fixture.output).unwrap();
    assert_eq!((verified.tensors, verified.records), (count as u64, 1));
    let back = fixture.folder.path().join("back.safetensors");
    dequantize(&fixture.output, &back, Dtype::F32, None, false, &mut |_| ()).unwrap();
    let back = File::read(&back);
    assert_eq!(back.tensors.len(), count);
    // 312.484375 lies between 304 and 320, which are 16 apart.
    assert_eq!(back.tensors["layers.19999.weight"].numbers(), [320.0, -320.0, 1.0]);
}
