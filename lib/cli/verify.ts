/** `verify DIR`: every record and every queue entry against each other; lists each fault. */
import { MessageStore } from '../index.ts';
import { DONE, Progress, plural, print, printable, printJson, style, WRONG } from './output.ts';

export async function verify(dir: string, { json }: { json?: boolean }): Promise<number> {
  const reader = await MessageStore.openReader(dir);
  const progress = new Progress('verify');
  let faults = 0;
  try {
    for await (const fault of reader.verify()) {
      faults++;
      if (json) await printJson(fault);
      else
        await print(
          `${printable(fault.path)}\t${fault.offset}\t${fault.code}\t${printable(fault.message)}`,
        );
    }
    if (json) await printJson({ faults });
    else
      await print(
        faults === 0 ? style('green', 'no fault') : style('red', plural(faults, 'fault')),
      );
  } finally {
    progress.stop();
    await reader.close();
  }
  return faults > 0 ? WRONG : DONE;
}
