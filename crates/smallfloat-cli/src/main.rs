//! The `smallfloat` command; all of it is in the library, which Python's package calls too.

use std::process::ExitCode;

fn main() -> ExitCode {
    smallfloat_cli::main_with(std::env::args_os()).into()
}
