//! [`Coverage`]: bins with how often vectors reached them.

use std::io::Read;
use std::sync::Arc;

use smallfloat_kernels::parallel_fold;

use crate::coverage::functions::Function;
use crate::coverage::lists::ListConversion;
use crate::coverage::model::cross::Cross;
use crate::coverage::model::reach::{Reach, Reached};
use crate::coverage::model::subject::Subject;
use crate::coverage::sums::SumOfProducts;
use crate::error::Error;
use crate::vectors::{CheckOptions, OperandFile, VectorPlan, VectorUnit};

/// The coverage of a unit: which bins there are, which of them can be reached, and how often
/// vectors reached each.
#[derive(Clone, Debug)]
pub struct Coverage {
    pub(super) subject: Arc<dyn Subject>,
    pub(super) reached: Reached,
    /// Of each cross, of each bin.
    pub(super) hits: Vec<Vec<u64>>,
    pub(super) vectors: u64,
}

/// The coverage of one cross.
#[derive(Clone, Copy, Debug)]
pub struct CrossCoverage<'a> {
    of: &'a Coverage,
    at: usize,
}

/// One bin of a cross.
#[derive(Clone, Debug)]
pub struct Bin<'a> {
    /// The values of its features, in words.
    pub words: Vec<&'a str>,
    /// How often vectors reached it.
    pub hits: u64,
    /// Operands that reach it, if any are known.
    pub operands: Option<&'a [u64]>,
}

impl Coverage {
    /// Returns the bins of a unit. Where its operands have at most 24 bits together, all are tried
    /// to see what can be reached; where they have more, operands are searched for and proofs are
    /// sought.
    ///
    /// # Errors
    /// A unit with ports, whose coverage is a [`UnitCoverage`](crate::coverage::UnitCoverage).
    pub fn new(unit: impl Into<VectorUnit>) -> Result<Self, Error> {
        let subject: Arc<dyn Subject> = match &unit.into() {
            VectorUnit::Function(unit) => Arc::new(Function::new(unit)?),
            VectorUnit::Fixed(unit) => match unit.dot_product() {
                Some(dot) => Arc::new(SumOfProducts::new(unit, dot)),
                None => Arc::new(ListConversion::new(unit)),
            },
        };
        let reached = Reached::new(&*subject)?;
        Ok(Self { hits: subject.counts(0), subject, reached, vectors: 0 })
    }

    /// Returns the unit.
    pub fn unit(&self) -> &VectorUnit {
        self.subject.unit()
    }

    /// Returns how many vectors were counted.
    pub fn vectors(&self) -> u64 {
        self.vectors
    }

    /// Whether all operands were tried, so that every bin is known to be reachable or not.
    pub fn is_exhaustive(&self) -> bool {
        self.reached.is_exhaustive
    }

    /// Returns the crosses.
    pub fn crosses(&self) -> impl Iterator<Item = CrossCoverage<'_>> {
        (0..self.subject.crosses().len()).map(|at| CrossCoverage { of: self, at })
    }

    /// Counts a vector.
    ///
    /// # Errors
    /// Operands of another number.
    pub fn count(&mut self, operands: &[u64]) -> Result<(), Error> {
        let (given, expected) = (operands.len(), self.subject.width());
        if given != expected {
            return Err(Error::Count { what: "operands", given, expected });
        }
        let (hits, status, mut values) = (&mut self.hits, &mut self.reached.status, Vec::new());
        self.subject.bins(operands, &mut values, |at, bin| {
            hits[at][bin] += 1;
            status[at][bin] = Reach::Reachable;
        });
        self.vectors += 1;
        Ok(())
    }

    /// Returns the coverage of the unit that a file's header names, or of that of the options, by
    /// the file.
    ///
    /// # Errors
    /// A header that is not understood or names no unit; what [`read`](Self::read) refuses.
    pub fn of_vectors(input: impl Read, options: &CheckOptions) -> Result<Self, Error> {
        let file = OperandFile::open(input, options)?;
        let mut coverage = Self::new(file.unit.clone())?;
        coverage.read_file(file)?;
        Ok(coverage)
    }

    /// Counts the vectors of a file of this unit, and returns how many there are. What their
    /// results are does not matter: the right ones decide.
    ///
    /// # Errors
    /// Lines that are not understood, with their numbers; a file of another unit; no vector at all.
    pub fn read(&mut self, input: impl Read, options: &CheckOptions) -> Result<u64, Error> {
        let options = CheckOptions { unit: Some(self.unit().clone()), ..options.clone() };
        self.read_file(OperandFile::open(input, &options)?)
    }

    fn read_file(&mut self, file: OperandFile<impl Read>) -> Result<u64, Error> {
        let before = self.vectors;
        file.read(|operands| self.count_lines(operands))?;
        Ok(self.vectors - before)
    }

    /// Counts vectors whose operands stand one after the other.
    pub(super) fn count_lines(&mut self, operands: &[u64]) {
        let (subject, width) = (&self.subject, self.subject.width());
        let chunks: Vec<_> = operands.chunks(width << 12).collect();
        let count = |mut hits: Vec<Vec<u64>>, chunk: u64| {
            let mut values = Vec::new();
            let chunk = chunks[usize::try_from(chunk).expect("a chunk's number")];
            for operands in chunk.chunks_exact(width) {
                subject.bins(operands, &mut values, |at, bin| hits[at][bin] += 1);
            }
            hits
        };
        let counted = parallel_fold(chunks.len() as u64, || subject.counts(0), count, sum);
        self.hits = sum(std::mem::take(&mut self.hits), counted);
        self.vectors += (operands.len() / width) as u64;
        self.take_in_news();
    }

    /// What vectors reached is reachable, whether or not a search had found it.
    pub(super) fn take_in_news(&mut self) {
        for (hits, status) in self.hits.iter().zip(&mut self.reached.status) {
            for (hits, status) in hits.iter().zip(status) {
                if *hits > 0 {
                    *status = Reach::Reachable;
                }
            }
        }
    }

    /// Returns operands that reach every missing bin, one after the other, each at least one that
    /// those before it do not reach.
    pub fn closing(&self) -> Vec<Vec<u64>> {
        let (mut closed, mut lines, mut values) = (self.hits.clone(), Vec::new(), Vec::new());
        for (at, witnesses) in self.reached.witnesses.of.iter().enumerate() {
            for (bin, witness) in witnesses.iter().enumerate() {
                let Some(operands) = witness.as_deref().filter(|_| closed[at][bin] == 0) else { continue };
                self.subject.bins(operands, &mut values, |at, bin| closed[at][bin] += 1);
                lines.push(operands.to_vec());
            }
        }
        lines
    }

    /// Returns a plan with vectors for every missing bin; `None` where none is missing.
    pub fn closing_plan(&self) -> Option<VectorPlan> {
        let lines = self.closing();
        (!lines.is_empty()).then(|| VectorPlan::of_lines("missing bins", &lines, self.subject.width()))
    }

    /// Returns how many bins were reached and how many can be, of all crosses.
    pub fn total(&self) -> (usize, usize) {
        self.crosses().fold((0, 0), |(hit, all), cross| (hit + cross.hit(), all + cross.reachable()))
    }

    /// Returns the reached bins as a percentage of the reachable ones.
    pub fn percent(&self) -> f64 {
        let (hit, all) = self.total();
        percent(hit, all)
    }
}

fn sum(mut a: Vec<Vec<u64>>, b: Vec<Vec<u64>>) -> Vec<Vec<u64>> {
    for (a, b) in a.iter_mut().flatten().zip(b.into_iter().flatten()) {
        *a += b;
    }
    a
}

#[expect(clippy::cast_precision_loss, reason = "bins are few")]
fn percent(hit: usize, all: usize) -> f64 {
    if all == 0 { 100.0 } else { 100.0 * hit as f64 / all as f64 }
}

impl<'a> CrossCoverage<'a> {
    fn cross(&self) -> &'a Cross {
        &self.of.subject.crosses()[self.at]
    }

    /// Returns the name.
    pub fn name(&self) -> &'a str {
        &self.cross().name
    }

    /// Returns what it is for.
    pub fn about(&self) -> &'static str {
        self.cross().about
    }

    /// Returns the features that it crosses.
    pub fn axes(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.cross().axes.iter().map(|axis| axis.name.as_str())
    }

    /// Returns how many reachable bins vectors reached.
    pub fn hit(&self) -> usize {
        self.of.hits[self.at].iter().filter(|hits| **hits > 0).count()
    }

    /// Returns how many bins can be reached.
    pub fn reachable(&self) -> usize {
        self.of_reach(Reach::Reachable).count()
    }

    /// Returns how many combinations of values are proved to be unreachable.
    pub fn unreachable(&self) -> usize {
        self.of_reach(Reach::Unreachable).count()
    }

    /// Returns the reached bins as a percentage of the reachable ones.
    pub fn percent(&self) -> f64 {
        percent(self.hit(), self.reachable())
    }

    /// Returns the bins that vectors reached.
    pub fn reached(&self) -> impl Iterator<Item = Bin<'a>> + use<'a> {
        let this = *self;
        self.of_reach(Reach::Reachable).map(move |bin| this.bin(bin)).filter(|bin| bin.hits > 0)
    }

    /// Returns the bins that can be reached and were not.
    pub fn missing(&self) -> impl Iterator<Item = Bin<'a>> + use<'a> {
        let this = *self;
        self.of_reach(Reach::Reachable).map(move |bin| this.bin(bin)).filter(|bin| bin.hits == 0)
    }

    /// Returns the bins that are not known to be reachable.
    pub fn unknown(&self) -> impl Iterator<Item = Bin<'a>> + use<'a> {
        let this = *self;
        self.of_reach(Reach::Unknown).map(move |bin| this.bin(bin))
    }

    fn of_reach(&self, reach: Reach) -> impl Iterator<Item = usize> + use<'a> {
        let status = self.of.reached.status[self.at].iter().enumerate();
        status.filter(move |(_, status)| **status == reach).map(|(bin, _)| bin)
    }

    fn bin(&self, bin: usize) -> Bin<'a> {
        Bin {
            words: self.cross().words(bin),
            hits: self.of.hits[self.at][bin],
            operands: self.of.reached.witnesses.of[self.at][bin].as_deref(),
        }
    }
}
