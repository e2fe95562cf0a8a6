//! What a generated unit's header says of its verification: only what was done.

use std::fs;
use std::io;

use super::Generated;
use super::module::comment_lines;
use crate::error::Error;
use crate::proof::{Design, Method, Proof, ProofOptions, Verdict, prove};
use crate::specification::Specification;
use crate::tools::Folder;

impl Generated {
    /// Holds the unit against the specification, for all inputs, as [`prove`] does.
    ///
    /// # Errors
    /// As [`prove`]; a temporary file that can't be written.
    pub fn prove(&self, specification: &Specification, options: &ProofOptions) -> Result<Proof, Error> {
        let unwritten = |cause: io::Error| Error::NotGenerated {
            operation: self.name.clone(),
            reason: format!("a temporary file: {cause}"),
        };
        let folder = Folder::new().map_err(unwritten)?;
        let file = folder.join(format!("{}.sv", self.name));
        fs::write(&file, &self.module).map_err(unwritten)?;
        let design = Design { files: vec![file], top: self.name.clone(), ..Design::default() };
        prove(&design, specification, options)
    }

    /// Returns the file: header, what was verified, and the module. Without a proof it says that
    /// there is none.
    pub fn text(&self, proof: Option<&Proof>) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let verified = match proof {
            None => {
                "Not proved: this file was written without a proof. `smallfloat prove` seeks one.".to_owned()
            }
            Some(proof) => {
                let inputs = inputs(proof.input_bits);
                let what = if proof.compares_flags { "result and flags" } else { "result" };
                match &proof.verdict {
                    Verdict::Proved if proof.method == Method::Evaluation => format!(
                        "Proved: {what} equal smallfloat {version}'s for each of all {inputs} inputs, evaluated one by one."
                    ),
                    Verdict::Proved => format!(
                        "Proved: {what} equal smallfloat {version}'s specification for all {inputs} inputs."
                    ),
                    Verdict::Simulated => format!(
                        "Simulated, not proved: {what} equal smallfloat {version}'s specification for each of all {inputs} inputs."
                    ),
                    Verdict::Refuted(_) => "REFUTED: see `smallfloat prove`.".to_owned(),
                    Verdict::Undecided { reason } => format!("Not proved: {reason}."),
                }
            }
        };
        format!("{}//\n{}{}", self.header, comment_lines(&verified, 0), self.module)
    }
}

/// The number of inputs of so many bits: in digits where that is short.
fn inputs(bits: u32) -> String {
    if bits >= 48 {
        return format!("2^{bits}");
    }
    let digits = (1_u64 << bits).to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
