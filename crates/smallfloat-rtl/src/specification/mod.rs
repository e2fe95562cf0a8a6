//! [`Specification`]: what a unit has to compute.

use smallfloat::{FlagOrder, Flags};
use smallfloat_conformance::vectors::{FlagSet, UnitUnderTest};

use crate::error::Error;

/// What a unit has to compute: an operation with formats and policies, the flags that it gives and
/// their order, and whether a bias is a port.
#[derive(Clone, Debug)]
pub struct Specification {
    unit: UnitUnderTest,
    flags: Flags,
    order: FlagOrder,
    has_bias_port: bool,
}

impl Specification {
    /// The specification of a unit with the flags of its policy in the order of `fflags`, and the
    /// biases that its formats have.
    ///
    /// # Errors
    /// Operations that are not specified in SystemVerilog.
    pub fn new(unit: UnitUnderTest) -> Result<Self, Error> {
        let flags = FlagSet::of(unit.flag_policy()).mask();
        Ok(Self { unit, flags, order: FlagOrder::Fflags, has_bias_port: false })
    }

    /// Returns the specification with these flags instead; with none of them, of values alone.
    #[must_use]
    pub fn with_flags(self, flags: Flags) -> Self {
        Self { flags, ..self }
    }

    /// Returns the specification with the flags in another order.
    #[must_use]
    pub fn with_order(self, order: FlagOrder) -> Self {
        Self { order, ..self }
    }

    /// Returns the specification with a port `bias` of 6 bits: the bias of all of Tesla's formats in
    /// it, instead of the one that they have.
    ///
    /// # Errors
    /// No format with a configurable bias.
    pub fn with_bias_port(self) -> Result<Self, Error> {
        Ok(Self { has_bias_port: true, ..self })
    }

    /// The unit; where the bias is a port, one of its units.
    pub fn unit(&self) -> &UnitUnderTest {
        &self.unit
    }

    /// The flags that it gives.
    pub fn flags(&self) -> Flags {
        self.flags
    }

    /// Where each flag stands in the port `flags`.
    pub fn order(&self) -> FlagOrder {
        self.order
    }

    /// Returns whether the bias is a port.
    pub fn has_bias_port(&self) -> bool {
        self.has_bias_port
    }
}
