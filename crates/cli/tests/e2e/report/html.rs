//! `report --html`: the page works in a browser, opened as a file with the network off.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::browser::{Browser, Page, View};
use crate::support::program::{self, cached, exit, words};
use crate::support::{Fixture, Scratch};

/// Measures, traces and explains, and makes the page of all results.
#[track_caller]
fn page_of_results(scratch: &Scratch) -> PathBuf {
    let run =
        |arguments: &[&str], files: &[&Path]| program::run(cached(scratch).args(arguments).args(files)).exits(exit::OK);
    let codecs = ["--quiet", "--codec", "zstd:5", "--codec", "lz4", "--force", "--json"];
    let trace = [&["trace", "--workload", "traverse"][..], &codecs].concat();
    let explain = words("explain --min-run-time 1ms --quiet --workload traverse --codec zstd:5 --blocks 2 --json");
    let mut files = vec![scratch.join("report.html")];
    for (repo, blocks) in [(Fixture::get("history").repo(), "6"), (Fixture::hg("branches").repo(), "2")] {
        let workloads =
            "bench --min-run-time 1ms --workload traverse --workload checkout:sink --workload floor:traverse --blocks";
        let bench = [&words(workloads)[..], &[blocks], &codecs].concat();
        for arguments in [&bench[..], &trace, &explain] {
            files.push(scratch.join(&format!("{}.jsonl", files.len())));
            run(arguments, &[files.last().expect("a file"), &repo]);
        }
    }
    files.push(scratch.join("experiment.jsonl"));
    fs::write(files.last().expect("a file"), experiment().to_string()).expect("a file");
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    run(&["report", "--quiet", "--html"], &files);
    scratch.join("report.html")
}

/// The result of an experiment, with two arms.
fn experiment() -> Value {
    let row = |label: &str, published: f64, measured: f64| {
        let estimate = json!({"value": measured, "interval": [measured * 0.9, measured * 1.1]});
        json!({"label": label, "published": [published], "measured": [estimate]})
    };
    json!({
        "record": "experiment", "schema": 2, "experiment_schema": 1, "name": "zlib-vs-zstd-pack", "command": null,
        "began_unix_ms": 1, "host": {}, "repository": {"name": "history", "fingerprint": "f", "head": null},
        "differences": ["The repository is another one."],
        "tables": [{
            "title": "Commands", "columns": [{"name": "rev-list", "unit": "seconds"}],
            "rows": [row("zlib:6", 27.4, 0.5), row("zstd:5", 25.7, 0.4)]
        }],
        "claims": [{"claim": "It is faster.", "published": "0.94", "measured": "0.80 [0.72, 0.88]", "outcome": "changed",
            "reason": "The direction holds, and the effect is more than the published 0.94."}],
        "notes": ["A note."]
    })
}

/// The number of elements that a selector finds, and how many of them have an empty box.
#[track_caller]
fn boxes(page: &mut Page<'_>, selector: &str) -> (f64, f64) {
    let found = page.number(&format!("document.querySelectorAll({selector:?}).length"));
    let empty = page.number(&format!(
        "[...document.querySelectorAll({selector:?})].filter(e => {{ const b = e.getBoundingClientRect(); \
         return !(b.width > 0 && b.height > 0); }}).length"
    ));
    (found, empty)
}

const FIGURES: &str = "[...document.querySelectorAll('figure')]";

#[test]
fn page_works_in_a_browser_without_a_network() {
    let scratch = Scratch::new();
    let file = page_of_results(&scratch);
    let mut browser = Browser::start();
    links_open_folded_sections(&mut browser, &file);
    everything_is_drawn(&mut browser, &file);
    filters_hide_rows_and_dim_marks(&mut browser, &file);
    marks_show_their_figures(&mut browser, &file);
    charts_and_tables_can_be_saved(&mut browser, &file, &scratch);
    phones_and_paper_have_their_own_layout(&mut browser, &file);
    text_has_enough_contrast(&mut browser, &file);
    everything_is_shown_without_scripts(&mut browser, &file);
}

/// The page with all folded sections open.
#[track_caller]
fn unfolded<'a>(browser: &'a mut Browser, file: &Path, view: View) -> Page<'a> {
    let mut page = browser.open(file, view);
    page.value("document.querySelectorAll('details.fold').forEach(d => { d.open = true; })");
    page
}

#[track_caller]
fn links_open_folded_sections(browser: &mut Browser, file: &Path) {
    let mut page = browser.open(file, View::DESKTOP);
    let is_open = "document.querySelector('#noise').closest('details').open";
    assert_eq!(page.value(is_open), false);
    assert_eq!(page.value("document.querySelector('#size-time').closest('details') === null"), true, "an overview");
    page.value("document.querySelector('nav a[href=\"#noise\"]').click()");
    assert_eq!(page.value(is_open), true);
    page.assert_no_messages();
}

#[track_caller]
fn everything_is_drawn(browser: &mut Browser, file: &Path) {
    let mut page = unfolded(browser, file, View::DESKTOP);
    let figures = page.number("document.querySelectorAll('figure').length");
    assert!(figures >= 5.0, "{figures} figures");
    let bare = page.text(&format!(
        "{FIGURES}.filter(f => {{ const svg = [...f.querySelectorAll('svg')].filter(s => s.getClientRects().length > 0); \
         const drawn = m => {{ const b = m.getBoundingClientRect(); return b.width > 0 || b.height > 0; }}; \
         return svg.length !== 1 || svg[0].querySelectorAll('.mark').length === 0 || \
         ![...svg[0].querySelectorAll('.mark')].every(drawn); }}).map(f => f.id).join(' ')"
    ));
    assert_eq!(bare, "", "figures without marks, or with marks of no size");
    let twice = page.text(
        "(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); \
         return ids.filter((id, at) => ids.indexOf(id) !== at).join(' '); })()",
    );
    assert_eq!(twice, "", "identifiers of more than one element");
    let lost = page.text(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.getAttribute('href').slice(1))\
         .filter(id => !document.getElementById(id)).join(' ')",
    );
    assert_eq!(lost, "", "links without a target");
    let skipped = page.text(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])\
         .filter((level, at, all) => at > 0 && level > all[at - 1] + 1).join(' ')",
    );
    assert_eq!(skipped, "", "headings that skip a level");
    let unnamed = page.number(
        "[...document.querySelectorAll('button, select, input, summary, [tabindex]')].filter(e => \
         !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length",
    );
    assert_eq!(unnamed, 0.0, "controls without a name");
    assert!(page.number("document.documentElement.scrollWidth") <= 1280.0, "the page scrolls sideways");
    page.assert_no_messages();
}

#[track_caller]
fn filters_hide_rows_and_dim_marks(browser: &mut Browser, file: &Path) {
    let mut page = unfolded(browser, file, View::DESKTOP);
    let is_shown = "e => e.getClientRects().length > 0";
    let shown = |selector: &str| format!("[...document.querySelectorAll({selector:?})].filter({is_shown}).length");
    let opacity = "getComputedStyle([...document.querySelectorAll('.mark[data-variant=\"lz4\"]')]\
                   .filter(e => e.getClientRects().length > 0)[0]).opacity";
    assert_eq!(page.text(opacity), "1");
    let rows = page.number(&shown("tr[data-variant=\"lz4\"]"));
    assert!(rows > 3.0, "{rows}");
    let others = page.number(&shown("tr[data-variant=\"zstd:5\"]"));
    page.point_at("document.querySelector('#filter summary')", true);
    page.point_at(
        "[...document.querySelectorAll('#filter-variants label')].find(l => l.textContent.trim() === 'lz4')",
        true,
    );
    assert_eq!(page.number(&shown("tr[data-variant=\"lz4\"]")), 0.0, "rows are hidden");
    assert_eq!(page.number(&shown("tr[data-variant=\"zstd:5\"]")), others, "rows of other variants are not");
    // They fade as fast as the machine draws.
    page.value("document.getAnimations().forEach(animation => animation.finish())");
    assert!(page.text(opacity).parse::<f64>().is_ok_and(|opacity| opacity < 0.2), "marks are dimmed");
    let state = page.text("document.querySelector('#filter-state').textContent");
    assert!(state.contains(" variants"), "{state}");

    let figures = page.number(&shown("figure"));
    let choose = |select: &str, number: usize| {
        format!(
            "(() => {{ const s = document.querySelector('#filter-{select}'); s.selectedIndex = {number}; \
             s.dispatchEvent(new Event('change')); return s.value; }})()"
        )
    };
    for select in ["workload", "repository"] {
        let name = page.text(&choose(select, 1));
        let (some, wrong) = (
            page.number(&shown("figure")),
            page.number(&format!(
                "{FIGURES}.filter({is_shown}).filter(f => f.dataset.{select} && f.dataset.{select} !== {name:?}).length"
            )),
        );
        assert!(some > 0.0 && some < figures && wrong == 0.0, "{select} {name}: {some} of {figures}, {wrong} wrong");
        page.value(&choose(select, 0));
    }
    page.point_at("document.querySelector('#filter-reset')", true);
    assert_eq!(page.number(&shown("tr[data-variant=\"lz4\"]")), rows, "everything is shown again");
    page.assert_no_messages();
}

#[track_caller]
fn marks_show_their_figures(browser: &mut Browser, file: &Path) {
    let mut page = unfolded(browser, file, View::DESKTOP);
    let tip = "(document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').innerText)";
    let drawings = page.number("document.querySelectorAll('.drawing').length") as usize;
    for number in 0..drawings {
        let mark = format!(
            "[...document.querySelectorAll('.drawing')[{number}].querySelectorAll('.mark[data-tip]')]\
             .find(m => m.getClientRects().length > 0)"
        );
        page.value(&format!("{mark}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"));
        // The middle of a mark may be empty or under another mark, so the event is made here.
        page.value(&format!(
            "{mark}.dispatchEvent(new PointerEvent('pointerover', {{ bubbles: true, screenX: {number} + 1 }}))"
        ));
        let expected = page.text(&format!("{mark}.dataset.tip.split('\\n')[0]"));
        let text = page.text(tip);
        assert!(!expected.is_empty() && text.starts_with(&expected), "{expected}: {text}");
        let is_inside = page.value(
            "(b => b.left >= 0 && b.top >= 0 && b.right <= innerWidth && b.bottom <= innerHeight)\
             (document.querySelector('#tip').getBoundingClientRect())",
        );
        assert!(is_inside == true, "the tip of {expected} is cut off");
    }
    // With a real mouse, on the first mark of the first chart.
    let first = "[...document.querySelectorAll('.drawing .mark[data-tip]')].find(m => m.getClientRects().length > 0)";
    page.point_at(first, false);
    assert_ne!(page.text(tip), "", "the mouse shows a tip");
    page.press("Escape");
    assert_eq!(page.text(tip), "");

    // By keyboard: one stop for each chart, and arrows from mark to mark.
    assert_eq!(page.number("document.querySelectorAll('.drawing [tabindex]').length"), 0.0, "one stop for each chart");
    page.value("document.querySelector('.drawing').scrollIntoView({ block: 'center', behavior: 'instant' })");
    page.value(
        "(() => { const all = [...document.querySelectorAll('a, button, summary, [tabindex]')]; \
         const at = all.indexOf(document.querySelector('.drawing')); all[at - 1].focus({ preventScroll: true }); })()",
    );
    page.press("Tab");
    assert_eq!(page.value("document.activeElement === document.querySelector('.drawing')"), true);
    let at_first = page.text(tip);
    page.press("ArrowRight");
    let at_second = page.text(tip);
    let spoken = page.text("document.querySelector('#spoken').textContent");
    assert!(
        !at_first.is_empty() && !at_second.is_empty() && at_first != at_second,
        "{at_first:?}, {at_second:?}, {spoken}"
    );
    assert!(spoken.contains("(2 of ") && spoken.starts_with(at_second.lines().next().unwrap_or("-")), "{spoken}");
    page.press("ArrowLeft");
    assert_eq!(page.text(tip), at_first);
    page.press("Escape");
    assert_eq!(page.text(tip), "");
    page.assert_no_messages();
}

#[track_caller]
fn charts_and_tables_can_be_saved(browser: &mut Browser, file: &Path, scratch: &Scratch) {
    let folder = scratch.join("downloads");
    fs::create_dir(&folder).expect("a folder");
    browser.download_to(&folder);
    let mut page = unfolded(browser, file, View::DESKTOP);
    let id = page.text("document.querySelector('figure').id");
    let button = |form: &str| format!("document.querySelector('figure [data-save={form}]')");

    let (name, path) = page.download(&button("svg"), &folder);
    assert_eq!(name, format!("{id}.svg"));
    let svg = fs::read_to_string(&path).expect("the picture");
    assert!(svg.contains("<style>") && svg.contains("class=\"mark ") && svg.contains("xmlns"), "{svg}");

    let (name, path) = page.download(&button("png"), &folder);
    assert_eq!(name, format!("{id}.png"));
    let png = fs::read(path).expect("the picture");
    assert_eq!(png.get(..8), Some(&b"\x89PNG\r\n\x1a\n"[..]));
    let width = page.number(
        "[...document.querySelector('figure').querySelectorAll('svg')].find(s => s.getClientRects().length > 0).viewBox.baseVal.width",
    );
    let in_header = png.get(16..20).expect("its width").iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    assert_eq!(in_header as f64, 2.0 * width, "twice as fine as the page");
    assert!(png.len() > 5_000, "a picture of {} bytes is empty", png.len());

    let (name, path) = page.download(&button("csv"), &folder);
    assert_eq!(name, format!("{id}.csv"));
    let csv = fs::read_to_string(path).expect("the table");
    let rows = page.number("document.querySelector('figure table').rows.length");
    assert_eq!(csv.lines().count() as f64, rows, "{csv}");
    assert!(csv.contains("zstd:5,") || csv.contains(",zstd:5"), "{csv}");
    page.assert_no_messages();
    // The saved picture is complete on its own.
    let picture = scratch.join("saved.svg");
    fs::write(&picture, svg).expect("the picture");
    let mut page = browser.open(&picture, View::DESKTOP);
    assert!(page.number("document.querySelectorAll('.mark').length") > 0.0);
    page.assert_no_messages();
}

#[track_caller]
fn phones_and_paper_have_their_own_layout(browser: &mut Browser, file: &Path) {
    let visible = |width: &str| {
        format!("[...document.querySelectorAll('.{width} svg')].filter(s => s.getClientRects().length > 0).length")
    };
    let mut page = unfolded(browser, file, View::PHONE);
    let figures = page.number("document.querySelectorAll('figure').length");
    assert_eq!((page.number(&visible("wide")), page.number(&visible("narrow"))), (0.0, figures));
    assert_eq!(page.number("document.documentElement.scrollWidth"), 390.0, "the page scrolls sideways");
    let small = page.number(
        "Math.min(...[...document.querySelectorAll('.narrow svg text')].map(t => parseFloat(getComputedStyle(t).fontSize) * \
         t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width))",
    );
    assert!(small >= 10.5, "letters of {small} pixels");
    page.media("print", "dark");
    assert_eq!((page.number(&visible("wide")), page.number(&visible("narrow"))), (figures, 0.0), "paper is wide");
    assert_eq!(page.text("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    assert_eq!(
        page.number("[...document.querySelectorAll('button')].filter(b => b.getClientRects().length).length"),
        0.0
    );
    page.assert_no_messages();
}

/// The lowest contrast between any text and its background (WCAG 2.2, 1.4.3).
const LEAST_CONTRAST: &str = r"(() => {
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  let least = [99, ''];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    // Text on a bar has the bar behind it.
    const isBar = element.closest('svg') && element.classList.contains('on');
    if (walker.currentNode.data.trim() === '' || element.getClientRects().length === 0 || isBar) continue;
    const style = getComputedStyle(element);
    const [a, b] = [channels(element.closest('svg') ? style.fill : style.color), behind(element)].map(luminance);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < least[0]) least = [contrast, `${walker.currentNode.data} (${element.className.baseVal ?? element.className})`];
  }
  return least;
})()";

#[track_caller]
fn text_has_enough_contrast(browser: &mut Browser, file: &Path) {
    for is_dark in [false, true] {
        let mut page = browser.open(file, View { is_dark, ..View::DESKTOP });
        page.value("document.querySelectorAll('details').forEach(d => { d.open = true; })");
        let luminance =
            page.number("Math.max(...getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number))");
        assert_eq!(luminance < 64.0, is_dark, "the page's ground is at {luminance}");
        let least = page.value(LEAST_CONTRAST);
        assert!(least[0].as_f64().is_some_and(|contrast| (4.5..=21.0).contains(&contrast)), "dark {is_dark}: {least}");
        page.assert_no_messages();
    }
}

#[track_caller]
fn everything_is_shown_without_scripts(browser: &mut Browser, file: &Path) {
    let mut page = unfolded(browser, file, View { has_script: false, ..View::DESKTOP });
    let figures = page.number("document.querySelectorAll('figure').length");
    let (charts, empty) = boxes(&mut page, ".wide svg");
    assert_eq!((charts, empty), (figures, 0.0));
    let (tables, empty) = boxes(&mut page, "section:not(:has(figure)) table");
    assert!(tables > 3.0 && empty == 0.0, "{empty} of {tables} tables are not shown");
    let titles = page.number("document.querySelectorAll('.wide .mark > title').length");
    assert_eq!(
        titles,
        page.number("document.querySelectorAll('.wide .mark').length"),
        "the tips of the browser itself"
    );
    let (controls, hidden) = boxes(&mut page, "#filter, #filter *, .buttons, .buttons *");
    assert_eq!(controls, hidden, "controls without effect are hidden");
}
