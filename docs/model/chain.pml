/* The cluster, the network between it and the workers, and the clients who cancel. */
/* Applies an entry of the tip to the state of a commitment: P, C or F. */
#define APPLY(at, entry) \
  if \
  :: entry >= ROWS -> expired##at = entry - ROWS \
  :: else -> \
    if \
    :: !hasEffect(entry) \
    :: hasEffect(entry) && rowPhase[entry] == SETUP -> status##at[rowBatch[entry]] = ACTIVE \
    :: hasEffect(entry) && rowPhase[entry] == BURN -> status##at[rowBatch[entry]] = CLOSED \
    :: hasEffect(entry) && rowPhase[entry] == EXECUTION -> \
      status##at[rowBatch[entry]] = APPROVED; \
      cursor##at[rowBatch[entry]] = cursor##at[rowBatch[entry]] + executedBy(entry) \
    fi \
  fi

#ifdef LOGGED
#define hasEffect(r) changes[r]
#define executedBy(r) part[r]
#else
#define hasEffect(r) (!isError[r])
#define executedBy(r) rowCount[r]
#endif

inline append(entry) {
  tip[tipLength] = entry;
  APPLY(P, tip[tipLength]);
  tipLength++
}

inline land(r) {
  d_step {
    r < rows && onWay[r] && level[r] == 0 && expiredP <= r && tipLength < DEPTH ->
    assert(rowState[r] != LOST); /* what counts as lost never lands */
    execute(r, ok);
    level[r] = PROCESSED;
    isError[r] = !ok;
    /* No pipeline twice: what a FAILED batch has not executed may be in another batch by now. */
    assert(!(ok && rowPhase[r] == EXECUTION && rowCount[r] > 0 && db[rowBatch[r]] == FAILED));
    assert(!(ok && rowPhase[r] == SETUP && burned[rowBatch[r]])); /* no account is left behind a burned index */
    append(r);
    ok = false
  }
}

/* For a bundle that has landed it makes no difference, unless its status was read before the height. */
#ifdef STATUS_BEFORE_HEIGHT
#define mayExpire(r) (level[r] == 0 || readUnknown[r])
#else
#define mayExpire(r) (level[r] == 0)
#endif

/* The height passes a bundle's last valid one. Costs a loss, unless no living worker sends the bundle. */
inline expire(r) {
  d_step {
    r < rows && mayExpire(r) && expiredP <= r && tipLength < DEPTH &&
      (may(losses) || !(onWay[r] || isSending(r))) ->
    if
    :: onWay[r] || isSending(r) -> spend(losses)
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
    k = 0;
    do
    :: k < WORKERS ->
      if :: seen[k] > 0 -> seen[k]-- :: else fi;
      k++
    :: else -> break
    od;
    forget(k, j)
  }
}

/* Another block replaces those behind the first entries of the tip. Their bundles may land again until they expire. */
inline fork(kept) {
  d_step {
    may(forks) && tipLength > kept ->
    spend(forks);
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
    k = 0;
    do
    :: k < WORKERS ->
      if :: seen[k] > kept -> seen[k] = kept :: else fi;
      k++
    :: else -> break
    od;
    k = 0
  }
}

#define isNewest(w) (owner[laneOf(w)] == w)

/* A worker that has no run follows nothing. */
inline rest(w) {
  at[w] = NONE;
  first[w] = NONE;
  sending[w] = NONE;
  seen[w] = 0
}

inline crash(w) {
  d_step {
    mayDie && busy[w] ->
    spend(crashes);
    dies[w] = true;
    busy[w] = false;
    rest(w);
    if :: isNewest(w) -> owner[laneOf(w)] = NONE :: else fi;
    forget(k, j)
  }
}

inline writeFailed(b, executed) {
  must(cursorF[b] < SIZE(b));   /* FAILED never after full execution */
  must(executed <= cursorF[b]); /* none lost: what counts as executed is executed for good */
  must(executed >= cursorP[b]); /* no pipeline twice: what counts as unexecuted is not executed */
  write(b, FAILED, executed);
  endAsked[b] = false;
  returned[b]++;
  must(returned[b] == 1)        /* limits return once */
}

#ifdef CANCEL_BEGUN
#define mayEndAtOnce(b) (statusC[b] != APPROVED)
#else
#define mayEndAtOnce(b) (!began[b] && statusC[b] != APPROVED)
#endif

/* A client cancels a batch, or it expires. If nothing was sent it ends at once; otherwise a worker ends it. */
inline cancel(b) {
  atomic {
    may(cancels) && isOpen(b) && (!endAsked[b] || mayEndAtOnce(b)) && isNextWrite(FAILED) ->
    spend(cancels);
    if
    :: mayEndAtOnce(b) -> writeFailed(b, 0)
    :: else -> endAsked[b] = true
    fi
  }
}

#ifdef LOGGED
#define ROW(r) LAND(r) :: expire(r)
#else
#define ROW(r) :: land(r) :: expire(r)
#endif

active proctype Network() {
  byte k, j;
  bool ok;
  do
  ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
  :: confirm()
  :: finalize()
#if ROWS > 8
  ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#endif
#if ROWS > 16
  ROW(16) ROW(17) ROW(18) ROW(19) ROW(20) ROW(21) ROW(22) ROW(23)
#endif
  :: fork(0)
  :: fork(1)
  :: fork(2)
#if DEPTH > 3
  :: fork(3)
  :: fork(4)
  :: fork(5)
  :: fork(6)
  :: fork(7)
#endif
  :: crash(0)
  :: crash(1)
#if WORKERS == 4
  :: crash(2)
  :: crash(3)
#endif
  :: cancel(0)
#if BATCHES > 1
  :: cancel(1)
#endif
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
  :: ALL_OVER && !isAnyBusy -> break
  od
}
