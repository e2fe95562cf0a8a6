//! The shape in which codes are stored, and why the native one is not the tensor's own.
//!
//! Programs that don't know the native container look a tensor up by its name, and some cast what
//! they find to the model's dtype: codes of the right shape would become weights from 0 to 255, and
//! no one is told. So native codes have one dimension more, of size 1, which no shape check lets
//! pass; what the metadata says is the tensor's own shape. Codes of a scalar are `[1, 1]`, since
//! PyTorch's `load_state_dict` takes a tensor `[1]` for a scalar.
//!
//! Files from before that have the tensor's own shape, packed codes with the last dimension in
//! bytes. They are read as well.

use smallfloat::Format;

use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;

/// What decides the shape of a tensor's codes in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredShape<'a> {
    pub(crate) element: &'a Format,
    pub(crate) packing: Packing,
    pub(crate) granularity: Granularity,
    /// The shape of the tensor that the codes stand for.
    pub(crate) tensor: &'a [u64],
}

impl StoredShape<'_> {
    /// The shape of the codes, the last dimension in bytes where they are packed.
    pub(crate) fn packed(&self) -> Vec<u64> {
        if self.packing == Packing::Bytes {
            return self.tensor.to_vec();
        }
        let grid = Grid::new(self.tensor, self.granularity);
        let row = self.packing.row_bytes(self.element, grid.columns);
        match self.tensor {
            [rest @ .., last] if *last == grid.columns => rest.iter().copied().chain([row]).collect(),
            [] => vec![row],
            _ => vec![grid.rows, row],
        }
    }

    /// The shape of codes in the native container: dimensions of 1 after those of the codes, so
    /// that there is one more than the tensor has. Packed rows of channels may have fewer than
    /// that.
    pub(crate) fn native(&self) -> Vec<u64> {
        let mut shape = self.packed();
        let dimensions = shape.len().max(self.tensor.len()).max(1) + 1;
        shape.resize(dimensions, 1);
        shape
    }

    /// Checks the shape that codes have in a native container; `named` is whether the metadata
    /// names the tensor's shape, as it does wherever that is not the codes' own.
    pub(crate) fn check(&self, codes: &[u64], named: bool) -> Result<(), String> {
        let (native, former) = (self.native(), self.packed());
        if codes == former || named && codes == native {
            return Ok(());
        }
        Err(format!(
            "its codes have the shape {codes:?}; those of a tensor of shape {:?} have {native:?}, in files of before \
             {former:?}",
            self.tensor
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallfloat::formats::{E2M1FN, E2M3FN, E4M3FN};

    #[test]
    fn native_codes_have_one_dimension_more() {
        let native = |packing, element: &Format, granularity: &str, tensor: &[u64]| {
            StoredShape { element, packing, granularity: granularity.parse().unwrap(), tensor }.native()
        };
        assert_eq!(native(Packing::Bytes, &E4M3FN, "tensor", &[5, 7]), [5, 7, 1]);
        assert_eq!(native(Packing::Bytes, &E4M3FN, "tensor", &[5]), [5, 1]);
        assert_eq!(native(Packing::Bytes, &E4M3FN, "tensor", &[0, 3]), [0, 3, 1]);
        assert_eq!(native(Packing::Bytes, &E4M3FN, "tensor", &[]), [1, 1]);
        // A row of seven is four bytes of two, or six of four in three.
        assert_eq!(native(Packing::NibblesLow, &E2M1FN, "block:32", &[5, 7]), [5, 4, 1]);
        assert_eq!(native(Packing::SixBit, &E2M3FN, "block:32", &[2, 5, 7]), [2, 5, 6, 1]);
        assert_eq!(native(Packing::NibblesLow, &E2M1FN, "channel", &[2, 5, 7]), [2, 18, 1, 1]);
        // Three codes of six bits are three bytes.
        assert_eq!(native(Packing::SixBit, &E2M3FN, "channel", &[2, 3, 1]), [2, 3, 1, 1]);
        // One column is one byte: alone that would be the tensor's own shape.
        assert_eq!(native(Packing::NibblesLow, &E2M1FN, "block:32", &[9, 1]), [9, 1, 1]);
    }
}
