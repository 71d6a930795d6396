import type { Pipeline, ProofType } from '@flywheel/api';
import type { Bank } from '@flywheel/localnet';
import { address, toDecimal } from '@flywheel/protocol';
import { createRpcTransport } from '@flywheel/solana-rpc';
import { type Address, createSolanaRpcFromTransport, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit';
import { getTokenSize } from '@solana-program/token';
import { createConsoleClient } from '../../console-client.ts';
import type { ExpectedEffects } from './verify.ts';

export interface Token {
  readonly mint: Address;
}

export interface DemoProject extends Token {
  readonly wallet: KeyPairSigner;
  readonly apiKey: string;
  readonly vaultAddress: string;
}

/** The service, its cluster, and the bank that pays there. */
export interface DemoService {
  readonly url: string;
  readonly rpcUrl: string;
  readonly bank: Bank;
}

export interface FundedProject {
  readonly vaultTokens: string;
  /** Number of recipients that already have a token account. */
  readonly holders: number;
}

/** The same as USDC. */
export const TOKEN_DECIMALS = 6;
/** Pays for the multisig and its lookup table. */
const WALLET_LAMPORTS = 1_000_000_000n;
/** Beyond the rent of new token accounts, so that the vault stays rent-exempt. */
const VAULT_SPARE_LAMPORTS = 10_000_000n;
/** Whole tokens that are left in the vault at the end. */
const VAULT_SPARE_TOKENS = 1_000n;
/** Whole tokens of each recipient that already has a token account. */
const HELD_TOKENS = 25n;

const DESCRIPTIONS: { readonly [type: string]: string } = {
  WATCH_AD: 'Watched a rewarded video to its end',
  PRODUCT_PURCHASE: 'Paid an order',
  REFERRAL: 'Invited a friend who joined',
  COMMUNITY_DRAW: 'Draw among members, with its seed',
  DAILY_STREAK: 'Days in a row',
  BUYBACK_REPORT: 'Burned a share of the month’s revenue',
  SURVEY: 'Answered a survey',
};

export async function createToken(bank: Bank): Promise<Token> {
  return { mint: await bank.createMint(TOKEN_DECIMALS, false) };
}

/** Registers a project over HTTP: with a new wallet, daily limits at twice the need, and the file’s proof types. */
export async function registerProject(
  { url, rpcUrl, bank }: DemoService,
  { mint }: Token,
  pipelines: readonly Pipeline[],
  expected: ExpectedEffects,
): Promise<DemoProject> {
  const wallet = await generateKeyPairSigner();
  await bank.airdrop(wallet.address, WALLET_LAMPORTS);
  const console = createConsoleClient({ url });
  await console.signIn(wallet);
  const request = {
    mint,
    burnLimit: twice(expected.burnedBaseUnits),
    airdropLimit: twice(expected.airdroppedBaseUnits),
    scopes: ['burn' as const, 'airdrop' as const],
    proofTypes: proofTypesOf(pipelines),
  };
  const { project } = await console.register(wallet, request, { rpcUrl });
  return { mint, wallet, apiKey: project.apiKey, vaultAddress: project.vaultAddress };
}

/** Funds the vault, and gives every second recipient a token account, so that airdrops go to old and new accounts. */
export async function fundProject(
  { rpcUrl, bank }: Omit<DemoService, 'url'>,
  { mint, vaultAddress }: DemoProject,
  { airdrops, airdroppedBaseUnits, burnedBaseUnits }: ExpectedEffects,
): Promise<FundedProject> {
  const unit = 10n ** BigInt(TOKEN_DECIMALS);
  const recipients = [...airdrops.keys()];
  const holders = recipients.filter((_, index) => index % 2 === 0);
  const newAccounts = BigInt(recipients.length - holders.length);
  const rentLamports = await createSolanaRpcFromTransport(createRpcTransport({ url: rpcUrl }))
    .getMinimumBalanceForRentExemption(BigInt(getTokenSize()))
    .send();
  const amountBaseUnits = airdroppedBaseUnits + burnedBaseUnits + VAULT_SPARE_TOKENS * unit;
  const vault = address(vaultAddress);
  await Promise.all([
    bank.airdrop(vault, newAccounts * rentLamports + VAULT_SPARE_LAMPORTS),
    bank.mintTo(mint, vault, amountBaseUnits),
    ...holders.map((holder) => bank.mintTo(mint, address(holder), HELD_TOKENS * unit)),
  ]);
  return { vaultTokens: toDecimal(amountBaseUnits, TOKEN_DECIMALS), holders: holders.length };
}

function twice(baseUnits: bigint): string {
  return toDecimal(2n * baseUnits, TOKEN_DECIMALS);
}

function proofTypesOf(pipelines: readonly Pipeline[]): ProofType[] {
  return [...new Set(pipelines.map(({ type }) => type))].map((type) => {
    const description = DESCRIPTIONS[type];
    return description === undefined ? { type } : { type, description };
  });
}
