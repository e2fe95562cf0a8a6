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

/// What the chart shows of them.
pub fn marks(figures: &[Figure]) -> Vec<Mark> {
    let shown = figures.iter().filter(|figure| !figure.is_limit());
    shown
        .map(|figure| Mark {
            footprint: figure.footprint,
            group: figure.group,
            kernel: figure.kernel.clone(),
            ratio: figure.ratio,
        })
        .collect()
}
