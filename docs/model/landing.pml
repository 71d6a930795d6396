/*
 * The landing protocol: how workers bring the batches of a multisig to the chain, and how they decide how each one ends.
 * README.md says what is abstracted. Sizes and seeded errors are macros; scripts/model.ts sets them.
 */
#include "state.pml"
#include "chain.pml"
#include "runs.pml"

active [2] proctype Worker() {
  byte b, r, x, s, su, first, count, ex, mode;
  bool isApproving, isSingle;
idle:
  {
    atomic {
      busy[self] = false;
      seen[self] = 0;
      if :: owner == self -> owner = NONE :: else fi;
      b = 0; r = 0; x = 0; s = 0; su = 0; first = 0; count = 0; ex = 0; mode = 0; isApproving = false; isSingle = false
    }
    if
    JOBS(0)
    JOBS(1)
#if BATCHES == 3
    JOBS(2)
#endif
    :: ALL_OVER -> goto done
    fi;
    if
    :: mode == EXECUTE && db[b] == AVAILABLE -> goto setUp
    :: mode == EXECUTE && db[b] != AVAILABLE -> goto resume
    :: mode == CLOSE -> goto closing
    :: mode == END -> goto ending
    fi;

    /* Brings this batch and those before it on chain, because Squads takes indices in order only. */
setUp:
    atomic {
      x = 0;
      do
      :: x < b && !(db[x] == AVAILABLE || statusC[x] == ABSENT) -> x++
      :: else -> break
      od
    }
    if
    :: db[x] == FAILED && x < b -> goto burn
    :: db[x] == FAILED && x == b -> goto idle
    :: db[x] != FAILED && x == b && db[b] != AVAILABLE && statusC[b] != ABSENT -> goto isSetUp
    :: else
    fi;
    settleAll(x, true);
    if
    :: atomic { statusC[x] != ABSENT ->
        if
        :: !isFenced(self) -> goto idle
        :: isFenced(self) && db[x] == AVAILABLE -> db[x] = FINALIZED
        :: else
        fi;
        goto setUp
      }
    :: statusC[x] == ABSENT && x > 0 && statusC[x - 1 + (x == 0 -> 1 : 0)] == ABSENT -> goto setUp
    :: else
    fi;
    send(x, SETUP, 0, 0, false);
    awaitFate(r);
    atomic { settle(r); r = 0; goto setUp }

burn:
#ifdef NO_BURN
    goto idle;
#endif
    send(x, BURN, 0, 0, false);
    awaitFate(r);
    atomic { settle(r); r = 0; goto setUp }

isSetUp:
    atomic {
      x = 0;
      if
      :: isReady(b) -> goto resume
      :: else -> goto idle
      fi
    }

    /* Sends what is left of an execution until all is executed, or one pipeline has failed for good. */
resume:
    settleAll(b, true);
progress:
    atomic {
      r = 0; first = 0; count = 0; s = 0; isApproving = false; isSingle = false;
      if
      :: cursorC[b] == SIZE(b) -> goto executed
      :: cursorC[b] < SIZE(b) && statusC[b] == ABSENT -> goto setUp
      :: isStuck(b) && mode == CLOSE -> goto undone
      :: isStuck(b) && mode != CLOSE -> goto idle
      :: else
      fi;
      s = cursorC[b];
      isApproving = (statusC[b] == ACTIVE);
      isSingle = (s < su);
      first = rows
    }
flight:
    atomic {
      count = (isSingle -> (isApproving -> 0 : 1) : (SIZE(b) - s < PER_BUNDLE -> SIZE(b) - s : PER_BUNDLE))
    }
    send(b, EXECUTION, s, count, isApproving);
    atomic { s = s + count; count = 0; isApproving = false }
    /* The next one leaves when this one is processed. */
    do
    :: atomic { level[r] >= PROCESSED && !isError[r] ->
        if
        :: isSingle || s == SIZE(b) -> goto landing
        :: else -> break
        fi
      }
    :: atomic { isKnown(r) -> settle(r);
        if
        :: rowState[r] != LANDED || isSingle || s == SIZE(b) -> goto landing
        :: else -> break
        fi
      }
    :: atomic { losses > 0 && level[r] == 0 -> losses--; goto landing } /* an engine says that it has dropped it */
    :: atomic { first < r && rowState[first] == SENT && isKnown(first) -> settle(first) }
    od;
    do
    :: rows - first < WINDOW -> goto flight
    :: else ->
      awaitFate(first);
      atomic {
        settle(first);
        if
        :: rowState[first] == LANDED -> first++
        :: else -> r = first; goto unlanded
        fi
      }
    od;
landing:
    do
    :: atomic { first == rows -> goto progress }
    :: first < rows ->
      if
      :: atomic { isKnown(first) ->
          settle(first);
          if
          :: rowState[first] == LANDED -> first++
          :: else -> r = first; goto unlanded
          fi
        }
      :: atomic { losses > 0 && level[first] == 0 -> losses--; r = first; goto unlanded }
      fi
    od;
    /* Only a bundle of one pipeline, sent alone, can end a batch. */
unlanded:
    atomic {
      if
      :: isSingle && rowCount[r] == 1 && !rowApproves[r] && cursorC[b] <= rowStart[r] && statusC[b] == APPROVED &&
          (rowState[r] == REFUSED || (b == 0 && bad == cursorC[b])) ->
        s = cursorC[b]
      :: else ->
        if
        :: rowState[r] == REFUSED && su < rowStart[r] + rowCount[r] -> su = rowStart[r] + rowCount[r]
        :: else
        fi;
        goto progress
      fi;
      r = 0; first = 0
    }
#ifndef FAILED_UNSETTLED
    settleAll(b, false);
    awaitFinality(b);
#endif
    atomic {
      ex = DECIDED[b];
      if
      :: ex == s && STATUS_DECIDED[b] == APPROVED -> goto failed
      :: else -> goto progress
      fi
    }

    /* All is executed at `confirmed`. A rotation is shown when it is final. */
executed:
    settleAll(b, false);
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
      :: isFenced(self) && isOpen(b) -> db[b] = EXECUTED; endAsked[b] = false
      :: else
      fi;
      goto idle
    }

    /* Makes the end of an executed batch final, or executes again what a fork has taken away. */
closing:
    settleAll(b, false);
    if
#ifdef EXECUTED_EARLY
    :: atomic { cursorC[b] == SIZE(b) ->
#else
    :: atomic { cursorF[b] == SIZE(b) ->
#endif
        if
        :: isFenced(self) && db[b] == EXECUTED ->
          endFinal[b] = true;
          assert(cursorF[b] == SIZE(b)) /* no pipeline lost */
        :: else
        fi;
        goto idle
      }
    :: cursorC[b] < SIZE(b) -> goto resume
    :: cursorF[b] < SIZE(b) && cursorC[b] == SIZE(b) -> goto idle
    fi;
undone:
    settleAll(b, false);
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
    settleAll(b, false);
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
      :: isFenced(self) && (isOpen(b) || (db[b] == EXECUTED && !endFinal[b] && mode == CLOSE)) -> writeFailed(b, ex)
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
