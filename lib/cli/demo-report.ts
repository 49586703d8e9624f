/** What the demo measured, and how it is told. */
import type { LiveResult } from './demo-live.ts';
import { count, plural, print, printable, printJson, style } from './output.ts';

export interface Recovery {
  /** Acknowledgements of this round's writer. */
  acknowledged: number;
  /** Messages found beyond the last acknowledgement: none or one. */
  unacknowledged: number;
  /** What `open` took. */
  ms: number;
  scannedRecords: number;
  dispatchedRecords: number;
  cutBytes: number;
}

/** The object that `--json` prints, in full. */
export interface DemoReport {
  ok: boolean;
  seed: number;
  rounds: number;
  /** Messages that were acknowledged when each SIGKILL was sent, all rounds before included. */
  killedAt: number[];
  /** Messages in the store at the end: those recovered and those of the live round. */
  appended: number;
  /** Messages that the killed writers acknowledged. */
  acknowledged: number;
  /** Messages there after the last kill. */
  recovered: number;
  unacknowledged: number;
  lost: number;
  duplicated: number;
  topicQueues: number;
  lightQueues: number;
  /** Messages delivered to the follower of the live round, and how many of them before its last append. */
  followed: number;
  followedDuring: number;
  /** Entries of queues compared byte for byte, over all checks. */
  compared: number;
  /** Of the writers' own appends, first to last, without the pipe: mean and median. */
  nsPerAppend: number;
  nsPerAppendMedian: number;
  /** The slowest open after a kill. */
  recoveryMs: number;
  reopenMs: number;
  recoveries: Recovery[];
  problems: string[];
}

export function newReport(seed: number): DemoReport {
  return {
    ok: false,
    seed,
    rounds: 0,
    killedAt: [],
    appended: 0,
    acknowledged: 0,
    recovered: 0,
    unacknowledged: 0,
    lost: 0,
    duplicated: 0,
    topicQueues: 0,
    lightQueues: 0,
    followed: 0,
    followedDuring: 0,
    compared: 0,
    nsPerAppend: 0,
    nsPerAppendMedian: 0,
    recoveryMs: 0,
    reopenMs: 0,
    recoveries: [],
    problems: [],
  };
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

/** Tells the demo's story line by line; with `--json` nothing but the object at the end. */
export class Reporter {
  readonly #json: boolean;

  constructor(json: boolean) {
    this.#json = json;
  }

  async line(name: string, text: string): Promise<void> {
    if (!this.#json) await print(`${style('bold', name.padEnd(9))}${printable(text)}`);
  }

  async recovery(round: number, killedAt: number, r: Recovery): Promise<void> {
    const extra = r.unacknowledged === 0 ? 'none' : plural(r.unacknowledged, 'message');
    const cut = r.cutBytes === 0 ? '' : `, cut ${plural(r.cutBytes, 'byte')} of a torn tail`;
    await this.line(
      `round ${round}`,
      `kill -9 at message ${count(killedAt)}; ${plural(r.acknowledged, 'message')} acknowledged`,
    );
    await this.line(
      '',
      `recovered in ${ms(r.ms)}: scanned ${plural(r.scannedRecords, 'record')}, dispatched ${count(r.dispatchedRecords)} again${cut}; ${extra} beyond the last acknowledgement`,
    );
  }

  async live({ queue, appended, followed, during }: LiveResult): Promise<void> {
    await this.line(
      'live',
      `followed ${queue} while ${plural(appended, 'message')} were appended: ${plural(followed, 'message')} delivered, ${count(during)} of them before the last append`,
    );
  }

  async reopened(took: number, clean: boolean): Promise<void> {
    await this.line('reopen', `${clean ? 'clean' : 'NOT clean'}, in ${ms(took)}`);
  }

  async checked(messages: number, queues: number, entries: number, took: number): Promise<void> {
    const text = `checked ${plural(messages, 'message')} in ${plural(queues, 'queue')}, ${count(entries)} entries byte for byte, in ${(took / 1000).toFixed(1)} s`;
    await this.line('', text);
  }

  async end(report: DemoReport): Promise<void> {
    if (this.#json) return printJson(report);
    await this.line(
      'append',
      `${count(report.nsPerAppend)} ns mean, ${count(report.nsPerAppendMedian)} ns median, in the writers`,
    );
    for (const problem of report.problems) await this.line('wrong', problem);
    const verdict = `${count(report.lost)} lost, ${count(report.duplicated)} duplicated of ${plural(report.appended, 'message')} in ${plural(report.lightQueues, 'light queue')} (seed ${report.seed})`;
    await print(style(report.ok ? 'green' : 'red', `${report.ok ? 'good' : 'BAD'}: ${verdict}`));
  }
}
