/**
 * Failures. A mistake in an argument is a TypeError or RangeError, everything else a StoreError; all
 * of them carry a stable `code`, a `hint`, and facts where there are any.
 */
import type { NativeFacts } from './native-values.ts';

/** Every code there is. Native defines the set; a test holds this union to it. */
export const storeErrorCodes = [
  'STORE_INVALID_ARGUMENT',
  'STORE_INVALID_TOPIC',
  'STORE_INVALID_QUEUE_ID',
  'STORE_INVALID_PROPERTY',
  'STORE_INVALID_LMQ_NAME',
  'STORE_INVALID_GROUP',
  'STORE_INVALID_MESSAGE',
  'STORE_BODY_TOO_LARGE',
  'STORE_RECORD_TOO_LARGE',
  'STORE_PROPERTIES_TOO_LARGE',
  'STORE_OFFSET_TOO_LARGE',
  'STORE_LMQ_LIMIT',
  'STORE_LIMIT',
  'STORE_BUSY',
  'STORE_GROUP_BUSY',
  'STORE_CLOSED',
  'STORE_READ_ONLY',
  'STORE_LOCKED',
  'STORE_NOT_FOUND',
  'STORE_FOREIGN_DIRECTORY',
  'STORE_VERSION',
  'STORE_CONFIG_MISMATCH',
  'STORE_FILE_SIZE',
  'STORE_CORRUPT_LOG',
  'STORE_LOG_MISSING',
  'STORE_CORRUPT_RECORD',
  'STORE_CORRUPT_FILE',
  'STORE_GAP',
  'STORE_UNSUPPORTED',
  'STORE_DISK_FULL',
  'STORE_TOO_MANY_FILES',
  'STORE_NO_MEMORY',
  'STORE_PERMISSION',
  'STORE_IO',
  'STORE_SYNC_FAILED',
  'STORE_INTERNAL',
] as const;

export type StoreErrorCode = (typeof storeErrorCodes)[number];

/** What a failure says beside its message, where it applies. */
export interface FailureFacts {
  /** The file or directory. */
  readonly path?: string;
  /** A byte or queue offset. */
  readonly offset?: number;
  /** The limit that was passed. */
  readonly limit?: number;
  /** The system's error number. */
  readonly errno?: number;
}

/** The shape of every error of this library, whatever its class. */
export interface StoreFailure extends Error, FailureFacts {
  readonly code: StoreErrorCode;
  /** What to do about it. */
  readonly hint: string;
}

export class StoreError extends Error implements StoreFailure {
  declare readonly code: StoreErrorCode;
  declare readonly hint: string;
  declare readonly path?: string;
  declare readonly offset?: number;
  declare readonly limit?: number;
  declare readonly errno?: number;

  constructor(code: StoreErrorCode, message: string, facts?: FailureFacts) {
    super(message);
    dress(this, code, facts);
  }

  static {
    StoreError.prototype.name = 'StoreError';
  }
}

/** True for every error of this library, argument mistakes included; with `code`, for that one. */
export function isStoreError<C extends StoreErrorCode = StoreErrorCode>(
  error: unknown,
  code?: C,
): error is StoreFailure & { readonly code: C } {
  if (!(error instanceof Error) || !('code' in error)) return false;
  return code === undefined ? knownCodes.has(error.code) : error.code === code;
}

const knownCodes: ReadonlySet<unknown> = new Set(storeErrorCodes);
const hints = new Map<string, string>();

/** Native's hints, told once when the addon is loaded. */
export function learnHints(codes: Iterable<readonly [code: string, hint: string]>): void {
  for (const [code, hint] of codes) hints.set(code, hint);
}

/** An argument of the wrong type. */
export function typeMistake(code: StoreErrorCode, message: string): TypeError & StoreFailure {
  return dress(new TypeError(message), code);
}

/** An argument of the right type and an impossible value. */
export function rangeMistake(
  code: StoreErrorCode,
  message: string,
  facts?: FailureFacts,
): RangeError & StoreFailure {
  return dress(new RangeError(message), code, facts);
}

/** The error for native's facts; with `trace`, its stack is that of the call which failed. */
export function failureOf(facts: NativeFacts, trace?: Trace): StoreFailure {
  const { code, message, hint, ...rest } = facts;
  const error = argumentCodes.test(code)
    ? rangeMistake(code as StoreErrorCode, message, rest)
    : new StoreError(code as StoreErrorCode, message, rest);
  if (hint) Object.assign(error, { hint });
  const frames = trace?.stack.indexOf('\n    at ') ?? -1;
  if (trace && frames >= 0) error.stack = `${error.name}: ${message}${trace.stack.slice(frames)}`;
  return error;
}

/** Wraps what native threw; anything else is passed on as it is. */
export function converted(error: unknown, trace?: Trace): unknown {
  const facts = error instanceof Error && 'facts' in error ? error.facts : undefined;
  return facts ? failureOf(facts as NativeFacts, trace) : error;
}

/** Calls native, whose errors become ours. */
export function asking<T>(question: () => T): T {
  try {
    return question();
  } catch (error) {
    throw converted(error);
  }
}

/** Where an asynchronous call was made. */
export interface Trace {
  readonly stack: string;
}

/** The stack of the caller of `method`. */
export function traceOf(method: (...args: never[]) => unknown): Trace {
  const trace = { stack: '' };
  Error.captureStackTrace(trace, method);
  return trace;
}

const argumentCodes = /^STORE_(INVALID_\w+|\w+_TOO_LARGE)$/;

function dress<E extends Error>(error: E, code: StoreErrorCode, facts?: FailureFacts) {
  return Object.assign(error, { code, hint: hints.get(code) ?? '', ...facts });
}
