//! The `.npy` files. `¦` in a header marks the byte at which the fault must be reported.

use super::{Case, Verdict, unmarked};

/// A file of this version and header (its mark removed), with as many zero bytes of data.
pub(crate) fn file(version: [u8; 2], header: &[u8], data: usize) -> (Vec<u8>, Option<u64>) {
    let (header, mark) = unmarked(header);
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    if version[0] == 1 {
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    } else {
        bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    }
    let mark = mark.map(|mark| bytes.len() as u64 + mark);
    bytes.extend(header);
    bytes.resize(bytes.len() + data, 0);
    (bytes, mark)
}

struct Corpus(Vec<Case>);

impl Corpus {
    fn add(&mut self, name: &'static str, bytes: Vec<u8>, verdict: Verdict) {
        self.0.push(Case { name, bytes, verdict });
    }

    fn raw(&mut self, name: &'static str, bytes: impl Into<Vec<u8>>, at: u64, part: &'static str) {
        self.add(name, bytes.into(), Verdict::Malformed { tensor: None, at, part });
    }

    /// A version 1.0 header refused at its mark.
    fn bad(&mut self, name: &'static str, header: impl AsRef<[u8]>, data: usize, part: &'static str) {
        let (bytes, at) = file([1, 0], header.as_ref(), data);
        self.add(name, bytes, Verdict::Malformed { tensor: None, at: at.expect(name), part });
    }

    fn unsupported(&mut self, name: &'static str, header: impl AsRef<[u8]>, data: usize, part: &'static str) {
        self.add(name, file([1, 0], header.as_ref(), data).0, Verdict::Unsupported { part });
    }

    fn read(&mut self, name: &'static str, version: [u8; 2], header: impl AsRef<[u8]>, data: usize) {
        self.add(name, file(version, header.as_ref(), data).0, Verdict::Read);
    }
}

/// A header in C order.
fn c_order(descr: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n")
}

/// Every case.
pub(crate) fn cases() -> Vec<Case> {
    let mut corpus = Corpus(Vec::new());
    starts(&mut corpus);
    dictionaries(&mut corpus);
    shapes_and_data(&mut corpus);
    unsupported(&mut corpus);
    legal(&mut corpus);
    corpus.0
}

fn starts(c: &mut Corpus) {
    let f4 = c_order("<f4", "(1,)");
    let long = [&b"\x93NUMPY\x02\0"[..], &(1u32 << 21).to_le_bytes()].concat();
    c.raw("magic only", *b"\x93NUMPY", 6, "ends after 6");
    c.raw("cut in the version", *b"\x93NUMPY\x01", 7, "ends after 7");
    c.raw("cut in the length", *b"\x93NUMPY\x01\0\x46", 9, "ends after 9");
    c.raw("version 2 cut in the length", *b"\x93NUMPY\x02\0\x01\0", 10, "ends within the header length");
    c.raw(
        "length beyond the file",
        *b"\x93NUMPY\x01\0\xff\xff",
        8,
        "the header length 65535 is more than the 0 bytes",
    );
    c.raw("absurd length", long, 8, "above the limit of 1048576 bytes");
    let (mut short, _) = file([1, 0], f4.as_bytes(), 4);
    short[8] -= 1;
    c.raw("length one too short", short, 10 + f4.len() as u64 - 1, "it must end with a line break");
    let (mut longer, _) = file([1, 0], f4.as_bytes(), 4);
    longer[8] += 1;
    c.raw("length one too long", longer, 10 + f4.len() as u64 + 1, "it must end with a line break");
}

fn dictionaries(c: &mut Corpus) {
    c.bad("empty header", "¦", 0, "it must end with a line break");
    c.bad(
        "no line break",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}¦",
        4,
        "it must end with a line break",
    );
    c.bad("no dictionary", "¦hello\n", 0, "expected `{`");
    c.bad("list", "¦['<f4', False, (1,)]\n", 4, "expected `{`");
    c.bad("leading line break", format!("¦\n{}", c_order("<f4", "(1,)")), 4, "expected `{`");
    c.bad("unclosed", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)¦\n", 4, "expected `}`");
    c.bad(
        "two dictionaries",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}¦{}\n",
        4,
        "only spaces may follow",
    );
    c.bad(
        "comment",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} ¦# x\n",
        4,
        "only spaces may follow",
    );
    c.bad("key missing", "¦{'descr': '<f4', 'shape': (1,)}\n", 4, "the key 'fortran_order' is missing");
    c.bad("no keys", "¦{}\n", 0, "is missing");
    c.bad("unknown key", "{'descr': '<f4', ¦'x': 1}\n", 4, "a key other than");
    c.bad("key twice", "{'shape': (1,), ¦'shape': (1,)}\n", 4, "the key 'shape' comes twice");
    c.bad(
        "key twice, all there",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), ¦'shape': (1,)}\n",
        4,
        "the key 'shape' comes twice",
    );
    c.bad("key that is a number", "{¦1: 2}\n", 0, "expected a string");
    c.bad(
        "escape in a string",
        "{'descr': '<f¦\\x34', 'fortran_order': False, 'shape': (1,)}\n",
        4,
        "expected printable ASCII",
    );
    c.bad(
        "prefix of a string",
        "{¦b'descr': '<f4', 'fortran_order': False, 'shape': (1,)}\n",
        4,
        "expected a string",
    );
    c.bad(
        "strings side by side",
        "{'descr': '<' ¦'f4', 'fortran_order': False, 'shape': (1,)}\n",
        4,
        "expected `}`",
    );
    c.bad(
        "bytes that are no ASCII",
        b"{'descr': '<f4\xc2\xa6\xff', 'fortran_order': False}\n",
        4,
        "expected printable ASCII",
    );
    c.bad(
        "order as a number",
        "{'descr': '<f4', 'fortran_order': ¦0, 'shape': (1,)}\n",
        4,
        "expected True or False",
    );
    c.bad(
        "code instead of a literal",
        "{'descr': '<f4', 'fortran_order': ¦exit(), 'shape': (1,)}\n",
        4,
        "expected True or False",
    );
    c.bad(
        "type as a number",
        "{'descr': ¦4, 'fortran_order': False, 'shape': (1,)}\n",
        4,
        "expected a string",
    );
}

fn shapes_and_data(c: &mut Corpus) {
    for (name, shape, data, part) in [
        ("negative dimension", "(¦-1,)", 4, "expected a whole number"),
        ("fractional dimension", "(1¦.0,)", 4, "expected `,`"),
        ("leading zero", "(¦01,)", 4, "expected a whole number"),
        ("Python 2's long", "(1¦L,)", 4, "expected `,`"),
        ("underscore", "(1¦_0,)", 40, "expected `,`"),
        ("sum", "(1¦+0,)", 4, "expected `,`"),
        ("truth as a dimension", "(¦True,)", 4, "expected a whole number"),
        ("shape as a list", "¦[1]", 4, "expected `(`"),
        ("shape as a number", "¦1", 4, "expected `(`"),
        ("parentheses without a comma", "(1¦)", 4, "a tuple of one item is written (n,)"),
        ("nested tuple", "(¦(1,),)", 4, "expected a whole number"),
        ("dimension above 64 bits", "(¦99999999999999999999,)", 4, "above 64 bits"),
    ] {
        c.bad(name, c_order("<f4", shape), data, part);
    }
    let mark = |text: String| format!("¦{text}");
    c.bad(
        "elements overflow",
        mark(c_order("<f4", "(4294967296, 4294967296)")),
        0,
        "has more elements than 64 bits can count",
    );
    c.bad(
        "elements overflow beside a zero",
        mark(c_order("<f4", "(4294967296, 0, 4294967296)")),
        0,
        "has more elements than 64 bits",
    );
    c.bad(
        "bits overflow",
        mark(c_order("<f4", "(4611686018427387904,)")),
        0,
        "has more bits than 64 bits can count",
    );
    let data = |header: &str, count: usize| {
        let (bytes, _) = file([1, 0], header.as_bytes(), count);
        (bytes, 10 + header.len() as u64)
    };
    for (name, shape, count, part) in [
        ("data truncated", "(3,)", 11, "the file is truncated: 11 bytes of data where the shape takes 12"),
        ("data missing", "(3,)", 0, "the file is truncated: 0 bytes"),
        (
            "data too long",
            "(3,)",
            13,
            "the file goes on after the array: 13 bytes of data where the shape takes 12",
        ),
        ("data for an empty array", "(0,)", 1, "the file goes on after the array"),
        ("two scalars", "()", 8, "the file goes on after the array"),
    ] {
        let (bytes, at) = data(&c_order("<f4", shape), count);
        c.raw(name, bytes, at, part);
    }
}

fn unsupported(c: &mut Corpus) {
    for (name, version) in [("version 0", [0, 0]), ("version 4", [4, 0]), ("version 1.1", [1, 1])] {
        let bytes = file(version, c_order("<f4", "(1,)").as_bytes(), 4).0;
        c.add(name, bytes, Verdict::Unsupported { part: "is unknown; 1.0, 2.0 and 3.0 are read" });
    }
    c.unsupported("big-endian", c_order(">f4", "(1,)"), 4, "convert it with a.astype('<f4')");
    c.unsupported(
        "Fortran order",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}\n",
        24,
        "Fortran order",
    );
    c.unsupported("objects", c_order("|O", "(1,)"), 4, "Python objects");
    c.unsupported("raw bytes", c_order("|V1", "(1,)"), 1, "a.view('uint8')");
    c.unsupported("text", c_order("<U4", "(1,)"), 16, "data of type `<U4`; known are");
    c.unsupported("dates", c_order("<M8[s]", "(1,)"), 8, "data of type `<M8[s]`; known are");
    c.unsupported("type without byte order", c_order("f4", "(1,)"), 4, "data of type `f4`; known are");
    c.unsupported("native byte order", c_order("=f4", "(1,)"), 4, "data of type `=f4`; known are");
    c.unsupported("two complex doubles", c_order("<c16", "(1,)"), 16, "known are");
    c.unsupported("no such type", c_order("<q9", "(1,)"), 9, "known are");
    let structure = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n";
    c.unsupported("structures", structure, 4, "structures");
}

fn legal(c: &mut Corpus) {
    let header = c_order("<f2", "(2, 1)");
    c.read("version 1", [1, 0], &header, 4);
    c.read("version 2", [2, 0], &header, 4);
    c.read("version 3", [3, 0], &header, 4);
    c.read("scalar", [1, 0], c_order("<f8", "()"), 8);
    c.read("empty array", [1, 0], c_order("<f8", "(3, 0)"), 0);
    c.read("one dimension", [1, 0], c_order("|u1", "(5,)"), 5);
    c.read("trailing comma in the shape", [1, 0], c_order("<i8", "(1, 2,)"), 16);
    c.read("double quotes", [1, 0], c_order("<i4", "(2,)").replace('\'', "\""), 8);
    c.read("no spaces", [1, 0], c_order("<c8", "(2,)").replace(' ', ""), 16);
    c.read("keys in another order", [1, 0], "{'shape': (2,), 'descr': '<u2', 'fortran_order': False}\n", 4);
    c.read("header not aligned", [1, 0], format!("{} \n", c_order("|b1", "(1,)").trim_end()), 1);
}
