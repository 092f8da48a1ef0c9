import type { Focus } from "./focus.ts";
import type { Kind } from "./kinds.ts";
import { IN_DELIVERY } from "./planted_in_delivery.ts";
import { IN_HISTORY } from "./planted_in_history.ts";
import { IN_PAYMENTS } from "./planted_in_payments.ts";
import { IN_REQUESTS } from "./planted_in_requests.ts";

/** A bug: what stands in a file, and what stands there instead. */
export interface PlantedBug {
  name: string;
  file: string;
  from: string;
  to: string;
  /** A world that breaks of it. */
  seed: number;
  /** What kind of world shows it; absent: any. */
  kind?: Kind;
  /** The world is one of those in which nothing is done but look at cards. */
  isOfCards?: boolean;
  /** Nothing else is done in that world. */
  focus?: Focus;
  /** It was not planted at first: the simulation found it in the product. */
  wasReal?: boolean;
}

export const PLANTED: PlantedBug[] = [...IN_DELIVERY, ...IN_HISTORY, ...IN_REQUESTS, ...IN_PAYMENTS];
