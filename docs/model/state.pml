/* Sizes of the model, its state, and what follows from it. */
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
