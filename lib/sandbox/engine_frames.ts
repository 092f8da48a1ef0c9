/** The frames of the engine's binary interface. Each is a little-endian length and its bytes. A list is a frame of frames. */

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function u32Frame(value: number): Uint8Array {
  const frame = new Uint8Array(4);
  viewOf(frame).setUint32(0, value, true);
  return frame;
}

/** Joins frames, each behind its length. */
export function joinFrames(frames: Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(frames.reduce((length, frame) => length + 4 + frame.length, 0));
  const view = viewOf(joined);
  let at = 0;
  for (const frame of frames) {
    view.setUint32(at, frame.length, true);
    joined.set(frame, at + 4);
    at += 4 + frame.length;
  }
  return joined;
}

const utf8 = new TextDecoder();

/** Reads the frames of an answer in order. */
export class FrameReader {
  #at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** A copy, so that a stored entry does not keep the whole answer in memory. */
  take(): Uint8Array {
    return this.#next().slice();
  }

  takeText(): string {
    const bytes = this.#next();
    return bytes.length === 0 ? "" : utf8.decode(bytes);
  }

  /** Parts of the answer without copies, because callers only write them into something larger. */
  takeList(): Uint8Array[] {
    const list = new FrameReader(this.#next());
    const items = [];
    while (!list.done) items.push(list.#next());
    return items;
  }

  takeTriples<T>(make: (a: Uint8Array, b: Uint8Array, c: Uint8Array) => T): T[] {
    const list = new FrameReader(this.#next());
    const items = [];
    while (!list.done) items.push(make(list.take(), list.take(), list.take()));
    return items;
  }

  #next(): Uint8Array {
    const start = this.#at + 4;
    this.#at = start + this.#view.getUint32(this.#at, true);
    return this.#bytes.subarray(start, this.#at);
  }
}
