//! [`NamePatterns`]: tensors chosen by their names.

use glob::Pattern;

use crate::error::{Error, Result, quoted};

/// Patterns of tensors' names, as shells write them: `*` is any text, dots and slashes too, `?` one
/// character, `[ab]` one of these and `[!ab]` any other.
///
/// ```
/// use smallfloat_tensor::NamePatterns;
///
/// let patterns = NamePatterns::new(["model.layers.*"], ["*norm*"])?;
/// assert!(patterns.select("model.layers.0.mlp.up_proj.weight"));
/// assert!(!patterns.select("model.layers.0.input_layernorm.weight"));
/// assert!(!patterns.select("lm_head.weight"));
/// # Ok::<(), smallfloat_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NamePatterns {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
}

impl NamePatterns {
    /// Returns the names that match a pattern of `include`, or all if there is none, and none of
    /// `exclude`.
    ///
    /// # Errors
    /// Text that is no pattern.
    pub fn new<T: AsRef<str>>(
        include: impl IntoIterator<Item = T>,
        exclude: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self> {
        Ok(Self {
            include: include.into_iter().map(|text| pattern(text.as_ref())).collect::<Result<_>>()?,
            exclude: exclude.into_iter().map(|text| pattern(text.as_ref())).collect::<Result<_>>()?,
        })
    }

    /// Returns whether a tensor of this name is chosen.
    pub fn select(&self, name: &str) -> bool {
        (self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(name)))
            && !self.exclude.iter().any(|pattern| pattern.matches(name))
    }

    /// Compares the patterns with the names that there are. Returns the patterns of `exclude` that
    /// match none of them.
    ///
    /// # Errors
    /// Patterns of `include` of which none matches any name.
    pub fn check(&self, names: &[&str]) -> Result<Vec<&str>> {
        let is_used = |pattern: &Pattern| names.iter().any(|name| pattern.matches(name));
        if !self.include.is_empty() && !self.include.iter().any(is_used) {
            let patterns: Vec<String> =
                self.include.iter().map(|pattern| quoted(pattern.as_str()).to_string()).collect();
            let first = names.first().map(|name| format!("; the first is {}", quoted(name)));
            let (patterns, first) = (patterns.join(" or "), first.unwrap_or_default());
            return Err(Error::option(format!("no tensor's name matches {patterns}{first}")));
        }
        Ok(self.exclude.iter().filter(|pattern| !is_used(pattern)).map(Pattern::as_str).collect())
    }
}

fn pattern(text: &str) -> Result<Pattern> {
    let refused = |why: &str| Error::option(format!("{} is not a pattern of names: {why}", quoted(text)));
    if text.contains(['{', '}']) {
        return Err(refused("alternatives in braces are patterns of their own"));
    }
    Pattern::new(text).map_err(|error| refused(error.msg))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_that_match_nothing_are_told() {
        let names = ["a.weight", "b.weight"];
        let patterns = NamePatterns::new(["a*", "c*"], ["b*", "d*"]).unwrap();
        assert_eq!(patterns.check(&names).unwrap(), ["d*"]);
        let error = NamePatterns::new(["c*", "d*"], [""; 0]).unwrap().check(&names).unwrap_err();
        assert_eq!(error.to_string(), "no tensor's name matches `c*` or `d*`; the first is `a.weight`");
    }

    #[test]
    fn patterns_are_those_of_shells_over_whole_names() {
        for (pattern, name, expected) in [
            ("*", "a.b/c", true),
            ("a.*", "a.b/c", true),
            ("a", "a.b", false),
            ("a?b", "a.b", true),
            ("l[0-3].w", "l2.w", true),
            ("l[!0-3].w", "l2.w", false),
            ("A", "a", false),
        ] {
            let patterns = NamePatterns::new([pattern], [""; 0]).unwrap();
            assert_eq!(patterns.select(name), expected, "{pattern} {name}");
        }
        for wrong in ["[", "a**", "{q,k}_proj"] {
            assert!(NamePatterns::new([wrong], [""; 0]).unwrap_err().is_option(), "{wrong}");
            assert!(NamePatterns::new([""; 0], [wrong]).unwrap_err().is_option(), "{wrong}");
        }
    }
}
