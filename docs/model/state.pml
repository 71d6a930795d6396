/* Sizes of the model, its state, and what follows from it. */
#ifdef LOGGED
#define N_A (c_expr { pipelineCount })
#endif
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
#if TAKEOVERS
#define WORKERS 4 /* two of each lane: the newest run, and a slow one */
#else
#define WORKERS 2
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
#ifndef ROWS
#define ROWS 8 /* bundles that still matter: 8, 16 or 24 */
#endif
#ifndef DEPTH
#define DEPTH 3 /* entries of the chain that are not finalized */
#endif

#define NONE 255
/* Lanes of a multisig: one run of each works at a time. Which worker has it makes no difference. */
#define SETUPS 0
#define DECIDING 1
#define laneOf(w) ((w) % 2)
#define ROTATION 2
#if BATCHES == 1
#define SIZE(b) N_A
#else
#define SIZE(b) ((b) == 0 -> N_A : ((b) == 1 -> N_B : 1))
#endif

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
#define NO_PHASES 3
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

#ifdef LOGGED
#include "log.pml"
#endif

/* The chain as it is at each commitment. */
byte statusP[BATCHES], statusC[BATCHES], statusF[BATCHES];
byte cursorP[BATCHES], cursorC[BATCHES], cursorF[BATCHES];
byte expiredP, expiredC, expiredF; /* bundles below this number are past their last valid block height */
/* What is not finalized, in order: the number of a bundle that landed, or ROWS + a new value of `expired`. */
byte tip[DEPTH], tipLength, confirmedLength;
byte bad = NONE; /* the pipeline of the first batch that fails now */
bool hasTurned;

/* Bundles in the order in which they were recorded: their content, their row, and what the network and the chain have of them. */
byte rows;
byte rowBatch[ROWS], rowPhase[ROWS], rowStart[ROWS], rowCount[ROWS], rowState[ROWS], level[ROWS];
bool rowApproves[ROWS], onWay[ROWS], isError[ROWS];
#ifdef STATUS_BEFORE_HEIGHT
bool readUnknown[ROWS];
#endif

#ifdef LOGGED
byte rowName[ROWS]; /* the place of a bundle among those of the log */
byte part[ROWS];    /* pipelines of a bundle that have landed */
bool changes[ROWS]; /* the bundle has an effect on chain */
#endif

/* The database. */
byte db[BATCHES];
byte returned[BATCHES]; /* times that limits were returned */
bool endFinal[BATCHES], began[BATCHES], endAsked[BATCHES];
bool burned[BATCHES];   /* the index of an ended batch counts as used up, with nothing of it on chain */
byte owner[2] = NONE;   /* the worker with the newest run of each lane */
bool isGraceOver;

/* Workers. Each has one run at most. */
bool busy[WORKERS], dies[WORKERS];
byte at[WORKERS] = NONE;      /* the bundle that a worker follows */
byte first[WORKERS] = NONE;   /* the oldest bundle that a worker has in flight */
byte sending[WORKERS] = NONE; /* the bundle that a worker has recorded and sends next */
byte seen[WORKERS];           /* entries of the tip that a worker waits for, until they are finalized */
byte crashes = CRASHES, takeovers = TAKEOVERS, forks = FORKS, losses = LOSSES, cancels = CANCELS;

#ifdef LOGGED
/* Everything may happen at any time. A worker that died does nothing, so that it may as well die right before the next run. */
#define may(budget) (budget > 0)
#define spend(budget) skip
#define mayDie isNext(BEGIN)
#define must(condition) (condition)
#define isNextBegin(job, lane) (isNext(BEGIN) && field(2) == job && field(3) == lane)
#define isNextRecord(phase) (isNext(RECORD) && field(2) == phase)
#define isNextSend(r) (isNext(SEND) && field(1) == rowName[r])
#define isNextFinal isNext(SHOW_FINAL)
#define isNextWrite(status) (isNext(SHOW) && field(2) == status)
inline write(b, status, executed) {
  isNext(SHOW) && field(2) == status && (status == FINALIZED || field(3) == executed);
  db[b] = status;
  next()
}
#else
#define may(budget) (budget > 0)
#define spend(budget) budget--
#define mayDie may(crashes)
#define must(condition) assert(condition)
#define isNextBegin(job, lane) true
#define isNextRecord(phase) true
#define isNextSend(r) true
#define isNextFinal true
#define isNextWrite(status) true
#define next() skip
#define write(b, status, executed) db[b] = status
#endif

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
#if BATCHES == 2
#define ALL_OVER (isOver(0) && isOver(1))
#else
#define ALL_OVER isOver(0)
#endif
#define isStale(cursor) false
#define isReady(b) true
#endif
#ifdef NO_FENCE
#define isFenced(w) true
#else
#define isFenced(w) (owner[laneOf(w)] == w)
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

/* A bundle whose fate is stored and cannot change has no effect any more. */
#define isFollowedBy(w, r) (at[w] == r || sending[w] == r || r >= first[w])
#if WORKERS == 2
#define isFollowed(r) (isFollowedBy(0, r) || isFollowedBy(1, r))
#define isSending(r) (sending[0] == r || sending[1] == r)
#define isAnyBusy (busy[0] || busy[1])
#else
#define isFollowed(r) (isFollowedBy(0, r) || isFollowedBy(1, r) || isFollowedBy(2, r) || isFollowedBy(3, r))
#define isSending(r) (sending[0] == r || sending[1] == r || sending[2] == r || sending[3] == r)
#define isAnyBusy (busy[0] || busy[1] || busy[2] || busy[3])
#endif
#define isDead(r) (rowState[r] != SENT && (level[r] == FINAL || (level[r] == 0 && expiredF > r)) && !isFollowed(r))

/* Forgets bundles that have no effect any more, so that states that differ only in them are one. */
inline forget(i, j) {
  i = 0;
  do
  :: i < rows && isDead(i) ->
    rows--;
    j = i;
    do
    :: j < rows ->
      rowBatch[j] = rowBatch[j + 1]; rowPhase[j] = rowPhase[j + 1]; rowStart[j] = rowStart[j + 1];
      rowCount[j] = rowCount[j + 1]; rowState[j] = rowState[j + 1]; level[j] = level[j + 1];
      rowApproves[j] = rowApproves[j + 1]; onWay[j] = onWay[j + 1]; isError[j] = isError[j + 1];
#ifdef STATUS_BEFORE_HEIGHT
      readUnknown[j] = readUnknown[j + 1];
#endif
#ifdef LOGGED
      rowName[j] = rowName[j + 1]; part[j] = part[j + 1]; changes[j] = changes[j + 1];
#endif
      j++
    :: else -> break
    od;
    rowBatch[rows] = 0; rowPhase[rows] = 0; rowStart[rows] = 0; rowCount[rows] = 0; rowState[rows] = 0; level[rows] = 0;
    rowApproves[rows] = false; onWay[rows] = false; isError[rows] = false;
#ifdef STATUS_BEFORE_HEIGHT
    readUnknown[rows] = false;
#endif
#ifdef LOGGED
    rowName[rows] = 0; part[rows] = 0; changes[rows] = false;
#endif
    if :: expiredP > i -> expiredP-- :: else fi;
    if :: expiredC > i -> expiredC-- :: else fi;
    if :: expiredF > i -> expiredF-- :: else fi;
    j = 0;
    do
    :: j < tipLength ->
      if
      :: (tip[j] < ROWS && tip[j] > i) || (tip[j] >= ROWS && tip[j] - ROWS > i) -> tip[j] = tip[j] - 1
      :: else
      fi;
      j++
    :: else -> break
    od;
    j = 0;
    do
    :: j < WORKERS ->
      if :: at[j] != NONE && at[j] > i -> at[j]-- :: else fi;
      if :: first[j] != NONE && first[j] > i -> first[j]-- :: else fi;
      if :: sending[j] != NONE && sending[j] > i -> sending[j]-- :: else fi;
      j++
    :: else -> break
    od
  :: i < rows && !isDead(i) -> i++
  :: else -> break
  od;
  i = 0;
  j = 0
}
