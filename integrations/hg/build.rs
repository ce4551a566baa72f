//! Tells the linker that the interpreter provides Python's symbols, which is needed only on macOS.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
