import assert from "node:assert/strict";

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

export interface Family {
  type: "counter" | "gauge" | "histogram";
  help: string;
  samples: Sample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const VALUE = /^(NaN|[+-]?Inf|[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)$/;

/**
 * Reads Prometheus' text format 0.0.4, and refuses what a strict reader refuses: samples outside their family, a
 * family or series twice, bad escapes, histograms that do not add up.
 */
export function parseExposition(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  if (text === "") return families;
  assert.ok(text.endsWith("\n"), "the last line has no line end");
  let help: { name: string; text: string } | undefined;
  let current: string | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/s.exec(line);
    if (comment?.[1] === "HELP") {
      assert.match(comment[2]!, NAME);
      assert.doesNotMatch(comment[3]!, /\\(?![\\n])/, line);
      help = { name: comment[2]!, text: comment[3]! };
    } else if (comment?.[1] === "TYPE") {
      assert.equal(help?.name, comment[2], `TYPE without its HELP before: ${line}`);
      assert.match(comment[3]!, /^(counter|gauge|histogram)$/);
      assert.ok(!families.has(comment[2]!), `${comment[2]} is there twice`);
      current = comment[2]!;
      families.set(current, { type: comment[3] as Family["type"], help: help!.text, samples: [] });
    } else {
      const sample = parseSample(line);
      const family = families.get(current ?? "");
      assert.ok(family !== undefined && belongs(sample.name, current!, family.type), `out of its family: ${line}`);
      family.samples.push(sample);
    }
  }
  for (const [name, family] of families) checkFamily(name, family);
  return families;
}

function belongs(sample: string, family: string, type: Family["type"]): boolean {
  return type === "histogram"
    ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(sample)
    : sample === family;
}

function parseSample(line: string): Sample {
  const [, name, , labelText, value] = /^([^{ ]+)(\{(.*)\})? (\S+)$/s.exec(line) ??
    assert.fail(`not a sample: ${line}`);
  assert.match(name!, NAME);
  assert.match(value!, VALUE, line);
  const labels: Record<string, string> = {};
  let rest = labelText ?? "";
  assert.ok(labelText !== "", `empty braces: ${line}`);
  while (rest !== "") {
    const [whole, label, escaped, comma] = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\"n])*)"(,?)/.exec(rest) ??
      assert.fail(`bad labels: ${line}`);
    assert.ok(!(label! in labels), `a label twice: ${line}`);
    labels[label!] = escaped!.replace(/\\(.)/gs, (_, c: string) => c === "n" ? "\n" : c);
    rest = rest.slice(whole!.length);
    assert.equal(comma === ",", rest !== "", `bad labels: ${line}`);
  }
  return { name: name!, labels, value: value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value) };
}

function checkFamily(name: string, { type, samples }: Family): void {
  assert.ok(samples.length > 0, `${name} has no sample`);
  const keys = samples.map((sample) => JSON.stringify([sample.name, Object.entries(sample.labels).sort()]));
  assert.equal(new Set(keys).size, keys.length, `${name} has a series twice`);
  if (type === "counter") {
    assert.match(name, /_total$/);
    for (const { value } of samples) assert.ok(value >= 0, name);
  }
  if (type === "histogram") checkHistogram(name, samples);
}

function checkHistogram(name: string, samples: Sample[]): void {
  const bySeries = Map.groupBy(samples, ({ labels: { le: _, ...others } }) => JSON.stringify(others));
  for (const [series, own] of bySeries) {
    const buckets = own.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => labels.le === "+Inf" ? Infinity : Number(labels.le));
    assert.deepEqual(bounds, [...new Set(bounds)].sort((a, b) => a - b), `${name}${series}`);
    assert.equal(bounds.at(-1), Infinity, `${name}${series}`);
    buckets.reduce((before, { value }) => (assert.ok(value >= before, `${name}${series}`), value), 0);
    const one = (suffix: string) => own.filter((sample) => sample.name === name + suffix).map(({ value }) => value);
    assert.deepEqual(one("_count"), [buckets.at(-1)!.value], `${name}${series}`);
    assert.equal(one("_sum").length, 1);
  }
}
