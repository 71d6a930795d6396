import { after, before, describe } from 'node:test';
import { appendFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
export async function openSuites(root: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const { promise, resolve } = Promise.withResolvers<void>();
    describe(file.slice(root.length), () => { let a: NodeJS.CpuUsage; let w=0; before(()=>{a=process.cpuUsage();w=Date.now()}); after(()=>{const d=process.cpuUsage(a);appendFileSync('/tmp/w/suitecpu3.tsv', `${((d.user+d.system)/1e6).toFixed(1)}\t${((Date.now()-w)/1e3).toFixed(1)}\t${file.slice(root.length)}\n`)}); return import(pathToFileURL(file).href).finally(resolve)});
    await promise;
  }
}
