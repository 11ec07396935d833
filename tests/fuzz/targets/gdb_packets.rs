#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    inputs::gdb_packets::check(bytes);
});
