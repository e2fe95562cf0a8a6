//! The specializations that the P3109 draft demands of every system.
//!
//! Source: the P3109 draft (D1 revised, September 2026), section "Conformance", table of mandatory
//! specializations.

use alloc::{vec, vec::Vec};

use crate::format::error::{Error, ErrorKind};
use crate::format::formats::{BFLOAT16, BINARY16, BINARY32};
use crate::format::{Domain, Format, Signedness};
use crate::ops::compare::Comparison;
use crate::ops::extrema::Extremum;
use crate::ops::operation::{Operation, OperationOptions};
use crate::ops::predicate::Predicate;
use crate::p3109::function::Function;
use crate::p3109::query::FormatQuery;
use crate::p3109::specialization::{Parts, Specialization};
use crate::projection::Saturation;
use crate::projection::rounding::Rounding;

/// Returns the draft's mandatory minimum for a choice of external formats, one to three of
/// binary32, binary16 and bfloat16: 341 specializations with one of them, 443 with two, 549 with
/// all. All are projected by (NearestTiesToEven, SatNone).
///
/// This library supplies every one; so the list is what a test of conformance has to run, and what
/// a declaration shows.
///
/// ```
/// use smallfloat::{formats::BINARY32, p3109::mandatory_minimum};
/// let list = mandatory_minimum(&[BINARY32])?;
/// assert_eq!(list.len(), 341);
/// assert_eq!(list[0].to_string(), "Convert<binary8p4se, binary8p4se, (NearestTiesToEven, SatNone)>");
/// # Ok::<(), smallfloat::Error>(())
/// ```
///
/// # Errors
/// No external format, another one, or one twice.
pub fn mandatory_minimum(external: &[Format]) -> Result<Vec<Specialization>, Error> {
    let is_legal = |format: &Format| [BINARY32, BINARY16, BFLOAT16].contains(format);
    let is_twice = (1..external.len()).any(|i| external[..i].contains(&external[i]));
    if external.is_empty() || is_twice || !external.iter().all(is_legal) {
        let reason =
            "the external formats must be one to three of binary32, binary16 and bfloat16, each once";
        return Err(Error::new(ErrorKind::NotDefined { name: "the mandatory minimum", reason }));
    }
    let signed = |k, p, domain| Format::p3109(k, p, Signedness::Signed, domain);
    let eight = [signed(8, 4, Domain::Extended)?, signed(8, 3, Domain::Extended)?];
    let four = [signed(4, 2, Domain::Finite)?];
    let scale = Format::p3109(8, 1, Signedness::Unsigned, Domain::Finite)?;
    let small: Vec<Format> = eight.into_iter().chain(four).collect();
    let wide: Vec<Format> = eight.into_iter().chain(external.iter().copied()).collect();
    let all: Vec<Format> = small.iter().chain(external).copied().collect();

    let mut list = List(Vec::new());
    for operation in [Operation::Convert, Operation::Recip] {
        for x in &all {
            for to in &all {
                list.rounded(Function::Numeric(operation), &[*x, *to])?;
            }
        }
    }
    for x in &small {
        for operation in [Operation::Negate, Operation::Abs] {
            list.rounded(Function::Numeric(operation), &[*x, *x])?;
        }
        for extremum in Extremum::ALL.iter().copied() {
            list.rounded(Function::Numeric(Operation::Extremum(extremum)), &[*x, *x, *x])?;
        }
        for &(_, which) in Comparison::NAMED {
            list.exact(Function::Compare(which), &[*x, *x])?;
        }
        for &(_, which) in Predicate::NAMED {
            list.exact(Function::Predicate(which), &[*x])?;
        }
        for next in [Function::NextGreaterThan, Function::NextLessThan] {
            list.exact(next, &[*x])?;
        }
    }
    for x in &small {
        for y in &small {
            for to in &wide {
                for operation in [Operation::Add, Operation::Subtract, Operation::Multiply] {
                    list.rounded(Function::Numeric(operation), &[*x, *y, *to])?;
                    list.rounded(Function::Scaled(operation), &[scale, *x, scale, *y, *to])?;
                }
            }
            for to in external {
                for operation in [Operation::Fma, Operation::Faa] {
                    list.rounded(Function::Numeric(operation), &[*x, *y, *to, *to])?;
                }
            }
        }
    }
    for format in &all {
        for &(_, query) in FormatQuery::NAMED {
            list.exact(Function::FormatQuery(query), &[*format])?;
        }
    }
    Ok(list.0)
}

struct List(Vec<Specialization>);

impl List {
    /// A function whose result is rounded into the last format.
    fn rounded(&mut self, function: Function, formats: &[Format]) -> Result<(), Error> {
        let to = formats.last().expect("a function has formats");
        let projection =
            to.default_projection().with_rounding(Rounding::NearestEven).with_saturation(Saturation::SatNone);
        // The draft's semantics hold where all formats are IEEE 754's too: Recip(0) is NaN, no
        // result is −0.
        let (formats, arithmetic) = (formats.to_vec(), OperationOptions::P3109);
        let parts = Parts { function, length: None, formats, projections: vec![projection], arithmetic };
        self.0.push(Specialization::build(parts)?);
        Ok(())
    }

    fn exact(&mut self, function: Function, formats: &[Format]) -> Result<(), Error> {
        self.0.push(Specialization::new(function, None, formats, &[])?);
        Ok(())
    }
}
