//! "Did you mean" for mistyped words and keys of settings. Pure.

pub mod keys;

/// Longest text compared, in bytes. Longer ones are not typing errors, and the cost is the product
/// of both lengths.
const LONGEST: usize = 100;

/// The nearest name, if near enough to be meant.
pub fn nearest<'a>(key: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if key.len() > LONGEST {
        return None;
    }
    names
        .map(|name| (strsim::damerau_levenshtein(key, name), name))
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(2))
        .min()
        .map(|(_, name)| name)
}

pub fn did_you_mean_hint(name: &str) -> String {
    format!("did you mean '{name}'?")
}

pub fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("one of: {}", names.collect::<Vec<_>>().join(", "))
}

/// A hint with the nearest name, or with all names.
pub fn did_you_mean<'a>(key: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(key, names.clone()).map_or_else(|| one_of(names), did_you_mean_hint)
}
