//! Sizes at the end of what 64 bits can count, and parts that do not fit each other: an error or
//! the right numbers, at once, and never a panic.

use std::fs;
use std::path::PathBuf;

use crate::common::{File, Fixture, Tensor, options, sha256};
use crate::layout::layouts::{FromBytes as _, gguf};
use safetensors::Dtype as T;
use serde_json::{Value, json};
use smallfloat_tensor::{Dtype, Granularity, Options, Packing, Quantizer, Scheme, View, dequantize, verify};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.safetensors");
    (folder, path)
}

/// No elements, of any number of rows: verified at once, and read as nothing.
fn holds_nothing(path: &std::path::Path, name: &str) {
    let verified = verify(path).unwrap();
    assert_eq!((verified.codes, verified.scales), (0, 0));
    assert!(View::open(path).unwrap().values(name).unwrap().is_empty());
    let wide = path.with_extension("wide");
    dequantize(path, &wide, Dtype::F32, None, true, &mut |_| ()).unwrap();
    assert_eq!(View::open(&wide).unwrap().tensor(name).unwrap().info.elements(), 0);
}

#[test]
fn gguf_of_no_elements() {
    let (_folder, path) = place();
    // 34 bytes for 32 elements: the elements can be counted, the bytes can't.
    let more = gguf(&[("w", 8, &[0, (1 << 59) - 1, 32], vec![])]);
    let error = View::from_source_bytes(&more).unwrap_err().to_string();
    assert!(error.contains("of more bytes than 64 bits can count"), "{error}");
    for kind in [8, 39, 40] {
        let rows = gguf(&[("w", kind, &[1 << 58, 0], vec![])]);
        fs::write(&path, &rows).unwrap();
        holds_nothing(&path, "w");
    }
    // A place beyond the file is as good as any other for nothing, in memory too.
    let mut beyond = gguf(&[("w", 0, &[0], vec![])]);
    let place = beyond.len() - 8;
    beyond[place..].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    assert!(View::from_source_bytes(&beyond).unwrap().values("w").unwrap().is_empty());
}

#[test]
fn an_alignment_is_a_number_of_32_bits() {
    let file = |kind: u32, value: &[u8]| {
        let mut file = b"GGUF\x03\0\0\0".to_vec();
        file.extend([0_u64, 1, 17].map(u64::to_le_bytes).concat());
        file.extend(b"general.alignment");
        file.extend(kind.to_le_bytes());
        file.extend(value);
        View::from_source_bytes(&file).map(drop).map_err(|error| error.to_string())
    };
    file(4, &64_u32.to_le_bytes()).unwrap();
    let text = [&2_u64.to_le_bytes()[..], b"64"].concat();
    for (kind, value) in
        [(4, &12_u32.to_le_bytes()[..]), (4, &[0; 4]), (10, &(1_u64 << 63).to_le_bytes()), (8, &text)]
    {
        let error = file(kind, value).unwrap_err();
        assert!(error.contains("is not a positive multiple of 8"), "{kind} {value:?}: {error}");
    }
}

#[test]
fn scales_of_very_many_rows_of_nothing() {
    let (_folder, path) = place();
    let nothing = |dtype, shape: &[usize]| Tensor::new(dtype, shape, vec![]);
    let (codes, scales) = (nothing(T::F8_E4M3, &[1 << 60, 0]), nothing(T::F8_E8M0, &[1 << 60, 0]));
    File::of([("w", codes), ("w_scale", scales)]).write(&path);
    holds_nothing(&path, "w");
    // Two bytes for each element.
    let mut file =
        File::of([("w", nothing(T::U16, &[0, 1 << 63, 1])), ("w_scale", nothing(T::F32, &[0, 1 << 58]))]);
    file.metadata.insert("smallfloat.version".into(), "1".into());
    file.set_entries(&json!({"w": {
        "format": "binary16", "subnormals": "gradual", "source_dtype": "F32", "granularity": "block:32",
        "scale": "binary32", "shape": [0, 1_u64 << 63], "rounding": "nearest-even", "random_bits": null,
        "seed": null, "generator": null, "sha256": sha256(&[]),
    }}));
    file.write(&path);
    holds_nothing(&path, "w");
    // Tiles of scales are filled up to whole ones.
    let wide = Fixture::new(&File::of([("w.weight", nothing(T::F32, &[usize::MAX, 0]))]));
    for scheme in Scheme::all() {
        let _ = wide.quantize(&Options { overwrite: true, ..scheme.options() });
    }
    // A scale for each row of nothing is more than any data asks for.
    let rows = Fixture::new(&File::of([("w.weight", nothing(T::F32, &[1 << 60, 0]))]));
    let channels = Options { granularity: Granularity::Channel, ..options("cfloat8_1_4_3") };
    for options in ["int8".parse::<Scheme>().unwrap().options(), channels.clone()] {
        let error = rows.quantize(&options).unwrap_err().to_string();
        assert!(error.contains("`w.weight`") && error.contains("has no elements and"), "{error}");
    }
    let quantizer = Quantizer::new(channels).unwrap();
    let error = quantizer.quantize("w", &[1 << 60, 0], &[0.0_f32; 0]).unwrap_err().to_string();
    assert!(error.contains("has no elements and"), "{error}");
}

/// A tensor whose name is that of a scale is not its own.
#[test]
fn a_tensor_is_no_scale_of_its_own() {
    let (_folder, path) = place();
    // 64 elements of NVFP4: four scales of 1, then codes of 1.
    let block = [&[0x38; 4][..], &[0x22; 32]].concat();
    let nvfp4 = |name: &'static str| (name, 40, &[1_u64, 64][..], block.clone());
    for name in ["l.scale", "scale"] {
        fs::write(&path, gguf(&[nvfp4(name)])).unwrap();
        verify(&path).unwrap();
        assert_eq!(View::open(&path).unwrap().values(name).unwrap(), [1.0; 64], "{name}");
    }
    // That of another tensor it can't be.
    let error = View::from_source_bytes(&gguf(&[nvfp4("l.scale"), nvfp4("l.weight")])).unwrap_err();
    assert!(error.to_string().contains("read is one positive F32"), "{error}");
    // FP8 whose scales would be its own codes has no scales, and is not quantized.
    let e4m3 = |name: &'static str| (name, Tensor::new(T::F8_E4M3, &[1, 1], vec![0x38]));
    for name in ["w.scale", "scale"] {
        File::of([e4m3(name)]).write(&path);
        let view = View::open(&path).unwrap();
        assert!(view.tensor(name).is_some_and(|tensor| tensor.scaled().is_none_or(|of| !of.has_scales())));
    }
}

/// gpt-oss's matrices lie transposed, and a single row of blocks is no matrix.
#[test]
fn a_row_of_blocks_is_no_matrix() {
    let (_folder, path) = place();
    let u8s = |shape: &[usize]| Tensor::new(T::U8, shape, vec![1; shape.iter().product()]);
    File::of([("x_blocks", u8s(&[2, 16])), ("x_scales", u8s(&[2]))]).write(&path);
    let error = View::open(&path).unwrap_err().to_string();
    assert!(error.contains("are neither FP4 in groups of 32"), "{error}");
    File::of([("x_blocks", u8s(&[3, 2, 16])), ("x_scales", u8s(&[3, 2]))]).write(&path);
    assert_eq!(View::open(&path).unwrap().values("x").unwrap().len(), 192);
}

/// What two tensors of a file stand for has no one value.
#[test]
fn a_tensor_is_stored_once() {
    let (_folder, path) = place();
    let u8s = |shape: &[usize]| Tensor::new(T::U8, shape, vec![1; shape.iter().product()]);
    for other in [("x", Tensor::f32(&[0.5; 32])), ("x_packed", u8s(&[1, 16]))] {
        let blocks = [("x_blocks", u8s(&[1, 1, 16])), ("x_scales", u8s(&[1, 1])), ("x_scale", u8s(&[1, 1]))];
        File::of(blocks.into_iter().chain([other])).write(&path);
        let error = View::open(&path).unwrap_err().to_string();
        assert!(error.contains("`x`") && error.contains("is in the file twice"), "{error}");
        assert!(verify(&path).is_err());
    }
}

/// So has what the metadata of a container says of it twice.
#[test]
fn an_entry_comes_once() {
    let fixture = Fixture::new(&File::of([("w", Tensor::f32(&[0.5; 64]))]));
    fixture.quantize(&options("e4m3fn")).unwrap();
    let mut file = File::read(&fixture.output);
    let entries = file.entries()["w"].to_string();
    file.metadata.insert("smallfloat.tensors".into(), format!(r#"{{"w":{entries},"w":{entries}}}"#));
    file.metadata.remove("smallfloat.record");
    file.write(&fixture.output);
    let error = verify(&fixture.output).unwrap_err().to_string();
    assert!(error.contains("`w`: comes twice in the container's metadata"), "{error}");
}

/// Codes of four bits in bytes of their own: only sixteen of them stand for a value.
#[test]
fn codes_beyond_a_list_are_not_verified() {
    let nf4: Options = Scheme::all().iter().find(|scheme| scheme.name == "nf4").unwrap().options();
    let options = Options { packing: Packing::Bytes, overwrite: true, ..nf4 };
    let fixture = Fixture::new(&File::of([("l.weight", Tensor::f32(&[0.5; 64]).shaped(&[2, 32]))]));
    fixture.quantize(&options).unwrap();
    let right = View::open(&fixture.output).unwrap().values("l.weight").unwrap();
    assert_eq!(verify(&fixture.output).unwrap().codes, 64);
    let mut file = File::read(&fixture.output);
    let codes = file.tensors.get_mut("l.weight").unwrap();
    codes.bytes[17] |= 0x30;
    let digest = sha256(&codes.bytes);
    let mut entries = file.entries();
    entries["l.weight"]["sha256"] = Value::from(digest);
    file.set_entries(&entries);
    file.metadata.remove("smallfloat.record");
    file.write(&fixture.output);
    let error = verify(&fixture.output).unwrap_err().to_string();
    assert!(error.contains("element 17 has the code 0x3f, the largest of nf4 is 0xf"), "{error}");
    // The bits beyond the width are ignored, as those of codes of a format are.
    assert_eq!(View::open(&fixture.output).unwrap().values("l.weight").unwrap(), right);
}

#[test]
fn elements_beyond_a_tensor_are_refused() {
    let (_folder, path) = place();
    File::of([("l.weight", Tensor::f32(&[0.5; 64]).shaped(&[2, 32]))]).write(&path);
    let mut ways = vec![options("e4m3fn"), options("cfloat8_1_4_3")];
    ways.extend(["mxfp4", "nvfp4", "bnb-nf4"].map(|name| name.parse::<Scheme>().unwrap().options()));
    let output = path.with_extension("out");
    let mut files = vec![path.clone()];
    for options in ways {
        files.push(output.with_extension(format!("{}", files.len())));
        let options = Options { overwrite: true, ..options };
        smallfloat_tensor::quantize(&path, files.last().unwrap(), &options, &|_| true, &mut |_| ()).unwrap();
    }
    for file in files {
        let view = View::open(&file).unwrap();
        let tensor = view.tensor("l.weight").unwrap();
        assert_eq!(tensor.format().is_some(), file != path);
        view.read(tensor, 64, &mut []).unwrap();
        for first in [1, 64, 1 << 40, u64::MAX - 10, u64::MAX] {
            let error = view.read(tensor, first, &mut [0.0; 64]).unwrap_err().to_string();
            assert!(error.contains("asked for, but the tensor has 64"), "{error}");
        }
    }
}
