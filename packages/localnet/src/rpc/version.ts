/** The release of Agave whose runtime LiteSVM 1.5 is built from. */
export const SOLANA_CORE_VERSION = '4.3.0';
