#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    inputs::recording_input::check(bytes);
});
