//! The headers are those that follow from the sources. `BLESS=1 cargo test -p smallfloat-c` writes
//! them.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use cbindgen::{Builder, Config, DocumentationStyle, Language, RenameRule, Style};

const PREAMBLE: &str = include_str!("../src/header/preamble.h");
const FIXED: &str = include_str!("../src/header/fixed.h");

/// The functions of fixed formats: cbindgen sees no macros, so the preprocessor has the same table.
fn fixed() -> String {
    let mut text = format!("{FIXED}\n");
    let [plain, biased] = smallfloat_c::fixed::FORMATS;
    for (list, rows) in [("SF_FIXED_FORMATS", plain), ("SF_BIASED_FORMATS", biased)] {
        let rows =
            rows.iter().map(|(name, integer)| format!("X({name}, {}_t)", integer.replace('u', "uint")));
        writeln!(text, "#define {list}(X) \\\n    {}\n", rows.collect::<Vec<_>>().join(" \\\n    "))
            .expect("a string takes all");
    }
    text.push_str(
        "#define SF_PLAIN_(name, code) SF_DECLARE_(name, code, )\n\
         #define SF_COMMA_BIAS_ , uint32_t bias\n\
         #define SF_BIASED_(name, code) SF_DECLARE_(name, code, SF_COMMA_BIAS_)\n\n\
         #ifdef __cplusplus\nextern \"C\" {\n#endif\n\n\
         SF_FIXED_FORMATS(SF_PLAIN_)\n\
         SF_BIASED_FORMATS(SF_BIASED_)\n\n\
         #ifdef __cplusplus\n}\n#endif\n\n\
         #undef SF_PLAIN_\n#undef SF_BIASED_\n#undef SF_COMMA_BIAS_\n#undef SF_DECLARE_\n\n\
         #endif /* SMALLFLOAT_H */\n",
    );
    text
}

fn header() -> String {
    let mut config = Config {
        language: Language::C,
        style: Style::Both,
        cpp_compat: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 110,
        tab_width: 4,
        usize_is_size_t: true,
        header: Some(format!("{PREAMBLE}#ifndef SMALLFLOAT_H\n#define SMALLFLOAT_H")),
        trailer: Some(fixed()),
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        no_includes: true,
        after_includes: Some(flags()),
        ..Config::default()
    };
    // What the crate takes from the C library is no part of its own.
    config.export.exclude = vec!["fflush".to_owned()];
    config.enumeration.rename_variants = RenameRule::QualifiedScreamingSnakeCase;
    let bindings = Builder::new().with_crate(env!("CARGO_MANIFEST_DIR")).with_config(config).generate();
    let mut text = Vec::new();
    bindings.expect("cbindgen reads the crate").write(&mut text);
    String::from_utf8(text).expect("a header is UTF-8")
}

/// The flags' bits, from the core.
fn flags() -> String {
    use smallfloat::Flags;
    let mut text = String::from("\n/* Flags are sets of these bits, in the order of RISC-V's fflags. */\n");
    for (name, flag) in [
        ("INEXACT", Flags::INEXACT),
        ("UNDERFLOW", Flags::UNDERFLOW),
        ("OVERFLOW", Flags::OVERFLOW),
        ("DIVISION_BY_ZERO", Flags::DIVISION_BY_ZERO),
        ("INVALID", Flags::INVALID),
        ("DENORMAL", Flags::DENORMAL),
    ] {
        writeln!(text, "#define SF_{name} {}u", flag.bits()).expect("a string takes all");
    }
    text
}

#[test]
fn header_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/smallfloat.h");
    let right = header();
    if env::var_os("BLESS").is_some() {
        fs::write(&path, &right).expect("the header is written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == right, "include/smallfloat.h is not up to date: BLESS=1 cargo test -p smallfloat-c");
}
