//! [`Share`]: which tensors have one scale together.
//!
//! Inference engines join the query, key and value projections of an attention layer into one
//! matrix, and the gate and up projections of a feed-forward layer; a scale for the whole tensor
//! must then be the same in all of them. Scales of channels and blocks stay apart when matrices are
//! joined, so sharing concerns `tensor` granularity and the F32 number that divides NVFP4's scales.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Which tensors share a scale: sets of names of modules, of which each layer has one tensor a
/// name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Share {
    sets: Vec<Vec<String>>,
}

/// What Llama, Mistral, Qwen, DeepSeek, Phi, Mixtral and BERT call what engines join.
const KNOWN: [&[&str]; 7] = [
    &["q_proj", "k_proj", "v_proj"],
    &["gate_proj", "up_proj"],
    &["w1", "w3"],
    &["query", "key", "value"],
    &["q", "k", "v"],
    &["wq", "wk", "wv"],
    &["q_lin", "k_lin", "v_lin"],
];

impl Share {
    /// Returns a rule by which nothing is shared.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns the sets of the usual architectures.
    pub fn known() -> Self {
        Self::none().with_known()
    }

    /// Adds the sets of the usual architectures.
    #[must_use]
    pub fn with_known(mut self) -> Self {
        self.sets.extend(KNOWN.map(|set| set.iter().map(|&name| name.to_owned()).collect()));
        self
    }

    /// Adds a set: names of modules between commas, `q_proj,k_proj,v_proj`. Tensors whose names
    /// differ in nothing but one of these parts between dots share a scale.
    ///
    /// # Errors
    /// Fewer than two names, or a name that is empty or has a dot.
    pub fn with_set(mut self, text: &str) -> Result<Self> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.len() < 2 || names.iter().any(|name| name.is_empty() || name.contains('.')) {
            let what = format!(
                "`{text}` is no set of names that share a scale: write auto, none, or parts of names between commas, \
                 such as q_proj,k_proj,v_proj"
            );
            return Err(Error::option(what));
        }
        self.sets.push(names);
        Ok(self)
    }

    /// The sets as [`with_set`](Self::with_set) takes them.
    pub(crate) fn sets(&self) -> impl Iterator<Item = String> {
        self.sets.iter().map(|set| set.join(","))
    }

    /// What the names of tensors that share a scale have in common; `None` for those that share
    /// none.
    pub(crate) fn key(&self, name: &str) -> Option<String> {
        let parts: Vec<&str> = name.split('.').collect();
        let (i, set) = parts.iter().enumerate().find_map(|(i, part)| {
            let set = self.sets.iter().find(|set| set.iter().any(|name| name == part))?;
            Some((i, set))
        })?;
        let joined = set.join(",");
        Some(
            parts
                .iter()
                .enumerate()
                .map(|(j, part)| if i == j { &joined } else { *part })
                .collect::<Vec<_>>()
                .join("."),
        )
    }

    /// The groups of at least two of these names, each name with its index.
    pub(crate) fn groups<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, name) in names.enumerate() {
            if let Some(key) = self.key(name) {
                groups.entry(key).or_default().push(i);
            }
        }
        groups.into_values().filter(|group| group.len() > 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_kept_apart() {
        let names = [
            "model.layers.0.self_attn.q_proj.weight",
            "model.layers.0.self_attn.k_proj.weight",
            "model.layers.1.self_attn.q_proj.weight",
            "model.layers.0.self_attn.v_proj.weight",
            "model.layers.0.self_attn.o_proj.weight",
            "model.layers.0.mlp.up_proj.weight",
            "model.layers.0.mlp.gate_proj.weight",
            "model.layers.0.mlp.experts.3.w1.weight",
            "model.layers.0.mlp.experts.4.w3.weight",
            "model.layers.0.self_attn.q_proj.bias",
        ];
        assert_eq!(Share::known().groups(names.into_iter()), [vec![5, 6], vec![0, 1, 3]]);
        assert!(Share::none().groups(names.into_iter()).is_empty());
        let own = Share::none().with_set("q_proj, o_proj").unwrap();
        assert_eq!(own.groups(names.into_iter()), [vec![0, 4]]);
    }

    #[test]
    fn sets_that_are_none() {
        for text in ["", "q_proj", "a,,b", "a.b,c"] {
            assert!(
                Share::none().with_set(text).unwrap_err().to_string().contains("q_proj,k_proj,v_proj"),
                "{text}"
            );
        }
    }
}
