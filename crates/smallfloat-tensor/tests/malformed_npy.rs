//! `.npy` files that break the rules or hold what is not read: each is refused with a message that says what and where.

use std::fs;

use smallfloat_tensor::{Error, Npy, Source};

fn file(version: [u8; 2], header: &str, data: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend(version);
    if version[0] == 1 {
        bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    } else {
        bytes.extend(u32::try_from(header.len()).unwrap().to_le_bytes());
    }
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

fn array(descr: &str, fortran: &str, shape: &str, data: usize) -> Vec<u8> {
    file([1, 0], &format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"), data)
}

fn open(bytes: &[u8]) -> Result<Npy, Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("case.npy");
    fs::write(&path, bytes).unwrap();
    Npy::open(&path)
}

#[test]
fn each_malformed_file_is_refused_with_its_message() {
    let f4 = |shape, data| array("<f4", "False", shape, data);
    let long = [&b"\x93NUMPY\x02\0"[..], &(1u32 << 21).to_le_bytes()].concat();
    let cases = [
        ("empty", vec![], "ends after 0"),
        ("magic only", b"\x93NUMPY".to_vec(), "ends after 6"),
        ("wrong magic", b"\x92NUMPY\x01\0\x02\0{}".to_vec(), "begins with `\\x93NUMPY`"),
        (
            "length beyond the file",
            b"\x93NUMPY\x01\0\xff\xff".to_vec(),
            "the header length 65535 is more than the 0 bytes",
        ),
        ("version 2 cut in the length", b"\x93NUMPY\x02\0\x01\0".to_vec(), "ends within the header length"),
        ("absurd length", long, "above the limit of 1048576 bytes"),
        ("empty header", file([1, 0], "", 0), "it must end with a line break"),
        (
            "no line break",
            file([1, 0], "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4),
            "it must end with a line break",
        ),
        ("no dictionary", file([1, 0], "hello\n", 0), "bad header: expected `{` (at byte 10)"),
        (
            "missing key",
            file([1, 0], "{'descr': '<f4', 'shape': (1,)}\n", 4),
            "the key 'fortran_order' is missing",
        ),
        ("unknown key", file([1, 0], "{'descr': '<f4', 'x': 1}\n", 4), "a key other than"),
        ("key twice", file([1, 0], "{'shape': (1,), 'shape': (1,)}\n", 4), "the key 'shape' comes twice"),
        (
            "code instead of a literal",
            file([1, 0], "{'descr': '<f4', 'fortran_order': exit(), 'shape': (1,)}\n", 4),
            "expected True or False",
        ),
        ("negative dimension", f4("(-1,)", 4), "expected a whole number"),
        ("elements overflow", f4("(4294967296, 4294967296)", 0), "has more elements than 64 bits can count"),
        ("bits overflow", f4("(4611686018427387904,)", 0), "has more bits than 64 bits can count"),
        (
            "data truncated",
            f4("(3,)", 11),
            "the file is truncated: 11 bytes of data where the shape takes 12",
        ),
        ("data missing", f4("(3,)", 0), "the file is truncated: 0 bytes"),
        (
            "data too long",
            f4("(3,)", 13),
            "the file goes on after the array: 13 bytes of data where the shape takes 12",
        ),
        ("data for an empty array", f4("(0,)", 1), "the file goes on after the array"),
    ];
    for (name, bytes, part) in cases {
        let error = open(&bytes).expect_err(name);
        assert!(error.is_malformed(), "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

#[test]
fn what_is_not_read_is_refused_with_what_to_do() {
    let cases = [
        ("version 4", file([4, 0], "{}\n", 0), ".npy version 4.0 is unknown; 1.0, 2.0 and 3.0 are read"),
        ("version 1.1", file([1, 1], "{}\n", 0), ".npy version 1.1 is unknown"),
        (
            "big-endian",
            array(">f4", "False", "(1,)", 4),
            "big-endian data (`>f4`); convert it with a.astype('<f4')",
        ),
        ("fortran order", array("<f4", "True", "(2, 3)", 24), "Fortran order; save it in C order"),
        ("objects", array("|O", "False", "(1,)", 4), "Python objects"),
        ("raw bytes", array("|V1", "False", "(1,)", 1), "a.view('uint8')"),
        ("text", array("<U4", "False", "(1,)", 16), "data of type `<U4`; known are"),
        (
            "structures",
            file([1, 0], "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", 4),
            "structures",
        ),
    ];
    for (name, bytes, part) in cases {
        let error = open(&bytes).expect_err(name);
        assert!(error.is_unsupported(), "{name}: {error}");
        assert!(error.to_string().contains(part), "{name}: {error}");
    }
}

#[test]
fn all_versions_are_read() {
    let header = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }\n";
    for version in [[1, 0], [2, 0], [3, 0]] {
        let npy = open(&file(version, header, 4)).unwrap();
        assert_eq!((npy.tensor().name.as_str(), &npy.tensor().shape[..]), ("case", &[2, 1][..]));
    }
}

#[test]
fn no_truncation_and_no_flipped_bit_panics() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t");
    for version in [1, 2] {
        let whole =
            file([version, 0], "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", 24);
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            assert!(Source::open(&path).is_err(), "{len}");
        }
        for at in 0..whole.len() - 24 {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                fs::write(&path, &bytes).unwrap();
                if let Ok(source) = Source::open(&path) {
                    let tensor = &source.tensors()[0];
                    assert_eq!(source.read_all(tensor).unwrap().len() as u64, tensor.len);
                }
            }
        }
    }
}
