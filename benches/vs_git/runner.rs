//! Runs the two sides of an entry in turn and prints medians and ratios.

use std::time::{Duration, Instant};

use crate::world::World;

/// One comparison.
pub struct Entry {
    /// What is compared, as printed and as filtered by.
    pub name: &'static str,
    /// The ratio that is wanted, at most.
    pub target: f64,
    /// Pairs.
    pub runs: usize,
    /// Makes both sides: ours, then the other.
    pub sides: fn(&World) -> (Side, Side),
}

/// One side: what is set up before each run, and what is timed.
pub struct Side {
    prepare: Box<dyn FnMut(usize)>,
    timed: Box<dyn FnMut(usize)>,
}

impl Side {
    /// A side with nothing to set up. The closure gets the number of the run, from 0.
    pub fn new(timed: impl FnMut(usize) + 'static) -> Self {
        Self { prepare: Box::new(|_| {}), timed: Box::new(timed) }
    }

    /// Sets something up before each run, outside the measurement.
    pub fn prepared(mut self, prepare: impl FnMut(usize) + 'static) -> Self {
        self.prepare = Box::new(prepare);
        self
    }

    fn measure(&mut self, number: usize) -> Duration {
        (self.prepare)(number);
        let start = Instant::now();
        (self.timed)(number);
        start.elapsed()
    }
}

/// Whether the median ratio kept to the target.
pub enum Verdict {
    /// It did.
    Met,
    /// It did not.
    Missed,
}

const WARM_UP: usize = 3;

/// Runs an entry and prints its line.
pub fn run(world: &World, entry: &Entry, runs: Option<usize>) -> Verdict {
    let (mut ours, mut other) = (entry.sides)(world);
    let runs = runs.unwrap_or(entry.runs);
    let mut pairs = Vec::with_capacity(runs);
    for number in 0..runs + WARM_UP {
        let pair = if number % 2 == 0 {
            let a = ours.measure(number);
            (a, other.measure(number))
        } else {
            let b = other.measure(number);
            (ours.measure(number), b)
        };
        if number >= WARM_UP {
            pairs.push(pair);
        }
    }
    let ms = |d: Duration| d.as_secs_f64() * 1000.0;
    let a = sorted(pairs.iter().map(|p| ms(p.0)));
    let b = sorted(pairs.iter().map(|p| ms(p.1)));
    // Pair by pair, so that a slow minute of the machine hits both.
    let ratios = sorted(pairs.iter().map(|p| ms(p.0) / ms(p.1)));
    let ratio = at(&ratios, 0.5);
    let met = ratio <= entry.target;
    println!(
        "{:<44} {:>9.2} {:>9.2} {:>7.2} {:>7.2}–{:<7.2} {:>6.2} {}",
        entry.name,
        at(&a, 0.5),
        at(&b, 0.5),
        ratio,
        at(&ratios, 0.25),
        at(&ratios, 0.75),
        entry.target,
        if met { "met" } else { "MISSED" },
    );
    if met { Verdict::Met } else { Verdict::Missed }
}

/// Prints the line of figures that are measured another way: medians, and the ratio of these.
pub fn verdict(
    name: &str,
    target: f64,
    ours: impl IntoIterator<Item = f64>,
    other: impl IntoIterator<Item = f64>,
) -> Verdict {
    let (ours, other) = (sorted(ours), sorted(other));
    let (a, b) = (at(&ours, 0.5), at(&other, 0.5));
    let (low, high) = (at(&ours, 0.25) / b, at(&ours, 0.75) / b);
    let met = a / b <= target;
    let word = if met { "met" } else { "MISSED" };
    println!(
        "{name:<44} {a:>9.2} {b:>9.2} {:>7.2} {low:>7.2}–{high:<7.2} {target:>6.2} {word}",
        a / b
    );
    if met { Verdict::Met } else { Verdict::Missed }
}

/// The one in the middle.
pub fn median(values: &[f64]) -> f64 {
    at(&sorted(values.iter().copied()), 0.5)
}

fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values
}

fn at(sorted: &[f64], quantile: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * quantile).round() as usize]
}
