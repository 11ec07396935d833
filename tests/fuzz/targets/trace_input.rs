#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    inputs::trace_input::check(bytes);
});
