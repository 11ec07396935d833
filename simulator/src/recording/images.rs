//! Tells different programs' code apart.

use refs::Mapping;

/// The lowest of the address bits that hold the image's number. In the addresses that programs use, bits 62:48 are equal to bit 63,
/// so they can hold the number.
const SHIFT: u32 = 48;

/// The maximum number of images.
const MAX_IMAGES: usize = 1 << (63 - SHIFT);

/// A program's code: files that are mapped at certain addresses. The processes that a program forks have the same image as the
/// program. If the program is started again, its image is the same, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodeImage(u16);

impl CodeImage {
    /// Returns the image of each program, given the programs' mappings. The first program has image 0.
    #[must_use]
    pub fn of_all<'a>(programs: impl IntoIterator<Item = &'a [Mapping]>) -> Vec<Self> {
        let mut known: Vec<Vec<&Mapping>> = Vec::new();
        let mut images = Vec::new();
        for mappings in programs {
            let found = known.iter().position(|image| is_same(image, mappings));
            let number = found.unwrap_or(known.len());
            if found.is_none() {
                known.push(Vec::new());
            }
            for mapping in mappings {
                if !known[number].contains(&mapping) {
                    known[number].push(mapping);
                }
            }
            images.push(Self((number % MAX_IMAGES) as u16));
        }
        images
    }

    /// Returns the address of an instruction in this image. Different images have different addresses. In the first image,
    /// addresses do not change.
    #[inline(always)]
    #[must_use]
    pub const fn address(self, address: u64) -> u64 {
        address ^ (self.0 as u64) << SHIFT
    }

    /// Returns the image that an [address](Self::address) belongs to.
    #[must_use]
    pub const fn of(address: u64) -> Self {
        Self(((address ^ without_image(address)) >> SHIFT) as u16)
    }
}

/// Returns the address that an instruction has in its program, given its [address](CodeImage::address) in any image.
#[must_use]
pub const fn without_image(address: u64) -> u64 {
    let high = u64::MAX >> 1 >> SHIFT << SHIFT;
    match address >> 63 {
        0 => address & !high,
        _ => address | high,
    }
}

/// Returns `true` if these mappings can also belong to an image. The first file must be the same, and wherever the mappings and the
/// image overlap, they must map the same part of the same file.
fn is_same(image: &[&Mapping], mappings: &[Mapping]) -> bool {
    let (Some(first), Some(own)) = (image.first(), mappings.first()) else {
        return false;
    };
    let agrees = |one: &Mapping, other: &Mapping| {
        let apart = one.end <= other.start || other.end <= one.start;
        let same = (&one.path, &one.build_id) == (&other.path, &other.build_id)
            && one.start.wrapping_sub(one.offset) == other.start.wrapping_sub(other.offset);
        apart || same
    };
    (&first.path, &first.build_id) == (&own.path, &own.build_id)
        && mappings.iter().all(|one| image.iter().all(|other| agrees(one, other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_images() {
        for address in [0, 0x40_0000_1234, 0x7fff_ffff_ffff, 0xffff_8000_0000_0000, u64::MAX] {
            assert_eq!(CodeImage(0).address(address), address);
            for image in [0, 1, 2, 0x7fff] {
                assert_eq!(CodeImage::of(CodeImage(image).address(address)), CodeImage(image));
                assert_eq!(without_image(CodeImage(image).address(address)), address, "{image}");
            }
        }
        assert_eq!(CodeImage(2).address(0x1000), 0x2_0000_0000_1000);
    }

    #[test]
    fn programs_with_the_same_files_have_one_image() {
        let mapping = |path: &str, start: u64, offset| Mapping {
            start,
            end: start + 0x1000,
            offset,
            path: path.to_owned(),
            build_id: vec![1],
        };
        let own = [mapping("/bin/a", 0x1000, 0), mapping("/lib/c", 0x9000, 0)];
        let image: Vec<_> = own.iter().collect();
        assert!(is_same(&image, &own));
        assert!(is_same(&image, &own[..1]));
        assert!(is_same(&image, &[own[0].clone(), mapping("/lib/m", 0x7000, 0)]));
        assert!(is_same(&image, &[own[0].clone(), mapping("/lib/c", 0x9800, 0x800)]));
        assert!(!is_same(&image, &[own[0].clone(), mapping("/lib/m", 0x9000, 0)]));
        assert!(!is_same(&image, &[mapping("/bin/b", 0x1000, 0)]));
        assert!(!is_same(&image, &[]) && !is_same(&[], &own));
    }
}
