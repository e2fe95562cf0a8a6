//! `.npy` files that break the rules or hold what is not read: each gets its verdict, and NumPy's
//! verdict is what the recorded table and the documentation say.

use crate::corpus::npy::{cases, file};
use crate::corpus::{Verdict, documented, export, recorded, sha256};
use smallfloat_tensor::Source;

/// What NumPy made of the same bytes, `numpy.load` without pickles.
const NUMPY: &str = include_str!("../../data/reference-npy.csv");

#[test]
fn each_file_gets_its_verdict() {
    let cases = cases();
    export("npy", &cases);
    let answer = |bytes: &[u8]| Source::from_bytes("case.npy", bytes.to_vec());
    let wrong: Vec<_> = cases.iter().filter_map(|case| case.check(answer(&case.bytes))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files that NumPy reads and that break the rules here are in the documentation; what is read here
/// NumPy reads too.
#[test]
fn numpy_differs_only_where_the_documentation_says() {
    let recorded = recorded(NUMPY);
    let mut stricter = Vec::new();
    for case in cases() {
        let (digest, numpy) = recorded.get(case.name).expect(case.name);
        assert_eq!(*digest, sha256(&case.bytes), "{}: run verification/reference-readers", case.name);
        match case.verdict {
            Verdict::Read => assert_eq!(*numpy, [true], "{}", case.name),
            Verdict::Malformed { .. } if *numpy == [true] => stricter.push(case.name),
            _ => {}
        }
    }
    assert_eq!(documented("stricter than NumPy"), stricter);
    assert_eq!(recorded.len(), cases().len(), "the table has no other files");
}

#[test]
fn the_tensor_is_named_after_the_file() {
    let header = b"{'descr': '<f2', 'fortran_order': False, 'shape': (2, 1), }\n";
    for version in [[1, 0], [2, 0], [3, 0]] {
        let source = Source::from_bytes("folder/layer.0.npy", file(version, header, 4)).unwrap();
        let tensor = &source.tensors()[0];
        assert_eq!((tensor.name.as_str(), &tensor.shape[..]), ("layer.0", &[2, 1][..]));
    }
}
