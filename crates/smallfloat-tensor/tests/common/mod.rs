//! What the test programs share: inputs made and outputs read by the reference crate, random data,
//! the core's answer element by element, and second processes in trouble.
#![allow(dead_code, reason = "each test program uses its part")]

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::tensor::TensorView;
use serde_json::Value;
use sha2::{Digest, Sha256};
use smallfloat::{Class, FlagPolicy, Flags, Format, Projection, convert_with, formats};
use smallfloat_tensor::{Error, Options, Report, quantize};

/// The four element types that are quantized.
pub(crate) const WIDE: [safetensors::Dtype; 4] =
    [safetensors::Dtype::F64, safetensors::Dtype::F32, safetensors::Dtype::F16, safetensors::Dtype::BF16];

/// Names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// One tensor as the reference crate has it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tensor {
    pub(crate) dtype: safetensors::Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl Tensor {
    pub(crate) fn new(dtype: safetensors::Dtype, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self { dtype, shape: shape.to_vec(), bytes }
    }

    /// A vector of numbers, each rounded to the element type.
    pub(crate) fn of(dtype: safetensors::Dtype, values: &[f64]) -> Self {
        Self::new(dtype, &[values.len()], bytes_of(dtype, values))
    }

    pub(crate) fn f32(values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        Self::new(safetensors::Dtype::F32, &[values.len()], bytes)
    }

    pub(crate) fn shaped(self, shape: &[usize]) -> Self {
        Self { shape: shape.to_vec(), ..self }
    }

    /// The elements' bits.
    pub(crate) fn bits(&self) -> Vec<u64> {
        let size = self.dtype.bitsize() / 8;
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        self.bytes.chunks_exact(size).map(bits).collect()
    }

    /// The elements as numbers, exactly.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        self.bits().into_iter().map(|bits| number(self.dtype, bits)).collect()
    }
}

/// A whole safetensors file in the reference crate's eyes.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct File {
    pub(crate) tensors: BTreeMap<String, Tensor>,
    pub(crate) metadata: HashMap<String, String>,
}

impl File {
    pub(crate) fn of<N: Into<String>>(tensors: impl IntoIterator<Item = (N, Tensor)>) -> Self {
        let tensors = tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect();
        Self { tensors, metadata: HashMap::new() }
    }

    pub(crate) fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, Tensor::new(view.dtype(), view.shape(), view.data().to_vec())));
        Self { tensors: tensors.collect(), metadata: header.metadata().clone().unwrap_or_default() }
    }

    pub(crate) fn write(&self, path: &Path) {
        let views = self.tensors.iter().map(|(name, tensor)| {
            (name, TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.bytes).unwrap())
        });
        let metadata = (!self.metadata.is_empty()).then(|| self.metadata.clone());
        // A new file: file systems flush one that is cut and written again, which takes longer.
        let _ = fs::remove_file(path);
        fs::write(path, safetensors::serialize(views, metadata).unwrap()).unwrap();
    }

    /// The JSON of `smallfloat.tensors`.
    pub(crate) fn entries(&self) -> Value {
        serde_json::from_str(&self.metadata["smallfloat.tensors"]).unwrap()
    }

    pub(crate) fn set_entries(&mut self, entries: &Value) {
        self.metadata.insert("smallfloat.tensors".to_owned(), entries.to_string());
    }
}

/// A folder with an input file in it.
pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) input: PathBuf,
    pub(crate) output: PathBuf,
}

impl Fixture {
    pub(crate) fn new(file: &File) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.safetensors"), folder.path().join("out.safetensors"));
        file.write(&input);
        Self { folder, input, output }
    }

    pub(crate) fn quantize(&self, options: &Options) -> Result<Report, Error> {
        quantize(&self.input, &self.output, options, &|_| true, &mut |_| ())
    }
}

/// Options for a format by name.
pub(crate) fn options(format: &str) -> Options {
    Options { overwrite: true, ..Options::new(format.parse().unwrap()) }
}

/// Quantizes and reads the result with the reference crate.
pub(crate) fn quantized(file: &File, options: &Options) -> (Report, File) {
    let fixture = Fixture::new(file);
    let report = fixture.quantize(options).unwrap();
    (report, File::read(&fixture.output))
}

/// The shape of codes that fill bytes, in the native container.
pub(crate) fn native_shape(tensor: &[usize]) -> Vec<usize> {
    if tensor.is_empty() { vec![1, 1] } else { [tensor, &[1]].concat() }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The core's format of an element type.
pub(crate) fn wide_format(dtype: safetensors::Dtype) -> Format {
    match dtype {
        safetensors::Dtype::F64 => formats::BINARY64,
        safetensors::Dtype::F32 => formats::BINARY32,
        safetensors::Dtype::F16 => formats::BINARY16,
        safetensors::Dtype::BF16 => formats::BFLOAT16,
        other => panic!("{other} is no wide float"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the bits of narrow types are narrow; f32 is asked for")]
pub(crate) fn number(dtype: safetensors::Dtype, bits: u64) -> f64 {
    match dtype {
        safetensors::Dtype::F64 => f64::from_bits(bits),
        safetensors::Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
        safetensors::Dtype::F16 => f16::from_bits(bits as u16).to_f64(),
        safetensors::Dtype::BF16 => bf16::from_bits(bits as u16).to_f64(),
        other => panic!("{other} is no wide float"),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "f32 is asked for")]
pub(crate) fn bytes_of(dtype: safetensors::Dtype, values: &[f64]) -> Vec<u8> {
    let bytes = |&x: &f64| match dtype {
        safetensors::Dtype::F64 => x.to_le_bytes().to_vec(),
        safetensors::Dtype::F32 => (x as f32).to_le_bytes().to_vec(),
        safetensors::Dtype::F16 => f16::from_f64(x).to_le_bytes().to_vec(),
        safetensors::Dtype::BF16 => bf16::from_f64(x).to_le_bytes().to_vec(),
        other => panic!("{other} is no wide float"),
    };
    values.iter().flat_map(bytes).collect()
}

/// What the core makes of a tensor, and the figures that follow from it, summed plainly.
#[derive(Default, Debug)]
pub(crate) struct Expected {
    /// The codes as the file has them.
    pub(crate) bytes: Vec<u8>,
    pub(crate) overflowed: u64,
    pub(crate) underflowed: u64,
    pub(crate) zero: u64,
    pub(crate) nan: u64,
    pub(crate) inf: u64,
    pub(crate) flags: Flags,
    pub(crate) amax: f64,
    pub(crate) signal: f64,
    pub(crate) noise: f64,
}

impl Expected {
    pub(crate) fn of(
        tensor: &Tensor,
        format: &Format,
        mut projection: impl FnMut(u64) -> Projection,
    ) -> Self {
        let mut all = Self::default();
        for (i, bits) in tensor.bits().into_iter().enumerate() {
            // Kernels have Tesla's flags.
            let source = wide_format(tensor.dtype);
            let projection = projection(i as u64);
            let rounded = convert_with(bits, &source, format, &projection, FlagPolicy::TESLA);
            let (x, q) = (number(tensor.dtype, bits), format.decode_f64(rounded.value).value);
            let zero = format.classify(rounded.value) == Class::Zero;
            let size = if format.width() <= 8 { 1 } else { 2 };
            all.bytes.extend(&rounded.value.to_le_bytes()[..size]);
            all.overflowed += u64::from(rounded.flags.contains(Flags::OVERFLOW));
            all.zero += u64::from(zero);
            all.underflowed += u64::from(zero && x.is_finite() && x != 0.0);
            all.nan += u64::from(x.is_nan());
            all.inf += u64::from(x.is_infinite());
            all.flags |= rounded.flags;
            if x.is_finite() {
                all.amax = all.amax.max(x.abs());
            }
            if x.is_finite() && q.is_finite() {
                all.signal += x * x;
                all.noise += (x - q) * (x - q);
            }
        }
        all
    }

    pub(crate) fn sqnr_db(&self) -> Option<f64> {
        (self.noise > 0.0).then(|| 10.0 * (self.signal / self.noise).log10())
    }

    /// Returns whether a report says the same. Sums may differ in their order, so SQNRs by a hair.
    pub(crate) fn check(&self, report: &smallfloat_tensor::TensorReport) {
        let counts = (report.overflowed, report.underflowed, report.zeros, report.nans, report.infinities);
        let expected = (self.overflowed, self.underflowed, self.zero, self.nan, self.inf);
        assert_eq!(counts, expected, "{}", report.name);
        assert_eq!(report.flags, self.flags.to_string(), "{}", report.name);
        assert_eq!(report.amax.map(f64::to_bits), Some(self.amax.to_bits()), "{}", report.name);
        close(report.sqnr_db, self.sqnr_db());
    }
}

#[track_caller]
pub(crate) fn close(a: Option<f64>, b: Option<f64>) {
    match (a, b) {
        (Some(a), Some(b)) => {
            assert!((a - b).abs() < 1e-9 || a.to_bits() == b.to_bits(), "{a} and {b}");
        }
        _ => assert_eq!(a, b),
    }
}

/// A small generator of test data (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn sign(&mut self) -> f64 {
        if self.next() >> 63 == 0 { 1.0 } else { -1.0 }
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    pub(crate) fn normals(&mut self, count: usize, scale: f64) -> Vec<f64> {
        (0..count).map(|_| self.normal() * scale).collect()
    }
}

/// Set in a second process: where it is to work.
#[cfg(unix)]
pub(crate) const FOLDER: &str = "SMALLFLOAT_TEST_FOLDER";

/// The shell line that limits files to about 100 kB; errors instead of signals.
#[cfg(unix)]
pub(crate) const SMALL_FILES: &str =
    "(trap '' XFSZ && ulimit -f 100) || exit 99; trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";

/// The shell line for a process that may mount.
#[cfg(target_os = "linux")]
pub(crate) const OWN_MOUNTS: &str = "unshare -rm true 2>/dev/null || exit 99; exec unshare -rm \"$0\" \"$@\"";

/// Runs this test again in a process that a line of shell has prepared for trouble; the line exits
/// with 99 where the system does not allow that.
#[cfg(unix)]
pub(crate) fn again(test: &str, script: &str, folder: &Path) {
    let status = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--quiet"])
        .env(FOLDER, folder)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    if status.code() == Some(99) {
        eprintln!("{test}: skipped, the system does not allow `{script}`");
    } else {
        assert!(status.success(), "{test} in `{script}`: {status}");
    }
}

/// Mounts a file system of a megabyte on a folder. It ends with the process's own name space.
#[cfg(target_os = "linux")]
pub(crate) fn mount_a_megabyte() {
    let mount = format!("mount -t tmpfs -o size=1m none \"${FOLDER}\"");
    assert!(std::process::Command::new("sh").args(["-c", &mount]).status().unwrap().success());
}
