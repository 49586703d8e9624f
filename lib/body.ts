/** Bodies: strings become UTF-8 in a buffer that is used again, views become bytes. */
import { typeMistake } from './errors.ts';
import { wellFormed } from './text.ts';

const CODE = 'STORE_INVALID_MESSAGE';
/** The buffer that is kept grows up to this; longer strings get one of their own. */
const KEPT = 4 * 1024 * 1024;

export class Bodies {
  /** How many of the bytes that `bytesOf` gave last are the body; -1: all. */
  length = -1;
  #scratch = Buffer.allocUnsafeSlow(16 * 1024);

  /** The result is valid until the next call. */
  bytesOf(body: unknown): Uint8Array {
    this.length = -1;
    if (body instanceof Uint8Array) {
      if (body.length === 0) refuseDetached(body);
      return body;
    }
    if (typeof body === 'string') return this.#encode(wellFormed(body));
    if (ArrayBuffer.isView(body)) return this.bytesOf(viewed(body));
    throw typeMistake(CODE, 'body must be a string or bytes (a Buffer or another view).');
  }

  #encode(text: string): Uint8Array {
    const most = text.length * 3;
    if (most > KEPT) return Buffer.from(text);
    if (most > this.#scratch.length) {
      this.#scratch = Buffer.allocUnsafeSlow(Math.min(KEPT, 2 ** Math.ceil(Math.log2(most))));
    }
    this.length = this.#scratch.write(text);
    return this.#scratch;
  }
}

/** A view whose memory went elsewhere looks empty; only its methods tell. */
function refuseDetached(body: Uint8Array): void {
  try {
    Uint8Array.prototype.at.call(body, 0);
  } catch {
    throw detached();
  }
}

function viewed(view: ArrayBufferView): Uint8Array {
  try {
    return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  } catch {
    throw detached();
  }
}

const detached = () => typeMistake(CODE, 'The memory of body was transferred elsewhere.');
