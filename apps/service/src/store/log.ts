/** Log of background events of the store: a lost idle connection, an adopted server. Pino's logger fits. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
