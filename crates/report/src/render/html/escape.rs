//! The one way for text into the page.

use std::fmt;

use crate::chart::svg::escape;

/// Escapes whatever a template shows. Names, paths and specs come from files: they are text and never markup, and neither
/// do they move the cursor of whoever copies them into a terminal, nor turn the direction of the line.
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
    fn markup_quotes_and_controls_become_text() {
        let mut page = String::new();
        PageText.write_escaped_str(&mut page, "<a href=\"x\" title='y'>&\n\u{1b}[2J\u{202e}é").unwrap();
        assert_eq!(page, "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;\\n\\u{1b}[2J\\u{202e}é");
        page.clear();
        PageText.write_escaped_char(&mut page, '<').unwrap();
        assert_eq!(page, "&lt;");
    }
}
