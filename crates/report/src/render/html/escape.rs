//! The escaping of all text in the page.

use std::fmt;

use crate::chart::svg::escape;

/// Escapes everything that a template shows. Names, paths and specs come from files: they must not be markup, contain
/// terminal control, or change the reading direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageText;

impl askama::filters::Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, mut page: W, text: &str) -> fmt::Result {
        page.write_str(&escape(text))
    }
}

/// `text`, escaped, with what stands between backticks as code. A backtick without a second one is text.
pub(crate) fn with_code(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code, after)) =
        rest.split_once('`').and_then(|(before, from)| from.split_once('`').map(|(code, after)| (before, code, after)))
    {
        page.push_str(&escape(before));
        page.push_str("<code>");
        page.push_str(&escape(code));
        page.push_str("</code>");
        rest = after;
    }
    page.push_str(&escape(rest));
    page
}

#[cfg(test)]
mod tests {
    use askama::filters::Escaper;

    use super::*;

    #[test]
    fn markup_quotes_and_controls_are_escaped() {
        let mut page = String::new();
        PageText.write_escaped_str(&mut page, "<a href=\"x\" title='y'>&\n\u{1b}[2J\u{202e}é").unwrap();
        assert_eq!(page, "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;\\n\\u{1b}[2J\\u{202e}é");
        page.clear();
        PageText.write_escaped_char(&mut page, '<').unwrap();
        assert_eq!(page, "&lt;");
    }

    #[test]
    fn code_between_backticks_is_escaped_too() {
        assert_eq!(
            with_code("run `a <b>` and `c`, not `d & e"),
            "run <code>a &lt;b&gt;</code> and <code>c</code>, not `d &amp; e"
        );
        assert_eq!(with_code(""), "");
    }
}
