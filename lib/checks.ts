/** Checks of arguments that several methods take. */
import { rangeMistake, type StoreErrorCode, typeMistake } from './errors.ts';

const INT_MIN = -2147483648;
const INT_MAX = 2147483647;

/** A 32-bit number of a message, or `fallback` where it is absent. */
export function int32(value: unknown, name: string, fallback: number): number {
  if (value === undefined) return fallback;
  return within(value, name, INT_MIN, INT_MAX, 'STORE_INVALID_MESSAGE');
}

export function queueIdOf(value: unknown): number {
  if (typeof value === 'number' && (value | 0) === value && value >= 0) return value;
  return within(value, 'queueId', 0, INT_MAX, 'STORE_INVALID_QUEUE_ID');
}

/** A time or an offset of a message: any integer that a double holds exactly. */
export function exactInteger(value: unknown, name: string): number {
  return within(
    plain(value),
    name,
    Number.MIN_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
    'STORE_INVALID_MESSAGE',
  );
}

/** A time that is searched for: milliseconds since 1970, or a Date. */
export function timeOf(value: unknown, name: string): number {
  const millis = value instanceof Date ? value.getTime() : value;
  return within(millis, name, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
}

/** An offset to read from or follow from: a number or a bigint. */
export function offsetOf(value: unknown, name: string, least = 0): number {
  return within(plain(value), name, least, Number.MAX_SAFE_INTEGER);
}

export function count(value: unknown, name: string, fallback: number): number {
  return value === undefined ? fallback : within(value, name, 0, INT_MAX);
}

export function flag(value: unknown, name: string, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value === 'boolean') return value;
  throw typeMistake('STORE_INVALID_ARGUMENT', `${name} must be true or false.`);
}

export function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw typeMistake('STORE_INVALID_ARGUMENT', `${name} must be a string.`);
}

export function within(
  value: unknown,
  name: string,
  least: number,
  most: number,
  code: StoreErrorCode = 'STORE_INVALID_ARGUMENT',
): number {
  if (typeof value !== 'number') throw typeMistake(code, `${name} must be a number.`);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw rangeMistake(code, `${name} must be an integer from ${least} to ${most}, not ${value}.`);
}

/** A bigint as a number: one beyond 2^53 stays beyond it and is refused by the bounds. */
function plain(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value;
}
