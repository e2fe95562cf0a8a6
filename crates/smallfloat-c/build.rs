//! Gives the shared library the name that programs look for at run time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Until 1.0 every minor version may change the interface.
    let version =
        |part| std::env::var(format!("CARGO_PKG_VERSION_{part}")).expect("cargo sets the package's version");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        let name = format!("libsmallfloat.so.{}.{}", version("MAJOR"), version("MINOR"));
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,{name}");
    }
}
