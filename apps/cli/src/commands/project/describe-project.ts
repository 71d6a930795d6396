import type { Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { ProjectOverview, ProjectSettings } from '@flywheel/api';
import { formatAmount, SOL_DECIMALS } from '../../amount.ts';
import { layOutPairs } from '../../format.ts';
import { count, groupDigits } from '../../words.ts';

/** A project for people: what it has, what it may, what needs somebody. */
export function describeProject(project: ProjectOverview, stream: Writable): string {
  const { token, multisig, limits, batches, funds } = project;
  const ended = `${batches.EXECUTED} executed, ${batches.FAILED} failed`;
  const lines = layOutPairs(
    [
      ['token', `${token.mint}${token.symbol === undefined ? '' : `, calls itself ${token.symbol}`}`],
      ['multisig', multisig.address],
      ['vault', project.vaultAddress],
      ['holds', funds === null ? 'unknown: the cluster does not answer' : describeFunds(funds)],
      ['burn', describeUse(limits.burn)],
      ['airdrop', describeUse(limits.airdrop)],
      ['batches', `${project.openBatches} open, ${ended}`],
      ['approval', project.approvalMode],
      ['scopes', project.scopes.join(', ')],
    ],
    stream,
  );
  const attention = project.attention.map(({ message }) => `${styleText('yellow', '!', { stream })} ${message}`);
  return [`Project ${project.id}`, ...lines, ...attention].join('\n');
}

function describeFunds({ tokens, lamports }: NonNullable<ProjectOverview['funds']>): string {
  const missing = [
    ...(Number(tokens.missing) > 0 ? [`${groupDigits(tokens.missing)} tokens`] : []),
    ...(lamports.missing === '0' ? [] : [`${inSol(lamports.missing)} SOL`]),
  ];
  const held = `${groupDigits(tokens.available)} tokens, ${inSol(lamports.available)} SOL`;
  return missing.length === 0 ? held : `${held}; open batches lack ${missing.join(' and ')}`;
}

function inSol(lamports: string): string {
  return groupDigits(formatAmount(BigInt(lamports), SOL_DECIMALS));
}

function describeUse({ cap, used, left, resetsAt }: ProjectOverview['limits']['burn']): string {
  return `${groupDigits(used)} of ${groupDigits(cap)} tokens used today, ${groupDigits(left)} left until ${resetsAt}`;
}

/** Settings, and what they were where they have just been changed. */
export function describeSettings(settings: ProjectSettings, before: ProjectSettings | null, stream: Writable): string {
  const was = (name: 'burnLimit' | 'airdropLimit') =>
    before === null || before[name] === settings[name] ? '' : ` (was ${groupDigits(before[name])})`;
  const pairs = layOutPairs(
    [
      ['burn', `${groupDigits(settings.burnLimit)} tokens a UTC day${was('burnLimit')}`],
      ['airdrop', `${groupDigits(settings.airdropLimit)} tokens a UTC day${was('airdropLimit')}`],
      ['types', settings.proofTypes.length === 0 ? 'any' : count(settings.proofTypes.length, 'type')],
    ],
    stream,
  );
  const types = settings.proofTypes.map(
    ({ type, description }) => `    ${type}${description === undefined ? '' : `  ${description}`}`,
  );
  return [...(before === null ? [] : ['Changed, from the next init on.']), ...pairs, ...types].join('\n');
}
