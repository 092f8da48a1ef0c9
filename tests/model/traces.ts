import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Checked } from "./models.ts";
import type { State, Value } from "./quint.ts";

const FOLDER = new URL("./traces/", import.meta.url).pathname;

/** The stored part of each state: enough to repeat a trace, and to compare with. */
const SHOWN: Record<Checked["name"], (state: State) => State> = {
  partitions: ({ taken, cursor, kept, gateways }) => ({
    taken,
    cursor,
    kept: set(kept),
    gateways: map(gateways, ({ call, reader, writing }) => ({
      call: { stage: call.stage, kind: call.kind, term: call.term },
      reader: { term: reader.term, inFlight: set(reader.inFlight) },
      writing: { stage: writing.stage },
    })),
  }),
  limiter: ({ taken, now, bucket, gateways }) => ({
    taken,
    now,
    bucket,
    gateways: map(gateways, ({ call }) => ({ call: { stage: call.stage } })),
  }),
};

const set = (items: Value[]) => ({ "#set": items });
const map = (pairs: [number, State][], shown: (value: State) => State) => ({
  "#map": pairs.map(([key, value]) => [key, shown(value)]),
});

/** A trace in the Informal Trace Format (ITF), a state on each line. */
export function toItf(name: Checked["name"], description: string, trace: State[]): string {
  const states = trace.map((state, index) => JSON.stringify({ "#meta": { index }, ...SHOWN[name](state) }));
  const meta = JSON.stringify({ format: "ITF", description });
  const vars = JSON.stringify(Object.keys(SHOWN[name](trace[0]!)));
  return `{"#meta": ${meta},\n"vars": ${vars},\n"states": [\n${states.join(",\n")}\n]}\n`;
}

/** The traces that are kept of a model, by their files' names. */
export function keptTraces(name: Checked["name"]): Map<string, State[]> {
  const files = readdirSync(FOLDER).filter((file) => file.startsWith(`${name}_`)).sort();
  return new Map(files.map((file) => [file, fromItf(readFileSync(join(FOLDER, file), "utf8"))]));
}

function fromItf(text: string): State[] {
  const plain = (_key: string, value: Value) => value?.["#set"] ?? value?.["#map"] ?? value;
  return JSON.parse(text, plain).states;
}
