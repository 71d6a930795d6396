export { type Admin, withAdmin } from './admin.ts';
export { type App, type Role, startApp } from './app.ts';
export { type Config, ConfigError, parseConfig, UNBOUNDED_EXPOSURE } from './config.ts';
export { removeDatabase } from './database.ts';
export { createDiagnostics, type Diagnostics } from './diagnostics.ts';
export { createLog } from './log.ts';
export { type Command, main } from './main.ts';
export { isLocalCluster } from './projects/environment.ts';
export { LostDatabase } from './store/postgres.ts';
