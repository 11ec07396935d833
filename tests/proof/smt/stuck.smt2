; cat judgement.smt2 stuck.smt2 | z3 -in
; When a strand judges that a unit is stuck. At each look, the strand's clock may show any 64 bits.
(declare-const w Watch)
(declare-const f Found)
(declare-const c Counts)
(declare-const now Time)

; The account: the number of looks in a row that have found the unit busy (33 stands for 33 or more); the count of ended accesses at the
; first of these looks; and the time between the first and the last of these looks.
(declare-datatypes ((Account 0)) (((account (looks Time) (first Number) (between Time)))))
(declare-const a Account)
(define-fun one () Time #x0000000000000001)
; The look continues the watch: the look finds the unit busy, no access has ended, and there was no pause.
(define-fun continues () Bool (and (busy w f c) (goes-on w c) (bvule (since w now) pause)))
(define-fun after () Account
  (ite continues
    (account (ite (= (looks a) #x0000000000000021) (looks a) (bvadd (looks a) one)) (first a) (bvadd (between a) (since w now)))
  (ite (busy w f c) (account one (ended c) #x0000000000000000)
    a)))
(define-fun true-of ((w Watch) (a Account)) Bool
  (=> (waits w)
    (and
      (bvule one (looks a)) (bvule (looks a) #x0000000000000021)
      (= (first a) (ended (seen w)))
      (bvule (ticks (waited w)) limit)
      (bvule (ticks (waited w)) (bvmul (bvsub (looks a) one) pause))
      (=> (bvult (ticks (waited w)) limit) (= (between a) (ticks (waited w)))))))

; A strand that has not found the unit busy yet.
(push)
(assert (not (waits w)))
(check-sat) ; sat
(assert (not (true-of w a)))
(check-sat) ; unsat
(pop)

; Each look keeps the account true.
(push)
(assert (true-of w a))
(check-sat) ; sat
(assert (not (true-of (look w f c now) after)))
(check-sat) ; unsat
(pop)

; A unit that is judged stuck was found busy at this look and at the 32 looks before, without a pause, and no access has ended since the
; first of these looks.
(push)
(assert (true-of w a))
(assert (stuck w f c now))
(check-sat) ; sat
(assert (not (and continues (= (looks after) #x0000000000000021) (= (first after) (ended c)))))
(check-sat) ; unsat
(pop)

; The first time that a unit is judged stuck, the first and the last of these looks are at least the limit apart.
(push)
(assert (true-of w a))
(assert (stuck w f c now))
(assert (bvult (ticks (waited w)) limit))
(check-sat) ; sat
(assert (bvult (between after) limit))
(check-sat) ; unsat
(pop)

; The watch starts anew if the clock has advanced by more than a pause or stepped back (the difference wraps), or if an access has ended.
(push)
(assert (true-of w a))
(assert (or (bvugt (since w now) pause) (distinct (ended c) (ended (seen w)))))
(check-sat) ; sat
(assert (or (stuck w f c now) (and (busy w f c) (distinct (waited (look w f c now)) #x00000000))))
(check-sat) ; unsat
(pop)

; A unit that stays busy is judged stuck: each look without a pause adds the time since the previous look, until the sum reaches the limit.
(push)
(assert (true-of w a))
(assert continues)
(check-sat) ; sat
(assert (not (or
  (stuck w f c now)
  (= (ticks (waited (look w f c now))) (bvadd (ticks (waited w)) (since w now))))))
(check-sat) ; unsat
(pop)

; The unit is judged stuck at the look with which the sum reaches the limit, not later.
(push)
(assert (true-of w a))
(assert continues)
(assert (bvuge (bvadd (ticks (waited w)) (since w now)) limit))
(check-sat) ; sat
(assert (not (stuck w f c now)))
(check-sat) ; unsat
(pop)
