import type { TargetPolicy } from "./targets.ts";

export interface PostRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** For everything: look-up, connecting, TLS, sending, the whole answer. 10 000 when absent. */
  timeoutMs?: number;
  /** Gives up at once when aborted. */
  signal?: AbortSignal;
}

/** What one POST came to: an answer (`statusCode`), or why there was none (`error`). */
export interface PostResult {
  /** Absent when there was no answer. */
  statusCode?: number;
  /** Why it failed, in short words for an operator; absent when an answer came in full. */
  error?: string;
  /** The `Retry-After` header as it came. */
  retryAfter?: string;
  /** The first KiB of the answer's body, made printable; empty when there was none. */
  responseBody: string;
  durationMs: number;
  /** The address that was connected to; absent when none was. */
  address?: string;
}

export interface Poster {
  /** Makes one POST. Never rejects for what the target or the network does. */
  post(request: PostRequest): Promise<PostResult>;
  /** Closes every connection. */
  close(): void;
}

export interface PosterOptions {
  policy: TargetPolicy;
  /** Unix ms. */
  now: () => number;
  /** PEM of the certification authorities to trust instead of the runtime's own. */
  ca?: string;
}

export function createPoster(_options: PosterOptions): Poster {
  throw new Error("not written yet");
}
