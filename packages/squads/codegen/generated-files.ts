import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AnchorIdl, rootNodeFromAnchor } from '@codama/nodes-from-anchor';
import { type DefinedTypeNode, type ProgramNode, renderAccounts, renderInstructions, renderTypes } from './render.ts';

/**
 * Renders the layouts of Squads v4 from the IDL that `@sqds/multisig` carries: each file's text by its path from the
 * repository's root. Codama reads the IDL; `render.ts` writes what this repository can run and uses (decision 57).
 */
export function generatedFiles(): { readonly [path: string]: string } {
  const program = usedProgram(readIdl());
  const { definedTypes } = program;
  const instructionFiles = Object.entries(INSTRUCTIONS).map(([file, names]) => {
    const instructions = names.map((name) => named(name, program.instructions));
    return [file, renderInstructions({ instructions, definedTypes }, ENCODED_ONLY)] as const;
  });
  const files = [['types', renderTypes(program)], ['accounts', renderAccounts(program)], ...instructionFiles] as const;
  return Object.fromEntries(
    files.map(([file, text]) => {
      const path = `packages/squads/src/generated/${file}.ts`;
      return [path, formatted(path, text)];
    }),
  );
}

/**
 * Instructions that the service sends, the SDK checks, or the emulation executes, by the file that they are written to. Tests
 * alone build multisigAddMember, multisigRemoveMember, multisigChangeThreshold, multisigSetTimeLock and proposalCancelV2.
 */
const INSTRUCTIONS = {
  'multisig-instructions': [
    'multisigCreateV2',
    'multisigAddMember',
    'multisigRemoveMember',
    'multisigChangeThreshold',
    'multisigSetTimeLock',
  ],
  'config-transaction-instructions': [
    'configTransactionCreate',
    'configTransactionExecute',
    'configTransactionAccountsClose',
  ],
  'batch-instructions': [
    'batchCreate',
    'batchAddTransaction',
    'batchExecuteTransaction',
    'batchAccountsClose',
    'vaultBatchTransactionAccountClose',
  ],
  'proposal-instructions': [
    'proposalCreate',
    'proposalActivate',
    'proposalApprove',
    'proposalReject',
    'proposalCancel',
    'proposalCancelV2',
  ],
};

/** Instructions whose arguments have the layout of proposalApprove, whose decoder reads them. */
const ENCODED_ONLY = ['proposalReject', 'proposalCancel', 'proposalCancelV2'];

const ACCOUNTS = ['programConfig', 'multisig', 'proposal', 'batch', 'vaultBatchTransaction', 'configTransaction'];

function readIdl(): AnchorIdl {
  // The package exports its code alone, which lies beside the IDL's folder.
  const path = new URL('../idl/squads_multisig_program.json', import.meta.resolve('@sqds/multisig'));
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The program with the listed instructions and accounts, and the types that they name, each after those it names. */
function usedProgram(idl: AnchorIdl): ProgramNode {
  const { program } = rootNodeFromAnchor(idl);
  const accounts = ACCOUNTS.map((name) => named(name, program.accounts));
  const names = Object.values(INSTRUCTIONS).flat();
  const instructions = names.map((name) => {
    const instruction = named(name, program.instructions);
    const args = instruction.arguments.flatMap((argument) => fieldsOf(argument, program.definedTypes));
    return { ...instruction, arguments: args };
  });
  return { ...program, accounts, instructions, definedTypes: typesOf([accounts, instructions], program.definedTypes) };
}

type ArgumentNode = ProgramNode['instructions'][number]['arguments'][number];

/** Codama leaves an argument whole when several instructions share its type: this takes its fields as the others'. */
function fieldsOf(argument: ArgumentNode, types: readonly DefinedTypeNode[]): ArgumentNode[] {
  if (argument.name !== 'args' || argument.type.kind !== 'definedTypeLinkNode') return [argument];
  const { type } = named(argument.type.name, types);
  if (type.kind !== 'structTypeNode') throw new Error(`${argument.type.name} is a ${type.kind}.`);
  return type.fields.map((field) => ({ ...field, kind: 'instructionArgumentNode' }));
}

function typesOf(start: unknown, types: readonly DefinedTypeNode[]): DefinedTypeNode[] {
  const used = new Set<DefinedTypeNode>();
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    if ('kind' in node && node.kind === 'definedTypeLinkNode' && 'name' in node) {
      const type = named(String(node.name), types);
      visit(type);
      used.add(type);
    } else {
      Object.values(node).forEach(visit);
    }
  };
  visit(start);
  return [...used];
}

function named<Node extends { readonly name: string }>(name: string, nodes: readonly Node[]): Node {
  const node = nodes.find((candidate) => candidate.name === name);
  if (!node) throw new Error(`The IDL of Squads does not define ${name}.`);
  return node;
}

/** Formats as every other file is, so that Biome has nothing to exclude. */
function formatted(path: string, text: string): string {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
  const args = [biome, 'check', '--write', `--stdin-file-path=${path}`];
  return execFileSync(process.execPath, args, { input: text, encoding: 'utf8' });
}
