//! The header of an `.npy` file: a Python dictionary literal, of which exactly this much is
//! understood.
//!
//! Source: NumPy, `numpy.lib.format`. Strings in either quote without escapes, `True` and `False`,
//! tuples of whole numbers; each of the three keys once, in any order; a trailing comma may stand
//! where Python allows it.

use crate::file::dtype::MAX_DIMENSIONS;

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) descr: String,
    pub(crate) fortran_order: bool,
    pub(crate) shape: Vec<u64>,
}

/// Why a header is not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It breaks the rules, at this byte of the header.
    Malformed { offset: usize, what: String },
    /// It keeps them, but describes what is not read.
    Unsupported(String),
}

/// Parses the text between the length and the data.
pub(crate) fn parse(text: &[u8]) -> Result<Header, Fault> {
    let Some((b'\n', literal)) = text.split_last() else {
        return Err(Fault::Malformed { offset: text.len(), what: "it must end with a line break".into() });
    };
    let mut parser = Parser { text: literal, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.eat(b'}') {
        let place = parser.at;
        let key = parser.string()?;
        parser.expect(b':')?;
        let new = match key.as_str() {
            "descr" => descr.replace(parser.descr()?).is_none(),
            "fortran_order" => fortran_order.replace(parser.truth()?).is_none(),
            "shape" => shape.replace(parser.tuple()?).is_none(),
            _ => {
                let what = "a key other than 'descr', 'fortran_order' and 'shape'".into();
                return Err(Fault::Malformed { offset: place, what });
            }
        };
        if !new {
            return Err(Fault::Malformed { offset: place, what: format!("the key '{key}' comes twice") });
        }
        if !parser.eat(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    parser.skip_spaces();
    if parser.at != literal.len() {
        return parser.fault("only spaces may follow the dictionary");
    }
    let missing = |key: &str| Fault::Malformed { offset: 0, what: format!("the key '{key}' is missing") };
    Ok(Header {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

/// Everything before the data: magic, version, length and dictionary, padded to a multiple of 64
/// bytes as NumPy does.
pub(crate) fn text(magic: [u8; 6], descr: &str, shape: &[u64]) -> Vec<u8> {
    let mut tuple = shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    if shape.len() == 1 {
        tuple.push(',');
    }
    let literal = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({tuple}), }}");
    let padded = |prefix: usize| (prefix + literal.len() + 1).next_multiple_of(64) - prefix;
    let mut bytes = magic.to_vec();
    let total = if let Ok(length) = u16::try_from(padded(10)) {
        bytes.extend([1, 0]);
        bytes.extend(length.to_le_bytes());
        10 + usize::from(length)
    } else {
        bytes.extend([2, 0]);
        bytes.extend(u32::try_from(padded(12)).expect("a header is far below 4 GB").to_le_bytes());
        12 + padded(12)
    };
    bytes.extend(literal.as_bytes());
    bytes.resize(total - 1, b' ');
    bytes.push(b'\n');
    bytes
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn fault<T>(&self, what: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Malformed { offset: self.at, what: what.into() })
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.eat(byte) { Ok(()) } else { self.fault(format!("expected `{}`", char::from(byte))) }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.skip_spaces();
        let Some(quote @ (b'\'' | b'"')) = self.peek() else {
            return self.fault("expected a string");
        };
        self.at += 1;
        let mut string = String::new();
        loop {
            match self.peek() {
                Some(byte) if byte == quote => break,
                Some(byte @ b' '..=b'~') if byte != b'\\' => string.push(char::from(byte)),
                _ => {
                    return self
                        .fault("expected printable ASCII without backslashes, then the closing quote");
                }
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(string)
    }

    fn descr(&mut self) -> Result<String, Fault> {
        self.skip_spaces();
        if let Some(b'[' | b'(' | b'{') = self.peek() {
            let what = "the array holds structures; save one field as an array of its own";
            return Err(Fault::Unsupported(what.into()));
        }
        self.string()
    }

    fn truth(&mut self) -> Result<bool, Fault> {
        self.skip_spaces();
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.fault("expected True or False")
    }

    fn tuple(&mut self) -> Result<Vec<u64>, Fault> {
        let mut items = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            if items.len() == MAX_DIMENSIONS {
                return self.fault(format!("more than {MAX_DIMENSIONS} dimensions"));
            }
            items.push(self.number()?);
            let comma = self.eat(b',');
            if !comma {
                if items.len() == 1 {
                    return self.fault("expected `,`: a tuple of one item is written (n,)");
                }
                self.expect(b')')?;
                break;
            }
        }
        Ok(items)
    }

    fn number(&mut self) -> Result<u64, Fault> {
        self.skip_spaces();
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = &self.text[self.at..self.at + digits];
        if digits == 0 || (digits > 1 && text[0] == b'0') {
            return self.fault("expected a whole number");
        }
        let number = text.iter().try_fold(0u64, |n, b| n.checked_mul(10)?.checked_add(u64::from(b - b'0')));
        let Some(number) = number else { return self.fault("a dimension above 64 bits") };
        self.at += digits;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> Result<Header, Fault> {
        parse(format!("{text}\n").as_bytes())
    }

    #[test]
    fn spellings_of_python_are_understood() {
        let expected = Header { descr: "<f4".into(), fortran_order: false, shape: vec![3, 4] };
        for text in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }       ",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}",
            "{\"shape\":(3,4,),\"fortran_order\":False,\"descr\":\"<f4\"}",
        ] {
            assert_eq!(header(text).as_ref(), Ok(&expected), "{text}");
        }
        assert_eq!(
            header("{'descr':'|u1','fortran_order':True,'shape':()}").unwrap().shape,
            Vec::<u64>::new()
        );
        assert_eq!(header("{'descr':'|u1','fortran_order':True,'shape':(7,)}").unwrap().shape, [7]);
    }

    #[test]
    fn faults_are_told_with_their_place() {
        let cases = [
            ("", "expected `{`"),
            ("{'descr'", "expected `:`"),
            ("{'descr': '<f4'", "expected `}`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3)}", "expected `,`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}", "expected `,`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "expected a whole number"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (03,)}", "expected a whole number"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (3L,)}", "expected `,`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': [3]}", "expected `(`"),
            ("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "above 64 bits"),
            ("{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "expected True or False"),
            ("{'descr': '<f4', 'fortran_order': False}", "the key 'shape' is missing"),
            ("{'shape': (1,), 'fortran_order': False}", "the key 'descr' is missing"),
            ("{'descr': '<f4', 'shape': (1,)}", "the key 'fortran_order' is missing"),
            ("{'descr': '<f4', 'descr': '<f4'}", "the key 'descr' comes twice"),
            ("{'other': '<f4'}", "a key other than"),
            ("{'descr': '<f\\x34'}", "expected printable ASCII"),
            ("{'descr': '<f4", "expected printable ASCII"),
            ("{'descr': <f4}", "expected a string"),
            ("{'descr':'|u1','fortran_order':True,'shape':()} x", "only spaces may follow"),
            ("{'descr':'|u1','fortran_order':True,'shape':()}\t", "only spaces may follow"),
        ];
        for (text, part) in cases {
            match header(text) {
                Err(Fault::Malformed { offset, what }) => {
                    assert!(what.contains(part), "{text}: {what}");
                    assert!(offset <= text.len());
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        assert!(matches!(header("{'descr': [('a', '<f4')]}"), Err(Fault::Unsupported(_))));
        assert!(matches!(parse(b"{}"), Err(Fault::Malformed { offset: 2, .. })));
        assert!(matches!(parse(b""), Err(Fault::Malformed { offset: 0, .. })));
    }

    #[test]
    fn what_is_written_is_read_back_and_aligned() {
        for shape in [vec![], vec![5], vec![2, 3], vec![u64::MAX; 64]] {
            let bytes = text(*b"\x93NUMPY", "<f4", &shape);
            assert_eq!(bytes.len() % 64, 0);
            let start = if bytes[6] == 1 { 10 } else { 12 };
            assert_eq!(parse(&bytes[start..]).unwrap().shape, shape);
        }
    }
}
