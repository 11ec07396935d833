//! Checks every model at its small sizes.

use proof::models::CASES;

#[test]
fn every_small_model_holds() {
    for case in CASES.iter().filter(|case| case.small) {
        let report = case.check(1);
        let (model, size) = (case.model, case.size);
        println!("{model}, {size}: {} states", report.states);
        for violation in &report.violations {
            println!("{violation}");
        }
        assert!(report.violations.is_empty(), "{model}, {size}");
    }
}
