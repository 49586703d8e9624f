// The form of test/golden/*/expected.json (described in test/golden/README.md), and the form in which
// the real store's answers and ours are compared.

/** A long list as it is stored: null stands for absent. */
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export type Row = Record<string, unknown>;

export interface Expected {
  readonly results: readonly Row[];
  readonly openedWith: Readonly<Record<string, unknown>>;
  readonly opened: Opened;
  readonly variants?: Readonly<Record<string, Pick<Expected, 'openedWith' | 'opened'>>>;
}

/** What the real store answered when it opened the directory; the tail is absent if it did not. */
export interface Opened {
  readonly abort: boolean;
  readonly filesBefore: readonly (readonly [string, number])[];
  readonly checkpoint?: Readonly<Record<string, number>>;
  readonly loaded: boolean;
  readonly filesAfter: readonly (readonly [string, number])[];
  readonly minPhyOffset: number;
  readonly maxPhyOffset: number;
  readonly unreadableAt?: number;
  readonly records: Table | [];
  readonly blanks: readonly number[];
  readonly queues: Table | [];
  readonly gets: Table | [];
  readonly times: Table | [];
  readonly keys: Table | [];
  readonly looks: Table | [];
  readonly next: readonly { readonly put: Row; readonly result: Row }[];
}

/** The rows of a table as objects, without what is absent. */
export function rowsOf(table: Table | readonly unknown[]): Row[] {
  if (!('rows' in table)) return [];
  return table.rows.map((row) => {
    const entries = row.map((value, index) => [table.columns[index] as string, value] as const);
    return Object.fromEntries(entries.filter(([, value]) => value !== null));
  });
}

export interface Unit {
  readonly queueOffset: number;
  readonly physicalOffset: number;
  readonly size: number;
  readonly tagsCode: number;
}

export interface FoundQueue {
  readonly topic: string;
  readonly queueId: number;
  readonly minOffset: number;
  readonly maxOffset: number;
  /** The offset that the next message gets. */
  readonly nextOffset: number;
  readonly messageTotal: number;
  /** End of the last record; absent where no unit is left to tell. */
  readonly maxPhysicOffset?: number;
  readonly units: readonly Unit[];
}

/** A queue of which bounds and units are known, with what follows from them. */
export function queueWith(
  topic: string,
  queueId: number,
  minOffset: number,
  maxOffset: number,
  units: readonly Unit[],
): FoundQueue {
  const last = units.at(-1);
  return {
    ...{ topic, queueId, minOffset, maxOffset },
    nextOffset: maxOffset,
    messageTotal: maxOffset - minOffset,
    ...(last && { maxPhysicOffset: last.physicalOffset + last.size }),
    units,
  };
}

/** What is compared field by field. */
export interface Answers {
  log: { min: number; max: number };
  records: Row[];
  /** Positions where a file ends with something that is no record. */
  blanks: number[];
  queues: FoundQueue[];
  /** Queues that nobody asked about. */
  otherQueues: string[];
  gets: Row[];
  times: Row[];
  looks: Row[];
  files: (readonly [string, number])[];
}
