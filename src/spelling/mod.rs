//! "Did you mean", for words that were mistyped, and for keys of settings. Pure.

pub mod keys;

/// Longest text that is compared with names: what is longer is no slip of the pen, and comparing
/// costs the product of both lengths.
const LONGEST: usize = 100;

/// The name nearest to `key`, if one is near enough to be meant.
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

/// What to say of the name that was probably meant.
pub fn meant(name: &str) -> String {
    format!("did you mean '{name}'?")
}

/// What to say of the names there are.
pub fn one_of<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("one of: {}", names.collect::<Vec<_>>().join(", "))
}

/// The name nearest to `key`, or all there are.
pub fn did_you_mean<'a>(key: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(key, names.clone()).map_or_else(|| one_of(names), meant)
}
