; cat any.smt2 turns.smt2 hub.smt2 measure.smt2 | z3 -in
; Each ask of another strand at a free hub makes a measure of the wait of y smaller. The measure has four parts, in this order: the strands
; that may have an access before y; whether no strand has the turn; the strands that are not remembered; and the refusals that are left of
; r.

; An ask puts no strand before y. (x stands for any strand.)
(push)
(assert (waits h))
(assert (distinct s y))
(assert (calls s))
(assert keeps-pace)
(assert free)
(assert (before-y after-ask x))
(check-sat) ; sat
(assert (not (before-y h x)))
(check-sat) ; unsat
(pop)

; One part gets smaller, and no earlier part gets larger: a strand (that had the turn, or that is served) is no longer before y; or no
; strand had the turn, and now one has it; or s was not remembered, and now is; or one refusal less is left of r.
(push)
(assert (waits h))
(assert (distinct s y))
(assert (calls s))
(assert keeps-pace)
(assert free)
(check-sat) ; sat
(assert (not (let ((t (turn (known h))) (g (known after-ask)))
  (or
    (and (before-y h t) (not (before-y after-ask t)))
    (and (before-y h s) (not (before-y after-ask s)))
    (and (= (live (known h) s) none) (distinct (turn g) none))
    (and (= (turn g) t) (not (has (remembered (known h)) s)) (has (remembered g) s))
    (and (= (turn g) t) (= (refusals g) (+ (refusals (known h)) 1)) (<= (refusals g) r))))))
(check-sat) ; unsat
(pop)

; An access that ends puts no strand before y, whether or not its strand gives the turn to the next remembered strand.
(push)
(assert (waits h))
(assert (not free))
(assert to-is-next)
(assert (or (before-y after-end x) (before-y after-passing-on x)))
(check-sat) ; sat
(assert (not (before-y h x)))
(check-sat) ; unsat
(pop)
