import { SQUADS_PROGRAM_ADDRESS } from '@flywheel/squads';
import type { LiteSVM } from 'litesvm';
import type { SquadsProgram } from './programs.ts';
import { createRealProgram } from './real-program.ts';
import type { Runtime } from './runtime.ts';
import { createSquadsEmulation } from './squads-emulation/index.ts';

/** Creates the runtime of an SVM: adds the deployed Squads program to it, or emulates that program. */
export function createSquadsRuntime(svm: LiteSVM, squads: SquadsProgram): Runtime {
  if (squads.program === 'emulation') return createSquadsEmulation(svm);
  svm.addProgram(SQUADS_PROGRAM_ADDRESS, squads.bytes);
  return createRealProgram(svm);
}
