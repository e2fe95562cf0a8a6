//! The page, embedded in the command: it needs no file and no network.

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

macro_rules! assets {
    ($($path:literal $kind:ident $file:literal;)*) => {
        &[$(Asset { path: $path, kind: $kind, text: include_str!(concat!("page/", $file)) }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

const ASSETS: &[Asset] = assets! {
    "/" HTML "page.html";
    "/page.css" CSS "page.css";
    "/page.js" SCRIPT "page.js";
    "/state.js" SCRIPT "state.js";
    "/answers.js" SCRIPT "answers.js";
    "/elements.js" SCRIPT "elements.js";
    "/format.js" SCRIPT "format.js";
    "/line.js" SCRIPT "line.js";
    "/codes.js" SCRIPT "codes.js";
    "/round.js" SCRIPT "round.js";
    "/compare.js" SCRIPT "compare.js";
    "/lists.js" SCRIPT "lists.js";
    "/arithmetic.js" SCRIPT "arithmetic.js";
    "/icon.svg" SVG "icon.svg";
};

/// The file at a path.
pub(super) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the page loads is embedded, and nothing comes from elsewhere.
    #[test]
    fn the_page_is_complete_and_alone() {
        for asset in ASSETS {
            for marker in ["src=\"", "href=\"", " from \"."] {
                for rest in asset.text.split(marker).skip(1) {
                    let target = rest.split('"').next().unwrap_or_default();
                    let inside = target.starts_with('#') || find(target).is_some();
                    assert!(inside, "{} loads `{target}`", asset.path);
                }
            }
            let outside = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!outside.contains("http:") && !outside.contains("https:"), "{} goes outside", asset.path);
            let lines = asset.text.lines().count();
            assert!(lines <= 800, "{} has {lines} lines, more than 800", asset.path);
        }
    }
}
