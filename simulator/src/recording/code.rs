//! What a program executes.

use super::Reference;

/// The ways in which blocks of a program execute: *shapes*, each with its references, but for the addresses of its data.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    shapes: Vec<Shape>,
    /// Those of all shapes. Data have their number among the data of their shape in place of the address.
    references: Vec<Reference>,
}

/// One way in which a block executes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// The first of its references.
    first: usize,
    /// How many references it has, and how many of them are data.
    pub(super) count: usize,
    pub(super) data: usize,
}

impl Code {
    /// Adds a shape with these references, the addresses of whose data do not matter.
    pub(super) fn add(&mut self, references: &[Reference]) {
        let mut addresses = Vec::new();
        self.references.extend_from_slice(references);
        self.complete(&mut addresses);
    }

    /// Replaces all shapes by one that has the references that `fill` puts into an empty list. Appends the addresses of its
    /// data to `addresses`.
    pub(super) fn replace<T>(
        &mut self,
        addresses: &mut Vec<u64>,
        fill: impl FnOnce(&mut Vec<Reference>) -> T,
    ) -> T {
        self.shapes.clear();
        self.references.clear();
        let filled = fill(&mut self.references);
        self.complete(addresses);
        filled
    }

    /// Makes a shape of the references behind those of the latest.
    fn complete(&mut self, addresses: &mut Vec<u64>) {
        let first = self.shapes.last().map_or(0, |last| last.first + last.count);
        let mut data = 0;
        for reference in &mut self.references[first..] {
            if !reference.kind.is_fetch() {
                addresses.push(reference.address);
                reference.address = data;
                data += 1;
            }
        }
        self.shapes.push(Shape {
            first,
            count: self.references.len() - first,
            data: data as usize,
        });
    }

    /// Returns the shape with this number.
    #[inline(always)]
    pub(super) fn shape(&self, number: u32) -> &Shape {
        &self.shapes[number as usize]
    }

    /// Returns the references of a shape.
    #[inline(always)]
    pub(super) fn references(&self, shape: &Shape) -> &[Reference] {
        &self.references[shape.first..][..shape.count]
    }
}
