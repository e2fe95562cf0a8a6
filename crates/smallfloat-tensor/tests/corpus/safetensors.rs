//! The safetensors files. `¦` in a header stands behind the byte at which the fault must be
//! reported: the last one that was looked at when the fault could be told. That is the offending
//! character, the last byte of the offending value, or the byte before an array or an object that
//! must not be there.

use super::{Case, Verdict, unmarked};

/// A file of this header and as many zero bytes of data.
pub(crate) fn file(header: impl AsRef<[u8]>, data: usize) -> Vec<u8> {
    let header = header.as_ref();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header);
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// A tensor of two bytes.
const U8: &str = r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;

struct Corpus(Vec<Case>);

impl Corpus {
    fn add(&mut self, name: &'static str, bytes: Vec<u8>, verdict: Verdict) {
        self.0.push(Case { name, bytes, verdict });
    }

    /// Bytes as they are, refused at this byte.
    fn raw(&mut self, name: &'static str, bytes: impl Into<Vec<u8>>, at: u64, part: &'static str) {
        self.add(name, bytes.into(), Verdict::Malformed { tensor: None, at, part });
    }

    /// A file that is read.
    fn read(&mut self, name: &'static str, header: impl AsRef<[u8]>, data: usize) {
        self.add(name, file(header, data), Verdict::Read);
    }

    /// A header refused at the byte before its mark.
    fn bad(&mut self, name: &'static str, header: impl AsRef<[u8]>, data: usize, part: &'static str) {
        self.bad_tensor(name, None, header, data, part);
    }

    /// A header refused at the byte before its mark, where the message names a tensor.
    fn bad_tensor(
        &mut self,
        name: &'static str,
        tensor: Option<&'static str>,
        header: impl AsRef<[u8]>,
        data: usize,
        part: &'static str,
    ) {
        let (header, at) = unmarked(header.as_ref());
        let at = 7 + at.expect(name);
        self.add(name, file(header, data), Verdict::Malformed { tensor, at, part });
    }

    /// A header with the one tensor `t`, refused at the byte before its mark.
    fn t(&mut self, name: &'static str, text: &str, data: usize, part: &'static str) {
        self.bad_tensor(name, Some("t"), format!("{{\"t\":{text}}}"), data, part);
    }

    /// A header whose JSON is good, refused for its numbers at a byte of the data.
    fn layout(
        &mut self,
        name: &'static str,
        tensor: Option<&'static str>,
        header: impl AsRef<[u8]>,
        data: usize,
        at: u64,
        part: &'static str,
    ) {
        let at = 8 + header.as_ref().len() as u64 + at;
        self.add(name, file(header, data), Verdict::Malformed { tensor, at, part });
    }

    /// Adds a file of one tensor `t` with a malformed layout.
    fn t_layout(&mut self, name: &'static str, text: &str, data: usize, at: u64, part: &'static str) {
        self.layout(name, Some("t"), format!("{{\"t\":{text}}}"), data, at, part);
    }
}

/// Two tensors of four bytes at these offsets.
fn two(a: &str, b: &str) -> String {
    format!(
        r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":{a}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{b}}}}}"#
    )
}

/// One tensor of four bytes and an empty one at these offsets.
fn with_empty(offsets: &str) -> String {
    format!(
        r#"{{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},"b":{{"dtype":"U8","shape":[0],"data_offsets":{offsets}}}}}"#
    )
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut corpus = Corpus(Vec::new());
    lengths(&mut corpus);
    frames(&mut corpus);
    names_and_metadata(&mut corpus);
    fields(&mut corpus);
    shapes(&mut corpus);
    offsets(&mut corpus);
    legal(&mut corpus);
    corpus.0
}

/// The eight bytes of length.
fn lengths(c: &mut Corpus) {
    c.raw("empty file", [], 0, "ends after 0");
    c.raw("one byte", [2], 1, "ends after 1");
    c.raw("seven bytes", [2, 0, 0, 0, 0, 0, 0], 7, "ends after 7");
    c.raw("length zero", [0; 8], 0, "the header length 0 is too short; the least header is `{}`");
    c.raw("length one", file("{", 0), 0, "the header length 1 is too short");
    c.raw(
        "length beyond the file",
        100u64.to_le_bytes(),
        0,
        "the header length 100 is more than the 0 bytes that follow it",
    );
    c.raw(
        "length one too long",
        [&3u64.to_le_bytes()[..], b"{}"].concat(),
        0,
        "is more than the 2 bytes that follow",
    );
    c.raw(
        "length of a hundred megabytes",
        100_000_000u64.to_le_bytes(),
        0,
        "is more than the 0 bytes that follow",
    );
    c.raw(
        "length of a hundred megabytes and one",
        100_000_001u64.to_le_bytes(),
        0,
        "above the limit of 100000000 bytes",
    );
    c.raw("length of 2^63", (1u64 << 63).to_le_bytes(), 0, "above the limit");
    c.raw(
        "length that overflows with its own eight bytes",
        (u64::MAX - 7).to_le_bytes(),
        0,
        "above the limit",
    );
    c.raw("length of all ones", [0xff; 8], 0, "the header length 18446744073709551615 is above the limit");
    c.raw("length in the other byte order", [&2u64.to_be_bytes()[..], b"{}"].concat(), 0, "above the limit");
    c.raw(
        "length one too short",
        [&1u64.to_le_bytes()[..], b"{}"].concat(),
        0,
        "the header length 1 is too short",
    );
}

/// The frame of the JSON text.
fn frames(c: &mut Corpus) {
    c.bad("leading space", " ¦{}", 0, "the header begins with byte 0x20; it must begin with `{`");
    c.bad("leading line break", "\n¦{}", 0, "begins with byte 0x0a");
    c.bad("byte order mark", [b"\xef", MARKED, b"\xbb\xbf{}"].concat(), 0, "begins with byte 0xef");
    c.bad("array", "[¦]", 0, "begins with byte 0x5b");
    c.bad("text", "\"¦{}\"", 0, "begins with byte 0x22");
    c.bad("null", "n¦ull", 0, "begins with byte 0x6e");
    c.bad("zeros", [&[0], MARKED, &[0; 15]].concat(), 0, "begins with byte 0x00");
    c.bad("UTF-16", "{\0}\0¦", 0, "the header ends with byte 0x00");
    c.bad(
        "padding of line breaks",
        "{}\n¦",
        0,
        "the header ends with byte 0x0a; it must end with `}` and may be padded with spaces only",
    );
    c.bad("padding of tabs", "{}\t\t¦ ", 0, "the header ends with byte 0x09");
    c.bad("padding of zeros", "{}\0\0¦", 0, "the header ends with byte 0x00");
    c.bad("two objects", "{}{¦}", 0, "bad header: trailing characters");
    c.bad("something after the padding", "{}   x¦", 0, "the header ends with byte 0x78");
    c.bad("only a brace and spaces", "{¦      ", 0, "the header ends with byte 0x7b");
    c.bad_tensor("unclosed", Some("a"), "{\"a\":{}¦", 0, "missing field `dtype`");
    c.bad("unclosed string", "{\"a}¦", 0, "bad header: EOF while parsing a string");
    c.bad("trailing comma", format!("{{\"t\":{U8},}}¦"), 2, "bad header: trailing comma");
    c.bad("two commas", format!("{{\"t\":{U8},,¦}}"), 2, "bad header: key must be a string");
    c.bad("no comma", format!("{{\"t\":{U8}\"¦u\":{U8}}}"), 4, "bad header: expected `,` or `}`");
    c.bad_tensor("no colon", Some("t"), format!("{{\"t\"{{¦{}}}", &U8[1..]), 2, "bad header: expected `:`");
    c.bad("name without quotes", format!("{{t¦:{U8}}}"), 2, "bad header: key must be a string");
    c.bad("name that is a number", format!("{{1¦:{U8}}}"), 2, "bad header: key must be a string");
    c.bad("single quotes", "{'¦a':{}}", 0, "bad header: key must be a string");
    c.bad("comment", "{/¦**/}", 0, "bad header: key must be a string");
    c.bad("bytes that are no UTF-8", [b"{\"\xff", MARKED, b"\":{}}"].concat(), 0, "invalid unicode");
    c.bad("overlong UTF-8", [b"{\"\xc0", MARKED, b"\xaf\":{}}"].concat(), 0, "invalid unicode");
    c.bad("half a UTF-8 character", [b"{\"\xe2", MARKED, b"\x82\":{}}"].concat(), 0, "invalid unicode");
    c.bad("lone surrogate", r#"{"\ud800"¦:{}}"#, 0, "bad header:");
    c.bad("unknown escape", r#"{"\x¦41":{}}"#, 0, "bad header: invalid escape");
    c.bad("raw control character in a name", "{\"a\n\"¦:{}}", 0, "bad header: control character");
    c.t(
        "deep nesting",
        &format!("¦{}1{}", "[".repeat(5000), "]".repeat(5000)),
        0,
        "invalid type: sequence, expected an object with the fields",
    );
    c.t(
        "deep nesting in a shape",
        &format!("{{\"dtype\":\"U8\",\"shape\":[¦{}1{}]}}", "[".repeat(5000), "]".repeat(5000)),
        0,
        "invalid type: sequence, expected a whole number",
    );
}

/// The mark as bytes.
const MARKED: &[u8] = super::MARK;

fn names_and_metadata(c: &mut Corpus) {
    c.bad(
        "duplicate tensor",
        format!("{{\"t\":{U8},\"t\"¦:{U8}}}"),
        2,
        "bad header: duplicate tensor name `t`; names must be unique",
    );
    c.bad(
        "duplicate tensor, one escaped",
        format!("{{\"t\":{U8},\"\\u0074\"¦:{U8}}}"),
        2,
        "duplicate tensor name `t`",
    );
    let empty = r#"{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    c.bad("duplicate empty tensor", format!("{{\"\":{empty},\"\"¦:{empty}}}"), 0, "duplicate tensor name ``");
    c.bad(
        "duplicate metadata",
        r#"{"__metadata__":{},"__metadata__"¦:{}}"#,
        0,
        "duplicate key `__metadata__`",
    );
    c.bad(
        "duplicate metadata, one escaped",
        r#"{"__metadata__":{},"\u005f_metadata__"¦:{}}"#,
        0,
        "duplicate key `__metadata__`",
    );
    c.bad(
        "duplicate metadata key",
        r#"{"__metadata__":{"k":"1","k"¦:"2"}}"#,
        0,
        "duplicate key `k` in `__metadata__`",
    );
    c.bad(
        "duplicate metadata key with the same text",
        r#"{"__metadata__":{"k":"1","k"¦:"1"}}"#,
        0,
        "duplicate key `k` in `__metadata__`",
    );
    c.bad_tensor(
        "hostile name",
        Some("\u{1b}[2J"),
        "{\"\\u001b[2J\":3¦}",
        0,
        "tensor `\\u{1b}[2J`: bad header",
    );
    c.bad(
        "metadata null",
        r#"{"__metadata__":null¦}"#,
        0,
        "expected `__metadata__` to be an object that maps strings to strings",
    );
    c.bad(
        "metadata of numbers",
        r#"{"__metadata__":{"a":1¦}}"#,
        0,
        "invalid type: integer `1`, expected a string",
    );
    c.bad("metadata of null", r#"{"__metadata__":{"a":null¦}}"#, 0, "invalid type: null, expected a string");
    c.bad("metadata nested", r#"{"__metadata__":{"a":¦{}}}"#, 0, "invalid type: map, expected a string");
    c.bad("metadata text", r#"{"__metadata__":"a"¦}"#, 0, "expected `__metadata__` to be an object");
    c.bad("metadata list", r#"{"__metadata__":¦[["a","b"]]}"#, 0, "expected `__metadata__` to be an object");
    c.bad(
        "metadata that is a tensor",
        format!("{{\"__metadata__\":{}}}", U8.replace(":[2]", ":¦[2]")),
        2,
        "expected a string",
    );
}

fn fields(c: &mut Corpus) {
    c.t(
        "tensor as array",
        r#"¦["U8",[2],[0,2]]"#,
        2,
        "invalid type: sequence, expected an object with the fields `dtype`, `shape` and `data_offsets`",
    );
    c.t("tensor null", "null¦", 0, "invalid type: null, expected an object");
    c.t("tensor text", "\"U8\"¦", 0, "invalid type: string \"U8\", expected an object");
    c.t("tensor without fields", "{}¦", 0, "missing field `dtype`");
    c.t("no dtype", r#"{"shape":[2],"data_offsets":[0,2]}¦"#, 2, "missing field `dtype`");
    c.t("no shape", r#"{"dtype":"U8","data_offsets":[0,2]}¦"#, 2, "missing field `shape`");
    c.t("no offsets", r#"{"dtype":"U8","shape":[2]}¦"#, 2, "missing field `data_offsets`");
    c.t(
        "duplicate field",
        r#"{"dtype":"U8","dtype"¦:"U8","shape":[2],"data_offsets":[0,2]}"#,
        2,
        "duplicate field `dtype`",
    );
    c.t(
        "unknown field",
        r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2],"strides"¦:[1]}"#,
        2,
        "unknown field `strides`; a tensor has `dtype`, `shape` and `data_offsets`",
    );
    c.t(
        "field in upper case",
        r#"{"DTYPE"¦:"U8","shape":[2],"data_offsets":[0,2]}"#,
        2,
        "unknown field `DTYPE`",
    );
    for (name, dtype, part) in [
        ("unknown dtype", "\"F128\"¦", "unknown dtype `F128`; known are BOOL, F4"),
        ("dtype in lower case", "\"u8\"¦", "unknown dtype `u8`"),
        ("dtype with a space", "\"U8 \"¦", "unknown dtype `U8 `"),
        ("dtype empty", "\"\"¦", "unknown dtype ``"),
        ("dtype as number", "8¦", "invalid type: integer `8`, expected a string"),
        ("dtype null", "null¦", "invalid type: null, expected a string"),
        ("dtype as array", "¦[\"U8\"]", "invalid type: sequence, expected a string"),
    ] {
        c.t(name, &format!(r#"{{"dtype":{dtype},"shape":[2],"data_offsets":[0,2]}}"#), 2, part);
    }
}

fn shapes(c: &mut Corpus) {
    for (name, shape, part) in [
        ("negative dimension", "[-2¦]", "integer `-2`, expected a whole number"),
        ("negative zero", "[-0¦]", "floating point `-0.0`, expected a whole number"),
        ("fractional dimension", "[2.0¦]", "floating point `2.0`, expected a whole number"),
        ("dimension with exponent", "[2e0¦]", "expected a whole number"),
        ("dimension beyond all floats", "[1e999¦]", "number out of range"),
        (
            "dimension above 64 bits",
            "[18446744073709551616¦]",
            "expected a whole number from 0 to 18446744073709551615",
        ),
        ("dimension as text", "[\"2\"¦]", "string \"2\", expected a whole number"),
        ("dimension null", "[null¦]", "null, expected a whole number"),
        ("dimension true", "[true¦]", "boolean `true`, expected a whole number"),
        ("dimension with a leading zero", "[02¦]", "invalid number"),
        ("dimension with a plus", "[+¦2]", "expected value"),
        ("dimension in hexadecimal", "[0x¦2]", "expected `,` or `]`"),
        ("dimension NaN", "[N¦aN]", "expected value"),
        ("shape as number", "2¦", "expected `shape` to be an array of whole numbers"),
        ("shape null", "null¦", "expected `shape` to be an array of whole numbers"),
        ("shape as object", "¦{}", "expected `shape` to be an array of whole numbers"),
        ("trailing comma in a shape", "[2,]¦", "trailing comma"),
    ] {
        c.t(name, &format!(r#"{{"dtype":"U8","shape":{shape},"data_offsets":[0,2]}}"#), 2, part);
    }
    let huge = "4294967296,4294967296";
    for (name, dtype, shape, len, part) in [
        (
            "elements overflow",
            "U8",
            huge,
            0,
            "shape [4294967296, 4294967296] has more elements than 64 bits can count",
        ),
        (
            "elements overflow beside a zero",
            "U8",
            "0,4294967296,4294967296",
            0,
            "has more elements than 64 bits can count",
        ),
        (
            "elements overflow before a zero",
            "U8",
            "4294967296,4294967296,0",
            0,
            "has more elements than 64 bits can count",
        ),
        (
            "elements overflow to one",
            "U8",
            "4294967296,4294967296,1",
            1,
            "has more elements than 64 bits can count",
        ),
        ("bits overflow", "F64", "2305843009213693952", 0, "has more bits than 64 bits can count"),
        ("half a byte", "F4", "3", 2, "shape [3] of F4 does not fill whole bytes"),
        ("three quarters of a byte", "F6_E2M3", "5", 4, "shape [5] of F6_E2M3 does not fill whole bytes"),
        ("too few bytes for the shape", "F32", "2", 4, "4 bytes of data, but shape [2] of F32 takes 8"),
        ("too many bytes for the shape", "F32", "1", 8, "8 bytes of data, but shape [1] of F32 takes 4"),
        ("bytes for an empty tensor", "F32", "0", 4, "4 bytes of data, but shape [0] of F32 takes 0"),
        ("no bytes for a scalar", "F32", "", 0, "0 bytes of data, but shape [] of F32 takes 4"),
    ] {
        let text = format!(r#"{{"dtype":"{dtype}","shape":[{shape}],"data_offsets":[0,{len}]}}"#);
        c.t_layout(name, &text, len, 0, part);
    }
}

fn offsets(c: &mut Corpus) {
    for (name, offsets, part) in [
        (
            "offsets of none",
            "[]¦",
            "invalid length 0, expected `data_offsets` to be an array of two whole numbers",
        ),
        (
            "offsets of one",
            "[2]¦",
            "invalid length 1, expected `data_offsets` to be an array of two whole numbers",
        ),
        (
            "offsets of three",
            "[0,2,4]¦",
            "invalid length 3, expected `data_offsets` to be an array of two whole numbers",
        ),
        ("negative offset", "[-2¦,0]", "integer `-2`, expected a whole number"),
        ("fractional offset", "[0,2.0¦]", "floating point `2.0`, expected a whole number"),
        ("offset above 64 bits", "[0,18446744073709551618¦]", "expected a whole number"),
        ("offset as text", "[0,\"2\"¦]", "string \"2\", expected a whole number"),
        ("offsets null", "null¦", "expected `data_offsets` to be an array of two whole numbers"),
        ("offsets as object", "¦{\"begin\":0,\"end\":2}", "expected `data_offsets` to be an array"),
    ] {
        c.t(name, &format!(r#"{{"dtype":"U8","shape":[2],"data_offsets":{offsets}}}"#), 2, part);
    }
    let at = |offsets: &str| format!(r#"{{"dtype":"U8","shape":[2],"data_offsets":{offsets}}}"#);
    c.t_layout("end before begin", &at("[2,0]"), 2, 2, "`data_offsets` end before they begin: [2, 0]");
    let top = at("[18446744073709551613,18446744073709551615]");
    c.t_layout("begin at the top of 64 bits", &top, 2, 2, "reach beyond the 2 bytes of data");
    c.t_layout(
        "data truncated",
        U8,
        1,
        0,
        "`data_offsets` [0, 2] reach beyond the 1 bytes of data: the file is truncated or the header wrong",
    );
    c.t_layout("data missing", U8, 0, 0, "reach beyond the 0 bytes of data");
    let t = format!("{{\"t\":{U8}}}");
    c.layout(
        "trailing byte",
        None,
        &t,
        3,
        2,
        "1 bytes follow the last tensor; the file must end with it at byte 63",
    );
    c.layout("trailing bytes and no tensors", None, "{}", 5, 0, "5 bytes follow the last tensor");
    c.t_layout("hole before", &at("[1,3]"), 3, 1, "a hole of 1 bytes lies before its data");
    let (a, b) = (Some("a"), Some("b"));
    c.layout(
        "hole between",
        b,
        two("[0,4]", "[5,9]"),
        9,
        5,
        "a hole of 1 bytes lies before its data; data must follow each other",
    );
    c.layout("hole between, against the order", a, two("[5,9]", "[0,4]"), 9, 5, "a hole of 1 bytes");
    c.layout(
        "overlap by one",
        b,
        two("[0,4]", "[3,7]"),
        7,
        3,
        "its data overlaps tensor `a`, which ends at byte 117",
    );
    c.layout("same bytes twice", b, two("[0,4]", "[0,4]"), 4, 0, "its data overlaps tensor `a`");
    c.layout("overlap against the order", a, two("[3,7]", "[0,4]"), 7, 3, "its data overlaps tensor `b`");
    c.layout("empty tensor inside another", b, with_empty("[2,2]"), 4, 2, "its data overlaps tensor `a`");
    c.layout(
        "empty tensor beyond the end",
        b,
        with_empty("[9,9]"),
        4,
        4,
        "`data_offsets` [9, 9] reach beyond the 4 bytes of data",
    );
    c.layout(
        "empty tensor with its offsets reversed",
        b,
        with_empty("[4,0]"),
        4,
        4,
        "end before they begin: [4, 0]",
    );
}

/// What looks odd and is legal.
fn legal(c: &mut Corpus) {
    let t = |text: &str| format!("{{\"t\":{text}}}");
    c.read("no tensors", "{}", 0);
    c.read("padding", "{}      ", 0);
    c.read("a megabyte of padding", format!("{{}}{}", " ".repeat(1 << 20)), 0);
    c.read("metadata only", r#"{"__metadata__":{"a":"b"}}"#, 0);
    c.read("empty metadata", r#"{"__metadata__":{}}"#, 0);
    c.read("metadata after the tensors", format!("{{\"t\":{U8},\"__metadata__\":{{\"a\":\"b\"}}}}"), 2);
    c.read("scalar", t(r#"{"dtype":"F32","shape":[],"data_offsets":[0,4]}"#), 4);
    c.read("empty tensor", t(r#"{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]}"#), 0);
    c.read("empty tensor between", with_empty("[0,0]"), 4);
    c.read("empty tensor at the end", with_empty("[4,4]"), 4);
    c.read(
        "white space inside",
        t("{ \"dtype\" : \"U8\",\n\t\"shape\":[ 2 ],\r\n \"data_offsets\": [0 , 2] }"),
        2,
    );
    c.read("fields in another order", t(r#"{"data_offsets":[0,2],"shape":[2],"dtype":"U8"}"#), 2);
    c.read("escaped field names", t(r#"{"d\u0074ype":"U8","shape":[2],"data_offsets":[0,2]}"#), 2);
    c.read("names that look like paths", format!("{{\"../../etc/passwd\":{U8}}}"), 2);
    c.read("a name with a zero byte", format!("{{\"a\\u0000b\":{U8}}}"), 2);
    c.read("the empty name", format!("{{\"\":{U8}}}"), 2);
    c.read("a name with a pair of surrogates", format!("{{\"\\ud83d\\ude00\":{U8}}}"), 2);
    c.read(
        "names that differ in composition",
        two("[0,4]", "[4,8]").replace("\"a\"", "\"é\"").replace("\"b\"", "\"e\u{301}\""),
        8,
    );
    c.read("a name of 100,000 characters", format!("{{\"{}\":{U8}}}", "x".repeat(100_000)), 2);
    c.t(
        "a shape of 10,000 ones",
        &format!(
            r#"{{"dtype":"U8","shape":[{}¦1{}],"data_offsets":[0,1]}}"#,
            "1,".repeat(65),
            ",1".repeat(9_934)
        ),
        1,
        "`shape` has more than 64 dimensions",
    );
    c.read("whole bytes of nibbles", t(r#"{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}"#), 3);
    c.read("whole bytes of sextets", t(r#"{"dtype":"F6_E3M2","shape":[4],"data_offsets":[0,3]}"#), 3);
    c.read("data against the order of the header", two("[4,8]", "[0,4]"), 8);
    c.read("a tensor named like metadata in other case", format!("{{\"__METADATA__\":{U8}}}"), 2);
}
