// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRulesYaml } from "./rules_yaml.ts";
import { readDoc } from "./tools.ts";

/** Whether the alert of docs/alerts.yml fires while these many of so many gateways answer. */
function fires(up: number, of: number): boolean {
  const { groups } = parseRulesYaml(readDoc("alerts.yml")) as unknown as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const { expr } = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === "GatewayAlone")!;
  const form = /^sum\(up\{job="gateway"\}\) (==|<=) (\d+) and count\(up\{job="gateway"\}\) > (\d+)$/;
  const [, compared, most, least] = form.exec(expr) ?? assert.fail(expr);
  return (compared === "<=" ? up <= Number(most) : up === Number(most)) && of > Number(least);
}

test("the alert that may alone wake somebody fires when one of several gateways is left, and when none is", () => {
  assert.equal(fires(2, 2), false);
  assert.equal(fires(1, 2), true);
  assert.equal(fires(0, 2), true);
  assert.equal(fires(1, 1), false, "one that was never several");
});
