; cat any.smt2 turns.smt2 hub.smt2 refusals.smt2 | z3 -in
; The bound r: how often other strands are refused on behalf of a strand x that was refused and has gone.

; A refusal at a free hub is on behalf of a remembered strand other than the strand that asks. A turn has at most r refusals.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not gets))
(check-sat) ; sat
(assert (not (let ((g (known after-ask))) (and (has (remembered g) (turn g)) (distinct (turn g) s) (<= 1 (refusals g) r)))))
(check-sat) ; unsat
(pop)

; While the turn stays with x, each refusal counts.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not gets))
(assert (= (turn (known h)) x))
(assert (= (turn (known after-ask)) x))
(check-sat) ; sat
(assert (not (= (refusals (known after-ask)) (+ (refusals (known h)) 1))))
(check-sat) ; unsat
(pop)

; When another strand asks after r refusals in the turn of x, x is forgotten.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (= (live (known h) s) x))
(assert (>= (refusals (known h)) r))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-ask)) x))))
(check-sat) ; unsat
(pop)

; Without r refusals in its turn, x is not forgotten when another strand asks.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (has (remembered (known h)) x))
(assert (not (and (= (turn (known h)) x) (>= (refusals (known h)) r))))
(check-sat) ; sat
(assert (not (has (remembered (known after-ask)) x)))
(check-sat) ; unsat
(pop)

; When another strand asks a free hub, a forgotten x is not remembered again.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (calls s))
(assert free)
(assert (not (has (remembered (known h)) x)))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-ask)) x))))
(check-sat) ; unsat
(pop)

; When another strand finds the hub taken or cannot enter the gate, a forgotten x is not remembered again, either.
(push)
(assert (sound h))
(assert (distinct s x))
(assert (not (has (remembered (known h)) x)))
(check-sat) ; sat
(assert (not (not (has (remembered (known after-locked)) x))))
(check-sat) ; unsat
(pop)

; A strand that is served is not remembered: no strand is refused on its behalf until it is refused again.
(push)
(assert (sound h))
(assert (calls s))
(assert gets)
(check-sat) ; sat
(assert (has (remembered (known after-ask)) s))
(check-sat) ; unsat
(pop)
