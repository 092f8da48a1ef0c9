import { StrKey, xdr } from "@stellar/stellar-sdk/base";
import { GatewayError } from "../../errors.ts";
import { clipped } from "../../stellar/rpc/json_rpc.ts";
import { nodeXdr } from "../../stellar/transactions/node_xdr.ts";

/** An error of the host or of a contract: `Error(Contract, #6)`, `Error(Storage, MissingValue)`. */
export interface HostError {
  /** `Contract`, `WasmVm`, `Context`, `Storage`, `Object`, `Crypto`, `Events`, `Budget`, `Value`, `Auth`. */
  type: string;
  /** `#6` for a contract's, else the code's name. */
  code: string;
}

/** The error of a failed invocation, and its origin. */
export interface ErrorTrace {
  error: HostError;
  /** The contract that raised it; undefined when the events do not show it. */
  raisedBy: string | undefined;
  /** The host's text where the error was raised. */
  detail: string;
  /** The call that was under way. */
  call: { contract: string; function: string } | undefined;
}

interface Step {
  kind: "call" | "return" | "error";
  /** Of `error`: where it was recorded. Of `call`: the callee. */
  contract: string | undefined;
  function: string;
  error: HostError | undefined;
  detail: string;
}

/** The host's text where a contract caught the error of a callee. */
const CAUGHT = "contract try_call failed";

/**
 * Finds the error of a failed invocation, and the contract that raised it.
 *
 * The number of a contract error does not name its contract: each caller of the failed contract records the same error
 * again. So this walks back from the last event while the error stays the same, and takes the first of these events. It
 * ignores errors that a contract caught.
 *
 * @param events base64 DiagnosticEvents, in order
 * @param text the simulation's `error`; without it the last recorded error counts
 * @returns undefined when neither has an error
 */
export function traceError(events: string[], text?: string): ErrorTrace | undefined {
  const steps = nodeXdr("a diagnostic event", () => events.map(stepOf).filter((step) => step !== undefined));
  const last = steps.findLast((step) => step.kind === "error" && !step.detail.startsWith(CAUGHT));
  const error = (text === undefined ? undefined : errorInText(text)) ?? last?.error;
  if (error === undefined) return undefined;

  let raised: Step | undefined;
  let at = steps.length - 1;
  for (; at >= 0; at -= 1) {
    const step = steps[at]!;
    if (step.kind !== "error") break;
    if (!sameError(step.error!, error) || step.detail.startsWith(CAUGHT)) break;
    raised = step;
  }
  return {
    error,
    raisedBy: raised?.contract,
    detail: raised?.detail ?? "",
    call: callUnderWay(steps.slice(0, at + 1)),
  };
}

/** The error in `HostError: Error(Contract, #6)`. */
function errorInText(text: string): HostError | undefined {
  const found = /Error\((\w+), (#\d+|\w+)\)/.exec(text);
  return found === null ? undefined : { type: found[1]!, code: found[2]! };
}

/**
 * Accepts the host's errors, which are about the called contract. A busy node has others, such as `preflight queue full`.
 * @param error the simulation's
 * @throws {GatewayError} `upstream_error` for an error of the node itself
 */
export function requireHostError(error: string, called: string): void {
  if (errorInText(error) === undefined) throw notSimulated(error, called);
}

/** The refusal for a simulation that failed by the node's own error. */
export function notSimulated(error: string, called: string): GatewayError {
  // The node's text is for the log only.
  const cause = clipped(error.split("\n", 1)[0]!);
  return new GatewayError("upstream_error", `the RPC node could not simulate ${called}`, { cause });
}

/** The innermost call that has not returned, and whose error no caller caught. */
function callUnderWay(steps: Step[]): ErrorTrace["call"] {
  const stack: { contract: string; function: string }[] = [];
  const depthOf = (contract: string | undefined) => stack.findLastIndex((call) => call.contract === contract);
  for (const step of steps) {
    if (step.kind === "call") stack.push({ contract: step.contract!, function: step.function });
    else if (step.kind === "return") stack.length = Math.max(0, depthOf(step.contract));
    else if (step.detail.startsWith(CAUGHT)) stack.length = depthOf(step.contract) + 1;
  }
  return stack.at(-1);
}

function sameError(a: HostError, b: HostError): boolean {
  return a.type === b.type && a.code === b.code;
}

function stepOf(encoded: string): Step | undefined {
  const { event } = xdr.DiagnosticEvent.fromXdr(encoded, "base64");
  const { topics, data } = event.body.v0;
  const [kind, second, third] = topics;
  if (kind?.type !== "scvSymbol" || event.type.name !== "diagnostic") return undefined;
  const recordedIn = event.contractId === null ? undefined : StrKey.encodeContract(event.contractId.toBytes());
  switch (kind.sym.toString()) {
    case "fn_call":
      if (second?.type !== "scvBytes" || third?.type !== "scvSymbol") return undefined;
      return {
        kind: "call",
        contract: StrKey.encodeContract(second.bytes.value),
        function: third.sym.toString(),
        error: undefined,
        detail: "",
      };
    case "fn_return":
      return { kind: "return", contract: recordedIn, function: "", error: undefined, detail: "" };
    case "error":
      if (second?.type !== "scvError") return undefined;
      return { kind: "error", contract: recordedIn, function: "", error: hostError(second.error), detail: said(data) };
    default:
      return undefined;
  }
}

function hostError(error: xdr.ScError): HostError {
  if (error.type === "sceContract") return { type: "Contract", code: `#${error.contractCode}` };
  // `sceWasmVm` and `scecMissingValue` are `Error(WasmVm, MissingValue)` in the host's text.
  return { type: error.type.slice(3), code: error.code.name.slice(4) };
}

/** The host's text: the first string of the event's data. */
function said(data: xdr.ScVal): string {
  if (data.type === "scvString") return data.str.toString();
  const first = data.type === "scvVec" ? data.vec?.[0] : undefined;
  return first?.type === "scvString" ? first.str.toString() : "";
}
