//! A small SVG writer: elements with classes, short numbers, and escaped text.

use std::fmt::Write as _;

use super::{CHART_STYLE, Figure};
use crate::document::plain_text;

/// `text` as XML, for content and quoted attributes: control characters and characters that change the reading
/// direction become visible escapes, and markup becomes references.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in plain_text(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Not a character of XML, or one that changes the reading direction.
            '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                escaped.extend(character.escape_unicode());
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A length in pixels with at most one decimal; 0 if it is not finite.
pub(super) fn px(length: f64) -> String {
    let rounded = if length.is_finite() { (length * 10.0).round() / 10.0 } else { 0.0 };
    // No negative zero.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}

/// The alignment of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// It starts there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// The width of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// A screen or a sheet of paper.
    Wide,
    /// A phone.
    Narrow,
}

impl Width {
    /// Both.
    pub(super) const ALL: [Width; 2] = [Width::Wide, Width::Narrow];

    /// The width in pixels.
    pub(super) fn px(self) -> f64 {
        match self {
            Width::Wide => 860.0,
            Width::Narrow => 360.0,
        }
    }

    /// For identifiers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Width::Wide => "wide",
            Width::Narrow => "narrow",
        }
    }
}

/// A growing drawing.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    body: String,
}

impl Drawing {
    /// A filled rectangle.
    pub(super) fn rect(&mut self, [x, y, width, height]: [f64; 4], class: &str) {
        let (x, y, width, height) = (px(x), px(y), px(width.max(0.0)), px(height.max(0.0)));
        let _ = write!(self.body, r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}"/>"#);
    }

    /// A straight line.
    pub(super) fn line(&mut self, [x1, y1, x2, y2]: [f64; 4], class: &str) {
        let (x1, y1, x2, y2) = (px(x1), px(y1), px(x2), px(y2));
        let _ = write!(self.body, r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#);
    }

    /// A path.
    pub(super) fn path(&mut self, d: &str, class: &str) {
        let _ = write!(self.body, r#"<path class="{class}" d="{d}"/>"#);
    }

    /// A path of horizontal lines in the coordinates of a grid of cells, scaled to a rectangle: each line fills its row
    /// of cells.
    pub(super) fn cells(&mut self, d: &str, class: &str, [x, y]: [f64; 2], [width, height]: [f64; 2]) {
        let (x, y) = (px(x), px(y + height / 2.0));
        let _ = write!(
            self.body,
            r#"<path class="cells {class}" transform="translate({x} {y}) scale({width:.4} {height:.4})" d="{d}"/>"#
        );
    }

    /// One line of text; `y` is its base line.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, class: &str, text: &str) {
        let (x, y) = (px(x), px(y));
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let _ = write!(self.body, r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{}</text>"#, escape(text));
    }

    /// One line of upward text, centred.
    pub(super) fn text_upwards(&mut self, [x, y]: [f64; 2], class: &str, text: &str) {
        let (x, y, text) = (px(x), px(y), escape(text));
        let _ = write!(
            self.body,
            r#"<text class="{class}" transform="translate({x} {y}) rotate(-90)" text-anchor="middle">{text}</text>"#
        );
    }

    /// A group of one colour without data.
    pub(super) fn group(&mut self, class: &str, draw: impl FnOnce(&mut Drawing)) {
        let _ = write!(self.body, r#"<g class="{class}">"#);
        draw(self);
        self.body.push_str("</g>");
    }

    /// A group that is one datum, with the label of its variant and the lines of its tip.
    pub(super) fn mark(&mut self, variant: &str, tip: &[String], class: &str, draw: impl FnOnce(&mut Drawing)) {
        let lines: Vec<String> = tip.iter().map(|line| escape(line)).collect();
        let (variant, space) = (escape(variant), if class.is_empty() { "" } else { " " });
        let _ = write!(
            self.body,
            r#"<g class="mark{space}{class}" data-variant="{variant}" data-tip="{}"><title>{}</title>"#,
            lines.join("&#10;"),
            lines.join("\n")
        );
        draw(self);
        self.body.push_str("</g>\n");
    }

    /// The picture, `height` pixels high.
    pub(super) fn finish(self, height: f64) -> Picture {
        Picture { height, body: self.body }
    }
}

/// A drawing without the `<svg>` element around it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Picture {
    /// In pixels.
    height: f64,
    body: String,
}

impl Picture {
    /// The picture as an `<svg>` element. `id` distinguishes its title and description from those of other pictures in
    /// a page.
    pub(super) fn svg(&self, id: &str, width: Width, title: &str, description: &str) -> String {
        let Picture { height, body } = self;
        let (id, name, title, description) = (escape(id), width.name(), escape(title), escape(description));
        let (width, height) = (px(width.px()), px(*height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart {name}\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" aria-labelledby=\"{id}-{name}-title {id}-{name}-desc\">\
             <title id=\"{id}-{name}-title\">{title}</title><desc id=\"{id}-{name}-desc\">{description}</desc>\n{body}</svg>\n"
        )
    }
}

/// A picture as a file: with its style, a background and its title.
pub(super) fn document(figure: &Figure, width: Width) -> String {
    let (height, picture) = (figure.picture(width).height, figure.svg(width));
    let (title, style, width) = (escape(&fit(&figure.title, 15.0, width.px() - 24.0)), CHART_STYLE, px(width.px()));
    let whole = px(height + TITLE_HEIGHT);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {width} {whole}\" width=\"{width}\" height=\"{whole}\">\n\
         <style>\n{style}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{whole}\"/>\n\
         <text class=\"strong\" x=\"12\" y=\"24\" style=\"font-size:15px\">{title}</text>\n\
         <g transform=\"translate(0 {})\">\n{picture}</g></svg>\n",
        px(TITLE_HEIGHT)
    )
}

/// The height of the title in a file.
const TITLE_HEIGHT: f64 = 36.0;

/// The approximate width of `text` at `size` pixels, estimated high because fonts differ.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let of_character = |character: char| match character {
        'i' | 'j' | 'l' | '\'' | '|' | '.' | ',' | ':' | ';' | ' ' | '!' | 'I' => 0.32,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' | '"' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' | '←' | '<' | '>' | '=' | '+' | '±' | '–' => 0.9,
        'A'..='Z' => 0.7,
        '\0'..='\u{2ff}' => 0.62,
        _ => 1.0,
    };
    text.chars().map(of_character).sum::<f64>() * size
}

/// `text` with visible control characters, cut to about `width`.
pub(super) fn fit(text: &str, size: f64, width: f64) -> String {
    let mut fitting = plain_text(text);
    if text_width(&fitting, size) <= width {
        return fitting;
    }
    while fitting.pop().is_some() {
        if text_width(&fitting, size) + text_width("…", size) <= width {
            break;
        }
    }
    fitting.push('…');
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<b a=\"1\" c='2'>&\n\u{1b}"), "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\\n\\u{1b}");
        assert_eq!(escape("a\u{202e}b\u{fffe}"), "a\\u{202e}b\\u{fffe}");
    }

    #[test]
    fn lengths_have_one_decimal() {
        let texts = [1.0, 1.04, -0.04, 12.34, f64::NAN, f64::INFINITY].map(px);
        assert_eq!(texts, ["1", "1", "0", "12.3", "0", "0"]);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(fit("zlib:6", 12.0, 100.0), "zlib:6");
        let cut = fit("zstd:9,dict=112k,prefix,patch", 12.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 12.0) <= 100.0 && cut.chars().count() > 8, "{cut}");
        assert_eq!(fit("anything", 12.0, 0.0), "…");
    }

    #[test]
    fn mark_has_its_tip_as_attribute_and_title() {
        let mut drawing = Drawing::default();
        drawing.mark("a<b", &["one & 1".into(), "two".into()], "c0", |drawing| drawing.line([0.0; 4], "line"));
        let svg = drawing.finish(10.0).svg("id", Width::Narrow, "title", "what");
        assert!(svg.contains(r#"class="mark c0" data-variant="a&lt;b" data-tip="one &amp; 1&#10;two""#), "{svg}");
        let document = roxmltree::Document::parse(&svg).unwrap();
        let mark = document.descendants().find(|node| node.attribute("data-tip").is_some()).unwrap();
        assert_eq!(mark.attribute("data-tip"), mark.first_element_child().unwrap().text());
    }
}
