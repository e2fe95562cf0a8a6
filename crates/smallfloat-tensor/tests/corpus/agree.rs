//! What was read here against what stands in the file by other means: the reference crate's view of
//! a safetensors file, the plain rule of an `.npy` file. Used by the tests and by the fuzz targets.

use std::collections::BTreeMap;

use smallfloat_tensor::Source;

/// The bytes as a message can hold them.
pub(crate) fn show(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// Returns whether the reference crates read the file, and, if it was read here too, whether all of
/// it is the same. Panics where it is not.
pub(crate) fn same_as_reference(bytes: &[u8], source: Option<&Source>) -> bool {
    let Ok(file) = safetensors::SafeTensors::deserialize(bytes) else { return false };
    let Some(source) = source else { return true };
    let (_, header) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
    let text: BTreeMap<_, _> = source.metadata().iter().cloned().collect();
    let their_text: BTreeMap<_, _> = header.metadata().clone().unwrap_or_default().into_iter().collect();
    assert_eq!(text, their_text, "{}", show(bytes));
    assert_eq!(source.tensors().len(), file.len(), "{}", show(bytes));
    for tensor in source.tensors() {
        let theirs = file.tensor(&tensor.name).unwrap_or_else(|e| panic!("{e}: {}", show(bytes)));
        let shape: Vec<u64> = theirs.shape().iter().map(|&n| n as u64).collect();
        let dtype = theirs.dtype().to_string();
        assert_eq!((tensor.dtype.name(), &tensor.shape), (&*dtype, &shape), "{}", show(bytes));
        assert!(source.read_all(tensor).unwrap() == theirs.data(), "{}", show(bytes));
    }
    true
}

/// If an `.npy` file was read: its data is what follows the header, all of it. Panics where it is
/// not.
pub(crate) fn whole_array(bytes: &[u8], source: Option<&Source>) -> bool {
    source.is_some_and(|source| {
        let tensor = &source.tensors()[0];
        let at = usize::try_from(tensor.offset).unwrap();
        assert_eq!(tensor.offset + tensor.len, bytes.len() as u64, "{}", show(bytes));
        assert_eq!(tensor.dtype.byte_len(tensor.elements()), Some(tensor.len), "{}", show(bytes));
        assert!(source.read_all(tensor).unwrap() == bytes[at..], "{}", show(bytes));
        true
    })
}
