import type { EventFilter } from "../event.ts";
import { packAddress, packHash } from "../codec.ts";

/** Some rows of the log; each `?` stands for the next parameter. */
export interface Condition<Value> {
  where: string;
  params: Value[];
}

/** A condition on a column that has an index of its own, which ends with the sequence; most reports first. */
interface Subject {
  column: string;
  /** Whether `type` stands between the column and the sequence in its index. */
  byType: boolean;
  pack(value: string): Uint8Array | string;
}

/** One that a query has, with the value wanted. */
export interface Given<Value> {
  subject: Subject;
  value: Value;
}

/** What is not a subject: types join every subject's index or have their own; heights bound the sequences. */
type SubjectKey = Exclude<keyof EventFilter, "types" | "fromHeight" | "toHeight">;

const SUBJECTS = {
  txHash: { column: "tx_hash", byType: false, pack: packHash },
  deviceHash: { column: "device_hash", byType: true, pack: packHash },
  agent: { column: "agent", byType: true, pack: packAddress },
  merchant: { column: "merchant", byType: true, pack: packAddress },
} satisfies Record<SubjectKey, Subject>;

/** @param valueOf what is bound for a packed hash or address */
export function givenSubjects<Value>(
  filter: EventFilter,
  valueOf: (packed: Uint8Array | string) => Value,
): Given<Value>[] {
  return Object.entries(SUBJECTS).flatMap(([key, subject]) => {
    const value = filter[key as SubjectKey];
    return value === undefined ? [] : [{ subject, value: valueOf(subject.pack(value)) }];
  });
}

export function heightsWithin({ fromHeight, toHeight }: EventFilter, column: string): Condition<number>[] {
  return [
    ...(fromHeight === undefined ? [] : [{ where: `${column} >= ?`, params: [fromHeight] }]),
    ...(toHeight === undefined ? [] : [{ where: `${column} <= ?`, params: [toHeight] }]),
  ];
}

export function equal<Value>(column: string, value: Value): Condition<Value> {
  return { where: `${column} = ?`, params: [value] };
}

export function between(column: string, after: number, upTo: number): Condition<number> {
  return { where: `${column} > ? AND ${column} <= ?`, params: [after, upTo] };
}

export function all<Value>(conditions: Condition<Value>[]): Condition<Value> {
  return {
    where: conditions.map(({ where }) => where).filter((where) => where !== "").join(" AND "),
    params: conditions.flatMap(({ params }) => params),
  };
}
