import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
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

it('examples/approve.py executes to the end, and exits with 0 only for a batch that is executed', {
  skip,
}, async (context) => {
  const answers = [
    { code: 202, status: 'FINALIZED' },
    { code: 200, status: 'FAILED' },
    { code: 202, status: 'FINALIZED' },
    { code: 200, status: 'EXECUTED' },
  ];
  const url = await serve(context, ({ url: path }) => {
    const { code = 500, status } = answers.shift() ?? {};
    return { code: path === '/v1/flywheel/batch/execute' ? code : 404, body: { batchId: 'b', status } };
  });
  const program = `time.sleep = lambda seconds: None
for _ in range(2):
    try:
        execute("b", "")
        print("exit 0")
    except SystemExit as end:
        print("exit", end.code)
`;
  const shown = await runExample(program, { FLYWHEEL_URL: `${url}/` });
  assert.deepEqual(shown.split('\n').filter(Boolean), [
    ...['Batch b is FINALIZED.', 'Batch b is FAILED.', 'exit 1'],
    ...['Batch b is FINALIZED.', 'Batch b is EXECUTED.', 'exit 0'],
  ]);
});

it('examples/approve.py shows its API key to the service alone', { skip }, async (context) => {
  const keys: unknown[] = [];
  const url = await serve(context, ({ url: path, headers }) => {
    keys.push([path, headers['x-service-api-key']]);
    return { code: 200, body: { result: { value: [] }, status: 'FINALIZED', proposalApproveTx: '' } };
  });
  await runExample('await_approval("b"), accounts_of([MEMO])', {
    FLYWHEEL_URL: url,
    SOLANA_RPC_URL: `${url}/rpc`,
    FLYWHEEL_API_KEY: 'secret',
  });
  assert.deepEqual(keys, [
    ['/v1/flywheel/batch/b?include=approval', 'secret'],
    ['/rpc', undefined],
  ]);
});

interface Answer {
  readonly code: number;
  readonly body: object;
}

/** Starts a server until the test ends. @returns its URL. */
async function serve(context: TestContext, answer: (request: IncomingMessage) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    const { code, body } = answer(request);
    response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  context.after(() => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return `http://127.0.0.1:${address.port}`;
}

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
async function runExample(program: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  const imports = `import base64, sys
sys.path.insert(0, ${JSON.stringify(join(ROOT, 'examples'))})
from approve import *
`;
  const env = { ...process.env, FLYWHEEL_API_KEY: '', PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1', ...settings };
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
