/* The steps of a worker's run: begin, send, settle, await finality. */
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
