/*
 * The landing protocol: how workers bring the batches of a multisig to the chain, and how they decide how each one ends.
 * README.md says what is abstracted. Sizes and seeded errors are macros; scripts/model.ts sets them.
 */
#ifndef N_A
#define N_A 2 /* pipelines of the first batch */
#endif
#ifndef N_B
#define N_B 1 /* pipelines of the second batch */
#endif
#ifndef BATCHES
#define BATCHES 2 /* 3: with a rotation behind the two */
#endif
#ifndef PER_BUNDLE
#define PER_BUNDLE 1 /* pipelines of a bundle */
#endif
#ifndef WINDOW
#define WINDOW 2 /* bundles of a batch in flight */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef TAKEOVERS
#define TAKEOVERS 0 /* runs that begin although another worker is alive: it was only slow */
#endif
#ifndef FORKS
#define FORKS 0
#endif
#ifndef LOSSES
#define LOSSES 0 /* bundles that expire on their way, or of which an engine says so */
#endif
#ifndef CANCELS
#define CANCELS 0 /* cancellations and expiries of batches */
#endif
#ifndef FAILURES
#define FAILURES 0 /* 1: a pipeline may fail on chain, and may be executable again later */
#endif

#define ROWS 16  /* bundles */
#define DEPTH 3  /* entries of the chain that are not finalized */
#define NONE 255
#define ROTATION 2
#define SIZE(b) ((b) == 0 -> N_A : ((b) == 1 -> N_B : 1))

/* Status of a proposal on chain. */
#define ABSENT 0
#define ACTIVE 1
#define APPROVED 2
#define CLOSED 3
/* Status of a batch in the database. */
#define AVAILABLE 0
#define FINALIZED 1
#define EXECUTED 2
#define FAILED 3
/* Phase of a bundle. */
#define SETUP 0
#define EXECUTION 1
#define BURN 2
/* State of a bundle's row. */
#define NO_ROW 0
#define SENT 1
#define LANDED 2
#define REFUSED 3
#define LOST 4
/* Commitment of a transaction on chain; 0: not on chain. */
#define PROCESSED 1
#define CONFIRMED 2
#define FINAL 3

/* The chain as it is at each commitment. */
byte statusP[BATCHES], statusC[BATCHES], statusF[BATCHES];
byte cursorP[BATCHES], cursorC[BATCHES], cursorF[BATCHES];
byte expiredP, expiredC, expiredF; /* bundles below this number are past their last valid block height */
/* What is not finalized, in order: the number of a bundle that landed, or ROWS + a new value of `expired`. */
byte tip[DEPTH], tipLength, confirmedLength;
byte bad = NONE; /* the pipeline of the first batch that fails now */
bool hasTurned;

/* Bundles: their content, their row, and what the network and the chain have of them. */
byte rows;
byte rowBatch[ROWS], rowPhase[ROWS], rowStart[ROWS], rowCount[ROWS], rowState[ROWS], level[ROWS];
bool rowApproves[ROWS], onWay[ROWS], isError[ROWS];
#ifdef STATUS_BEFORE_HEIGHT
bool readUnknown[ROWS];
#endif

/* The database. */
byte db[BATCHES];
byte returned[BATCHES]; /* times that limits were returned */
bool endFinal[BATCHES], began[BATCHES], endAsked[BATCHES];
byte owner = NONE;      /* the worker with the newest run */
bool isGraceOver;

/* Workers. */
bool busy[2], dies[2];
byte seen[2];                 /* entries of the tip that a worker waits for, until they are finalized */
byte sending[2] = NONE;       /* the bundle that a worker has recorded and sends next */
byte crashes = CRASHES, takeovers = TAKEOVERS, forks = FORKS, losses = LOSSES, cancels = CANCELS;

#define isOpen(b) (db[b] == AVAILABLE || db[b] == FINALIZED)
#define isOver(b) (db[b] == FAILED || (db[b] == EXECUTED && endFinal[b]))
#if BATCHES == 3
#define ALL_OVER (isOver(0) && isOver(1) && isOver(2))
#define isStale(cursor) (cursor[ROTATION] == 1)
#define isUndrained(b) (isOpen(b) && statusF[b] != APPROVED)
#ifdef NO_DRAIN
#define isReady(b) true
#else
#define isReady(b) ((b) != ROTATION || began[ROTATION] || !(isUndrained(0) || isUndrained(1)))
#endif
#else
#define ALL_OVER (isOver(0) && isOver(1))
#define isStale(cursor) false
#define isReady(b) true
#endif
#ifdef NO_FENCE
#define isFenced(w) true
#else
#define isFenced(w) (owner == w)
#endif

/* Executes a bundle on the newest block: the rules of Squads. */
inline execute(r, ok) {
  if
  :: rowPhase[r] != EXECUTION && statusP[rowBatch[r]] == ABSENT ->
    ok = true;
    if
    :: rowBatch[r] > 0 -> ok = (statusP[rowBatch[r] - 1] != ABSENT)
    :: else
    fi
  :: rowPhase[r] == EXECUTION && cursorP[rowBatch[r]] == rowStart[r] ->
    ok = !(rowBatch[r] == 0 && bad != NONE && rowStart[r] <= bad && bad < rowStart[r] + rowCount[r]);
    if
    :: rowApproves[r] -> ok = ok && statusP[rowBatch[r]] == ACTIVE && !isStale(cursorP)
    :: else -> ok = ok && statusP[rowBatch[r]] == APPROVED
    fi
  :: else -> ok = false
  fi
}

/* Applies an entry of the tip to the state of a commitment: P, C or F. */
#define APPLY(at, entry) \
  if \
  :: entry >= ROWS -> expired##at = entry - ROWS \
  :: else -> \
    if \
    :: isError[entry] \
    :: !isError[entry] && rowPhase[entry] == SETUP -> status##at[rowBatch[entry]] = ACTIVE \
    :: !isError[entry] && rowPhase[entry] == BURN -> status##at[rowBatch[entry]] = CLOSED \
    :: !isError[entry] && rowPhase[entry] == EXECUTION -> \
      status##at[rowBatch[entry]] = APPROVED; \
      cursor##at[rowBatch[entry]] = cursor##at[rowBatch[entry]] + rowCount[entry] \
    fi \
  fi

inline append(entry) {
  tip[tipLength] = entry;
  APPLY(P, tip[tipLength]);
  tipLength++
}

inline land(r) {
  d_step {
    r < rows && onWay[r] && level[r] == 0 && expiredP <= r && tipLength < DEPTH ->
    execute(r, ok);
    level[r] = PROCESSED;
    isError[r] = !ok;
    /* No pipeline twice: what a FAILED batch has not executed may be in another batch by now. */
    assert(!(ok && rowPhase[r] == EXECUTION && rowCount[r] > 0 && db[rowBatch[r]] == FAILED));
    append(r);
    ok = false
  }
}

/* The height passes a bundle's last valid one. Costs a loss, unless no living worker sends the bundle. */
inline expire(r) {
  d_step {
    r < rows && level[r] == 0 && expiredP <= r && tipLength < DEPTH &&
      (losses > 0 || !(onWay[r] || sending[0] == r || sending[1] == r)) ->
    if
    :: onWay[r] || sending[0] == r || sending[1] == r -> losses--
    :: else
    fi;
    append(ROWS + r + 1)
  }
}

inline confirm() {
  d_step {
    tipLength > confirmedLength ->
    if
    :: tip[confirmedLength] < ROWS -> level[tip[confirmedLength]] = CONFIRMED
    :: else
    fi;
    APPLY(C, tip[confirmedLength]);
    confirmedLength++
  }
}

inline finalize() {
  d_step {
    confirmedLength > 0 ->
    if
    :: tip[0] < ROWS -> level[tip[0]] = FINAL
    :: else
    fi;
    APPLY(F, tip[0]);
    confirmedLength--;
    tipLength--;
    k = 0;
    do
    :: k < tipLength -> tip[k] = tip[k + 1]; k++
    :: else -> break
    od;
    tip[tipLength] = 0;
    if :: seen[0] > 0 -> seen[0]-- :: else fi;
    if :: seen[1] > 0 -> seen[1]-- :: else fi;
    k = 0
  }
}

/* Another block replaces those behind the first entries of the tip. Their bundles may land again until they expire. */
inline fork(kept) {
  d_step {
    forks > 0 && tipLength > kept ->
    forks--;
    k = 0;
    do
    :: k < BATCHES -> statusP[k] = statusF[k]; cursorP[k] = cursorF[k]; k++
    :: else -> break
    od;
    expiredP = expiredF;
    k = 0;
    do
    :: k < kept -> APPLY(P, tip[k]); k++
    :: else -> break
    od;
    if
    :: kept < confirmedLength ->
      k = 0;
      do
      :: k < BATCHES -> statusC[k] = statusP[k]; cursorC[k] = cursorP[k]; k++
      :: else -> break
      od;
      expiredC = expiredP;
      confirmedLength = kept
    :: else
    fi;
    do
    :: tipLength > kept ->
      tipLength--;
      if
      :: tip[tipLength] < ROWS -> level[tip[tipLength]] = 0; isError[tip[tipLength]] = false
      :: else
      fi;
      tip[tipLength] = 0
    :: else -> break
    od;
    if :: seen[0] > kept -> seen[0] = kept :: else fi;
    if :: seen[1] > kept -> seen[1] = kept :: else fi;
    k = 0
  }
}

inline crash(w) {
  d_step {
    crashes > 0 && busy[w] ->
    crashes--;
    dies[w] = true;
    busy[w] = false;
    seen[w] = 0;
    sending[w] = NONE;
    if :: owner == w -> owner = NONE :: else fi
  }
}

inline writeFailed(b, executed) {
  db[b] = FAILED;
  endAsked[b] = false;
  returned[b]++;
  assert(returned[b] == 1);       /* limits return once */
  assert(cursorF[b] < SIZE(b));   /* FAILED never after full execution */
  assert(executed <= cursorF[b]); /* none lost: what counts as executed is executed for good */
  assert(executed >= cursorP[b])  /* no pipeline twice: what counts as unexecuted is not executed */
}

/* A client cancels a batch, or it expires. If nothing was sent it ends at once; otherwise a worker ends it. */
inline cancel(b) {
  d_step {
    cancels > 0 && isOpen(b) && !endAsked[b] ->
    cancels--;
    if
#ifdef CANCEL_BEGUN
    :: statusC[b] != APPROVED ->
#else
    :: !began[b] && statusC[b] != APPROVED ->
#endif
      writeFailed(b, 0)
    :: else -> endAsked[b] = true
    fi
  }
}

#define ROW(r) :: land(r) :: expire(r)

active proctype Network() {
  byte k;
  bool ok;
  do
  ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
  ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
  :: confirm()
  :: finalize()
  :: fork(0)
  :: fork(1)
  :: fork(2)
  :: crash(0)
  :: crash(1)
  :: cancel(0)
  :: cancel(1)
#if BATCHES == 3
  :: d_step { /* A rotation does not wait any longer for those that are not approved. */
      !isGraceOver && db[ROTATION] == FINALIZED && !began[ROTATION] && (isUndrained(0) || isUndrained(1)) ->
      isGraceOver = true;
      if :: isUndrained(0) -> endAsked[0] = true :: else fi;
      if :: isUndrained(1) -> endAsked[1] = true :: else fi
    }
#endif
#if FAILURES
  :: d_step { !hasTurned -> hasTurned = true; bad = N_A - 1 }
  :: d_step { bad != NONE -> bad = NONE }
#endif
  :: ALL_OVER && !busy[0] && !busy[1] -> break
  od
}

/* A second worker begins only beside a first one: which of two idle ones begins makes no difference. */
#define isFree(w) (!busy[w] && !dies[w] && (w == 0 || busy[0]) && (!(busy[1 - w] && owner == 1 - w) || takeovers > 0))
#define isStuck(b) (statusC[b] == ACTIVE && isStale(cursorC))
#define mayExecute(b) (isOpen(b) && (db[b] == AVAILABLE || isReady(b)) && !isStuck(b))
#define mayFinalize(b) (db[b] == EXECUTED && !endFinal[b] && (cursorF[b] == SIZE(b) || cursorC[b] < SIZE(b)))

#define self (_pid - 1)

/* Jobs. */
#define EXECUTE 0
#define CLOSE 1
#define END 2

inline begin(job, batch, isWanted) {
  d_step {
    isFree(self) && isWanted ->
    if
    :: busy[1 - self] && owner == 1 - self -> takeovers--
    :: else
    fi;
    busy[self] = true;
    owner = self;
    mode = job;
    b = batch
  }
}

#define JOBS(b) :: begin(EXECUTE, b, mayExecute(b)) :: begin(CLOSE, b, mayFinalize(b)) :: begin(END, b, (isOpen(b) && endAsked[b]))

#ifdef ENGINE_DECIDES
#define isGone(r) (level[r] == 0)
#else
#ifdef STATUS_BEFORE_HEIGHT
#define isGone(r) (expiredF > r && (level[r] == 0 || readUnknown[r]))
#else
#define isGone(r) (expiredF > r && level[r] == 0)
#endif
#endif
#ifdef PROCESSED_DECIDES
#define RESULT PROCESSED
#else
#define RESULT CONFIRMED
#endif
#define isKnown(r) (level[r] >= RESULT || isGone(r))

inline awaitFate(r) {
#ifdef STATUS_BEFORE_HEIGHT
  do
  :: isKnown(r) -> break
  :: level[r] == 0 && !readUnknown[r] -> readUnknown[r] = true
  od
#else
  isKnown(r)
#endif
}

/* Stores the fate of a bundle once. A run that is not the newest one ends. */
inline settle(r) {
  if
  :: !isFenced(self) -> goto idle
  :: else
  fi;
  if
  :: rowState[r] != SENT
  :: rowState[r] == SENT && isGone(r) -> rowState[r] = LOST
  :: rowState[r] == SENT && !isGone(r) && isError[r] -> rowState[r] = REFUSED
  :: rowState[r] == SENT && !isGone(r) && !isError[r] -> rowState[r] = LANDED
  fi
}

/* Follows each bundle of a batch that is in flight to its end. Sends it again before, with the same signatures. */
inline settleAll(batch, isSending) {
  do
  :: atomic {
      r = 0;
      do
      :: r < rows && !(rowBatch[r] == batch && rowState[r] == SENT) -> r++
      :: else -> break
      od
    }
    if
    :: r == rows -> break
    :: else
    fi;
#ifdef NEW_SIGNATURES
    if
    :: isSending -> rowState[r] = LOST
    :: else -> awaitFate(r); atomic { settle(r) }
    fi
#else
    if
    :: isSending && !onWay[r] ->
      atomic {
        if
        :: isFenced(self) -> onWay[r] = true
        :: else -> goto idle
        fi
      }
    :: else
    fi;
    awaitFate(r);
    atomic { settle(r) }
#endif
  od;
  r = 0
}

#ifdef PROCESSED_DECIDES
#define DECIDED cursorP
#define STATUS_DECIDED statusP
#define isFinalRow(batch, r) true
#define SEEN 0
#else
#ifdef CONFIRMED_DECIDES
#define DECIDED cursorC
#define STATUS_DECIDED statusC
#define isFinalRow(batch, r) true
#define SEEN 0
#else
#define DECIDED cursorF
#define STATUS_DECIDED statusF
#define isFinalRow(batch, r) (rowBatch[r] != batch || rowPhase[r] == BURN || rowState[r] == NO_ROW || rowState[r] == LOST || \
  level[r] == FINAL || expiredF > r)
#define SEEN tipLength
#endif
#endif
#define areFinal(batch, r) (isFinalRow(batch, r) && isFinalRow(batch, (r) + 1) && isFinalRow(batch, (r) + 2) && isFinalRow(batch, (r) + 3))

/* Waits until all that has landed so far is finalized, and all that was sent for the batch. */
inline awaitFinality(batch) {
  seen[self] = SEEN;
  seen[self] == 0 && areFinal(batch, 0) && areFinal(batch, 4) && areFinal(batch, 8) && areFinal(batch, 12)
}

#ifdef NO_PHASE
#define mayRecord(batch, phase) true
#else
#define mayRecord(batch, phase) ((phase) == BURN -> db[batch] == FAILED : \
  (((phase) == SETUP && db[batch] == AVAILABLE) || db[batch] == FINALIZED || (db[batch] == EXECUTED && !endFinal[batch])))
#endif

/* Records a bundle, and sends it in a second step. Its number is in `r`. */
inline send(batch, phase, start, count, isApproving) {
#ifdef ROW_AFTER_SEND
#define FIRST_STATE NO_ROW
#else
#define FIRST_STATE SENT
#endif
  atomic {
    if
    :: isFenced(self) && mayRecord(batch, phase)
    :: else -> goto idle
    fi;
    assert(rows < ROWS);
    r = rows;
    rows++;
    rowBatch[r] = batch;
    rowPhase[r] = phase;
    rowStart[r] = start;
    rowCount[r] = count;
    rowApproves[r] = isApproving;
    rowState[r] = FIRST_STATE;
    sending[self] = r;
    if
    :: (phase) == EXECUTION -> began[batch] = true
    :: else
    fi
  }
  d_step { onWay[r] = true; sending[self] = NONE }
#ifdef ROW_AFTER_SEND
  atomic {
    if
    :: isFenced(self) -> rowState[r] = SENT
    :: else -> goto idle
    fi
  }
#endif
}

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
