//! The page that the report writes: a table for each group of kernels, a column for each footprint.

use std::fmt::Write as _;

use crate::chart::Mark;

/// One kernel in one footprint.
pub struct Figure {
    /// The table's part.
    pub group: &'static str,
    /// The footprint, by its place.
    pub footprint: usize,
    /// The kernel.
    pub kernel: String,
    /// 10^9 elements a second.
    pub rate: f64,
    /// Rate over that of the limit kernel.
    pub ratio: f64,
}

impl Figure {
    /// Limits are rates; everything else is a share of one.
    fn is_limit(&self) -> bool {
        self.kernel.starts_with("limit: ")
    }
}

/// Two significant digits or three, so that columns stay narrow.
fn short(ratio: f64) -> String {
    if ratio < 0.1 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}

/// Tables in Markdown; the footprints are the columns.
pub fn tables(figures: &[Figure], footprints: &[&str]) -> String {
    let mut page = String::new();
    let mut groups: Vec<&str> = Vec::new();
    for figure in figures {
        if !groups.contains(&figure.group) {
            groups.push(figure.group);
        }
    }
    for group in groups {
        let rows = || figures.iter().filter(|figure| figure.group == group);
        let _ = writeln!(page, "\n## {group}\n\n| kernel | {} |", footprints.join(" | "));
        let _ = writeln!(page, "| --- |{}", " ---: |".repeat(footprints.len()));
        let mut kernels: Vec<&str> = Vec::new();
        for figure in rows() {
            if !kernels.contains(&figure.kernel.as_str()) {
                kernels.push(&figure.kernel);
            }
        }
        for kernel in kernels {
            let cell = |place: usize| {
                let figure = rows().find(|figure| figure.kernel == kernel && figure.footprint == place);
                figure.map_or_else(String::new, |figure| match figure.is_limit() {
                    true => format!("*{:.1}*", figure.rate),
                    false => short(figure.ratio),
                })
            };
            let cells: Vec<String> = (0..footprints.len()).map(cell).collect();
            let _ = writeln!(page, "| {kernel} | {} |", cells.join(" | "));
        }
    }
    page
}

/// Reads the tables of a page that [`tables`] wrote: shares, and rates of limits.
pub fn read(page: &str, groups: &[&'static str]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut group = None;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix("##") {
            let title = title.trim_start_matches('#').trim();
            group = groups.iter().copied().find(|group| *group == title);
        }
        let (Some(group), Some(row)) = (group, line.strip_prefix("| ")) else { continue };
        let mut cells = row.trim_end_matches('|').split('|').map(str::trim);
        let kernel = cells.next().unwrap_or_default();
        for (footprint, cell) in cells.enumerate() {
            // What is no number is the table's head.
            let (rate, ratio) = match cell.strip_prefix('*') {
                Some(rate) => (rate.trim_end_matches('*').parse().ok(), Some(1.0)),
                None => (Some(0.0), cell.parse().ok()),
            };
            if let (Some(rate), Some(ratio)) = (rate, ratio) {
                figures.push(Figure { group, footprint, kernel: kernel.to_owned(), rate, ratio });
            }
        }
    }
    figures
}

/// What the chart shows: a task, its group, our kernel, and the peers that do the same.
const TASKS: [(&str, &str, &str, &[&str]); 4] = [
    (
        "encode f32 to e4m3fn",
        "encode",
        "e4m3fn, normal",
        &["numkong e4m3", "float8 e4m3fn", "minifloat e4m3fn", "microfloat e4m3fn"],
    ),
    (
        "decode e4m3fn to f32",
        "decode",
        "e4m3fn",
        &["numkong e4m3", "float8 e4m3fn", "minifloat e4m3fn", "microfloat e4m3fn"],
    ),
    (
        "add e4m3fn",
        "operations",
        "Add of e4m3fn",
        &["float8 e4m3fn", "minifloat e4m3fn", "microfloat e4m3fn"],
    ),
    ("dot product", "operations", "dot, F32", &["numkong e4m3"]),
];

/// The marks of the chart: for each task our kernel, then its peers.
pub fn marks(figures: &[Figure]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (task, group, ours, peers) in TASKS {
        let ours = std::iter::once((ours.to_owned(), "smallfloat"));
        let peers = peers.iter().map(|peer| (format!("peer: {peer}"), *peer));
        for (kernel, name) in ours.chain(peers) {
            let found = figures.iter().filter(|figure| figure.group == group && figure.kernel == kernel);
            marks.extend(found.map(|figure| Mark {
                footprint: figure.footprint,
                group: task,
                kernel: name.to_owned(),
                ratio: figure.ratio,
            }));
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "
## encode

| kernel | l1 | l2 |
| --- | ---: | ---: |
| limit: read f32, write u8 | *43.0* | *20.4* |
| e4m3fn, normal | 0.082 | 0.19 |
| e4m3fn, portable | 0.014 |  |
| peer: float8 e4m3fn | 0.007 | 0.006 |
";

    #[test]
    fn what_was_written_is_read() {
        let figures = read(PAGE, &["encode"]);
        assert_eq!(figures.len(), 7);
        assert_eq!(tables(&figures, &["l1", "l2"]), PAGE);
        assert!(read(&PAGE.replace("encode", "else"), &["encode"]).is_empty());
    }

    #[test]
    fn peers_stand_below_our_kernel() {
        let marks = marks(&read(PAGE, &["encode"]));
        let rows: Vec<_> =
            marks.iter().map(|mark| (mark.kernel.as_str(), mark.footprint, mark.ratio)).collect();
        let float8 = "float8 e4m3fn";
        let ours = "smallfloat";
        assert_eq!(rows, [(ours, 0, 0.082), (ours, 1, 0.19), (float8, 0, 0.007), (float8, 1, 0.006)]);
        let svg = crate::chart::draw(&marks, &["l1", "l2"]).unwrap();
        assert!(svg.contains("encode f32 to e4m3fn") && svg.contains(float8) && !svg.contains("portable"));
    }
}
