//! What must be true of any file that is opened: all of it can be read, and what is verified is
//! dequantized to the same numbers.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use smallfloat::Rounding;
use smallfloat_tensor::{Dtype, Options, Scheme, Source, View, dequantize, examine, quantize, verify};

/// A folder of this process.
pub fn folder(target: &str) -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("smallfloat-fuzz-{target}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        folder
    })
}

/// Bits of numbers, all NaNs alike.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect()
}

/// Opens a file, reads it, and holds its tensors against what [`dequantize`] makes of them. Returns
/// whether it is verified.
pub fn check(target: &str, bytes: &[u8]) -> bool {
    let folder = folder(target);
    let (path, wide) = (folder.join("in.safetensors"), folder.join("out.safetensors"));
    let Ok(source) = Source::from_bytes(&path, bytes.to_vec()) else { return false };
    std::fs::write(&path, bytes).expect("a file");
    // What is read from memory is held against what is read from the file.
    let view = View::from_source(source);
    let examined = examine(std::slice::from_ref(&path), None, &mut |_| ());
    let Ok(view) = view else {
        assert!(verify(&path).is_err());
        return false;
    };
    examined.expect("what is opened can be examined");
    let mut all = Vec::new();
    for tensor in view.tensors() {
        let elements = tensor.info.elements();
        let has_numbers = tensor.format().is_some() || tensor.info.dtype.is_wide_float();
        if !has_numbers {
            all.push(None);
            continue;
        }
        let values = view.values(&tensor.info.name).expect("all elements can be read");
        assert_eq!(values.len() as u64, elements);
        if let Some(last) = values.last() {
            let mut again = [0.0];
            view.read(tensor, elements - 1, &mut again).expect("the last element can be read");
            assert_eq!(bits(&again), bits(&[*last]));
        }
        let mut beyond = [0.0];
        view.read(tensor, elements, &mut beyond).expect_err("there is no element after the last");
        all.push(tensor.format().map(|_| values));
    }
    if verify(&path).is_err() {
        return false;
    }
    dequantize(&path, &wide, Dtype::F64, Some(Rounding::NearestEven), true, &mut |_| ())
        .expect("what is verified can be dequantized");
    // Bytes that are copied may look like codes of another layout beside their scales, so the file
    // is read as it is.
    let wide = Source::open(&wide).expect("a file of ours");
    assert_eq!(wide.tensors().len(), view.tensors().len());
    for (tensor, values) in view.tensors().iter().zip(all) {
        let written = wide.tensor(&tensor.info.name).expect("every tensor is written");
        assert_eq!(written.shape, tensor.info.shape);
        let bytes = wide.read_all(written).expect("a file of ours");
        match values {
            Some(values) => {
                let numbers: Vec<f64> =
                    bytes.as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
                assert_eq!(bits(&numbers), bits(&values), "{}", tensor.info.name);
            }
            None => assert!(bytes == view.source().read_all(&tensor.info).expect("it was read")),
        }
    }
    true
}

/// Quantizes the file of the last check, which was verified, again: an error, or a file that is
/// verified.
pub fn again(target: &str, scheme: &str) {
    let folder = folder(target);
    let (path, output) = (folder.join("in.safetensors"), folder.join("again.safetensors"));
    let scheme: Scheme = scheme.parse().expect("a scheme");
    let options = Options { overwrite: true, ..scheme.options() };
    if quantize(&path, &output, &options, &|_| true, &mut |_| ()).is_ok() && scheme.layout.is_native() {
        verify(&output).expect("what is written is verified");
    }
}

/// Bytes of the input, one after the other, and zeros after them.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    /// One of several things.
    pub fn of<T: Copy>(&mut self, things: &[T]) -> T {
        things[usize::from(self.byte()) % things.len()]
    }

    /// So many bytes at most.
    pub fn some(&mut self, count: usize) -> Vec<u8> {
        let (some, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        some.to_vec()
    }

    /// Bytes of data, which repeat what is left.
    pub fn data(&mut self, length: usize) -> Vec<u8> {
        let period = usize::from(self.byte()) % 40 + 1;
        let some = self.some(period);
        (0..length)
            .map(|i| some.get(i % some.len().max(1)).map_or(0, |byte| byte ^ (i / 64 % 8) as u8))
            .collect()
    }
}
