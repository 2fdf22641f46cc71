//! Order in which pending proposals are listed, reviewed and applied. A stack stays together,
//! lowest first; stacks sort by their riskiest proposal, then by age. Pure.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::ProposalId;

#[derive(Clone, Debug)]
pub struct StackEntry<'p> {
    pub id: &'p ProposalId,
    /// Risk class; 0 comes first.
    pub class: u8,
    pub created_at: DateTime<Utc>,
    /// Dependencies; unlisted ones are ignored.
    pub lower: Vec<&'p ProposalId>,
}

/// Indices of `places`.
pub fn sort_stacks(places: &[StackEntry<'_>]) -> Vec<usize> {
    let at: HashMap<&ProposalId, usize> =
        places.iter().enumerate().map(|(at, place)| (place.id, at)).collect();
    let below = |of: usize| places[of].lower.iter().filter_map(|id| at.get(id).copied());
    let mut stack_of: Vec<usize> = (0..places.len()).collect();
    for upper in 0..places.len() {
        for lower in below(upper) {
            let (one, other) = (root(&mut stack_of, upper), root(&mut stack_of, lower));
            stack_of[one.max(other)] = one.min(other);
        }
    }
    let mut stacks: HashMap<usize, Vec<usize>> = HashMap::new();
    for place in 0..places.len() {
        stacks.entry(root(&mut stack_of, place)).or_default().push(place);
    }
    let age = |place: &usize| (places[*place].created_at, places[*place].id);
    let mut stacks: Vec<Vec<usize>> = stacks.into_values().collect();
    stacks.iter_mut().for_each(|stack| stack.sort_by_key(age));
    stacks.sort_by_key(|stack| {
        let class = stack.iter().map(|place| places[*place].class).min();
        (class, stack.first().map(age))
    });
    let mut placed = vec![false; places.len()];
    let mut order = Vec::with_capacity(places.len());
    // Path downwards, each with its number of finished dependencies.
    for first in stacks.into_iter().flatten() {
        let mut path = vec![(first, 0)];
        while let Some((place, done)) = path.last_mut() {
            if placed[*place] && *done == 0 {
                path.pop();
                continue;
            }
            placed[*place] = true;
            match below(*place).nth(*done) {
                Some(lower) => {
                    *done += 1;
                    path.push((lower, 0));
                }
                None => {
                    order.push(*place);
                    path.pop();
                }
            }
        }
    }
    order
}

fn root(of: &mut [usize], mut place: usize) -> usize {
    while of[place] != place {
        of[place] = of[of[place]];
        place = of[place];
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(count: usize) -> Vec<ProposalId> {
        // A proposal id keeps only the beginning.
        (0..count).map(|n| ProposalId::from_event(&format!("{n:02x}{:038x}", 0))).collect()
    }

    fn ordered(ids: &[ProposalId], list: &[(usize, u8, i64, &[usize])]) -> Vec<usize> {
        let place = |(id, class, second, lower): &(usize, u8, i64, &[usize])| StackEntry {
            id: &ids[*id],
            class: *class,
            created_at: DateTime::from_timestamp(*second, 0).unwrap(),
            lower: lower.iter().map(|lower| &ids[*lower]).collect(),
        };
        let places: Vec<StackEntry<'_>> = list.iter().map(place).collect();
        sort_stacks(&places).into_iter().map(|at| list[at].0).collect()
    }

    #[test]
    fn stacks_stay_together_from_below_and_go_by_risk_then_age() {
        let ids = ids(6);
        // 4 depends on 2, and 2 on 0; 4 is risky; 1 and 3 are alone; 5 removes a file.
        let list: &[(usize, u8, i64, &[usize])] = &[
            (4, 0, 50, &[2]),
            (3, 2, 40, &[]),
            (2, 2, 30, &[0]),
            (1, 2, 20, &[]),
            (5, 1, 60, &[]),
            (0, 2, 10, &[]),
        ];
        assert_eq!(ordered(&ids, list), [0, 2, 4, 5, 1, 3]);
    }

    #[test]
    fn what_is_lower_comes_first_though_it_is_younger() {
        let ids = ids(3);
        assert_eq!(
            ordered(&ids, &[(0, 2, 10, &[1]), (1, 2, 20, &[2]), (2, 2, 30, &[])]),
            [2, 1, 0]
        );
    }

    #[test]
    fn a_circle_and_what_is_not_listed_are_ordered_once_each() {
        let ids = ids(4);
        let list: &[(usize, u8, i64, &[usize])] =
            &[(0, 2, 10, &[1]), (1, 2, 20, &[0]), (2, 2, 5, &[3]), (2, 2, 5, &[3])];
        assert_eq!(ordered(&ids, &list[..3]), [2, 1, 0]);
    }
}
