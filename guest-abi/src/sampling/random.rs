//! Pseudo-random numbers (SplitMix64), good enough to keep samples out of step with a loop.

#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(super) const fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * end as u64) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_published_sequence() {
        // The first numbers of SplitMix64 with seed 1234567.
        let mut random = Random::new(1_234_567);
        for number in [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ] {
            assert_eq!(random.next(), number);
        }
    }
}
