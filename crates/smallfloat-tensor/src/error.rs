//! The one error type of this crate.
//!
//! An [`Error`] says what was wrong, where (file, tensor, byte) and what would be right. It is
//! opaque, so that new kinds of trouble need no new major version; callers who must tell kinds
//! apart ask its predicates. What the operating system said ends the message, and is kept as
//! [`io_error`](Error::io_error).
//!
//! Names come from files that anybody may have made. They are printed in backquotes with control
//! characters escaped and very long ones cut, so that a message can't disguise itself or flood a
//! terminal.

use std::fmt::{Display, Write as _};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: what went wrong, where, and what would have been right.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("cannot {action} {}: {cause}", quoted_path(path))]
    Io { action: &'static str, path: PathBuf, cause: io::Error },
    #[error("no room to write {}; free some space or choose another folder: {cause}", quoted_path(path))]
    NoSpace { path: PathBuf, cause: io::Error },
    #[error("{} exists already; choose another name or allow overwriting", quoted_path(path))]
    Exists { path: PathBuf },
    #[error("{}{what}{}", place(Some(path), tensor.as_deref()), at_byte(*offset))]
    Malformed { path: PathBuf, tensor: Option<String>, offset: Option<u64>, what: String },
    #[error("{}{what}", place(Some(path), None))]
    Unsupported { path: PathBuf, what: String },
    #[error("{}{what}", place(path.as_deref(), tensor.as_deref()))]
    Refused { path: Option<PathBuf>, tensor: Option<String>, what: String },
    #[error("{what}")]
    Option { what: String },
}

/// A format, a bias or a rounding that the core refuses.
impl From<smallfloat::Error> for Error {
    fn from(error: smallfloat::Error) -> Self {
        Self::option(error.to_string())
    }
}

/// What the kernels refuse.
impl From<smallfloat_kernels::Error> for Error {
    fn from(error: smallfloat_kernels::Error) -> Self {
        Self::option(error.to_string())
    }
}

impl Error {
    /// Returns the error of an operation that is refused although the file is well formed: the
    /// public way to stop a reading loop, or to say that a tensor's values can't be used.
    ///
    /// ```
    /// use smallfloat_tensor::Error;
    ///
    /// let error = Error::refused(None, Some("w"), "element 7 is NaN; pass a policy for non-finite values");
    /// assert_eq!(error.to_string(), "tensor `w`: element 7 is NaN; pass a policy for non-finite values");
    /// assert!(error.is_refused());
    /// ```
    pub fn refused(path: Option<&Path>, tensor: Option<&str>, what: impl Into<String>) -> Self {
        Self::new(Kind::Refused {
            path: path.map(Path::to_path_buf),
            tensor: tensor.map(str::to_owned),
            what: what.into(),
        })
    }

    /// An option, or options together, that are refused whatever the data is.
    pub(crate) fn option(what: impl Into<String>) -> Self {
        Self::new(Kind::Option { what: what.into() })
    }

    pub(crate) fn malformed(path: &Path, offset: Option<u64>, what: impl Into<String>) -> Self {
        Self::new(Kind::Malformed { path: path.to_path_buf(), tensor: None, offset, what: what.into() })
    }

    pub(crate) fn malformed_tensor(
        path: &Path,
        tensor: Option<&str>,
        offset: Option<u64>,
        what: impl Into<String>,
    ) -> Self {
        let tensor = tensor.map(str::to_owned);
        Self::new(Kind::Malformed { path: path.to_path_buf(), tensor, offset, what: what.into() })
    }

    pub(crate) fn unsupported(path: &Path, what: impl Into<String>) -> Self {
        Self::new(Kind::Unsupported { path: path.to_path_buf(), what: what.into() })
    }

    pub(crate) fn exists(path: &Path) -> Self {
        Self::new(Kind::Exists { path: path.to_path_buf() })
    }

    /// An operating system error; `action` is a verb with its object, such as "open" or "read
    /// from".
    pub(crate) fn io(action: &'static str, path: &Path, cause: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let path = path.to_path_buf();
        Self::new(match cause.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => Kind::NoSpace { path, cause },
            _ => Kind::Io { action, path, cause },
        })
    }

    fn new(kind: Kind) -> Self {
        Self(Box::new(kind))
    }

    /// Returns whether the operating system failed us: a file that can't be opened, read or
    /// written, a full disk included.
    pub fn is_io(&self) -> bool {
        matches!(*self.0, Kind::Io { .. } | Kind::NoSpace { .. })
    }

    /// Returns whether there was no room for the output: the disk, a quota or a limit on file
    /// sizes.
    pub fn is_no_space(&self) -> bool {
        matches!(*self.0, Kind::NoSpace { .. })
    }

    /// Returns whether the output exists and overwriting was not allowed.
    pub fn is_exists(&self) -> bool {
        matches!(*self.0, Kind::Exists { .. })
    }

    /// Returns whether the file breaks the rules of its format.
    pub fn is_malformed(&self) -> bool {
        matches!(*self.0, Kind::Malformed { .. })
    }

    /// Returns whether the file, good as it may be, is of a kind or in a variant that this crate
    /// does not read or write.
    pub fn is_unsupported(&self) -> bool {
        matches!(*self.0, Kind::Unsupported { .. })
    }

    /// Returns whether what was asked is refused: colliding names, data that doesn't fit the
    /// layout, values that can't be used, or [options](Self::is_option).
    pub fn is_refused(&self) -> bool {
        matches!(*self.0, Kind::Refused { .. } | Kind::Option { .. })
    }

    /// Returns whether an option, or options together, are refused whatever the data is: other
    /// options would do, another file would not.
    pub fn is_option(&self) -> bool {
        matches!(*self.0, Kind::Option { .. })
    }

    /// Returns what the operating system said, if [it failed us](Self::is_io).
    ///
    /// ```
    /// let error = smallfloat_tensor::View::open("no/such/file.safetensors").unwrap_err();
    /// assert!(error.to_string().starts_with("cannot open `no/such/file.safetensors`: "));
    /// assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    /// ```
    pub fn io_error(&self) -> Option<&io::Error> {
        match &*self.0 {
            Kind::Io { cause, .. } | Kind::NoSpace { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Returns the file that the error is about.
    pub fn path(&self) -> Option<&Path> {
        match &*self.0 {
            Kind::Io { path, .. }
            | Kind::NoSpace { path, .. }
            | Kind::Exists { path }
            | Kind::Malformed { path, .. }
            | Kind::Unsupported { path, .. } => Some(path),
            Kind::Refused { path, .. } => path.as_deref(),
            Kind::Option { .. } => None,
        }
    }

    /// Returns the error with another path, where it is about `from`: for a file that users know by
    /// another name.
    #[must_use]
    pub fn renamed(mut self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Self {
        let (from, to) = (from.as_ref(), to.as_ref());
        match &mut *self.0 {
            Kind::Io { path, .. }
            | Kind::NoSpace { path, .. }
            | Kind::Exists { path }
            | Kind::Malformed { path, .. }
            | Kind::Unsupported { path, .. }
            | Kind::Refused { path: Some(path), .. }
                if path == from =>
            {
                *path = to.to_path_buf();
            }
            _ => {}
        }
        self
    }

    /// Returns the tensor that the error is about.
    pub fn tensor(&self) -> Option<&str> {
        match &*self.0 {
            Kind::Malformed { tensor, .. } | Kind::Refused { tensor, .. } => tensor.as_deref(),
            _ => None,
        }
    }

    /// Returns the byte of the file where the fault was seen.
    pub fn offset(&self) -> Option<u64> {
        match *self.0 {
            Kind::Malformed { offset, .. } => offset,
            _ => None,
        }
    }
}

/// The longest name that messages print whole, in characters.
const LONGEST_NAME: usize = 200;

/// A name in backquotes, control characters escaped, cut when it is absurdly long.
pub(crate) fn quoted(name: &str) -> impl Display + '_ {
    struct Quoted<'a>(&'a str);
    impl Display for Quoted<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_char('`')?;
            let mut characters = self.0.chars();
            for c in characters.by_ref().take(LONGEST_NAME) {
                if c.is_control() || c == '`' || is_direction_mark(c) {
                    write!(f, "{}", c.escape_unicode())?;
                } else {
                    f.write_char(c)?;
                }
            }
            if characters.next().is_some() {
                f.write_char('…')?;
            }
            f.write_char('`')
        }
    }
    Quoted(name)
}

/// Characters that reorder or hide the text round them.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A path in backquotes.
pub(crate) fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}

fn place(path: Option<&Path>, tensor: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(path) = path {
        text += &quoted_path(path);
        text += ": ";
    }
    if let Some(tensor) = tensor {
        text += "tensor ";
        text += &quoted(tensor).to_string();
        text += ": ";
    }
    text
}

fn at_byte(offset: Option<u64>) -> String {
    offset.map_or_else(String::new, |offset| format!(" (at byte {offset})"))
}

pub(crate) fn refuse(error: impl std::fmt::Display) -> Error {
    Error::option(error.to_string())
}

/// Implements `Display` by the type's `name`, and `FromStr` by a list of its values; names are
/// exact.
macro_rules! by_name {
    ($type:ty, $values:expr, $what:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::error::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let values = || $values.into_iter();
                values().find(|value| value.name() == text).ok_or_else(|| {
                    let known: Vec<_> = values().map(|value| value.name()).collect();
                    let known = known.join(", ");
                    $crate::error::refuse(format!("{} `{text}` is not known: one of {known}", $what))
                })
            }
        }
    };
}

pub(crate) use by_name;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_path_tensor_and_byte() {
        let error = Error::malformed_tensor(Path::new("a/b.safetensors"), Some("w"), Some(12), "bad shape");
        assert_eq!(error.to_string(), "`a/b.safetensors`: tensor `w`: bad shape (at byte 12)");
        assert_eq!(
            (error.path(), error.tensor(), error.offset()),
            (Some(Path::new("a/b.safetensors")), Some("w"), Some(12))
        );
        assert!(error.is_malformed() && !error.is_io() && !error.is_refused());
    }

    #[test]
    fn hostile_names_are_escaped_and_cut() {
        assert_eq!(quoted("a\u{1b}[2J\n`").to_string(), "`a\\u{1b}[2J\\u{a}\\u{60}`");
        assert_eq!(quoted("\u{202e}x").to_string(), "`\\u{202e}x`");
        let long = "x".repeat(100_000);
        assert_eq!(quoted(&long).to_string().chars().count(), LONGEST_NAME + 3);
    }

    #[test]
    fn a_full_disk_is_told_apart_and_says_why() {
        let error = Error::io("write", Path::new("out"), io::Error::from(io::ErrorKind::StorageFull));
        assert!(error.is_no_space() && error.is_io());
        assert!(error.to_string().contains("no room to write `out`"), "{error}");
        assert!(error.to_string().ends_with(&format!(": {}", error.io_error().expect("a cause"))), "{error}");
        let error = Error::io("open", Path::new("out"), io::Error::from(io::ErrorKind::NotFound));
        assert!(!error.is_no_space());
        assert_eq!(error.to_string(), format!("cannot open `out`: {}", io::ErrorKind::NotFound));
        assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::NotFound));
        assert!(Error::exists(Path::new("out")).io_error().is_none());
    }

    #[test]
    fn an_error_is_one_word_wide_and_crosses_threads() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
        assert_eq!(size_of::<Error>(), size_of::<usize>());
    }

    #[test]
    fn options_are_told_from_tensors() {
        let option = "sideways".parse::<crate::BiasPolicy>().expect_err("no policy");
        assert!(option.is_option() && option.is_refused() && option.tensor().is_none());
        let tensor = Error::refused(Some(Path::new("a.npy")), Some("w"), "element 7 is NaN");
        assert!(tensor.is_refused() && !tensor.is_option());
        assert_eq!((tensor.path(), tensor.tensor()), (Some(Path::new("a.npy")), Some("w")));
    }
}
