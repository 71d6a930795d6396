/* The cluster, the network between it and the workers, and the clients who cancel. */
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
