// Ours writes a new directory; RocketMQ's store opens it, recovers, and reads the same from every topic's
// queue. Light queues it finds after an export only.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { type Message, MessageStore, type MessageStoreOptions } from '../../lib/index.ts';
import { messagesOf, put } from '../golden-support/puts.ts';
import { start, type Tools } from '../support/programs.ts';
import { type Step, sessions, shapes } from './inputs.ts';
import { expectKilled, ourAnswers, theirAnswers } from './questions.ts';
import { copyOf, judged, judgeOptions, lanes, ourOptions } from './runs.ts';
import { ourState, theirState, topicsOf } from './states.ts';

const forAll = lanes();

judged('what ours wrote and closed, RocketMQ reads the same', async () => {
  await forAll([shapes, sessions()], 12, async (judge, work, shape, steps) => {
    const dir = path.join(work, 'ours');
    const store = await MessageStore.open(ourOptions(dir, shape));
    for (const step of steps) put(store, step);
    const ours = topicsOf(ourState(store));
    const answers = await ourAnswers(store, ours);
    await store.close();
    await judge.open(copyOf(dir, 'judged'), judgeOptions(shape));
    expect(topicsOf(await theirState(judge))).toEqual(ours);
    expect(await theirAnswers(judge, ours)).toEqual(answers);
    await judge.leave();
  });
});

const inHex = (step: Step) =>
  messagesOf(step).map((one) => ({ ...one, body: (one.body as Buffer).toString('hex') }));

/** Appends until it is killed. */
async function appendAll({ lib, fs, say }: Tools, options: MessageStoreOptions, file: string) {
  const store = await lib.MessageStore.open(options);
  for (const step of JSON.parse(fs.readFileSync(file, 'utf8')) as Message[][]) {
    const messages = step.map((one) => ({ ...one, body: Buffer.from(one.body as string, 'hex') }));
    if (messages.length === 1) store.append(messages[0]!);
    else store.appendBatch(messages);
    say(null);
  }
  await new Promise(() => setInterval(() => {}, 1000));
}

judged('where ours was killed, RocketMQ recovers and reads what ours does', async () => {
  await forAll([shapes, sessions()], 12, async (judge, work, shape, steps) => {
    mkdirSync(work, { recursive: true });
    const file = path.join(work, 'messages.json');
    writeFileSync(file, JSON.stringify(steps.map(inHex)));
    const dir = path.join(work, 'ours');
    const child = start(appendAll, [ourOptions(dir, shape), file]);
    const acknowledged = Math.ceil(steps.length / 2);
    for (let said = 0; said < acknowledged; said++) await child.said();
    await child.kill();

    await judge.open(copyOf(dir, 'judged'), judgeOptions(shape));
    const theirs = topicsOf(await theirState(judge));
    const found = await theirAnswers(judge, theirs);
    await judge.leave();
    const store = await MessageStore.open(ourOptions(dir, shape));
    const ours = ourState(store);
    expect(topicsOf(ours)).toEqual(theirs);
    expectKilled(await ourAnswers(store, theirs), found);

    const answers = await ourAnswers(store, ours);
    await store.exportInPlace();
    await judge.open(dir, judgeOptions(shape));
    expect(await theirState(judge)).toEqual(ours);
    expect(await theirAnswers(judge, ours)).toEqual(answers);
    await judge.leave();
  });
});
