/*
 * A run of the model that has exactly the steps of a log: what workers and clients commit and send. What the cluster does, and where a
 * process dies, is not in the log, and is searched for. One batch; bundles may land in part, and a setup takes any number.
 * packages/testing/src/protocol-log.ts writes the file that FLYWHEEL_LOG names: the number of pipelines, and six numbers for each step.
 */
c_decl {
  static unsigned char steps[8192][6];
  static unsigned char fates[256][3]; /* by bundle: 1 landed, 2 failed; its pipelines that landed; 1 if its approval landed */
  static int stepCount, pipelineCount, furthest;
  __attribute__((constructor)) static void readLog(void) {
    FILE *file = fopen(getenv("FLYWHEEL_LOG"), "r");
    int number, i;
    if (!file || fscanf(file, "%d", &pipelineCount) != 1) exit(9);
    for (i = 0; i < 6 * 8191 && fscanf(file, "%d", &number) == 1; i++) steps[i / 6][i % 6] = number;
    stepCount = i / 6;
    steps[stepCount][0] = 255;
    for (i = 0; i < stepCount; i++) {
      if (steps[i][0] != 3) continue;
      fates[steps[i][1]][0] = steps[i][2] ? 1 : 2;
      fates[steps[i][1]][1] = steps[i][3];
      fates[steps[i][1]][2] = steps[i][4];
    }
  }
}

/* Steps: the kind, the number of the bundle, and what is known about it. */
#define BEGIN 0    /* job, lane */
#define RECORD 1   /* bundle; phase, first pipeline, pipelines, whether it approves */
#define SEND 2     /* bundle */
#define SETTLE 3   /* bundle; whether it landed as a whole, its pipelines that landed, whether its approval landed */
#define SHOW 4     /* the new status of the batch, pipelines executed */
#define SHOW_FINAL 5
/* A job of another batch, which does nothing for this one. */
#define NOTHING 4

short logged;
#define field(i) (c_expr { steps[now.logged][i] })
#define isNext(kind) (field(0) == (kind))
#define IS_ACCEPTED (logged == c_expr { stepCount })

inline next() {
  logged++;
  c_code { if (now.logged > furthest) { furthest = now.logged; printf("step %d\n", furthest); } }
}

#define fate(r, i) (c_expr { fates[now.rowName[r]][i] })

/* A bundle lands as its row says later, or as a whole although its row says that it has not: the row is stored before. */
#define LAND_AS(r, isWhole, pipelines, approval, isActivating) \
  :: d_step { \
      r < rows && onWay[r] && level[r] == 0 && expiredP <= r && tipLength < DEPTH && \
      (rowPhase[r] == EXECUTION -> \
        !isActivating && (!(isWhole || pipelines > 0) || cursorP[rowBatch[r]] == rowStart[r]) && \
        (!(isWhole || pipelines > 0 || approval) || statusP[rowBatch[r]] == APPROVED || \
          (statusP[rowBatch[r]] == ACTIVE && rowApproves[r])) : \
        (!isActivating || statusP[rowBatch[r]] == ABSENT)) -> \
      level[r] = PROCESSED; \
      isError[r] = !isWhole; \
      part[r] = pipelines; \
      changes[r] = (rowPhase[r] == EXECUTION -> (isWhole || pipelines > 0 || approval) : isActivating); \
      append(r) \
    }
#define LAND(r) \
  LAND_AS(r, (fate(r, 0) == 1), fate(r, 1), fate(r, 2), false) \
  LAND_AS(r, (fate(r, 0) == 1), fate(r, 1), fate(r, 2), (rowPhase[r] == SETUP)) \
  LAND_AS(r, true, rowCount[r], rowApproves[r], false)

/* Each bundle is followed beside the others. */
#ifdef LIES
#define mayBeLost(r) true
#else
#define mayBeLost(r) (isGone(r) || (level[r] >= CONFIRMED && isError[r] && part[r] == field(3)))
#endif
#define FOLLOW(r) \
  :: d_step { \
      r < rows && isNext(SETTLE) && field(1) == rowName[r] && rowState[r] == SENT && (owner[SETUPS] != NONE || owner[DECIDING] != NONE) && \
        (field(2) -> level[r] >= CONFIRMED && !isError[r] : mayBeLost(r)) -> \
      rowState[r] = (field(2) -> LANDED : REFUSED); \
      next(); \
      forget(k, j) \
    }
