import { signatureHeaders, signingSecret } from "../../lib/webhooks/delivery/signature.ts";
import type { PostRequest, PostResult } from "../../lib/webhooks/post/post.ts";
import type { Machine } from "./machine.ts";
import { NOBODY, type World } from "./world.ts";

/** How a receiver answers. */
export const TEMPERS = ["well", "slow", "uneven", "broken", "refusing", "hanging", "moody", "later"] as const;
export type Temper = typeof TEMPERS[number];

/** A delivery that a receiver has heard. */
export interface Heard {
  /** When its sender began to post, the world's ms. */
  beganMs: number;
  url: string;
  subscriptionId: string;
  eventId: string;
  /** What the receiver answered; undefined: nothing that its sender has heard. */
  statusCode: number | undefined;
  /** By a secret that its owner was told, be it after the delivery. */
  isSigned(): boolean;
}

/** What is posted. */
interface Message {
  subscription: string;
  event: { id: string; type: string; txHash: string };
}

/** A test event's type: whoever asks for it posts it, under no lease. */
const TEST = "webhook.test";
const NO_ANSWER: PostResult = { error: "connection reset", responseBody: "", durationMs: 0 };

/** The endpoints of everybody's webhooks. */
export class Receivers {
  readonly heard: Heard[] = [];
  /** Test events. */
  readonly tested: Heard[] = [];
  readonly #tempers = new Map<string, Temper>();
  /** Plain secrets by subscription, the newest last: as their owners were told them. */
  readonly secrets = new Map<string, string[]>();
  /** When each that is gone was deleted, by id: the world's ms. */
  readonly deletedAtMs = new Map<string, number>();
  /** Those that had something replayed, by id. */
  readonly replayed = new Set<string>();
  /** The API key of each subscription, by id. */
  readonly owners = new Map<string, string>();

  /** Of ten events so many are such that every second endpoint cannot take them, ever. */
  untakeable = 0;
  /** Told of each event that is heard. */
  onEvent: (event: { id: string }) => void = () => {};
  /** Told of each post of an event as it begins. */
  onPost: (machine: Machine, subscriptionId: string) => void = () => {};

  constructor(readonly world: World) {}

  setTemper(url: string, temper: Temper): void {
    this.world.note(`${url} is ${temper}`);
    this.#tempers.set(url, temper);
  }

  /** All of them, those too that nobody was told of: a webhook may have been made though its maker heard of a failure. */
  becomeWell(): void {
    this.#tempers.clear();
  }

  async post(machine: Machine, request: PostRequest): Promise<PostResult> {
    const { world } = this;
    const beganMs = world.nowMs;
    const { subscription, event } = JSON.parse(request.body) as Message;
    if (event.type !== TEST) this.onPost(machine, subscription);
    const temper = this.#tempers.get(request.url) ?? "well";
    const aborted = new Promise<PostResult>((resolve) => {
      const give = () => resolve({ ...NO_ANSWER, error: "given up by the gateway" });
      if (request.signal?.aborted) give();
      request.signal?.addEventListener("abort", give, { once: true });
    });
    const result = await Promise.race([
      machine.call(`post ${request.url}`, () => this.#answer(machine, temper, request, beganMs)),
      aborted,
    ]);
    return { ...result, durationMs: Math.round((world.nowMs - beganMs) * machine.pace) };
  }

  /** The receiver goes on by itself: what its sender gave up on meanwhile it may have worked through, or not. */
  async #answer(machine: Machine, temper: Temper, request: PostRequest, beganMs: number): Promise<PostResult> {
    const { world } = this;
    const mood = this.#mood(temper);
    const { afterMs, isHeard, isLost } = mood;
    const statusCode = mood.statusCode < 300 ? this.#refusal(request) ?? mood.statusCode : mood.statusCode;
    await world.pass(Math.min(afterMs, request.timeoutMs ?? 10_000), NOBODY);
    const isCutOff = machine.isDead || request.signal?.aborted === true;
    if (isHeard && (!isCutOff || world.chance(0.3))) {
      this.#hear(request, beganMs, isLost || isCutOff ? undefined : statusCode);
    }
    if (isLost) return NO_ANSWER;
    if (afterMs >= (request.timeoutMs ?? 10_000)) return { ...NO_ANSWER, error: "timed out after 10 s" };
    const retryAfter = temper === "later" ? String(world.integer(1, 120)) : undefined;
    return { statusCode, retryAfter, responseBody: "", durationMs: 0 };
  }

  /** What is answered to an event that this endpoint cannot take; undefined: it can. */
  #refusal({ url, body }: PostRequest): number | undefined {
    const { event } = JSON.parse(body) as Message;
    const isPicky = Number(url.match(/\d+/)![0]) % 2 === 0;
    if (this.untakeable === 0 || !isPicky || event.type === TEST) return undefined;
    const lot = [...event.txHash].reduce((sum, digit) => sum + parseInt(digit, 16), 0);
    if (lot % 10 >= this.untakeable) return undefined;
    return lot % 4 === 0 ? 422 : 500;
  }

  #mood(temper: Temper): { statusCode: number; afterMs: number; isHeard: boolean; isLost: boolean } {
    const { world } = this;
    const quick = world.random.between(1, 40);
    const said = (statusCode: number, afterMs = quick) => ({ statusCode, afterMs, isHeard: true, isLost: false });
    if (temper === "slow") return said(200, world.random.between(1_000, 9_000));
    if (temper === "uneven") return said(200, world.chance(0.2) ? world.random.between(500, 9_000) : quick);
    if (temper === "broken") return said(503);
    if (temper === "later") return said(429);
    if (temper === "refusing") return said(410);
    if (temper === "hanging") return { ...said(200, 10_000), isHeard: world.chance(0.5), isLost: true };
    if (temper === "moody") {
      const isLost = world.chance(0.2);
      return { ...said(world.random.pick([200, 200, 204, 500, 429, 404])), isLost };
    }
    return said(200);
  }

  #hear(request: PostRequest, beganMs: number, statusCode: number | undefined): void {
    const { subscription, event } = JSON.parse(request.body) as Message;
    const heard = event.type === TEST ? this.tested : this.heard;
    if (event.type !== TEST) this.onEvent(event);
    heard.push({
      beganMs,
      url: request.url,
      subscriptionId: subscription,
      eventId: event.id,
      statusCode,
      isSigned: () => this.#isSigned(subscription, event.id, request),
    });
    this.world.note(`${request.url} hears ${event.id} and answers ${statusCode}`);
  }

  /** With any secret that its owner was told. */
  #isSigned(subscriptionId: string, eventId: string, { headers, body }: PostRequest): boolean {
    const nowMs = Number(headers["webhook-timestamp"]) * 1_000;
    return (this.secrets.get(subscriptionId) ?? []).some((secret) => {
      const own = signatureHeaders({ secrets: [signingSecret(secret)], eventId, body, nowMs });
      return headers["webhook-signature"]!.split(" ").includes(own["webhook-signature"]!);
    });
  }
}
