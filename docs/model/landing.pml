/*
 * The landing protocol: how workers bring the batches of a multisig to the chain, and how they decide how each one ends.
 * README.md says what is abstracted. Sizes and seeded errors are macros; scripts/model.ts sets them.
 */
#include "state.pml"
#include "chain.pml"
#include "runs.pml"

active [WORKERS] proctype Worker() {
  byte b, x, s, su, count, ex, mode, flying, k, j;
  bool isApproving, isSingle;
idle:
  {
    atomic {
      busy[self] = false;
      rest(self);
      if :: isNewest(self) -> owner[laneOf(self)] = NONE :: else fi;
      forget(k, j);
      b = 0; x = 0; s = 0; su = 0; count = 0; ex = 0; mode = 0; flying = 0; isApproving = false; isSingle = false
    }
    if
    JOBS(0)
#if BATCHES > 1
    JOBS(1)
#endif
#if BATCHES == 3
    JOBS(2)
#endif
    :: ALL_OVER -> goto done
    fi;
    if
    :: mode == SET_UP -> goto setUp
    :: mode == EXECUTE && db[b] == FINALIZED -> goto resume
    :: mode == CLOSE -> goto closing
    :: mode == END -> goto ending
    :: else -> goto idle
    fi;

    /* Brings this batch and those before it on chain, because Squads takes indices in order only. */
setUp:
    atomic {
      x = 0;
      do
      :: x < b && !(db[x] == AVAILABLE || statusC[x] == ABSENT) -> x++
      :: else -> break
      od;
      if
      :: db[x] == FAILED && x < b -> goto burn
      :: db[x] == FAILED && x == b -> goto idle
      :: db[x] != FAILED && x == b && db[b] != AVAILABLE && statusC[b] != ABSENT -> goto idle
      :: else
      fi;
      if
      :: may(cancels) && isOpen(x) -> spend(cancels); goto refused
      :: true
      fi
    }
    settleAll(x, true, EXECUTION);
again:
    if
    :: atomic { statusC[x] != ABSENT ->
        if
        :: !isFenced(self) -> goto idle
        :: isFenced(self) && db[x] == AVAILABLE && isNextWrite(FINALIZED) -> write(x, FINALIZED, 0)
        :: else
        fi;
        goto setUp
      }
    :: statusC[x] == ABSENT && x > 0 && statusC[x - 1 + (x == 0 -> 1 : 0)] == ABSENT -> goto setUp
    :: else
    fi;
    send(x, SETUP, 0, 0, false);
#ifdef LOGGED
    do
    :: break
    :: send(x, SETUP, 0, 0, false)
    od;
#endif
    if
    :: settleMine()
#ifdef LOGGED
    :: atomic { mine = NONE; forget(k, j); goto again }
#else
    :: atomic { may(losses) && level[mine] == 0 -> spend(losses); mine = NONE; forget(k, j); goto again } /* it is left as it is recorded */
#endif
    fi;
    goto setUp;

    /* The project is not served any more, or the setup fails again and again. An execution that has begun decides the end itself. */
refused:
    settleAll(x, false, EXECUTION);
    ex = DECIDED[x];
    atomic {
      if
#ifdef SETUP_ENDS_BEGUN
      :: isFenced(self) && isOpen(x) && isNextWrite(FAILED) -> writeFailed(x, ex)
#else
      :: isFenced(self) && isOpen(x) && !began[x] && isNextWrite(FAILED) -> writeFailed(x, ex)
#endif
      :: else
      fi;
      goto idle
    }

    /* Uses up the index of a batch that ended before it was on chain. A bundle of its setup may still be on its way. */
burn:
#ifdef NO_BURN
    goto idle;
#endif
#ifndef BURN_UNSETTLED
    settleAll(x, false, EXECUTION);
    if
    :: statusC[x] != ABSENT -> goto setUp
    :: else
    fi;
#endif
    send(x, BURN, 0, 0, false);
    awaitFate();
    atomic {
      settle(mine);
      if
      :: rowState[mine] == LANDED ->
        burned[x] = true;
        k = 0;
        do
        :: k < rows -> assert(rowBatch[k] != x || rowState[k] != SENT); k++ /* no creation is in flight that a fork could prefer */
        :: else -> break
        od;
        k = 0
      :: else
      fi;
      mine = NONE;
      forget(k, j);
      goto setUp
    }

    /* Sends what is left of an execution until all is executed, or one pipeline has failed for good. */
resume:
    settleAll(b, true, SETUP);
progress:
    atomic {
      rest(self); forget(k, j);
      count = 0; s = 0; flying = 0; isApproving = false; isSingle = false;
      if
      :: cursorC[b] == SIZE(b) -> goto executed
      :: cursorC[b] < SIZE(b) && statusC[b] == ABSENT -> goto awaitSetup
      :: isStuck(b) && mode == CLOSE -> goto undone
      :: isStuck(b) && mode != CLOSE -> goto idle
      :: else
      fi;
      s = cursorC[b];
      isApproving = (statusC[b] == ACTIVE);
      isSingle = (s < su);
      oldest = rows
    }
flight:
    count = (isSingle -> (isApproving -> 0 : 1) : (SIZE(b) - s < PER_BUNDLE -> SIZE(b) - s : PER_BUNDLE));
    send(b, EXECUTION, s, count, isApproving);
    atomic { s = s + count; count = 0; isApproving = false; flying++; skipOthers() }
    /* The next one leaves when this one is processed. */
    do
    :: atomic { level[mine] >= PROCESSED && !isError[mine] ->
        if
        :: isSingle || s == SIZE(b) -> goto landing
        :: else -> break
        fi
      }
    :: atomic { isKnown(mine) -> settle(mine);
        if
        :: rowState[mine] != LANDED || isSingle || s == SIZE(b) -> goto landing
        :: else -> break
        fi
      }
    :: atomic { may(losses) && level[mine] == 0 -> spend(losses); goto landing } /* an engine says that it has dropped it */
    :: atomic { oldest < mine && rowBatch[oldest] == b && rowState[oldest] == SENT && isKnown(oldest) -> settle(oldest) }
    od;
    do
    :: flying < WINDOW -> goto flight
    :: flying >= WINDOW -> awaitOldest()
#ifdef LOGGED
    :: goto landing /* a pause, a cancellation, or a pipeline that has to be the very next one */
#endif
    od;
landing:
    do
    :: atomic { flying == 0 -> goto progress }
    :: flying > 0 && !may(losses) -> awaitOldest()
    :: flying > 0 && may(losses) ->
      if
      :: awaitOldest()
      :: atomic { level[oldest] == 0 -> spend(losses); mine = oldest; goto unlanded }
      fi
    od;
    /* Only a bundle of one pipeline, sent alone, can end a batch. */
unlanded:
    atomic {
      if
      :: isSingle && rowCount[mine] == 1 && !rowApproves[mine] && cursorC[b] <= rowStart[mine] && statusC[b] == APPROVED &&
          (rowState[mine] == REFUSED || (b == 0 && bad == cursorC[b])) ->
        s = cursorC[b]
#ifdef LOGGED
      /* The log does not say which bundle was sent alone. */
      :: cursorC[b] <= rowStart[mine] && statusC[b] == APPROVED -> s = cursorC[b]
      :: true ->
#else
      :: else ->
#endif
        if
        :: rowState[mine] == REFUSED && su < rowStart[mine] + rowCount[mine] -> su = rowStart[mine] + rowCount[mine]
        :: else
        fi;
        goto progress
      fi;
      rest(self); forget(k, j); flying = 0
    }
    settleAll(b, false, NO_PHASES);
    awaitFinality(b);
    atomic {
      ex = DECIDED[b];
      if
      :: ex == s && STATUS_DECIDED[b] == APPROVED -> goto failed
      :: else -> goto progress
      fi
    }

    /* The other lane sets up again what a fork has taken away. The job is repeated if that takes long. */
awaitSetup:
    if
    :: statusC[b] != ABSENT -> goto progress
    :: goto idle
    fi;

    /* All is executed at `confirmed`. A rotation is shown when it is final. */
executed:
    settleAll(b, false, SETUP);
    if
    :: b == ROTATION -> awaitFinality(b);
      if
      :: DECIDED[b] == 0 -> goto progress
      :: else
      fi
    :: else
    fi;
    atomic {
      if
      :: isFenced(self) && isOpen(b) && isNextWrite(EXECUTED) -> ex = SIZE(b); write(b, EXECUTED, ex); endAsked[b] = false
      :: else
      fi;
      goto idle
    }

    /* Makes the end of an executed batch final, or executes again what a fork has taken away. */
closing:
    settleAll(b, false, NO_PHASES);
    if
#ifdef EXECUTED_EARLY
    :: atomic { cursorC[b] == SIZE(b) ->
#else
    :: atomic { cursorF[b] == SIZE(b) ->
#endif
        if
        :: isFenced(self) && db[b] == EXECUTED && !endFinal[b] && isNextFinal ->
          endFinal[b] = true;
          next();
          must(cursorF[b] == SIZE(b)) /* no pipeline lost */
        :: else
        fi;
        goto idle
      }
    :: cursorC[b] < SIZE(b) -> goto resume
    :: cursorF[b] < SIZE(b) && cursorC[b] == SIZE(b) -> goto idle
    fi;
undone:
    settleAll(b, false, NO_PHASES);
    awaitFinality(b);
    atomic {
      ex = DECIDED[b];
      if
      :: ex == SIZE(b) -> goto idle
      :: else -> goto failed
      fi
    }

    /* Jobs `cancel` and `expire`, and what a rotation ends. */
ending:
#ifndef END_UNSETTLED
    settleAll(b, false, NO_PHASES);
    if
    :: began[b] -> awaitFinality(b)
    :: else
    fi;
#endif
    atomic {
      ex = DECIDED[b];
      if
      :: ex == SIZE(b) -> goto executed
      :: else -> goto failed
      fi
    }
failed:
    atomic {
      if
#ifdef LIMITS_TWICE
      :: isFenced(self) -> writeFailed(b, ex)
#else
      :: isFenced(self) && isNextWrite(FAILED) && (isOpen(b) || (db[b] == EXECUTED && !endFinal[b] && mode == CLOSE)) -> writeFailed(b, ex)
#endif
      :: else
      fi;
      goto idle
    }
  } unless { d_step { dies[self] -> dies[self] = false } }
  goto idle;
done:
  skip
}

#ifdef LOGGED
active proctype Follower() {
  byte k, j;
  do
  :: d_step { IS_ACCEPTED -> assert(false) } /* what the search is for */
  FOLLOW(0) FOLLOW(1) FOLLOW(2) FOLLOW(3) FOLLOW(4) FOLLOW(5) FOLLOW(6) FOLLOW(7)
  FOLLOW(8) FOLLOW(9) FOLLOW(10) FOLLOW(11) FOLLOW(12) FOLLOW(13) FOLLOW(14) FOLLOW(15)
  FOLLOW(16) FOLLOW(17) FOLLOW(18) FOLLOW(19) FOLLOW(20) FOLLOW(21) FOLLOW(22) FOLLOW(23)
  od
}
#endif

#ifdef PROGRESS
/* While every process that can go on does so, all batches end. */
ltl all_end { <> (ALL_OVER) }
#endif
