export { type App, type Role, startApp } from './app.ts';
export { type Config, ConfigError, parseConfig } from './config.ts';
export { removeDatabase } from './database.ts';
export { type Examination, examine } from './examine.ts';
export { createLog } from './log.ts';
export { type Command, main } from './main.ts';
export { type Operations, operate } from './operate.ts';
