; cat pace.smt2 | z3 -in
; Why a strand y that asks at least once in ABSENCE_TICKS keeps pace: between two asks of y, fewer asks of others count than r. The premises are
; those that PROOF.md names: clocks run at one rate, and each strand's clock advances between two of its asks.

; Stopwatch::repeats and Stopwatch::refused of perfctr-service: a refusal at `now` counts unless the strand's last refusal that counted was
; less than REPEAT_TICKS ago. The test `a_refusal_counts_once_in_the_time` compares the two.
(define-sort Time () (_ BitVec 64))
(define-fun repeat () Time #x0000000000080000)
(define-fun absence () Time (bvmul #x0000000000000002 repeat))
(define-fun counts ((last Time) (now Time)) Bool
  (bvuge (bvsub now (bvadd last #x0000000000000001)) repeat))

; One other strand counts at the times t1, t2 and t3. They lie in no time of ABSENCE_TICKS: between two asks of y, it counts at most twice.
(declare-const t1 Time)
(declare-const t2 Time)
(declare-const t3 Time)
(push)
(assert (and (bvult t1 t2) (bvult t2 t3)))
(assert (and (counts t1 t2) (counts t2 t3)))
(check-sat) ; sat
(assert (bvule (bvsub t3 t1) absence))
(check-sat) ; unsat
(pop)
; It does count twice.
(push)
(assert (and (bvult t1 t2) (counts t1 t2) (bvule (bvsub t2 t1) absence)))
(check-sat) ; sat
(pop)

; All others count at most twice each. By induction over the other strands that are remembered: k of them have counted `asks` times.
(declare-const k Int)
(declare-const asks Int)
(declare-const more Int)
(push)
(assert (and (= k 0) (= asks 0)))
(check-sat) ; sat
(assert (not (<= asks (* 2 k))))
(check-sat) ; unsat
(pop)
(push)
(assert (and (>= k 0) (<= 0 asks (* 2 k)) (<= 0 more 2)))
(check-sat) ; sat
(assert (not (<= (+ asks more) (* 2 (+ k 1)))))
(check-sat) ; unsat
(pop)

; y and k others are remembered, so r is 2 (k + 1). Fewer asks count: y keeps pace.
(declare-const r Int)
(push)
(assert (and (>= k 0) (<= 0 asks (* 2 k)) (= r (* 2 (+ k 1)))))
(check-sat) ; sat
(assert (not (< asks r)))
(check-sat) ; unsat
(pop)

; Without the premise that a strand's clock advances, an other can count without end.
(push)
(assert (and (= t1 t2) (= t2 t3) (counts t1 t2) (counts t2 t3)))
(check-sat) ; sat
(pop)
