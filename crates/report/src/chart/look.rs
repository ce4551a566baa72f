//! One colour and one shape for each family of codecs, the same in all charts.

use repackbench_records::{SpecParts, Variant};

use super::svg::{Drawing, px};

/// A family of codecs, in the order of colour classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Look {
    /// Stock zlib.
    Zlib,
    /// zstd.
    Zstd,
    /// Other implementations of DEFLATE.
    Deflate,
    /// LZ4.
    Lz4,
    /// Snappy.
    Snappy,
    /// LZO.
    Lzo,
    /// Brotli.
    Brotli,
    /// LZMA and xz.
    Lzma,
    /// bzip2.
    Bzip2,
    /// No compression.
    Store,
    /// Several codecs: a named spec, or a codec for each kind of object. Also unknown codecs.
    Mixed,
    /// The repository as it was found.
    AsFound,
}

impl Look {
    /// The family of a variant.
    pub(super) fn of(variant: &Variant) -> Self {
        variant.spec.as_ref().map_or(Look::AsFound, |spec| Look::of_spec(&spec.canonical))
    }

    /// The family of a spec.
    pub(super) fn of_spec(spec: &str) -> Self {
        let spec = SpecParts::of(spec);
        match spec.codec {
            _ if spec.has_kinds() => Look::Mixed,
            "zlib" => Look::Zlib,
            "zstd" => Look::Zstd,
            "deflate" | "zlib-ng" | "zlib-rs" | "miniz" | "sirocco" | "libdeflate" | "zopfli" => Look::Deflate,
            "lz4" | "lz4hc" | "lz4_flex" => Look::Lz4,
            "snappy" => Look::Snappy,
            "lzo" => Look::Lzo,
            "brotli" => Look::Brotli,
            "lzma" | "xz" => Look::Lzma,
            "bzip2" => Look::Bzip2,
            "store" => Look::Store,
            _ => Look::Mixed,
        }
    }

    /// The class of its colour.
    pub(super) fn class(self) -> &'static str {
        match self {
            Look::Zlib => "c0",
            Look::Zstd => "c1",
            Look::Deflate => "c2",
            Look::Lz4 => "c3",
            Look::Snappy => "c4",
            Look::Lzo => "c5",
            Look::Brotli => "c6",
            Look::Lzma => "c7",
            Look::Bzip2 => "c8",
            Look::Store => "c9",
            Look::Mixed => "c10",
            Look::AsFound => "c11",
        }
    }

    /// Its name in a legend.
    pub(super) fn name(self) -> &'static str {
        match self {
            Look::Zlib => "zlib",
            Look::Zstd => "zstd",
            Look::Deflate => "other DEFLATE",
            Look::Lz4 => "LZ4",
            Look::Snappy => "Snappy",
            Look::Lzo => "LZO",
            Look::Brotli => "Brotli",
            Look::Lzma => "LZMA, xz",
            Look::Bzip2 => "bzip2",
            Look::Store => "store",
            Look::Mixed => "several",
            Look::AsFound => "as found",
        }
    }

    /// Draws its shape of about `radius` around a point, in the colour of the enclosing group.
    pub(super) fn draw(self, drawing: &mut Drawing, [x, y]: [f64; 2], radius: f64) {
        let class = if self == Look::AsFound { "line ring" } else { "fill" };
        drawing.path(&self.outline([x, y], radius), class);
    }

    fn outline(self, at: [f64; 2], radius: f64) -> String {
        // Polygons look smaller than their circumscribed circle.
        let polygon = |corners: u32, turn: f64, size: f64| star(at, corners, turn, [radius * size, radius * size]);
        match self {
            Look::Zlib | Look::AsFound => circle(at, radius),
            Look::Zstd => polygon(4, 0.125, 1.25),
            Look::Deflate => polygon(3, 0.0, 1.35),
            Look::Lz4 => polygon(4, 0.0, 1.3),
            Look::Snappy => polygon(3, 0.5, 1.35),
            Look::Lzo => polygon(5, 0.0, 1.2),
            Look::Brotli => polygon(6, 0.0, 1.15),
            Look::Lzma => cross(at, radius * 1.2, false),
            Look::Bzip2 => star(at, 4, 0.0, [radius * 1.5, radius * 0.55]),
            Look::Store => cross(at, radius * 1.2, true),
            Look::Mixed => star(at, 5, 0.0, [radius * 1.5, radius * 0.65]),
        }
    }
}

fn circle([x, y]: [f64; 2], radius: f64) -> String {
    let (left, y, r, across) = (px(x - radius), px(y), px(radius), px(2.0 * radius));
    format!("M{left} {y}a{r} {r} 0 1 0 {across} 0a{r} {r} 0 1 0 -{across} 0z")
}

/// A star, or a polygon where both radii are equal. `turn` is in turns.
fn star([x, y]: [f64; 2], points: u32, turn: f64, [outer, inner]: [f64; 2]) -> String {
    let is_star = outer != inner;
    let corners = if is_star { 2 * points } else { points };
    let mut d = String::new();
    for corner in 0..corners {
        let radius = if is_star && corner % 2 == 1 { inner } else { outer };
        let angle = std::f64::consts::TAU * (f64::from(corner) / f64::from(corners) + turn);
        let command = if corner == 0 { 'M' } else { 'L' };
        d.push_str(&format!("{command}{} {}", px(x + radius * angle.sin()), px(y - radius * angle.cos())));
    }
    d + "z"
}

/// An upright or diagonal cross.
fn cross([x, y]: [f64; 2], radius: f64, leans: bool) -> String {
    let (long, short) = (radius, radius * 0.36);
    let corners = [
        [-short, -long],
        [short, -long],
        [short, -short],
        [long, -short],
        [long, short],
        [short, short],
        [short, long],
        [-short, long],
        [-short, short],
        [-long, short],
        [-long, -short],
        [-short, -short],
    ];
    let mut d = String::new();
    for (number, [along, down]) in corners.into_iter().enumerate() {
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let (along, down) = if leans { (half * (along - down), half * (along + down)) } else { (along, down) };
        d.push_str(&format!("{}{} {}", if number == 0 { 'M' } else { 'L' }, px(x + along), px(y + down)));
    }
    d + "z"
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const ALL: [Look; 12] = [
        Look::Zlib,
        Look::Zstd,
        Look::Deflate,
        Look::Lz4,
        Look::Snappy,
        Look::Lzo,
        Look::Brotli,
        Look::Lzma,
        Look::Bzip2,
        Look::Store,
        Look::Mixed,
        Look::AsFound,
    ];

    #[test]
    fn specs_have_families() {
        for (spec, look) in [
            ("zlib:6", Look::Zlib),
            ("zstd:9,dict=112k,prefix,patch", Look::Zstd),
            ("zlib-rs:6", Look::Deflate),
            ("lz4_flex", Look::Lz4),
            ("blob=zstd:3,tree=lz4", Look::Mixed),
            ("best-read", Look::Mixed),
            ("", Look::Mixed),
        ] {
            assert_eq!(Look::of_spec(spec), look, "{spec}");
        }
    }

    #[test]
    fn families_are_distinguishable() {
        let looks = |of: fn(Look) -> String| ALL.into_iter().map(of).collect::<BTreeSet<_>>().len();
        assert_eq!(looks(|look| look.class().to_owned()), 12);
        assert_eq!(looks(|look| look.name().to_owned()), 12);
        // One of the two circles is hollow.
        assert_eq!(looks(|look| look.outline([0.0; 2], 5.0)), 11);
    }
}
