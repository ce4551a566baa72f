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
}
