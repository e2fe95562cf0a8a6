//! [`PortMap`]: what a design calls its ports.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::error::Error;

/// The names that a design has for the ports of its specification: the operands `x`, `y` and `z`,
/// the word `random`, the `bias`, `result` and `flags`, and of pipelines `clock`. What is not
/// mapped is called so.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortMap(BTreeMap<String, String>);

const KNOWN: &str = "x, y, z, random, bias, result, flags and clock; of blocks x_scale, x0, …";

impl PortMap {
    /// Returns the design's name of a port.
    pub fn name<'a>(&'a self, port: &'a str) -> &'a str {
        self.0.get(port).map_or(port, String::as_str)
    }

    /// Returns the ports with other names.
    pub fn renamed(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(port, name)| (port.as_str(), name.as_str()))
    }
}

/// `result=code,x=f32`.
impl FromStr for PortMap {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Ports { text: text.to_owned(), known: KNOWN };
        let mut map = BTreeMap::new();
        for part in text.split(',') {
            let (port, name) = part.split_once('=').ok_or_else(wrong)?;
            let (port, name) = (port.trim(), name.trim());
            let is_name = |text: &str| {
                text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                    && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
            };
            if !is_name(port) || !is_name(name) || map.insert(port.to_owned(), name.to_owned()).is_some() {
                return Err(wrong());
            }
        }
        Ok(Self(map))
    }
}
