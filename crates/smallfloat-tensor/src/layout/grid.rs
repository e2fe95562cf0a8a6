//! [`Granularity`]: which elements of a tensor share a scale, and [`Grid`]: where they lie.
//!
//! A tensor is seen as rows × columns, in row-major order. A scalar has one row of one element, a
//! vector is one row. For `channel` the first dimension counts the rows (the output channels of
//! linear and convolution layers) and all others together the columns; for `block` the last
//! dimension counts the columns (the direction of a product's sum) and all others together the
//! rows. For matrices both are the same. Blocks at the right and lower edge may be smaller.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, Result};

/// The group of elements that shares a scale.
///
/// Rows run along the last dimension; all dimensions before it count the rows, and a tensor of one
/// dimension or none is one row. No block reaches beyond a row's end: where the block's columns
/// don't divide the row, its last block is shorter and has a scale of its own. So `block:32` of the
/// shape [5, 3, 50] has 15 rows of 2 scales.
///
/// ```
/// use smallfloat_tensor::Granularity;
/// assert_eq!("block:32".parse::<Granularity>()?.scale_shape(&[5, 3, 50]), [15, 2]);
/// assert_eq!("block:32".parse::<Granularity>()?, Granularity::Block { rows: 1, columns: 32 });
/// assert_eq!("block:128x128".parse::<Granularity>()?.to_string(), "block:128x128");
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Granularity {
    /// The whole tensor.
    #[default]
    Tensor,
    /// All elements with the same first index.
    Channel,
    /// A rectangle of this many rows and columns, each at least 1.
    Block {
        /// Rows of a block.
        rows: u64,
        /// Columns of a block.
        columns: u64,
    },
}

impl FromStr for Granularity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let what = format!(
                "granularity `{text}` is not understood: write tensor, channel, block:N or block:RxC (sizes from 1)"
            );
            Error::option(what)
        };
        let size = |text: &str| text.parse().ok().filter(|&n: &u64| n > 0).ok_or_else(wrong);
        match text {
            "tensor" => Ok(Self::Tensor),
            "channel" => Ok(Self::Channel),
            _ => {
                let block = text.strip_prefix("block:").ok_or_else(wrong)?;
                let (rows, columns) = block.split_once('x').unwrap_or(("1", block));
                Ok(Self::Block { rows: size(rows)?, columns: size(columns)? })
            }
        }
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor => f.write_str("tensor"),
            Self::Channel => f.write_str("channel"),
            Self::Block { rows: 1, columns } => write!(f, "block:{columns}"),
            Self::Block { rows, columns } => write!(f, "block:{rows}x{columns}"),
        }
    }
}

impl Granularity {
    /// Returns the shape of the tensor of scales: [] | [channels, 1] | [block rows, block columns].
    pub fn scale_shape(self, shape: &[u64]) -> Vec<u64> {
        let grid = Grid::new(shape, self);
        match self {
            Self::Tensor => Vec::new(),
            Self::Channel | Self::Block { .. } => vec![grid.group_rows, grid.group_columns],
        }
    }
}

/// The most elements of several groups that are held at once.
pub(crate) const TILE_ELEMENTS: u64 = 1 << 19;

/// The most scales of a tensor of no elements, which has no data to justify them.
const SCALES_OF_NOTHING: u64 = 1 << 20;

/// Elements that a thread takes at once, where groups allow it.
pub(crate) const PIECE_ELEMENTS: u64 = 1 << 15;

/// A tensor's rows and columns, and its groups of elements with one scale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Grid {
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    /// The size of a whole group; those at the edges may be smaller.
    pub(crate) block_rows: u64,
    pub(crate) block_columns: u64,
    /// How many groups there are in each direction.
    pub(crate) group_rows: u64,
    pub(crate) group_columns: u64,
}

/// A rectangle of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Tile {
    pub(crate) row: u64,
    pub(crate) rows: u64,
    pub(crate) column: u64,
    pub(crate) columns: u64,
}

impl Tile {
    pub(crate) fn elements(&self) -> u64 {
        self.rows * self.columns
    }

    /// Row and column of each, row by row.
    pub(crate) fn all(self) -> impl Iterator<Item = (u64, u64)> {
        (self.row..self.row + self.rows)
            .flat_map(move |row| (self.column..self.column + self.columns).map(move |column| (row, column)))
    }
}

impl Grid {
    pub(crate) fn new(shape: &[u64], granularity: Granularity) -> Self {
        let product = |dimensions: &[u64]| dimensions.iter().product::<u64>();
        let (rows, columns) = match (granularity, shape) {
            (_, []) => (1, 1),
            (_, [columns]) => (1, *columns),
            (Granularity::Channel, [rows, rest @ ..]) => (*rows, product(rest)),
            (_, [rest @ .., columns]) => (product(rest), *columns),
        };
        let (block_rows, block_columns) = match granularity {
            Granularity::Tensor => (rows.max(1), columns.max(1)),
            Granularity::Channel => (1, columns.max(1)),
            Granularity::Block { rows: r, columns: c } => (r.min(rows).max(1), c.min(columns).max(1)),
        };
        let (group_rows, group_columns) = match granularity {
            // An empty tensor has a scale even so.
            Granularity::Tensor => (1, 1),
            Granularity::Channel => (rows, 1),
            Granularity::Block { .. } => (rows.div_ceil(block_rows), columns.div_ceil(block_columns)),
        };
        Self { rows, columns, block_rows, block_columns, group_rows, group_columns }
    }

    /// Refuses very many scales of no elements, such as those of the rows of a shape [2^60, 0].
    pub(crate) fn check_scales(&self) -> Result<(), String> {
        let scales = self.group_rows.saturating_mul(self.group_columns);
        if self.rows > 0 && self.columns > 0 || scales <= SCALES_OF_NOTHING {
            return Ok(());
        }
        Err(format!("has no elements and {scales} scales; at most {SCALES_OF_NOTHING} are written for none"))
    }

    /// The size of the rectangles that the work goes by: made of whole groups, with about
    /// [`PIECE_ELEMENTS`], and at most [`TILE_ELEMENTS`] elements unless a single group has more.
    fn tile_size(&self) -> (u64, u64) {
        let band = self.block_rows.saturating_mul(self.columns.max(1));
        // Several rows of groups, or one of them in parts.
        let bands = (PIECE_ELEMENTS / band).max(1);
        let block = self.block_rows.saturating_mul(self.block_columns);
        let across = if band <= TILE_ELEMENTS {
            self.group_columns.max(1)
        } else {
            // Rows are contiguous in the file, so that their parts had better be long.
            let target = if self.block_rows == 1 { PIECE_ELEMENTS } else { TILE_ELEMENTS };
            let across = (target / block).clamp(1, self.group_columns.max(1));
            // Packed codes begin at whole bytes.
            if across > 4 { across / 4 * 4 } else { across }
        };
        (bands.saturating_mul(self.block_rows), across.saturating_mul(self.block_columns))
    }

    /// Returns whether the elements of each of these rectangles follow each other in the tensor,
    /// and those of the next one follow them.
    pub(crate) fn tiles_are_runs(&self) -> bool {
        let (height, width) = self.tile_size();
        width >= self.columns || height == 1
    }

    /// How many of these rectangles there are.
    pub(crate) fn tile_count(&self) -> u64 {
        let (height, width) = self.tile_size();
        self.rows.div_ceil(height) * self.columns.div_ceil(width)
    }

    /// One of them, counted row by row.
    pub(crate) fn tile(&self, i: u64) -> Tile {
        let (height, width) = self.tile_size();
        let across = self.columns.div_ceil(width).max(1);
        let (row, column) = (i / across * height, i % across * width);
        Tile { row, rows: height.min(self.rows - row), column, columns: width.min(self.columns - column) }
    }

    /// The parts of a tile of at most so many elements, in order.
    pub(crate) fn pieces(tile: Tile, elements: u64) -> impl Iterator<Item = Tile> {
        let width = tile.columns.clamp(1, elements);
        let height = if width < tile.columns { 1 } else { (elements / width).max(1) };
        (0..tile.rows.div_ceil(height)).flat_map(move |i| {
            (0..tile.columns.div_ceil(width)).map(move |j| {
                let (row, column) = (i * height, j * width);
                Tile {
                    row: tile.row + row,
                    rows: height.min(tile.rows - row),
                    column: tile.column + column,
                    columns: width.min(tile.columns - column),
                }
            })
        })
    }

    /// How many contiguous pieces of at most [`PIECE_ELEMENTS`] elements there are.
    pub(crate) fn piece_count(&self) -> u64 {
        let (height, width) = self.piece_size();
        self.rows.div_ceil(height) * self.columns.div_ceil(width)
    }

    fn piece_size(&self) -> (u64, u64) {
        let width = self.columns.clamp(1, PIECE_ELEMENTS);
        (if width < self.columns { 1 } else { (PIECE_ELEMENTS / width).max(1) }, width)
    }

    /// One of them: whole rows, or a part of one.
    pub(crate) fn piece(&self, i: u64) -> Tile {
        let (height, width) = self.piece_size();
        let across = self.columns.div_ceil(width).max(1);
        let (row, column) = (i / across * height, i % across * width);
        Tile { row, rows: height.min(self.rows - row), column, columns: width.min(self.columns - column) }
    }

    /// The length of a piece's groups if these are whole parts of single rows: its elements are
    /// theirs, one group after the other.
    pub(crate) fn group_length(&self, piece: &Tile) -> Option<usize> {
        let whole = |column: u64| column.is_multiple_of(self.block_columns);
        let are_whole = self.block_rows == 1 && whole(piece.column) && whole(piece.columns);
        are_whole.then(|| index(self.block_columns))
    }

    /// Calls `each` with the groups that a piece reaches into, row by row: the group's index within
    /// `groups` and the place of its elements in the piece.
    #[inline(always)]
    pub(crate) fn each_group(&self, piece: &Tile, groups: &Tile, mut each: impl FnMut(usize, Range<usize>)) {
        let mut at = 0;
        // Groups are small: nothing is divided for each of them.
        let first = piece.column / self.block_columns;
        let first_stop = (first + 1).saturating_mul(self.block_columns);
        for row in piece.row..piece.row + piece.rows {
            let mut group = (row / self.block_rows - groups.row) * groups.columns + first - groups.column;
            let (mut column, end) = (piece.column, piece.column + piece.columns);
            let mut stop = first_stop.min(end);
            while column < end {
                let count = index(stop - column);
                each(index(group), at..at + count);
                (at, column, group) = (at + count, stop, group + 1);
                stop = stop.saturating_add(self.block_columns).min(end);
            }
        }
    }

    /// Calls `each` with the runs of elements of one group that so many elements from `first` on,
    /// in row-major order, are made of: the group's row and column, and the places of the run.
    #[inline(always)]
    pub(crate) fn each_run(&self, first: u64, count: usize, mut each: impl FnMut((u64, u64), Range<usize>)) {
        let (mut row, mut column) = (first / self.columns.max(1), first % self.columns.max(1));
        let mut done = 0;
        while done < count {
            // Groups are small: nothing is divided for each of them.
            let (group_row, mut group) = (row / self.block_rows, column / self.block_columns);
            let mut stop = (group + 1).saturating_mul(self.block_columns).min(self.columns);
            while column < self.columns && done < count {
                let run = index(stop - column).min(count - done);
                each((group_row, group), done..done + run);
                (done, column, group) = (done + run, column + run as u64, group + 1);
                stop = stop.saturating_add(self.block_columns).min(self.columns);
            }
            (row, column) = (row + 1, 0);
        }
    }

    /// The places in a tile of whole groups of the elements of one of them, row by row.
    pub(crate) fn places_of(
        &self,
        tile: &Tile,
        (row, column): (u64, u64),
    ) -> impl Iterator<Item = Range<usize>> + Clone + use<> {
        let begin = |group: u64, size: u64, first: u64, end: u64| (group * size).clamp(first, end) - first;
        let rows = |row| begin(row, self.block_rows, tile.row, tile.row + tile.rows);
        let columns = |column| begin(column, self.block_columns, tile.column, tile.column + tile.columns);
        let (first, count) = (columns(column), index(columns(column + 1) - columns(column)));
        let width = tile.columns;
        (rows(row)..rows(row + 1)).map(move |row| {
            let at = index(row * width + first);
            at..at + count
        })
    }

    /// The groups of a tile: first group row and column, and how many of each.
    pub(crate) fn groups_of(&self, tile: &Tile) -> Tile {
        let (row, column) = (tile.row / self.block_rows, tile.column / self.block_columns);
        Tile {
            row,
            rows: (tile.row + tile.rows).div_ceil(self.block_rows) - row,
            column,
            columns: (tile.column + tile.columns).div_ceil(self.block_columns) - column,
        }
    }
}

/// Tiles are held in memory, so their sizes fit.
#[inline(always)]
pub(crate) fn index(n: u64) -> usize {
    usize::try_from(n).expect("tiles and groups are held in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_as_rows_and_columns() {
        let of = |shape: &[u64], text: &str| {
            let granularity: Granularity = text.parse().unwrap();
            let grid = Grid::new(shape, granularity);
            (grid.rows, grid.columns, granularity.scale_shape(shape))
        };
        assert_eq!(of(&[], "block:4"), (1, 1, vec![1, 1]));
        assert_eq!(of(&[5], "channel"), (1, 5, vec![1, 1]));
        assert_eq!(of(&[6, 10], "block:2x4"), (6, 10, vec![3, 3]));
        assert_eq!(of(&[8, 3, 5, 5], "channel"), (8, 75, vec![8, 1]));
        assert_eq!(of(&[8, 3, 5, 5], "block:5"), (120, 5, vec![120, 1]));
        assert_eq!(of(&[4, 0], "channel"), (4, 0, vec![4, 1]));
        assert_eq!(of(&[4, 0], "block:32"), (4, 0, vec![4, 0]));
        assert_eq!(of(&[7, 7], "tensor").2, Vec::<u64>::new());
    }

    #[test]
    fn words_that_are_no_granularity() {
        for text in
            ["", "block", "block:", "block:0", "block:1x0", "block:2x", "blocks:4", "block:-1", "Tensor"]
        {
            assert!(text.parse::<Granularity>().unwrap_err().to_string().contains("block:RxC"), "{text}");
        }
    }

    /// Tiles and pieces cover every element once, groups are never cut by a tile, and order is
    /// kept.
    #[test]
    fn tiles_cover_a_tensor_once() {
        for (shape, granularity) in [
            (&[3000, 700][..], "block:128x128"),
            (&[2, 1 << 20], "block:32"),
            (&[300, 20000], "block:256x4096"),
            (&[1 << 21], "tensor"),
            (&[5, 1 << 20], "channel"),
            (&[700, 3001], "block:7x3"),
        ] {
            let grid = Grid::new(shape, granularity.parse().unwrap());
            let mut covered = 0;
            let mut groups = 0;
            for tile in (0..grid.tile_count()).map(|i| grid.tile(i)) {
                assert!(tile.row % grid.block_rows == 0 && tile.column % grid.block_columns == 0);
                let within = grid.groups_of(&tile);
                groups += within.rows * within.columns;
                assert!(tile.elements() <= TILE_ELEMENTS || within.elements() == 1, "{tile:?}");
                let mut places = vec![Vec::new(); index(within.elements())];
                grid.each_group(&tile, &within, |group, range| places[group].push(range));
                for (group, places) in within.all().zip(&places) {
                    assert!(grid.places_of(&tile, group).eq(places.iter().cloned()), "{tile:?}");
                }
                let mut pieces = 0;
                for piece in Grid::pieces(tile, PIECE_ELEMENTS) {
                    assert!(piece.elements() <= PIECE_ELEMENTS && piece.elements() > 0);
                    pieces += piece.elements();
                }
                assert_eq!(pieces, tile.elements());
                covered += pieces;
            }
            assert_eq!(covered, grid.rows * grid.columns, "{granularity}");
            let mut end = 0;
            for piece in (0..grid.piece_count()).map(|i| grid.piece(i)) {
                assert!(
                    piece.elements() <= PIECE_ELEMENTS && (piece.rows == 1 || piece.columns == grid.columns)
                );
                assert_eq!(piece.row * grid.columns + piece.column, end);
                end += piece.elements();
            }
            assert_eq!(end, covered, "{granularity}");
            assert_eq!(groups, grid.group_rows * grid.group_columns, "{granularity}");
        }
    }
}
