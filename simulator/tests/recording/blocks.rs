//! Tests where a block of references ends.

use simulator::recording::{BLOCK, BLOCK_SLACK, Kind};

use crate::{blocks, open, reference};

#[test]
fn an_instruction_and_its_data_share_a_block() {
    // The last fetch of the first block has three loads and a store.
    let mut text = "I  04001090,3\n".repeat(BLOCK);
    text += &" L 1ffeffe7c8,8\n".repeat(3);
    text += "\n==7== between\n S 1ffeffe7c8,8\n";
    text += &"I  04001093,2\n".repeat(BLOCK + 1);
    let blocks = blocks(open(text).unwrap()).unwrap();
    assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [BLOCK + 4, BLOCK, 1]);
    assert_eq!(blocks[0][BLOCK - 2].kind, Kind::FetchOther);
    assert_eq!(blocks[0][BLOCK - 1].kind, Kind::FetchModify);
    assert_eq!(blocks[0][BLOCK + 3].kind, Kind::Store);
    assert_eq!(blocks[1][0], reference(Kind::FetchOther, 0x0400_1093, 2));
}

/// The store of an `M` line can be the first reference after a full block.
#[test]
fn a_line_that_loads_and_stores_is_in_one_block() {
    for pad in 0..40 {
        let text = " L 1ffeffe7c8,8\n".repeat(BLOCK - 40 + pad)
            + &"I  04001090,3\n M 1ffeffe7c8,8\n".repeat(60);
        let blocks = blocks(open(text).unwrap()).unwrap();
        let expected = [Kind::FetchModify, Kind::Load, Kind::Store];
        let all: Vec<Kind> =
            blocks.concat()[BLOCK - 40 + pad..].iter().map(|one| one.kind).collect();
        assert_eq!(all, expected.repeat(60), "{pad}");
        // No block begins in the middle of an instruction.
        assert!(matches!(blocks[1][0].kind, Kind::FetchModify), "{pad}");
    }
}

#[test]
fn data_without_end_does_not_make_a_block_without_end() {
    let data = " L 1ffeffe7c8,8\n".repeat(3 * BLOCK);
    let long = BLOCK + BLOCK_SLACK;
    for (before, expected) in [
        ("", &[BLOCK; 3][..]),
        ("I  04001090,3\n", &[long, BLOCK, 3 * BLOCK + 1 - long - BLOCK]),
        // The block's last line loads and stores. Its store comes after the block is full.
        ("I  04001090,3\n M 1ffeffe7c8,8\n", &[BLOCK, BLOCK, BLOCK, 3]),
        // The fetch already belongs to an instruction that loads and stores, so its kind cannot
        // change any more, and the block need not grow.
        ("I  04001090,3\n S 1ffeffe7c8,8\n", &[BLOCK, BLOCK, BLOCK, 2]),
    ] {
        let blocks = blocks(open(format!("{before}{data}")).unwrap()).unwrap();
        assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), expected, "{before:?}");
    }
}
