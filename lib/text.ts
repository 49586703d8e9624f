/// <reference lib="es2024.string" />
/** Text as Java stores it. */

/** An unpaired surrogate has no UTF-8: Java writes '?' for it, and so do we. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.replace(/\p{Cs}/gu, '?');
}
