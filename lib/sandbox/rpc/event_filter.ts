import { StrKey, xdr } from "@stellar/stellar-sdk";
import type { NetworkEvent } from "../network_types.ts";
import { fromBase64 } from "./base64.ts";
import { INVALID_PARAMS, invalidParams, JsonRpcError, type Params } from "./json_rpc.ts";
import { readArray, readString, readStrings } from "./params.ts";

const MAX_FILTERS = 5;
const MAX_CONTRACT_IDS = 5;
const MAX_TOPICS = 5;
const MAX_SEGMENTS = 4;
const ANY_ONE = "*";
const ANY_REST = "**";

/** One segment: an exact ScVal in XDR, or undefined for `*`. */
type Segment = Uint8Array | undefined;

interface TopicFilter {
  segments: Segment[];
  /** Whether it ends in `**`, so that more topics may follow. */
  open: boolean;
}

interface EventFilter {
  /** Empty: any type. */
  types: string[];
  /** Empty: any contract. */
  contractIds: string[];
  /** Empty: any topics. */
  topics: TopicFilter[];
}

/**
 * Reads the `filters` of a getEvents request into a test on events. An event must match one filter in all its parts, and one
 * of the filter's topic filters in all segments.
 * @throws {JsonRpcError} -32602 with the real node's text
 */
export function readEventFilters(params: Params): (event: NetworkEvent) => boolean {
  const filters = readArray(params, "filters");
  if (filters.length > MAX_FILTERS) throw new JsonRpcError(INVALID_PARAMS, "maximum 5 filters per request");
  const compiled = filters.map((filter, index) => {
    try {
      return readFilter(filter);
    } catch (error) {
      if (!(error instanceof FilterProblem)) throw error;
      throw new JsonRpcError(INVALID_PARAMS, `filter ${index + 1} invalid: ${error.message}`);
    }
  });
  if (compiled.length === 0) return () => true;
  return (event) => compiled.some((filter) => matches(filter, event));
}

/** The types are right, but the value is no filter. */
class FilterProblem extends Error {}

function readFilter(value: unknown): EventFilter {
  if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
    throw invalidParams("filters must be an array of objects");
  }
  const filter = (value ?? {}) as Params;
  const joinedTypes = readString(filter, "type");
  const types = joinedTypes === "" ? [] : joinedTypes.split(",");
  const contractIds = readStrings(filter, "contractIds");
  const topics = readArray(filter, "topics").map(readTopicStrings);
  if (types.some((type) => type !== "contract" && type !== "system")) {
    throw new FilterProblem("filter type invalid: if set, type must be either 'system' or 'contract'");
  }
  if (contractIds.length > MAX_CONTRACT_IDS) throw new FilterProblem("maximum 5 contract IDs per filter");
  if (topics.length > MAX_TOPICS) throw new FilterProblem("maximum 5 topics per filter");
  const badId = contractIds.findIndex((id) => !StrKey.isValidContract(id));
  if (badId >= 0) throw new FilterProblem(`contract ID ${badId + 1} invalid`);
  return { types, contractIds, topics: topics.map(compileTopic) };
}

function readTopicStrings(topic: unknown): string[] {
  return readStrings({ topics: topic }, "topics");
}

function compileTopic(topic: string[], index: number): TopicFilter {
  const refuse = (reason: string) => new FilterProblem(`topic ${index + 1} invalid: ${reason}`);
  if (topic.length === 0) throw refuse("topic must have at least 1 segment");
  const open = topic.at(-1) === ANY_REST;
  const segments = open ? topic.slice(0, -1) : topic;
  const misplaced = segments.indexOf(ANY_REST);
  if (misplaced >= 0) {
    throw refuse(`segment ${misplaced + 1} invalid: wildcard '**' is only allowed as the last segment`);
  }
  if (segments.length > MAX_SEGMENTS) throw refuse("topic cannot have more than 4 segments");
  return { segments: segments.map(compileSegment), open };
}

function compileSegment(segment: string): Segment {
  if (segment === ANY_ONE) return undefined;
  try {
    const bytes = fromBase64(segment);
    xdr.ScVal.fromXdr(bytes);
    return bytes;
  } catch {
    throw invalidParams(`topic segment '${segment}' is neither '*', '**' nor the base64 XDR of an ScVal`);
  }
}

function matches(filter: EventFilter, event: NetworkEvent): boolean {
  return (filter.types.length === 0 || filter.types.includes(event.type)) &&
    (filter.contractIds.length === 0 || filter.contractIds.includes(event.contractId)) &&
    (filter.topics.length === 0 || filter.topics.some((topic) => topicMatches(topic, event.topicsXdr)));
}

function topicMatches({ segments, open }: TopicFilter, topics: Uint8Array[]): boolean {
  if (open ? topics.length < segments.length : topics.length !== segments.length) return false;
  return segments.every((segment, index) => segment === undefined || sameBytes(segment, topics[index]!));
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
