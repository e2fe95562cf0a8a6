//! Scaled tensors in files of other programs, known by the names, types and shapes of the tensors:
//! each is held against the rows of [`CONVENTIONS`], bitsandbytes' and GGUF's are in
//! `codebook.rs` and `blocks.rs`.
//!
//! Where a row does not say what shares a scale, it follows from the shapes: one scale is the
//! tensor's, one a row a channel's, else blocks have the size that `config.json` beside the file
//! names. Without it there are the customary 1×32 (E8M0 scales) and 128×128, and the shape divided
//! by the scales' shape. Where several of them fit, the one that fits all blocks of the file is
//! taken; if there are several of those, or none, the file is refused.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value};
use smallfloat::Format;
use smallfloat::formats::E8M0FNU;

use crate::error::{Error, Result, quoted};
use crate::file::dtype::{Dtype, elements};
use crate::file::folder::{CONFIG, INDEX};
use crate::file::formats::source::Source;
use crate::file::input::TensorInfo;
use crate::file::side::read_json;
use crate::layout::convention::{
    COMFY_METADATA, CONVENTIONS, Codes, Companion, Convention, Direction, Order, SCALED_FP8, scale_format,
};
use crate::layout::grid::{Granularity, Grid};
use crate::layout::packing::Packing;
use crate::layout::quark::{quark_format, quark_weight};
use crate::scale::rule::{GlobalScale, ScaleRule, ScaleSpec};
use crate::stored::scaled::{Elsewhere, Placement, Scaled, f32_at};
use crate::stored::together::{Neighbour, Neighbours};

/// The scaled tensors of a file: by the name of their codes, the tensor's own name and shape, and
/// how it is stored. What belongs to them and is no tensor of its own has `None`, if it lies in
/// another file too.
pub(crate) type Found = HashMap<String, Option<Box<(String, Vec<u64>, Scaled)>>>;

/// Longer markers are none.
const MARKER_BYTES: u64 = 1 << 16;

/// A scaled tensor whose block size may still be open.
struct Pending<'a> {
    row: &'static Convention,
    name: &'a str,
    /// The shape as the file orders it.
    shape: Vec<u64>,
    /// What may share a scale; not empty.
    choices: Vec<Granularity>,
    element: Format,
    format: Format,
    packing: Packing,
    codes: &'a TensorInfo,
    scales: Option<Neighbour<'a>>,
    global: Option<(Neighbour<'a>, Direction)>,
}

impl Pending<'_> {
    /// How elements share scales. Rows of codes without scales need not end with a byte: where they
    /// don't, all elements are one row.
    fn grid(&self, granularity: Granularity) -> Grid {
        let grid = Grid::new(&self.shape, granularity);
        let bytes = grid.rows.checked_mul(self.packing.row_bytes(&self.element, grid.columns));
        if self.scales.is_some() || bytes == Some(self.codes.len) {
            return grid;
        }
        Grid::new(&[self.shape.iter().product()], Granularity::Tensor)
    }
}

/// Finds what is stored in a layout of other programs.
pub(crate) fn find(
    source: &Source,
    known: Option<Granularity>,
    neighbours: Option<&Neighbours<'_>>,
) -> Result<Found> {
    let markers = Markers::read(source)?;
    markers.check(source)?;
    let mut found = crate::stored::codebook::find(source)?;
    found.extend(crate::stored::blocks::find(source, neighbours)?);
    let pending = pending(source, &markers, &found, known, neighbours)?;
    let common = common(&pending);
    for tensor in pending {
        let refused = |what: String| Error::refused(Some(source.path()), Some(&tensor.codes.name), what);
        let granularity = choose(&tensor, &common).map_err(refused)?;
        let global = match tensor.global {
            Some((global, direction)) => {
                let source = global.elsewhere.map_or(source, |elsewhere| elsewhere);
                Some((global_scale(source, global.info).map_err(refused)?, direction))
            }
            None => None,
        };
        let of =
            |asked: Direction| global.filter(|&(_, found)| found == asked).map_or(1.0, |(value, _)| value);
        let scaled = Scaled {
            element: tensor.element,
            scale: Some(ScaleSpec {
                format: tensor.format,
                rule: ScaleRule::Amax,
                global: tensor.global.map(|_| GlobalScale::PowerOfTwo),
            }),
            granularity,
            packing: tensor.packing,
            entry: None,
            grid: tensor.grid(granularity),
            codes: tensor.codes.clone(),
            scales: tensor.scales.map_or(tensor.codes, |scales| scales.info).clone(),
            global: of(Direction::Divides),
            factor: of(Direction::Multiplies),
            place: if tensor.scales.is_some() {
                Placement::Ordered(tensor.row.order)
            } else {
                Placement::Alone
            },
            elsewhere: tensor.scales.and_then(|scales| scales.elsewhere).cloned().map(Elsewhere),
            codebook: None,
            layout: Some(tensor.row.name),
        };
        scaled.check(&tensor.shape).map_err(refused)?;
        for companion in [tensor.scales, tensor.global.map(|(global, _)| global)].into_iter().flatten() {
            found.insert(companion.info.name.clone(), None);
        }
        found.extend(signs(source, tensor.row, tensor.name).into_iter().map(|sign| (sign, None)));
        let shape = tensor.row.order.of_elements(&tensor.shape);
        found.insert(tensor.codes.name.clone(), Some(Box::new((tensor.name.to_owned(), shape, scaled))));
    }
    Ok(found)
}

/// The tensors by whose dtype ComfyUI knows that of a weight: at the top of the file, or of a part
/// of the model that the weight is in.
pub(crate) fn scaled_fp8<'a>(source: &'a Source, name: &'a str) -> impl Iterator<Item = &'a TensorInfo> {
    /// Names of parts have few dots.
    const DOTS: usize = 4;
    let parts = std::iter::once(0).chain(name.match_indices('.').take(DOTS).map(|(dot, _)| dot + 1));
    parts.filter_map(|end| source.tensor(&format!("{}{}", &name[..end], SCALED_FP8.of(""))))
}

/// The names of the tensors that say that a weight is in a layout.
fn signs(source: &Source, row: &Convention, name: &str) -> Vec<String> {
    match row.sign {
        Some(SCALED_FP8) => scaled_fp8(source, name).map(|sign| sign.name.clone()).collect(),
        sign => sign.map(|sign| sign.of(name)).into_iter().collect(),
    }
}

/// Which of ComfyUI's formats layers have, as markers beside their weights or the metadata say.
struct Markers(HashMap<String, String>);

impl Markers {
    fn read(source: &Source) -> Result<Self> {
        let mut formats = HashMap::new();
        let refused = |name: &str, what: &str| Error::refused(Some(source.path()), Some(name), what);
        let format_of = |value: &Value| value.get("format").and_then(Value::as_str).map(str::to_owned);
        for info in source.tensors() {
            let Some(module) = info.name.strip_suffix("comfy_quant") else { continue };
            if !(module.is_empty() || module.ends_with('.')) || info.dtype != Dtype::U8 {
                continue;
            }
            let bytes = if info.len <= MARKER_BYTES { source.read_all(info)? } else { Vec::new() };
            let format = serde_json::from_slice(&bytes).ok().as_ref().and_then(format_of);
            let format = format.ok_or_else(|| {
                refused(
                    &info.name,
                    "should hold JSON with the `format` of its layer's weight, as ComfyUI writes it",
                )
            })?;
            formats.insert(module.to_owned(), format);
        }
        if let Some((_, text)) = source.metadata().iter().find(|(key, _)| key == COMFY_METADATA) {
            let wrong = |what: String| {
                let what =
                    format!("metadata `{COMFY_METADATA}` should be JSON, as ComfyUI writes it: {what}");
                Error::refused(Some(source.path()), None::<&str>, what)
            };
            let value: Value = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
            let layers = match value.get("layers") {
                None => None,
                Some(layers) => {
                    Some(layers.as_object().ok_or_else(|| wrong("its `layers` are no object".to_owned()))?)
                }
            };
            for (layer, said) in layers.into_iter().flatten() {
                let format = format_of(said)
                    .ok_or_else(|| wrong(format!("its layer {} has no `format`", quoted(layer))))?;
                let other = formats.insert(format!("{layer}."), format.clone());
                if let Some(other) = other.filter(|other| *other != format) {
                    let (other, format) = (quoted(&other).to_string(), quoted(&format).to_string());
                    let what = format!(
                        "its marker says that its weight is {other}, metadata `{COMFY_METADATA}` says {format}"
                    );
                    return Err(refused(&format!("{layer}.comfy_quant"), &what));
                }
            }
        }
        Ok(Self(formats))
    }

    /// Every layer that is named has a weight: by another name it would be read as something else.
    fn check(&self, source: &Source) -> Result<()> {
        let mut lost: Vec<&String> =
            self.0.keys().filter(|module| source.tensor(&format!("{module}weight")).is_none()).collect();
        lost.sort();
        let Some(module) = lost.first() else { return Ok(()) };
        let (module, weight) = (module.trim_end_matches('.'), format!("{module}weight"));
        let what = format!(
            "ComfyUI's marker names the layer {}, and the file has no {}",
            quoted(module),
            quoted(&weight)
        );
        Err(Error::refused(Some(source.path()), None, what))
    }

    /// The format that is named for the module of a tensor.
    fn of(&self, name: &str) -> Option<&str> {
        let module = &name[..name.rfind('.').map_or(0, |dot| dot + 1)];
        let is_weight = &name[module.len()..] == "weight";
        self.0.get(module).filter(|_| is_weight).map(|format| &**format)
    }
}

/// The sizes among the choices that fit all tensors in blocks.
fn common(pending: &[Pending<'_>]) -> Vec<Granularity> {
    let in_blocks = || pending.iter().filter(|tensor| matches!(tensor.choices[0], Granularity::Block { .. }));
    // There may be very many tensors, most of the same few shapes.
    let shapes: HashSet<(&[u64], &[u64])> =
        in_blocks().filter_map(|tensor| Some((&*tensor.shape, &*tensor.scales?.info.shape))).collect();
    let open = in_blocks().filter(|tensor| tensor.choices.len() > 1);
    let mut sizes = HashSet::new();
    let fits_all = |&size: &Granularity| {
        sizes.insert(size) && shapes.iter().all(|(shape, scales)| fits(shape, scales, size))
    };
    open.flat_map(|tensor| &tensor.choices).copied().filter(fits_all).collect()
}

/// The only choice, or the only one that fits the whole file.
fn choose(tensor: &Pending<'_>, common: &[Granularity]) -> Result<Granularity, String> {
    let fitting: Vec<Granularity> =
        tensor.choices.iter().copied().filter(|choice| common.contains(choice)).collect();
    match (&tensor.choices[..], &fitting[..]) {
        ([only], _) | (_, [only]) => Ok(*only),
        (choices, _) => {
            let sizes: Vec<String> = choices.iter().map(ToString::to_string).collect();
            Err(format!(
                "scales of shape {:?} for {:?} elements may be of {}: a config.json beside the file decides, whose \
                 quantization_config has weight_block_size, or group_size in config_groups",
                tensor.scales.map_or(&[][..], |scales| &scales.info.shape),
                tensor.shape,
                sizes.join(" or ")
            ))
        }
    }
}

fn pending<'a>(
    source: &'a Source,
    markers: &Markers,
    found: &Found,
    known: Option<Granularity>,
    neighbours: Option<&'a Neighbours<'a>>,
) -> Result<Vec<Pending<'a>>> {
    let mut pending: Vec<Pending<'a>> = Vec::new();
    let config = Config::new(source.path(), known);
    let files = OtherFiles::new(source);
    let own: HashMap<&str, Neighbour<'a>> =
        source.tensors().iter().map(|info| (&*info.name, Neighbour { info, elsewhere: None })).collect();
    let part = |name: &str| own.get(name).copied().or_else(|| neighbours?.get(name));
    // What is a companion is no tensor of its own, whatever its dtype.
    let mut companions: HashSet<String> = HashSet::new();
    for info in source.tensors().iter().filter(|info| !found.contains_key(&info.name)) {
        let refused = |what: String| Error::refused(Some(source.path()), Some(&info.name), what);
        let marker = markers.of(&info.name);
        let Some(matched) = CONVENTIONS.iter().find_map(|row| Matched::of(row, info, marker, &part)) else {
            if let Some(marker) = marker.filter(|_| info.dtype.bits() <= 8) {
                return Err(refused(format!(
                    "ComfyUI's marker says that it is {}, and its dtype {} or its scales are not those of it",
                    quoted(marker),
                    info.dtype
                )));
            }
            files.check(info, marker)?;
            continue;
        };
        let Matched { row, name, codes, scales, global } = matched;
        if scales.is_none() {
            files.check(info, marker)?;
        }
        companions.extend([scales, global].into_iter().flatten().map(|part| part.info.name.clone()));
        companions.extend(signs(source, row, name));
        let format = match scales {
            None => smallfloat::formats::BINARY32,
            Some(Neighbour { info: scales, .. }) => scale_format(scales.dtype).ok_or_else(|| {
                refused(format!("its scales `{}` are {}, which no reader knows", scales.name, scales.dtype))
            })?,
        };
        let codes = match scales {
            Some(Neighbour { info: scales, .. }) => {
                let fits =
                    |codes: &&Codes| codes.dtype == info.dtype && has_groups(info, scales, codes, row.order);
                let fitting: Vec<Codes> = row.codes.iter().filter(fits).copied().collect();
                match fitting[..] {
                    [] => return Err(refused(no_groups(info, scales, row))),
                    [codes] => codes,
                    _ => config.choose(name, &fitting)?.ok_or_else(|| refused(open_codes(&fitting)))?,
                }
            }
            None => codes,
        };
        let shape = shape_of(info, &codes, row.order);
        if elements(&shape).is_none() {
            return Err(refused("has more elements than 64 bits can count".to_owned()));
        }
        let choices = match (scales, codes.group) {
            (None, _) => vec![Granularity::Tensor],
            (Some(scales), 0) => {
                choices(&shape, &scales.info.shape, config.block()?, format == E8M0FNU).map_err(refused)?
            }
            (Some(_), columns) => vec![Granularity::Block { rows: 1, columns }],
        };
        let (element, packing) = (codes.format, codes.packing);
        let global = global.and_then(|global| Some((global, row.global?.1)));
        pending.push(Pending {
            row,
            name,
            shape,
            choices,
            element,
            format,
            packing,
            codes: info,
            scales,
            global,
        });
    }
    pending.retain(|tensor| !companions.contains(&tensor.codes.name));
    Ok(pending)
}

/// A tensor and the row that it fits.
struct Matched<'a> {
    row: &'static Convention,
    name: &'a str,
    codes: Codes,
    scales: Option<Neighbour<'a>>,
    global: Option<Neighbour<'a>>,
}

impl<'a> Matched<'a> {
    fn of(
        row: &'static Convention,
        info: &'a TensorInfo,
        marker: Option<&str>,
        part: &impl Fn(&str) -> Option<Neighbour<'a>>,
    ) -> Option<Self> {
        let name = info.name.strip_suffix(row.suffix).filter(|name| !name.is_empty())?;
        let codes = *row.codes.iter().find(|codes| codes.dtype == info.dtype)?;
        // A tensor is never its own companion, whatever it is called.
        let named =
            |companion: Companion| part(&companion.of(name)).filter(|other| other.info.name != info.name);
        // What a marker names is of no layout without one.
        if row.marker != marker {
            return None;
        }
        let scales = row.scales.iter().find_map(|&companion| named(companion));
        if scales.is_none() != row.scales.is_empty() {
            return None;
        }
        let fits = |scales: &TensorInfo| {
            let typed = row.scale_dtypes.is_empty() || row.scale_dtypes.contains(&scales.dtype);
            // Bytes may be anything: only their number tells, unless names do.
            let told = !row.suffix.is_empty() || info.dtype != Dtype::U8 && info.dtype != Dtype::I8;
            let grouped =
                |codes: &Codes| codes.dtype == info.dtype && has_groups(info, scales, codes, row.order);
            typed && (told || row.codes.iter().any(grouped))
        };
        if scales.is_some_and(|scales| !fits(scales.info)) {
            return None;
        }
        let global = match row.global {
            None => None,
            Some((companion, _)) => Some(named(companion)?),
        };
        Some(Self { row, name, codes, scales, global })
    }
}

/// The shape of the elements that codes stand for, as the file orders them.
fn shape_of(info: &TensorInfo, codes: &Codes, order: Order) -> Vec<u64> {
    let mut shape = info.shape.clone();
    // Dtypes of elements that share bytes count elements.
    if info.dtype.bits() < 8 {
        return shape;
    }
    if order == Order::Transposed
        && let Some(bytes) = shape.pop()
        && let Some(groups) = shape.last_mut()
    {
        *groups = groups.saturating_mul(bytes);
    }
    let (unit, bytes) = codes.packing.unit(&codes.format);
    if let Some(last) = shape.last_mut() {
        *last = (*last / bytes).saturating_mul(unit);
    }
    shape
}

/// Returns whether codes have the groups that their scales are for.
fn has_groups(info: &TensorInfo, scales: &TensorInfo, codes: &Codes, order: Order) -> bool {
    let shape = shape_of(info, codes, order);
    let (_, bytes) = codes.packing.unit(&codes.format);
    if codes.group == 0 {
        return true;
    }
    if order == Order::Transposed && shape.len() < 2 {
        return false;
    }
    let ([rows @ .., columns], [rows_of_scales @ .., groups]) = (&shape[..], &scales.shape[..]) else {
        return false;
    };
    if order == Order::Tiles {
        return columns.is_multiple_of(codes.group);
    }
    let whole = info.shape.last().is_some_and(|last| last.is_multiple_of(bytes));
    let rows_fit = rows == rows_of_scales || scales.shape.len() < 2;
    whole && rows_fit && Some(*columns) == groups.checked_mul(codes.group)
}

fn no_groups(info: &TensorInfo, scales: &TensorInfo, row: &Convention) -> String {
    if info.shape.is_empty() || scales.shape.is_empty() {
        return "packed codes and their scales need dimensions".to_owned();
    }
    let known = row.codes.iter().map(|codes| {
        let bits = codes.format.width();
        format!("FP{bits} in groups of {}", codes.group)
    });
    format!(
        "codes of shape {:?} with scales `{}` of shape {:?} are neither {}",
        info.shape,
        scales.name,
        scales.shape,
        known.collect::<Vec<_>>().join(" nor ")
    )
}

/// Returns whether a granularity asks for scales of this shape.
fn fits(shape: &[u64], scales: &[u64], granularity: Granularity) -> bool {
    let grid = Grid::new(shape, granularity);
    match scales {
        [] => grid.group_rows == 1 && grid.group_columns == 1,
        [groups] => grid.group_rows.checked_mul(grid.group_columns) == Some(*groups),
        [rows @ .., columns] => {
            let rows = elements(rows).filter(|_| rows.len() == 1 || rows.len() + 1 == shape.len());
            Some(grid.group_rows) == rows && grid.group_columns == *columns
        }
    }
}
/// What may share a scale: several only where blocks of several sizes fit.
fn choices(
    shape: &[u64],
    scales: &[u64],
    config: Option<(u64, u64)>,
    microscaling: bool,
) -> Result<Vec<Granularity>, String> {
    let mut decided = Vec::new();
    if scales.iter().product::<u64>() == 1 {
        decided.push(Granularity::Tensor);
    }
    decided.push(Granularity::Channel);
    decided.extend(config.map(|(rows, columns)| Granularity::Block { rows, columns }));
    if let Some(granularity) = decided.into_iter().find(|&granularity| fits(shape, scales, granularity)) {
        return Ok(vec![granularity]);
    }
    let mut sizes = Vec::new();
    // OCP Microscaling Formats 1.0, section 5: blocks of 32.
    sizes.extend(microscaling.then_some(Granularity::Block { rows: 1, columns: 32 }));
    if let ([rows @ .., columns], [groups @ .., group_columns]) = (shape, scales) {
        let exact = |n: u64, groups: u64| (groups > 0 && n.is_multiple_of(groups)).then(|| n / groups);
        let (rows, groups): (u64, u64) = (rows.iter().product(), groups.iter().product());
        if rows != groups {
            sizes.push(Granularity::Block { rows: 128, columns: 128 });
        }
        if let (Some(rows), Some(columns)) = (exact(rows, groups), exact(*columns, *group_columns)) {
            sizes.push(Granularity::Block { rows, columns });
        }
    }
    let mut choices: Vec<Granularity> = Vec::new();
    for size in sizes.into_iter().filter(|&size| fits(shape, scales, size)) {
        // Sizes beyond the shape are the shape's.
        let same = |other: &Granularity| Grid::new(shape, *other) == Grid::new(shape, size);
        if !choices.iter().any(same) {
            choices.push(size);
        }
    }
    if choices.is_empty() {
        return Err(format!(
            "scales of shape {scales:?} for {shape:?} elements: the block size can't be told; put config.json beside the file"
        ));
    }
    Ok(choices)
}

/// What the configuration beside a file says; it is read where shapes don't tell.
struct Config<'a> {
    path: &'a Path,
    block: Option<(u64, u64)>,
    said: OnceCell<Option<Value>>,
}

impl<'a> Config<'a> {
    fn new(path: &'a Path, known: Option<Granularity>) -> Self {
        let block = match known {
            Some(Granularity::Block { rows, columns }) => Some((rows, columns)),
            _ => None,
        };
        Self { path, block, said: OnceCell::new() }
    }

    fn quantization(&self) -> Result<Option<&Value>> {
        if self.said.get().is_none() {
            let config = self.path.parent().map(|folder| read_json(&folder.join(CONFIG))).transpose()?;
            let said = config.flatten().and_then(|mut config| config.remove("quantization_config"));
            return Ok(self.said.get_or_init(|| said).as_ref());
        }
        Ok(self.said.get().and_then(Option::as_ref))
    }

    /// The size of blocks.
    fn block(&self) -> Result<Option<(u64, u64)>> {
        match self.block {
            Some(block) => Ok(Some(block)),
            None => Ok(self.quantization()?.and_then(block_of_quantization)),
        }
    }

    /// The codes of those that fit a tensor alike, where Quark says which they are.
    fn choose(&self, name: &str, fitting: &[Codes]) -> Result<Option<Codes>> {
        let said = self.quantization()?.and_then(|said| quark_weight(said, name)?.get("dtype")?.as_str());
        let format = said.and_then(quark_format);
        Ok(fitting.iter().find(|codes| Some(codes.format) == format).copied())
    }
}

fn open_codes(fitting: &[Codes]) -> String {
    let formats: Vec<String> = fitting.iter().map(|codes| codes.format.to_string()).collect();
    format!(
        "its codes may be of {}: a config.json beside the file decides, whose quantization_config is Quark's and names \
         the dtype of weights",
        formats.join(" or ")
    )
}

/// The other files of a checkpoint, as the index beside a file names them.
struct OtherFiles<'a> {
    source: &'a Source,
    index: OnceCell<Option<Map<String, Value>>>,
}

impl<'a> OtherFiles<'a> {
    fn new(source: &'a Source) -> Self {
        Self { source, index: OnceCell::new() }
    }

    /// The file that a tensor lies in, if the index is that of this file.
    fn of(&self, info: &TensorInfo, name: &str) -> Result<Option<&str>> {
        if self.index.get().is_none() {
            let index =
                self.source.path().parent().map(|folder| read_json(&folder.join(INDEX))).transpose()?;
            let map = index.flatten().and_then(|mut index| match index.remove("weight_map") {
                Some(Value::Object(map)) => Some(map),
                _ => None,
            });
            self.index.set(map).expect("it was empty");
        }
        let map = self.index.get().and_then(Option::as_ref);
        let file = |name: &str| map?.get(name)?.as_str();
        let own = self.source.path().file_name().and_then(|name| name.to_str());
        Ok(file(name).filter(|_| own.is_some() && file(&info.name) == own))
    }

    /// Refuses codes whose scales lie in another file: without them they would be other numbers.
    fn check(&self, info: &TensorInfo, marker: Option<&str>) -> Result<()> {
        let rows = CONVENTIONS
            .iter()
            .filter(|row| row.marker == marker && row.codes.iter().any(|codes| codes.dtype == info.dtype));
        for row in rows {
            let Some(name) = info.name.strip_suffix(row.suffix).filter(|name| !name.is_empty()) else {
                continue;
            };
            let globals = row.global.iter().map(|(companion, _)| companion);
            for companion in row.scales.iter().chain(globals) {
                let companion = companion.of(name);
                if companion == info.name || self.source.tensor(&companion).is_some() {
                    continue;
                }
                if let Some(file) = self.of(info, &companion)? {
                    let what = format!(
                        "its scales {} are in {} by the index: name the folder, so that both files are read",
                        quoted(&companion),
                        quoted(file)
                    );
                    return Err(Error::refused(Some(self.source.path()), Some(&info.name), what));
                }
            }
        }
        Ok(())
    }
}

fn block_of_quantization(quantization: &serde_json::Value) -> Option<(u64, u64)> {
    let groups = quantization.get("config_groups").and_then(|groups| groups.as_object()?.values().next());
    let weights = groups.and_then(|group| group.get("weights"));
    let pair = quantization.get("weight_block_size").or_else(|| weights?.get("block_structure"));
    if let Some(pair) = pair.and_then(|pair| pair.as_array()) {
        let size = |i: usize| pair.get(i)?.as_u64().filter(|&n| n > 0);
        return Some((size(0)?, size(1)?));
    }
    let group = weights?.get("group_size")?.as_u64().filter(|&n| n > 0)?;
    Some((1, group))
}

fn global_scale(source: &Source, info: &TensorInfo) -> Result<f64, String> {
    let wrong = |found: &str| format!("its `{}` is {found}, not one positive F32", info.name);
    if info.dtype != Dtype::F32 || info.elements() != 1 {
        return Err(wrong(&format!("{} of shape {:?}", info.dtype, info.shape)));
    }
    let bytes = source.read_all(info).map_err(|e| e.to_string())?;
    let value = f32_at(&bytes).filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| wrong("zero, negative or not finite"))
}
