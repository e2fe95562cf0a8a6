//! The families of formats that are built from parameters: how their members are spelt, and which
//! there are.

use smallfloat::{Domain, Format, Signedness};

/// A family.
pub(crate) struct FormatFamily {
    /// Its names; the first is the one that is shown.
    pub(crate) names: &'static [&'static str],
    /// How members are spelt.
    pub(crate) spelling: &'static str,
    /// What the parameters may be.
    pub(crate) meaning: &'static str,
    /// A member.
    pub(crate) example: &'static str,
    /// All members of up to 16 bits, where they can be listed.
    members: Option<fn() -> Vec<Format>>,
}

/// All families.
pub(crate) const FAMILIES: [FormatFamily; 3] = [
    FormatFamily {
        names: &["P3109", "binary"],
        spelling: "binary<K>p<P><s|u><e|f>",
        meaning: "P3109: K = 3..16 (32 if E ≤ 11), signed or unsigned, extended or finite",
        example: "binary8p3se, or Binary{8, 3, Signed, Extended}",
        members: Some(p3109),
    },
    FormatFamily {
        names: &["ieee"],
        spelling: "ieee:k=<K>,p=<P>",
        meaning: "after IEEE 754's model: K = 4..16 (32 if E ≤ 11), P = 2..K−2",
        example: "ieee:k=6,p=3",
        members: Some(ieee),
    },
    FormatFamily {
        names: &["minifloat"],
        spelling: "minifloat:<key>=<value>,…",
        meaning: "any, K = 2..16 (32 if E ≤ 11): k, p, bias; signed, specials, subnormals",
        example: "minifloat:k=8,p=4,bias=7,specials=nan-allones",
        members: None,
    },
];

impl FormatFamily {
    /// The family of this name, case ignored.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim();
        FAMILIES.iter().find(|family| family.names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.names[0]
    }

    /// A member's name, the shorter where there are two.
    pub(crate) fn first_example(&self) -> &'static str {
        self.example.split(", or ").next().expect("a split has a part")
    }

    /// All members of up to 16 bits, the narrowest first; none where they are too many.
    pub(crate) fn members(&self) -> Option<Vec<Format>> {
        self.members.map(|members| members())
    }
}

/// The widths of the P3109 formats that are listed: those of the draft's own tables.
pub(crate) const P3109_WIDTHS: (u32, u32) = (3, 16);

/// All formats of P3109 of these widths.
pub(crate) fn p3109() -> Vec<Format> {
    let (narrowest, widest) = P3109_WIDTHS;
    let mut all = Vec::new();
    for k in narrowest..=widest {
        for p in 1..=k {
            for sign in [Signedness::Signed, Signedness::Unsigned] {
                // Signed formats end at one bit of precision less.
                all.extend(
                    [Domain::Extended, Domain::Finite]
                        .iter()
                        .filter_map(|domain| Format::p3109(k, p, sign, *domain).ok()),
                );
            }
        }
    }
    all
}

/// All formats of up to 16 bits after IEEE 754's model that are named by parameters.
fn ieee() -> Vec<Format> {
    (4..=16).flat_map(|k| (2..=k - 2).filter_map(move |p| Format::ieee(k, p).ok())).collect()
}
