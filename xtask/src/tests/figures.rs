use super::*;

#[test]
fn every_sentence_is_in_the_file() {
    let text = fs::read_to_string(root().join(FILE)).unwrap();
    for (sentence, counts) in SENTENCES {
        let (_, found) = numbers(&text, sentence).expect(sentence);
        assert_eq!(found.len(), counts.len(), "{sentence}");
    }
}

#[test]
fn a_sentence_is_found_by_its_words() {
    let text = "# Title\n\nA call takes 12\ninstructions (34, at most). A call takes 5\n";
    let found = numbers(text, "A call takes {} instructions ({}, at most).");
    assert_eq!(found, Some((3, vec![12, 34])));
    assert_eq!(numbers(text, "A call takes {} seconds"), None);
    assert_eq!(numbers(text, "takes {} instructions ({}, at least)"), None);
}

#[test]
fn a_figure_that_differs_is_named() {
    let mut counted = Counted::default();
    counted.add("x86-64", [("one".to_owned(), 12), ("two".to_owned(), 35)]);
    let text = "First 12, then\n34.";
    let names: &[Name] = &[("x86-64", "one"), ("x86-64", "two")];
    assert_eq!(
        sentence_of(text, "First {}, then {}.", names, &counted),
        ["perfctr-service/README.md:1: two: 34 there, 35 counted"]
    );
    assert_eq!(
        sentence_of(text, "Last {}.", names, &counted),
        ["perfctr-service/README.md: there is no sentence: Last {}."]
    );
}

#[test]
fn cells_are_compared() {
    let mut counted = Counted::default();
    counted.add("x86-64", [("get_dram".to_owned(), 26)]);
    counted.add("SPARC V9", [("get_dram".to_owned(), 24)]);
    let text = "| call | x |\n|---|---|\n| get of a DRAM register | 26 | 36 | 61 |\n";
    let wrong = rows(text, &counted);
    assert_eq!(
        wrong[0],
        "perfctr-service/README.md:3: get of a DRAM register, SPARC V9: 36 there, 24 counted"
    );
    assert_eq!(wrong[1], "perfctr-service/README.md: the table has no row set of a DRAM register");
    assert_eq!(wrong.len(), 22);
}
