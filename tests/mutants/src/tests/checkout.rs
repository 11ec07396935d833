use super::*;

#[test]
fn a_log_says_what_failed() {
    let log = "test a::passes ... ok\ntest a::fails ... FAILED\ntest b ... FAILED\n";
    assert_eq!(failed(log), TestOutcome::Failed("a::fails".to_owned()));
    assert_eq!(failed("signal: 6, SIGABRT"), TestOutcome::Failed("the tests end".to_owned()));
    let unbuilt = "the image hypervisor-image (shipped) does not build\ntest a ... FAILED";
    assert_eq!(failed(unbuilt), TestOutcome::NotBuilt);
}
