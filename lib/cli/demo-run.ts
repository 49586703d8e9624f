/** The demo itself: rounds of write, kill, recover, check; then a live round and a clean reopen. */
import { MessageStore } from '../index.ts';
import { Checker } from './demo-check.ts';
import { killPoint, type Plan, windowOf } from './demo-job.ts';
import { writeAndKill } from './demo-kill.ts';
import { liveRound } from './demo-live.ts';
import type { Source } from './demo-messages.ts';
import { Model } from './demo-model.ts';
import { type DemoReport, newReport, type Reporter } from './demo-report.ts';
import { Progress } from './output.ts';

/** Everything a run carries from one part to the next. */
interface Run {
  readonly plan: Plan;
  readonly messages: number;
  readonly rounds: number;
  readonly model: Model;
  readonly checker: Checker;
  readonly report: DemoReport;
  readonly reporter: Reporter;
  readonly appendNs: number[];
}

async function openTimed(dir: string): Promise<{ store: MessageStore; ms: number }> {
  const begin = performance.now();
  const store = await MessageStore.open(dir);
  return { store, ms: Math.round((performance.now() - begin) * 1000) / 1000 };
}

async function write({
  plan,
  messages,
  rounds,
  model,
  checker,
  report,
  appendNs,
}: Run): Promise<number> {
  const first = model.size;
  const job = { ...plan, first, end: messages, window: windowOf(messages, rounds) };
  const killAfter = killPoint(plan.seed, messages, rounds, report.rounds, first);
  const progress = new Progress(`round ${report.rounds + 1}, writing`);
  try {
    const acknowledged = await writeAndKill(job, killAfter, (ack) => {
      appendNs.push(ack.ns);
      checker.complain(model.add(ack));
      if (model.size % 256 === 0) progress.update(model.size, messages);
    });
    report.killedAt.push(first + killAfter);
    return acknowledged;
  } finally {
    progress.stop();
  }
}

/** A message whose append was cut off before its acknowledgement may be there: one, and the right one. */
function takeUnacknowledged(store: MessageStore, model: Model): number {
  const { route, queueOffset } = model.next();
  if (store.queue(route.topic, route.queueId).maxOffset <= queueOffset) return 0;
  model.add(undefined);
  return 1;
}

async function check({ model, checker, reporter }: Run, store: MessageStore) {
  const begin = performance.now();
  const progress = new Progress('checking');
  const before = checker.entries;
  try {
    await checker.store(store, (done, all) => progress.update(done, all));
  } finally {
    progress.stop();
  }
  await reporter.checked(
    model.size,
    model.queues.size,
    checker.entries - before,
    performance.now() - begin,
  );
}

/** Opens what the killed writer left, says what recovery did, and checks all of it. */
async function recover(run: Run, acknowledged: number): Promise<MessageStore> {
  const { plan, model, report, reporter } = run;
  const { store, ms } = await openTimed(plan.dir);
  const { scannedRecords, dispatchedRecords, cut } = store.recovery;
  const unacknowledged = takeUnacknowledged(store, model);
  const recovery = {
    acknowledged,
    unacknowledged,
    ms,
    scannedRecords,
    dispatchedRecords,
    cutBytes: cut?.bytes ?? 0,
  };
  report.recoveries.push(recovery);
  report.rounds++;
  report.acknowledged += acknowledged;
  report.unacknowledged += unacknowledged;
  report.recovered = model.size;
  report.recoveryMs = Math.max(report.recoveryMs, ms);
  await reporter.recovery(report.rounds, report.killedAt.at(-1)!, recovery);
  await check(run, store);
  return store;
}

async function live({ model, checker, messages, report, reporter }: Run, store: MessageStore) {
  const progress = new Progress('live');
  try {
    const update = (index: number) => progress.update(index, messages);
    const result = await liveRound(store, model, checker, messages, update);
    report.followed = result.followed;
    report.followedDuring = result.during;
    await reporter.live(result);
  } finally {
    progress.stop();
  }
}

/** The writer closed this time: nothing may be left to recover. */
async function reopen(run: Run): Promise<void> {
  const { store, ms } = await openTimed(run.plan.dir);
  try {
    run.report.reopenMs = ms;
    if (!store.recovery.clean)
      run.checker.complain('the store was closed, and yet not clean when it was opened again');
    await run.reporter.reopened(ms, store.recovery.clean);
    await check(run, store);
  } finally {
    await store.close();
  }
}

function sumUp({ report, model, checker, appendNs }: Run): DemoReport {
  const sorted = Float64Array.from(appendNs).sort();
  report.appended = model.size;
  report.lost = checker.lost.size;
  report.duplicated = checker.duplicated;
  report.problems = [...checker.problems];
  report.compared = checker.entries;
  report.lightQueues = model.lightQueues;
  report.topicQueues = model.queues.size - report.lightQueues;
  report.nsPerAppend = Math.round(sorted.reduce((sum, ns) => sum + ns, 0) / sorted.length);
  report.nsPerAppendMedian = sorted[sorted.length >> 1] ?? 0;
  report.ok = checker.good;
  return report;
}

/** Stops at the first round that shows anything wrong. */
export async function runDemo(
  plan: Plan,
  source: Source,
  messages: number,
  rounds: number,
  reporter: Reporter,
): Promise<DemoReport> {
  const model = new Model(source);
  const checker = new Checker(model);
  const run = {
    plan,
    messages,
    rounds,
    model,
    checker,
    reporter,
    appendNs: [],
    report: newReport(plan.seed),
  };
  for (let round = 0; round < rounds; round++) {
    const store = await recover(run, await write(run));
    try {
      if (checker.good && round === rounds - 1) await live(run, store);
    } finally {
      await store.close();
    }
    if (!checker.good) return sumUp(run);
  }
  await reopen(run);
  return sumUp(run);
}
