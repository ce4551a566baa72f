//! The one way for text into the page.

use std::fmt;

/// Escapes whatever a template shows. Names, paths and specs come from files: they are text and never markup, and neither
/// do they move the cursor of whoever copies them into a terminal, nor turn the direction of the line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageText;

impl askama::filters::Escaper for PageText {
    fn write_escaped_str<W: fmt::Write>(&self, mut page: W, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| write_escaped(&mut page, character))
    }

    fn write_escaped_char<W: fmt::Write>(&self, mut page: W, character: char) -> fmt::Result {
        write_escaped(&mut page, character)
    }
}

fn write_escaped(page: &mut impl fmt::Write, character: char) -> fmt::Result {
    match character {
        '&' => page.write_str("&amp;"),
        '<' => page.write_str("&lt;"),
        '>' => page.write_str("&gt;"),
        '"' => page.write_str("&quot;"),
        '\'' => page.write_str("&#39;"),
        _ if character.is_control() || turns_direction(character) => write!(page, "{}", character.escape_default()),
        _ => page.write_char(character),
    }
}

/// Whether a character reorders what stands around it (UAX #9): a name must not.
fn turns_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use askama::filters::Escaper;

    use super::*;

    #[test]
    fn markup_quotes_and_controls_become_text() {
        let mut page = String::new();
        PageText.write_escaped_str(&mut page, "<a href=\"x\" title='y'>&\n\u{1b}[2J\u{202e}é").unwrap();
        assert_eq!(
            page,
            "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;\\n\\u{1b}[2J\\u{202e}é"
        );
        page.clear();
        PageText.write_escaped_char(&mut page, '<').unwrap();
        assert_eq!(page, "&lt;");
    }
}
