import {
  createPoster,
  type Poster,
  type PosterOptions,
  type PostRequest,
  type PostResult,
} from "../../../lib/webhooks/post/post.ts";
import { createTargetPolicy, type TargetPolicy } from "../../../lib/webhooks/targets/policy.ts";
import { type Answering, type Receiver, type ReceiverOptions, startReceiver } from "../receiver.ts";

/** Allows this machine, and no name. */
export const LOOPBACK: TargetPolicy = createTargetPolicy({
  resolve: () => Promise.reject(new Error("no name")),
  allowLoopbackHttp: true,
});

/** Says of every URL that its host has these addresses. */
export function vetting(...addresses: string[]): PosterOptions["policy"] {
  return {
    check(text) {
      const url = new URL(text);
      return Promise.resolve({ url, host: url.hostname, addresses });
    },
  };
}

/** Posters and endpoints of one test. */
export interface PostParts {
  receiver(answer?: Answering, options?: ReceiverOptions): Promise<Receiver>;
  poster(policy?: PosterOptions["policy"], options?: Partial<PosterOptions>): Poster;
  close(): Promise<void>;
}

export function createPostParts(): PostParts {
  const closers: (() => unknown)[] = [];
  return {
    async receiver(answer, options) {
      const started = await startReceiver(answer, options);
      closers.push(started.close);
      return started;
    },
    poster(policy = LOOPBACK, options = {}) {
      const created = createPoster({ policy, now: Date.now, ...options });
      closers.unshift(created.close);
      return created;
    },
    async close() {
      for (const close of closers.splice(0)) await close();
    },
  };
}

export function post(by: Poster, url: string, options: Partial<PostRequest> = {}): Promise<PostResult> {
  return by.post({ url, headers: { "Content-Type": "application/json" }, body: '{"a":"ü"}', ...options });
}

/** The URL of an endpoint on this machine. */
export function at({ port }: Receiver, path = "/in"): string {
  return `http://127.0.0.1:${port}${path}`;
}
