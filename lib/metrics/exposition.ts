/**
 * Counters, gauges and histograms in Prometheus' text format 0.0.4. On the hot path counting is one addition, because `with`
 * looks a series up by its labels once. (prom-client hashes the labels at each call.)
 */

export interface Counter {
  inc(by?: number): void;
}

export interface Gauge {
  /** Undefined: the value is unknown, and the series is omitted. */
  set(value: number | undefined): void;
}

export interface Histogram {
  observe(value: number): void;
}

/** All series of a name, one for each combination of label values. The set of values must be bounded. */
export interface Family<S> {
  /** The series with these label values, in the order of the label names; always the same object. */
  with(...values: string[]): S;
}

export interface Registry {
  counter(name: string, help: string, labels?: readonly string[]): Family<Counter>;
  gauge(name: string, help: string, labels?: readonly string[]): Family<Gauge>;
  /** `buckets`: upper bounds, ascending. */
  histogram(name: string, help: string, buckets: readonly number[], labels?: readonly string[]): Family<Histogram>;
  /** All series, in the order of their families' creation. */
  render(): string;
}

export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A series as text, with the name of its family and its labels (`a="b"`, comma-separated). */
interface Series {
  write(name: string, labels: string): string;
}

class Value implements Counter, Gauge, Series {
  constructor(private value: number | undefined) {}

  inc(by = 1): void {
    this.value! += by;
  }

  set(value: number | undefined): void {
    this.value = value;
  }

  write(name: string, labels: string): string {
    return this.value === undefined ? "" : line(name, labels, this.value);
  }
}

class Buckets implements Histogram, Series {
  private readonly counts: number[];
  private sum = 0;

  constructor(private readonly bounds: readonly number[]) {
    this.counts = Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    const { bounds } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.counts[bucket]! += 1;
    this.sum += value;
  }

  write(name: string, labels: string): string {
    let count = 0;
    const lines = this.counts.map((own, index) => {
      count += own;
      const bound = index < this.bounds.length ? String(this.bounds[index]) : "+Inf";
      return line(`${name}_bucket`, joined(labels, `le="${bound}"`), count);
    });
    return lines.join("") + line(`${name}_sum`, labels, this.sum) + line(`${name}_count`, labels, count);
  }
}

export function createRegistry(): Registry {
  const families = new Map<string, () => string>();

  function family<S extends Series>(
    type: "counter" | "gauge" | "histogram",
    name: string,
    help: string,
    labels: readonly string[],
    create: () => S,
  ): Family<S> {
    if (families.has(name)) throw new TypeError(`the metric ${name} already exists`);
    const series = new Map<string, S>();
    families.set(name, () => {
      const lines = [...series].map(([written, one]) => one.write(name, written)).join("");
      return lines === "" ? "" : `# HELP ${name} ${escapedHelp(help)}\n# TYPE ${name} ${type}\n${lines}`;
    });
    return {
      with(...values) {
        if (values.length !== labels.length) throw new TypeError(`${name} must have the labels ${labels.join(", ")}`);
        const written = labels.map((label, index) => `${label}="${escapedValue(values[index]!)}"`).join(",");
        let one = series.get(written);
        if (one === undefined) series.set(written, one = create());
        return one;
      },
    };
  }

  return {
    counter: (name, help, labels = []) => family("counter", name, help, labels, () => new Value(0)),
    gauge: (name, help, labels = []) => family("gauge", name, help, labels, () => new Value(undefined)),
    histogram: (name, help, buckets, labels = []) =>
      family("histogram", name, help, labels, () => new Buckets(buckets)),
    render: () => [...families.values()].map((write) => write()).join(""),
  };
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}\n`;
}

function joined(labels: string, more: string): string {
  return labels === "" ? more : `${labels},${more}`;
}

function escapedValue(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}

function escapedHelp(help: string): string {
  return help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
}
