#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    inputs::md_round_trip::check(bytes);
});
