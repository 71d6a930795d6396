/* The steps of a worker's run: begin, send, settle, await finality. */
/* The second worker of a lane begins only beside the first one: which of two idle ones begins makes no difference. */
#define isFree(w, lane) (laneOf(w) == lane && !busy[w] && !dies[w] && (w < 2 || busy[w - (w < 2 -> 0 : 2)]) && \
  (owner[lane] == NONE || may(takeovers)))
#define isStuck(b) (statusC[b] == ACTIVE && isStale(cursorC))
/* A fork takes a setup away that was complete. */
#define maySetUp(b) (db[b] == AVAILABLE || (statusC[b] == ABSENT && db[b] != FAILED && !endFinal[b]))
#define mayExecute(b) (db[b] == FINALIZED && statusC[b] != ABSENT && isReady(b) && !isStuck(b))
#define mayFinalize(b) (db[b] == EXECUTED && !endFinal[b] && (cursorF[b] == SIZE(b) || (cursorC[b] < SIZE(b) && statusC[b] != ABSENT)))

#define self (_pid - 1)
/* The bundle that this worker follows, and the oldest that it has in flight. */
#define mine at[self]
#define oldest first[self]

/* Jobs. Lane SETUPS has those that set up. */
#define SET_UP 0
#define EXECUTE 1
#define CLOSE 2
#define END 3

inline begin(job, lane, batch, isWanted) {
  d_step {
    isFree(self, lane) && isWanted && isNextBegin(job, lane) ->
    if
    :: owner[lane] != NONE -> spend(takeovers)
    :: else
    fi;
    next();
    busy[self] = true;
    owner[lane] = self;
    mode = job;
    b = batch
  }
}

#ifdef LOGGED
/* A job may begin that has nothing to do any more. */
#define JOBS(b) \
  :: begin(SET_UP, SETUPS, b, true) :: begin(EXECUTE, DECIDING, b, true) :: begin(CLOSE, DECIDING, b, true) \
  :: begin(END, DECIDING, b, true) :: begin(NOTHING, SETUPS, b, true) :: begin(NOTHING, DECIDING, b, true)
#else
#define JOBS(b) \
  :: begin(SET_UP, SETUPS, b, maySetUp(b)) :: begin(EXECUTE, DECIDING, b, mayExecute(b)) \
  :: begin(CLOSE, DECIDING, b, mayFinalize(b)) :: begin(END, DECIDING, b, (isOpen(b) && endAsked[b]))
#endif

#ifdef STATUS_BEFORE_HEIGHT
#define isGone(r) (expiredF > r && (level[r] == 0 || readUnknown[r]))
#else
#define isGone(r) (expiredF > r && level[r] == 0)
#endif
#ifdef LOGGED
#define isKnown(r) (rowState[r] != SENT) /* Follower stores it. */
#else
#define isKnown(r) (level[r] >= CONFIRMED || isGone(r))
#endif

inline awaitFate() {
#ifdef LOGGED
  rowState[mine] != SENT
#else
#ifdef STATUS_BEFORE_HEIGHT
  do
  :: isKnown(mine) -> break
  :: level[mine] == 0 && !readUnknown[mine] -> readUnknown[mine] = true
  od
#else
  isKnown(mine)
#endif
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
  :: rowState[r] == SENT && isGone(r) ->
    must(level[r] == 0); /* what counts as lost has not landed */
    rowState[r] = LOST
  :: rowState[r] == SENT && !isGone(r) && isError[r] -> rowState[r] = REFUSED
  :: rowState[r] == SENT && !isGone(r) && !isError[r] -> rowState[r] = LANDED
  fi
}

/* Settles the bundle that this worker follows, and follows nothing then. */
inline settleMine() {
  awaitFate();
  atomic { settle(mine); mine = NONE; forget(k, j) }
}

/* Bundles of other batches, and of setups, may be recorded between those of a flight. */
inline skipOthers() {
  do
  :: rowBatch[oldest] != b || rowPhase[oldest] != EXECUTION -> oldest++
  :: else -> break
  od
}

/* Settles the oldest bundle in flight. If it has not landed, those behind it are left as they are recorded. */
inline awaitOldest() {
  atomic {
    rowState[oldest] != SENT || isKnown(oldest) ->
    settle(oldest);
    if
    :: rowState[oldest] == LANDED ->
      flying--;
      oldest++;
      if
      :: flying > 0 -> skipOthers()
      :: else
      fi
    :: else -> mine = oldest; goto unlanded
    fi
  }
}

/*
 * Follows each bundle of a batch that is in flight to its end, but those of one phase. Sends it again before, with the same signatures. A
 * setup leaves the bundles of executions to the other lane, and an execution those of setups.
 */
inline settleAll(batch, isSending, others) {
  do
  :: atomic {
      k = 0;
      do
      :: k < rows && !(rowBatch[k] == batch && rowState[k] == SENT && rowPhase[k] != others) -> k++
      :: else -> break
      od;
      if
      :: k == rows -> k = 0; break
      :: else -> mine = k; k = 0
      fi
    }
#ifdef NEW_SIGNATURES
    if
    :: isSending -> atomic { rowState[mine] = LOST; mine = NONE; forget(k, j) }
    :: else -> settleMine()
    fi
#else
    if
    :: isSending && !onWay[mine] ->
      atomic {
        if
        :: isFenced(self) && isNextSend(mine) -> onWay[mine] = true; next()
        :: !isFenced(self) -> goto idle
        fi
      }
    :: else
    fi;
    settleMine()
#endif
  od
}

#ifdef CONFIRMED_DECIDES
#define DECIDED cursorC
#define STATUS_DECIDED statusC
#define isFinalRow(batch, r) true
#define SEEN 0
#else
#define DECIDED cursorF
#define STATUS_DECIDED statusF
#define isFinalRow(batch, r) (r >= rows || rowBatch[r] != batch || rowPhase[r] == BURN || rowState[r] == NO_ROW || \
  rowState[r] == LOST || level[r] == FINAL || expiredF > r)
#define SEEN tipLength
#endif
#define areFinalFrom(batch, r) (isFinalRow(batch, r) && isFinalRow(batch, (r) + 1) && isFinalRow(batch, (r) + 2) && isFinalRow(batch, (r) + 3))

#define areFirstFinal(batch) (areFinalFrom(batch, 0) && areFinalFrom(batch, 4))
#if ROWS > 16
#define areFinal(batch) (areFirstFinal(batch) && areFinalFrom(batch, 8) && areFinalFrom(batch, 12) && areFinalFrom(batch, 16) && \
  areFinalFrom(batch, 20))
#else
#if ROWS > 8
#define areFinal(batch) (areFirstFinal(batch) && areFinalFrom(batch, 8) && areFinalFrom(batch, 12))
#else
#define areFinal(batch) areFirstFinal(batch)
#endif
#endif

/* Waits until all that has landed so far is finalized, and all that was sent for the batch. */
inline awaitFinality(batch) {
  seen[self] = SEEN;
  seen[self] == 0 && areFinal(batch)
}

#ifdef NO_PHASE
#define mayRecord(batch, phase) true
#else
#define mayRecord(batch, phase) ((phase) == BURN -> db[batch] == FAILED : \
  (((phase) == SETUP && db[batch] == AVAILABLE) || db[batch] == FINALIZED || (db[batch] == EXECUTED && !endFinal[batch])))
#endif

/* Records a bundle, and sends it in a second step. This worker follows it then. */
inline send(batch, phase, start, count, isApproving) {
#ifdef ROW_AFTER_SEND
#define FIRST_STATE NO_ROW
#else
#define FIRST_STATE SENT
#endif
  atomic {
    if
    :: isFenced(self) && mayRecord(batch, phase) && isNextRecord(phase)
    :: !(isFenced(self) && mayRecord(batch, phase)) -> goto idle
    fi;
    assert(rows < ROWS);
    mine = rows;
    rows++;
    rowBatch[mine] = batch;
    rowPhase[mine] = phase;
#ifdef LOGGED
    rowName[mine] = field(1);
    rowStart[mine] = field(3);
    rowCount[mine] = field(4);
    rowApproves[mine] = field(5);
    next();
#else
    rowStart[mine] = start;
    rowCount[mine] = count;
    rowApproves[mine] = isApproving;
#endif
    rowState[mine] = FIRST_STATE;
    sending[self] = mine;
    if
    :: (phase) == EXECUTION -> began[batch] = true
    :: else
    fi
  }
  if
  :: d_step { isNextSend(mine) -> onWay[mine] = true; sending[self] = NONE; next() }
#ifdef LOGGED
  :: d_step { onWay[mine] -> sending[self] = NONE } /* the run of the other lane was faster: the log has the first sending */
#endif
  fi
#ifdef ROW_AFTER_SEND
  atomic {
    if
    :: isFenced(self) -> rowState[mine] = SENT
    :: else -> goto idle
    fi
  }
#endif
}
