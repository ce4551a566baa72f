//! Markdown for a pull request: the worst first, details folded away, and one line that says on what and how.

use std::fmt::Write;

use repackbench_records::{Record, Role, WorkloadComparison};

use crate::{
    Results, Style,
    bench::{Place, bench_table, by_repository, heading},
    budget::budget_table,
    explain::explain_table,
    grid::plain_text,
    joined::{joined, joined_table},
    number::thousands,
    size::size_table,
    summary::{Outcome, jobs, outcomes, sentences, short_cell, workload_names},
    trace::trace_table,
};

/// `results` in GitHub's flavour of Markdown.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    for (place, comparisons) in by_repository(&results.comparisons) {
        text.push_str(&comparison_section(place, &comparisons));
    }
    let comparisons = &results.comparisons;
    text.push_str(&details("All repositories together", &joined_table(&joined(comparisons), Style::PLAIN)));
    text.push_str(&details("Every figure", &bench_table(comparisons, Style::PLAIN)));
    text.push_str(&details("At equal budgets", budget_table(&results.budgets, Style::PLAIN).trim_start()));
    text.push_str(&details("What the ratios are made of", &explain_table(&results.explanations, Style::PLAIN)));
    if !results.traces.is_empty() {
        text.push_str(&details("What is read of the files", &trace_table(&results.traces, Style::PLAIN)));
    }
    let sizes: Vec<_> = results.sizes.iter().map(|line| line.size.clone()).collect();
    if !sizes.is_empty() {
        text.push_str(&details("Where the bytes go", &size_table(&sizes, Style::PLAIN)));
    }
    text.push_str(&provenance(&results.runs));
    text
}

fn comparison_section(place: Place<'_>, comparisons: &[&WorkloadComparison]) -> String {
    let comparisons = &*jobs(comparisons);
    let outcomes = outcomes(comparisons);
    let baseline = outcomes.iter().find(|outcome| outcome.role == Role::Baseline);
    let Some(baseline) = baseline else { return String::new() };
    let mut text = format!("### {}, beside {}\n\n", escaped(&heading(&place)), code(&baseline.name));
    let sentences = sentences(&outcomes, comparisons);
    if !sentences.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&sentences));
    }
    text.push_str(
        "Multiples of the baseline's bytes and times, less is better; the worst first.\n\n| variant | size |",
    );
    for name in workload_names(comparisons) {
        let _ = write!(text, " {} |", escaped(&name));
    }
    let _ = writeln!(text, "\n|---|---:|{}", "---|".repeat(comparisons.len()));
    for outcome in worst_first(&outcomes) {
        let size = outcome.size.map_or_else(|| "-".to_owned(), |size| format!("{size:.3}"));
        let _ = write!(text, "| {} | {size} |", code(&outcome.name));
        for cell in &outcome.cells {
            let _ = write!(text, " {} |", cell.map_or_else(|| "-".to_owned(), short_cell));
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// What a reviewer has to see stands first: what is slower or larger than the baseline, by how much.
fn worst_first<'a, 'b>(outcomes: &'b [Outcome<'a>]) -> Vec<&'b Outcome<'a>> {
    let mut order: Vec<_> = outcomes.iter().filter(|outcome| outcome.role != Role::Baseline).collect();
    order.sort_by(|a, b| b.worst().total_cmp(&a.worst()));
    order
}

/// A table of plain text, folded away; nothing where there is none.
fn details(title: &str, table: &str) -> String {
    if table.trim().is_empty() {
        return String::new();
    }
    // A fence that is longer than any run of backticks in the text cannot be closed by it.
    let longest = table.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("<details><summary>{title}</summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n\n", table.trim_end())
}

/// One line: the machine and the method.
fn provenance(runs: &[Record]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let mut hosts: Vec<String> = Vec::new();
    for run in runs {
        let host = host_line(run);
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    let blocks = runs.iter().map(|run| (run.place.session, run.place.block)).collect::<std::collections::BTreeSet<_>>();
    let mut text = format!(
        "<sub>Measured on {} with repackbench {}: {} runs in {} random blocks, the baseline twice in each; ratios are medians \
         of pairs within a block, verdicts hold over all of them together at 5 % (Holm).",
        hosts.iter().map(|host| escaped(host)).collect::<Vec<_>>().join("; "),
        escaped(&first.program_version),
        thousands(runs.len() as u64),
        thousands(blocks.len() as u64),
    );
    if let Some(command) = &first.command {
        let _ = write!(text, " {}", code(command));
    }
    text.push_str("</sub>\n");
    text
}

/// A machine in a few words.
pub(crate) fn host_line(run: &Record) -> String {
    let host = &run.host;
    let mut parts = vec![host.cpu_model.clone().unwrap_or_else(|| "an unknown processor".to_owned())];
    parts.extend(host.cores.map(|cores| if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") }));
    parts.extend(host.kernel.clone());
    parts.extend((host.virtualised == Some(true)).then(|| "virtualised".to_owned()));
    parts.join(", ")
}

/// `text` as code: no markup has a meaning in it, and a pipe does not end a table's cell.
fn code(text: &str) -> String {
    let text = plain_text(text);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", text.replace('|', "\\|"))
}

/// `text` with everything that Markdown or HTML could take for markup made plain. Underscores and parentheses stay as they are
/// inside of words.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain_text(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A name must not call for people's or teams' attention.
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use repackbench_records::Verdict;

    use super::*;
    use crate::bench::tests::{comparison, estimate, row};

    fn results() -> Results {
        let rows = vec![
            row(Role::Baseline, "zlib:6", 1000, None, 100),
            row(Role::Candidate, "zstd:5", 700, Some(estimate(0.7, 0.69, 0.71)), 84),
            row(Role::Candidate, "xz:6", 2100, Some(estimate(2.1, 2.0, 2.2)), 79),
        ];
        Results {
            comparisons: vec![comparison("traverse", rows, Some(estimate(1.0, 0.99, 1.01)))],
            ..Results::default()
        }
    }

    #[test]
    fn the_worst_stands_first_and_details_are_folded() {
        let text = markdown(&results());
        let expected = "\
### sample (revision 0123456789ab), beside `zlib:6`

Smallest is xz:6: 21.0 % smaller, traverse takes 110 % more time (slower). traverse is fastest with zstd:5 (0.70).

Multiples of the baseline's bytes and times, less is better; the worst first.

| variant | size | traverse |
|---|---:|---|
| `xz:6` | 0.790 | 2.10 slower |
| `zstd:5` | 0.840 | 0.70 faster |

<details><summary>Every figure</summary>

```text
sample (revision 0123456789ab)
";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn names_come_out_as_text() {
        let mut results = results();
        let hostile = "</sub><script>alert(1)</script>|`x`\n# a\u{1b}[31m @team";
        results.comparisons[0].repository.name = hostile.into();
        results.comparisons[0].workload.name = hostile.into();
        results.comparisons[0].rows[1].variant.spec.as_mut().unwrap().typed = hostile.into();
        results.comparisons[0].rows[1].verdict = Some(Verdict::Slower);
        let text = markdown(&results);
        // Outside of code, where nothing has a meaning.
        let (visible, _) = text.split_once("<details>").unwrap();
        let without_code: String = visible.split("``").step_by(2).collect();
        assert!(!without_code.contains("<script") && !without_code.contains('@'), "{visible}");
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(visible.lines().all(|line| !line.starts_with("# ")), "{visible}");
        let rows: Vec<&str> = visible.lines().filter(|line| line.starts_with('|')).collect();
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 4, "{row}");
        }
    }

    #[test]
    fn a_fence_is_not_closed_by_what_it_holds() {
        let folded = details("x", "a ```` b");
        assert!(folded.contains("\n`````text\n") && folded.contains("\n`````\n"), "{folded}");
        assert_eq!(details("x", " \n"), "");
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("`"), "`` ` ``");
    }
}
