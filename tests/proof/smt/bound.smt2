; cat any.smt2 turns.smt2 hub.smt2 bound.smt2 | z3 -in
; The bound b follows: while y waits, each of the n - 1 other strands has at most one access.

; If strand x gets the hub, x has had no access since the wait of y began.
(push)
(assert (waits h))
(assert (calls s))
(assert (= s x))
(assert keeps-pace)
(assert gets)
(check-sat) ; sat
(assert (not (not (had h))))
(check-sat) ; unsat
(pop)

; When y has the turn, it is served as soon as it asks.
(push)
(assert (waits h))
(assert (= s y))
(assert (= (turn (known h)) y))
(check-sat) ; sat
(assert (not gets))
(check-sat) ; unsat
(pop)

; When y is next and asks a free hub, it is served.
(push)
(assert (waits h))
(assert (= s y))
(assert free)
(assert (= (turn (known h)) none))
(assert (= next y))
(check-sat) ; sat
(assert (not gets))
(check-sat) ; unsat
(pop)
