//! [`Output`]: where the parts of a quantized tensor go, in a file or in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use crate::error::Result;
use crate::file::write::sink::Sink;
use crate::layout::blocks::Blocks;
use crate::layout::convention::{TILE, in_tiles, place_in_tiles};
use crate::layout::grid::{Grid, index};

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
pub(crate) trait Output<'a> {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Gives away the memory for all codes, if there is any. Who takes it fills it and writes no
    /// codes.
    fn take_codes(&mut self) -> Option<&'a mut [u8]> {
        None
    }
}

/// The tensors of a file that the parts of one are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputSlots {
    pub(crate) codes: usize,
    pub(crate) scale: Option<usize>,
    pub(crate) global: Option<usize>,
    /// The first of those that say how the tensor is stored.
    pub(crate) signs: usize,
}

impl Output<'_> for (&Sink, OutputSlots) {
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

/// The tensors of a file whose scales lie in tiles, which are kept until all of them are known:
/// they are bytes, one for 16 elements or more.
#[derive(Debug)]
pub(crate) struct Tiles<'a> {
    inner: (&'a Sink, OutputSlots),
    columns: u64,
    bytes: Vec<u8>,
}

impl<'a> Tiles<'a> {
    pub(crate) fn new(inner: (&'a Sink, OutputSlots), grid: &Grid) -> Self {
        let [rows, columns] = in_tiles(grid.group_rows, grid.group_columns);
        Self { inner, columns: grid.group_columns, bytes: vec![0; index(rows * columns)] }
    }

    /// Writes all scales.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.inner.write_at(Part::Scales, 0, &self.bytes)
    }
}

impl Output<'_> for Tiles<'_> {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()> {
        if part != Part::Scales {
            return self.inner.write_at(part, offset, bytes);
        }
        // Scales of a row lie together as far as a tile goes.
        let columns = self.columns.max(1);
        let (mut row, mut column, mut rest) = (offset / columns, offset % columns, bytes);
        while !rest.is_empty() {
            let run = (TILE.1 - column % TILE.1).min(self.columns - column).min(rest.len() as u64);
            let (run, place) = (index(run), index(place_in_tiles(row, column, self.columns)));
            let (scales, after) = rest.split_at(run);
            let places = &mut self.bytes[place..place + run];
            match (<&[u8; 4]>::try_from(scales), <&mut [u8; 4]>::try_from(&mut *places)) {
                // A copy of a known length is no call for every run.
                (Ok(scales), Ok(places)) => *places = *scales,
                _ => places.copy_from_slice(scales),
            }
            rest = after;
            column += run as u64;
            if column == self.columns {
                (row, column) = (row + 1, 0);
            }
        }
        Ok(())
    }
}

/// The tensor of a file that has blocks of codes with their scales. The scales of a run of blocks
/// are kept until their codes are known, which come next.
#[derive(Debug)]
pub(crate) struct BlockOutput<'a> {
    inner: (&'a Sink, OutputSlots),
    blocks: Blocks,
    scales: HashMap<u64, Vec<u8>>,
}

impl<'a> BlockOutput<'a> {
    pub(crate) fn new(inner: (&'a Sink, OutputSlots), blocks: Blocks) -> Self {
        Self { inner, blocks, scales: HashMap::new() }
    }
}

impl Output<'_> for BlockOutput<'_> {
    fn write_at(&mut self, part: Part, offset: u64, bytes: &[u8]) -> Result<()> {
        let Blocks { elements, codes_at, .. } = self.blocks;
        match part {
            Part::Global => self.inner.write_at(part, offset, bytes),
            Part::Scales => {
                self.scales.insert(offset / codes_at, bytes.to_vec());
                Ok(())
            }
            Part::Codes => {
                let block = offset / elements;
                let scales = self.scales.remove(&block).expect("scales come before their codes");
                let blocks = self.blocks.assemble(bytes, &scales);
                self.inner.write_at(part, block * self.blocks.bytes, &blocks)
            }
        }
    }
}

/// Memory for codes and scales, which has the length of either.
#[derive(Debug)]
pub(crate) struct Memory<'a> {
    pub(crate) codes: &'a mut [u8],
    pub(crate) scales: &'a mut [u8],
}

impl<'a> Output<'a> for Memory<'a> {
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

    fn take_codes(&mut self) -> Option<&'a mut [u8]> {
        Some(std::mem::take(&mut self.codes))
    }
}

/// The memory for codes, by the parts that threads fill.
#[derive(Debug, Default)]
pub(crate) struct CodeParts<'a>(Vec<Mutex<&'a mut [u8]>>);

impl<'a> CodeParts<'a> {
    /// Of parts that follow each other, with so many codes each.
    pub(crate) fn new(mut codes: &'a mut [u8], lengths: impl Iterator<Item = u64>) -> Self {
        let part = |length| {
            let (part, rest) = std::mem::take(&mut codes).split_at_mut(index(length));
            codes = rest;
            Mutex::new(part)
        };
        Self(lengths.map(part).collect())
    }

    /// One of them, which nobody else fills; `None` if codes are written.
    pub(crate) fn lock(&self, i: u64) -> Option<MutexGuard<'_, &'a mut [u8]>> {
        Some(self.0.get(index(i))?.try_lock().expect("a part is filled once"))
    }
}
