//! GGUF headers: values of every type, headers longer than what is read at once, places and counts
//! at their limits; files that were split. The bytes are put together here as ggml's
//! `docs/gguf.md` says.

use std::fs;

use smallfloat_tensor::{
    Dtype, MAX_HEADER_BYTES, Options, Result, Scheme, Source, View, compare, dequantize, examine,
    open_checkpoint, quantize, verify,
};

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// A key with the type and the bytes of its value.
fn pair(key: &str, kind: u32, value: &[u8]) -> Vec<u8> {
    [string(key), kind.to_le_bytes().to_vec(), value.to_vec()].concat()
}

fn array(kind: u32, count: u64, values: &[u8]) -> Vec<u8> {
    [&kind.to_le_bytes()[..], &count.to_le_bytes(), values].concat()
}

/// A description: name, dimensions from the innermost on, type, offset.
fn tensor(name: &str, dimensions: &[u64], kind: u32, offset: u64) -> Vec<u8> {
    let mut bytes = string(name);
    bytes.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
    bytes.extend(dimensions.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend(kind.to_le_bytes());
    bytes.extend(offset.to_le_bytes());
    bytes
}

fn file(version: u32, pairs: &[Vec<u8>], tensors: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let mut file = [b"GGUF", &version.to_le_bytes()[..]].concat();
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((pairs.len() as u64).to_le_bytes());
    file.extend(pairs.concat());
    if !tensors.is_empty() {
        file.extend(tensors.concat());
        file.resize(file.len().next_multiple_of(32), 0);
    }
    file.extend(data);
    file
}

fn opened(file: &[u8]) -> Result<View> {
    View::from_source(Source::from_bytes("in.gguf", file.to_vec())?)
}

fn refused(file: &[u8], part: &str) {
    let error = opened(file).unwrap_err().to_string();
    assert!(error.contains(part), "{part}: {error}");
}

fn texts(view: &View) -> Vec<(&str, &str)> {
    view.source().metadata().iter().map(|(key, text)| (&**key, &**text)).collect()
}

#[test]
fn values_of_every_type() -> Result<()> {
    let floats = [1.5_f32, f32::NAN].map(f32::to_le_bytes).concat();
    let pairs = [
        pair("u8", 0, &[200]),
        pair("i8", 1, &[200]),
        pair("u16", 2, &[0xff, 0xff]),
        pair("i16", 3, &[0xff, 0xff]),
        pair("u32", 4, &4_000_000_000_u32.to_le_bytes()),
        pair("i32", 5, &(-7_i32).to_le_bytes()),
        pair("f32", 6, &(-0.375_f32).to_le_bytes()),
        pair("true", 7, &[1]),
        pair("also true", 7, &[2]),
        pair("false", 7, &[0]),
        pair("string", 8, &string("a \"b\"")),
        pair("u64", 10, &u64::MAX.to_le_bytes()),
        pair("i64", 11, &i64::MIN.to_le_bytes()),
        pair("f64", 12, &2_f64.powi(-40).to_le_bytes()),
        pair("floats", 9, &array(6, 2, &floats)),
        pair("strings", 9, &array(8, 2, &[string("a \"b\""), string("")].concat())),
        pair("none", 9, &array(4, 0, &[])),
        pair("four deep", 9, &array(9, 1, &array(9, 1, &array(9, 1, &array(0, 2, &[1, 2]))))),
    ];
    let view = opened(&file(3, &pairs, &[], &[]))?;
    let expected = [
        ("u8", "200"),
        ("i8", "-56"),
        ("u16", "65535"),
        ("i16", "-1"),
        ("u32", "4000000000"),
        ("i32", "-7"),
        ("f32", "-0.375"),
        ("true", "true"),
        ("also true", "true"),
        ("false", "false"),
        ("string", "a \"b\""),
        ("u64", "18446744073709551615"),
        ("i64", "-9223372036854775808"),
        ("f64", "9.094947017729282e-13"),
        ("floats", "[1.5,null]"),
        ("strings", r#"["a \"b\"",""]"#),
        ("none", "[]"),
        ("four deep", "[[[[1,2]]]]"),
    ];
    assert_eq!(texts(&view), expected);
    Ok(())
}

#[test]
fn values_that_can_not_be() {
    let of = |kind: u32, value: &[u8]| file(3, &[pair("k", kind, value)], &[], &[]);
    // The type of the value stands behind 24 bytes and the key's nine.
    refused(&of(13, &[0; 8]), "there is no type 13 of values (at byte 33)");
    let five = array(9, 1, &array(9, 1, &array(9, 1, &array(9, 1, &array(0, 1, &[1])))));
    refused(&of(9, &five), "an array of 1 values is too long or too deep (at byte 85)");
    // As many values as bytes are left, and one more.
    opened(&of(9, &array(0, 3, &[1, 2, 3]))).unwrap();
    refused(&of(9, &array(0, 4, &[1, 2, 3])), "an array of 4 values is too long or too deep (at byte 37)");
    refused(&of(9, &array(0, 40, &[1, 2, 3])), "an array of 40 values is too long or too deep");
}

#[test]
fn versions() {
    let of = |version: u32| file(version, &[], &[], &[]);
    opened(&of(2)).unwrap();
    for version in [1, 4, 0x0001_0003] {
        refused(&of(version), &format!("is a GGUF file of version {version}; 2 and 3 are read"));
    }
    refused(&of(3_u32.swap_bytes()), "in big-endian order");
}

#[test]
fn dimensions_and_places() {
    let norm = |offset| tensor("norm", &[2], 0, offset);
    let of = |tensors: &[Vec<u8>], length: usize| file(3, &[], tensors, &vec![0; length]);
    let view = opened(&of(&[tensor("w", &[2, 1, 3, 1], 0, 0)], 24)).unwrap();
    assert_eq!(view.tensor("w").unwrap().info.shape, [1, 3, 1, 2]);
    let five = tensor("w", &[2, 1, 3, 1, 1], 0, 0);
    refused(&of(&[five], 24), "has 5 dimensions; there are at most 4");
    // What has no bytes shares none, wherever it is said to lie.
    let nothing = tensor("nothing", &[0, 7], 0, 32);
    let long = tensor("long", &[10], 0, 0);
    opened(&of(&[long.clone(), nothing], 40)).unwrap();
    refused(&of(&[long.clone(), norm(32)], 40), "shares bytes with another tensor");
    opened(&of(&[long.clone(), norm(64)], 72)).unwrap();
    refused(&of(&[long.clone(), norm(64)], 71), "of a file of");
    refused(&of(&[long.clone(), norm(63)], 71), "which is no multiple of 32");
    refused(&of(&[long.clone(), long], 40), "comes twice");
}

/// 64 KiB are read at once: strings over the end of such a stretch, and one that is longer.
#[test]
fn headers_longer_than_what_is_read_at_once() {
    let long = "x".repeat(150_000);
    let pairs: Vec<Vec<u8>> = (0..4000)
        .map(|i| match i {
            1777 => pair("long", 8, &string(&long)),
            _ => pair(&format!("key.{i}"), 8, &string(&format!("value {i} of very many"))),
        })
        .collect();
    let file = file(3, &pairs, &[tensor("w", &[2], 0, 0)], &[0, 0, 128, 63, 0, 0, 0, 64]);
    let view = opened(&file).unwrap();
    for (i, (key, text)) in texts(&view).into_iter().enumerate() {
        match i {
            1777 => assert_eq!((key, text), ("long", &*long)),
            _ => assert_eq!((key, text), (&*format!("key.{i}"), &*format!("value {i} of very many"))),
        }
    }
    assert_eq!(texts(&view).len(), 4000);
    assert_eq!(view.values("w").unwrap(), [1.0, 2.0]);
}

#[test]
fn the_longest_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.gguf");
    for (more, is_read) in [(0, true), (1, false)] {
        // A string of zeros to the end of the header.
        let head = file(3, &[pair("k", 8, &[])], &[], &[]);
        let length = MAX_HEADER_BYTES + more - head.len() as u64 - 8;
        fs::write(&path, [head, length.to_le_bytes().to_vec()].concat()).unwrap();
        let end = fs::OpenOptions::new().write(true).open(&path).unwrap();
        end.set_len(MAX_HEADER_BYTES + more).unwrap();
        match View::open(&path) {
            Ok(view) => assert!(is_read && texts(&view)[0].1.len() as u64 == length),
            Err(error) => {
                assert!(!is_read && error.to_string().contains("longer than the limit"), "{error}");
            }
        }
    }
}

/// One of the parts that `gguf-split` makes of a file, with a tensor of MXFP4.
fn part(number: u16, count: u16, tensors: i32, name: &str) -> Vec<u8> {
    let pairs = [
        pair("split.no", 2, &number.to_le_bytes()),
        pair("split.count", 2, &count.to_le_bytes()),
        pair("split.tensors.count", 5, &tensors.to_le_bytes()),
    ];
    file(3, &pairs, &[tensor(name, &[32], 39, 0)], &[[127].as_slice(), &[0x21; 16]].concat())
}

/// A file that is made of a part is whole, and does not say that it is a part.
#[test]
fn what_is_made_of_a_part_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let pairs = [
        pair("split.no", 2, &1_u16.to_le_bytes()),
        pair("split.count", 2, &3_u16.to_le_bytes()),
        pair("split.tensors.count", 5, &3_i32.to_le_bytes()),
    ];
    let data = [&[127][..], &[0x21; 16]].concat().repeat(2);
    fs::write(path("part.gguf"), file(3, &pairs, &[tensor("a.weight", &[32, 2], 39, 0)], &data)).unwrap();
    let text = |name: &str| Source::open(path(name)).unwrap().metadata().to_vec();
    assert_eq!(text("part.gguf").len(), 3);
    let wide = |name: &str| dequantize(path("part.gguf"), path(name), Dtype::F32, None, true, &mut |_| ());
    wide("wide.safetensors").unwrap();
    wide("wide.gguf").unwrap();
    for (scheme, name) in [("mxfp4", "q.safetensors"), ("gguf-mxfp4", "q.gguf")] {
        let options = scheme.parse::<Scheme>().unwrap().options();
        quantize(path("wide.gguf"), path(name), &options, &|_| true, &mut |_| ()).unwrap();
        quantize(path("part.gguf"), path(&format!("of-part-{name}")), &options, &|_| true, &mut |_| ())
            .unwrap();
        verify(path(name)).unwrap();
        verify(path(&format!("of-part-{name}"))).unwrap();
    }
    for entry in fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let says = text(&name).iter().any(|(key, _)| key.starts_with("split."));
        assert_eq!(says, name == "part.gguf", "{name}");
    }
}

/// A part is not the file; all of them are.
#[test]
fn files_that_were_split() {
    let folder = tempfile::tempdir().unwrap();
    let path = |i: usize| folder.path().join(format!("model-{i:05}-of-00003.gguf"));
    let refused = |part: &str| {
        let error = verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("the checkpoint is incomplete") && error.contains(part), "{part}: {error}");
        assert!(!examine(&[folder.path()], None, &mut |_| ()).unwrap().is_empty(), "{part}");
    };
    for (i, name) in ["a.weight", "b.weight", "c.weight"].into_iter().enumerate() {
        fs::write(path(i + 1), part(u16::try_from(i).unwrap(), 3, 3, name)).unwrap();
        let error = verify(path(i + 1)).unwrap_err().to_string();
        let expected =
            format!("this is part {} of the 3 parts of a GGUF file that was split, and incomplete", i + 1);
        assert!(error.contains(&expected), "{error}");
        match i {
            0 => refused("of the 3 parts of its GGUF file number 2 is missing"),
            1 => refused("of the 3 parts of its GGUF file number 3 is missing"),
            _ => assert_eq!(verify(folder.path()).unwrap().files, 3),
        }
    }
    assert_eq!(examine(&[folder.path()], None, &mut |_| ()).unwrap(), []);
    let views = open_checkpoint(folder.path()).unwrap();
    assert_eq!(views[2].values("c.weight").unwrap()[15..17], [0.5, 1.0]);
    assert_eq!(compare(&views[0], &views[0]).unwrap().len(), 1);
    // The number that multiplies a weight may be in another part than the weight.
    let scale = [pair("split.no", 2, &[2, 0]), pair("split.count", 2, &[3, 0])];
    let scale = file(3, &scale, &[tensor("a.scale", &[1], 0, 0)], &4_f32.to_le_bytes());
    fs::write(path(3), scale).unwrap();
    for (i, name) in ["a.weight", "b.weight"].into_iter().enumerate() {
        let pairs = [pair("split.no", 2, &[u8::try_from(i).unwrap(), 0]), pair("split.count", 2, &[3, 0])];
        let data = [&[127][..], &[0x21; 16]].concat();
        fs::write(path(i + 1), file(3, &pairs, &[tensor(name, &[32], 39, 0)], &data)).unwrap();
    }
    verify(folder.path()).unwrap();
    let views = open_checkpoint(folder.path()).unwrap();
    assert_eq!(views[0].values("a.weight").unwrap()[15..17], [2.0, 4.0]);
    assert_eq!((views[1].values("b.weight").unwrap()[0], views[2].tensors().len()), (0.5, 0));
    for (i, name) in ["a.weight", "b.weight"].into_iter().enumerate() {
        fs::write(path(i + 1), part(u16::try_from(i).unwrap(), 3, 3, name)).unwrap();
    }
    // One of them twice, of another file, with another count, or that is none.
    for (bytes, part) in [
        (part(0, 3, 3, "c.weight"), "are both part 1"),
        (part(2, 4, 3, "c.weight"), "are parts of different GGUF files"),
        (part(2, 3, 4, "c.weight"), "are parts of different GGUF files"),
        (part(0, 1, 1, "c.weight"), "is no part of a split one"),
    ] {
        fs::write(path(3), bytes).unwrap();
        refused(part);
    }
    fs::write(path(3), part(3, 3, 3, "c.weight")).unwrap();
    for path in [path(3), folder.path().to_path_buf()] {
        let error = verify(path).unwrap_err().to_string();
        assert!(error.contains("its `split.no` is 3, and the parts are 0 to 2"), "{error}");
    }
    for (i, name) in ["a.weight", "b.weight", "c.weight"].into_iter().enumerate() {
        fs::write(path(i + 1), part(u16::try_from(i).unwrap(), 3, 4, name)).unwrap();
    }
    refused("its parts have 3 tensors, and `split.tensors.count` is 4");
    // Number 2 is missing however many files there are.
    fs::write(path(3), part(u16::MAX - 1, u16::MAX, 3, "c.weight")).unwrap();
    fs::remove_file(path(1)).unwrap();
    fs::remove_file(path(2)).unwrap();
    refused("of the 65535 parts of its GGUF file number 1 is missing");
    // A whole file in a folder of its own, and beside safetensors.
    fs::write(path(3), part(0, 1, 1, "c.weight")).unwrap();
    assert_eq!((verify(path(3)).unwrap().files, verify(folder.path()).unwrap().files), (1, 1));
    let wide = folder.path().join("wide.safetensors");
    dequantize(path(3), &wide, Dtype::F32, None, true, &mut |_| ()).unwrap();
    assert!(
        verify(folder.path())
            .unwrap_err()
            .to_string()
            .contains("no file of this folder has anything quantized")
    );
    fs::remove_file(wide).unwrap();
    // Files of this kind are converted one by one.
    let output = folder.path().join("out");
    let error = dequantize(folder.path(), &output, Dtype::F32, None, true, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("GGUF files are read one by one"), "{error}");
    let options: Options = "mxfp4".parse::<Scheme>().unwrap().options();
    let error = quantize(folder.path(), &output, &options, &|_| true, &mut |_| ()).unwrap_err();
    assert!(error.to_string().contains("GGUF files are read one by one") && !output.exists(), "{error}");
}
