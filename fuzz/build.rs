//! Lets the libraries that the target `preload` loads report what they cover, and have their memory checked.

fn main() {
    for symbols in ["__sanitizer_*", "__asan_*", "__sancov_*"] {
        println!("cargo:rustc-link-arg-bin=preload=-Wl,--export-dynamic-symbol={symbols}");
    }
}
