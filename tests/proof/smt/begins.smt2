; cat any.smt2 turns.smt2 hub.smt2 begins.smt2 | z3 -in
; The wait of y begins when y is refused.

; Strand y asks and does not get the hub.
(push)
(assert (sound h))
(assert (= s y))
(assert (calls s))
(assert (not gets))
(check-sat) ; sat
(assert (not (waits (begun after-ask))))
(check-sat) ; unsat
(pop)

; Strand y got the hub, and found the chip busy.
(push)
(assert (sound h))
(assert (= (holder h) y))
(check-sat) ; sat
(assert (not (waits (begun after-chip-busy))))
(check-sat) ; unsat
(pop)
