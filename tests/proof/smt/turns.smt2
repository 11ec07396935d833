; Turns::step of perfctr-service. The test `the_definition_is_the_function_that_ships` compares the two.
(define-fun strand ((s Int)) Bool (and (<= 0 s) (< s n)))
(define-fun none () Int (- 1))

; How far strand b is after strand a, cyclically: 1 to n.
(define-fun ahead ((a Int) (b Int)) Int (ite (< a b) (- b a) (+ (- b a) n)))

(declare-datatypes ((Turns 0)) (((turns (remembered Strands) (turn Int) (refusals Int) (last Int)))))
(define-fun new () Turns (turns nobody none 0 (- n 1)))

; HubEvent::AsksTaken
(define-fun asks-taken ((g Turns) (s Int)) Turns
  (turns (with (remembered g) s) (turn g) (refusals g) (last g)))

; HubEvent::Ended. If no strand has the turn, the turn goes to `to`: the first remembered strand after `last`, or none.
(define-fun held ((g Turns)) Bool (and (distinct (turn g) none) (has (remembered g) (turn g))))
(define-fun ended ((g Turns) (to Int)) Turns
  (ite (held g) g (turns (remembered g) to 0 (last g))))

; HubEvent::ChipBusy
(define-fun chip-busy ((g Turns) (s Int)) Turns
  (turns (with (remembered g) s) s 0 (last g)))

; HubEvent::Died, in two halves: the gate changes two words, and another strand may decide in between.
(define-fun forgotten ((g Turns) (s Int)) Turns
  (turns (without (remembered g) s) (turn g) (refusals g) (last g)))
(define-fun turn-lost ((g Turns) (s Int)) Turns
  (turns (remembered g) (ite (= (turn g) s) none (turn g)) (refusals g) (last g)))
(define-fun died ((g Turns) (s Int)) Turns (turn-lost (forgotten g s) s))

; HubEvent::Reset
(define-fun renewed ((g Turns)) Turns new)

; HubEvent::AsksFree. Two parameters stand for functions of StrandSet: `r` is twice the number of strands in `asking`, and `next` the first
; strand of `candidates` after `from`.
(define-fun asking ((g Turns) (s Int)) Strands (with (remembered g) s))
; The turn, if its strand is remembered.
(define-fun live ((g Turns) (s Int)) Int
  (ite (and (distinct (turn g) none) (has (asking g s) (turn g))) (turn g) none))
(define-fun goes-on ((g Turns) (s Int) (r Int)) Bool
  (let ((t (live g s))) (and (distinct t none) (or (= t s) (< (refusals g) r)))))
; If the turn does not go on, its strand is forgotten.
(define-fun candidates ((g Turns) (s Int)) Strands
  (ite (= (live g s) none) (asking g s) (without (asking g s) (live g s))))
(define-fun from ((g Turns) (s Int)) Int
  (ite (= (live g s) none) (last g) (live g s)))
(define-fun decided ((g Turns) (s Int) (r Int) (next Int)) Turns
  (ite (goes-on g s r)
    (turns (asking g s) (live g s) (refusals g) (last g))
    (turns (candidates g s) next 0 (from g s))))
(define-fun served ((g Turns) (s Int) (r Int) (next Int)) Bool
  (or (= (remembered g) nobody) (= (turn (decided g s r next)) s)))
(define-fun asks-free ((g Turns) (s Int) (r Int) (next Int)) Turns
  (let ((d (decided g s r next)))
    (ite (= (remembered g) nobody) g
    (ite (= (turn d) s)
      (turns (without (remembered d) s) none 0 s)
      (turns (remembered d) (turn d) (+ (refusals d) 1) (last d))))))
