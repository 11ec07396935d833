; cat any.smt2 turns.smt2 hub.smt2 possible.smt2 | z3 -in
; What the premises of the other files must leave possible: each way in which a wait goes on.
(assert (waits h))
(assert (calls s))
(assert keeps-pace)

; Strand y has the turn, is alone, asks and is served.
(push)
(assert (and (= s y) (= (remembered (known h)) (with nobody y)) (= (turn (known h)) y) gets))
(check-sat) ; sat
(pop)

; Strand x has the turn, asks and is served.
(push)
(assert (and (= s x) (= (turn (known h)) x) gets))
(check-sat) ; sat
(pop)

; Strand x loses its turn after r refusals, and y has it next.
(push)
(assert (and (distinct s x) (distinct s y) (= (turn (known h)) x) (has (remembered (known h)) x)))
(assert (and free (= (turn (known after-ask)) y) (= (last (known after-ask)) x)))
(check-sat) ; sat
(pop)

; Strand x has had its access and asks again. Afterwards a strand that is not y has the turn, or no strand has it.
(push)
(assert (and (had h) (= s x) free (distinct (turn (known after-ask)) y)))
(check-sat) ; sat
(pop)

; An access is in flight that was granted before the wait; then one that was granted since the wait began.
(push)
(assert (and (early h) (= s y)))
(check-sat) ; sat
(pop)
(push)
(assert (and (= (holder h) x) (not (early h)) (had h)))
(check-sat) ; sat
(pop)

; Strand x found the chip busy: its turn is not on the way from the last turn to y.
(push)
(assert (and (= (turn (known h)) x) (not (between (last (known h)) x y))))
(check-sat) ; sat
(pop)

; The strand whose access ends gives the turn to x, or to y.
(push)
(assert (and (not free) to-is-next (= (turn (known after-passing-on)) x)))
(check-sat) ; sat
(pop)
(push)
(assert (and (not free) to-is-next (= (turn (known after-passing-on)) y)))
(check-sat) ; sat
(pop)
