import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { getProposalApproveInstruction, vaultAddress } from '@flywheel/squads';
import { randomAddress } from '@flywheel/testing/records';
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { absenceOf, PYTHON } from './clients.ts';
import { ROOT } from './code-blocks.ts';

const skip = absenceOf('solders') ?? false;

const [operator, company, wallet] = [randomAddress(), randomAddress(), randomAddress()];
const [multisig, proposal] = [randomAddress(), randomAddress()];

it('examples/approve.py accepts an approval of the vault, and refuses whatever is not', { skip }, async () => {
  const vault = vaultAddress(multisig, 0);
  const [vote, companyVote] = [approve(proposal, wallet), approve(proposal, company)];
  const transfer: Instruction = {
    programAddress: address('11111111111111111111111111111111'),
    accounts: [
      { address: wallet, role: AccountRole.WRITABLE_SIGNER },
      { address: operator, role: AccountRole.WRITABLE },
    ],
    data: Uint8Array.of(2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
  };
  const checked = await checkAll([
    [[vote, companyVote], vault],
    [[vote, companyVote, transfer], vault],
    [[companyVote], vault],
    [[vote, approve(randomAddress(), company)], vault],
    [[vote, companyVote], randomAddress()],
    [[vote, companyVote], vault, wallet],
  ]);
  assert.deepEqual(checked, [
    'ok',
    'Not signed: instruction 2 is no vote.',
    'Not signed: it is not the vote of two, and yours.',
    'Not signed: it votes on two proposals.',
    'Not signed: its multisig has another vault.',
    'Not signed: the wallet would pay its fee.',
  ]);
});

it('examples/approve.py shows a memo in one line that hides no other', { skip }, async () => {
  const memo = 'thank you ✓\n\u001b[2A\u001b[2K  burn 1\u202e\u009b';
  const shown = await runExample(`
for line in describe([(MEMO, [], ${JSON.stringify(memo)}.encode())], MEMO):
    print(line)
`);
  assert.equal(shown, `memo      'thank you ✓\\n\\x1b[2A\\x1b[2K  burn 1\\u202e\\x9b'\n`);
});

function approve(of: Address, member: Address): Instruction {
  return getProposalApproveInstruction({ multisig, member, proposal: of, memo: null });
}

type Case = readonly [instructions: readonly Instruction[], vault: Address, payer?: Address];

/** Runs the example's check of approvals in Python. @returns `ok`, or why it does not sign. */
async function checkAll(cases: readonly Case[]): Promise<string[]> {
  const shown = await runExample(`
for wire, vault in ${JSON.stringify(cases.map(([instructions, vault, payer]) => [compile(instructions, payer), vault]))}:
    message = VersionedTransaction.from_bytes(base64.b64decode(wire)).message
    try:
        check_approval(message, Pubkey.from_string(${JSON.stringify(wallet)}), Pubkey.from_string(vault))
        print("ok")
    except SystemExit as refusal:
        print(refusal)
`);
  return shown.trim().split('\n');
}

/** Runs Python with the names of the example. @returns what it prints. */
async function runExample(program: string): Promise<string> {
  const imports = `import base64, sys
sys.path.insert(0, ${JSON.stringify(join(ROOT, 'examples'))})
from approve import *
`;
  const env = { ...process.env, FLYWHEEL_API_KEY: '', PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' };
  return (await promisify(execFile)(PYTHON, ['-c', imports + program], { env })).stdout;
}

function compile(instructions: readonly Instruction[], payer = operator) {
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(payer, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: '11111111111111111111111111111111' as Blockhash, lastValidBlockHeight: 0n },
        paid,
      ),
    (timed) => appendTransactionMessageInstructions(instructions, timed),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
}
