//! Paths as git prints them.

/// Adds `prefix` and `path` to `text`: unchanged, or in double quotes with C's escapes if some byte needs one
/// (quote_c_style() in git's quote.c, under the default `core.quotePath`).
pub fn put_quoted(text: &mut Vec<u8>, prefix: &[u8], path: &[u8]) {
    let needs_escape = |byte: u8| !(b' '..0x7f).contains(&byte) || byte == b'"' || byte == b'\\';
    if !path.iter().copied().any(needs_escape) {
        text.extend_from_slice(prefix);
        text.extend_from_slice(path);
        return;
    }
    text.push(b'"');
    text.extend_from_slice(prefix);
    for byte in path.iter().copied() {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' | b'\\' => byte,
            _ if needs_escape(byte) => {
                text.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
            _ => {
                text.push(byte);
                continue;
            }
        };
        text.extend_from_slice(&[b'\\', letter]);
    }
    text.push(b'"');
}
