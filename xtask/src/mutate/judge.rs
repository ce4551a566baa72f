//! Whether an accepted repository was rightly accepted.

use crate::stock::Reading;

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It was refused, with one error.
    Refused,
    /// It was accepted, and everything in it is read as if nothing were damaged.
    Harmless,
    /// It was accepted, and each object in it is right, but something else is not as it was: stock git or hg reads the
    /// same in the damaged source, or `verify` says that the damaged variant differs.
    Changed,
    /// It must not happen: why.
    Wrong(String),
}

/// Judges what stock git or hg reads in the repository that `convert` made of a damaged one. `told` says whether the
/// change is a known one, and why not otherwise. It is asked only about other things than objects with wrong content.
pub(super) fn judge<E>(
    read: Result<Reading, String>,
    truth: &Reading,
    told: impl FnOnce(&Reading) -> Result<Option<String>, E>,
) -> Result<Verdict, E> {
    let read = match read {
        Ok(read) => read,
        Err(said) => return Ok(Verdict::Wrong(format!("accepted, but stock cannot read the result: {said}"))),
    };
    for (name, content) in &read.objects {
        match truth.objects.get(name) {
            Some(true_content) if true_content == content => {}
            Some(true_content) => {
                let why = format!("wrong object accepted: {name}: expected {true_content}, found {content}");
                return Ok(Verdict::Wrong(why));
            }
            None => return Ok(Verdict::Wrong(format!("unknown object accepted: {name}"))),
        }
    }
    if read == *truth {
        return Ok(Verdict::Harmless);
    }
    Ok(told(&read)?.map_or(Verdict::Changed, |why| Verdict::Wrong(format!("{why}: {}", truth.first_difference(&read)))))
}

/// Whether stock git or hg reads in a damaged source what was read in the result, and why not otherwise.
pub(super) fn is_as_stock_reads(read: &Reading, stock: Result<Reading, String>) -> Option<String> {
    match stock {
        Ok(stock) if stock == *read => None,
        Ok(stock) => Some(format!("accepted, but stock reads another repository ({})", stock.first_difference(read))),
        Err(said) => Some(format!("accepted, but stock refuses the damaged source: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn reading(objects: &[(&str, &str)], rest: &[&str]) -> Reading {
        Reading {
            objects: objects.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect(),
            rest: rest.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    fn truth() -> Reading {
        reading(&[("a", "blob 1"), ("b", "tree 2")], &["refs/heads/main a"])
    }

    fn judged(read: Result<Reading, String>, told: Option<&str>) -> Verdict {
        let told = told.map(str::to_owned);
        judge::<Infallible>(read, &truth(), |_| Ok(told)).unwrap()
    }

    #[test]
    fn a_reader_that_lies_is_found_out() {
        let wrong = reading(&[("a", "blob 1"), ("b", "tree 3")], &["refs/heads/main a"]);
        let Verdict::Wrong(why) = judged(Ok(wrong.clone()), None) else { panic!("accepted") };
        assert_eq!(why, "wrong object accepted: b: expected tree 2, found tree 3");
        // Even if stock git reads the same wrong object.
        let alike =
            judge::<Infallible>(Ok(wrong.clone()), &truth(), |read| Ok(is_as_stock_reads(read, Ok(wrong.clone()))));
        assert!(matches!(alike, Ok(Verdict::Wrong(_))));
        let unknown = reading(&[("a", "blob 1"), ("c", "tree 2")], &[]);
        assert_eq!(judged(Ok(unknown), None), Verdict::Wrong("unknown object accepted: c".to_owned()));
        assert!(matches!(judged(Err("fatal".to_owned()), None), Verdict::Wrong(why) if why.contains("fatal")));
    }

    #[test]
    fn other_changes_have_to_be_known() {
        assert_eq!(judged(Ok(truth()), Some("not asked")), Verdict::Harmless);
        for changed in [reading(&[("a", "blob 1")], &["refs/heads/main a"]), Reading { rest: [].into(), ..truth() }] {
            assert_eq!(judged(Ok(changed.clone()), None), Verdict::Changed);
            assert!(matches!(judged(Ok(changed.clone()), Some("unknown")), Verdict::Wrong(_)));
            assert_eq!(is_as_stock_reads(&changed, Ok(changed.clone())), None);
            let other = is_as_stock_reads(&changed, Ok(truth())).unwrap();
            assert!(other.contains("expected object b") || other.contains("expected refs/heads/main a"), "{other}");
            assert!(is_as_stock_reads(&changed, Err("fatal".to_owned())).unwrap().contains("fatal"));
        }
    }
}
