/** Where the store says what nobody is waiting to hear: a lost idle connection, a server adopted. Pino fits. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
