import { xdr } from "@stellar/stellar-sdk/base";
import type { ContractInterface } from "./interfaces.ts";

/** The interface in a contract's code. */
export interface ContractSpec extends ContractInterface {
  /** Names of its errors by number. */
  errors: Record<number, string>;
}

/** Custom section of a contract's wasm that holds its interface: a stream of SCSpecEntry (SEP-48). */
const SECTION = "contractspecv0";

/**
 * Reads the interface from a contract's wasm.
 * @throws {Error} when the code is no wasm, or has no interface section
 */
export function specOf(wasm: Uint8Array<ArrayBuffer>): ContractSpec {
  const [section] = WebAssembly.Module.customSections(new WebAssembly.Module(wasm), SECTION);
  if (section === undefined) throw new Error(`there is no ${SECTION} in its code`);
  const spec: ContractSpec = { functions: {}, structs: {}, errors: {} };
  for (const entry of xdr.decodeStream(xdr.ScSpecEntry, new Uint8Array(section)) as xdr.ScSpecEntry[]) {
    if (entry.type === "scSpecEntryFunctionV0") {
      const { name, inputs, outputs } = entry.functionV0;
      spec.functions[name.toString()] = signature(inputs.map(({ type }) => type), outputs);
    }
    if (entry.type === "scSpecEntryUdtStructV0") {
      const { name, fields } = entry.udtStructV0;
      const types = fields.map((field) => [field.name.toString(), typeName(field.type)]);
      spec.structs[name.toString()] = Object.fromEntries(types);
    }
    if (entry.type === "scSpecEntryUdtErrorEnumV0") {
      for (const { name, value } of entry.udtErrorEnumV0.cases) spec.errors[value] = name.toString();
    }
  }
  return spec;
}

function signature(inputs: xdr.ScSpecTypeDef[], outputs: xdr.ScSpecTypeDef[]): string {
  // A function that may fail has the type `Result<T, Error>`, and its caller gets T. An empty T counts as none.
  const [returned] = outputs.map((type) => type.type === "scSpecTypeResult" ? type.result.okType : type);
  const result = returned === undefined || returned.type === "scSpecTypeVoid" ? "" : ` -> ${typeName(returned)}`;
  return `(${inputs.map(typeName).join(", ")})${result}`;
}

/** A type as Rust's SDK writes it. */
function typeName(type: xdr.ScSpecTypeDef): string {
  switch (type.type) {
    case "scSpecTypeBytesN":
      return `BytesN<${type.bytesN.n}>`;
    case "scSpecTypeUdt":
      return type.udt.name.toString();
    case "scSpecTypeAddress":
      return "Address";
    default:
      // u32, i128, bool, …; for types that the gateway never uses, the kind is enough to see the difference.
      return type.type.replace("scSpecType", "").toLowerCase();
  }
}
