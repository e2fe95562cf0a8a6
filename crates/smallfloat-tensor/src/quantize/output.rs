//! [`Output`]: where the parts of a quantized tensor go, in a file or in memory.

use crate::error::Result;
use crate::file::sink::Sink;
use crate::layout::grid::index;

/// A part of a quantized tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Codes,
    /// Scales, or biases in their place.
    Scales,
    /// The F32 number that divides all scales.
    Global,
}

/// Takes the little-endian bytes of a tensor's parts, each byte once, in any order. What a tensor
/// does not have is dropped.
pub(crate) trait Output {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()>;
}

/// The tensors of a file that the parts of one are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputSlots {
    pub(crate) codes: usize,
    pub(crate) scale: Option<usize>,
    pub(crate) global: Option<usize>,
}

impl Output for (&Sink, OutputSlots) {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()> {
        let (sink, slots) = *self;
        let slot = match part {
            Part::Codes => Some(slots.codes),
            Part::Scales => slots.scale,
            Part::Global => slots.global,
        };
        slot.map_or(Ok(()), |slot| sink.write_at(slot, offset, bytes))
    }
}

/// Memory for codes and scales, which has the length of either.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    pub(crate) codes: &'a mut [u8],
    pub(crate) scales: &'a mut [u8],
}

impl Output for Memory<'_> {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()> {
        let place = index(offset)..index(offset) + bytes.len();
        match part {
            Part::Codes => self.codes[place].copy_from_slice(bytes),
            Part::Scales if !self.scales.is_empty() => self.scales[place].copy_from_slice(bytes),
            // Who writes to memory knows the number.
            Part::Scales | Part::Global => {}
        }
        Ok(())
    }
}
