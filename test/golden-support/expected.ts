// The form of test/golden/*/expected.json (described in test/golden/README.md).

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
  readonly variants?: Readonly<
    Record<string, { readonly openedWith: Expected['openedWith']; readonly opened: Opened }>
  >;
}

/** What the real store answered when it opened the directory. */
export interface Opened {
  readonly abort: boolean;
  readonly filesBefore: readonly (readonly [string, number])[];
  readonly checkpoint: Readonly<Record<string, number>> | null;
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
