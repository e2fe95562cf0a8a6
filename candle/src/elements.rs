//! Elements of candle's tensors as binary32, and back to the tensor's own type.

use std::borrow::Cow;

use candle_core::{CpuStorage, DType, Layout, Result, Storage, Tensor, bail};
use half::{bf16, f16};
use smallfloat_train::{Elements, EncodedTensor};

/// Refuses what the kernels can't read, before anything has learnt from it.
pub(crate) fn check(tensor: &Tensor, what: &str, types: &[DType]) -> Result<()> {
    if !tensor.device().is_cpu() {
        bail!("{what}: the tensor is on {:?}, it must be on the CPU", tensor.device().location());
    }
    if !types.contains(&tensor.dtype()) {
        let names: Vec<_> = types.iter().map(DType::as_str).collect();
        bail!("{what}: elements are {}, they must be {}", tensor.dtype().as_str(), names.join(", "));
    }
    Ok(())
}

/// The elements of a contiguous tensor. Those of 16 bits are widened, which is exact.
pub(crate) fn elements<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<Cow<'a, [f32]>> {
    let Some((first, end)) = layout.contiguous_offsets() else {
        bail!("elements do not lie in order: call contiguous() first");
    };
    Ok(match storage {
        CpuStorage::F32(values) => Cow::Borrowed(&values[first..end]),
        CpuStorage::F16(values) => values[first..end].iter().map(|x| x.to_f32()).collect(),
        CpuStorage::BF16(values) => values[first..end].iter().map(|x| x.to_f32()).collect(),
        _ => bail!("elements must be f32, f16 or bf16"),
    })
}

/// As [`elements`] of a tensor with any layout: `f` has them.
pub(crate) fn with_elements<T>(tensor: &Tensor, f: impl FnOnce(Cow<'_, [f32]>) -> Result<T>) -> Result<T> {
    let tensor = tensor.contiguous()?;
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => f(elements(storage, layout)?),
        Storage::Cuda(_) | Storage::Metal(_) => bail!("the tensor is not on the CPU"),
    }
}

/// Values in storage of a type that [`holds`] them.
pub(crate) fn storage(values: Vec<f32>, dtype: DType) -> Result<CpuStorage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::F32(values),
        DType::F16 => CpuStorage::F16(values.into_iter().map(f16::from_f32).collect()),
        DType::BF16 => CpuStorage::BF16(values.into_iter().map(bf16::from_f32).collect()),
        _ => bail!("elements must be f32, f16 or bf16"),
    })
}

/// Returns whether a type has all values that such codes can have. Else storing them would be a
/// second rounding.
pub(crate) fn holds(dtype: DType, codes: &EncodedTensor) -> bool {
    let back: fn(f32) -> f32 = match dtype {
        DType::F16 => |x| f16::from_f32(x).to_f32(),
        DType::BF16 => |x| bf16::from_f32(x).to_f32(),
        _ => return true,
    };
    let Some(coder) = &codes.coder else { return true };
    let largest = u16::try_from(coder.format.max_code()).unwrap_or(u16::MAX);
    // A byte for formats of at most 8 bits, as the decoder wants it.
    let data = match u8::try_from(largest) {
        Ok(largest) => Elements::Bytes((0..=largest).collect()),
        Err(_) => Elements::Halves((0..=largest).collect()),
    };
    let all = EncodedTensor { coder: Some(coder.clone()), exponent: codes.exponent, data };
    all.values().into_iter().all(|x| x.is_nan() || back(x).to_bits() == x.to_bits())
}
