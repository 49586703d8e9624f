/** `verify DIR`: every record and every queue entry against each other; lists each fault. */
import { type Fault, MessageStore, type VerifyProgress } from '../index.ts';
import {
  count,
  DONE,
  Progress,
  plural,
  print,
  printable,
  printJson,
  style,
  WRONG,
} from './output.ts';
import type { Target } from './target.ts';

export async function verify(target: Target, { json }: { json?: boolean }): Promise<number> {
  const reader = await MessageStore.openReader(target);
  const progress = new Progress('verify');
  let seen = { records: 0, units: 0 };
  let faults = 0;
  const onProgress = ({ position, total, records, units }: VerifyProgress) => {
    seen = { records, units };
    progress.update(position, total);
  };
  try {
    for await (const fault of reader.verify({ onProgress })) {
      faults++;
      if (json) await printJson(fault);
      else await print(faultText(fault));
    }
  } finally {
    progress.stop();
    await reader.close();
  }
  if (json) await printJson({ faults, ...seen });
  else await print(summary(faults, seen));
  return faults > 0 ? WRONG : DONE;
}

const faultText = ({ path, offset, code, message }: Fault): string =>
  `${printable(path)}\t${offset}\t${code}\t${printable(message)}`;

function summary(faults: number, { records, units }: { records: number; units: number }): string {
  const verdict = faults === 0 ? style('green', 'no fault') : style('red', plural(faults, 'fault'));
  return `${verdict} in ${plural(records, 'record')} and ${count(units)} queue entries`;
}
