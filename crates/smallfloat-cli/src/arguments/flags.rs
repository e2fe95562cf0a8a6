//! Options for exception flags, which several commands share.

use std::str::FromStr;

use smallfloat::p3109::Specialization;
use smallfloat::{FlagOrder, FlagPolicy, Flags};
use smallfloat_conformance::vectors::{FlagSet, under};

/// What `--flags` says: a set of flags, or a policy, which has its own.
#[derive(Clone, Copy, Debug)]
enum FlagChoice {
    Set(FlagSet),
    Policy(FlagPolicy),
}

impl FromStr for FlagChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(set) = text.parse() {
            return Ok(Self::Set(set));
        }
        let sets = "idou, iouxz, all or none for these flags";
        text.parse().map(Self::Policy).map_err(|error: smallfloat::Error| format!("{error}; or {sets}"))
    }
}

/// Which flags, by whose rules, in which order.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Flags")]
pub(crate) struct FlagArgs {
    /// The rules for flags and NaN results: tesla, ieee-before, ieee-after, riscv, arm or x86
    /// [default: tesla if a format is Tesla's, else ieee-before]; or of all flags idou, iouxz, all
    /// or none
    #[arg(long, value_name = "FLAGS")]
    flags: Option<FlagChoice>,

    /// Flags as the bits of a register, in hexadecimal: RISC-V's fflags, Arm's fpsr or x86's mxcsr
    #[arg(long, value_name = "ORDER")]
    pub(crate) flag_order: Option<FlagOrder>,
}

impl FlagArgs {
    /// Returns whether flags were asked for.
    pub(crate) fn are_given(&self) -> bool {
        self.flags.is_some() || self.flag_order.is_some()
    }

    /// The policy, if one was named.
    pub(crate) fn policy(&self) -> Option<FlagPolicy> {
        match self.flags {
            Some(FlagChoice::Policy(policy)) => Some(policy),
            _ => None,
        }
    }

    /// The set of flags, if one was named.
    pub(crate) fn set(&self) -> Option<FlagSet> {
        match self.flags {
            Some(FlagChoice::Set(set)) => Some(set),
            Some(FlagChoice::Policy(policy)) => Some(FlagSet::of(policy)),
            None => None,
        }
    }

    /// The operation that a text names under the policy: a processor's means ieee semantics, unless
    /// the text names semantics.
    pub(crate) fn apply(&self, operation: Specialization, text: &str) -> Specialization {
        let Some(policy) = self.policy() else { return operation };
        let arithmetic = under(operation.arithmetic(), policy, text.contains("semantics="));
        operation.with_arithmetic(arithmetic)
    }

    /// Flags as they are printed: letters, or with an order two hexadecimal digits.
    pub(crate) fn text(&self, flags: Flags) -> String {
        let flags = self.set().map_or(flags, |set| flags & set.mask());
        match self.flag_order {
            Some(order) => format!("{:02x}", flags.bits_in(order)),
            None => flags.to_string(),
        }
    }
}
