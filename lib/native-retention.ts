/** What retention says by way of the addon. */

/** What retention deleted. */
export interface NativeExpired {
  /** Paths of commit log files. */
  readonly files: readonly string[];
  readonly bytes: number;
  /** Where the log begins now: the least physical offset. */
  readonly logMin: number;
}

export interface NativeRetained {
  readonly expired: NativeExpired;
  /** -1: not measured. */
  readonly usedPercent: number;
}
