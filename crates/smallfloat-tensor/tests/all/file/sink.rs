//! Written files: equal to what the reference crate reads and writes, the same bytes whatever the
//! order of writing, and whole or absent whatever goes wrong.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{FOLDER, names};
use safetensors::tensor::TensorView;
use smallfloat_tensor::{
    Dtype, DurableFile, Error, NpyWriter, SafeTensors, Sink, SinkOptions, Source, TensorSpec, leftovers,
};

/// One tensor of every type, a scalar and an empty one, with data that differ everywhere.
fn every_type() -> (Vec<TensorSpec>, Vec<Vec<u8>>) {
    let mut specs: Vec<_> =
        Dtype::ALL.iter().map(|&dtype| TensorSpec::new(format!("t.{dtype}"), dtype, [3, 4])).collect();
    specs.push(TensorSpec::new("scalar", Dtype::BF16, []));
    specs.push(TensorSpec::new("empty", Dtype::F32, [5, 0]));
    let mut next = 0u8;
    let data = specs
        .iter()
        .map(|spec| {
            let len = spec.dtype.byte_len(spec.shape.iter().product()).unwrap();
            (0..len)
                .map(|_| {
                    next = next.wrapping_mul(5).wrapping_add(1);
                    next
                })
                .collect()
        })
        .collect();
    (specs, data)
}

fn text() -> Vec<(String, String)> {
    [("z", "last \"first\""), ("format", "pt"), ("ünï", "\n")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .to_vec()
}

fn overwrite() -> SinkOptions {
    SinkOptions { overwrite: true, ..SinkOptions::default() }
}

#[test]
fn files_written_here_are_read_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ours.safetensors");
    let (specs, data) = every_type();
    let sink = Sink::create(&path, specs.clone(), text(), SinkOptions::default()).unwrap();
    for (i, bytes) in data.iter().enumerate() {
        sink.append(i, bytes).unwrap();
    }
    let expected_len = sink.file_len();
    sink.finish().unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len() as u64, expected_len);
    let (header_len, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    assert_eq!(header_len % 8, 0);
    let metadata: HashMap<_, _> = text().into_iter().collect();
    assert_eq!(header.metadata().as_ref(), Some(&metadata));
    let there = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(there.len(), specs.len());
    for (spec, bytes) in specs.iter().zip(&data) {
        let tensor = there.tensor(&spec.name).unwrap();
        assert_eq!(tensor.dtype().to_string(), spec.dtype.name());
        assert_eq!(tensor.shape().iter().map(|&d| d as u64).collect::<Vec<_>>(), spec.shape);
        assert_eq!(tensor.data(), bytes);
    }
    // And here, where the text keeps its order and every tensor is aligned to its elements.
    let here = Source::open(&path).unwrap();
    assert_eq!(here.metadata(), text());
    for (spec, bytes) in specs.iter().zip(&data) {
        let tensor = here.tensor(&spec.name).unwrap();
        assert_eq!(&here.read_all(tensor).unwrap(), bytes);
        assert_eq!(tensor.offset % u64::from(spec.dtype.bits() / 8).max(1), 0, "{}", spec.name);
    }
}

#[test]
fn files_written_there_are_read_here() {
    let (specs, data) = every_type();
    let views = specs.iter().zip(&data).map(|(spec, bytes)| {
        let dtype = serde_json::from_value(serde_json::Value::String(spec.dtype.name().into())).unwrap();
        let shape = spec.shape.iter().map(|&d| usize::try_from(d).unwrap()).collect();
        (spec.name.clone(), TensorView::new(dtype, shape, bytes).unwrap())
    });
    let metadata: HashMap<_, _> = text().into_iter().collect();
    let bytes = safetensors::serialize(views, Some(metadata.clone())).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("theirs.safetensors");
    fs::write(&path, bytes).unwrap();
    let here = SafeTensors::open(&path).unwrap();
    assert_eq!(here.metadata().iter().cloned().collect::<HashMap<_, _>>(), metadata);
    let here = Source::open(&path).unwrap();
    assert_eq!(here.tensors().len(), specs.len());
    for (spec, bytes) in specs.iter().zip(&data) {
        let tensor = here.tensor(&spec.name).unwrap();
        assert_eq!((tensor.dtype, &tensor.shape), (spec.dtype, &spec.shape));
        assert_eq!(&here.read_all(tensor).unwrap(), bytes);
    }
}

#[test]
fn order_pieces_and_threads_do_not_change_a_byte() {
    let dir = tempfile::tempdir().unwrap();
    let specs = vec![TensorSpec::new("a", Dtype::U8, [100_003]), TensorSpec::new("b", Dtype::U16, [50_001])];
    let data: Vec<Vec<u8>> = [100_003u32, 100_002]
        .map(|n| (0..n).map(|i| (i.wrapping_mul(i) >> 3).to_le_bytes()[0]).collect())
        .to_vec();
    let mut files: Vec<Vec<u8>> = Vec::new();
    for (threads, piece, digests) in [(1, 100_003, false), (1, 4096, true), (3, 977, false), (7, 4099, true)]
    {
        let path = dir.path().join(format!("{threads}-{piece}"));
        let draft = vec![("d".to_owned(), "0".repeat(128))];
        let options = SinkOptions { digests, ..SinkOptions::default() };
        let sink = Sink::create(&path, specs.clone(), draft, options).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (sink, data) = (&sink, &data);
                scope.spawn(move || {
                    for (tensor, bytes) in data.iter().enumerate() {
                        for (i, part) in
                            bytes.chunks(piece).enumerate().filter(|(i, _)| i % threads == thread)
                        {
                            sink.write_at(tensor, (i * piece) as u64, part).unwrap();
                        }
                    }
                });
            }
        });
        let digest = sink.sha256(0).unwrap() + &sink.sha256(1).unwrap();
        sink.finish_with(&[("d".to_owned(), digest)]).unwrap();
        files.push(fs::read(path).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn the_text_may_change_within_its_room_and_not_beyond() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let entry = |n| vec![("k".to_owned(), "x".repeat(n))];
    let begin =
        |reserve| Sink::create(&path, vec![], entry(10), SinkOptions { reserve, ..overwrite() }).unwrap();
    for (reserve, len) in [(0, 10), (0, 0), (90, 100)] {
        begin(reserve).finish_with(&entry(len)).unwrap();
        assert_eq!(Source::open(&path).unwrap().metadata(), entry(len));
    }
    begin(0).finish_with(&[]).unwrap();
    assert!(Source::open(&path).unwrap().metadata().is_empty());
    let error = begin(0).finish_with(&entry(100)).unwrap_err();
    assert!(error.to_string().contains("were reserved; reserve more"), "{error}");
    let twice = [entry(1), entry(1)].concat();
    assert!(begin(0).finish_with(&twice).unwrap_err().to_string().contains("the key `k` comes twice"));
    assert_eq!(names(dir.path()), ["t"]);
}

#[test]
fn layouts_that_can_not_be_are_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let u8s = |name: &str, n| TensorSpec::new(name, Dtype::U8, [n]);
    let cases = [
        (
            vec![u8s("w", 1), u8s("w", 1)],
            vec![],
            "tensor `w`: two tensors would be written under this name; rename one",
        ),
        (vec![u8s("__metadata__", 1)], vec![], "reserved for free text"),
        (
            vec![TensorSpec::new("w", Dtype::F4, [3])],
            vec![],
            "tensor `w`: shape [3] of F4 does not fill whole bytes",
        ),
        (vec![TensorSpec::new("w", Dtype::U8, [1 << 40, 1 << 40])], vec![], "more elements than 64 bits"),
        (vec![u8s("a", 1 << 60), u8s("b", 1 << 60)], text(), ""),
        ((0..9).map(|i| u8s(&i.to_string(), 1 << 60)).collect(), vec![], "longer than any file can be"),
        (vec![], [text(), text()].concat(), "the key `z` comes twice in the free text"),
    ];
    for (specs, metadata, part) in cases {
        let error = Sink::create(&path, specs, metadata, SinkOptions::default()).unwrap_err();
        // The file system says itself that it can't hold an exabyte.
        assert!(if part.is_empty() { error.is_io() } else { error.is_refused() }, "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert!(names(dir.path()).is_empty());
    }
    for reserve in [100_000_000, u64::MAX] {
        let options = SinkOptions { reserve, ..SinkOptions::default() };
        let error = Sink::create(&path, vec![], vec![], options).unwrap_err();
        assert!(error.to_string().contains("above the limit of 100000000 bytes"), "{error}");
    }
}

#[test]
fn misuse_is_an_error_that_leaves_the_old_output() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    fs::write(&path, "old").unwrap();
    let specs = || vec![TensorSpec::new("w", Dtype::U8, [8])];
    assert!(Sink::create(&path, specs(), vec![], SinkOptions::default()).unwrap_err().is_exists());
    let check = |error: Error, part: &str| {
        assert!(error.is_refused() && error.to_string().contains(part), "{error}");
    };
    let sink = Sink::create(&path, specs(), vec![], overwrite()).unwrap();
    check(sink.write_at(1, 0, &[0]).unwrap_err(), "there is no tensor 1; the layout has 1");
    check(sink.write_at(0, 7, &[0; 2]).unwrap_err(), "2 bytes at 7 reach beyond the 8 bytes of the tensor");
    check(sink.write_at(0, u64::MAX, &[0; 2]).unwrap_err(), "reach beyond");
    sink.write_at(0, 2, &[0; 4]).unwrap();
    check(sink.write_at(0, 5, &[0; 2]).unwrap_err(), "bytes 5 to 7 were written before");
    check(sink.sha256(0).unwrap_err(), "byte 0 of its 8 was never written");
    sink.write_at(0, 0, &[0; 2]).unwrap();
    check(sink.finish().unwrap_err(), "tensor `w`: byte 6 of its 8 was never written");
    assert_eq!((names(dir.path()), fs::read(&path).unwrap()), (vec!["t".to_owned()], b"old".to_vec()));
}

#[test]
fn an_unfinished_file_is_no_safetensors_file_and_a_sealed_one_can_be_verified() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let sink = Sink::create(&path, vec![TensorSpec::new("w", Dtype::U8, [3])], vec![], overwrite()).unwrap();
    sink.append(0, &[1, 2, 3]).unwrap();
    let temporary = names(dir.path());
    assert_eq!(temporary.len(), 1);
    assert!(SafeTensors::open(dir.path().join(&temporary[0])).unwrap_err().is_malformed());
    let sealed = sink.seal(None).unwrap();
    let source = Source::open(sealed.temporary_path()).unwrap();
    assert_eq!(source.read_all(&source.tensors()[0]).unwrap(), [1, 2, 3]);
    assert!(!path.exists());
    drop(sealed);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn input_and_output_may_be_the_same_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    let specs = vec![TensorSpec::new("w", Dtype::F32, [1000])];
    let data: Vec<u8> = (0..4000u32).map(|i| i.to_le_bytes()[0]).collect();
    let sink = Sink::create(&path, specs, vec![], SinkOptions::default()).unwrap();
    sink.append(0, &data).unwrap();
    sink.finish().unwrap();
    let source = Source::open(&path).unwrap();
    let tensor = &source.tensors()[0];
    let sink =
        Sink::create(&path, vec![TensorSpec::new("w", Dtype::U8, [1000])], vec![], overwrite()).unwrap();
    source
        .read_chunks(tensor, &mut [0; 100], |_, bytes| {
            let firsts: Vec<u8> = bytes.iter().copied().step_by(4).collect();
            sink.append(0, &firsts)
        })
        .unwrap();
    sink.finish().unwrap();
    assert_eq!(source.read_all(tensor).unwrap(), data, "the open input is still the old file");
    let new = Source::open(&path).unwrap();
    assert!(new.read_all(&new.tensors()[0]).unwrap().iter().eq(data.iter().step_by(4)));
}

/// Each way of writing a megabyte and a half fails for want of room, says so, and leaves only the
/// old files.
#[cfg(unix)]
fn no_way_has_room(folder: &Path) {
    let big = vec![7; 3 << 19];
    let old = |name: &str| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, "old").unwrap();
        path
    };
    let check = |result: Result<(), Error>, path: &Path| {
        let error = result.unwrap_err();
        assert!(error.is_no_space(), "{error:?}");
        assert!(error.to_string().contains("no room to write") && error.path() == Some(path), "{error}");
        assert_eq!(fs::read(path).unwrap(), b"old");
        assert!(leftovers(path).unwrap().is_empty());
    };
    let path = old("tensors");
    let spec = TensorSpec::new("w", Dtype::U8, [big.len() as u64]);
    check(
        Sink::create(&path, vec![spec], vec![], overwrite()).and_then(|sink| {
            for part in big.chunks(1 << 16) {
                sink.append(0, part)?;
            }
            sink.finish()
        }),
        &path,
    );
    let path = old("text");
    check(smallfloat_tensor::write_file_durably(&path, &big, true), &path);
    let path = old("array.npy");
    check(
        NpyWriter::create(&path, Dtype::U8, &[big.len() as u64], true).and_then(|mut writer| {
            writer.append(&big)?;
            writer.finish()
        }),
        &path,
    );
    let path = old("reused");
    let mut file = DurableFile::create(&path, true).unwrap();
    assert!(file.append(&big).is_err());
    drop(file);
    assert_eq!(names(folder), ["array.npy", "reused", "tensors", "text"]);
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_leaves_the_old_files() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return no_way_has_room(Path::new(&folder));
    }
    let dir = tempfile::tempdir().unwrap();
    crate::common::again(
        "file::sink::a_limit_on_file_sizes_leaves_the_old_files",
        crate::common::SMALL_FILES,
        dir.path(),
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_leaves_the_old_files() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        crate::common::mount_a_megabyte();
        return no_way_has_room(Path::new(&folder));
    }
    let dir = tempfile::tempdir().unwrap();
    crate::common::again(
        "file::sink::a_full_file_system_leaves_the_old_files",
        crate::common::OWN_MOUNTS,
        dir.path(),
    );
}
