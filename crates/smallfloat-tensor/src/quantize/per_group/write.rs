//! What is written of a tile: its scales, its codes as the container asks for them, and the errors.

use smallfloat_kernels::{ErrorSums, Level, ScaledErrors};

use super::{ENCODED_ELEMENTS, PerGroup, Place, SUMMED_ELEMENTS, Stored, TileResult, Work};
use crate::error::Result;
use crate::file::stream::StoredCode;
use crate::layout::fp8_remap::{Counts, Table};
use crate::layout::grid::{Tile, index};
use crate::options::Container;
use crate::quantize::output::Part;
use crate::quantize::per_tensor::errors;
use crate::scale::rule::{Scale, ScaleSpec};
use crate::stored::numbers::Held;

impl PerGroup<'_> {
    pub(super) fn tables(
        &self,
        groups: &Tile,
        counts: &[Counts],
        done: &mut TileResult,
    ) -> Result<Vec<bool>> {
        let Some((relabel, _)) = &self.relabel else { return Ok(Vec::new()) };
        let mut tables = Vec::new();
        for (i, counts) in counts.iter().enumerate() {
            let (second, changed) = relabel.choose(counts);
            if changed > 0 && self.options.container != (Container::Fp8 { requantize: true }) {
                let (row, column) = (i as u64 / groups.columns, i as u64 % groups.columns);
                let group = Tile { row: groups.row + row, column: groups.column + column, ..*groups };
                return Err(self.loader.refused(relabel.refusal(&group, changed)));
            }
            done.rounded_again += changed;
            tables.push(second);
        }
        Ok(tables)
    }

    /// The scales of a tile's groups as bytes, and what elements are multiplied by when they are
    /// read.
    pub(super) fn write_scales(
        &self,
        groups: &Tile,
        scales: &[Scale],
        tables: &[bool],
        done: &mut TileResult,
    ) -> Vec<f64> {
        let scale_bytes = match &self.options.scale {
            _ if self.relabel.is_some() => 4,
            scale => scale.as_ref().map_or(1, ScaleSpec::code_size),
        };
        let mut bytes = Vec::with_capacity(scales.len() * scale_bytes);
        let mut stored = Vec::with_capacity(scales.len());
        let by_bias = self.options.scale.is_none() && self.options.format.has_free_bias();
        for (i, scale) in scales.iter().enumerate() {
            if by_bias {
                done.biases.push(i32::try_from(scale.code).expect("a bias has 6 bits"));
            }
            let value = match (&self.relabel, tables.get(i)) {
                (Some((relabel, _)), Some(&second)) => {
                    relabel.table(second).scale(i32::try_from(scale.code).expect("a bias has 6 bits"))
                }
                _ => scale.value,
            };
            stored.push(value);
            match (&self.relabel, &self.options.scale) {
                #[expect(clippy::cast_possible_truncation, reason = "a power of two within F32's range")]
                (Some(_), _) => bytes.extend((value as f32).to_le_bytes()),
                (None, None) => bytes.push(scale.code.to_le_bytes()[0]),
                (None, Some(_)) if scale_bytes == 1 => bytes.push(scale.code.to_le_bytes()[0]),
                (None, Some(spec)) => {
                    bytes.extend(&scale.code.to_le_bytes()[..spec.code_size()]);
                }
            }
        }
        self.write_scale_bytes(groups, &bytes, scale_bytes, done);
        stored
    }

    /// The bytes of a tile's scales, `size` each, where they go.
    pub(super) fn write_scale_bytes(&self, groups: &Tile, bytes: &[u8], size: usize, done: &mut TileResult) {
        let across = self.loader.grid.group_columns;
        // Scales of whole rows of groups follow each other.
        let row = if groups.columns == across { bytes.len() } else { index(groups.columns) * size };
        for (i, row) in bytes.chunks(row.max(1)).enumerate() {
            let group = (groups.row + i as u64) * across + groups.column;
            done.writes.push((Part::Scales, group * size as u64, row.to_vec()));
        }
    }

    /// The codes of a tile in the form that the container asks for, and the errors.
    pub(super) fn write<T: Held, C: StoredCode>(
        &self,
        held: &[T],
        place: Place<'_, C>,
        work: &mut Work,
        (tile, groups): (&Tile, &Tile),
        stored: Stored<'_>,
        done: &mut TileResult,
    ) -> Result<()> {
        let codes = place.codes;
        for (strip, range) in Self::strips(tile, SUMMED_ELEMENTS) {
            let (values, codes) = (&held[range.clone()], &mut codes[range]);
            if let Some((relabel, _)) = &self.relabel {
                self.loader.grid.each_group(&strip, groups, |group, range| {
                    let table: &Table = relabel.table(stored.tables[group]);
                    codes[range].iter_mut().for_each(|code| {
                        let (fp8, _) = table.code(u16::try_from(code.code()).expect("at most 16 bits"));
                        *code = C::from_code(fp8.into());
                    });
                });
            }
            if let Some(sums) = self.errors_in_f32((values, codes), work, (&strip, groups), stored) {
                done.sums = done.sums.then(sums);
                continue;
            }
            let decoded = &mut work.decoded;
            let relabeled = self.relabel.as_ref().map(|(_, decoder)| decoder);
            let Some(decoder) = relabeled.or(self.decoder.as_ref()) else { continue };
            decoded.resize(values.len(), 0.0);
            decoder.decode(codes, decoded);
            self.loader.grid.each_group(&strip, groups, |group, range| {
                let scale = stored.scales[group];
                decoded[range].iter_mut().for_each(|value| *value *= scale);
            });
            done.sums = done.sums.then(errors(values, decoded));
            if self.options.container == Container::Bf16 {
                self.write_bf16(&strip, decoded, done)?;
            }
        }
        match place.packed {
            Some(bytes) => self.options.packing.pack_into(codes, bytes),
            None if place.stay || self.options.container == Container::Bf16 => {}
            None => self.write_codes(tile, codes, done),
        }
        Ok(())
    }

    /// The errors of a strip whose groups have whole lanes, with codes decoded to f32; `None` where
    /// there is no such decoder, or something is not finite.
    fn errors_in_f32<T: Held, C: StoredCode>(
        &self,
        (values, codes): (&[T], &[C]),
        work: &mut Work,
        (strip, groups): (&Tile, &Tile),
        stored: Stored<'_>,
    ) -> Option<ErrorSums> {
        let (decoder, codes) = (self.short_decoder.as_ref()?, C::bytes(codes)?);
        let grid = &self.loader.grid;
        let are_whole = [strip.column, strip.columns, grid.block_columns].iter().all(|n| n.is_multiple_of(8));
        if !are_whole {
            return None;
        }
        let (mut sums, decoded) = (ScaledErrors::default(), &mut work.values);
        for (piece, range) in Self::strips(strip, ENCODED_ELEMENTS) {
            let values = &values[range.clone()];
            decoded.resize(values.len(), 0.0);
            decoder.decode(&codes[range], decoded);
            Level::detected().vectorize(
                #[inline(always)]
                || {
                    // What nobody else sees stays in registers from group to group.
                    let mut within = std::mem::take(&mut sums);
                    grid.each_group(
                        &piece,
                        groups,
                        #[inline(always)]
                        |group, range| {
                            within.add(&values[range.clone()], &decoded[range], stored.scales[group]);
                        },
                    );
                    sums = within;
                },
            );
        }
        sums.total()
    }

    fn write_codes<C: StoredCode>(&self, tile: &Tile, codes: &[C], done: &mut TileResult) {
        let element = self.relabel.as_ref().map_or(self.element, |(relabel, _)| relabel.to);
        let packing = self.options.packing;
        let columns = self.loader.grid.columns;
        let (unit, unit_bytes) = packing.unit(&element);
        let whole = tile.columns == columns && columns.is_multiple_of(unit);
        let run = if whole { codes.len() } else { index(tile.columns) };
        for (i, codes) in codes.chunks(run.max(1)).enumerate() {
            let mut bytes = Vec::new();
            packing.pack(codes, &mut bytes);
            let row = (tile.row + i as u64) * packing.row_bytes(&element, columns);
            done.writes.push((Part::Codes, row + tile.column / unit * unit_bytes, bytes));
        }
    }

    fn write_bf16(&self, strip: &Tile, decoded: &[f64], done: &mut TileResult) -> Result<()> {
        let columns = self.loader.grid.columns;
        let mut bytes = Vec::with_capacity(2 * decoded.len());
        for &value in decoded {
            #[expect(clippy::cast_possible_truncation, reason = "checked right below")]
            let narrow = value as f32;
            let bits = narrow.to_bits();
            if value.is_finite() && (f64::from(narrow).to_bits() != value.to_bits() || bits & 0xffff != 0) {
                let what = format!(
                    "the quantized value {value:e} is not exact in bfloat16: choose the container native"
                );
                return Err(self.loader.refused(what));
            }
            // A NaN keeps a bit in the upper half.
            let high = (bits >> 16).to_le_bytes();
            bytes.extend(if value.is_nan() { [0xc0, 0x7f] } else { [high[0], high[1]] });
        }
        let run = if strip.columns == columns { bytes.len() } else { 2 * index(strip.columns) };
        for (i, bytes) in bytes.chunks(run.max(1)).enumerate() {
            let first = (strip.row + i as u64) * columns + strip.column;
            done.writes.push((Part::Codes, 2 * first, bytes.to_vec()));
        }
        Ok(())
    }
}
