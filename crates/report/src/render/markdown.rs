//! Markdown for a pull request: the worst first, folded details, and one line on machine and method.

mod articles;
mod experiments;
mod fleet;
pub(crate) mod results_page;

use std::fmt::Write;

use repackbench_analysis::{Outcome, Results, by_source, outcomes, without_floors};
use repackbench_records::{Role, WorkloadComparison};

pub use self::articles::articles_markdown;
use super::text::{Style, articles_text};
use crate::{
    document::plain_text,
    sections::{
        self, advice, document,
        names::variant_name,
        origin::{commands, measured_on},
        source,
        summary::{changes_note, open_note, outcome_size, sentences, time_cells, time_columns},
    },
};

/// `results` in GitHub's flavour of Markdown.
pub fn markdown(results: &Results) -> String {
    let mut text = experiments::sections(&results.experiments);
    text.extend(fleet::section(results));
    for estimate in &results.estimates {
        let (answer, tables): (Vec<_>, Vec<_>) =
            sections::estimates(std::slice::from_ref(estimate)).into_iter().partition(|article| article.is_answer);
        let _ = write!(text, "### {}\n\n", escaped(&format!("{}, predicted", estimate.repository.name)));
        text.extend(answer.iter().map(articles::blocks));
        text.push_str(&articles_markdown(&tables));
    }
    for (of, comparisons) in by_source(&results.comparisons) {
        let comparisons = &*without_floors(&comparisons);
        text.push_str(&comparison_section(&source::heading(&of), comparisons));
        articles::list(&mut text, &advice::measured(of.repository, comparisons));
    }
    for section in document(results).iter().filter(|section| section.kind.is_folded()) {
        text.push_str(&details(section.kind.heading(), &articles_text(&section.articles, Style::PLAIN)));
    }
    text.push_str(&provenance(results));
    text
}

fn comparison_section(heading: &str, comparisons: &[&WorkloadComparison]) -> String {
    let outcomes = outcomes(comparisons);
    let baseline = outcomes.iter().find(|outcome| outcome.variant.role == Role::Baseline);
    let Some(baseline) = baseline else { return String::new() };
    let mut text = format!("### {}, compared with {}\n\n", escaped(heading), code(&variant_name(baseline.variant)));
    let sentences = sentences(&outcomes, comparisons);
    if !sentences.is_empty() {
        let _ = writeln!(text, "{}\n", escaped(&sentences));
    }
    let _ = write!(text, "{}", changes_note(comparisons));
    text.extend(open_note(comparisons).map(|note| format!(" {}", escaped(&note))));
    text.push_str("\n\n| variant | size |");
    let columns = time_columns(comparisons);
    for column in &columns {
        let _ = write!(text, " {} |", escaped(&column.full_name()));
    }
    let _ = writeln!(text, "\n|---|---|{}", "---|".repeat(columns.len()));
    for outcome in worst_first(&outcomes).into_iter().chain([baseline]) {
        let _ = write!(
            text,
            "| {} | {} |",
            code_cell(&variant_name(outcome.variant)),
            outcome_size(outcome, comparisons).text
        );
        for cell in time_cells(outcome, comparisons) {
            let _ = write!(text, " {} |", cell.text);
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

/// Outcomes sorted by their worst ratio, which a reviewer has to see first.
fn worst_first<'a, 'b>(outcomes: &'b [Outcome<'a>]) -> Vec<&'b Outcome<'a>> {
    let mut order: Vec<_> = outcomes.iter().filter(|outcome| outcome.variant.role != Role::Baseline).collect();
    order.sort_by(|a, b| b.worst().total_cmp(&a.worst()));
    order
}

/// A folded table of plain text; nothing for an empty one.
fn details(title: &str, table: &str) -> String {
    if table.trim().is_empty() {
        return String::new();
    }
    // The text cannot close a fence that is longer than any of its runs of backticks.
    let longest = table.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("<details><summary>{title}</summary>\n\n{fence}text\n{}\n{fence}\n\n</details>\n\n", table.trim_end())
}

/// One line on the machine, the method and the commands.
fn provenance(results: &Results) -> String {
    let sentence = measured_on(&results.runs).map(|sentence| escaped(&sentence) + " ").unwrap_or_default();
    let commands: Vec<String> = commands(results).iter().map(|command| code(command)).collect();
    let line = sentence + &commands.join(", ");
    if line.is_empty() { line } else { format!("<sub>{}</sub>\n", line.trim_end()) }
}

/// `text` as code, in which no markup has a meaning.
fn code(text: &str) -> String {
    let text = plain_text(text);
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// `text` as code in a cell of a table, which a pipe would end even in code.
fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A sentence of ours as Markdown: its commands, which are between backticks, are code. What a name could have smuggled
/// in between them is escaped.
pub(crate) fn with_commands(text: &str) -> String {
    let is_command = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_lowercase() || first == '-')
            && part.chars().all(|each| each.is_ascii_alphanumeric() || " -=:,._+".contains(each))
    };
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        written.push_str(&escaped(before));
        match after.split_once('`') {
            Some((part, end)) if is_command(part) => {
                written.push_str(&code(part));
                rest = end;
            }
            _ => {
                written.push_str(&escaped("`"));
                rest = after;
            }
        }
    }
    written + &escaped(rest)
}

/// `text` with all Markdown and HTML markup escaped.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain_text(text).chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A name must not mention people or teams, or become a formula.
            '@' => escaped.push_str("&#64;"),
            '$' => escaped.push_str("&#36;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                escaped.push('\\');
                escaped.push(character);
            }
            _ => escaped.push(character),
        }
    }
    escaped.replace("://", "&#58;//").replace("www.", "www&#46;")
}

#[cfg(test)]
mod tests {
    use repackbench_records::{Readers, Verdict, fixtures::repository_estimate};

    use super::*;
    use crate::fixtures::{comparison, estimate, row};

    #[test]
    fn commands_in_sentences_are_code_and_names_are_not() {
        for (text, expected) in [
            ("`git repack -adF` makes 1 MB", "`git repack -adF` makes 1 MB"),
            ("a `b` and `zstd:9,dict=112k`.", "a `b` and `zstd:9,dict=112k`."),
            ("one ` alone", "one \\` alone"),
            ("`<b>` and `a@b`", "\\`&lt;b&gt;\\` and \\`a&#64;b\\`"),
        ] {
            assert_eq!(with_commands(text), expected);
        }
    }

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
    fn worst_variant_is_first_and_details_are_folded() {
        let text = markdown(&results());
        let expected = "\
### sample (revision 0123456789ab), compared with `zlib:6`

Smallest is xz:6: 21.0 % smaller than zlib:6; traverse takes 2.1 times the CPU time. By the medians, traverse takes the least CPU time with zstd:5 (30 % less).

Changes of size and CPU time against the baseline. The worst variant comes first.

| variant | size | traverse CPU |
|---|---|---|
| `xz:6` | 21.0 % smaller | 2.1 times |
| `zstd:5` | 16.0 % smaller | 30 % less |
| `zlib:6` | 100 B | 1.00 s |

- Best: zstd:5: 16.0 % smaller; replays: 30 % less CPU time.
- Writing: back by `convert --codec zlib:6`.
- Verdict: too small to matter: a repository of less than 1 MB.
- Measured: 10 blocks, CPU time ±2.4 %; `bench --precise --codec zstd:5` confirms it.

<details><summary>All figures</summary>

```text
sample (revision 0123456789ab)
";
        assert!(text.starts_with(expected), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn estimate_begins_with_its_answer() {
        let codecs = [("zlib:6", Readers::Stock, 1.0, 1.0), ("zstd:3", Readers::Exec, 0.5, 0.5)];
        let estimate = repository_estimate("a_b", "", 10_000_000, &codecs);
        let text = markdown(&Results { estimates: vec![estimate], ..Results::default() });
        assert!(text.starts_with("### a\\_b, predicted\n\n- "), "{text}");
        let (answer, tables) = text.split_once("\n### ").unwrap();
        assert!(answer.contains("\n- Verdict: change to zstd:3"), "{text}");
        assert!(tables.contains("\n| zstd:3 | 5.00 | 0.500 |"), "{text}");
    }

    #[test]
    fn names_are_escaped() {
        let mut results = results();
        let hostile =
            "</sub><script>alert(1)</script>|`x`\n# a\u{1b}[31m @team $x$ https://example.org www.example.org";
        results.comparisons[0].repository.name = hostile.into();
        results.comparisons[0].workload.name = hostile.into();
        results.comparisons[0].rows[1].variant.spec.as_mut().unwrap().typed = hostile.into();
        results.comparisons[0].rows[1].verdict = Some(Verdict::Slower);
        let text = markdown(&results);
        // Outside of code, where nothing has a meaning.
        let (visible, _) = text.split_once("<details>").unwrap();
        let without_code: String = visible.split("``").step_by(2).collect();
        for markup in ["<script", "@", "$", "://", "www."] {
            assert!(!without_code.contains(markup), "{markup}: {visible}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(visible.lines().all(|line| !line.starts_with("# ")), "{visible}");
        let rows: Vec<&str> = visible.lines().filter(|line| line.starts_with('|')).collect();
        for row in rows {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 4, "{row}");
        }
    }

    #[test]
    fn fence_is_not_closed_by_its_content() {
        let folded = details("x", "a ```` b");
        assert!(folded.contains("\n`````text\n") && folded.contains("\n`````\n"), "{folded}");
        assert_eq!(details("x", " \n"), "");
        assert_eq!((code("a|b"), code_cell("a|b")), ("`a|b`".into(), "`a\\|b`".into()));
        assert_eq!(code("`"), "`` ` ``");
    }
}
