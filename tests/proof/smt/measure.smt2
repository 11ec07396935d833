; cat any.smt2 turns.smt2 hub.smt2 measure.smt2 | z3 -in
; Each ask of another at a free hub brings y nearer. The measure has four parts, in this order:
; who may have an access before y; whether the turn is somebody's; who is not remembered; and the refusals left of r.

; Nobody (x, that is) comes to be before y.
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

; One of the parts gets smaller, and none before it larger: one strand less is before y (whose turn it was, or that is served),
; or the turn was nobody's and is somebody's, or s was not remembered and is, or r has one refusal less left.
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

; An access that ends brings nobody before y: neither if the turn stays, nor if its strand gives the turn to the next one.
(push)
(assert (waits h))
(assert (not free))
(assert to-is-next)
(assert (or (before-y after-end x) (before-y after-passing-on x)))
(check-sat) ; sat
(assert (not (before-y h x)))
(check-sat) ; unsat
(pop)
