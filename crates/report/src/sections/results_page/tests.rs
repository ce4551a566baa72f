use repackbench_analysis::{ResultsPage, results_page as findings};
use repackbench_records::{
    ChunkForm, ContentKind, FleetEnd, FleetRecord, Host, ListedRepository, ObjectKind, ObjectSizes, Readers, Rechosen,
    RepositoryEstimate, ResultLine, Role, SCHEMA_VERSION, SpecText, Vcs,
    fixtures::{EstimatedCodec, delta_state, record, repository_estimate},
};

use super::*;
use crate::render::markdown::results_page::results_file;

fn listed(name: &str, kind: ContentKind, chosen_on: bool) -> ListedRepository {
    let url = format!("https://example.org/{name}");
    ListedRepository { name: name.into(), url, kind, about: "Rust".into(), chosen_on }
}

fn codecs(size: f64, cpu: f64) -> [EstimatedCodec<'static>; 4] {
    [
        ("zlib:6", Readers::Stock, 1.0, 1.0),
        ("libdeflate:6", Readers::Stock, 0.99, 0.7),
        ("zstd:9", Readers::Exec, size, cpu),
        ("zstd:9,dict=112k", Readers::Exec, size / 2.0, cpu),
    ]
}

/// An estimate whose new search for deltas leaves `left` of the bytes.
fn estimate(name: &str, bytes: u64, (size, cpu): (f64, f64), left: f64) -> RepositoryEstimate {
    let mut estimate = repository_estimate(name, name, bytes, &codecs(size, cpu));
    estimate.host = Some(Host { cores: Some(2), cpu_model: Some("Some CPU".into()), ..Host::default() });
    estimate.repository.tip = Some("0123456789abcdef0123".into());
    estimate.pack_checksums = vec!["fedcba9876543210fedc".into(), "ff".into()];
    estimate.rechosen = Rechosen::Searched {
        cpu_seconds: None,
        seconds: 1.0,
        window: None,
        peak_resident_bytes: None,
        is_without_names: false,
        other: None,
        state: Box::new(delta_state((bytes as f64 * left) as u64, &codecs(size, cpu))),
    };
    estimate
}

fn page(estimates: &[RepositoryEstimate]) -> ResultsPage {
    let list = [
        listed("o/a", ContentKind::Source, false),
        listed("o/b", ContentKind::Documents, false),
        listed("o/chosen", ContentKind::Source, true),
        listed("o/chosen-too", ContentKind::Source, true),
        listed("o/none", ContentKind::Source, false),
    ];
    findings(&list, estimates.iter().map(|of| ResultLine::Estimate(Box::new(of.clone()))).collect())
}

/// The file at `path` as Markdown, without the ends of wrapped lines.
#[track_caller]
fn text(page: &ResultsPage, path: &str) -> String {
    let files = results_page(page);
    let text = results_file(files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path}")));
    let long = text.lines().find(|line| !line.starts_with('|') && line.chars().count() > 120);
    assert_eq!(long, None, "{path}");
    text.replace("\n  ", " ")
}

fn small_page() -> ResultsPage {
    page(&[
        estimate("o/a", 1_000_000, (0.5, 0.5), 0.4),
        estimate("o/b", 3_000_000, (2.0, 0.5), 0.9),
        estimate("o/chosen", 90_000_000, (0.001, 0.001), 0.01),
    ])
}

/// What hg reads comes before what only other programs read, however much smaller that is.
#[test]
fn mercurial_has_a_sentence_for_each_kind_of_reader() {
    let codecs = [
        ("zlib:6", Readers::Stock, 1.0, 1.0),
        ("zstd:3", Readers::Stock, 1.02, 0.9),
        ("zstd:19", Readers::Stock, 0.918, 0.9),
        ("best-size", Readers::Repackbench, 0.5, 0.8),
    ];
    let mut estimate = estimate("o/hg", 1_000_000, (1.0, 1.0), 1.0);
    estimate.repository.vcs = Some(Vcs::Mercurial);
    estimate.as_found = delta_state(1_000_000, &codecs);
    let git = self::estimate("o/a", 1_000_000, (0.5, 0.5), 0.4);
    let list = [listed("o/a", ContentKind::Source, false), listed("o/hg", ContentKind::ConvertedMercurial, false)];
    let lines = [git, estimate].map(|of| ResultLine::Estimate(Box::new(of))).into();
    let text = text(&findings(&list, lines), "README.md");
    let expected = "- Mercurial, by medians of 1 converted repository, 1.00 MB: zstd:19 is 8.2 % smaller at 10 % less CPU time, and hg \
                    reads it. Compared with zstd:3, which hg itself writes since 5.8, that is 10 % smaller with the same \
                    CPU time. The smallest that hg does not read: best-size is 50 % smaller at 20 % less CPU time.";
    assert!(text.contains(expected), "{expected}\n{text}");
}

/// A large repository that differs from the others moves totals and means. It is named, and moves no median.
#[test]
fn mercurial_has_medians_and_names_the_repository_with_most_bytes() {
    let one = |name: &str, bytes, size| {
        let mut estimate = estimate(name, bytes, (size, 0.9), 1.0);
        estimate.repository.vcs = Some(Vcs::Mercurial);
        estimate
    };
    let names = ["o/h1", "o/h2", "o/large"];
    let estimates = [one("o/h1", 1_000_000, 0.8), one("o/h2", 1_000_000, 0.7), one("o/large", 8_000_000, 0.1)];
    let git = estimate("o/a", 1_000_000, (0.5, 0.5), 0.4);
    let mut list = names.map(|name| listed(name, ContentKind::ConvertedMercurial, false)).to_vec();
    list.push(listed("o/a", ContentKind::Source, false));
    let lines = estimates.into_iter().chain([git]).map(|of| ResultLine::Estimate(Box::new(of))).collect();
    let text = text(&findings(&list, lines), "README.md");
    for expected in [
        "- Mercurial, by medians of 3 converted repositories, 10.0 MB, of which o/large has 80 %:",
        "zstd:9,dict=112k is 65 % smaller at 10 % less CPU time.",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

/// `estimate` and ten runs of `traverse` under zstd:9, which take 0.75 of the time and 0.8 of the bytes.
fn with_runs(estimate: RepositoryEstimate) -> Vec<ResultLine> {
    let name = estimate.repository.name.clone();
    let mut lines = vec![ResultLine::Estimate(Box::new(estimate))];
    for block in 0..10 {
        for (role, row, codec, time, bytes) in [
            (Role::Baseline, 1, "zlib:6", 100_000_000, 1000),
            (Role::BaselineAgain, 1, "zlib:6", 100_000_000, 1000),
            (Role::Candidate, 2, "zstd:9", 75_000_000, 800),
        ] {
            let mut run = record("traverse", role, row, block, time);
            run.repository.name.clone_from(&name);
            run.variant.spec = Some(SpecText { typed: codec.to_owned(), canonical: codec.to_owned() });
            run.size.total_bytes = bytes;
            run.place.position = row + u32::from(role == Role::BaselineAgain) * 5;
            lines.push(ResultLine::Run(Box::new(run)));
        }
    }
    lines
}

/// The median of errors has no sign, so the means say whether gains were overstated.
#[test]
fn checked_codecs_have_both_means_and_the_others_are_named() {
    let list = [listed("o/a", ContentKind::Source, false)];
    let page = findings(&list, with_runs(estimate("o/a", 4_000_000, (0.8, 0.6), 0.5)));
    let index = text(&page, "README.md");
    for expected in [
        "- bench did not measure libdeflate:6 and zstd:9,dict=112k, which the answer names. By geometric means over the \
         workloads, the CPU times that were predicted and measured in Git are these multiples of zlib:6's: zstd:9 0.60 and \
         0.75. So predictions overstate the gain of zstd:9. Furthest off is traverse under zstd:9: 0.60 and 0.75.",
        "Gains of zstd:9 were smaller where bench measured them.",
    ] {
        assert!(index.contains(expected), "{expected}\n{index}");
    }
    let measured = text(&page, "measured.md");
    for expected in [
        "This page says how far predictions were from what `bench` measured, on 1 public repository.\n",
        "| zstd:9 | 0.600 | 0.750 | -20.0 |\n",
        "- Not measured: libdeflate:6 and zstd:9,dict=112k.\n",
    ] {
        assert!(measured.contains(expected), "{expected}\n{measured}");
    }
    assert!(!measured.contains("not of the session"), "{measured}");
}

/// The work on the repository ended between the estimate and the runs.
#[test]
fn estimate_of_another_session_is_named() {
    let list = [listed("o/a", ContentKind::Source, false)];
    let mut lines = with_runs(estimate("o/a", 4_000_000, (0.8, 0.6), 0.5));
    let end = FleetRecord {
        schema: SCHEMA_VERSION,
        program_version: String::new(),
        name: "o/a".to_owned(),
        path: "o/a".to_owned(),
        seconds: 1.0,
        end: FleetEnd::Done { unchecked: None },
    };
    lines.insert(1, ResultLine::Fleet(Box::new(end)));
    let measured = text(&findings(&list, lines), "measured.md");
    let expected = "- In 1 of the 1 repository the estimate is not of the session of the measurement (o/a):";
    assert!(measured.contains(expected), "{measured}");
}

/// Only the first screen says what images are like, and only by what was measured.
#[test]
fn compressed_files_are_named_with_what_they_keep() {
    let list = [listed("o/a", ContentKind::Source, false), listed("o/pictures", ContentKind::Compressed, false)];
    let mut pictures = estimate("o/pictures", 4_000_000, (0.95, 0.6), 0.9);
    let mut objects = ObjectSizes::default();
    objects.get_mut(ObjectKind::Blob, ChunkForm::Whole).add(90, 100);
    pictures.as_found.objects = Some(objects);
    let lines =
        |of: &[&RepositoryEstimate]| of.iter().map(|of| ResultLine::Estimate(Box::new((*of).clone()))).collect();
    let a = estimate("o/a", 4_000_000, (0.5, 0.6), 0.9);
    let index = text(&findings(&list, lines(&[&a, &pictures])), "README.md");
    let expected = "take most bytes only of o/pictures, where whole files keep 90 % of their bytes, and zstd:9,dict=112k is 52 \
                    % smaller.";
    assert!(index.contains(expected), "{index}");
    let without = text(&findings(&list, lines(&[&a])), "README.md");
    assert!(without.contains("No repository here has mostly files that were compressed before"), "{without}");
}

/// Geometric means of 0.5 and 2.0, and of 0.4 and 0.9; totals of 1 and 3 MB.
#[test]
fn first_screen_has_the_figures_of_held_out_repositories() {
    let text = text(&small_page(), "README.md");
    for expected in [
        "# What if our objects were compressed with something other than zlib?\n",
        "- Scope: 2 public Git repositories of 1.00 to 3.00 MB (1 of them of 3 to 500 MB), 4.00 MB as found;",
        "This page says what other codecs gain on 3 public repositories: predictions for replays, and their limits.\n",
        "- In short: a new search for deltas makes repositories 40 % smaller, in the format that there is. As predicted for \
         replays, another decoder of that format (libdeflate) reads with 30 % less CPU time, and another format reads with \
         50 % less CPU time, of the same size (zstd:9), or makes repositories 50 % smaller with 50 % less CPU time, and \
         after a new search 50 % smaller with 50 % less CPU time (zstd:9,dict=112k).",
        "Every git reads it. The time is the gain of the decoder, libdeflate. A git that decodes with another library gains \
         only the size; under `exec --zlib libdeflate` it gains the time, too.",
        "Read [the price of serving](../serving.md#the-price) first.",
        "makes 2 repositories 40 % smaller (all bytes together: 22 % smaller). Only zstd:9,dict=112k (50 % smaller) saves",
        "- No new format: libdeflate:6 is 1.0 % smaller (1.0 %) at 30 % less CPU time (30 %); after a new search for deltas \
         1.0 % smaller",
        "- Another codec, without dictionaries: zstd:9 is of the same size (62 % larger) at 50 % less CPU time (50 %); after a \
         new search for deltas of the same size (81 % larger) at",
        "- Dictionaries trained on the repository: zstd:9,dict=112k is 50 % smaller (19 %)",
        "Decoding: it takes 50 % to 50 % of the CPU time of a replay (medians, by workload), and no codec can save more of that.",
        "no measurement checks them.",
        "An unpatched git reads zstd:9 and zstd:9,dict=112k only under repackbench exec.",
        "Named specs were chosen on o/chosen and o/chosen-too, which are in no figure here",
        "Measured by repackbench 0.1.0 on: Some CPU, 2 cores.",
        "| zstd:9 | exec | 1.000 | 1.625 | 0.50 | 0.50 | 1.000 | 1.806 | 0.50 | 0.50 | 1.000 |\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn kinds_are_compared_in_words() {
    let text = text(&small_page(), "README.md");
    for expected in [
        "- zstd:9: from 50 % smaller (source code, one repository) to 100 % larger (documents, one repository); ",
        "- A new search for deltas: from 60 % smaller (source code, one repository) to 10 % smaller (documents, one \
         repository).",
        "| documents | 1 | 3.00 | 0.900 |",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let one_kind = page(&[estimate("o/a", 1_000_000, (0.5, 0.5), 0.4)]);
    assert!(!results_file(&results_page(&one_kind)[0]).contains("differs between kinds of content"));
}

#[test]
fn repositories_link_to_their_pages() {
    let page = small_page();
    let index = text(&page, "README.md");
    let row = "| [o/chosen](repositories/o/chosen.md) (chosen on) | source code: Rust | 0123456789ab | fedcba987654 and 1 more \
               | none | 1 | 90.0 | 0.900 | 0.010 |\n";
    assert!(index.contains(row), "{index}");
    assert!(index.contains("Listed, and not estimated yet: o/chosen-too, o/none."), "{index}");
    let one = text(&page, "repositories/o/chosen.md");
    for expected in [
        "[https&#58;//example.org/o/chosen](https://example.org/o/chosen)",
        "(../../README.md)",
        "| specs | were chosen on it: it is in no summary |",
        "| checksums of packs | fedcba9876543210fedc, ff |",
        "## o/chosen as found, 1 object, 90.0 MB",
        "## o/chosen with deltas that git searched for anew, 1 object, 0.900 MB",
    ] {
        assert!(one.contains(expected), "{expected}\n{one}");
    }
    let sizes = text(&page, "sizes.md");
    assert!(sizes.contains("| [o/b](repositories/o/b.md) | 3.00 | 1.000 | 0.990 | 2.000 | 1.000 |\n"), "{sizes}");
    let times = text(&page, "times.md");
    assert!(times.contains("## traverse as found\n") && times.contains("| 3000.00 | 1.00 | 0.70 |"), "{times}");
}

#[test]
fn page_without_records_says_so() {
    let text = text(&page(&[]), "README.md");
    assert!(text.contains("There is no record of a held-out repository yet."), "{text}");
    assert!(text.contains("not estimated yet: o/a, o/b, o/chosen, o/chosen-too, o/none."), "{text}");
}
