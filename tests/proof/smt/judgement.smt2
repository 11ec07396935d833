; Watch::step of perfctr-service. The test `the_judgement_is_the_function_that_ships` compares the two.
(define-sort Time () (_ BitVec 64))
(define-sort Number () (_ BitVec 32))
; 2 to the power of 30, and of 25.
(define-fun limit () Time #x0000000040000000)
(define-fun pause () Time #x0000000002000000)

(declare-datatypes ((Found 0)) (((found-busy) (found-turn) (found-locked))))
(declare-datatypes ((Counts 0)) (((counts (ended Number) (chip-busy Number) (entered Number)))))
; Where the Rust code has None, `waits` is false and `waited` is 0.
(declare-datatypes ((Watch 0)) (((watch (seen Counts) (last Time) (waits Bool) (waited Number)))))

(define-fun busy ((w Watch) (f Found) (c Counts)) Bool
  (ite (= f found-turn) (distinct (chip-busy c) (chip-busy (seen w)))
  (ite (= f found-locked) (= (entered c) (entered (seen w)))
    true)))
; No access has ended since the last look.
(define-fun goes-on ((w Watch) (c Counts)) Bool (and (waits w) (= (ended c) (ended (seen w)))))
(define-fun since ((w Watch) (now Time)) Time (bvsub now (last w)))
(define-fun ticks ((number Number)) Time ((_ zero_extend 32) number))
(define-fun sum ((w Watch) (c Counts) (now Time)) Time
  (ite (and (goes-on w c) (bvule (since w now) pause))
    (bvadd (ticks (waited w)) (since w now))
    #x0000000000000000))
(define-fun stuck ((w Watch) (f Found) (c Counts) (now Time)) Bool
  (and (busy w f c) (bvuge (sum w c now) limit)))
(define-fun look ((w Watch) (f Found) (c Counts) (now Time)) Watch
  (ite (busy w f c)
    (watch c now true ((_ extract 31 0) (ite (bvult (sum w c now) limit) (sum w c now) limit)))
    (watch c (last w) (goes-on w c) (ite (goes-on w c) (waited w) #x00000000))))
