//! What goes wrong has a clear message, leaves the old output as it was, and no temporary file.

use std::fs;
use std::path::Path;

use crate::common::{File, Fixture, Random, Tensor, names, options};
use safetensors::Dtype::F32;
use smallfloat::Rounding;
use smallfloat_tensor::{Dtype, Error, Options, dequantize, quantize};

fn small() -> File {
    File::of([("w", Tensor::f32(&[0.5, -1.25, 3.0]))])
}

/// Quantizing this with these options fails so, and the old output stays.
#[track_caller]
fn fails(fixture: &Fixture, options: &Options, part: &str) -> Error {
    fs::write(&fixture.output, "old").unwrap();
    let before = names(fixture.folder.path());
    let error = fixture.quantize(options).unwrap_err();
    assert!(error.to_string().contains(part), "{error}");
    assert_eq!(fs::read(&fixture.output).unwrap(), b"old");
    assert_eq!(names(fixture.folder.path()), before);
    error
}

#[test]
fn an_output_that_exists_is_refused() {
    let fixture = Fixture::new(&small());
    let keep = Options { overwrite: false, ..options("cfloat8_1_4_3") };
    let error = fails(&fixture, &keep, "exists already; choose another name or allow overwriting");
    assert!(error.is_exists() && error.path() == Some(fixture.output.as_path()));
    // The input is such an output too.
    let before = fs::read(&fixture.input).unwrap();
    let error = quantize(&fixture.input, &fixture.input, &keep, &|_| true, &mut |_| ()).unwrap_err();
    assert!(error.is_exists(), "{error}");
    assert_eq!(fs::read(&fixture.input).unwrap(), before);
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
}

#[test]
fn names_that_would_collide_are_refused() {
    let mut file = small();
    file.tensors.insert("w_bias".into(), Tensor::f32(&[0.1]));
    let fixture = Fixture::new(&file);
    let error = fails(&fixture, &options("cfloat8_1_4_3"), "two tensors would be written under this name");
    assert!(error.is_refused() && error.tensor() == Some("w_bias"), "{error}");
    // It collides too where it is only copied, and not where no bias is stored or `w` is left
    // alone.
    let select = |only: &'static str, format: &str| {
        quantize(&fixture.input, &fixture.output, &options(format), &|name| name == only, &mut |_| ())
    };
    assert!(select("w", "cfloat8_1_4_3").unwrap_err().is_refused());
    select("w", "e4m3fn").unwrap();
    smallfloat_tensor::verify(&fixture.output).unwrap();
    select("w_bias", "cfloat8_1_4_3").unwrap();
    assert!(File::read(&fixture.output).tensors.contains_key("w_bias_bias"));
    smallfloat_tensor::verify(&fixture.output).unwrap();
    let mut text = small();
    text.metadata.insert("smallfloat.tensors".into(), "mine".into());
    fails(&Fixture::new(&text), &options("e4m3fn"), "keys of a container and no `smallfloat.version`");
}

#[test]
fn options_that_can_not_be_are_refused() {
    let fixture = Fixture::new(&small());
    let stochastic = |count| Options {
        rounding: Some(Rounding::stochastic_a(count).unwrap()),
        ..options("cfloat8_1_4_3")
    };
    fails(&fixture, &stochastic(32), "stochastic rounding needs a seed");
    fails(&fixture, &Options { seed: Some(1), ..stochastic(33) }, "1..=32");
    for wide in ["f32", "binary64"] {
        fails(&fixture, &options(wide), "bits, codes in tensors have at most 16");
    }
}

#[test]
fn values_that_are_refused_leave_the_old_output() {
    let mut values = vec![0.5; 1000];
    values[999] = f32::NAN;
    let fixture = Fixture::new(&File::of([("w", Tensor::f32(&values))]));
    fails(&fixture, &options("cfloat8_1_4_3"), "tensor `w`: element 999 is NaN");
    values[999] = -1.0;
    let fixture = Fixture::new(&File::of([("w", Tensor::f32(&values))]));
    fails(&fixture, &options("uhp"), "tensor `w`: element 999 is -1: uhp is unsigned");
}

#[test]
fn inputs_that_can_not_be_read_are_refused() {
    let fixture = Fixture::new(&small());
    let good = fs::read(&fixture.input).unwrap();
    for len in [0, 7, 8, 40, good.len() - 1] {
        fs::write(&fixture.input, &good[..len]).unwrap();
        let error = fails(&fixture, &options("cfloat8_1_4_3"), "in.safetensors`");
        assert!(error.is_malformed(), "{len} bytes: {error}");
    }
    fs::write(&fixture.input, [&good[..], &[0]].concat()).unwrap();
    assert!(fails(&fixture, &options("cfloat8_1_4_3"), "in.safetensors`").is_malformed());
    fs::write(&fixture.input, b"PK\x03\x04\x14\0\0\0\x08\x08").unwrap();
    assert!(fails(&fixture, &options("cfloat8_1_4_3"), "a zip archive").is_unsupported());
    fs::remove_file(&fixture.input).unwrap();
    let error = fails(&fixture, &options("cfloat8_1_4_3"), "cannot open");
    assert!(error.is_io() && !error.is_no_space());
    fs::create_dir(&fixture.input).unwrap();
    fails(&fixture, &options("cfloat8_1_4_3"), "this folder has no .safetensors files");
}

#[test]
fn outputs_that_can_not_be_written_are_refused() {
    let fixture = Fixture::new(&small());
    let run = |output: &Path| {
        quantize(&fixture.input, output, &options("cfloat8_1_4_3"), &|_| true, &mut |_| ()).unwrap_err()
    };
    let missing = fixture.folder.path().join("missing").join("out");
    let error = run(&missing);
    assert!(error.to_string().contains("does not exist; make it first"), "{error}");
    assert_eq!(error.path(), Some(missing.as_path()));
    let error = run(fixture.folder.path());
    assert_eq!(error.path(), Some(fixture.folder.path()), "{error}");
    assert_eq!(names(fixture.folder.path()), ["in.safetensors"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_leave_to_write_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new(&small());
    let folder = fixture.folder.path().join("closed");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let output = folder.join("out");
    // Root may write everywhere.
    if fs::write(folder.join("probe"), "").is_err() {
        let result = quantize(&fixture.input, &output, &options("e5m2"), &|_| true, &mut |_| ());
        let error = result.unwrap_err();
        assert!(error.is_io() && !error.is_no_space(), "{error}");
        assert!(error.to_string().contains("cannot make a temporary file beside"), "{error}");
        assert!(names(&folder).is_empty());
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with an input and its container, both above a megabyte.
#[cfg(unix)]
fn full_folder() -> tempfile::TempDir {
    let values = Random(1).normals(1_200_000, 0.1);
    let file = File::of([("w", Tensor::of(F32, &values))]);
    let fixture = Fixture::new(&file);
    fixture.quantize(&options("cfloat8_1_4_3")).unwrap();
    fixture.folder
}

/// Neither quantizing nor dequantizing has room; the old outputs stay and nothing else.
#[cfg(unix)]
fn no_room(inputs: &Path, outputs: &Path) {
    let path = outputs.join("old");
    fs::write(&path, "old").unwrap();
    let check = |error: &Error| {
        assert!(error.is_no_space() && error.path() == Some(path.as_path()), "{error:?}");
        assert!(error.to_string().contains("no room to write"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(smallfloat_tensor::leftovers(&path).unwrap(), Vec::<std::path::PathBuf>::new());
    };
    let source = inputs.join("in.safetensors");
    for format in ["cfloat8_1_4_3", "shp:bias=15"] {
        check(&quantize(&source, &path, &options(format), &|_| true, &mut |_| ()).unwrap_err());
    }
    let codes = inputs.join("out.safetensors");
    check(&dequantize(&codes, &path, Dtype::F64, None, true, &mut |_| ()).unwrap_err());
}

#[cfg(unix)]
#[test]
fn a_limit_on_file_sizes_leaves_the_old_output() {
    if let Some(folder) = std::env::var_os(crate::common::FOLDER) {
        return no_room(Path::new(&folder), Path::new(&folder));
    }
    let dir = full_folder();
    crate::common::again(
        "file::bad_input::a_limit_on_file_sizes_leaves_the_old_output",
        crate::common::SMALL_FILES,
        dir.path(),
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_the_old_output() {
    if let Some(folder) = std::env::var_os(crate::common::FOLDER) {
        crate::common::mount_a_megabyte();
        let mounted = Path::new(&folder);
        return no_room(mounted.parent().unwrap(), mounted);
    }
    let dir = full_folder();
    let mounted = dir.path().join("mounted");
    fs::create_dir(&mounted).unwrap();
    crate::common::again(
        "file::bad_input::a_full_disk_leaves_the_old_output",
        crate::common::OWN_MOUNTS,
        &mounted,
    );
}
