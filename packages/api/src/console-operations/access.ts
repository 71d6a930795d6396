/** Who may call an operation of the console, what it counts against, and what it answers to anything unforeseen. */
export const OPEN = { authentication: 'none', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
export const SESSION = { authentication: 'session', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
export const COMPANY = { authentication: 'company', rateLimit: 'console', fallback: 'ERR_INTERNAL' } as const;
