//! Files beside the tensors (configurations, indexes, plans, reports, texts), read whole and within
//! a limit.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The most bytes of a configuration, an index, a plan or a report that are read. The index of a
/// model of a trillion parameters has some ten million.
pub const SIDE_FILE_BYTES: u64 = 100 << 20;

/// Opens a regular file for reading, and tells its length. Pipes and devices are refused before
/// they are opened: that would wait for a writer, or never end.
///
/// # Errors
/// A path that can't be opened, or that is no regular file after symbolic links are followed.
///
/// ```
/// let error = smallfloat_tensor::open_regular("/").unwrap_err();
/// assert!(error.to_string().contains("this is a folder"));
/// ```
pub fn open_regular(path: impl AsRef<Path>) -> Result<(File, u64)> {
    open_path(path.as_ref())
}

fn open_path(path: &Path) -> Result<(File, u64)> {
    let check = |kind: &fs::Metadata| {
        if kind.is_dir() {
            return Err(Error::unsupported(path, "this is a folder; name a file"));
        }
        if !kind.is_file() {
            return Err(Error::unsupported(
                path,
                "this is not a regular file; copy its content to a file and name that",
            ));
        }
        Ok(())
    };
    let io = |e| Error::io("open", path, e);
    check(&fs::metadata(path).map_err(io)?)?;
    let file = File::open(path).map_err(io)?;
    let opened = file.metadata().map_err(io)?;
    check(&opened)?;
    Ok((file, opened.len()))
}

/// Reads a whole regular file of at most `limit` bytes.
///
/// # Errors
/// What [`open_regular`] refuses, and a file that is longer.
pub fn read_limited(path: impl AsRef<Path>, limit: u64) -> Result<Vec<u8>> {
    read_path(path.as_ref(), limit)
}

fn read_path(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let (file, len) = open_regular(path)?;
    // Room for the whole spares many short reads; there is more only where more is read.
    let room = usize::try_from(len.min(limit).min(1 << 20)).expect("a mebibyte can be counted") + 1;
    let mut bytes = Vec::with_capacity(room);
    // One byte more tells a file that grows, or one that has no true length, as those of /proc.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| Error::io("read", path, e))?;
    if bytes.len() as u64 > limit {
        let what =
            format!("has {} bytes, the most that is read here is {limit}", len.max(bytes.len() as u64));
        return Err(Error::unsupported(path, what));
    }
    Ok(bytes)
}

/// Reads a whole file of at most [`SIDE_FILE_BYTES`]; `None` where there is none of this name. A
/// link to nowhere is an error.
pub(crate) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        _ => read_limited(path, SIDE_FILE_BYTES).map(Some),
    }
}

/// Reads a JSON object; `None` where there is no such file.
pub(crate) fn read_json(path: &Path) -> Result<Option<Map<String, Value>>> {
    let Some(text) = read_optional(path)? else { return Ok(None) };
    if text.starts_with("\u{feff}".as_bytes()) {
        let what = "begins with a byte-order mark, which JSON has not; save it as UTF-8 without one";
        return Err(Error::malformed(path, None, what));
    }
    let marked = numbers_as_strings(&text).and_then(|text| serde_json::from_slice(&text).ok());
    match marked.map_or_else(|| serde_json::from_slice(&text), Ok) {
        Ok(Value::Object(object)) => Ok(Some(object)),
        Ok(_) => Err(Error::malformed(path, None, "is no JSON object")),
        Err(e) => Err(Error::malformed(path, None, format!("is broken, it is no JSON: {e}"))),
    }
}

/// What Python's `json` reads and writes beyond JSON; integers of any size are the other thing.
const NUMBERS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];
/// What a string begins with that stands for such a number.
const MARK: &str = "\\u0000number:";

/// JSON with strings in the places of these numbers; `None` where there are none.
fn numbers_as_strings(text: &[u8]) -> Option<Vec<u8>> {
    let (mut all, mut rest, mut is_string, mut found) = (Vec::new(), text, false, false);
    while let Some((&byte, after)) = rest.split_first() {
        let number = NUMBERS.iter().find(|number| !is_string && rest.starts_with(number.as_bytes()));
        if let Some(number) = number {
            all.extend(format!("\"{MARK}{number}\"").bytes());
            (rest, found) = (&rest[number.len()..], true);
            continue;
        }
        let is_digit = |byte: &&u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let digits = if is_string { 0 } else { rest.iter().take_while(is_digit).count() };
        if digits > 0 {
            let number = &rest[..digits];
            let is_large = is_large_integer(number);
            all.extend(if is_large { format!("\"{MARK}").into_bytes() } else { Vec::new() });
            all.extend(number);
            all.extend(if is_large { "\"" } else { "" }.bytes());
            (rest, found) = (&rest[digits..], found || is_large);
            continue;
        }
        let length = if is_string && byte == b'\\' { rest.len().min(2) } else { 1 };
        is_string ^= byte == b'"';
        all.extend(&rest[..length]);
        rest = if length == 1 { after } else { &rest[length..] };
    }
    found.then_some(all)
}

/// Returns whether this is an integer of more than 64 bits.
fn is_large_integer(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let is_integer = digits.iter().all(u8::is_ascii_digit) && matches!(digits.first(), Some(b'1'..=b'9'));
    let text = str::from_utf8(number).unwrap_or_default();
    is_integer && text.parse::<i64>().is_err() && text.parse::<u64>().is_err()
}

/// The text of JSON that [`read_json`] read: such numbers are numbers again.
pub(crate) fn with_numbers(text: &str) -> String {
    let (mut all, mark) = (String::new(), format!("\"{MARK}"));
    let mut parts = text.split(&mark);
    all.extend(parts.next());
    for part in parts {
        match part.split_once('"') {
            Some((number, rest)) if NUMBERS.contains(&number) || is_large_integer(number.as_bytes()) => {
                all.extend([number, rest]);
            }
            _ => all.extend([&*mark, part]),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        fs::write(&path, "{\"a\": 1}").unwrap();
        assert_eq!(read_limited(&path, 8).unwrap(), b"{\"a\": 1}");
        let error = read_limited(&path, 7).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("8 bytes"), "{error}");
        assert_eq!(read_json(&path).unwrap().unwrap()["a"], 1);
        fs::write(&path, "\u{feff}{}").unwrap();
        assert!(read_json(&path).unwrap_err().to_string().contains("byte-order mark"));
        fs::write(&path, "{\"a\":").unwrap();
        assert!(
            read_json(&path).unwrap_err().to_string().contains("config.json`: is broken, it is no JSON: EOF")
        );
        assert!(read_json(&dir.path().join("none.json")).unwrap().is_none());
        assert!(read_json(&path.join("below.json")).unwrap_err().is_io());
    }

    /// Python's numbers come back as they were, strings of their names stay strings, and what is
    /// wrong otherwise is refused.
    #[test]
    fn numbers_of_python() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        let text = r#"{"a":[0.0,Infinity,-Infinity,NaN],"b":"Infinity, \"NaN","c\\":NaN,"d":"\\"}"#;
        fs::write(&path, text).unwrap();
        let read = read_json(&path).unwrap().unwrap();
        assert_eq!(with_numbers(&serde_json::to_string(&read).unwrap()), text);
        assert_eq!(read["b"], "Infinity, \"NaN");
        for text in ["{\"a\": Infinit}", "{\"a\": NaN,}", "[NaN]", "{NaN: 1", "\"NaN"] {
            fs::write(&path, text).unwrap();
            assert!(read_json(&path).is_err(), "{text}");
        }
    }

    /// Integers beyond 64 bits keep all their digits; floats and strings stay as they are.
    #[test]
    fn integers_of_any_size() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.json");
        let text = r#"{"a":[18446744073709551615,18446744073709551616,-9223372036854775808,-9223372036854775809],"b":"18446744073709551616","c":1e300,"d":123456789012345678901234567890}"#;
        fs::write(&path, text).unwrap();
        let read = read_json(&path).unwrap().unwrap();
        let expected = text.replace("1e300", "1e+300");
        assert_eq!(with_numbers(&serde_json::to_string(&read).unwrap()), expected);
        for text in ["{\"a\": 018446744073709551616}", "{\"a\": 18446744073709551616,}"] {
            fs::write(&path, text).unwrap();
            assert!(read_json(&path).is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_dangling_links_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let link = |target: &str, name: &str| {
            let path = dir.path().join(name);
            std::os::unix::fs::symlink(target, &path).unwrap();
            path
        };
        let endless = link("/dev/zero", "config.json");
        assert!(read_json(&endless).unwrap_err().to_string().contains("not a regular file"));
        let dangling = link("nowhere", "index.json");
        assert!(read_json(&dangling).unwrap_err().is_io());
        let pipe = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(read_json(&pipe).unwrap_err().to_string().contains("not a regular file"));
    }
}
