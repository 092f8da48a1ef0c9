// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createRegistry } from "../../lib/metrics/exposition.ts";
import { parseExposition } from "../exposition.ts";

describe("the metrics registry", () => {
  test("writes counters, gauges and histograms in the Prometheus format", () => {
    const registry = createRegistry();
    const requests = registry.counter("requests_total", "Requests.", ["method", "status"]);
    requests.with("GET", "200").inc();
    requests.with("GET", "200").inc(2);
    requests.with("POST", "201").inc();
    registry.gauge("height", "Height.").with().set(-1.5);
    const time = registry.histogram("seconds", "Time.", [0.1, 1], ["route"]).with("/a");
    for (const value of [0.1, 0.100001, 1, 7]) time.observe(value);
    assert.equal(
      registry.render(),
      `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{method="GET",status="200"} 3
requests_total{method="POST",status="201"} 1
# HELP height Height.
# TYPE height gauge
height -1.5
# HELP seconds Time.
# TYPE seconds histogram
seconds_bucket{route="/a",le="0.1"} 1
seconds_bucket{route="/a",le="1"} 3
seconds_bucket{route="/a",le="+Inf"} 4
seconds_sum{route="/a"} 8.200001
seconds_count{route="/a"} 4
`,
    );
  });

  test("writes nothing for a family without series, or for a gauge without a value", () => {
    const registry = createRegistry();
    registry.counter("a_total", "A.", ["kind"]);
    const gauge = registry.gauge("b", "B.").with();
    assert.equal(registry.render(), "");
    gauge.set(1);
    gauge.set(undefined);
    assert.equal(registry.render(), "");
  });

  test("writes label and help texts of any characters so that a parser returns them unchanged", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string(), (value, other) => {
      const registry = createRegistry();
      registry.counter("a_total", `Help "${value}"`, ["x", "y"]).with(value, other)
        .inc();
      const [sample] = parseExposition(registry.render()).get("a_total")!.samples;
      assert.deepEqual(sample, { name: "a_total", labels: { x: value, y: other }, value: 1 });
    }));
  });

  test("writes correct bucket counts of a histogram for any values", () => {
    const values = fc.array(fc.double({ min: 0, max: 100, noNaN: true }));
    fc.assert(fc.property(values, (values) => {
      const registry = createRegistry();
      const histogram = registry.histogram("h", "H.", [0.5, 5, 50]).with();
      for (const value of values) histogram.observe(value);
      const { samples } = parseExposition(registry.render()).get("h")!;
      const at = (le: string) => samples.find(({ labels }) => labels.le === le)!.value;
      for (const bound of [0.5, 5, 50]) assert.equal(at(String(bound)), values.filter((v) => v <= bound).length);
      assert.equal(at("+Inf"), values.length);
    }));
  });

  test("rejects a second metric of the same name, and values that do not fit the labels", () => {
    const registry = createRegistry();
    const family = registry.counter("a_total", "A.", ["x"]);
    assert.throws(() => registry.gauge("a_total", "A."), TypeError);
    assert.throws(() => family.with(), TypeError);
    assert.throws(() => family.with("1", "2"), TypeError);
  });
});
