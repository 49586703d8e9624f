/** The bits of a message's sysFlag that mean something here (spec 2.3). */
import { int32 } from './checks.ts';
import { rangeMistake, StoreError } from './errors.ts';
import type { Message, Transaction } from './message.ts';

const TRANSACTION = 0xc;
const PREPARED = 0x4;
const ROLLBACK = 0xc;
const INNER_BATCH = 0x80;
/** By the two bits. */
const TRANSACTIONS = [undefined, 'prepared', 'commit', 'rollback'] as const;

export function transactionOf(sysFlag: number): Transaction | undefined {
  return TRANSACTIONS[(sysFlag & TRANSACTION) >> 2];
}

/** Prepared and rolled-back messages get no place in any queue. */
export function isQueued(sysFlag: number): boolean {
  const kind = sysFlag & TRANSACTION;
  return kind !== PREPARED && kind !== ROLLBACK;
}

export function isTransactional(sysFlag: number): boolean {
  return (sysFlag & TRANSACTION) !== 0;
}

export function isInnerBatch(sysFlag: number): boolean {
  return (sysFlag & INNER_BATCH) !== 0;
}

/** A message's `sysFlag` and `transaction` in one. */
export function sysFlagOf(message: Message): number {
  const flag = int32(message.sysFlag, 'sysFlag', 0);
  const { transaction } = message;
  if (isInnerBatch(flag)) {
    throw new StoreError('STORE_UNSUPPORTED', 'sysFlag says that the body is an inner batch.');
  }
  if (transaction === undefined) return flag;
  const bits = TRANSACTIONS.indexOf(transaction) << 2;
  if (bits <= 0) {
    throw rangeMistake(
      'STORE_INVALID_MESSAGE',
      "transaction must be 'prepared', 'commit' or 'rollback'.",
    );
  }
  if ((flag & TRANSACTION) !== 0 && (flag & TRANSACTION) !== bits) {
    throw rangeMistake('STORE_INVALID_MESSAGE', 'sysFlag and transaction contradict each other.');
  }
  return flag | bits;
}
