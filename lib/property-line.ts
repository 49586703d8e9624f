/** What lies in a line of the memory of properties. */

/** A property that lies on a line. */
export interface Slot {
  name: string;
  value: string;
  start: number;
  valueStart: number;
  end: number;
  /** It comes from the message's `tags`; a property of that name is another thing. */
  field: boolean;
}

export class Line {
  readonly start: number;
  readonly end: number;
  readonly slots: Slot[] = [];
  /** How many of the slots tell what lies there. */
  known = 0;

  constructor(start: number, end: number) {
    this.start = start;
    this.end = end;
  }
}

/** The property is there already. */
export function isAt(
  slot: Slot | undefined,
  at: number,
  name: string,
  value: unknown,
): slot is Slot {
  return slot !== undefined && slot.start === at && slot.name === name && slot.value === value;
}
